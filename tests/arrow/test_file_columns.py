"""Files that store their columns alike share what is made of their columns, and nothing of what differs."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tableformats.engines.arrow import reader
from tableformats.engines.arrow.file_columns import FileColumns
from tableformats.engines.arrow.files import page_reads
from tableformats.engines.arrow.files.footers import ParquetFooter
from tableformats.engines.arrow.files.parquet import ParquetFile
from tableformats.errors import CorruptMetadataError
from tableformats.io.storage import Storage
from tableformats.limits import DEFAULT_LIMITS
from tableformats.plugin.columns import MetadataColumn
from tableformats.schema import Field, StructType, primitive
from tests.support.arrow_fakes import FakeFile, identity_spec, snapshot_of, with_id, write

LONG, DOUBLE = primitive("long"), primitive("double")
ID, PART = Field(1, "id", LONG), Field(2, "part", DOUBLE)


def footer_of(path: str) -> ParquetFooter:
    return ParquetFooter.read(Storage("/").open_file(path), path, DEFAULT_LIMITS)


def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files for which columns are made from now on."""
    paths: list[str] = []

    class Counted(FileColumns):
        def __init__(self, file, *others) -> None:  # type: ignore[no-untyped-def]
            paths.append(file.path)
            super().__init__(file, *others)

    monkeypatch.setattr(reader, "FileColumns", Counted)
    monkeypatch.setattr(reader, "thread_count", lambda: 1)
    return paths


def test_equal_schemas_have_one_tree_of_columns(tmp_path: Path) -> None:
    """The metadata of a file are not of its schema; ids of fields are."""
    table = pa.table({"id": [1, 2], "x": ["a", None]})
    schemas = [
        table.schema,
        table.schema.with_metadata({"written": "later"}),
        pa.schema([with_id(f, 7 + i) for i, f in enumerate(table.schema)]),
        table.schema.set(0, pa.field("id", pa.int64(), nullable=False)),
    ]
    roots = []
    for i, schema in enumerate(schemas):
        pq.write_table(table.cast(schema), tmp_path / f"{i}.parquet")
        roots.append(footer_of(str(tmp_path / f"{i}.parquet")).root)
    assert roots[0] is roots[1]
    assert len(set(map(id, roots))) == 3
    assert [child.id for child in roots[2].children] == [7, 8]


def test_columns_are_made_once_for_files_that_are_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [write(tmp_path, pa.table({"id": [i, 100 + i]}), f"{i}.parquet") for i in range(5)]
    other = write(tmp_path, pa.table({"id": pa.array([9, 109], pa.int32())}), "other.parquet")
    snapshot = snapshot_of(tmp_path, [ID], [FakeFile(path, 2) for path in (*paths, other)])
    found = made(monkeypatch)
    assert snapshot.scan("id > 99").to_arrow().column("id").to_pylist() == [100, 101, 102, 103, 104, 109]
    assert found == [paths[0], other]


