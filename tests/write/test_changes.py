"""Overwrite, delete and transactions: the rows of a model at every version, and conflicts by pruning."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tableformats_delta.format import DeltaFormat

import tableformats as tf
from tableformats.plugin import OpenOptions

from ..support.delta_log import field
from ..support.examples import examples
from ..support.golden import JVM_TABLES
from ..support.memory_store import ROOT, MemoryStore, memory_storage
from ..support.processes import processes
from .test_append import LOG, first_commit, local_table, with_features

Row = tuple[Any, ...]
COLUMNS = (field("id", "long"), field("p", "string"), field("f", "double"))
NAN = float("nan")


def table_in(store: MemoryStore, *columns: dict[str, Any], **more: Any) -> tf.Table:
    store.files.setdefault(f"{ROOT}/{LOG}/{0:020d}.json", first_commit(None, *(columns or COLUMNS), **more))
    storage = memory_storage(store)
    return tf.Table(DeltaFormat().open(storage, OpenOptions()), storage)


def rows_of(*rows: Row) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [(), (), ()]
    kinds = (pa.int64(), pa.string(), pa.float64())
    return pa.table([pa.array(c, k) for c, k in zip(columns, kinds, strict=True)], names=["id", "p", "f"])


def ids(table: tf.Table, **selection: Any) -> list[int]:
    return sorted(table.to_arrow(columns=["id"], **selection)["id"].to_pylist())


def parquet_files(store: MemoryStore) -> set[str]:
    return {path for path in store.files if path.endswith(".parquet")}


# ---- a model of rows, and the reference reader ----------------------------------------------------------------------

VALUES = st.tuples(st.integers(0, 5), st.sampled_from(["a", "b", None]), st.sampled_from([0.5, NAN, None]))
CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "id = 3": lambda r: r[0] == 3,
    "p = 'a'": lambda r: r[1] == "a",
    "p IS NULL": lambda r: r[1] is None,
    "p <> 'a'": lambda r: r[1] not in ("a", None),
    "id > 1 AND p = 'b'": lambda r: r[0] > 1 and r[1] == "b",
    "f > 1.0": lambda r: r[2] is not None and r[2] != r[2],
    "NOT (f = 0.5)": lambda r: r[2] is not None and r[2] != 0.5,
    "id < 0": lambda r: False,
    "true": lambda r: True,
}
STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(VALUES, max_size=4)),
    st.tuples(st.just("overwrite"), st.lists(VALUES, max_size=4)),
    st.tuples(st.just("dynamic"), st.lists(VALUES, min_size=1, max_size=3)),
    st.tuples(st.just("delete"), st.sampled_from([*CONDITIONS])),
    st.tuples(st.just("replace"), st.tuples(st.sampled_from([*CONDITIONS]), st.lists(VALUES, max_size=3))),
)


def applied(rows: Sequence[Row], step: tuple[str, Any]) -> list[Row]:
    """The model: what a step makes of rows."""
    verb, given = step
    if verb == "append":
        return [*rows, *given]
    if verb == "overwrite":
        return list(given)
    if verb == "dynamic":
        partitions = {r[1] for r in given}
        return [*(r for r in rows if r[1] not in partitions), *given]
    condition, new = (given, []) if verb == "delete" else given
    return [*(r for r in rows if not CONDITIONS[condition](r)), *(r for r in new if CONDITIONS[condition](r))]


def run(table: tf.Table, step: tuple[str, Any]) -> int:
    """Runs a step; returns the version that is current after it."""
    verb, given = step
    if verb == "append":
        return table.append(rows_of(*given)).version
    if verb == "overwrite":
        return table.overwrite(rows_of(*given)).version
    if verb == "dynamic":
        return table.overwrite(rows_of(*given), where="dynamic").version
    if verb == "delete":
        return table.delete(given).version
    condition, new = given
    fitting = rows_of(*(r for r in new if CONDITIONS[condition](r)))
    return table.overwrite(fitting, where=condition).version


def as_texts(rows: Sequence[Row]) -> list[str]:
    return sorted(repr(tuple(row)) for row in rows)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=5), st.booleans())
def test_every_version_has_the_rows_of_the_model(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any]], partitioned: bool
) -> None:
    deltalake = pytest.importorskip("deltalake")
    root = tmp_path_factory.mktemp("program")
    partition = ("p",) if partitioned else ()
    table = local_table(root, *COLUMNS, partition=partition)
    rows: list[Row] = []
    expected = {0: rows}
    for step in steps:
        if step[0] == "dynamic" and not partitioned:
            step = ("overwrite", step[1])
        rows = applied(rows, step)
        expected[run(table, step)] = rows
    for version, wanted in expected.items():
        ours = table.to_arrow(version=version)
        theirs = deltalake.DeltaTable(str(root), version=version).to_pyarrow_table().select(ours.column_names)
        for found in (ours, theirs):
            assert as_texts([tuple(r.values()) for r in found.to_pylist()]) == as_texts(wanted)
        for condition, matches in CONDITIONS.items():
            assert table.count(condition, version=version) == sum(map(matches, wanted)), "no bound excludes a row"
    assert not list(table.verify(deep=True))
    shutil.rmtree(root)


def run_theirs(root: Path, step: tuple[str, Any]) -> int:
    """Runs a step by deltalake; returns the version that is current after it."""
    deltalake = pytest.importorskip("deltalake")
    verb, given = step
    if verb == "delete":
        deltalake.DeltaTable(str(root)).delete(given)
    else:
        deltalake.write_deltalake(str(root), rows_of(*given), mode=verb)
    version: int = deltalake.DeltaTable(str(root)).version()
    return version


def is_theirs(step: tuple[str, Any]) -> bool:
    """Whether deltalake does the same: NaN is no value that is greater than others to it."""
    verb, given = step
    return verb in ("append", "overwrite") or (verb == "delete" and "f" not in given.replace("false", ""))


@settings(max_examples=examples(36), deadline=None)
@given(st.lists(st.tuples(STEPS, st.booleans()), min_size=2, max_size=6), st.booleans())
def test_ours_and_deltalake_in_turn(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[tuple[str, Any], bool]], partitioned: bool
) -> None:
    deltalake = pytest.importorskip("deltalake")
    root = tmp_path_factory.mktemp("turns")
    table = tf.create_table(root, rows_of().schema, format="delta", partition_by="p" if partitioned else None)
    rows: list[Row] = []
    expected: dict[int, list[Row]] = {0: rows}
    for step, by_them in steps:
        if step[0] == "dynamic" and not partitioned:
            step = ("overwrite", step[1])
        rows = applied(rows, step)
        version = run_theirs(root, step) if by_them and is_theirs(step) else run(table, step)
        expected[version] = rows
    for version, wanted in expected.items():
        theirs = deltalake.DeltaTable(str(root), version=version).to_pyarrow_table()
        for found in (table.to_arrow(version=version), theirs):
            assert as_texts([tuple(r.values()) for r in found.select(["id", "p", "f"]).to_pylist()]) == as_texts(wanted)
    shutil.rmtree(root)


# ---- which files are touched ----------------------------------------------------------------------------------------


def test_files_that_match_as_a_whole_are_dropped_unread_and_others_stay(tmp_path: Path) -> None:
    table = local_table(tmp_path, *COLUMNS, partition=("p",))
    table.append(rows_of((1, "a", 0.5), (2, "b", 0.5)))
    table.append(rows_of((3, "a", 0.5)))
    for file in tmp_path.rglob("p=a/*.parquet"):
        file.write_bytes(b"damaged, and never read")
    commit = table.delete("p = 'a'")
    assert (
        commit.metrics
        == {
            **commit.metrics,
            "removed_files": 2,
            "removed_rows": 2,
            "deleted_rows": 2,
        }
        and "added_files" not in commit.metrics
    )
    assert ids(table) == [2]
    assert table.delete("id = 7 OR p = 'zz'").attempts == 0, "no file has such a row"


def test_a_row_for_which_the_condition_is_null_stays(tmp_path: Path) -> None:
    table = local_table(tmp_path, *COLUMNS)
    table.append(rows_of((1, None, None), (2, "x", 1.0)))
    assert table.delete("f < 2").metrics["deleted_rows"] == 1
    assert ids(table) == [1]


def test_files_with_deletion_vectors_are_rewritten_without_the_deleted_rows(tmp_path: Path) -> None:
    shutil.copytree(JVM_TABLES / "delta-deletion-vectors" / "table", tmp_path / "t")
    table = tf.open_table(tmp_path / "t")
    before = table.to_arrow().to_pylist()
    [vector, *_] = [d for d in table.plan().files["deletes"].to_pylist() if d]
    name, value = next(iter(before[0].items()))
    table.delete(tf.col(name) == value)
    wanted = sorted(repr(r) for r in before if r[name] != value)
    polars = pytest.importorskip("polars")
    for found in (table.to_arrow(), polars.scan_delta(str(tmp_path / "t")).collect().to_arrow()):
        assert sorted(map(repr, found.to_pylist())) == wanted
    assert vector and table.delete("true").metrics["deleted_rows"] == len(wanted)
    assert table.count() == 0


@pytest.mark.parametrize("name", ["delta-char", "delta-column-mapping", "delta-type-widening", "delta-old-calendar"])
def test_rows_of_tables_that_spark_wrote_are_written_again(tmp_path: Path, name: str) -> None:
    shutil.copytree(JVM_TABLES / name / "table", tmp_path / "t")
    table = tf.open_table(tmp_path / "t", relocate=True)
    before = table.to_arrow()
    plain = [f.name for f in table.schema if not f.type.is_nested and before[f.name][0].is_valid]
    column, value = plain[0], before[plain[0]][0].as_py()
    wanted = sorted(repr(r) for r in before.to_pylist() if r[column] != value)
    assert table.delete(tf.col(column) == value).metrics["deleted_rows"] == before.num_rows - len(wanted)
    assert sorted(map(repr, table.to_arrow().to_pylist())) == wanted
    table.overwrite(before)
    assert sorted(map(repr, table.to_arrow().to_pylist())) == sorted(map(repr, before.to_pylist()))


def test_new_rows_must_fulfil_the_condition_of_an_overwrite(tmp_path: Path) -> None:
    table = local_table(tmp_path, *COLUMNS)
    table.append(rows_of((1, "a", 0.5)))
    for rows in (rows_of((2, "b", 0.5)), rows_of((2, None, 0.5))):
        with pytest.raises(tf.ConstraintViolationError, match="condition") as caught:
            table.overwrite(rows, where="p = 'a'")
        assert caught.value.field == "where"
    assert ids(table) == [1] and table.snapshot().version == 1


def test_an_append_only_table_keeps_its_rows(tmp_path: Path) -> None:
    table = local_table(tmp_path, *COLUMNS, configuration={"delta.appendOnly": "true"})
    table.append(rows_of((1, "a", 0.5)))
    asked = table.transaction().check_rows
    assert asked(rows_of((2, "b", 0.5))) == 1
    changes = [lambda: table.delete("true"), lambda: table.overwrite(rows_of()), lambda: table.delete("id = 9")]
    for change in (*changes, lambda: asked(rows_of(), "id = 9"), lambda: asked(rows_of(), "dynamic")):
        with pytest.raises(tf.UnsupportedFeatureError) as caught:
            change()
        assert caught.value.field == "appendOnly"


# ---- transactions ---------------------------------------------------------------------------------------------------


def test_several_verbs_are_one_commit(tmp_path: Path) -> None:
    table = local_table(tmp_path, *COLUMNS)
    table.append(rows_of((1, "a", 0.5), (2, "b", 0.5), (3, "c", 0.5)))
    with table.transaction(properties={"job": "7"}) as txn:
        txn.delete("id = 1")
        txn.delete("id = 3")
        txn.append(rows_of((4, "d", 0.5)))
        assert ids(table) == [1, 2, 3], "nothing is visible before the end"
    assert txn.commit is not None and txn.commit.version == 2 and txn.commit.metrics["deleted_rows"] == 2
    assert ids(table) == [2, 4]
    info = json.loads((tmp_path / LOG / f"{2:020d}.json").read_text().splitlines()[0])["commitInfo"]
    assert json.loads(info["userMetadata"]) == {"job": "7"} and info["isBlindAppend"] is False
    with pytest.raises(ValueError, match="committed"):
        txn.append(rows_of())


def test_an_error_inside_of_a_transaction_leaves_nothing(tmp_path: Path) -> None:
    table = local_table(tmp_path, *COLUMNS)
    with pytest.raises(RuntimeError), table.transaction() as txn:
        txn.append(rows_of((1, "a", 0.5)))
        raise RuntimeError
    assert not [*tmp_path.rglob("*.parquet")] and table.snapshot().version == 0


def test_rows_that_a_transaction_added_are_not_deleted_by_it(tmp_path: Path) -> None:
    table = local_table(tmp_path, *COLUMNS, partition=("p",))
    with pytest.raises(tf.UnsupportedFeatureError) as caught, table.transaction() as txn:
        txn.append(rows_of((1, "a", 0.5)))
        txn.delete("id = 1")
    assert caught.value.field == "transaction"
    with table.transaction() as txn:
        txn.append(rows_of((1, "a", 0.5)))
        txn.overwrite(rows_of((2, "a", 0.5)))
    assert ids(table) == [2] and len([*tmp_path.rglob("*.parquet")]) == 1, "all of it is overwritten"


def test_a_transaction_of_an_application_is_committed_once(tmp_path: Path) -> None:
    table = local_table(tmp_path, *COLUMNS)
    for number, attempts in ((1, 1), (1, 0), (3, 1), (2, 0)):
        commit = table.append(rows_of((number, "a", 0.5)), application=("stream", number))
        assert commit.attempts == attempts
    assert ids(table) == [1, 3]
    table.append(rows_of((4, "a", 0.5)), application=("another", 1))
    assert table.inspect.transactions()["version"].to_pylist() == [1, 3]
    for wrong in ("stream", ("stream",), ("stream", "1"), ("", 1), ("s", True)):
        with pytest.raises(TypeError, match="application"):
            table.append(rows_of(), application=wrong)
    with pytest.raises(ValueError, match="Serializable"):
        table.append(rows_of(), isolation="chaos")


# ---- conflicts ------------------------------------------------------------------------------------------------------


def raced(
    ours: Callable[[tf.Table], Any], rival: Callable[[tf.Table], Any], **more: Any
) -> tuple[tf.Table, MemoryStore]:
    """Runs ``ours`` while ``rival`` commits right before our first try."""
    store = MemoryStore()
    table = table_in(store, partition=("p",), **more)
    table.append(rows_of((1, "a", 0.5), (2, "a", 0.5), (3, "b", 0.5)))
    other = table_in(store)

    def once(path: str) -> None:
        store.before_put = lambda path: None
        rival(other)

    store.before_put = once
    ours(table)
    return table


A_ROW = rows_of((7, "a", 0.5))
B_ROW = rows_of((8, "b", 0.5))
SERIALIZABLE = {"delta.isolationLevel": "Serializable"}


@pytest.mark.parametrize(
    ("ours", "rival", "more", "left"),
    [
        (lambda t: t.delete("id = 1"), lambda t: t.append(B_ROW), SERIALIZABLE, [2, 3, 8]),
        (lambda t: t.delete("id = 1"), lambda t: t.append(A_ROW), SERIALIZABLE, [2, 3, 7]),
        (lambda t: t.delete("p = 'a'"), lambda t: t.append(A_ROW), {}, [3, 7]),
        (lambda t: t.delete("p = 'a'"), lambda t: t.append(B_ROW), SERIALIZABLE, [3, 8]),
        (lambda t: t.delete("p = 'a'"), lambda t: t.delete("p = 'b'"), SERIALIZABLE, []),
        (lambda t: t.append(A_ROW), lambda t: t.delete("true"), SERIALIZABLE, [7]),
        (lambda t: t.overwrite(A_ROW, "dynamic"), lambda t: t.append(B_ROW), SERIALIZABLE, [3, 7, 8]),
        (lambda t: t.overwrite(A_ROW, "p = 'a'"), lambda t: t.overwrite(B_ROW, "p = 'b'"), SERIALIZABLE, [7, 8]),
    ],
)
def test_winners_that_change_no_row_that_was_read_are_no_conflict(
    ours: Callable[[tf.Table], Any], rival: Callable[[tf.Table], Any], more: dict[str, str], left: list[int]
) -> None:
    table = raced(ours, rival, configuration=more)
    assert ids(table) == left and table.snapshot().version == 3


@pytest.mark.parametrize(
    ("ours", "rival", "more", "words"),
    [
        (lambda t: t.delete("id >= 2"), lambda t: t.append(A_ROW), SERIALIZABLE, "added rows"),
        (lambda t: t.delete("p = 'a'"), lambda t: t.append(A_ROW), SERIALIZABLE, "added rows"),
        (lambda t: t.delete("p = 'a'"), lambda t: t.overwrite(A_ROW, "p = 'a'"), {}, "removed files"),
        (lambda t: t.delete("id = 1"), lambda t: t.delete("id = 2"), {}, "removed files"),
        (lambda t: t.delete("id = 1"), lambda t: t.delete("id = 1"), {}, "removed files"),
        (lambda t: t.overwrite(A_ROW), lambda t: t.append(B_ROW), SERIALIZABLE, "added rows"),
        (lambda t: t.overwrite(A_ROW), lambda t: t.overwrite(B_ROW), {}, "removed files"),
        (lambda t: t.overwrite(A_ROW, "dynamic"), lambda t: t.append(A_ROW), SERIALIZABLE, "added rows"),
        (lambda t: t.overwrite(A_ROW, "dynamic"), lambda t: t.delete("id = 1"), {}, "removed files"),
    ],
)
def test_winners_that_change_what_was_read_are_conflicts(
    ours: Callable[[tf.Table], Any], rival: Callable[[tf.Table], Any], more: dict[str, str], words: str
) -> None:
    with pytest.raises(tf.CommitConflictError, match=words):
        raced(ours, rival, configuration=more)


def test_what_lost_is_deleted_and_the_winner_stays() -> None:
    store = MemoryStore()
    table, other = table_in(store), table_in(store)
    table.append(rows_of((1, "a", 0.5), (2, "b", 0.5)))
    found: set[str] = set()

    def once(path: str) -> None:
        store.before_put = lambda path: None
        other.delete("id = 2")
        found.update(parquet_files(store))

    store.before_put = once
    with pytest.raises(tf.CommitConflictError):
        table.delete("id = 1")
    assert ids(table) == [1] and len(found) - len(parquet_files(store)) == 1


def test_two_writers_of_one_application_commit_once() -> None:
    store = MemoryStore()
    table, other = table_in(store), table_in(store)

    def once(path: str) -> None:
        store.before_put = lambda path: None
        other.append(A_ROW, application=("s", number))

    store.before_put, number = once, 1
    commit = table.append(A_ROW, application=("s", 1))
    assert commit.attempts == 0 and ids(table) == [7] and len(parquet_files(store)) == 1
    store.before_put, number = once, 2
    with pytest.raises(tf.CommitConflictError, match="same application"):
        table.append(A_ROW, application=("s", 3))


# ---- lost answers ---------------------------------------------------------------------------------------------------

VERBS: list[tuple[Callable[[tf.Table], Any], list[int]]] = [
    (lambda t: t.append(A_ROW), [1, 2, 7]),
    (lambda t: t.overwrite(A_ROW), [7]),
    (lambda t: t.overwrite(A_ROW, "p = 'a'"), [2, 7]),
    (lambda t: t.delete("id = 1"), [2]),
]


@pytest.mark.parametrize("fault", ["lost", "taken", "dropped", "refused"])
@pytest.mark.parametrize(("verb", "left"), VERBS)
def test_a_lost_answer_neither_loses_nor_repeats_a_change(
    verb: Callable[[tf.Table], Any], left: list[int], fault: str
) -> None:
    store = MemoryStore()
    table = table_in(store)
    table.append(rows_of((1, "a", 0.5), (2, "b", 0.5)))
    store.faults = [fault]
    commit = verb(table)
    assert (commit.version, store.faults, ids(table), table.snapshot().version) == (2, [], left, 2)


@pytest.mark.parametrize(("verb", "left"), VERBS)
def test_an_unknown_outcome_keeps_the_files(verb: Callable[[tf.Table], Any], left: list[int]) -> None:
    store = MemoryStore()
    table = table_in(store)
    table.append(rows_of((1, "a", 0.5), (2, "b", 0.5)))
    store.faults = ["lost"]

    def away(path: str) -> None:
        store.unreadable = True

    store.before_put = away
    with pytest.raises(tf.CommitUnknownError):
        verb(table)
    store.unreadable = False
    assert ids(table) == left, "it had landed"


# ---- schemas that grow ----------------------------------------------------------------------------------------------


def test_columns_of_rows_become_columns_of_the_table(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    table = local_table(tmp_path, field("id", "integer"))
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    more = pa.table({"ID": pa.array([2], pa.int32()), "s": ["x"], "m": [{"a": 1, "b": ["y"]}]})
    with pytest.raises(tf.ConstraintViolationError):
        table.append(more)
    commit = table.append(more, schema="merge")
    assert (commit.version, commit.attempts) == (2, 1)
    assert str(table.schema) == "id: int\ns: string\nm: struct<a:bigint,b:array<string>>"
    wanted = [{"id": 1, "s": None, "m": None}, {"id": 2, "s": "x", "m": {"a": 1, "b": ["y"]}}]
    for found in (table.to_arrow(), deltalake.DeltaTable(str(tmp_path)).to_pyarrow_table()):
        assert found.sort_by("id").to_pylist() == wanted
    table.append(more.select(["ID"]), schema="merge")
    assert "metaData" not in (tmp_path / LOG / f"{3:020d}.json").read_text(), "nothing is to be merged"
    with pytest.raises(ValueError, match="merge"):
        table.append(more, schema="overwrite")


def test_types_are_widened_where_the_table_allows_it(tmp_path: Path) -> None:
    wide = pa.table({"id": pa.array([2**40], pa.int64())})
    table = local_table(tmp_path / "narrow", field("id", "integer"))
    with pytest.raises(tf.UnsupportedFeatureError):
        table.append(wide, schema="merge")
    assert table.snapshot().version == 0
    allowed = {"delta.enableTypeWidening": "true"}
    table = local_table(
        tmp_path / "wide", field("id", "integer"), protocol=with_features("typeWidening"), configuration=allowed
    )
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    table.append(wide, schema="merge")
    assert str(table.schema) == "id: bigint" and ids(table) == [1, 2**40]


def test_a_schema_that_grows_is_in_conflict_with_one_that_grew() -> None:
    store = MemoryStore()
    table, other = table_in(store), table_in(store)

    def once(path: str) -> None:
        store.before_put = lambda path: None
        other.append(pa.table({"a": [1]}), schema="merge")

    store.before_put = once
    with pytest.raises(tf.CommitConflictError, match="metadata"):
        table.append(pa.table({"b": [1]}), schema="merge")
    assert table.schema.names == ["id", "p", "f", "a"] and len(parquet_files(store)) == 1


@pytest.mark.parametrize("fault", ["lost", "taken", "dropped", "refused"])
def test_a_lost_answer_neither_loses_nor_repeats_a_schema_that_grows(fault: str) -> None:
    store = MemoryStore()
    table = table_in(store)
    store.faults = [fault]
    assert table.append(pa.table({"a": [1]}), schema="merge").version == 1
    assert table.snapshot().version == 1 and table.count("a = 1") == 1


@pytest.mark.parametrize("landed", [True, False])
def test_an_unknown_outcome_of_a_schema_that_grows(landed: bool) -> None:
    """Rows and column are there together, or neither is; the data file is kept in both cases."""
    store = MemoryStore()
    table = table_in(store)
    table.append(pa.table({"id": [1]}))  # and the store is known to have conditional puts

    def away(path: str) -> None:
        store.unreadable = True

    store.faults, store.before_put = ["lost" if landed else "dropped"], away
    with pytest.raises(tf.CommitUnknownError):
        table.append(pa.table({"a": [1]}), schema="merge")
    store.unreadable, store.before_put = False, lambda path: None
    assert (table.snapshot().version, "a" in table.schema.names, table.count()) == (
        (2, True, 2) if landed else (1, False, 1)
    )
    assert len(parquet_files(store)) == 2
    assert table.append(pa.table({"a": [2]}), schema="merge").version == 2 + landed
    assert table.count("a = 2") == 1


# ---- writers that are killed, and several at once -------------------------------------------------------------------


def _overwrite_for_ever(root: str) -> None:
    table = tf.open_table(root)
    for number in range(10**6):
        table.overwrite(rows_of(*((number, "a", 0.5) for _ in range(7))))
        table.delete(f"id = {number}")


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_writer_that_is_killed_leaves_whole_changes(tmp_path: Path) -> None:
    table = local_table(tmp_path, *COLUMNS)
    for wait in (0.0, 0.013, 0.031):
        before = table.snapshot().version
        writer = processes().Process(target=_overwrite_for_ever, args=(str(tmp_path),))
        writer.start()
        while table.snapshot().version < before + 2 and writer.is_alive():
            time.sleep(0.01)
        time.sleep(wait)
        writer.kill()
        writer.join()
        assert table.count() == len(table.to_arrow()) and table.count() in (0, 7)
    assert table.append(rows_of((1, "a", 0.5))).attempts == 1, "what the killed left hinders nobody"


def _work_on_a_partition(root: str, name: str) -> None:
    table = tf.open_table(root)
    for number in range(6):
        table.append(rows_of((number, name, 0.5)))
        if number % 2:
            table.delete(f"p = '{name}' AND id < {number}")


def test_processes_that_change_partitions_of_their_own_do_not_disturb_each_other(tmp_path: Path) -> None:
    table = local_table(tmp_path, *COLUMNS, partition=("p",), configuration=SERIALIZABLE)
    with processes().Pool(3) as pool:
        pool.starmap(_work_on_a_partition, [(str(tmp_path), name) for name in "abc"])
    assert sorted(map(repr, table.to_arrow(columns=["p", "id"]).to_pylist())) == [
        repr({"p": name, "id": 5}) for name in "abc"
    ]
    assert table.snapshot().version == 3 * 9
