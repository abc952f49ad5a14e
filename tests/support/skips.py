"""Tests over the conformance tables skip the cases that are pinned, and no others.

``tests/golden/conformance_skips.json`` has them, by test. A case that skips anew fails, so no test passes over an error
unseen; so does a pinned one that runs now. ``TF_PIN=1`` writes the file again, for the tests that ran.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any

from .conformance import DeltaCase, IcebergCase

__all__ = ["note_outcome", "write_pins"]

PINS = Path(__file__).parents[1] / "golden" / "conformance_skips.json"
_ABSENT = ("could not import", "needs ")
"""How reasons begin that speak of what is installed, and not of the table."""
_ran: dict[str, dict[str, bool]] = defaultdict(dict)


def pinned() -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads(PINS.read_text()) if PINS.exists() else {}
    return found


def note_outcome(item: Any, report: Any) -> None:
    """Make the report of a test a failure if it skipped and is not pinned, or ran and is pinned."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if report.when != "call" or not isinstance(parameters.get("case"), (DeltaCase, IcebergCase)):
        return
    reason = report.longrepr[2].removeprefix("Skipped: ") if report.skipped else ""
    if item.get_closest_marker("spark") or reason.startswith(_ABSENT) or report.failed:
        return
    test, _, case = item.nodeid.partition("[")
    _ran[test][case.removesuffix("]")] = report.skipped
    if os.environ.get("TF_PIN"):
        return
    is_pinned = case.removesuffix("]") in pinned().get(test, ())
    if is_pinned != report.skipped:
        what = f"skips, and is not pinned: {reason}" if report.skipped else "is pinned as one that skips, and ran"
        report.outcome, report.longrepr = "failed", f"{item.nodeid} {what}; see {PINS.name}"


def write_pins() -> None:
    """Write what skipped, if that was asked."""
    if not os.environ.get("TF_PIN") or not _ran:
        return
    found = {test: set(cases) for test, cases in pinned().items()}
    for test, cases in _ran.items():
        kept = found.get(test, set()) - {case for case, skipped in cases.items() if not skipped}
        found[test] = kept | {case for case, skipped in cases.items() if skipped}
    text = {test: sorted(cases) for test, cases in sorted(found.items()) if cases}
    PINS.write_text(json.dumps(text, indent=0) + "\n")