@pytest.mark.parametrize("most", [1, 64])
def test_each_file_has_its_own_partition_values(most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """-0.0 is another value than 0.0, although they compare as equal."""
    monkeypatch.setattr(reader, "_MOST_KINDS", most)
    values = [0.0, -0.0, 1.5, None, math.nan, -0.0, 0.0, 1.5]
    files = [
        FakeFile(write(tmp_path, pa.table({"id": [i]}), f"{i}.parquet"), 1, {1000: value})
        for i, value in enumerate(values)
    ]
    snapshot = snapshot_of(tmp_path, [ID, PART], files, specs=[identity_spec(0, (1000, PART))])
    found = made(monkeypatch)
    assert [repr(one) for one in snapshot.scan().to_arrow().column("part").to_pylist()] == list(map(repr, values))
    assert len(found) == (8 if most == 1 else 5)


@pytest.mark.parametrize(
    ("columns", "filter", "count"),
    [
        (["id"], None, 1),
        (["id"], "id > 1", 1),
        (["part"], None, 4),
        (["s"], None, 4),
    ],
)
def test_partition_values_of_columns_that_are_not_read_are_not_looked_at(
    columns: list[str], filter: str | None, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those within a struct are read with it."""
    inner = Field(4, "inner", DOUBLE)
    struct = Field(3, "s", StructType((inner, Field(5, "other", LONG))))
    files = []
    for i in range(4):
        path = write(tmp_path, pa.table({"id": [i], "s": [{"other": i}]}), f"{i}.parquet")
        files.append(FakeFile(path, 1, {1000: float(i), 1001: float(i)}))
    specs = [identity_spec(0, (1000, PART), (1001, inner))]
    snapshot = snapshot_of(tmp_path, [ID, PART, struct], files, specs=specs)
    found = made(monkeypatch)
    rows = snapshot.scan(filter, columns=columns).to_arrow().to_pylist()
    every = [{"id": i, "part": float(i), "s": {"inner": float(i), "other": i}} for i in range(4)]
    kept = [row for row in every if filter != "id > 1" or row["id"] > 1]  # type: ignore[operator]
    assert rows == [{name: row[name] for name in columns} for row in kept]
    assert len(found) == count


def test_an_error_names_the_file_that_it_is_about(tmp_path: Path) -> None:
    """Also where the columns were made for another file."""
    required = Field(1, "id", LONG, required=True)
    paths = [write(tmp_path, pa.table({"id": [1, value]}), f"{i}.parquet") for i, value in enumerate([2, None, 3])]
    snapshot = snapshot_of(tmp_path, [required], [FakeFile(path, 2) for path in paths])
    with pytest.raises(CorruptMetadataError, match="a required column holds NULL") as caught:
        snapshot.scan().to_arrow()
    assert (caught.value.path, caught.value.field) == (paths[1], "id")


def test_metadata_columns_are_those_of_each_file(tmp_path: Path) -> None:
    paths = [write(tmp_path, pa.table({"id": [i]}), f"{i}.parquet") for i in range(3)]
    snapshot = snapshot_of(tmp_path, [ID], [FakeFile(path, 1) for path in paths])
    snapshot.format_snapshot.metadata_columns = (  # type: ignore[misc]
        MetadataColumn(Field(-8, "_file", primitive("string")), "path"),
    )
    assert snapshot.scan(columns=["_file"]).to_arrow().column("_file").to_pylist() == paths


def selections(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """The leaves of each read of a part from now on."""
    found: list[list[int]] = []
    read = ParquetFile.part_rows

    def part_rows(file, part, selection, *others):  # type: ignore[no-untyped-def]
        found.append(selection.leaves)
        return read(file, part, selection, *others)

    monkeypatch.setattr(ParquetFile, "part_rows", part_rows)
    monkeypatch.setattr(reader, "thread_count", lambda: 1)
    return found


@pytest.mark.parametrize(("lacking", "is_at_once"), [(0, True), (4, True), (5, False), (16, False)])
def test_columns_are_read_at_once_where_most_small_files_have_a_match(
    lacking: int, is_at_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """40 files, of which the first ``lacking`` ones, and one at the end, have no row that matches."""
    files, expected = [], []
    for i in range(40):
        ids = [0, 50, 100] if i < lacking or i == 38 else [0, 7, 100]
        files.append(FakeFile(write(tmp_path, pa.table({"id": ids, "x": [i, i + 0.5, i]}), f"{i}.parquet"), 3))
        expected += [{"id": 7, "x": i + 0.5}] if 7 in ids else []
    snapshot = snapshot_of(tmp_path, [ID, Field(2, "x", DOUBLE)], files)
    found = selections(monkeypatch)
    assert snapshot.scan("id = 7").to_arrow().to_pylist() == expected
    apart, at_once = found.count([0]), found.count([0, 1])
    assert apart + at_once == 40 and found.count([1]) == apart - lacking - (0 if is_at_once else 1)
    assert (at_once > 0) is is_at_once and apart >= 16


def test_small_files_of_all_partitions_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [
        FakeFile(write(tmp_path, pa.table({"id": [7, 8], "x": [i, i]}), f"{i}.parquet"), 2, {1000: float(i)})
        for i in range(30)
    ]
    columns = [ID, PART, Field(3, "x", LONG)]
    snapshot = snapshot_of(tmp_path, columns, files, specs=[identity_spec(0, (1000, PART))])
    found = selections(monkeypatch)
    expected = [{"id": 7, "part": float(i), "x": i} for i in range(30)]
    assert snapshot.scan("id = 7").to_arrow().to_pylist() == expected
    assert found == [[0], [1]] * 16 + [[0, 1]] * 14


@pytest.mark.parametrize("dropped", [0, 1, 2, 16])
def test_statistics_of_small_files_are_looked_at_while_they_drop_some(
    dropped: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first files are dropped by their footers, since no metadata has bounds here."""
    files = []
    for i in range(40):
        ids = [100, 200] if i < dropped else [0, 100]
        files.append(FakeFile(write(tmp_path, pa.table({"id": ids}), f"{i}.parquet"), 2))
    looked: list[str] = []
    bounds = ParquetFile.row_group_bounds

    def row_group_bounds(file, leaves):  # type: ignore[no-untyped-def]
        looked.append(file.path)
        return bounds(file, leaves)

    monkeypatch.setattr(ParquetFile, "row_group_bounds", row_group_bounds)
    monkeypatch.setattr(reader, "thread_count", lambda: 1)
    assert snapshot_of(tmp_path, [ID], files).scan("id < 50").to_arrow().num_rows == 40 - dropped
    assert len(looked) == {0: 17, 1: 17, 2: 18, 16: 40}[dropped]


def test_files_of_several_row_groups_are_not_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their statistics are always looked at, and their columns read apart."""
    table = pa.table({"id": [0, 100, 7, 200], "x": [1.0, 2.0, 3.0, 4.0]})
    paths = [write(tmp_path, table, f"{i}.parquet", row_group_size=2) for i in range(40)]
    snapshot = snapshot_of(tmp_path, [ID, Field(2, "x", DOUBLE)], [FakeFile(path, 4) for path in paths])
    found = selections(monkeypatch)
    assert snapshot.scan("id < 8 AND x > 1.5").to_arrow().column("x").to_pylist() == [3.0] * 40
    assert [0, 1] in found and len(found) <= 80
    assert snapshot.scan("id = 7").to_arrow().column("x").to_pylist() == [3.0] * 40
    assert found[-2:] == [[0], [1]]


@pytest.mark.parametrize(
    ("ordered", "count", "looks"), [(range(0), 24, 5), (range(1), 24, 9), (range(24), 24, 24), (range(4, 40), 40, 25)]
)
@pytest.mark.parametrize("positions", [[], [3]], ids=["clean", "deleted"])
def test_statistics_of_pages_are_looked_at_while_they_leave_some_out(
    positions: list[int], ordered: range, count: int, looks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The values of files that are ``ordered`` ascend. In the others each page has high and low ones."""
    monkeypatch.setattr(page_reads, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(reader, "thread_count", lambda: 1)
    groups = [list(range(100)) if i in ordered else [n % 10 * 10 for n in range(100)] for i in range(count)]
    files = []
    for i, ids in enumerate(groups):
        path = str(tmp_path / f"{i}.parquet")
        # gzip, which Arrow reads: then rows around deleted ones are not found in pages
        options = {"data_page_size": 1, "write_batch_size": 10, "use_dictionary": False, "compression": "gzip"}
        pq.write_table(pa.table({"id": ids}), path, **options)
        files.append(FakeFile(path, 100, positions=positions, cardinality=len(positions)))
    looked: list[str] = []
    bounds = ParquetFile.page_bounds

    def page_bounds(file, part, leaves):  # type: ignore[no-untyped-def]
        looked.append(file.path)
        return bounds(file, part, leaves)

    monkeypatch.setattr(ParquetFile, "page_bounds", page_bounds)
    found = snapshot_of(tmp_path, [ID], files).scan("id < 7").to_arrow()["id"].to_pylist()
    assert found == [n for group in groups for i, n in enumerate(group) if n < 7 and i not in positions]
    assert len(looked) == looks
