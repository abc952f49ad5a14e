"""Which deletes apply: the index against the rules applied pair by pair; what delete files and vectors say."""

from __future__ import annotations

import datetime as dt
import io
import math
import struct
import zlib
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap64
from tableformats_iceberg.deletes.delete_files import DeleteReader
from tableformats_iceberg.deletes.delete_index import DeleteIndex, _in, _rows_of, _taken
from tableformats_iceberg.deletes.delete_pruning import PlannedPaths
from tableformats_iceberg.deletes.delete_table import ManifestSlice, SpecDeletes, deletes_of
from tableformats_iceberg.deletes.puffin import parse_deletion_vector
from tableformats_iceberg.files.paths import comparable
from tableformats_iceberg.files.table_files import TableFiles
from tableformats_iceberg.manifests.entries import FILE_PATH_ID, EntriesRequest, read_entries
from tableformats_iceberg.manifests.manifest_list import DELETES, Manifest

from tableformats._core.filekeys import FileKeySet
from tableformats.errors import CorruptMetadataError, LimitExceededError, UnsupportedFeatureError
from tableformats.io.storage import Storage
from tableformats.limits import DEFAULT_LIMITS, Limits
from tableformats.plugin import DeleteFiles, MetadataCache, PartitionField, PartitionSpec
from tableformats.schema import Field, primitive
from tableformats.schema.transforms import parse_transform
from tests.support.conformance import ROOT, needs_tables
from tests.support.examples import examples
from tests.support.iceberg_manifests import entry, manifest_bytes, record
from tests.support.iceberg_tables import parse

# ---- matching -------------------------------------------------------------------------------------------------------

IDENTITY, VOID = parse_transform("identity"), parse_transform("void")
DOUBLE, STRING = primitive("double"), primitive("string")
SPECS = {
    0: PartitionSpec(0, ()),
    1: PartitionSpec(1, (PartitionField(1000, "x", 1, IDENTITY, DOUBLE),)),
    2: PartitionSpec(
        2, (PartitionField(1000, "x", 1, IDENTITY, DOUBLE), PartitionField(1001, "y", 2, IDENTITY, STRING))
    ),
    3: PartitionSpec(3, (PartitionField(1002, "z", 1, VOID, STRING),)),
    4: PartitionSpec(4, (PartitionField(1003, "u", 1, parse_transform("mystery[3]"), STRING),)),
}
AVRO_TYPES = {"x": "double", "y": "string", "z": "string", "u": "string"}
OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]
VALUES: dict[str, list[Any]] = {
    "x": [None, 0.0, -0.0, float("nan"), OTHER_NAN, 1.5],
    "y": [None, "", "k"],
    "z": [None],
    "u": [None, "a", "b"],
}


def avro_partition(spec: PartitionSpec) -> list[tuple[str, int, Any]]:
    return [(f.name, f.id, AVRO_TYPES[f.name]) for f in spec.fields]


@st.composite
def placed(draw: st.DrawFn) -> tuple[int, dict[str, Any], int]:
    """Spec, partition and data sequence number of a file."""
    spec_id = draw(st.sampled_from(sorted(SPECS)))
    partition = {f.name: draw(st.sampled_from(VALUES[f.name])) for f in SPECS[spec_id].fields}
    return spec_id, partition, draw(st.integers(0, 4))


