"""Pieces of a transaction: which changes a format is asked about, and which files are planned."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.expressions import tree as ex
from tableformats.planning import planner
from tableformats.plugin.writing.table_change import MetadataChange
from tableformats.schema import Schema
from tableformats.table.transactions import Transaction, _either, _planned
from tableformats.write.commit_loop import CommitOptions

A, B = ex.Constant(None), ex.Constant(False)


class Format:
    """A table whose applications are ``known``; it remembers what it is asked."""

    target = "the target"

    def __init__(self, **known: int) -> None:
        self.known, self.asked = known, []  # type: ignore[var-annotated]

    def application_version(self, name: str) -> int | None:
        return self.known.get(name)

    def check(self, change: Any) -> None:
        self.asked.append(change.operation)

    def conflict_checks(self, change: Any) -> None:
        self.asked.append(f"isolation {change.isolation}")

    def stage_metadata(self, metadata: Any) -> None:
        self.asked.append("staged")


def begun(format: Any, **options: Any) -> Transaction:
    return Transaction(format, None, SimpleNamespace(root="/t"), CommitOptions(), **options)  # type: ignore[arg-type]


def test_an_isolation_that_is_asked_for_is_checked_at_once() -> None:
    plain, serial = Format(), Format()
    begun(plain)
    begun(serial, isolation="serializable")
    assert (plain.asked, serial.asked) == ([], ["isolation serializable"])


@pytest.mark.parametrize(
    ("known", "is_done"), [({}, False), ({"app": 6}, False), ({"app": 7}, True), ({"app": 8}, True), ({"b": 8}, False)]
)
def test_what_is_done_already_is_not_asked_for(known: dict[str, int], is_done: bool) -> None:
    format = Format(**known)
    transaction = begun(format, application=("app", 7))
    assert transaction.write_target() == "the target"
    transaction.append(SimpleNamespace()) if is_done else None
    transaction.alter(MetadataChange(properties={"a": "b"}), {})
    assert format.asked == ([] if is_done else ["append", "staged", "alter"])


def test_verbs_of_several_kinds_are_an_overwrite() -> None:
    format = Format()
    transaction = begun(format)
    for verb in ("delete", "delete", "append", "append"):
        transaction._begin_verb(verb)
    assert format.asked == ["delete", "delete", "overwrite", "overwrite"]


def test_conditions_of_several_verbs() -> None:
    assert _either(A, B) == ex.Or((A, B)) and _either(ex.TRUE, A) == ex.TRUE


COLUMNS = Schema.from_arrow(pa.schema({"a": pa.int32()}))
SAME, MORE = pa.table({"a": pa.array([1], pa.int32())}), pa.table({"a": pa.array([1], pa.int32()), "b": ["x"]})


@pytest.mark.parametrize(("rows", "schema", "names"), [(SAME, "merge", None), (MORE, "merge", ["a", "b"])])
def test_rows_that_bring_columns(rows: pa.Table, schema: str, names: list[str] | None) -> None:
    format = Format()
    format.target = SimpleNamespace(schema=COLUMNS)  # type: ignore[assignment]
    transaction = begun(format)
    assert transaction._merged(rows, None) is rows and format.asked == []
    assert transaction._merged(rows, schema).arrow_schema == rows.schema
    metadata = transaction._change.metadata
    assert format.asked == ([] if names is None else ["staged"])
    assert names == (None if metadata is None or metadata.schema is None else metadata.schema.names)
    with pytest.raises(ValueError, match="schema is 'merge' or None, not 'other'"):
        transaction._merged(rows, "other")


def test_columns_come_before_other_verbs() -> None:
    format = Format()
    format.target = SimpleNamespace(schema=COLUMNS)  # type: ignore[assignment]
    for begin in (lambda t: t._added.append(SAME), lambda t: t._delete(A), lambda t: t._merged(MORE, "merge")):
        transaction = begun(format)
        begin(transaction)
        assert transaction._merged(SAME, "merge").arrow_schema == SAME.schema
        with pytest.raises(tf.UnsupportedFeatureError, match="the schema changes before other verbs") as caught:
            transaction._merged(MORE, "merge")
        assert (caught.value.path, caught.value.field) == ("/t", "schema")


def test_changes_are_written_where_rows_were_rewritten() -> None:
    def fail() -> None:
        raise AssertionError("there is nothing to write")

    for changes, rewritten in ((None, [1]), ("a target", [])):
        format = Format()
        format.target = SimpleNamespace(changes=changes)  # type: ignore[assignment]
        transaction, removal = begun(format), SimpleNamespace(rewritten=rewritten, deleted=fail)
        change = transaction._change
        assert transaction._with_changed_rows(change, removal, []) is change  # type: ignore[arg-type]


def test_files_are_planned_with_every_delete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that stay are written anew, without those that were deleted before."""
    asked: list[Any] = []
    monkeypatch.setattr(planner, "plan_scan", lambda *given, **how: asked.append((given[0].filter, how)))
    _planned(SimpleNamespace(schema=None), A)  # type: ignore[arg-type]
    assert asked == [(A, {"every_delete": True})]


def test_an_overwrite_of_the_partitions_of_no_rows_changes_nothing(tmp_path: Path) -> None:
    tf.write_table(pa.table({"id": [1, 2], "p": ["a", "b"]}), tmp_path, format="delta", partition_by="p")
    table = tf.open_table(tmp_path)
    nothing = pa.table({"id": pa.array([], pa.int64()), "p": pa.array([], pa.string())})
    found = table.overwrite(nothing, where="dynamic")
    assert (found.attempts, table.count(), table.snapshot().version) == (0, 2, 0)
    assert table.overwrite(pa.table({"id": [3], "p": ["a"]}), where="dynamic").metrics["removed_rows"] == 1
    assert sorted(table.to_arrow()["id"].to_pylist()) == [2, 3]


def test_deleted_rows_are_counted(tmp_path: Path) -> None:
    tf.write_table(pa.table({"id": [1, 2, 3]}), tmp_path, format="delta")
    table = tf.open_table(tmp_path)
    assert "deleted_rows" not in table.append(pa.table({"id": [4]})).metrics
    assert table.delete("id < 3").metrics["deleted_rows"] == 2
    assert table.delete("id < 3").metrics.get("deleted_rows", 0) == 0
