"""A conformance case that skips anew fails, and so does a pinned one that runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support import skips
from tests.support.conformance import DeltaCase


@pytest.mark.parametrize(
    ("skipped", "reason", "is_pinned", "outcome"),
    [
        (True, "refused", False, "failed"),
        (True, "refused", True, "skipped"),
        (True, "could not import 'deltalake'", False, "skipped"),
        (False, "", True, "failed"),
        (False, "", False, "passed"),
    ],
)
def test_outcomes(monkeypatch: pytest.MonkeyPatch, skipped: bool, reason: str, is_pinned: bool, outcome: str) -> None:
    monkeypatch.delenv("TF_PIN", raising=False)
    monkeypatch.setattr(skips, "pinned", lambda: {"t.py::test": ["a/b"]} if is_pinned else {})
    monkeypatch.setattr(skips, "_ran", skips.defaultdict(dict))
    case = DeltaCase("a/b", skips.PINS, {})
    item = SimpleNamespace(
        nodeid="t.py::test[a/b]", callspec=SimpleNamespace(params={"case": case}), get_closest_marker=lambda name: None
    )
    was = "skipped" if skipped else "passed"
    report = SimpleNamespace(
        when="call", outcome=was, skipped=skipped, failed=False, longrepr=("t.py", 1, f"Skipped: {reason}")
    )
    skips.note_outcome(item, report)
    assert report.outcome == outcome
