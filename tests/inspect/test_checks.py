"""``detail``, ``clustering``, ``health`` and ``diagnose``: figures against brute force, advice only with evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tableformats as tf
from tableformats.inspect.clustering import overlap_depths
from tableformats.inspect.detail import detail_rows
from tableformats.inspect.health import CHECKS, SMALL_BYTES, TARGET_BYTES, compacted_count
from tableformats.inspect.pictures.report import _clustering_row
from tests.support.delta_log import WITH_VECTORS, DeltaLog, add, field, stats, vector
from tests.support.golden import TABLES

VALUES = {
    pa.int64(): st.integers(-5, 5),
    pa.string(): st.text("ab\u00e9", max_size=2),
    pa.float64(): st.sampled_from([-1.5, 0.0, 2.25, float("inf")]),
    pa.bool_(): st.booleans(),
}


@given(st.data())
def test_depths_against_brute_force(data: Any) -> None:
    kind = data.draw(st.sampled_from(list(VALUES)))
    pairs = data.draw(st.lists(st.tuples(VALUES[kind], VALUES[kind]), max_size=30))
    # Texts are compared by UTF-8 bytes, which is the order of code points.
    pairs = [(min(pair), max(pair)) for pair in pairs]
    # The most intervals that share a value share the lower bound of one of them.
    wanted = [
        max(sum(a <= v <= b for a, b in pairs) for v, _ in pairs if low <= v <= high) if pairs else 0
        for low, high in pairs
    ]
    lower, upper = (pa.array([pair[i] for pair in pairs], kind) for i in (0, 1))
    assert overlap_depths(lower, upper).tolist() == wanted


def table_of(root: Path, *files: dict[str, Any], partition: tuple[str, ...] = ("p",)) -> tf.Table:
    log = DeltaLog(root / "t").start(
        field("p", "integer"), field("i", "integer"), field("x", "double"), partition=partition
    )
    actions = []
    for number, file in enumerate(files):
        own: dict[str, Any] = {"size": file.get("size", 10**9)}
        if "i" in file:
            least, greatest = ({} if bound is None else {"i": bound} for bound in file["i"])
            own["stats"] = stats(9, minValues=least, maxValues=greatest, nullCount={"i": 0})
        actions.append(add(f"f{number}", partitionValues={"p": str(file.get("p", 1))}, **own))
    if actions:
        log.commit(1, *actions)
    return tf.open_table(log.root)


def test_clustering_counts_every_file_once(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"i": (1, 5)}, {"i": (4, 9)}, {"i": (20, 30)}, {}, {"p": 2})
    (found,) = table.clustering("i")
    assert (found.files, found.files_without_bounds, found.files_without_values) == (5, 2, 0)
    assert (found.max_depth, found.average_depth) == (2, pytest.approx(5 / 3))
    assert found.histogram.to_pylist() == [
        {"depth_from": 1, "depth_to": 1, "files": 1},
        {"depth_from": 2, "depth_to": 2, "files": 2},
    ]
    (by_partition,) = table.clustering(["p"])
    assert by_partition.depths.tolist() == [1, 4, 4, 4, 4]
    assert [c.column for c in table.clustering()] == ["p", "i", "x"]
    assert "up to" not in table.clustering("x")[0]._repr_html_()
    (deep,) = table_of(
        tmp_path / "deep", *({"i": (n, n + depth - 1)} for depth in (1, 4) for n in range(4))
    ).clustering("i")
    assert deep.depths.max() > 3 and "3 to 4" in deep._repr_html_() and "1 to 1" not in deep._repr_html_()


def test_files_of_which_one_bound_is_known_have_none(tmp_path: Path) -> None:
    (found,) = table_of(tmp_path, {"i": (1, 5)}, {"i": (2, None)}, {"i": (None, 9)}).clustering("i")
    assert (found.files, found.files_without_bounds, found.files_without_values) == (3, 2, 0)
    assert found.depths.tolist() == [1]


@pytest.mark.parametrize(
    ("files", "length", "text", "stands_out"),
    [
        ([{"i": (n, n)} for n in range(5)], 1, "1.0 of 5 files, 1 at most", True),
        ([{"i": (1, 9)}] * 2, 2, "2.0 of 2 files, 2 at most", True),
        ([{"i": (1, 9)}] * 3, 3, "3.0 of 3 files, 3 at most", False),
        ([{"i": (n // 3, n // 3)} for n in range(30)], 3, "3.0 of 30 files, 3 at most", True),
        ([{"i": (1, 9)}, {}], 2, "1.0 of 1 file, 1 at most; 1 without bounds", True),
        ([{"i": (1, 9)}, {}, {}], 3, "1.0 of 1 file, 1 at most; 2 without bounds", False),
        ([{}, {}], 2, "no file has bounds, so 2 files are read", False),
    ],
)
def test_a_bar_stands_out_where_a_value_is_in_few_files(
    files: list[dict[str, Any]], length: int, text: str, stands_out: bool, tmp_path: Path
) -> None:
    (found,) = table_of(tmp_path, *files).clustering("i")
    assert _clustering_row(found) == ("i", length, text, stands_out)


def test_clustering_of_an_unknown_column_names_near_ones(tmp_path: Path) -> None:
    with pytest.raises(tf.InvalidPredicateError, match="no column 'ii'") as error:
        table_of(tmp_path, {}).clustering("ii")
    assert "i" in str(error.value.hint)


@pytest.mark.parametrize("name", sorted(path.name for path in TABLES.iterdir() if (path / "table").is_dir()))
def test_checks_of_golden_tables_add_up(name: str) -> None:
    table = tf.open_table(TABLES / name / "table", relocate=True)
    plan, detail = table.plan(), table.detail()
    assert (detail.files, detail.size_bytes) == (len(plan), plan.report.bytes_planned)
    assert detail.features and detail.partitions <= max(detail.files, 1)
    for one in table.clustering():
        histogram = one.histogram["files"].to_pylist()
        assert one.files == one.files_without_bounds + one.files_without_values + sum(histogram) == len(plan)
        assert one.max_depth <= len(one.depths)
    assert table.health().failed == [f.check for f in table.health() if f.check and f.advice]
    assert len(repr(detail)) < 200


def test_a_table_without_files_has_a_detail_and_no_advice(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    detail = table.detail()
    assert (detail.files, detail.rows, detail.deleted_rows, detail.partitions) == (0, 0, 0, 0)
    assert table.clustering("i")[0].average_depth == 0
    assert next((one.subject, one.figure) for one in table.health()) == ("files", "0, 0 B")
    assert table.scan("i = 1").diagnose() == []
    assert table.health().failed == []


def test_thresholds_decide_what_fails(tmp_path: Path) -> None:
    table = table_of(tmp_path, *[{"size": 1000, "i": (1, 2)}] * 4)
    assert table.health().failed == ["small-files"]
    assert table.health({"small-files": 0.75}).failed == []
    assert table.health({"small-files": 0.74}).failed == ["small-files"]
    assert {f.check for f in table.health() if f.check} <= CHECKS.keys()
    with pytest.raises(ValueError, match="no check 'smal-files'; the checks are small-files"):
        table.health({"smal-files": 1})


def kinds(scan: tf.scan.Scan) -> dict[str, int]:
    return {advice.kind: advice.files for advice in scan.diagnose()}


def test_each_kind_of_advice_has_its_evidence(tmp_path: Path) -> None:
    files = [{"i": (1, 100), "p": 1 + n % 2} for n in range(8)] + [{}, {}]
    table = table_of(tmp_path, *files)
    assert kinds(table.scan("i = 5")) == {"no statistics": 2, "overlap": 8, "partitioning": 10}
    assert kinds(table.scan("i = 5 AND p = 1")) == {"no statistics": 2, "overlap": 4}
    assert kinds(table.scan("p = 1")) == {}
    evidence = {a.kind: a.evidence for a in table.scan("i = 5").diagnose()}
    assert evidence["no statistics"] == "2 of 10 files (20.0 %) have no statistics for i"
    assert evidence["overlap"].startswith("a value of i may be in up to 8 of 8 files (100.0 %), 8.0 on average")
    assert evidence["partitioning"] == "10 planned files are in 2 partitions of p"


@pytest.mark.parametrize(
    ("ranges", "advised"),
    [
        ([(1, 9)] * 2, {}),
        ([(1, 9)] * 3, {"overlap": 3}),
        ([(1, 9)] * 2 + [(9, 12), (9, 20)], {"overlap": 4}),
        ([(1, 9)] * 3 + [(10 * n, 10 * n + 5) for n in range(1, 12)], {}),
    ],
)
def test_overlaps_are_advice_where_a_value_is_in_many_files(
    ranges: list[tuple[int, int]], advised: dict[str, int], tmp_path: Path
) -> None:
    """In more than two files, and in a tenth of them."""
    value = ranges[0][1]
    assert kinds(table_of(tmp_path, *({"i": pair} for pair in ranges)).scan(f"i = {value}")) == advised


@pytest.mark.parametrize(("within", "advised"), [(3, {}), (4, {"overlap": 4}), (5, {"overlap": 5})])
def test_overlaps_are_advice_where_a_tenth_of_the_files_is_kept(
    within: int, advised: dict[str, int], tmp_path: Path
) -> None:
    files = [{"i": (1, 9)}] * (40 - within) + [{"i": (100, 110)}] * within
    assert kinds(table_of(tmp_path, *files).scan("i = 105")) == advised


def test_the_part_that_keeps_most_files_counts(tmp_path: Path) -> None:
    table = table_of(tmp_path, *[{"i": (1, 9)}] * 6, *[{"i": (100, 110)}] * 4)
    for condition in ("i > 5 AND i < 105", "i < 105 AND i > 5"):
        (advice,) = table.scan(condition).diagnose()
        assert (advice.kind, advice.files) == ("overlap", 6)
        assert advice.evidence == (
            "a value of i may be in up to 6 of 10 files (60.0 %), 5.2 on average, so its bounds kept 6"
        )


@pytest.mark.parametrize(
    ("condition", "advised"),
    [
        ("x > 1", {"no statistics": 4, "partitioning": 4}),
        ("x > 1 AND i = 5", {"no statistics": 4, "overlap": 4, "partitioning": 4}),
        ("regexp_replace(CAST(x AS STRING), 'a', 'b') = 'c'", {"expression": 4, "partitioning": 4}),
        ("regexp_replace(CAST(p AS STRING), 'a', 'b') = 'c'", {}),
        ("p = 1 AND i = 5", {"overlap": 2}),
        ("p IS NOT NULL", {}),
        ("i = 50", {}),
    ],
)
def test_advice_about_parts_of_a_filter(condition: str, advised: dict[str, int], tmp_path: Path) -> None:
    table = table_of(tmp_path, *({"i": (1, 9), "p": 1 + n % 2} for n in range(4)))
    assert kinds(table.scan(condition)) == advised


def test_partitioning_that_the_filter_almost_uses(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"p": 1, "i": (1, 2)}, {"p": 2, "i": (1, 2)})
    (advice,) = table.scan("p = 1 OR regexp_replace(CAST(x AS STRING), 'a', 'b') = 'c'").diagnose()
    assert (advice.kind, advice.files) == ("partitioning", 1)
    assert "though the table is partitioned by p" in advice.evidence


def test_small_files_are_advised_for_planned_files_alone(tmp_path: Path) -> None:
    table = table_of(tmp_path, *[{"p": 1, "size": 1000}] * 5, {"p": 2})
    assert kinds(table.scan("p = 1")) == {"small files": 5}
    assert kinds(table.scan("p = 2")) == {}


@pytest.mark.parametrize(("small", "great", "is_advised"), [(0, 3, 0), (1, 3, 0), (2, 18, 0), (3, 17, 0), (4, 16, 1)])
def test_small_files_are_advice_where_a_tenth_of_the_files_would_go(
    small: int, great: int, is_advised: bool, tmp_path: Path
) -> None:
    table = table_of(tmp_path, *[{"size": 1000}] * small, *[{"size": 10**9}] * great)
    assert kinds(table.scan("p = 1")) == ({"small files": small} if is_advised else {})


@pytest.mark.parametrize(("others", "is_advised"), [(0, True), (9, True), (10, False)])
def test_deletes_are_advice_where_a_tenth_of_the_files_has_some(others: int, is_advised: bool, tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("i", "integer"), protocol=WITH_VECTORS)
    files = [add(f"f{number}", size=10**9, stats=stats(9)) for number in range(others)]
    files.append(add("d", size=10**9, stats=stats(9), deletionVector=vector(cardinality=1)))
    table = tf.open_table(log.commit(1, *files).root)
    assert kinds(table.scan("true")) == ({"deletes": 1} if is_advised else {})


def test_figures_of_health(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(
        field("p", "integer"), field("i", "integer"), partition=("p",), protocol=WITH_VECTORS
    )
    sizes = [(1, 10**6)] * 4 + [(2, 20 * 10**6)] * 2 + [(3, 32 * 10**6), (3, 10**9), (3, 10**9), (3, 200 * 10**6)]
    actions = []
    for number, (p, size) in enumerate(sizes):
        own: dict[str, Any] = {} if number == 9 else {"stats": stats(100)}
        if number < 2:
            own["deletionVector"] = vector(cardinality=30 + number)
        actions.append(add(f"f{number}", partitionValues={"p": str(p)}, size=size, **own))
    table = tf.open_table(log.commit(1, *actions).root)
    found = {one.subject: one for one in table.health()}
    assert found["files"].figure == "10, 2.3 GB" and found["files"].advice is None
    assert found["median size of a file"].figure == "20.0 MB"
    small = found["files below 32.0 MB"]
    assert (small.figure, small.value, small.check) == ("6 (60.0 %)", pytest.approx(0.4), "small-files")
    assert small.advice == "compact: 6 files would do"
    deletes = found["files with deletes"]
    assert (deletes.figure, deletes.value, deletes.check) == ("2 (20.0 %)", 0.2, "files-with-deletes")
    deleted = found["rows deleted by position"]
    assert (deleted.figure, deleted.value, deleted.check) == ("61 (6.8 %)", 61 / 900, "deleted-rows")
    unknown = found["files that do not say their rows"]
    assert (unknown.figure, unknown.value, unknown.check) == ("1", 1, "uncounted-files")
    commits = found["commits behind the checkpoint"]
    assert (commits.figure, commits.value, commits.check) == ("2", 2, "commits")
    assert "manifests" not in found and found["metadata read"].figure.startswith("2 files, ")
    for check, value in (("small-files", 0.4), ("files-with-deletes", 0.2), ("deleted-rows", 61 / 900), ("commits", 2)):
        assert check not in table.health({check: value + 1e-9}).failed
        assert check in table.health({check: value - 1e-9}).failed


@pytest.mark.parametrize(
    ("sizes", "after"),
    [
        ([], 0),
        ([(1, 0)], 1),
        ([(1, 0), (1, 0)], 1),
        ([(1, 5), (2, 5)], 2),
        ([(1, SMALL_BYTES - 1), (1, SMALL_BYTES)], 2),
        ([(1, 31 * 10**6)] * (TARGET_BYTES // (31 * 10**6)), 1),
        ([(1, 31 * 10**6)] * (TARGET_BYTES // (31 * 10**6) + 1), 2),
    ],
)
def test_files_after_they_are_compacted(sizes: list[tuple[int, int]], after: int, tmp_path: Path) -> None:
    table = table_of(tmp_path, *({"p": p, "size": size} for p, size in sizes))
    assert compacted_count(table.plan().survivors) == after


def test_what_is_told_of_a_table(tmp_path: Path) -> None:
    table = table_of(tmp_path, {"p": 1, "size": 1_000, "i": (1, 2)}, {"p": 2, "size": 2_001})
    rows = dict(detail_rows(table.detail()))
    assert rows["Version"] == "1" and rows["Partitioned by"] == "p" and rows["Partitions"] == "2"
    assert (rows["Files"], rows["Bytes"], rows["Columns"]) == ("2", "3.0 kB, 1.5 kB a file", "3")
    assert (rows["Rows stored"], rows["  deleted"], rows["  with deletes"]) == ("unknown", "0", "0")
    plain = table_of(tmp_path / "plain", partition=())
    rows = dict(detail_rows(plain.detail()))
    assert "Partitions" not in rows and rows["Partitioned by"] == "nothing" and rows["Bytes"] == "0 B"
