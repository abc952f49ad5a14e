"""Manifests that are decoded together: the batches, notes and errors of each are what it gives alone."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from tableformats_iceberg.files.table_files import TableFiles
from tableformats_iceberg.manifests.batch_reader import ManifestBatchReader
from tableformats_iceberg.manifests.entries import FILE_PATH_ID
from tableformats_iceberg.manifests.statistics import ManifestStatistics

import tableformats as tf
from tableformats.errors import CorruptMetadataError, TableFormatsError
from tableformats.plugin import MetadataPart, ReadRequest, SnapshotSelector
from tableformats.plugin.report import ScanReport
from tableformats.schema import Field, PrimitiveType
from tests.support.iceberg_manifests import entry, manifest_bytes
from tests.support.iceberg_tables import open_table, table_with

Manifest = tuple[bytes, dict[str, Any]]
COUNTED = {"added_files_count": 20, "existing_files_count": 0}
"""About how many files there are: only manifests that are known to be small are read together."""
COLUMN = Field(1, "a", PrimitiveType("int"), required=True)


def manifest(seed: int, n: int, **options: Any) -> bytes:
    """Entries with bounds and counts of column 1, of every status, some with numbers of their own."""
    rng = random.Random(seed)
    entries = []
    for i in range(n):
        low = rng.randrange(100)
        bounds: dict[str, Any] = {}
        if options.get("version") != 1 or rng.random() < 0.8:
            bounds = {
                "lower_bounds": [{"key": 1, "value": struct.pack("<i", low)}],
                "upper_bounds": [{"key": 1, "value": struct.pack("<i", low + rng.randrange(5))}],
                "value_counts": [{"key": 1, "value": 10}],
                "null_value_counts": [{"key": 1, "value": rng.randrange(3)}],
            }
        status = rng.choice([0, 1, 1, 2])
        number = None if status == 1 and rng.random() < 0.5 else rng.randrange(5)
        own_id = rng.randrange(1000) if rng.random() < 0.2 else None
        entries.append(
            entry(
                f"data/{seed}-{i}",
                status=status,
                sequence_number=number,
                records=rng.randrange(10, 50),
                first_row_id=own_id,
                **bounds,
            )
        )
    return manifest_bytes(entries, **options)


def mixed(seed: int) -> list[Manifest]:
    """Manifests of other sequence numbers, row ids, codecs, versions and sizes, some of them empty."""
    rng = random.Random(seed)
    made: list[Manifest] = []
    for i in range(rng.randrange(2, 9)):
        options: dict[str, Any] = {"codec": rng.choice(["null", "deflate", "deflate", "snappy"])}
        if rng.random() < 0.2:
            options["version"] = 1
        row = {"sequence_number": rng.randrange(6), "first_row_id": rng.choice([None, 100, 5000])}
        made.append((manifest(100 * seed + i, rng.choice([0, 1, 3, 20]), **options), row))
    return made


def parts_of(folder: Path) -> list[MetadataPart]:
    snapshot = open_table(folder, relocate=True).snapshot(SnapshotSelector())
    return list(snapshot.parts(ReadRequest((COLUMN,), ScanReport())))


def together(parts: Sequence[MetadataPart]) -> Sequence[MetadataPart]:
    assert parts[0].read_many is not None
    return parts[0].read_many(parts)


def read(part: MetadataPart) -> Any:
    """Files, bounds and what was counted; or the error."""
    report = ScanReport()
    try:
        batches = list(part.read(report))
    except TableFormatsError as error:
        return type(error), str(error)
    found = []
    for batch in batches:
        assert batch.statistics is not None
        asked = [batch.statistics.bounds((COLUMN,), rows) for rows in (None, np.arange(0, batch.files.num_rows, 2))]
        bounds = [
            values.to_pylist()
            for known in asked
            for side in (known.lower, known.upper, known.null_count, known.value_count)
            for values in side.values()
            if values.null_count < len(values)
        ]
        found.append((batch.files.to_pylist(), batch.spec_id, bounds))
    return found, report.metadata_files_read, report.metadata_bytes_read, report.notes


@pytest.mark.parametrize("seed", range(12))
def test_the_same_as_alone(tmp_path: Path, seed: int) -> None:
    parts = parts_of(table_with(tmp_path, *mixed(seed)))
    shared = together(parts)
    assert [part.key for part in shared] == [part.key for part in parts]
    assert [read(part) for part in shared] == [read(part) for part in parts]


def test_numbers_are_those_of_their_own_manifest(tmp_path: Path) -> None:
    data = [manifest_bytes([entry(f"{name}{i}", records=10) for i in range(2)]) for name in "abc"]
    rows = [{"sequence_number": 4, "first_row_id": 100}, {"sequence_number": 5}, {"first_row_id": 700}]
    shared = together(parts_of(table_with(tmp_path, *zip(data, rows, strict=True))))
    files = [row for part in shared for batch in part.read(ScanReport()) for row in batch.files.to_pylist()]
    assert [row["data_sequence_number"] for row in files] == [4, 4, 5, 5, 5, 5]
    assert [row["first_row_id"] for row in files] == [100, 110, None, None, 700, 710]


def test_manifests_alike_are_not_read_alone(tmp_path: Path) -> None:
    parts = parts_of(table_with(tmp_path, *((manifest(i, 5), {}) for i in range(4))))
    alone = [replace(part, read=refuse) for part in parts]
    assert [read(part) for part in together(alone)] == [read(part) for part in parts]


def refuse(report: ScanReport) -> NoReturn:
    raise AssertionError("read alone")


@pytest.mark.parametrize("is_positioned", [False, True])
def test_batches_and_notes_of_each_manifest(tmp_path: Path, is_positioned: bool) -> None:
    """Files carry the index of their manifest and their own where these are asked for."""
    counts = [(2, 2), (3, 1), (1, 3)]
    data = [manifest_bytes([entry(f"{i}{j}") for j in range(n)]) for i, (n, _) in enumerate(counts)]
    rows = [{"added_files_count": listed, "existing_files_count": 0} for _, listed in counts]
    folder = table_with(tmp_path, *zip(data, rows, strict=True))
    snapshot = open_table(folder, relocate=True).snapshot(SnapshotSelector())
    keys = [(row, i + 4 if is_positioned else None) for i, row in enumerate(snapshot.manifest_list.manifests)]
    reader = ManifestBatchReader(snapshot.manifests, [1], keys)
    for number in (2, 0, 1):
        live, listed = counts[number]
        report = ScanReport()
        (batch,) = reader.read(number, refuse, report)
        assert batch.files["path"].to_pylist() == [f"{number}{j}" for j in range(live)]
        if is_positioned:
            assert batch.files["manifest"].to_pylist() == [number + 4] * live
            assert batch.files["entry"].to_pylist() == list(range(live))
        else:
            assert "manifest" not in batch.files.schema.names
        path = f"{folder}/metadata/m{number}.avro"
        said = [] if live == listed else [f"the manifest {path!r} has {live} live files, its list says {listed}"]
        assert (report.notes, report.metadata_bytes_read) == (said, len(data[number]))


@pytest.mark.parametrize("is_damaged", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_every_manifest_is_read_once(
    tmp_path: Path, seed: int, is_damaged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of another codec. Beside a damaged one they are read again, by themselves."""
    last = manifest(8, 5)[:-1] + b"x" if is_damaged else manifest(8, 5)
    manifests = [*mixed(seed), (manifest(7, 5, codec="snappy"), {}), (last, {})]
    parts = parts_of(table_with(tmp_path, *manifests))
    expected = [read(part) for part in parts]
    paths: list[str] = []
    read_file = TableFiles.read
    monkeypatch.setattr(
        TableFiles,
        "read",
        lambda self, path, *rest, **options: (paths.append(path), read_file(self, path, *rest, **options))[1],
    )
    assert [read(part) for part in together(parts)] == expected
    every = sorted({part.key[0].path for part in parts})  # type: ignore[index]
    assert sorted(set(paths)) == every and all(paths.count(path) <= 1 + is_damaged for path in every)