KINDS = ["equality", "position", "named", "bounded", "deletion_vector"]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Data files, and deletes of (place, kind, number of the file that they name): mostly where that file is."""
    data = draw(st.lists(placed(), min_size=1, max_size=6))
    deletes = []
    for kind in draw(st.lists(st.sampled_from(KINDS), max_size=8)):
        target = draw(st.integers(0, len(data)))
        there = data[min(target, len(data) - 1)]
        place = draw(st.one_of(placed(), st.integers(0, 4).map(lambda s, there=there: (there[0], there[1], s))))
        deletes.append((place, kind, target))
    return data, deletes


def same_partition(left: dict[str, Any], right: dict[str, Any]) -> bool:
    def bits(value: Any) -> Any:
        if not isinstance(value, float):
            return value
        return "nan" if math.isnan(value) else struct.pack("<d", value)

    return {k: bits(v) for k, v in left.items()} == {k: bits(v) for k, v in right.items()}


def by_the_rules(data: list[Any], deletes: list[Any]) -> list[set[int]]:
    """The specification's scope rules, pair by pair."""
    found = []
    for i, (spec_id, partition, d) in enumerate(data):
        applying: set[int] = set()
        vectors: set[int] = set()
        for j, ((delete_spec, delete_partition, s), kind, target) in enumerate(deletes):
            same = spec_id == delete_spec and same_partition(partition, delete_partition)
            named = target == i or kind == "position"
            if kind == "equality":
                applying |= {j} if d < s and (same or delete_spec in (0, 3)) else set()
            elif kind == "deletion_vector":
                vectors |= {j} if d <= s and same and named else set()
            elif d <= s and same and named:
                applying.add(j)
        if vectors:
            applying = {j for j in applying if deletes[j][1] == "equality"} | vectors
        found.append(applying)
    return found


def delete_entry(number: int, delete: Any, folder: str = "") -> dict[str, Any]:
    (_, partition, s), kind, target = delete
    more: dict[str, Any] = {"content": 2, "equality_ids": [1]} if kind == "equality" else {"content": 1}
    if kind == "bounded":
        bound = [{"key": FILE_PATH_ID, "value": f"{folder}f{target}".encode()}]
        more |= {"lower_bounds": bound, "upper_bounds": bound}
    elif kind in ("named", "deletion_vector"):
        more["referenced_data_file"] = f"{folder}f{target}"
    if kind == "deletion_vector":
        more |= {"file_format": "PUFFIN", "content_offset": 4, "content_size_in_bytes": 40}
    return entry(f"d{number}", partition=partition, sequence_number=s, **more)


def index_of(deletes: list[Any]) -> DeleteIndex:
    """An index over one manifest for each run of deletes of one spec, so that manifests interleave."""
    return DeleteIndex(tables_of(deletes), SPECS)


def tables_of(deletes: list[Any], folder: str = "") -> list[SpecDeletes]:
    entries = []
    for number, delete in enumerate(deletes):
        spec_id = delete[0][0]
        data = manifest_bytes([delete_entry(number, delete, folder)], avro_partition(SPECS[spec_id]))
        manifest = Manifest("m", len(data), spec_id, DELETES, 0, 0, 1, -1, -1, -1, -1, -1, -1, None)
        entries.append(read_entries(data, "m", manifest, EntriesRequest(SPECS, 0, [FILE_PATH_ID])))
    return [deletes_of(one, [ManifestSlice(i, one.files.num_rows, "m")]) for i, one in enumerate(entries)]


def survivors(data: list[Any], folder: str = "") -> pa.Table:
    """Planned files as the core hands them over: the partition widened to all specs' fields."""
    kinds = {
        "1000": ("x", pa.float64()),
        "1001": ("y", pa.string()),
        "1002": ("z", pa.string()),
        "1003": ("u", pa.string()),
    }
    members = [pa.array([p.get(name) for _, p, _ in data], kind) for name, kind in kinds.values()]
    return pa.table(
        {
            "path": pa.array([f"{folder}f{i}" for i in range(len(data))]),
            "spec_id": pa.array([s for s, _, _ in data], pa.int32()),
            "data_sequence_number": pa.array([d for _, _, d in data], pa.int64()),
            "partition": pa.StructArray.from_arrays(members, names=list(kinds)),
        }
    )


def planned(index: DeleteIndex, files: pa.Table) -> DeleteFiles:
    return index.attached(index.pairs(files), files.num_rows)


def attached(found: DeleteFiles) -> list[set[int]]:
    names = [int(path[1:]) for path in found.files["path"].to_pylist()]
    spans = zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True)
    return [{names[j] for j in found.indices[a:b].tolist()} for a, b in spans]


