"""Which snapshot a table gives by id, name or time, and what it plans to read of it: all from metadata made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tableformats_iceberg.format import IcebergFormat
from tableformats_iceberg.manifests.manifest_list import DATA
from tableformats_iceberg.snapshot import IcebergSnapshot
from tableformats_iceberg.table import IcebergTable

from tableformats.errors import CorruptMetadataError, SnapshotNotFoundError
from tableformats.io.storage import Storage
from tableformats.plugin import Field, ListType, OpenOptions, ReadRequest, SnapshotSelector, SplitOptions, primitive
from tableformats.plugin.report import ScanReport
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_tables import FIELDS, SECOND, open_table, snapshot_json, table_with, write_table
from tests.support.memory_store import ROOT, MemoryStore, memory_storage

SCHEMAS = [
    {"type": "struct", "schema-id": 0, "fields": FIELDS},
    {"type": "struct", "schema-id": 1, "fields": SECOND},
]


def history(count: int, **more: Any) -> dict[str, Any]:
    """Snapshots 1, 2, ... of the times 1 s, 2 s, ..., each the parent of the next; the first has the older schema."""
    snapshots = [
        snapshot_json(i, 1000 * i, **{"schema-id": min(i - 1, 1), "parent-snapshot-id": i - 1 or None})
        for i in range(1, count + 1)
    ]
    current = {"current-snapshot-id": count, "current-schema-id": 1}
    return {"schemas": SCHEMAS, "last-column-id": 3, "snapshots": snapshots, **current, **more}


def table_of(folder: Path, **changes: Any) -> IcebergTable:
    write_table(folder, **changes)
    return open_table(folder)


def reference(number: int, kind: str = "tag") -> dict[str, Any]:
    return {"snapshot-id": number, "type": kind}


def missing(table: IcebergTable, **selector: Any) -> tuple[str, str | None]:
    with pytest.raises(SnapshotNotFoundError) as caught:
        table.snapshot(SnapshotSelector(**selector))
    assert caught.value.path is not None and caught.value.path.endswith("v1.metadata.json")
    return caught.value.message, caught.value.hint


# ---- by id and by name ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "version", "columns"),
    [
        ({}, 3, 3),
        ({"version": 1}, 1, 2),
        ({"version": "1"}, 1, 2),
        ({"version": "2"}, 1, 2),  # a tag of that name
        ({"version": 2}, 2, 3),
        ({"version": "main"}, 3, 3),
        ({"branch": "old"}, 1, 3),
        ({"version": "old"}, 1, 3),
        ({"tag": "2"}, 1, 2),
    ],
)
def test_snapshots_by_id_and_by_name(tmp_path: Path, selector: dict[str, Any], version: int, columns: int) -> None:
    """Branches are read with the table's schema, ids and tags with the snapshot's own."""
    refs = {"old": reference(1, "branch"), "2": reference(1)}
    found = table_of(tmp_path, **history(3, refs=refs)).snapshot(SnapshotSelector(**selector))
    assert (found.version, len(found.schema), found.timestamp_ms) == (version, columns, 1000 * version)


@pytest.mark.parametrize(
    ("selector", "message", "hint"),
    [
        ({"version": 0}, "there is no snapshot 0", f"The table's snapshots: {', '.join(map(str, range(12, 2, -1)))}"),
        ({"version": -1}, "there is no snapshot -1", f"The table's snapshots: {', '.join(map(str, range(12, 2, -1)))}"),
        (
            {"version": "-7"},
            "there is no snapshot -7",
            f"The table's snapshots: {', '.join(map(str, range(12, 2, -1)))}",
        ),
        (
            {"version": "x"},
            "there is no branch or tag 'x'",
            "The table's references: main, t00, t01, t02, t03, t04, t05, t06, t07, t08",
        ),
        (
            {"version": "-x"},
            "there is no branch or tag '-x'",
            "The table's references: main, t00, t01, t02, t03, t04, t05, t06, t07, t08",
        ),
        ({"branch": "t00"}, "there is no branch 't00'", "The table's references: main"),
        (
            {"tag": "main"},
            "there is no tag 'main'",
            f"The table's references: {', '.join(f't{i:02}' for i in range(10))}",
        ),
    ],
)
def test_the_first_ten_that_are_there_are_named(
    tmp_path: Path, selector: dict[str, Any], message: str, hint: str
) -> None:
    refs = {f"t{i:02}": reference(1) for i in range(11)}
    assert missing(table_of(tmp_path, **history(12, refs=refs)), **selector) == (message, hint)


def test_a_table_without_snapshots(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    for selector in (SnapshotSelector(), SnapshotSelector(version=-1), SnapshotSelector(version="-1")):
        found = table.snapshot(selector)
        assert (found.version, found.timestamp_ms, found.snapshot) == (-1, None, None)
    assert missing(table, version=0) == ("there is no snapshot 0", "The table has no snapshots")
    assert missing(table, tag="x") == ("there is no tag 'x'", "The table has no references")
    at = ("the table had no snapshot at 1970-01-01T00:00:00.005000+00:00", "The table has no earliest")
    assert missing(table, timestamp_ms=5) == at
    assert table.versions_after(None) == [] and table.appends().version == -1
    for call in (lambda: table.appends(5), lambda: table.appends(None, 5), lambda: table.versions_after(5)):
        with pytest.raises(SnapshotNotFoundError):
            call()


# ---- by time --------------------------------------------------------------------------------------------------------


def log(*entries: tuple[int, int]) -> list[dict[str, int]]:
    return [{"timestamp-ms": at, "snapshot-id": number} for at, number in entries]


@pytest.mark.parametrize(
    ("entries", "times"),
    [
        # Without a log, by lineage.
        ((), {1000: 1, 1999: 1, 2000: 2, 9999: 3}),
        # Snapshot 1 became current again.
        (((1000, 1), (2000, 2), (2500, 1), (3000, 3)), {1000: 1, 2499: 2, 2500: 1, 2999: 1, 3000: 3}),
    ],
)
def test_snapshots_by_time(tmp_path: Path, entries: tuple[tuple[int, int], ...], times: dict[int, int]) -> None:
    table = table_of(tmp_path, **history(3, **{"snapshot-log": log(*entries)}))
    assert {at: table.snapshot(SnapshotSelector(timestamp_ms=at)).version for at in times} == times
    assert len(table.snapshot(SnapshotSelector(timestamp_ms=1000)).schema) == 2
    earliest = "The table's earliest: 1970-01-01T00:00:01+00:00"
    before = "the table had no snapshot at 1970-01-01T00:00:00.999000+00:00"
    assert missing(table, timestamp_ms=999) == (before, earliest)


def test_times_whose_snapshot_has_expired(tmp_path: Path) -> None:
    entries = [(500, 9), *((1000 * i, i) for i in range(1, 13)), (20_000, 9)]
    table = table_of(tmp_path, **history(12, **{"snapshot-log": log(*entries)}))
    known = ", ".join(f"1970-01-01T00:00:{i:02}+00:00" for i in range(1, 10))
    gone = log((500, 99), *((1000 * i, i) for i in range(1, 13)))
    expired = table_of(tmp_path / "u", **history(12, **{"snapshot-log": gone}))
    assert table.snapshot(SnapshotSelector(timestamp_ms=700)).version == 9
    assert missing(expired, timestamp_ms=700) == (
        "the snapshot that was current at 1970-01-01T00:00:00.700000+00:00 has expired",
        f"The table's still there, from: {known}, 1970-01-01T00:00:10+00:00",
    )


def test_a_snapshot_that_does_not_name_its_schema(tmp_path: Path) -> None:
    table = table_of(tmp_path, **history(1, snapshots=[snapshot_json(1, 1)]))
    assert len(table.snapshot(SnapshotSelector(version=1)).schema) == 3


# ---- ranges ---------------------------------------------------------------------------------------------------------


def test_versions_after_another(tmp_path: Path) -> None:
    table = table_of(tmp_path, **history(4))
    found = [table.versions_after(version) for version in (None, 1, 3, 4)]
    assert found == [[1, 2, 3, 4], [2, 3, 4], [4], []]
    with pytest.raises(SnapshotNotFoundError, match="there is no snapshot 9") as caught:
        table.versions_after(9)
    assert caught.value.hint == "Its ancestors that are there, newest first: 4, 3, 2, 1"


def test_ranges_of_another_lineage(tmp_path: Path) -> None:
    """Ten ancestors are named at most; the order of the two is said where it is the other way round."""
    snapshots = [*history(12)["snapshots"], snapshot_json(20, 9000, **{"parent-snapshot-id": 5})]
    table = table_of(tmp_path, **history(12, snapshots=snapshots))
    for calls in (lambda a, b: table.changes(a, b), lambda a, b: table.appends(a, b)):
        for (start, end), message, hint in (
            ((20, 12), "the snapshot 20 is no ancestor of 12", f"{', '.join(map(str, range(12, 2, -1)))}"),
            ((6, 20), "the snapshot 6 is no ancestor of 20", "20, 5, 4, 3, 2, 1"),
            ((9, 7), "the snapshot 9 came after 7", None),
        ):
            with pytest.raises(SnapshotNotFoundError) as caught:
                calls(start, end)
            named = (
                "Give the older one first" if hint is None else f"Its ancestors that are there, newest first: {hint}"
            )
            assert (caught.value.message, caught.value.hint) == (message, named)
    assert [c.after.version for c in table.changes(3, 5)._commits] == [3, 4, 5]
    first = table.changes(3, 5)._commits[0]
    assert first.before is not None and first.before.version == 2
    assert [s.version for s in table.appends(3, 5)._appends] == [4, 5]  # type: ignore[attr-defined]
    assert [s.version for s in table.appends(None, 2)._appends] == [1, 2]  # type: ignore[attr-defined]


def test_parents_that_have_expired(tmp_path: Path) -> None:
    table = table_of(tmp_path, **history(4, snapshots=history(4)["snapshots"][2:]))
    assert table.versions_after(2) == [3, 4]
    assert table.changes(3)._commits[0].before is None
    with pytest.raises(SnapshotNotFoundError, match="the snapshots before 3 have expired") as caught:
        table.versions_after(None)
    assert caught.value.hint == "Start behind the last of them, from_snapshot_id_exclusive=2"
    first = table_of(tmp_path / "u", **history(4)).changes(1)._commits[0].before
    assert first is not None and first.version == -1


# ---- what is planned ------------------------------------------------------------------------------------------------


def manifests(count: int, *deletes: int) -> list[tuple[bytes, dict[str, Any]]]:
    made = []
    for i in range(count):
        content = int(i in deletes)
        counts = {"added_files_count": i, "existing_files_count": 1, "content": content}
        made.append((manifest_bytes([entry(f"/old/t/{i}", content=content)]), counts))
    return made


def parts_of(snapshot: IcebergSnapshot, *columns: Field) -> list[Any]:
    return list(snapshot.parts(ReadRequest(columns, ScanReport())))


def test_parts_of_a_plan(tmp_path: Path) -> None:
    """One for each data manifest. Where there are deletes, its key has its place from the end of the list."""
    made = manifests(3)
    snapshot = open_table(table_with(tmp_path, *made), relocate=True).snapshot(SnapshotSelector())
    parts = parts_of(snapshot)
    assert [(part.key[0].path[-7:], part.key[1]) for part in parts] == [
        ("m0.avro", None),
        ("m1.avro", None),
        ("m2.avro", None),
    ]
    assert [part.size_bytes for part in parts] == [len(data) for data, _ in made]
    assert [part.files for part in parts] == [()] * 3
    assert [part.n_files for part in parts] == [1, 2, 3]
    with_deletes = open_table(table_with(tmp_path / "u", *manifests(4, 1)), relocate=True)
    found = parts_of(with_deletes.snapshot(SnapshotSelector()))
    assert [(part.key[0].path[-7:], part.key[1]) for part in found] == [
        ("m0.avro", -4),
        ("m2.avro", -2),
        ("m3.avro", -1),
    ]


@pytest.mark.parametrize(("last", "is_whole"), [(2, True), (3, False)])
def test_a_schema_that_lacks_no_column_that_ever_was(tmp_path: Path, last: int, is_whole: bool) -> None:
    snapshot = table_of(tmp_path, **{"last-column-id": last}).snapshot(SnapshotSelector())
    assert snapshot.name_mapping.undropped == (snapshot.schema if is_whole else None)


def test_what_the_list_does_not_say_of_a_manifest(tmp_path: Path) -> None:
    unknown = {"added_files_count": None, "existing_files_count": None}
    lengths = ({"manifest_length": length} for length in (0, 1))
    folder = table_with(tmp_path, *((manifest_bytes([entry("/old/t/a")]), row) for row in (unknown, *lengths)))
    first, second, third = parts_of(open_table(folder, relocate=True).snapshot(SnapshotSelector()))
    assert first.n_files is None and (second.size_bytes, third.size_bytes) == (None, 1)


def test_columns_whose_bounds_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that may have bounds."""
    snapshot = open_table(table_with(tmp_path, *manifests(1)), relocate=True).snapshot(SnapshotSelector())
    asked: list[Any] = []
    source = type(snapshot.manifests)
    read = source.read_entries
    monkeypatch.setattr(
        source, "read_entries", lambda self, m, columns, *more: asked.append(columns) or read(self, m, columns, *more)
    )
    texts = ListType(Field(8, "element", primitive("string")))
    (part,) = parts_of(snapshot, Field(1, "a", primitive("int")), Field(7, "l", texts))
    (batch,) = part.read(ScanReport())
    assert (asked, batch.files["path"].to_pylist()) == ([[1]], ["/old/t/0"])