def test_what_waits_is_not_overwritten(tmp_path: Path) -> None:
    """Bytes that are not decoded yet stay theirs when this thread reads other manifests together."""
    tables = [[(manifest(10 * t + i, 5, codec="snappy" if i else "deflate"), {}) for i in range(3)] for t in range(2)]
    parts, others = (parts_of(table_with(tmp_path / str(i), *table)) for i, table in enumerate(tables))
    expected = [read(part) for part in parts]
    first, *rest = together(parts)
    found = [read(first)]
    assert [read(part) for part in together(others)] == [read(part) for part in others]
    assert found + [read(part) for part in rest] == expected


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-30],
        lambda data: data[:-1] + b"x",
        lambda data: b"AGS1" + data[4:],
        lambda data: b"",
        lambda data: data.replace(b"PARQUET", b"PARQ\xffET"),
        lambda data: data.replace(b"data/1-0", b"data/\xff-0"),
    ],
)
def test_an_error_names_the_manifest_that_it_comes_from(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    folder = table_with(tmp_path, *((manifest(i, 5), {}) for i in range(3)))
    file = folder / "metadata" / "m1.avro"
    file.write_bytes(damage(file.read_bytes()))
    parts = parts_of(folder)
    found = [read(part) for part in together(parts)]
    assert found == [read(part) for part in parts]
    assert "m1.avro" in str(found[1]) and not any("m1.avro" in str(found[i]) for i in (0, 2))


def test_a_cut_manifest_is_refused(tmp_path: Path) -> None:
    whole = manifest(1, 5)
    folder = table_with(tmp_path, (manifest(0, 5), {}), (whole, {"manifest_length": len(whole) + 7}))
    shared = together(parts_of(folder))
    assert read(shared[0])[1:] == (1, len(manifest(0, 5)), [])
    assert f"has {len(whole)} bytes, its list says {len(whole) + 7}" in read(shared[1])[1]


def test_a_plan_asks_neighbours_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = table_with(tmp_path, *((manifest(i, 20), COUNTED) for i in range(4)))
    expected = sorted(row["path"] for part in parts_of(folder) for row in read(part)[0][0][0])
    asked: list[int] = []
    bounds = ManifestStatistics.bounds

    def counted(self: ManifestStatistics, columns: Any, rows: Any) -> Any:
        found = bounds(self, columns, rows)
        asked.append(0 if 1 not in found.lower else len(found.lower[1]))
        return found

    monkeypatch.setattr(ManifestStatistics, "bounds", counted)
    monkeypatch.setattr("tableformats.planning.planner._bundles", lambda parts: [list(parts)])
    plan = tf.open_table(folder, relocate=True).scan("a >= 0").plan()
    assert sorted(plan.survivors["path"].to_pylist()) == expected
    assert asked == [len(expected)], "once, for all files"


def by_partition(folder: Path, *values: int) -> Path:
    """A table partitioned by ``a``: for each of its values a manifest of files whose bounds of ``b`` are one number."""
    spec = {"spec-id": 0, "fields": [{"source-id": 1, "field-id": 1000, "name": "p", "transform": "identity"}]}
    manifests = []
    for i, value in enumerate(values):
        files = []
        for k in range(5):
            sides = {side: [{"key": 2, "value": b"%d" % k}] for side in ("lower_bounds", "upper_bounds")}
            files.append(entry(f"data/{i}-{k}", partition={"p": value}, **sides))
        bound = struct.pack("<i", value)
        summary = {"contains_null": False, "contains_nan": False, "lower_bound": bound, "upper_bound": bound}
        row = {"partitions": [summary], "added_files_count": 5, "existing_files_count": 0}
        manifests.append((manifest_bytes(files, [("p", 1000, "int")]), row))
    return table_with(folder, *manifests, **{"partition-specs": [spec], "default-spec-id": 0})


@pytest.mark.parametrize(
    "text, decoded",
    [
        ("a = 1 AND b = '3'", [set(), {2}]),
        ("a = 0 OR b = '3'", [set(), {2}]),
        ("a >= 0", [set(), set()]),
        ("a = 7 AND b = '3' OR a = 0 AND b = '4'", [{2}, set()]),
        ("NOT (a = 1 OR b = '3')", [{1, 2}, set()]),
        ("b = '3'", [{2}, {2}]),
    ],
)
def test_columns_that_no_file_needs_are_not_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, decoded: list[set[int]]
) -> None:
    folder = by_partition(tmp_path, 0, 0, 1, 1)
    monkeypatch.setattr(
        "tableformats.planning.planner._bundles",
        lambda parts: [
            [part for part in parts if part[1].key[0].path in paths]
            for paths in (  # type: ignore[index]
                [f"/old/t/metadata/m{i}.avro" for i in pair] for pair in ((0, 1), (2, 3))
            )
        ],
    )
    found: dict[int, set[int]] = {}
    decode = ManifestBatchReader._decode

    def counted(self: ManifestBatchReader, alike: Any, spec: Any) -> Any:
        found[2 * self._keys[0][0].path.endswith("m2.avro")] = set(self._columns)
        return decode(self, alike, spec)

    monkeypatch.setattr(ManifestBatchReader, "_decode", counted)
    table = tf.open_table(folder, relocate=True)
    table.scan(text).plan()
    assert [found.get(i, set()) for i in (0, 2)] == decoded
    # What was not decoded is not taken for unknown by the next question.
    next_questions = {"b = '3'": [f"data/{i}-3" for i in range(4)], "a = 1 AND b = '4'": ["data/2-4", "data/3-4"]}
    for question, paths in next_questions.items():
        assert sorted(table.scan(question).plan().survivors["path"].to_pylist()) == paths