@settings(max_examples=examples(200), deadline=None)
@given(tables())
def test_index_against_the_rules(table: tuple[list[Any], list[Any]]) -> None:
    data, deletes = table
    targets = [t for _, kind, t in deletes if kind == "deletion_vector" and t < len(data)]
    if len(set(targets)) != len(targets):
        with pytest.raises(CorruptMetadataError, match="two deletion vectors"):
            planned(index_of(deletes), survivors(data))
        return
    found = planned(index_of(deletes), survivors(data))
    assert attached(found) == by_the_rules(data, deletes)
    assert set(range(found.files.num_rows)) == set(found.indices.tolist())


@settings(max_examples=examples(100), deadline=None)
@given(tables(), st.sampled_from(["", "/t/", "s3://b/t/"]), st.sampled_from(["", "/t/", "s3://b/t/", "s3a://b/t/"]))
def test_deletes_of_other_files_are_left_out_early(table: tuple[list[Any], list[Any]], left: str, right: str) -> None:
    data, deletes = table
    deletes = [d for d in deletes if d[1] != "deletion_vector"]
    files, found = survivors(data, left), tables_of(deletes, right)
    specs = {one.spec_id for one in found}
    tables_ = [SpecDeletes(i, pa.concat_tables([one.table for one in found if one.spec_id == i])) for i in specs]
    only = [PlannedPaths(files["path"]).only(one) for one in tables_]
    assert attached(planned(DeleteIndex(only, SPECS), files)) == attached(planned(DeleteIndex(tables_, SPECS), files))
    if left == right != "":
        paths = set(files["path"].to_pylist())
        named = [path for one in only for path in one.table["referenced_data_file"].to_pylist()]
        assert all(path is None or path in paths for path in named)


def test_a_spec_of_void_fields_is_unpartitioned() -> None:
    data = [(0, {}, 1), (1, {"x": 1.5}, 1), (3, {"z": None}, 2)]
    deletes = [((3, {"z": None}, 2), kind, 9) for kind in ("equality", "position")]
    assert attached(planned(index_of(deletes), survivors(data))) == by_the_rules(data, deletes) == [{0}, {0}, {1}]


def test_float_partitions_are_equal_by_bits_but_for_nan() -> None:
    data = [(1, {"x": x}, 1) for x in (float("nan"), OTHER_NAN, 0.0, -0.0)]
    deletes = [((1, {"x": x}, 2), "position", 9) for x in (OTHER_NAN, -0.0)]
    found = attached(planned(index_of(deletes), survivors(data)))
    assert found == by_the_rules(data, deletes) == [{0}, {0}, set(), {1}]


def test_values_of_unknown_transforms_tell_partitions_apart() -> None:
    data = [(4, {"u": u}, 1) for u in ("a", "b", None)]
    deletes = [((4, {"u": u}, 2), kind, 9) for u in ("b", None) for kind in ("position", "equality")]
    found = attached(planned(index_of(deletes), survivors(data)))
    assert found == by_the_rules(data, deletes) == [set(), {0, 1}, {2, 3}]


def test_no_files_and_no_deletes() -> None:
    data = [(0, {}, 1)]
    assert attached(planned(DeleteIndex([], SPECS), survivors(data))) == [set()]
    found = planned(index_of([((0, {}, 5), "equality", 0)]), survivors(data).slice(0, 0))
    assert (found.files.num_rows, len(found.offsets)) == (0, 1)


@pytest.mark.parametrize(
    "unchosen",
    [
        [],
        [0],
        [999],
        [500, 501],
        [64, 200, 930],
        range(0, 1000, 3),
        range(600),
        range(1000),
    ],
)
def test_rows_of_deletes_in_runs(unchosen: Any) -> None:
    table = pa.concat_tables([pa.table({"x": range(i, i + 250), "y": [str(i)] * 250}) for i in range(0, 1000, 250)])
    chosen = np.ones(1000, bool)
    chosen[list(unchosen)] = False
    assert _rows_of(table, chosen).equals(table.filter(pa.array(chosen)))