def remote(folder: Path, *made: tuple[bytes, dict[str, Any]]) -> IcebergSnapshot:
    store = MemoryStore()
    for file in (table_with(folder, *made) / "metadata").iterdir():
        store.files[f"{ROOT}/metadata/{file.name}"] = file.read_bytes()
    table = IcebergFormat().open(memory_storage(store), OpenOptions(relocate=True))
    return table.snapshot(SnapshotSelector())


def test_files_that_may_be_read_ahead_from_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = manifests(4, 1, 3)
    made[2][1]["manifest_length"] = 0
    made[3][1]["manifest_length"] = len(made[3][0])
    snapshot = remote(tmp_path, *made)
    sizes = [len(data) for data, _ in made]
    path = f"{ROOT}/metadata/m{{}}.avro"
    assert [part.files for part in parts_of(snapshot)] == [((path.format(0), sizes[0]),), ((path.format(2), 0),)]
    request = ReadRequest((), ScanReport())
    ahead = [(path.format(i), sizes[i]) for i in (1, 3)]
    assert snapshot.files_of_deletes(request) == ahead
    for most, expected in ((sizes[1] + sizes[3], ahead), (sizes[1] + sizes[3] - 1, [])):
        monkeypatch.setattr("tableformats_iceberg.snapshot._MOST_DELETES_AHEAD", most)
        assert snapshot.files_of_deletes(request) == expected
    monkeypatch.undo()
    listed = snapshot.manifest_list.manifests
    snapshot.manifests.entries(listed[1], ())
    assert snapshot.files_of_deletes(request) == ahead[1:]
    local = open_table(tmp_path, relocate=True).snapshot(SnapshotSelector())
    assert local.files_of_deletes(request) == []


