"""Appends to Iceberg tables in directories, read by PyIceberg and polars."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from pathlib import Path

import fastavro
import polars
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.errors import CommitConflictError, UnsupportedFeatureError
from tableformats.schema import DecimalType, Field, FixedType, ListType, MapType, Schema, StructType, primitive
from tests.support.iceberg_writing import metadata_of, new_table, newest, pyiceberg_rows, pyiceberg_table, schema_of

VERSIONS = pytest.mark.parametrize("version", [1, 2, 3])
SIMPLE = schema_of(id="long", s="string", x="double")
UTC = dt.timezone.utc


@VERSIONS
def test_rows_are_read(tmp_path: Path, version: int) -> None:
    folder = new_table(tmp_path / "t", SIMPLE, version)
    table = tf.open_table(str(folder))
    first = table.append(pa.table({"id": [1, 2, 3], "s": ["a" * 30, "b", None], "x": [1.5, None, -0.0]}))
    second = table.append(pa.table({"id": [4]}))
    rows = [(1, "a" * 30, 1.5), (2, "b", None), (3, None, -0.0), (4, None, None)]
    expected = [dict(zip(("id", "s", "x"), row, strict=True)) for row in rows]
    assert pyiceberg_rows(folder, "id") == expected
    assert polars.scan_iceberg(str(newest(folder))).collect().sort("id").to_dicts() == expected
    assert table.scan().to_arrow().sort_by("id").to_pylist() == expected
    assert tf.open_table(str(folder)).snapshot().version == second.version != first.version
    assert (folder / "metadata" / "version-hint.text").read_text() == "3"


@VERSIONS
def test_snapshots(tmp_path: Path, version: int) -> None:
    folder = new_table(tmp_path / "t", SIMPLE, version)
    table = tf.open_table(str(folder))
    ids = [table.append(pa.table({"id": list(range(n))})).version for n in (3, 2)]
    theirs = pyiceberg_table(folder)
    found = theirs.snapshots()
    assert [s.snapshot_id for s in found] == ids
    assert [s.parent_snapshot_id for s in found] == [None, ids[0]]
    assert [s.sequence_number for s in found] == ([1, 2] if version > 1 else [0, 0])
    assert [entry.snapshot_id for entry in theirs.metadata.snapshot_log] == ids
    assert [entry.metadata_file for entry in theirs.metadata.metadata_log] == [
        f"{folder}/metadata/v{n}.metadata.json" for n in (1, 2)
    ]
    summary = found[1].summary
    assert summary is not None and summary.operation.value == "append"
    sizes = [path.stat().st_size for path in (folder / "data").iterdir()]
    assert {k: v for k, v in summary.additional_properties.items() if not k.startswith(("engine", "manifests"))} == {
        "added-data-files": "1",
        "added-records": "2",
        "added-files-size": summary["added-files-size"],
        "changed-partition-count": "1",
        "total-data-files": "2",
        "total-records": "5",
        "total-files-size": str(sum(sizes)),
        "total-delete-files": "0",
        "total-position-deletes": "0",
        "total-equality-deletes": "0",
    }
    if version == 3:
        snapshots = metadata_of(folder)["snapshots"]
        assert [(s["first-row-id"], s["added-rows"]) for s in snapshots] == [(0, 3), (3, 2)]
        assert metadata_of(folder)["next-row-id"] == 5
        for snapshot in snapshots:
            with open(snapshot["manifest-list"].removeprefix("file://"), "rb") as file:
                assert fastavro.reader(file).metadata["first-row-id"] == str(snapshot["first-row-id"])
        lineage = tf.open_table(str(folder)).scan(columns=["id", "_row_id", "_last_updated_sequence_number"]).to_arrow()
        assert sorted(lineage["_row_id"].to_pylist()) == [0, 1, 2, 3, 4]
        assert sorted(lineage["_last_updated_sequence_number"].to_pylist()) == [1, 1, 1, 2, 2]


EVERY = Schema(
    tuple(
        Field(i, name, kind)
        for i, (name, kind) in enumerate(
            {
                "b": primitive("boolean"),
                "i": primitive("int"),
                "l": primitive("long"),
                "f": primitive("float"),
                "d": primitive("double"),
                "dec": DecimalType(20, 4),
                "day": primitive("date"),
                "time": primitive("time"),
                "ts": primitive("timestamp"),
                "ntz": primitive("timestamp_ntz"),
                "s": primitive("string"),
                "fix": FixedType(3),
                "bin": primitive("binary"),
                "st": StructType((Field(20, "x", primitive("long")), Field(21, "y", primitive("string")))),
                "li": ListType(Field(22, "element", primitive("long"))),
                "ma": MapType(Field(23, "key", primitive("string"), True), Field(24, "value", primitive("long"))),
            }.items(),
            1,
        )
    )
)
ROWS = [
    {
        "b": True,
        "i": -(2**31),
        "l": 2**63 - 1,
        "f": 1.5,
        "d": float("inf"),
        "dec": decimal.Decimal("-1234567890123456.7890"),
        "day": dt.date(1969, 12, 31),
        "time": dt.time(23, 59, 59, 999999),
        "ts": dt.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
        "ntz": dt.datetime(2026, 1, 2, 3, 4, 5, 6),
        "s": "é" * 40,
        "fix": b"abc",
        "bin": b"\xff" * 20,
        "st": {"x": 5, "y": "in"},
        "li": [1, None, 2],
        "ma": [("k", 1)],
    },
    dict.fromkeys(EVERY.names),
]


def _table() -> pa.Table:
    from tableformats.schema import arrow_type

    return pa.Table.from_pylist(ROWS, pa.schema([pa.field(f.name, arrow_type(f.type)) for f in EVERY.fields]))


@pytest.mark.parametrize("version", [2, 3])
def test_every_type(tmp_path: Path, version: int) -> None:
    folder = new_table(tmp_path / "t", EVERY, version)
    tf.open_table(str(folder)).append(_table())
    assert pyiceberg_rows(folder) == ROWS
    metrics = pyiceberg_table(folder).inspect.files()["readable_metrics"].to_pylist()[0]
    for name in ("i", "l", "f", "d", "dec", "day", "time", "ts", "ntz", "fix"):
        assert metrics[name]["lower_bound"] == metrics[name]["upper_bound"] == ROWS[0][name], name
        assert (metrics[name]["value_count"], metrics[name]["null_value_count"]) == (2, 1)
    assert (metrics["s"]["lower_bound"], metrics["s"]["upper_bound"]) == ("é" * 16, "é" * 15 + "ê")
    assert (metrics["bin"]["lower_bound"], metrics["bin"]["upper_bound"]) == (b"\xff" * 16, None)
    ours = tf.open_table(str(folder))
    assert [ours.scan(filter=f"st.x {test}").plan().files.num_rows for test in ("> 5", "= 5", "is null")] == [0, 1, 1]
    assert metrics["d"]["nan_value_count"] == 0


TRANSFORMS = [
    "i", "bucket(4, l)", "truncate(10, l)", "truncate(2, s)", "bucket(3, s)", "year(ts)", "month(ts)", "day(ts)",
    "hour(ts)", "day(day)", "month(day)", "dec", "bucket(5, dec)", "truncate(50, dec)", "fix", "bin", "time",
    "ntz", "s", "f", "d", "b",
]  # fmt: skip


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_partitions(tmp_path: Path, transform: str) -> None:
    folder = new_table(tmp_path / "t", EVERY, 2, [transform])
    tf.open_table(str(folder)).append(_table())
    theirs = pyiceberg_table(folder)
    assert theirs.scan().to_arrow().num_rows == 2
    assert theirs.inspect.files().num_rows == 2
    (manifest,) = theirs.inspect.manifests().to_pylist()
    (summary,) = manifest["partition_summaries"]
    assert (summary["contains_null"], summary["contains_nan"]) == (True, False)
    assert summary["lower_bound"] == summary["upper_bound"] is not None
    ours = tf.open_table(str(folder))
    assert ours.scan().to_arrow().num_rows == 2
    column = transform.rstrip(")").rpartition(", ")[2].rpartition("(")[2]
    assert ours.scan(filter=f"{column} is null").plan().files.num_rows == 1
    partitions = {str(v) for row in theirs.inspect.partitions()["partition"].to_pylist() for v in row.values()}
    assert partitions == {str(v) for row in ours.inspect.partitions()["partition"].to_pylist() for v in row.values()}


@pytest.mark.parametrize("transform", ["u", "bucket(3, u)"])
def test_uuids(tmp_path: Path, transform: str) -> None:
    folder = new_table(tmp_path / "t", schema_of(u="uuid"), 2, [transform])
    values = [bytes(range(16)), b"\xff" * 16, None]
    tf.open_table(str(folder)).append(pa.table({"u": pa.array(values, pa.binary(16))}))
    found = pyiceberg_table(folder).scan().to_arrow()["u"].to_pylist()
    assert {getattr(v, "bytes", v) for v in found} == set(values)
    ours = tf.open_table(str(folder)).scan()
    assert set(ours.to_arrow()["u"].to_pylist()) == set(values)


def test_pruning_finds_what_is_there(tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", SIMPLE, 2, ["truncate(2, s)"])
    table = tf.open_table(str(folder))
    table.append(pa.table({"id": [1, 2, 3], "s": ["aaa" * 9, "aab", "zz"], "x": [1.0, float("nan"), 2.0]}))
    for source in (tf.open_table(str(folder)), pyiceberg_table(folder)):
        scan = source.scan if isinstance(source, tf.Table) else lambda f: pyiceberg_table(folder).scan(row_filter=f)
        assert scan(f"s = '{'aaa' * 9}'").to_arrow()["id"].to_pylist() == [1]
        assert scan("s >= 'aab'").to_arrow().num_rows == 2
        assert scan("x > 1.5").to_arrow()["id"].to_pylist()[-1] == 3


def test_metrics_modes(tmp_path: Path) -> None:
    properties = {
        "write.metadata.metrics.default": "counts",
        "write.metadata.metrics.column.id": "full",
        "write.metadata.metrics.column.s": "truncate(3)",
        "write.metadata.metrics.column.x": "none",
    }
    folder = new_table(tmp_path / "t", schema_of(id="long", s="string", x="double", y="double"), 2, (), properties)
    tf.open_table(str(folder)).append(pa.table({"id": [1], "s": ["abcdef"], "x": [1.0], "y": [float("nan")]}))
    (found,) = pyiceberg_table(folder).inspect.files()["readable_metrics"].to_pylist()
    assert (found["id"]["lower_bound"], found["id"]["value_count"]) == (1, 1)
    assert (found["s"]["lower_bound"], found["s"]["upper_bound"]) == ("abc", "abd")
    assert found["x"] == dict.fromkeys(found["x"])
    assert (found["y"]["value_count"], found["y"]["nan_value_count"], found["y"]["lower_bound"]) == (1, 1, None)


def test_only_the_first_columns_have_metrics(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(4)]
    properties = {"write.metadata.metrics.max-inferred-column-defaults": "2"}
    folder = new_table(tmp_path / "t", schema_of(**dict.fromkeys(names, "long")), 2, (), properties)
    tf.open_table(str(folder)).append(pa.table({name: [1] for name in names}))
    (found,) = pyiceberg_table(folder).inspect.files()["readable_metrics"].to_pylist()
    assert [found[name]["value_count"] for name in names] == [1, 1, None, None]


@pytest.mark.parametrize("codec", ["gzip", "zstd", "snappy", "uncompressed"])
def test_codecs_of_manifests(tmp_path: Path, codec: str) -> None:
    folder = new_table(tmp_path / "t", SIMPLE, 2, (), {"write.manifest.compression-codec": codec})
    tf.open_table(str(folder)).append(pa.table({"id": [1]}))
    assert tf.open_table(str(folder)).scan().to_arrow()["id"].to_pylist() == [1]
    if codec != "snappy":  # PyIceberg reads it only where an optional package is installed
        assert pyiceberg_rows(folder) == [{"id": 1, "s": None, "x": None}]


def test_gzipped_metadata(tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", SIMPLE, 2, (), {"write.metadata.compression-codec": "gzip"})
    tf.open_table(str(folder)).append(pa.table({"id": [1]}))
    tf.open_table(str(folder)).append(pa.table({"id": [2]}))
    names = {path.name for path in (folder / "metadata").glob("*.json")}
    assert names == {"v1.metadata.json", "v2.gz.metadata.json", "v3.gz.metadata.json"}
    assert tf.open_table(str(folder)).scan().to_arrow().num_rows == 2


def test_old_metadata_is_deleted_if_asked(tmp_path: Path) -> None:
    properties = {
        "write.metadata.previous-versions-max": "2",
        "write.metadata.delete-after-commit.enabled": "true",
    }
    folder = new_table(tmp_path / "t", SIMPLE, 2, (), properties)
    table = tf.open_table(str(folder))
    for i in range(6):
        table.append(pa.table({"id": [i]}))
    assert sorted(path.name for path in (folder / "metadata").glob("v*.json")) == [
        f"v{n}.metadata.json" for n in (5, 6, 7)
    ]
    assert len(pyiceberg_rows(folder)) == 6


def test_unknown_fields_survive(tmp_path: Path) -> None:
    import json

    folder = new_table(tmp_path / "t", SIMPLE)
    first = folder / "metadata" / "v1.metadata.json"
    first.write_text(json.dumps({**json.loads(first.read_text()), "of-another-writer": {"a": [1]}}))
    tf.open_table(str(folder)).append(pa.table({"id": [1]}))
    assert metadata_of(folder)["of-another-writer"] == {"a": [1]}


@pytest.mark.parametrize(
    ("properties", "field"),
    [
        ({"write.format.default": "orc"}, "write.format.default"),
        ({"write.location-provider.impl": "x.Y"}, "write.location-provider.impl"),
        ({"write.manifest.compression-codec": "lzma"}, "write.manifest.compression-codec"),
        ({"write.metadata.metrics.default": "most"}, "write.metadata.metrics.default"),
        ({"commit.manifest.target-size-bytes": "-1"}, "commit.manifest.target-size-bytes"),
        ({"write.metadata.compression-codec": "zip"}, "write.metadata.compression-codec"),
        ({"write.merge.isolation-level": "chaos"}, "write.merge.isolation-level"),
    ],
)
def test_unknown_properties_are_refused(tmp_path: Path, properties: dict[str, str], field: str) -> None:
    folder = new_table(tmp_path / "t", SIMPLE, 2, (), properties)
    with pytest.raises(UnsupportedFeatureError) as caught:
        tf.open_table(str(folder)).append(pa.table({"id": [1]}))
    assert caught.value.field == field
    assert not list((folder / "data").glob("*")) and newest(folder).name == "v1.metadata.json"
    if field != "write.metadata.compression-codec":  # by which the metadata file itself would be written
        tf.open_table(str(folder)).alter.unset_properties(field)
        assert tf.open_table(str(folder)).append(pa.table({"id": [1]})).attempts == 1


def test_a_partition_field_without_its_column_can_be_removed(tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", SIMPLE, 2, ("id",))
    metadata = metadata_of(folder)
    metadata["schemas"][0]["fields"] = [{"id": 9, "name": "other", "required": False, "type": "long"}]
    newest(folder).write_text(json.dumps({**metadata, "last-column-id": 9}))
    with pytest.raises(UnsupportedFeatureError, match="dropped"):
        tf.open_table(str(folder)).append(pa.table({"other": [1]}))
    tf.open_table(str(folder)).alter.set_partitioning()
    tf.open_table(str(folder)).append(pa.table({"other": [1]}))
    assert tf.open_table(str(folder)).count() == 1


@pytest.mark.parametrize("name", ["write.data.path", "write.metadata.path"])
def test_directories_elsewhere_must_be_allowed(tmp_path: Path, name: str) -> None:
    """A table's properties alone do not choose where on the disk something is written."""
    elsewhere = tmp_path / "elsewhere"
    folder = new_table(tmp_path / "t", SIMPLE, 2, (), {name: str(elsewhere)})
    with pytest.raises(tf.PathNotAllowedError) as caught:
        tf.open_table(str(folder)).append(pa.table({"id": [1]}))
    assert caught.value.field == name and "allow_paths" in str(caught.value) and not elsewhere.exists()
    tf.open_table(str(folder), allow_paths=[str(elsewhere)]).append(pa.table({"id": [1]}))
    assert any(elsewhere.iterdir())
    tf.open_table(str(folder)).alter.unset_properties(name)
    tf.open_table(str(folder)).append(pa.table({"id": [1]}))
    assert tf.open_table(str(folder)).count() == 2