def test_names_among_paths() -> None:
    """A null is no name, not even where a name is empty."""
    names = FileKeySet()
    names.add_batch(np.array([0, 0, 1, 2], np.int32), np.frombuffer(b"ab", np.uint8))
    rows, codes = _in(names, pa.chunked_array([["b", None, "", "x"], [], ["a", "b"]], pa.string()))
    assert rows.tolist() == [0, 2, 4, 5] and codes[0] == codes[3] and len(set(codes.tolist())) == 3


@pytest.mark.parametrize("rows", [[], [0], [5], [0, 1, 2, 3, 4, 5], [1, 3, 4]])
def test_rows_of_chunks(rows: list[int]) -> None:
    column = pa.chunked_array([["a", "b"], [], ["c", None, "e"], ["f"]], pa.string())
    assert _taken(column, np.array(rows, np.int64)).to_pylist() == [column[row].as_py() for row in rows]


def of_one(data: bytes, manifest: Manifest) -> SpecDeletes:
    entries = read_entries(data, "m", manifest, EntriesRequest(SPECS, 0, [FILE_PATH_ID]))
    return deletes_of(entries, [ManifestSlice(0, entries.files.num_rows, "m")])


def test_bounds_that_differ_name_no_file() -> None:
    data = manifest_bytes(
        [
            entry(
                "d",
                content=1,
                lower_bounds=[{"key": FILE_PATH_ID, "value": b"f0"}],
                upper_bounds=[{"key": FILE_PATH_ID, "value": b"f1"}],
            )
        ]
    )
    manifest = Manifest("m", len(data), 0, DELETES, 9, 0, 1, -1, -1, -1, -1, -1, -1, None)
    index = DeleteIndex([of_one(data, manifest)], SPECS)
    assert len(planned(index, survivors([(0, {}, 1)] * 3)).indices) == 3


@pytest.mark.parametrize("missing", ["referenced_data_file", "content_offset", "content_size_in_bytes"])
def test_a_vector_without_its_place(missing: str) -> None:
    made = delete_entry(0, ((0, {}, 1), "deletion_vector", 0))
    del made["data_file"][missing]
    data = manifest_bytes([made])
    manifest = Manifest("m", len(data), 0, DELETES, 9, 0, 1, -1, -1, -1, -1, -1, -1, None)
    with pytest.raises(CorruptMetadataError) as caught:
        DeleteIndex([of_one(data, manifest)], SPECS)
    assert caught.value.field == missing


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("s3a://b/t/f", "s3://b/t/f", True),
        ("s3://b/t/f", "s3://c/t/f", False),
        ("/t/f", "hdfs://h:1/t/f", True),
        ("hdfs://h:1/t/f", "/t/f", True),
        ("file:/t/f", "/t/f", True),
        ("file:///t/f", "file:/t/f", True),
        ("/t/f", "/t/g", False),
        ("S3://b/t", "s3://b/t", True),
        ("hdfs:///t/f", "/t/f", True),
    ],
)
def test_when_two_paths_are_one_file(left: str, right: str, same: bool) -> None:
    a, b = comparable(pa.chunked_array([[left]]), pa.chunked_array([[right]]))
    assert (a[0].as_py() == b[0].as_py()) is same


# ---- deletion vectors -----------------------------------------------------------------------------------------------


def blob(positions: list[int]) -> bytes:
    body = b"\xd1\xd3\x39\x64" + BitMap64(positions).serialize()
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 2**40), max_size=50, unique=True))
def test_vectors_round_trip(positions: list[int]) -> None:
    limits = Limits(file_rows=2**62)
    assert sorted(parse_deletion_vector(blob(positions), "p", 0, len(positions), limits=limits)) == sorted(positions)


@pytest.mark.parametrize("size", [0, 11, 12])
def test_vectors_without_a_bitmap(size: int) -> None:
    """Of 12 bytes there is all that is around a bitmap, which itself is damaged then."""
    body = b"\xd1\xd3\x39\x64"
    whole = struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))
    with pytest.raises(CorruptMetadataError) as caught:
        parse_deletion_vector(whole[:size], "p", 100)
    assert (f"it has {size} bytes" in str(caught.value)) is (size < 12)
    assert caught.value.offset == (100 if size < 12 else 108)


