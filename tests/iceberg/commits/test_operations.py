"""The operation of a snapshot, by what it adds and removes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tableformats_iceberg.write.commit.snapshot_producer import operation_of

from tableformats.plugin import TableChange

NONE, SOME = pa.table({"path": pa.array([], pa.string())}), pa.table({"path": ["a"]})


@pytest.mark.parametrize(
    ("verb", "added", "removed", "operation"),
    [
        ("append", SOME, None, "append"),
        ("append", NONE, None, "append"),
        ("append", None, NONE, "append"),
        ("overwrite", SOME, SOME, "overwrite"),
        ("overwrite", NONE, SOME, "delete"),
        ("overwrite", SOME, NONE, "append"),
        ("overwrite", NONE, NONE, "overwrite"),
        ("delete", None, SOME, "delete"),
        ("delete", SOME, SOME, "overwrite"),
        ("delete", None, NONE, "overwrite"),
    ],
)
def test_operations(verb: str, added: pa.Table | None, removed: pa.Table | None, operation: str) -> None:
    assert operation_of(TableChange(verb, added=added, removed=removed)) == operation
    assert operation_of(TableChange(verb, added=added, removed=removed, data_change=False)) == "replace"
