"""Appends to Delta tables: whole or absent, read by others value by value; features that are missing refuse by name."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tableformats_delta.format import DeltaFormat
from tableformats_delta.statistics.indexed_columns import indexed_leaves
from tableformats_delta.write.requirements import HONOURED
from tableformats_delta.write.texts import partition_text, statistics_text

import tableformats as tf
from tableformats.engines.arrow.writing import data_files
from tableformats.plugin import Field, FormatTable, ListType, OpenOptions, StructType, primitive
from tableformats.write.commit_loop import CommitOptions

from ..support.delta_log import PROTOCOL, field, metadata
from ..support.golden import TABLES
from ..support.memory_store import ROOT, MemoryStore, memory_storage
from ..support.processes import processes

LOG = "_delta_log"
ROWS = pa.table({"id": [1, 2, 3]})


def first_commit(protocol: dict[str, Any] | None = None, *fields: dict[str, Any], **more: Any) -> bytes:
    actions = [
        {"commitInfo": {"timestamp": 1, "inCommitTimestamp": 2**42}},
        {"protocol": protocol or PROTOCOL},
        {"metaData": metadata(*fields, **more)},
    ]
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


def local_table(path: Path, *fields: dict[str, Any], protocol: dict[str, Any] | None = None, **more: Any) -> tf.Table:
    (path / LOG).mkdir(parents=True)
    (path / LOG / f"{0:020d}.json").write_bytes(first_commit(protocol, *fields, **more))
    return tf.open_table(path)


def with_features(*names: str) -> dict[str, Any]:
    readers = ("deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "columnMapping")
    return {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": [name for name in names if name in readers or name.startswith("typeWidening")],
        "writerFeatures": list(names),
    }


def files_below(path: Path) -> list[str]:
    return sorted(str(found.relative_to(path)) for found in path.rglob("*") if found.is_file())


def adds_of(table: tf.Table, version: int) -> list[dict[str, Any]]:
    lines = table.storage.read_bytes(table.storage.join(LOG, f"{version:020d}.json")).decode().splitlines()
    return [action["add"] for line in lines if "add" in (action := json.loads(line))]


# ---- read by others ------------------------------------------------------------------------------------------------

EVERY_TYPE = pa.table(
    {
        "i": pa.array([1, None, -(2**31)], pa.int32()),
        "x": [1, 2**63 - 1, None],
        "f": [1.5, -0.0, None],
        "s": ["x" * 40, "", "é\U0010ffff"],
        "d": [dt.date(2020, 2, 29), None, dt.date(1, 1, 1)],
        "t": pa.array([dt.datetime(2020, 1, 1, 0, 0, 0, 1), None, dt.datetime(1969, 1, 1)], pa.timestamp("us", "UTC")),
        "n": pa.array([decimal.Decimal("0.0000001"), None, decimal.Decimal("-1")], pa.decimal128(20, 7)),
        "l": [[1], None, [2, None]],
        "m": [{"a": 1}, None, {"a": None}],
        "b": [True, None, False],
        "y": [b"\0", None, b""],
    }
)


@pytest.mark.parametrize("partition", [[], ["i"], ["s2"], ["d", "t"], ["n", "b"]])
def test_deltalake_reads_what_was_appended(tmp_path: Path, partition: list[str]) -> None:
    deltalake = pytest.importorskip("deltalake")
    rows = EVERY_TYPE.append_column("s2", pa.array(["a/b=c", "ü c%20:", None]))
    deltalake.write_deltalake(str(tmp_path), rows, partition_by=partition)
    table = tf.open_table(tmp_path)
    assert table.append(rows).version == 1
    theirs = deltalake.DeltaTable(str(tmp_path)).to_pyarrow_table().select(rows.column_names)
    expected = sorted(map(repr, rows.to_pylist() * 2))
    assert sorted(map(repr, theirs.to_pylist())) == expected
    assert sorted(map(repr, table.to_arrow().to_pylist())) == expected
    for row in rows.to_pylist():
        if row["x"] is not None:
            assert table.count(f"x = {row['x']}") == 2, "no bound excludes a row"


def test_statistics_hold_for_the_rows(tmp_path: Path) -> None:
    table = local_table(
        tmp_path, field("id", "long"), field("f", "double"), field("s", "string"), field("t", "timestamp")
    )
    moment = dt.datetime(2020, 1, 1, 0, 0, 0, 1, dt.timezone.utc)
    table.append(
        pa.table({"id": [3, None, 1], "f": [1.0, float("nan"), 2.0], "s": ["a", "b" * 33, None], "t": [moment] * 3})
    )
    [add] = adds_of(table, 1)
    assert json.loads(add["stats"]) == {
        "numRecords": 3,
        "minValues": {"id": 1, "s": "a", "t": "2020-01-01T00:00:00.000Z"},
        "maxValues": {"id": 3, "s": "b" * 32 + "\x7f", "t": "2020-01-01T00:00:00.001Z"},
        "nullCount": {"id": 1, "f": 0, "s": 1, "t": 0},
        "tightBounds": True,
    }
    assert add["size"] == os.path.getsize(tmp_path / add["path"])
    assert table.count("isnan(f)") == 1


def test_years_that_python_does_not_have(tmp_path: Path) -> None:
    table = local_table(tmp_path, field("d", "date"), field("p", "date"), field("x", "long"), partition=("p",))
    late = pa.array([10**7, 0], pa.date32())
    table.append(pa.table({"d": late, "x": [1, 2]}))
    assert json.loads(adds_of(table, 1)[0]["stats"])["maxValues"] == {"x": 2}
    before = files_below(tmp_path)
    with pytest.raises(tf.ConstraintViolationError, match="9999") as caught:
        table.append(pa.table({"p": late, "x": [1, 2]}))
    assert caught.value.field == "p" and files_below(tmp_path) == before


def test_a_stream_that_breaks_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = local_table(tmp_path, configuration={"delta.targetFileSize": "8"})
    monkeypatch.setattr(data_files, "BUFFER_BYTES", 1 << 14)

    def batches() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches(max_chunksize=1)[:2]  # a file each
        deadline = time.monotonic() + 20
        while len(written) < 2 and time.monotonic() < deadline:  # another thread writes the first one
            written[:] = files_below(tmp_path)
        raise RuntimeError("the source is away")

    written: list[str] = []
    with pytest.raises(RuntimeError, match="away"):
        table.append(pa.RecordBatchReader.from_batches(ROWS.schema, batches()))
    assert len(written) == 2, "a log and a data file"
    assert files_below(tmp_path) == [f"{LOG}/{0:020d}.json"]


def test_many_partitions_in_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_files, "BUFFER_BYTES", 1 << 13)
    small = {"delta.targetFileSize": "1kb"}
    table = local_table(tmp_path, field("id", "long"), field("p", "long"), partition=("p",), configuration=small)
    rows = pa.table({"id": range(2_000), "p": [i % 90 for i in range(2_000)]})
    commit = table.append(pa.RecordBatchReader.from_batches(rows.schema, rows.to_batches(max_chunksize=500)))
    assert commit.metrics["added_files"] > 90 and commit.metrics["added_rows"] == 2_000
    assert table.to_arrow().sort_by("id").select(rows.column_names).equals(rows)


@given(st.text(min_size=0, max_size=40), st.text(max_size=3))
def test_cut_texts_hold_the_value(text: str, more: str) -> None:
    value = (text + more * 20).encode("utf-8", "replace").decode()
    stats = json.loads(statistics_text(1, {"s": value}, {"s": value}, {"s": 0}))
    if stats["minValues"]:
        assert stats["minValues"]["s"].encode() <= value.encode() <= stats["maxValues"]["s"].encode()
        assert len(stats["maxValues"]["s"]) <= 33


@pytest.mark.parametrize(
    ("value", "least", "greatest"),
    [
        ("x" * 32, "x" * 32, "x" * 32),
        ("x" * 32 + "~", "x" * 32, "x" * 32 + "\x7f"),
        ("x" * 32 + "\x7f~", "x" * 32, "x" * 32 + "\U0010ffff"),
        ("x" * 32 + "é", "x" * 32, "x" * 32 + "\U0010ffff"),
        (dt.datetime(2020, 1, 1, 0, 0, 0, 2000), "2020-01-01T00:00:00.002", "2020-01-01T00:00:00.002"),
        (dt.datetime(2020, 1, 1, 0, 0, 0, 2999), "2020-01-01T00:00:00.002", "2020-01-01T00:00:00.003"),
    ],
)
def test_where_bounds_are_cut(value: Any, least: str, greatest: str) -> None:
    stats = json.loads(statistics_text(1, {"c": value}, {"c": value}, {"c": 0}))
    assert (stats["minValues"]["c"], stats["maxValues"]["c"]) == (least, greatest)


def test_texts_that_no_bound_holds() -> None:
    for value in ("x" * 32 + "\U0010ffff", float("inf"), True, b"y", None, dt.datetime.max):
        assert json.loads(statistics_text(1, {"c": value}, {"c": value}, {"c": 0}))["maxValues"] == {}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (-7, "-7"),
        (-0.0, "0.0"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (dt.date(1, 2, 3), "0001-02-03"),
        (dt.datetime(2020, 1, 2, 3, 4, 5, 6), "2020-01-02 03:04:05.000006"),
        (dt.datetime(2020, 1, 2, tzinfo=dt.timezone.utc), "2020-01-02T00:00:00.000000Z"),
        (decimal.Decimal("1E-7"), "0.0000001"),
        ("a", "a"),
    ],
)
def test_partition_values_as_the_protocol_spells_them(value: object, text: str) -> None:
    assert partition_text(Field(1, "p", primitive("string")), value) == text


def test_the_properties_say_which_columns_have_statistics() -> None:
    struct = Field(99, "s", StructType((Field(100, "a", primitive("long")), Field(101, "b", primitive("long")))))
    many = [(Field(i, f"c{i}", primitive("long")),) for i in range(40)]
    listed = (
        Field(50, "l", ListType(Field(51, "element", primitive("long")))),
        Field(51, "element", primitive("long")),
    )
    leaves = [*many[:5], listed, *((struct, f) for f in struct.type.members), *many[5:]]

    def names(**properties: str) -> list[str]:
        found = indexed_leaves(leaves, {f"delta.dataSkipping{name}": value for name, value in properties.items()})
        return [".".join(f.name for f in path) for path in found]

    assert names() == [*(f"c{i}" for i in range(5)), "s.a", "s.b", *(f"c{i}" for i in range(5, 30))]
    assert len(names(NumIndexedCols="-1")) == 42
    assert names(NumIndexedCols="2") == ["c0", "c1"]
    assert names(StatsColumns="`c7`, c9, s") == ["s.a", "s.b", "c7", "c9"]
    assert names(StatsColumns="`s`.b") == ["s.b"]


# ---- bad data ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "column", "words"),
    [
        ({"id": [1], "more": [1]}, "more", "no such column"),
        ({"id": [2**40], "n": [2**40]}, "n", "not exactly"),
        ({"id": [1], "ID": [1]}, "ID", "twice"),
        ({"id": ["1"]}, "id", "string is not written"),
        ({"id": [1.0]}, "id", "double is not written"),
        ({"id": [None]}, "id", "NULL"),
        ({"n": [1]}, "id", "NULL"),
        ({"id": [1], "p": [""]}, "p", "empty string"),
        ({"id": [1], "t": [dt.datetime(2020, 1, 1)]}, "t", "timestamp"),
        ({"id": [1], "l": [["a"]]}, "l", "list"),
    ],
)
def test_data_that_does_not_fit_leaves_the_table_as_it_was(
    tmp_path: Path, rows: dict[str, list[Any]], column: str, words: str
) -> None:
    required = {**field("id", "long"), "nullable": False}
    array = {"type": "array", "elementType": "long", "containsNull": True}
    columns = (required, field("n", "integer"), field("p", "string"), field("t", "timestamp"), field("l", array))
    table = local_table(tmp_path, *columns, partition=("p",))
    before = files_below(tmp_path)
    with pytest.raises(tf.ConstraintViolationError, match=words) as caught:
        table.append(pa.table(rows))
    assert caught.value.field == column and files_below(tmp_path) == before and table.snapshot().version == 0


def test_what_is_no_data_is_a_type_error(tmp_path: Path) -> None:
    table = local_table(tmp_path)
    for data in ([1, 2], "rows", None):
        with pytest.raises(TypeError, match="Arrow"):
            table.append(data)
    with pytest.raises(ValueError, match="tries"):
        table.append(ROWS, tries=0)
    with pytest.raises(ValueError, match="seconds"):
        CommitOptions(longest_wait=-1)


def test_rows_of_other_libraries_and_none(tmp_path: Path) -> None:
    table = local_table(tmp_path, field("id", "long"), field("s", "string"))
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    for data in (pandas.DataFrame({"ID": [1]}), polars.DataFrame({"s": ["a"], "id": [2]}), ROWS.to_reader()):
        table.append(data)
    assert sorted(table.to_arrow()["id"].to_pylist()) == [1, 1, 2, 2, 3]
    nothing = table.append(ROWS.slice(0, 0))
    assert (nothing.version, nothing.attempts) == (3, 0) and table.snapshot().version == 3


# ---- features ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("feature", sorted(HONOURED))
def test_a_feature_that_is_honoured_is_appended_to(tmp_path: Path, feature: str) -> None:
    table = local_table(tmp_path, protocol=with_features(feature))
    table.append(ROWS)
    assert table.count() == 3


@pytest.mark.parametrize("feature", ["icebergCompatV2", "collations", "variantType", "catalogManaged", "somethingNew"])
def test_a_feature_that_is_not_honoured_is_refused_by_name(tmp_path: Path, feature: str) -> None:
    table = local_table(tmp_path, protocol={**with_features(feature), "readerFeatures": []})
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        table.append(ROWS)
    assert caught.value.field == feature and files_below(tmp_path) == [f"{LOG}/{0:020d}.json"]


@pytest.mark.parametrize(
    ("columns", "more", "feature"),
    [
        ([field("id", "long", {"delta.invariants": "{}"})], {}, "id"),
        ([field("id", "long", {"delta.generationExpression": "rand()"})], {}, "id"),
        ([field("id", "integer", {"delta.identity.start": 1, "delta.identity.step": 1})], {}, "id"),
        ([field("id", "varchar(3)")], {}, "varchar"),
        ([field("id", "string", {"__CHAR_VARCHAR_TYPE_STRING": "struct<a:char(3)>"})], {}, "id"),
        ([field("id", "string", {"__COLLATIONS": {"id": "spark.UTF8_LCASE"}})], {}, "collations"),
        ([field("id", "long")], {"configuration": {"delta.rowTrackingSuspended": "true"}}, "rowTracking"),
        ([field("id", "void")], {}, "unknown"),
        ([field("id", "binary"), field("v", "long")], {"partition": ("id",)}, "binary"),
        ([field("id", "long")], {"partition": ("id",)}, "files without columns"),
        (
            [field("id", "long")],
            {"configuration": {"delta.constraints.c": "exists(array(id), x -> x > 0)"}},
            "delta.constraints.c",
        ),
    ],
)
def test_what_a_column_or_a_property_asks_is_refused_by_name(
    tmp_path: Path, columns: list[dict[str, Any]], more: dict[str, Any], feature: str
) -> None:
    table = local_table(tmp_path, *columns, **more)
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        table.append(ROWS)
    assert caught.value.field == feature


@pytest.mark.parametrize(
    "told",
    [
        {"delta.identity.step": 1},
        {"delta.identity.start": 1},
        {"delta.identity.start": 1, "delta.identity.step": 0},
        {"delta.identity.start": 1, "delta.identity.step": 1.0},
        {"delta.identity.start": True, "delta.identity.step": 1},
        {"delta.identity.start": 2**63, "delta.identity.step": 1},
        {"delta.identity.start": "one", "delta.identity.step": 1},
    ],
)
def test_an_identity_column_that_says_no_numbers_is_damaged(tmp_path: Path, told: dict[str, Any]) -> None:
    table = local_table(tmp_path, field("id", "long", told), protocol=with_features("identityColumns"))
    with pytest.raises(tf.CorruptMetadataError) as caught:
        table.append(ROWS)
    assert caught.value.field == "id"


@pytest.mark.parametrize(
    ("protocol", "error"),
    [
        ({"minReaderVersion": 1, "minWriterVersion": 8}, tf.UnsupportedFeatureError),
        ({"minReaderVersion": 1}, tf.CorruptMetadataError),
        ({"minReaderVersion": 1, "minWriterVersion": 7}, tf.CorruptMetadataError),
    ],
)
def test_protocols_that_no_writer_may_pass(tmp_path: Path, protocol: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        local_table(tmp_path, protocol=protocol).append(ROWS)


def test_in_commit_timestamps_grow(tmp_path: Path) -> None:
    configuration = {"delta.enableInCommitTimestamps": "true"}
    table = local_table(tmp_path, protocol=with_features("inCommitTimestamp"), configuration=configuration)
    table.append(ROWS)
    line = (tmp_path / LOG / f"{1:020d}.json").read_text().splitlines()[0]
    assert json.loads(line)["commitInfo"]["inCommitTimestamp"] == 2**42 + 1


def test_a_format_that_is_only_read_says_so() -> None:
    opened = tf.open_table(TABLES / "iceberg-evolved" / "table", relocate=True)._opened
    with pytest.raises(tf.UnsupportedFeatureError, match="only read"):
        FormatTable.begin(opened)


# ---- races ---------------------------------------------------------------------------------------------------------


def memory_table(*faults: str) -> tuple[tf.Table, MemoryStore]:
    store = MemoryStore()
    store.files[f"{ROOT}/{LOG}/{0:020d}.json"] = first_commit()
    storage = memory_storage(store)
    table = tf.Table(DeltaFormat().open(storage, OpenOptions()), storage)
    table.append(ROWS.slice(0, 1))
    store.faults = list(faults)
    return table, store


@pytest.mark.parametrize("fault", ["lost", "taken", "dropped", "refused"])
def test_a_lost_answer_neither_loses_nor_repeats_a_commit(fault: str) -> None:
    table, store = memory_table(fault)
    commit = table.append(ROWS)
    assert (commit.version, commit.attempts, store.faults) == (2, 1, [])
    assert table.snapshot().version == 2 and table.count() == 4


def rival(store: MemoryStore, data: bytes, version: int = 2) -> Callable[[str], None]:
    """Another writer, who commits ``data`` right before our first try."""

    def commit(path: str) -> None:
        store.files.setdefault(f"{ROOT}/{LOG}/{version:020d}.json", data)

    return commit


@pytest.mark.parametrize("action", [{"commitInfo": {}}, {"metaData": {**metadata(), "description": None}}])
def test_a_rival_append_is_no_conflict(action: dict[str, Any]) -> None:
    table, store = memory_table()
    store.before_put = rival(store, json.dumps(action).encode())
    commit = table.append(ROWS)
    assert (commit.version, commit.attempts) == (3, 2) and table.count() == 4


@pytest.mark.parametrize(
    ("action", "error"),
    [
        ({"metaData": metadata(field("id", "integer"))}, tf.CommitConflictError),
        ({"metaData": {**metadata(), "id": "another table"}}, tf.CommitConflictError),
        ({"metaData": metadata(field("id", "long", {"delta.invariants": "{}"}))}, tf.UnsupportedFeatureError),
        ({"protocol": with_features("icebergCompatV2")}, tf.UnsupportedFeatureError),
        ({"metaData": metadata(configuration={"delta.constraints.c": "id < 3"})}, tf.CommitConflictError),
    ],
)
def test_a_rival_that_changes_what_we_depend_on_is_a_conflict(action: dict[str, Any], error: type[Exception]) -> None:
    table, store = memory_table()
    data_files = {path for path in store.files if path.endswith(".parquet")}
    store.before_put = rival(store, json.dumps(action).encode())
    with pytest.raises(error):
        table.append(ROWS)
    assert {path for path in store.files if path.endswith(".parquet")} == data_files, "what lost is deleted"
    assert table.snapshot().version == 2


def test_races_end_with_the_tries() -> None:
    table, store = memory_table()

    def always_first(path: str) -> None:
        store.files.setdefault(path, b'{"commitInfo":{}}\n')

    store.before_put = always_first
    with pytest.raises(tf.CommitConflictError, match="3 races"):
        table.append(ROWS, tries=3)
    assert table.count() == 1 and table.snapshot().version == 4


def test_an_unknown_outcome_keeps_the_files_that_the_commit_may_name() -> None:
    table, store = memory_table("lost")

    def away(path: str) -> None:
        store.unreadable = True

    store.before_put = away
    with pytest.raises(tf.CommitUnknownError, match="version 2"):
        table.append(ROWS)
    store.unreadable = False
    assert table.count() == len(table.to_arrow()) == 4, "it had landed, and its files are there"


def _append(root: str, writer: int, count: int) -> None:
    table = tf.open_table(root)
    for number in range(count):
        table.append(pa.table({"id": [writer * 1000 + number]}))


def test_processes_that_append_at_once_lose_nothing(tmp_path: Path) -> None:
    local_table(tmp_path)
    with processes().Pool(4) as pool:
        pool.starmap(_append, [(str(tmp_path), writer, 12) for writer in range(4)])
    table = tf.open_table(tmp_path)
    assert sorted(table.to_arrow()["id"].to_pylist()) == sorted(w * 1000 + n for w in range(4) for n in range(12))
    assert table.snapshot().version == 48
    assert not [name for name in os.listdir(tmp_path / LOG) if name.endswith(".tmp")]


def _append_for_ever(root: str) -> None:
    table = tf.open_table(root)
    for number in range(10**6):
        table.append(pa.table({"id": [number] * 7}))


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_a_writer_that_is_killed_leaves_whole_commits(tmp_path: Path) -> None:
    table = local_table(tmp_path)
    moments = random.Random(26)
    for _ in range(6):
        before = table.snapshot().version
        writer = processes().Process(target=_append_for_ever, args=(str(tmp_path),))
        writer.start()
        while table.snapshot().version < before + 2 and writer.is_alive():
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.05))
        assert writer.is_alive()
        writer.kill()
        writer.join()
    version = table.snapshot().version
    assert version >= 12 and table.count() == len(table.to_arrow()) == 7 * version
    assert table.append(ROWS).version == version + 1, "what the killed left hinders nobody"


def _append_on_a_full_disk(root: str, limit: int) -> str:
    import resource
    import sys

    sys.dont_write_bytecode = True  # the interpreter would leave it cut off, for all who come later
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        tf.open_table(root).append(pa.table({"id": [7] * 100, "p": [*range(5)] * 20}))
    except OSError as error:
        return type(error).__name__
    return "committed"


@pytest.mark.skipif(os.name == "nt", reason="there is no RLIMIT_FSIZE")
@pytest.mark.parametrize(("limit", "found"), [(10, "StoreError"), (1000, "StoreError"), (1 << 20, "committed")])
def test_a_disk_that_is_full_leaves_the_table_as_it_was(tmp_path: Path, limit: int, found: str) -> None:
    table = local_table(tmp_path, field("id", "long"), field("p", "long"), partition=("p",))
    with processes().Pool(1) as pool:
        assert pool.apply(_append_on_a_full_disk, (str(tmp_path), limit)) == found
    assert table.count() == (100 if found == "committed" else 0)
    names = files_below(tmp_path)
    assert not [name for name in names if name.endswith(".tmp")]
    assert len([name for name in names if name.endswith(".parquet")]) == (5 if found == "committed" else 0)


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.date32()], ids=str)
def test_partitions_of_times_that_python_lacks_are_replaced(kind: pa.DataType, tmp_path: Path) -> None:
    numbers = pa.array([5_000_000, 3], pa.int32()) if kind == pa.date32() else pa.array([2**62, 3], pa.int64())
    rows = pa.table({"t": numbers.cast(kind), "x": [1, 2]})
    tf.write_table(rows, tmp_path / "t", format="iceberg", partition_by="t")
    table = tf.open_table(tmp_path / "t")
    for place, left in ((slice(1, 2), [1, 7]), (slice(0, 1), [7, 7]), (slice(0, 2), [8, 8])):
        number = 8 if left == [8, 8] else 7
        new = rows.slice(place.start, place.stop - place.start)
        table.overwrite(new.set_column(1, "x", pa.array([number] * len(new))), where="dynamic")
        assert table.to_arrow().sort_by("x")["x"].to_pylist() == left


@pytest.mark.parametrize(
    ("partition", "left"), [(["truncate(10, id)"], [1, 2, 13]), (["truncate(10, id)", "p"], [1, 2, 12, 13]), ([], [13])]
)
def test_partitions_that_new_files_lie_in_are_replaced(partition: list[str], left: list[int], tmp_path: Path) -> None:
    """By their values; what is not partitioned is one partition."""
    rows = pa.table({"id": [1, 2, 11, 12], "p": ["a", "b", "a", "b"]})
    table = tf.create_table(tmp_path / "t", rows.schema, format="iceberg", partition_by=partition)
    table.append(rows)
    table.overwrite(pa.table({"id": [13], "p": ["a"]}), where="dynamic")
    assert sorted(table.to_arrow()["id"].to_pylist()) == left