def test_damaged_vectors() -> None:
    good = blob([1, 3, 5])
    for position in range(len(good)):
        damaged = bytearray(good)
        damaged[position] ^= 0x10
        with pytest.raises(CorruptMetadataError) as caught:
            parse_deletion_vector(bytes(damaged), "p", 100, 3)
        assert caught.value.path == "p"
        assert caught.value.offset >= 100
    for size in range(len(good)):
        with pytest.raises(CorruptMetadataError):
            parse_deletion_vector(good[:size], "p", 0)
    with pytest.raises(CorruptMetadataError):
        parse_deletion_vector(good + b"\0", "p", 0)
    with pytest.raises(CorruptMetadataError, match="the manifest says 4"):
        parse_deletion_vector(good, "p", 0, 4)
    with pytest.raises(CorruptMetadataError, match="row 5"):
        parse_deletion_vector(good, "p", 0, 3, 5)


@needs_tables
@pytest.mark.conformance
def test_vectors_of_the_reference() -> None:
    files = sorted((ROOT / "iceberg").rglob("*-position-index.bin"))
    assert files
    for file in files:
        data = file.read_bytes()
        assert len(parse_deletion_vector(data, str(file), 0)) == len(BitMap64.deserialize(data[8:-4]))
        if "small-alternating" in file.name:
            assert list(parse_deletion_vector(data, str(file), 0)) == [1, 3, 5, 7, 9]


# ---- delete files ---------------------------------------------------------------------------------------------------


def reader(folder: Path, limits: Limits = DEFAULT_LIMITS) -> DeleteReader:
    files = TableFiles(Storage(folder, limits=limits), parse().location, str(folder), None, MetadataCache())
    kinds = {1: ("a", "long"), 2: ("b", "string"), 3: ("t", "timestamp_ntz")}
    fields = {i: Field(i, name, primitive(kind)) for i, (name, kind) in kinds.items()}
    return DeleteReader(files, fields.get)


def with_ids(table: pa.Table, ids: dict[str, int]) -> pa.Table:
    fields = [f.with_metadata({"PARQUET:field_id": str(ids[f.name])}) if f.name in ids else f for f in table.schema]
    return table.cast(pa.schema(fields))


POSITIONS = pa.table(
    {
        "path": ["/t/a", "/t/b", None, "hdfs://h:1/t/a", "/t/a"],
        "where": pa.array([4, 1, 9, 7, 2], pa.int64()),
        "file_path": ["/t/a"] * 5,
        "pos": pa.array([100, 101, 102, 103, 104], pa.int64()),
    }
)


def position_row(path: Path, file_format: str = "parquet") -> pa.Table:
    return pa.table({"kind": ["position"], "path": [str(path)], "file_format": [file_format]})


def test_positions_by_field_id_and_not_by_name(tmp_path: Path) -> None:
    pq.write_table(with_ids(POSITIONS, {"path": FILE_PATH_ID, "where": FILE_PATH_ID - 1}), tmp_path / "d")
    found = reader(tmp_path)
    assert list(found.deleted_positions("/t/a", None, position_row(tmp_path / "d"))) == [2, 4, 7]
    assert list(found.deleted_positions("/t/b", None, position_row(tmp_path / "d"))) == [1]
    assert list(found.deleted_positions("/t/c", None, position_row(tmp_path / "d"))) == []


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_positions_by_name_where_there_are_no_ids(tmp_path: Path, file_format: str) -> None:
    table = POSITIONS.select(["file_path", "pos"])
    path = tmp_path / "d"
    if file_format == "orc":
        from pyarrow import orc

        orc.write_table(table, path)
    elif file_format == "avro":
        schema = record(("file_path", FILE_PATH_ID, "string"), ("pos", FILE_PATH_ID - 1, "long"))
        with path.open("wb") as out:
            fastavro.writer(out, fastavro.parse_schema(schema), table.to_pylist())
    else:
        pq.write_table(table, path)
    assert list(reader(tmp_path).deleted_positions("/t/a", None, position_row(path, file_format))) == list(
        range(100, 105)
    )