@pytest.mark.parametrize("seed", range(4))
def test_plans_are_those_of_manifests_alone(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = table_with(
        tmp_path, *((data, row | COUNTED) for data, row in mixed(seed)), *((manifest(i, 20), COUNTED) for i in range(3))
    )

    def paths(text: str) -> list[str]:
        plan = tf.open_table(folder, relocate=True, cache=False).scan(text).plan()
        return sorted(plan.survivors["path"].to_pylist())

    texts = [f"a < {limit}" for limit in (0, 3, 20, 50, 99)] + ["a IN (7, 8)", "a IS NULL OR a = 11"]
    monkeypatch.setattr("tableformats.planning.planner._bundles", lambda parts: [list(parts)])
    read_together: list[int] = []
    decode = ManifestBatchReader._decode

    def counted(self: ManifestBatchReader, reads: Any, spec: Any) -> Any:
        decoded = decode(self, reads, spec)
        read_together.append(0 if decoded is None else len(decoded.manifests))
        return decoded

    monkeypatch.setattr(ManifestBatchReader, "_decode", counted)
    found = [paths(text) for text in texts]
    assert max(read_together) > 2
    assert len(found[0]) < len(found[2]) < len(found[4])
    monkeypatch.setattr("tableformats.planning.planner._sharing_reads", lambda bundle: [part for _, part in bundle])
    assert found == [paths(text) for text in texts]


# ---- deletes --------------------------------------------------------------------------------------------------------


def delete_manifests(seed: int, count: int) -> list[Manifest]:
    """Deletes of every kind of the files that the first manifest of :func:`with_deletes` has."""
    rng = random.Random(seed)
    made: list[Manifest] = []
    for i in range(count):
        entries = []
        for j in range(rng.randrange(6)):
            target, number = f"data/1-{rng.randrange(20)}", rng.choice([None, 1, 4, 9])
            bound = [{"key": FILE_PATH_ID, "value": target.encode()}]
            more: dict[str, Any] = rng.choice(
                [
                    {"content": 1},
                    {"content": 1, "referenced_data_file": target},
                    {"content": 1, "lower_bounds": bound, "upper_bounds": bound},
                    {"content": 2, "equality_ids": [1]},
                ]
            )
            status = rng.choice([1, 1, 0, 2]) if number else 1
            if more["content"] == 2:
                low = rng.randrange(100)
                sides = {"lower_bounds": low, "upper_bounds": low + rng.randrange(30)}
                more |= {name: [{"key": 1, "value": struct.pack("<i", value)}] for name, value in sides.items()}
                more |= {"value_counts": [{"key": 1, "value": 10}], "null_value_counts": [{"key": 1, "value": 0}]}
            entries.append(entry(f"deletes/{i}-{j}", status=status, sequence_number=number, **more))
        data = manifest_bytes(entries, codec=rng.choice(["null", "deflate", "deflate", "snappy"]))
        made.append((data, {"content": 1, "sequence_number": rng.randrange(9), "added_files_count": len(entries)}))
    return made


@pytest.mark.parametrize("text", [None, "a < 80"])  # with bounds of the deletes at hand, or read later
@pytest.mark.parametrize("seed", range(8))
def test_deletes_are_those_of_manifests_alone(
    tmp_path: Path, seed: int, text: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = table_with(tmp_path, (manifest(1, 20), COUNTED), *delete_manifests(seed, 7))

    def planned() -> Any:
        plan = tf.open_table(folder, relocate=True, cache=False).scan(text).plan()
        report = plan.report
        counted = report.metadata_files_read, report.metadata_bytes_read, sorted(report.notes)
        deletes = [{d["path"]: d for d in task.deletes.to_pylist()} for task in plan.tasks()]
        return deletes, plan.survivors["path"].to_pylist(), counted

    together = planned()
    assert any(together[0])
    monkeypatch.setattr("tableformats_iceberg.deletes.delete_manifests._BUNDLE_FILES", 1)
    assert planned() == together


@pytest.mark.parametrize("bad", [0, 1, 3])
def test_a_damaged_delete_manifest_among_others_is_named(tmp_path: Path, bad: int) -> None:
    vector = {"content": 1, "file_format": "PUFFIN", "referenced_data_file": "data/1-0", "content_offset": 4}
    made = [manifest_bytes([entry(f"d{i}", content=1)]) for i in range(4)]
    made[bad] = manifest_bytes([entry("d", **vector)])  # no size
    folder = table_with(tmp_path, (manifest(1, 20), COUNTED), *((data, {"content": 1}) for data in made))
    with pytest.raises(CorruptMetadataError) as caught:
        tf.open_table(folder, relocate=True).scan().plan()
    assert caught.value.field == "content_size_in_bytes" and str(caught.value.path).endswith(f"m{bad + 1}.avro")
    made[bad] = made[bad][:-20]
    folder = table_with(tmp_path, (manifest(1, 20), COUNTED), *((data, {"content": 1}) for data in made))
    with pytest.raises(CorruptMetadataError, match=rf"m{bad + 1}\.avro"):
        tf.open_table(folder, relocate=True).scan().plan()


def test_delete_manifests_are_decoded_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read together is kept for each."""
    made = [manifest_bytes([entry(f"d{i}", content=1)], codec="deflate") for i in range(4)]
    data = manifest(1, 20), COUNTED
    table = tf.open_table(table_with(tmp_path, data, *((one, {"content": 1}) for one in made)), relocate=True)
    assert table.scan().plan().report.metadata_files_read == 2 + 1 + 4
    assert table.scan().plan().report.delete_files == 4
    read, reading = [], TableFiles.read

    def counted(self: TableFiles, path: str, what: str, *rest: Any) -> Any:
        read.append(what)
        return reading(self, path, what, *rest)

    monkeypatch.setattr(TableFiles, "read", counted)
    assert table.snapshot().scan().plan().report.delete_files == 4
    assert set(read) <= {"manifest list"}
