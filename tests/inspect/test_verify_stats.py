"""``verify_stats``: it finds what would drop a matching row, by footers and by rows, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tableformats as tf
from tableformats.cli import main
from tableformats.engines.arrow.row_checks import FileFacts, differences
from tableformats.engines.arrow.row_checks import _take as take_facts
from tableformats.expressions import BoundColumn
from tableformats.inspect.statistics_check import WrongStatistics
from tableformats.pruning.column_ranges import Range
from tableformats.schema import arrow_type, primitive
from tests.support.delta_changes import inline_vector
from tests.support.delta_log import WITH_VECTORS, DeltaLog, add, field, stats
from tests.support.examples import examples
from tests.support.golden import TABLES

NAN = float("nan")
FIELDS = {"i": ("long", pa.int64()), "s": ("string", pa.string()), "f": ("double", pa.float64())}
SOUND = sorted(
    path / "table"
    for base in (TABLES, TABLES.with_name("tables_jvm"))
    for path in base.iterdir()
    if (path / "table").is_dir()
)


class Built:
    """A Delta table of files with rows, and with statistics that a test chooses."""

    def __init__(self, root: Path, protocol: dict[str, Any] | None = None) -> None:
        self.log = DeltaLog(root).start(*(field(n, kind) for n, (kind, _) in FIELDS.items()), protocol=protocol)
        self._version = 1

    def file(
        self,
        rows: dict[str, Sequence[Any]],
        lower: dict[str, Any],
        upper: dict[str, Any],
        nulls: dict[str, int] | None = None,
        count: int | None = None,
        row_group: int = 2,
        **more: Any,
    ) -> str:
        name = f"f{self._version}.parquet"
        path = self.log.root / name
        # Lists would turn NaN into NULL.
        table = pa.table({n: pa.array(values, FIELDS[n][1], from_pandas=False) for n, values in rows.items()})
        pq.write_table(table, path, row_group_size=row_group)
        counted = table.num_rows if count is None else count
        told = stats(counted, minValues=lower, maxValues=upper, nullCount=nulls or {})
        self.log.commit(self._version, add(name, size=path.stat().st_size, stats=told, **more))
        self._version += 1
        return name

    @property
    def table(self) -> tf.Table:
        return tf.open_table(self.log.root)


def rules(found: Sequence[WrongStatistics]) -> list[tuple[str, str | None, str]]:
    return [(one.rule, one.column, one.read) for one in found]


def assert_filters_lose_rows(table: tf.Table, found: Sequence[WrongStatistics]) -> None:
    """Each filter drops its file, although a row of it matches."""
    for one in found:
        if one.filter is not None:
            assert one.path not in table.plan(one.filter).file_uris(), one
            assert tf.open_table(table.location).scan().to_arrow().num_rows


@pytest.mark.parametrize("root", SOUND, ids=lambda root: root.parent.name)
def test_sound_tables_have_none(root: Path) -> None:
    table = tf.open_table(root, relocate=True)
    for deep in (False, True):
        found = table.verify_stats(deep)
        assert not found, found.as_dicts()
        assert found.files == found.by_footer + found.by_rows == len(table.plan())
        assert (found.by_rows, bool(found.not_compared)) == (found.files, False) if deep else found.by_rows == 0


@pytest.mark.parametrize(
    ("told", "rule", "column", "footer"),
    [
        ({"lower": {"i": 2}, "upper": {"i": 9}}, "bounds", "i", "footer"),
        ({"lower": {"i": 1}, "upper": {"i": 8}}, "bounds", "i", "footer"),
        ({"lower": {"f": 1.5}, "upper": {"f": 9.0}}, "bounds", "f", "footer"),
        ({"lower": {"s": "b"}, "upper": {"s": "zz"}}, "bounds", "s", "rows"),
        ({"lower": {}, "upper": {}, "nulls": {"i": 0}}, "null-count", "i", "footer"),
        ({"lower": {}, "upper": {}, "nulls": {"i": 4}}, "null-count", "i", "footer"),
        ({"lower": {}, "upper": {}, "count": 5}, "record-count", None, "footer"),
    ],
)
def test_planted_faults(tmp_path: Path, told: dict[str, Any], rule: str, column: str | None, footer: str) -> None:
    built = Built(tmp_path / "t")
    sound: dict[str, Any] = {"lower": {"i": 1, "s": "a"}, "upper": {"i": 9, "s": "z"}, "nulls": {"i": 1}}
    rows: dict[str, Sequence[Any]] = {"i": [1, None, 5, 9], "s": ["a", "b", "z", None], "f": [0.5, 1.0, 9.0, 2.0]}
    built.file(rows, **sound)
    wrong = built.file(rows, **told)
    table = built.table
    for deep in (False, True):
        found = table.verify_stats(deep)
        assert rules(found) == [(rule, column, "rows" if deep else footer)]
        assert [Path(path).name for path in found.wrong_files] == [wrong]
        assert_filters_lose_rows(table, found)
    assert not table.verify_stats(columns="f" if column != "f" else "i") or column is None


@pytest.mark.parametrize("deep", [False, True])
def test_files_of_a_store(tmp_path: Path, deep: bool) -> None:
    """One that is missing is told as well."""
    fsspec = pytest.importorskip("fsspec")
    built = Built(tmp_path / "t")
    rows: dict[str, Sequence[Any]] = {"i": [1, 9], "s": ["a", "b"], "f": [0.5, 1.0]}
    built.file(rows, {"i": 1}, {"i": 9})
    wrong = built.file(rows, {"i": 1}, {"i": 8})
    missing = built.file(rows, {"i": 1}, {"i": 9})
    (tmp_path / "t" / missing).unlink()
    fsspec.filesystem("memory").put(str(tmp_path / "t"), "/stats/t", recursive=True)
    found = tf.open_table("memory://stats/t").verify_stats(deep)
    assert sorted((Path(one.path).name, one.rule, one.column) for one in found) == [
        (wrong, "bounds", "i"),
        (missing, "unreadable-file", None),
    ]
    assert (found.files, found.by_rows if deep else found.by_footer) == (3, 2)
    fsspec.filesystem("memory").rm("/stats", recursive=True)


def test_rows_decide_where_a_footer_may_be_cut_or_rows_are_deleted(tmp_path: Path) -> None:
    rows: dict[str, Sequence[Any]] = {"i": [0, 5, 9], "s": ["a", "b", "c"], "f": [1.0, 2.0, 3.0]}
    for position, left in ((0, [5, 9]), (2, [0, 5])):
        deleted = inline_vector(position)
        narrow = Built(tmp_path / f"n{position}", WITH_VECTORS)
        narrow.file(rows, {"i": min(left)}, {"i": max(left)}, deletionVector=deleted)
        assert narrow.table.scan().to_arrow()["i"].to_pylist() == left
        assert narrow.table.verify_stats() == [] == narrow.table.verify_stats(deep=True)
        assert narrow.table.verify_stats().by_rows == 1
        wrong = Built(tmp_path / f"w{position}", WITH_VECTORS)
        wrong.file(rows, {"i": max(left)}, {"i": 9}, deletionVector=deleted)
        for deep in (False, True):
            assert rules(wrong.table.verify_stats(deep)) == [("bounds", "i", "rows")]


def test_nan_is_found_by_rows_alone(tmp_path: Path) -> None:
    """Iceberg counts NaNs, and a count of zero drops a file for isnan."""
    import pyarrow.compute as pc

    from tableformats.engines.arrow.row_checks import FileFacts, _outside
    from tableformats.expressions import BoundColumn
    from tableformats.pruning.column_ranges import Range
    from tableformats.schema import Field, primitive

    one = np.ones(1, np.uint8)
    bound = pa.array([1.0])
    range_ = Range(bound, bound, one, one, np.zeros(1, np.uint8))
    column = BoundColumn((Field(1, "f", primitive("double")),))
    facts = FileFacts(2, nulls={1: 0}, nans={1: 1}, least={1: pa.scalar(1.0)}, greatest={1: pa.scalar(1.0)})
    assert [(d.rule, d.filter) for d in _outside(column, facts, range_)] == [("nan-count", "isnan(f)")]
    nothing_else = pa.array([float("nan")])
    range_ = Range(nothing_else, nothing_else, one, one, one)
    assert pc.is_nan(range_.lower[0]).as_py()
    assert [(d.rule, d.filter) for d in _outside(column, facts, range_)] == [("null-count", "f = 1.0")]


def test_partition_values_of_a_transform_are_compared(tmp_path: Path) -> None:
    """A file under the wrong partition is dropped by filters on the source column."""
    root = tmp_path / "t"
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32())])
    table = tf.create_table(root, schema, format="iceberg", partition_by=["month(day)"])
    import datetime as dt

    days = [dt.date(2024, 1, 5), dt.date(2024, 2, 7)]
    table.append(pa.table({"id": [1, 2], "day": pa.array(days, pa.date32())}, schema=schema))
    assert tf.open_table(root).verify_stats() == []
    first, second = tf.open_table(root).plan().file_uris()
    swapped = Path(first).read_bytes(), Path(second).read_bytes()
    Path(first).write_bytes(swapped[1])
    Path(second).write_bytes(swapped[0])
    found = tf.open_table(root).verify_stats()
    assert {one.column for one in found} == {"id", "day"} and len(found.wrong_files) == 2
    assert_filters_lose_rows(tf.open_table(root), found)


values = st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=1, max_size=6)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(values, st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 6))
def test_against_a_model(
    tmp_path_factory: pytest.TempPathFactory, rows: list[int | None], low: int, high: int, nulls: int
) -> None:
    """A file is named exactly if some filter on its column drops it although a row matches."""
    low, high = min(low, high), max(low, high)
    built = Built(tmp_path_factory.mktemp("t") / "t")
    texts = [None if v is None else "abcdefg"[v + 3] for v in rows]
    both = {"i": rows, "s": texts, "f": [float("nan")] * len(rows)}
    nulls = min(nulls, len(rows))
    bounds = [{"i": v, "s": "abcdefg"[v + 3]} for v in (low, high)]
    built.file(both, *bounds, nulls={"i": nulls, "s": nulls})
    table = built.table
    filters = [*(f"i = {v}" for v in range(-3, 4)), "i IS NULL"]
    filters += [*(f"s = '{c}'" for c in "abcdefg"), "s IS NULL"]
    held = {f"i = {v}" for v in rows if v is not None} | {f"s = '{c}'" for c in texts if c is not None}
    held |= {"i IS NULL", "s IS NULL"} if None in rows else set()
    lost = {f.split(" ")[0] for f in filters if f in held and not len(table.plan(f))}
    for deep in (False, True):
        assert {one.column for one in table.verify_stats(deep)} == lost


def test_an_interrupted_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = Built(tmp_path / "t")
    for n in range(6):
        built.file({"i": [n], "s": ["a"], "f": [1.0]}, {"i": n + n % 2}, {"i": n + 1})
    table, resume = built.table, tmp_path / "progress"
    whole = table.verify_stats()
    assert len(whole) == 3

    def stop(done: int, total: int) -> None:
        assert total == 6
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        table.verify_stats(resume=resume, progress=stop)
    with open(resume, "a") as file:
        file.write('{"path": "half')
    built.file({"i": [7], "s": ["a"], "f": [1.0]}, {"i": 9}, {"i": 9})  # a newer version: it is not looked at
    seen: list[int] = []
    found = tf.open_table(built.log.root).verify_stats(resume=resume, progress=lambda done, total: seen.append(done))
    assert seen == [5, 6] and found.version == whole.version
    assert (found, found.files, found.by_footer) == (whole, 6, 6)
    again = tf.open_table(built.log.root).verify_stats(
        resume=resume, progress=lambda *_: pytest.fail("nothing is left")
    )
    assert again == whole
    with pytest.raises(tf.TableFormatsError, match="progress of another deep") as error:
        table.verify_stats(True, resume=resume)
    assert error.value.field == "deep" and error.value.hint
    with pytest.raises(tf.TableFormatsError, match="progress of another columns"):
        table.verify_stats(columns="i", resume=resume)
    other = tmp_path / "other"
    other.write_text('{"a": 1}\n')
    with pytest.raises(tf.TableFormatsError, match="is no progress file"):
        table.verify_stats(resume=other)
    for unusable in (tmp_path, tmp_path / "none" / "progress"):
        with pytest.raises(tf.TableFormatsError, match="progress cannot be used") as error:
            table.verify_stats(resume=unusable)
        assert error.value.field == "resume" and error.value.path == str(unusable)


def test_missing_and_damaged_files_are_findings(tmp_path: Path) -> None:
    built = Built(tmp_path / "t")
    names = [built.file({"i": [1], "s": ["a"], "f": [1.0]}, {"i": 1}, {"i": 1}) for _ in range(3)]
    (built.log.root / names[0]).unlink()
    (built.log.root / names[1]).write_bytes(b"PAR1")
    for deep in (False, True):
        found = built.table.verify_stats(deep)
        assert rules(found) == [("unreadable-file", None, "nothing")] * 2
        assert (found.files, found.by_footer + found.by_rows, found.unreadable) == (3, 1, 2)
        assert found.to_arrow().num_rows == 2 and "2 unreadable" in repr(found)
        assert "a data file that the table names is missing" in [one.what for one in found]


def test_nothing_is_compared_where_all_files_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = Built(tmp_path / "t")
    names = [built.file({"i": [1], "s": ["a"], "f": [1.0]}, {"i": 1}, {"i": 1}) for _ in range(3)]
    for name in names:
        (built.log.root / name).unlink()
    monkeypatch.setattr("tableformats.inspect.verification.RangesByPath", lambda *_: pytest.fail("it is asked for"))
    seen: list[int] = []
    found = built.table.verify_stats(progress=lambda done, total: seen.append(done))
    assert sorted(Path(path).name for path in found.wrong_files) == names and seen == [1, 2, 3]
    assert found == built.table.verify_stats(deep=True)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = Built(tmp_path / "t")
    built.file({"i": [1], "s": ["a"], "f": [1.0]}, {"i": 1}, {"i": 1})
    at = str(built.log.root)
    assert main(["verify-stats", at]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Version 1, 1 file: 1 compared with their footers, 0 with rows",
        "0 files have wrong statistics or cannot be read",
    ]
    built.file({"i": [1], "s": ["\x1b[2J"], "f": [1.0]}, {"i": 2, "s": "a"}, {"i": 2, "s": "b"})
    for form in ("table", "tsv", "json", "jsonl"):
        assert main(["verify-stats", at, "--output", form]) == 3
        out = capsys.readouterr().out
        assert "i = 1" in out and "\x1b" not in out and "f2.parquet" in out
    answer = json.loads(out.splitlines()[0])
    assert answer["rule"] == "bounds" and answer["read"] in ("footer", "rows")
    progress = str(tmp_path / "progress")
    assert main(["verify-stats", at, "--columns", "f", "--resume", progress, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["files"], first["by_footer"], first["findings"]) == (2, 2, [])
    shutil.copy(progress, progress + "2")
    assert main(["verify-stats", at, "--columns", "f", "--resume", progress + "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == first
    assert main(["verify-stats", at, "--columns", "x"]) == 2


def facts_of(values: pa.Array, is_footer: bool = False) -> FileFacts:
    found = FileFacts(len(values), is_footer, {1: 0})
    take_facts(found, 1, values)
    return found


@pytest.mark.parametrize(
    ("values", "kind", "known", "rule"),
    [
        ([1, 9], "long", (1, 9, 1, 0, 0), None),
        ([1, 9], "long", (None, None, 1, 0, 0), None),
        ([0, 9], "long", (1, 9, 1, 0, 0), "lower bound 1"),
        ([1, 10], "long", (1, 9, 1, 0, 0), "upper bound 9"),
        ([0, 10], "long", (1, 9, 1, 0, 0), "lower bound 1; upper bound 9"),
        ([1, None, None], "long", (1, 1, 1, 0, 0), "NULL in 2 rows"),
        ([1, None], "long", (1, 1, 1, 1, 0), None),
        ([1], "long", (None, None, 0, 1, 0), "it is NULL in all rows"),
        ([None], "long", (None, None, 0, 1, 0), None),
        ([1.0, NAN, NAN, NAN], "double", (1.0, 1.0, 1, 0, 0), "NaN in 3 rows"),
        ([1.0, NAN], "double", (1.0, 1.0, 1, 0, 1), None),
        ([NAN], "double", (NAN, NAN, 1, 0, 0), None),
        ([1.0], "double", (NAN, NAN, 1, 0, 0), "it is NaN in all rows"),
        ([1.0, NAN], "double", (NAN, NAN, 1, 0, 0), "it is NaN in all rows"),
    ],
)
def test_what_metadata_say_otherwise(
    values: list[Any], kind: str, known: tuple[Any, Any, int, int, int], rule: str | None
) -> None:
    column = BoundColumn((tf.Field(1, "x", primitive(kind)),))
    array = pa.array(values, arrow_type(column.type), from_pandas=False)
    lower, upper = (pa.array([side], array.type, from_pandas=False) for side in known[:2])
    expected = Range(lower, upper, *(np.array([flag], np.uint8) for flag in known[2:]))
    task: Any = SimpleNamespace(deletes=pa.table({"kind": [], "cardinality": []}), record_count=len(values))
    found = list(differences(task, facts_of(array), {1: [expected]}, [column]))
    wanted = [] if rule is None else rule.split("; ")
    assert all(part in one.what and one.is_proven for one, part in zip(found, wanted, strict=True))


def test_what_is_not_known_of_rows_is_no_difference() -> None:
    column = BoundColumn((tf.Field(1, "x", primitive("long")),))
    task: Any = SimpleNamespace(deletes=pa.table({"kind": [], "cardinality": []}), record_count=None)
    one, none = np.ones(1, np.uint8), np.zeros(1, np.uint8)
    bound = pa.array([2])
    assert not list(differences(task, FileFacts(5), {1: [Range(bound, bound, one, none, none)]}, [column]))


@pytest.mark.parametrize(
    ("rows", "is_footer", "told", "deletes", "what"),
    [
        (5, False, 5, [], None),
        (5, False, 6, [], "5 live rows, and its metadata say 6"),
        (5, False, None, [], None),
        (3, False, 5, [("deletion_vector", 2)], None),
        (5, False, 5, [("deletion_vector", 2)], "5 live rows, and its metadata say 3"),
        (5, False, 5, [("deletion_vector", None)], None),
        (4, False, 5, [("position", 1)], None),
        (4, False, 5, [("position", 1), ("deletion_vector", 2)], None),
        (5, True, 5, [("deletion_vector", 2)], None),
        (3, True, 5, [("deletion_vector", 2)], "3 rows, and its metadata say 5"),
    ],
)
def test_counts_that_metadata_say_otherwise(
    rows: int, is_footer: bool, told: int | None, deletes: list[tuple[str, int | None]], what: str | None
) -> None:
    kinds, counts = [kind for kind, _ in deletes], [count for _, count in deletes]
    task: Any = SimpleNamespace(deletes=pa.table({"kind": kinds, "cardinality": counts}), record_count=told)
    found = list(differences(task, FileFacts(rows, is_footer), {}, []))
    assert [one.what for one in found] == ([] if what is None else [f"it has {what}"])


@pytest.mark.parametrize("kind", ["string", "long"])
def test_what_a_footer_proves(kind: str) -> None:
    """Not that a bound is wrong of a text that was cut, nor of a file with deleted rows."""
    column = BoundColumn((tf.Field(1, "x", primitive(kind)),))
    array = pa.array(["a", None] if kind == "string" else [1, None])
    bound = pa.array(["b" if kind == "string" else 2])
    one, none = np.ones(1, np.uint8), np.zeros(1, np.uint8)
    for is_footer, kinds in ((False, []), (True, []), (True, ["position"])):
        task: Any = SimpleNamespace(deletes=pa.table({"kind": kinds, "cardinality": [1] * len(kinds)}), record_count=2)
        found = differences(task, facts_of(array, is_footer), {1: [Range(bound, bound, one, none, none)]}, [column])
        is_sure = not (is_footer and kinds)
        assert [(one.rule, one.is_proven) for one in found] == [
            ("null-count", is_sure),
            ("bounds", is_sure and not (is_footer and kind == "string")),
        ]