@pytest.mark.parametrize("below", ["../elsewhere", "x/../../elsewhere", "./../tt", "x/../y"])
@pytest.mark.parametrize("name", ["write.data.path", "write.metadata.path"])
def test_directories_that_climb_are_refused(tmp_path: Path, name: str, below: str) -> None:
    """Files below them would be out of the table, and nobody could read it any more."""
    folder = new_table(tmp_path / "t", SIMPLE, 2, (), {name: f"{tmp_path}/t/{below}"})
    with pytest.raises(tf.PathNotAllowedError, match=r"climbs with \.\."):
        tf.open_table(str(folder), allow_paths=[str(tmp_path)]).append(pa.table({"id": [1]}))
    assert [*tmp_path.iterdir()] == [folder] and not list(folder.rglob("*.parquet"))


def test_a_moved_table_is_refused(tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", SIMPLE)
    folder.rename(tmp_path / "moved")
    with pytest.raises(UnsupportedFeatureError, match="moved"):
        tf.open_table(str(tmp_path / "moved")).append(pa.table({"id": [1]}))


def test_the_files_of_a_catalog_are_refused(tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", SIMPLE)
    first = folder / "metadata" / "v1.metadata.json"
    first.rename(first.with_name("00001-abc.metadata.json"))
    (folder / "metadata" / "version-hint.text").unlink()
    with pytest.raises(UnsupportedFeatureError, match="catalog"):
        tf.open_table(str(folder)).append(pa.table({"id": [1]}))


def test_a_lost_race_is_won_the_next_time(tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", SIMPLE)
    handles = [tf.open_table(str(folder)) for _ in range(2)]
    begun = handles[0]._opened.begin()
    handles[1].append(pa.table({"id": [1]}))
    from tableformats.engines.arrow.writing.data_files import FileWriter
    from tableformats.engines.arrow.writing.rows import rows_of_table
    from tableformats.plugin import TableChange
    from tableformats.write.commit_loop import CommitOptions
    from tableformats.write.transaction import commit

    writer = FileWriter(handles[0].storage, begun.target)
    added = writer.write(rows_of_table(pa.table({"id": [2]}).to_reader(), begun.target))
    found = commit(begun, TableChange("append", added=added), CommitOptions())
    assert found.attempts == 2
    assert [row["id"] for row in pyiceberg_rows(folder, "id")] == [1, 2]
    # One manifest a commit, and no list of the try that lost.
    assert len(list((folder / "metadata").glob("*-m0.avro"))) == len(list((folder / "metadata").glob("snap-*"))) == 2


def test_a_table_that_was_replaced_is_a_conflict(tmp_path: Path) -> None:
    import shutil

    folder = new_table(tmp_path / "t", SIMPLE)
    begun = tf.open_table(str(folder))._opened.begin()
    shutil.rmtree(folder)
    new_table(folder, SIMPLE)
    tf.open_table(str(folder)).append(pa.table({"id": [1]}))
    with pytest.raises(CommitConflictError):
        list(begun.winners())


def test_merging(tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", SIMPLE, 3, (), {"commit.manifest.min-count-to-merge": "3"})
    table = tf.open_table(str(folder))
    row_ids: dict[int, int] = {}
    for i in range(7):
        table.append(pa.table({"id": [i, i + 100]}))
        # PyIceberg does not know row ids. They are consecutive in a file, distinct, and stay.
        lineage = table.scan(columns=["id", "_row_id"]).to_arrow()
        found = dict(zip(lineage["id"].to_pylist(), lineage["_row_id"].to_pylist(), strict=True))
        assert found[i] + 1 == found[i + 100] < metadata_of(folder)["next-row-id"]
        assert len(set(found.values())) == len(found) and row_ids.items() <= found.items()
        row_ids = found
    theirs = pyiceberg_table(folder)
    assert theirs.inspect.manifests()["existing_data_files_count"].to_pylist() != [0] * 7
    assert theirs.inspect.manifests().num_rows < 4
    assert sorted(row["id"] for row in pyiceberg_rows(folder)) == sorted([*range(7), *range(100, 107)])
    entries = theirs.inspect.entries()
    assert sorted(entries["sequence_number"].to_pylist()) == list(range(1, 8))


def test_rows_that_are_written_again_keep_their_ids(tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", SIMPLE, 3)
    table = tf.open_table(str(folder))
    columns = ["id", "_row_id", "_last_updated_sequence_number"]

    def lineage() -> dict[int, tuple[int, int]]:
        found = table.scan(columns=columns).to_arrow()
        return {row["id"]: (row[columns[1]], row[columns[2]]) for row in found.to_pylist()}

    table.append(pa.table({"id": [1, 2, 3, 4]}))
    table.delete("id = 2")
    assert lineage() == {1: (0, 1), 3: (2, 1), 4: (3, 1)}
    table.overwrite(pa.table({"id": [5]}), "id > 4 or id = 1")
    found = lineage()
    assert (found[3], found[4], found[5][1]) == ((2, 1), (3, 1), 3) and found[5][0] > 3
    assert sorted(row["id"] for row in pyiceberg_rows(folder)) == [3, 4, 5]


def test_a_column_that_is_called_like_a_row_id(tmp_path: Path) -> None:
    folder = new_table(tmp_path / "t", schema_of(id="long", _row_id="string"), 3)
    table = tf.open_table(str(folder))
    table.append(pa.table({"id": [1, 2], "_row_id": ["a", "b"]}))
    table.delete("id = 2")
    assert pyiceberg_rows(folder) == [{"id": 1, "_row_id": "a"}]
