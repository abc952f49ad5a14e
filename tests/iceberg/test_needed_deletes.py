"""Which delete manifests are read for some data files: those whose partitions may be those of a file of their spec."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tableformats_iceberg.deletes.delete_pruning import PlannedPaths, _repeated_range, needed_manifests
from tableformats_iceberg.deletes.delete_table import SpecDeletes
from tableformats_iceberg.manifests.manifest_list import DATA, DELETES, Manifest, Summaries

from tableformats.plugin import PartitionField, PartitionSpec, ScanReport, parse_transform, primitive


def spec(number: int, transform: str = "identity") -> PartitionSpec:
    return PartitionSpec(number, (PartitionField(1000 + number, "p", 1, parse_transform(transform), primitive("int")),))


SPECS = {0: PartitionSpec(0, ()), 1: spec(1), 2: spec(2), 3: spec(3, "void"), 4: spec(4, "mystery")}


def manifest(path: str, spec_id: int, content: int = DELETES, live: int = 1) -> Manifest:
    return Manifest(path, 5, spec_id, content, 9, 0, 1, live, 0, 0, -1, -1, -1, None)


def listed(*manifests: tuple[Manifest, Any]) -> Any:
    """Manifests with the least and the greatest value of their partitions; None: no summary; "bad": an unsound one."""

    def summaries(group: np.ndarray, wanted: PartitionSpec) -> Summaries | None:
        ranges = [manifests[i][1] for i in group.tolist()]
        rows = [n for n, one in enumerate(ranges) if one is not None]
        if not rows:
            return None
        field = wanted.fields[0].id
        bounds = [(1, 1) if ranges[n] == "bad" else ranges[n] for n in rows]
        return Summaries(
            np.array(rows, np.int64),
            np.array([ranges[n] != "bad" for n in rows]),
            *({field: pa.array([one[side] for one in bounds], pa.int32())} for side in (0, 1)),
            *({field: pa.array([False] * len(rows))} for _ in range(2)),
        )

    return SimpleNamespace(manifests=[one for one, _ in manifests], summaries=summaries)


def needed(manifests: Any, *files: tuple[int, int | None]) -> tuple[list[str], int]:
    """The paths for data files of (spec, value of the partition), and the number of all delete manifests."""
    names = [str(1000 + number) for number in (1, 2, 3, 4)]
    rows = [{name: value if name == str(1000 + of) else None for name in names} for of, value in files]
    kind = pa.struct([(name, pa.int32()) for name in names])
    table = pa.table({"spec_id": pa.array([of for of, _ in files], pa.int32()), "partition": pa.array(rows, kind)})
    report = ScanReport(delete_manifests_total=100, delete_manifests_skipped=50)
    found = needed_manifests(manifests, table, SPECS, report)
    count = report.delete_manifests_total - 100
    assert report.delete_manifests_skipped == 50 + count - len(found)
    return [one.path for one in found], count


FIVE, TEN = manifest("five", 1), manifest("ten", 1)
RANGES = listed((FIVE, (1, 5)), (TEN, (6, 10)))


@pytest.mark.parametrize(
    ("files", "paths"),
    [
        ([], []),
        ([(1, 5)], ["five"]),
        ([(1, 6)], ["ten"]),
        ([(1, 0)], []),
        ([(1, 5), (1, 6)], ["five", "ten"]),
        ([(1, None)], []),
        # Files of other specs say nothing of the partitions of this one.
        ([(2, 5)], []),
        ([(0, None)], []),
        ([(2, 9), (1, 5)], ["five"]),
        ([(1, 5), (2, 9), (0, None), (2, 0)], ["five"]),
    ],
)
def test_ranges_of_partitions(files: list[tuple[int, int | None]], paths: list[str]) -> None:
    assert needed(RANGES, *files) == (paths, 2)


def test_manifests_of_which_nothing_is_known() -> None:
    """They are needed, if a file is of their spec."""
    given = listed((manifest("none", 1), None), (manifest("bad", 1), "bad"), (TEN, (6, 10)))
    assert needed(given, (1, 0)) == (["none", "bad"], 3) and needed(given, (2, 0)) == ([], 3)
    assert needed(listed((manifest("none", 1), None)), (1, 0)) == (["none"], 1)


def test_specs_without_partitions() -> None:
    """Their deletes apply to files of every spec; so may those of a spec that is not known."""
    given = listed(
        (manifest("all", 0), None),
        (manifest("void", 3), (1, 1)),
        (manifest("other", 9), None),
        (manifest("odd", 4), (1, 1)),
    )
    assert needed(given, (1, 0)) == (["all", "void", "other"], 4)
    assert needed(given, (4, 7)) == (["all", "void", "other", "odd"], 4), "the order of its values is not known"


def test_what_is_counted() -> None:
    given = listed(
        (manifest("data", 1, DATA), (1, 1)),
        (manifest("empty", 1, DELETES, 0), (1, 9)),
        (manifest("unknown", 1, DELETES, -1), (1, 9)),
        (TEN, (6, 10)),
    )
    assert needed(given, (1, 7)) == (["unknown", "ten"], 3) and needed(given, (1, 2)) == (["unknown"], 3)
    assert needed(given) == ([], 3)


NAN = float("nan")


@pytest.mark.parametrize(
    ("values", "kind", "found"),
    [
        ([3, 1, 2], pa.int32(), (1, 3, True, False, False)),
        ([3, None], pa.int32(), (3, 3, True, True, False)),
        ([None], pa.int32(), (None, None, False, True, False)),
        ([], pa.int32(), (None, None, False, False, False)),
        ([1.0, 2.0], pa.float64(), (1.0, 2.0, True, False, False)),
        ([1.0, NAN], pa.float64(), (1.0, 1.0, True, False, True)),
        ([1.0, None, NAN, None], pa.float64(), (1.0, 1.0, True, True, True)),
        ([None, 2.0], pa.float64(), (2.0, 2.0, True, True, False)),
        ([NAN], pa.float64(), (None, None, False, False, True)),
        ([None, NAN], pa.float64(), (None, None, False, True, True)),
    ],
)
def test_the_range_of_partitions(values: list[Any], kind: pa.DataType, found: tuple[Any, ...]) -> None:
    ranges = _repeated_range(pa.chunked_array([pa.array(values, kind)]), 2)
    assert [one.to_pylist() for one in ranges] == [[value, value] for value in found]


@pytest.mark.parametrize(
    ("paths", "named", "kept"),
    [
        (["/t/a", "/t/b"], ["/t/a", "/t/c", None, "/t/b"], [0, 2, 3]),
        (["s3://x/ab"], ["s3://x/aa", "s3://x/ab"], [1]),
        (["/t/a"], [None, None], [0, 1]),
        # Where a file may have several spellings, none is left out.
        (["/t/a"], ["s3://x/t/b"], [0]),
        (["/t/a", "s3://x/b"], ["/t/c"], [0]),
        (["/t/a"], ["/t/c", "file:/t/d"], [0, 1]),
        ([], ["/t/c"], [0]),
    ],
)
def test_deletes_of_files_that_are_not_planned(paths: list[str], named: list[str | None], kept: list[int]) -> None:
    table = pa.table({"referenced_data_file": pa.array(named, pa.string()), "number": list(range(len(named)))})
    planned = PlannedPaths(pa.chunked_array([pa.array(paths, pa.string())]))
    assert planned.only(SpecDeletes(0, table)).table["number"].to_pylist() == kept
