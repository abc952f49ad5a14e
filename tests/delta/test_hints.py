"""What a hint's canonical form may cost, and what a review of the hint says."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tableformats_delta.log.last_checkpoint import CostlyHintError, canonical_form, json_checksum, review_hint
from tableformats_delta.maintenance.hint import hinted_version, write_hint

from tableformats.io.storage import Storage


def limits(budget: int) -> Any:
    return SimpleNamespace(budget=lambda stored: budget + 0 * stored)


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("{}", 0),
        ('{"checksum":"' + "x" * 99 + '"}', 0),
        # 400 bytes a value, 4 for each character of its path, 3 for each of its own.
        ('{"ab":1}', 400 + 4 * 4 + 3),
        ('{"ab":"c"}', 400 + 4 * 4 + 3 * 3),
        ('{"a":{"b":12},"c":[null]}', 400 + 4 * 7 + 3 * 2 + 400 + 4 * 5 + 3 * 4),
    ],
)
def test_what_the_form_may_cost(text: str, cost: int) -> None:
    assert canonical_form(text, limits(cost)) == canonical_form(text)
    with pytest.raises(CostlyHintError):
        canonical_form(text, limits(cost - 1)) if cost else canonical_form('{"a":1}', limits(0))


@pytest.mark.parametrize(
    ("hint", "version", "remark"),
    [
        ({"version": 5}, 5, ""),
        ({"version": 5, "checksum": "right"}, 5, ""),
        ({"version": 5, "checksum": "wrong"}, 5, "its checksum is wrong"),
        ({"version": 5, "checksum": None}, 5, ""),
        ({"version": 4}, 4, "names a version that has no complete checkpoint"),
        ({"version": 6}, 6, "names a version that has no complete checkpoint"),
        ({"version": 3}, 3, "stale: the newest checkpoint is of version 5"),
        ({"version": 0}, 0, "stale: the newest checkpoint is of version 5"),
        ({"version": -1}, None, "names no version"),
        ({"version": 2**63 - 1}, 2**63 - 1, "names a version that has no complete checkpoint"),
        ({"version": 2**63}, None, "names no version"),
        ({"version": True}, None, "names no version"),
        ({"version": 5.0}, None, "names no version"),
        ({}, None, "names no version"),
        ([], None, "damaged"),
    ],
)
def test_reviews(tmp_path: Path, hint: Any, version: int | None, remark: str) -> None:
    """Complete checkpoints are there of the versions 0, 3 and 5."""
    if isinstance(hint, dict) and hint.get("checksum") == "right":
        hint = {**hint, "checksum": json_checksum(json.dumps(hint))}
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "_last_checkpoint").write_text(json.dumps(hint))
    listing: Any = SimpleNamespace(directory=str(tmp_path / "_delta_log"), checkpoints=dict.fromkeys((0, 3, 5)))
    assert review_hint(Storage(tmp_path), listing) == (version, remark)


# ---- hints that are written ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "version"),
    [
        ('{"version": 3}', 3),
        ('{"version": 0}', 0),
        ('{"version": true}', None),
        ('{"version": 3.0}', None),
        ('{"version": "3"}', None),
        ("{}", None),
        ("[3]", None),
        ("3", None),
        ("{", None),
        ("[" * 100_000, None),
        (None, None),
    ],
)
def test_which_version_a_hint_names(tmp_path: Path, stored: str | None, version: int | None) -> None:
    (tmp_path / "_delta_log").mkdir()
    if stored is not None:
        (tmp_path / "_delta_log" / "_last_checkpoint").write_text(stored)
    assert hinted_version(Storage(tmp_path)) == version


@pytest.mark.parametrize(
    ("stored", "is_written"),
    [
        (None, True),
        ('{"version": 2}', True),
        ('{"version": 3, "size": 1}', True),
        ('{"version": 4}', False),
        ("{", True),
    ],
)
def test_a_hint_to_a_newer_version_stays(tmp_path: Path, stored: str | None, is_written: bool) -> None:
    path = tmp_path / "_delta_log" / "_last_checkpoint"
    path.parent.mkdir()
    if stored is not None:
        path.write_text(stored)
    assert write_hint(Storage(tmp_path), {"version": 3, "size": 7}) == is_written
    if is_written:
        found = json.loads(path.read_text())
        assert found == {"version": 3, "size": 7, "checksum": json_checksum('{"version":3,"size":7}')}
    else:
        assert path.read_text() == stored