def test_lists_are_counted_where_they_are_read(tmp_path: Path) -> None:
    snapshot = open_table(table_with(tmp_path, *manifests(1)), relocate=True).snapshot(SnapshotSelector())
    size = (tmp_path / "metadata" / "snap-7.avro").stat().st_size
    report = ScanReport()
    assert snapshot.counted_list(report).manifests[0].content == DATA
    assert (report.metadata_files_read, report.metadata_bytes_read) == (1, size)
    empty = table_of(tmp_path / "u").snapshot(SnapshotSelector())
    report = ScanReport()
    assert empty.counted_list(report).manifests == [] and report.metadata_files_read == 0


@pytest.mark.parametrize(
    ("properties", "found"),
    [
        ({}, SplitOptions()),
        (
            {"target-size": "7", "open-file-cost": "0", "planning-lookback": "1"},
            SplitOptions(target_size=7, open_cost=0, lookback=1),
        ),
    ],
)
def test_split_options(tmp_path: Path, properties: dict[str, str], found: SplitOptions) -> None:
    stored = {f"read.split.{name}": text for name, text in properties.items()}
    assert table_of(tmp_path, properties=stored).snapshot(SnapshotSelector()).split_options == found


@pytest.mark.parametrize("text", ["x" * 60, "0", "-1"])
def test_split_options_that_are_none(tmp_path: Path, text: str) -> None:
    table = table_of(tmp_path, properties={"read.split.target-size": text})
    with pytest.raises(CorruptMetadataError) as caught:
        table.snapshot(SnapshotSelector()).split_options  # noqa: B018
    assert caught.value.field == "read.split.target-size"
    assert caught.value.message == f"the table's property is no number of bytes or groups: {text[:50]!r}"