def test_positions_that_are_damaged(tmp_path: Path) -> None:
    rows = position_row(tmp_path / "d")
    for table in (
        pa.table({"file_path": ["/t/a"], "pos": pa.array([-1], pa.int64())}),
        pa.table({"file_path": ["/t/a"], "pos": pa.array([None], pa.int64())}),
        pa.table({"file_path": ["/t/a"]}),
        pa.table({"file_path": ["/t/a"], "pos": ["x"]}),
    ):
        pq.write_table(table, tmp_path / "d")
        with pytest.raises(CorruptMetadataError):
            reader(tmp_path).deleted_positions("/t/a", None, rows)
    pq.write_table(POSITIONS, tmp_path / "d")
    whole = (tmp_path / "d").read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"PAR1" + bytes(100) + b"PAR1"):
        (tmp_path / "d").write_bytes(damaged)
        with pytest.raises(CorruptMetadataError) as caught:
            reader(tmp_path).deleted_positions("/t/a", None, rows)
        assert caught.value.path == str(tmp_path / "d")
    (tmp_path / "d").unlink()
    with pytest.raises(CorruptMetadataError, match="missing"):
        reader(tmp_path).deleted_positions("/t/a", None, rows)
    with pytest.raises(UnsupportedFeatureError):
        reader(tmp_path).deleted_positions("/t/a", None, position_row(tmp_path / "d", "lance"))


def test_vector_ranges(tmp_path: Path) -> None:
    (tmp_path / "v.puffin").write_bytes(b"PFA1" + blob([3]) + b"rest")
    row = {
        "kind": "deletion_vector",
        "path": str(tmp_path / "v.puffin"),
        "file_format": "puffin",
        "cardinality": 1,
        "offset": 4,
        "size_bytes": len(blob([3])),
    }
    assert list(reader(tmp_path).deleted_positions("f", 10, pa.Table.from_pylist([row]))) == [3]
    for wrong in ({"offset": -1}, {"size_bytes": -1}, {"offset": 2**40}, {"size_bytes": 2**40}, {"cardinality": 2}):
        with pytest.raises(CorruptMetadataError):
            reader(tmp_path).deleted_positions("f", 10, pa.Table.from_pylist([{**row, **wrong}]))


def test_equality_keys(tmp_path: Path) -> None:
    table = with_ids(pa.table({"old_name": pa.array([1, None], pa.int32()), "b": ["x", None]}), {"old_name": 1, "b": 2})
    pq.write_table(table, tmp_path / "e")
    delete = {"path": str(tmp_path / "e"), "file_format": "parquet", "equality_ids": [1, 2]}
    found = reader(tmp_path).equality_deletes(delete)
    assert found.schema == pa.schema([("1", pa.int64()), ("2", pa.string())])
    assert found.to_pylist() == [{"1": 1, "2": "x"}, {"1": None, "2": None}]
    for ids in ([], None, [9], [1, 9]):
        with pytest.raises(CorruptMetadataError):
            reader(tmp_path).equality_deletes({**delete, "equality_ids": ids})


