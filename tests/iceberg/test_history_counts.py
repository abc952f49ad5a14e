"""How many rows a snapshot deleted, as the history has it from the summary."""

from __future__ import annotations

import pytest
from tableformats_iceberg.inspect.history import _deleted_rows
from tableformats_iceberg.metadata.table_metadata import Snapshot

REMOVED, ADDED, GONE = "deleted-records", "added-position-deletes", "removed-position-deletes"


@pytest.mark.parametrize(
    ("summary", "rows"),
    [
        ({}, None),
        ({GONE: "3"}, None),
        ({REMOVED: "0"}, 0),
        ({REMOVED: "3"}, 3),
        ({ADDED: "2"}, 2),
        ({REMOVED: "3", ADDED: "2"}, 5),
        ({REMOVED: "3", ADDED: "2", GONE: "4"}, 1),
        ({ADDED: "2", GONE: "4"}, 0),
        ({REMOVED: "many", ADDED: "2"}, 2),
    ],
)
def test_deleted_rows(summary: dict[str, str], rows: int | None) -> None:
    assert _deleted_rows(Snapshot(1, None, 1, 0, None, (), summary, None, None)) == rows
    assert _deleted_rows(None) is None