# ---- the definition -------------------------------------------------------------------------------------------------

SPEC = {
    "partition-specs": [
        {
            "spec-id": 0,
            "fields": [
                {"source-id": 1, "field-id": 1000, "name": "by_a", "transform": "bucket[4]"},
                {"source-id": 2, "field-id": 1001, "name": "gone", "transform": "void"},
            ],
        }
    ]
}


@pytest.mark.parametrize(
    ("partition_by", "properties", "differs"),
    [
        (None, {}, None),
        (["bucket(4, a)"], {}, None),
        (["bucket(4, a) AS by_a"], {}, None),
        (["bucket(4, a) AS other"], {}, "partition_by"),
        (["bucket(8, a)"], {}, "partition_by"),
        (["bucket(4, b)"], {}, "partition_by"),
        ([], {}, "partition_by"),
        (["bucket(4, a)", "b"], {}, "partition_by"),
        (None, {"x": "1"}, None),
        (None, {"x": "1", "y": "2"}, "y"),
        (None, {"x": "2", "y": "2"}, "x"),
        (None, {"format-version": "2"}, None),
        (None, {"format-version": "3"}, "format-version"),
        (["bucket(8, a)"], {"y": "2"}, "partition_by"),
    ],
)
def test_what_differs_from_another_definition(
    tmp_path: Path, partition_by: list[str] | None, properties: dict[str, str], differs: str | None
) -> None:
    table = table_of(tmp_path, properties={"x": "1"}, **SPEC)
    assert table.definition_differs(partition_by, properties) == differs


# ---- recognition ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "above"),
    [
        ("t/metadata/v1.metadata.json", "t"),
        ("a/t/metadata/00000-x.gz.metadata.json", "a/t"),
        ("metadata/v1.metadata.json", ""),
        ("t/metadata/v1.json", None),
        ("t/other/v1.metadata.json", None),
        ("v1.metadata.json", None),
        ("t/metadata/more/v1.metadata.json", None),
        ("xmetadata/v1.metadata.json", None),
    ],
)
def test_the_table_above_a_file(path: str, above: str | None) -> None:
    assert IcebergFormat().table_above(path) == above


def test_a_remote_metadata_file_is_detected_by_its_name() -> None:
    detect = IcebergFormat().detect
    storage = Storage(f"{ROOT}/metadata/v1.metadata.json")
    storage._stores["s3://bucket"] = MemoryStore()
    assert detect(storage, OpenOptions())
    assert not detect(memory_storage(MemoryStore()), OpenOptions())