@pytest.mark.parametrize("nested", [False, True])
def test_a_few_bytes_that_stand_for_many_texts(tmp_path: Path, nested: bool) -> None:
    """One path in all rows is kept once; keys, and what is nested, are decoded as far as the limit goes."""
    same = pa.array(["/t/" + "x" * 500]).take(pa.array([0] * 10_000))
    ids = {"p": FILE_PATH_ID, "n": FILE_PATH_ID - 1, "k": 2}
    table = with_ids(pa.table({"p": same, "n": [7] * 10_000, "k": same}), ids)
    if nested:
        columns = [
            pa.StructArray.from_arrays([table[name].combine_chunks()], fields=[table.schema.field(name)])
            for name in table.column_names
        ]
        table = pa.table(columns, names=["x", "y", "z"])
    pq.write_table(table, tmp_path / "d", row_group_size=3000)
    assert (tmp_path / "d").stat().st_size < 20_000
    found = reader(tmp_path, Limits(decoded_bytes=1 << 20))
    if nested:  # Arrow decodes what is nested
        with pytest.raises(LimitExceededError, match="decoded_bytes"):
            found.deleted_positions(same[0].as_py(), None, position_row(tmp_path / "d"))
        found = reader(tmp_path)
    assert list(found.deleted_positions(same[0].as_py(), None, position_row(tmp_path / "d"))) == [7]
    delete = {"path": str(tmp_path / "d"), "file_format": "parquet", "equality_ids": [2]}
    with pytest.raises(LimitExceededError, match="decoded_bytes"):
        reader(tmp_path, Limits(decoded_bytes=1 << 20)).equality_deletes(delete)
    assert reader(tmp_path).equality_deletes(delete)["2"].to_pylist() == same.to_pylist()


@pytest.mark.thread_unsafe(reason="the allocator is the process's")
def test_a_few_bytes_of_orc_that_stand_for_many_texts(tmp_path: Path) -> None:
    """As in Parquet, but what stands in one stripe is decoded in pieces too."""
    from pyarrow import orc

    same = pa.array(["/t/" + "x" * 500]).take(pa.array([0] * 30_000))
    table = pa.table({"file_path": same, "pos": pa.array(range(30_000), pa.int64()), "b": same})
    orc.write_table(table, tmp_path / "d", compression="zstd", dictionary_key_size_threshold=1.0)
    assert (tmp_path / "d").stat().st_size < 2000 and orc.ORCFile(tmp_path / "d").nstripes == 1
    rows, usual = position_row(tmp_path / "d", "orc"), pa.default_memory_pool()
    pa.set_memory_pool(counted := pa.proxy_memory_pool(usual))
    try:
        found = reader(tmp_path, Limits(decoded_bytes=1 << 20)).deleted_positions(same[0].as_py(), None, rows)
    finally:
        pa.set_memory_pool(usual)
    assert list(found) == list(range(30_000))
    assert 1 << 20 < counted.max_memory() < same.nbytes
    delete = {"path": str(tmp_path / "d"), "file_format": "orc", "equality_ids": [2]}
    with pytest.raises(LimitExceededError, match="decoded_bytes"):
        reader(tmp_path, Limits(decoded_bytes=1 << 20)).equality_deletes(delete)
    assert reader(tmp_path).equality_deletes(delete)["2"].to_pylist() == same.to_pylist()


def test_timestamps_of_orc_that_would_wrap_delete_nothing(tmp_path: Path) -> None:
    """Arrow reads the year 1500 as 2084 there: another row would be deleted than the one that the file names."""
    from pyarrow import orc

    delete = {"path": str(tmp_path / "d"), "file_format": "orc", "equality_ids": [3]}
    for year, is_read in ((2000, True), (1500, False)):
        moment = dt.datetime(year, 1, 1)
        orc.write_table(pa.table({"t": pa.array([moment], pa.timestamp("us"))}), tmp_path / "d")
        found = reader(tmp_path)
        if is_read:
            assert found.equality_deletes(delete)["3"].to_pylist() == [moment]
            continue
        with pytest.raises(UnsupportedFeatureError, match="1678 and 2261") as caught:
            found.equality_deletes(delete)
        assert caught.value.path == str(tmp_path / "d") and caught.value.field == "ORC timestamps"


def test_equality_keys_in_avro(tmp_path: Path) -> None:
    schema = record(("a", 1, ["null", "int"]), ("b", 2, ["null", "string"]))
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), [{"a": 5, "b": None}])
    (tmp_path / "e").write_bytes(out.getvalue())
    delete = {"path": str(tmp_path / "e"), "file_format": "avro", "equality_ids": [1, 2]}
    assert reader(tmp_path).equality_deletes(delete).to_pylist() == [{"1": 5, "2": None}]
