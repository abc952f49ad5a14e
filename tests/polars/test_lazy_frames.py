"""Lazy frames of polars: the rows are those of the scan, whoever reads the files, and filters and columns prune."""

from __future__ import annotations

import datetime as dt
import io
import json
import math
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tableformats as tf
from tableformats.engines.polars import source
from tableformats.engines.polars.conditions import same_condition
from tableformats.errors import CorruptMetadataError
from tableformats.table.scan import Scan
from tests.support.conformance import delta_cases, has_data, iceberg_cases, needs_tables
from tests.support.examples import examples, one_of
from tests.support.golden import JVM_TABLES, TABLES, opened

pl = pytest.importorskip("polars")
UTC = dt.timezone.utc
IS_OLD = int(pl.__version__.split(".")[0]) < 2
DAMAGE: Any = pl.exceptions.ComputeError if IS_OLD else CorruptMetadataError
"""What damage is to callers: before 2.0 polars hands on no error but its own, with our text."""


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The names of the files that each reader is asked to read."""
    found: dict[str, list[str]] = {"polars": [], "arrow": []}
    scan, read = pl.scan_parquet, source.read_batches

    def scanned(paths: list[str], **options: Any) -> Any:
        found["polars"] += [Path(path).name for path in paths]
        return scan(paths, **options)

    def by_arrow(plan: Any, tasks: Any) -> Any:
        found["arrow"] += [Path(task.path).name for task in tasks]
        return read(plan, tasks)

    monkeypatch.setattr(pl, "scan_parquet", scanned)
    monkeypatch.setattr(source, "read_batches", by_arrow)
    return found


def check(scan: Scan) -> None:
    """The lazy frame has the schema and the rows of the eager one, in its order."""
    eager: Any = pl.from_arrow(scan.to_arrow())
    lazy = scan.to_polars(lazy=True)
    assert lazy.collect_schema() == eager.schema
    for engine in ("in-memory", "streaming"):
        found = lazy.collect(engine=engine)
        assert found.schema == eager.schema
        assert repr(found.rows()) == repr(eager.rows())


# ---- tables of real writers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [folder.name for folder in sorted(TABLES.iterdir())])
def test_golden_tables(name: str) -> None:
    versions = json.loads((TABLES / name / "expected.json").read_text())["versions"]
    table = tf.open_table(TABLES / name / "table", relocate=True)
    for version in list(versions)[-2:]:
        check(table.scan(version=int(version)))


@pytest.mark.parametrize("name", [folder.name for folder in sorted(JVM_TABLES.iterdir())])
def test_golden_tables_of_spark(name: str) -> None:
    check(opened(name).scan())


CONFORMANCE = [(c.name, c.path) for c in delta_cases()] + [(c.name, c.metadata) for c in iceberg_cases()]


@needs_tables
@pytest.mark.conformance
@pytest.mark.parametrize(("name", "path"), one_of(8, CONFORMANCE))
def test_conformance_tables(name: str, path: Path) -> None:
    try:
        scan = tf.open_table(path, relocate=True).scan()
        if not has_data(scan.plan()) or scan.count() > 20_000:
            pytest.skip("no data, or much")
        scan.to_arrow()
    except tf.errors.TableFormatsError:
        pytest.skip("not read")
    check(scan)


# ---- filters --------------------------------------------------------------------------------------------------------

NAN = math.nan
ROWS = pa.table(
    {
        "id": list(range(60)),
        "n": pa.array([None if i % 7 == 3 else i % 11 - 5 for i in range(60)], pa.int32()),
        "x": [[0.0, -0.0, 1.5, NAN, None, -math.inf][i % 6] for i in range(60)],
        "f": pa.array([[0.1, NAN, None, 2.5][i % 4] for i in range(60)], pa.float32()),
        "s": [["a", "b", None, "é", "ab", ""][i % 6] for i in range(60)],
        "b": [[True, False, None][i // 20] for i in range(60)],
        "d": [None if i == 7 else dt.date(2024, 1, 1) + dt.timedelta(i) for i in range(60)],
        "t": pa.array([dt.datetime(2024, 1, 1, i % 24, tzinfo=UTC) for i in range(60)], pa.timestamp("us", "UTC")),
        "m": pa.array([None if i % 9 == 0 else Decimal(i - 30) / 4 for i in range(60)], pa.decimal128(9, 2)),
        "w": pa.array([Decimal(i * 7 - 200) * 10**24 / 8 for i in range(60)], pa.decimal128(38, 3)),
        "y": [[b"", b"a", None, b"\xff"][i % 4] for i in range(60)],
        "st": [None if i % 8 == 0 else {"u": i, "v": str(i)} for i in range(60)],
        "l": [None if i % 5 == 0 else list(range(i % 3)) for i in range(60)],
    }
)
VALUES: dict[str, list[Any]] = {
    "id": [0, 17, 59, 60],
    "n": [-5, 0, 2],
    "x": [0.0, -0.0, 1.5, NAN, -math.inf],
    "f": [0.1, 2.5, NAN],
    "s": ["a", "ab", "", "zz"],
    "d": [dt.date(2024, 1, 20), dt.date(2023, 1, 1)],
    "t": [dt.datetime(2024, 1, 1, 5, tzinfo=UTC)],
    "m": [Decimal("1.25"), Decimal("-7.50"), Decimal("1.255"), Decimal("123456789.5")],
    "w": [Decimal("-1") * 10**24, Decimal("5.125") * 10**24, Decimal(0)],
    "y": [b"a", b""],
}


def leaves() -> st.SearchStrategy[Any]:
    def of(name: str) -> st.SearchStrategy[Any]:
        column, values = pl.col(name), st.sampled_from(VALUES[name])
        compare: list[Callable[[Any, Any], Any]] = [
            *(lambda c, v, op=op: getattr(c, f"__{op}__")(v) for op in ("eq", "ne", "lt", "le", "gt", "ge")),
            lambda c, v: c.eq_missing(v),
            lambda c, v: c.is_in([v, None]),
        ]
        return st.one_of(
            st.builds(lambda op, v: op(column, v), st.sampled_from(compare), values),
            st.lists(values, max_size=3).map(
                lambda vs: column.is_in(pl.Series(vs, dtype=SCHEMA[name], strict=False).implode())
            ),
            st.builds(
                lambda low, high, closed: column.is_between(pl.lit(low), pl.lit(high), closed=closed),
                *(values, values, st.sampled_from(["both", "left", "right", "none"])),
            ),
            st.sampled_from([column.is_null(), column.is_not_null()]),
        )

    others = [
        pl.col("b"),
        ~pl.col("b"),
        pl.col("x").is_nan(),
        pl.col("s").str.starts_with("a"),
        pl.col("s").str.len_chars() > 1,
        pl.col("id") % 3 == 0,
        pl.col("st").struct.field("u") > 20,
        pl.col("l").list.len() == 2,
        pl.col("n") < pl.col("id"),
        pl.lit(True),
        pl.lit(None, pl.Boolean),
        pl.col("n") > 2,
    ]
    return st.one_of(st.sampled_from(sorted(VALUES)).flatmap(of), st.sampled_from(others))


def predicates() -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves(),
        lambda below: st.one_of(
            below.map(lambda e: ~e),
            st.builds(lambda a, b: a & b, below, below),
            st.builds(lambda a, b: a | b, below, below),
        ),
        max_leaves=5,
    )


OURS = [
    *("id > 17", "b", "NOT b", "x > 0", "m < 2 OR s = 'a'", "NOT (n > 1)", "id + n > 3", "n IN (1, NULL, 3)"),
    *("x IN (0.0, double('NaN'))", "isnan(x)", "x = -0.0", "x <= double('NaN')", "x >= double('NaN')", "f > 0.1"),
    *("f = float('NaN')", "f <= 2.5", "f IN (2.5)", "n <=> 2", "n IS NULL", "st IS NOT NULL", "st.u > 3", "n < id"),
    *("s LIKE 'a%'", "s LIKE '%b'", "s >= 'b'", "s IN ('a', '', 'é')", "y = X'61'", "y > X'61'", "(n > 1) IS TRUE"),
    *("d = DATE '2024-01-20'", "d < '2024-02-01' OR d IS NULL", "t >= '2024-01-01T05:00:00Z'", "m IN (1.25, -7.5)"),
    *("m = 1", "t IN (TIMESTAMP '2024-01-01 05:00:00Z')", "d IN (DATE '2024-01-20', DATE '2024-02-02')", "m >= 0.001"),
]
SCHEMA = pl.from_arrow(ROWS.slice(0, 0)).schema


@pytest.fixture(scope="module", params=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    """Six files in partitions of ``b``; of one some rows are deleted."""
    path = tmp_path_factory.mktemp(request.param) / "t"
    found = tf.create_table(path, ROWS.schema, format=request.param, partition_by=["b"])
    for i in range(0, 60, 10):
        found.append(ROWS.slice(i, 10))
    found.delete("id IN (31, 33)")
    return tf.open_table(path)


@settings(max_examples=examples(200), deadline=None)
@given(predicates(), st.lists(st.sampled_from(ROWS.column_names), unique=True, min_size=1), st.booleans())
def test_filters(table: tf.Table, predicate: Any, names: list[str], streaming: bool) -> None:
    eager: Any = pl.from_arrow(table.scan().to_arrow())
    lazy = table.to_polars(lazy=True).filter(predicate).select(names)
    found = lazy.collect(engine="streaming" if streaming else "in-memory")
    assert repr(found.rows()) == repr(eager.filter(predicate).select(names).rows())


@settings(max_examples=examples(40), deadline=None)
@given(predicates(), st.sampled_from(OURS), st.lists(st.sampled_from(ROWS.column_names), unique=True, min_size=1))
def test_filters_of_both(table: tf.Table, predicate: Any, filter: str, names: list[str]) -> None:
    eager: Any = pl.from_arrow(table.scan(filter).to_arrow())
    lazy = table.scan(filter).to_polars(lazy=True).filter(predicate).select(names)
    assert repr(lazy.collect().rows()) == repr(eager.filter(predicate).select(names).rows())


@pytest.mark.parametrize("filter", OURS)
def test_filters_of_the_scan(table: tf.Table, filter: str, readers: dict[str, list[str]]) -> None:
    """Most of them polars applies to the files that it reads."""
    check(table.scan(filter))
    check(table.scan(filter, columns=["y", "id"]))
    is_left_to_arrow = any(part in filter for part in ("+", "LIKE '%", "st.u", "n < id"))
    assert bool(readers["polars"]) is not is_left_to_arrow


@pytest.mark.parametrize("filter", OURS)
def test_conditions_that_polars_has(table: tf.Table, filter: str) -> None:
    for text in (filter, f"NOT ({filter})"):
        condition = same_condition(table.snapshot().bind(text))
        if condition is not None:
            eager: Any = pl.from_arrow(ROWS)
            found = eager.filter(condition)["id"].to_list()
            every: Any = pl.from_arrow(table.scan(text).to_arrow())
            assert [i for i in found if i not in (31, 33)] == sorted(every["id"])


def test_filters_and_columns_prune(table: tf.Table, readers: dict[str, list[str]]) -> None:
    frame = table.to_polars(lazy=True)
    assert isinstance(frame, pl.LazyFrame) and not any(readers.values())
    assert frame.filter(pl.col("id") >= 58).select("id").collect()["id"].to_list() == [58, 59]
    assert {kind: len(names) for kind, names in readers.items()} == {"polars": 1, "arrow": 0}
    assert frame.filter(pl.col("b") & (pl.col("id") % 2 == 0)).collect().height == 10
    assert {kind: len(names) for kind, names in readers.items()} == {"polars": 3, "arrow": 0}


def test_rows_of_the_scan(table: tf.Table) -> None:
    check(table.scan())
    check(table.scan(columns=["s", "b", "id"]))
    check(table.scan("id > 12 AND b"))
    check(table.scan("id < 0"))
    check(table.scan(limit=13))
    assert table.scan("id < 0").to_polars(lazy=True).filter(pl.col("id") > 0).collect().shape == (0, 13)


def test_limits_come_first(table: tf.Table) -> None:
    eager: Any = pl.from_arrow(table.to_arrow())
    limited = table.scan(limit=35).to_polars(lazy=True)
    is_odd = pl.col("id") % 2 == 1
    for lazy, wanted in [
        (limited.filter(is_odd), eager.head(35).filter(is_odd)),
        (limited.filter(pl.col("id") < 30), eager.head(35).filter(pl.col("id") < 30)),
        (limited.filter(pl.col("id") > 40), eager.head(35).filter(pl.col("id") > 40)),
        (limited.filter(is_odd).head(4), eager.head(35).filter(is_odd).head(4)),
        (limited.head(40), eager.head(35)),
        (limited.head(5).filter(is_odd), eager.head(5).filter(is_odd)),
        (limited.tail(3), eager.head(35).tail(3)),
        (table.to_polars(lazy=True).head(37).filter(is_odd), eager.head(37).filter(is_odd)),
        (table.to_polars(lazy=True).slice(12, 30), eager.slice(12, 30)),
        (table.to_polars(lazy=True).head(0), eager.head(0)),
    ]:
        for engine in ("in-memory", "streaming"):
            assert repr(lazy.collect(engine=engine).rows()) == repr(wanted.rows())


def test_queries(table: tf.Table) -> None:
    eager: Any = pl.from_arrow(table.to_arrow())
    lazy = table.to_polars(lazy=True)
    queries: list[Callable[[Any], Any]] = [
        lambda f: f.join(f.filter(pl.col("n") > 0).select("id", k="s"), on="id", maintain_order="left"),
        lambda f: f.group_by("b").agg(pl.col("id").sum(), pl.len()).sort("b"),
        lambda f: f.select(pl.len()),
        lambda f: f.filter(pl.col("n") > 0).select(pl.len()),
        lambda f: pl.concat([f.select("id"), f.select("id").filter(pl.col("id") > 50)]),
        lambda f: f.select((pl.col("id") * 2).alias("s")).filter(pl.col("s") > 50),
        lambda f: f.rename({"id": "s", "s": "id"}).filter(pl.col("id") == "a").select("s"),
        lambda f: f.sort("x", "id").head(5).select("id", "x"),
    ]
    for query in queries:
        for engine in ("in-memory", "streaming"):
            assert repr(query(lazy).collect(engine=engine).rows()) == repr(query(eager.lazy()).collect().rows())


def test_several_threads(table: tf.Table) -> None:
    frame, found = table.to_polars(lazy=True).select(pl.col("id").sum()), []
    threads = [threading.Thread(target=lambda: found.append(frame.collect().item())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {sum(range(60)) - 64} and len(found) == 8


def test_a_frame_reads_the_version_of_its_scan(tmp_path: Path) -> None:
    table = tf.write_table(pa.table({"id": [1]}), tmp_path / "t", format="delta") and tf.open_table(tmp_path / "t")
    frame = table.to_polars(lazy=True)
    table.append(pa.table({"id": [2]}))
    assert frame.collect()["id"].to_list() == [1]
    assert sorted(table.to_polars(lazy=True).collect()["id"]) == [1, 2]


def test_frames_travel(table: tf.Table) -> None:
    pytest.importorskip("cloudpickle")
    frame = table.scan("id < 30").to_polars(lazy=True).filter(pl.col("id") > 27)
    assert pl.LazyFrame.deserialize(io.BytesIO(frame.serialize())).collect()["id"].to_list() == [28, 29]


# ---- damage ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[tf.Table, list[Path]]:
    """A table of three files of 1,000 rows."""
    path = tmp_path / "t"
    table = tf.create_table(path, pa.schema([("id", pa.int64()), ("s", pa.string())]), format="delta")
    for i in range(3):
        ids = range(i * 1000, i * 1000 + 1000)
        table.append(pa.table({"id": ids, "s": [f"text {n * n}" for n in ids]}))
    return table, [Path(name) for name in table.plan().file_uris()]


def vanished(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def spoiled(path: Path) -> None:
    """Its pages are damaged, and its footer is as it was."""
    data = bytearray(path.read_bytes())
    data[10:1200] = bytes([255]) * 1190
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [vanished, cut, emptied, spoiled])
def test_damaged_files(files: tuple[tf.Table, list[Path]], damage: Callable[[Path], None]) -> None:
    table, paths = files
    damage(paths[1])
    for frame in (table.to_polars(lazy=True), table.to_polars(lazy=True).filter(pl.col("s") > "")):
        for engine in ("in-memory", "streaming"):
            with pytest.raises(DAMAGE, match=paths[1].name):
                frame.collect(engine=engine)
    assert table.to_polars(lazy=True).filter(pl.col("id") >= 2000).collect().height == (1000 if len(paths) else 0)


def test_a_folder_in_the_place_of_a_file(files: tuple[tf.Table, list[Path]]) -> None:
    table, paths = files
    paths[1].unlink()
    paths[1].mkdir()
    with pytest.raises(DAMAGE, match=paths[1].name):
        table.to_polars(lazy=True).collect()


def test_what_polars_refuses_is_read_by_arrow(
    files: tuple[tf.Table, list[Path]], readers: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, _ = files
    scan = pl.LazyFrame.collect_batches

    def failing(frame: Any, **options: Any) -> Any:
        yield next(iter(scan(frame, **options)))
        raise pl.exceptions.ComputeError("no more")

    monkeypatch.setattr(pl.LazyFrame, "collect_batches", failing)
    check(table.scan())
    check(table.scan("id % 3 = 0"))
    found = table.to_polars(lazy=True).filter(pl.col("id") % 2 == 1).collect()
    assert found["id"].sort().to_list() == list(range(1, 3000, 2))
    assert readers["polars"] and readers["arrow"]


@pytest.mark.parametrize(("chunk_bytes", "rows"), [(1, 50), (1_500, None), (1 << 40, 300), (1 << 41, 200)])
def test_frames_have_about_as_many_rows_as_fit_into_so_many_bytes(
    chunk_bytes: int, rows: int | None, files: tuple[tf.Table, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the first file: its rows, and its size in the metadata; and by the two columns."""
    table, _ = files
    asked: list[int] = []
    scan = pl.LazyFrame.collect_batches

    def collect_batches(frame: Any, *, chunk_size: int, **options: Any) -> Any:
        asked.append(chunk_size)
        return scan(frame, chunk_size=chunk_size, **options)

    monkeypatch.setattr(pl.LazyFrame, "collect_batches", collect_batches)
    monkeypatch.setattr(source, "_CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(source, "_FEWEST_ROWS", 50)
    monkeypatch.setattr(source, "_MOST_ROWS", 300)
    if rows == 200:
        monkeypatch.setattr(source, "_MOST_VALUES", 401)
    check(table.scan())
    first = Path(table.scan().plan().paths[0].as_py())
    expected = chunk_bytes * pq.read_metadata(first).num_rows // first.stat().st_size if rows is None else rows
    assert asked[0] == expected and 50 <= expected <= 300


def test_polars_ends_with_its_query(files: tuple[tf.Table, list[Path]]) -> None:
    table, _ = files
    batches = iter(table.to_polars(lazy=True).collect_batches())
    assert next(batches).height
    del batches
    assert table.to_polars(lazy=True).head(1).collect().height == 1


def test_a_file_with_other_types_than_polars_was_told(tmp_path: Path) -> None:
    """Of files with one schema only the first is looked at; what Arrow adds to a footer may make other types of it."""
    table = tf.create_table(tmp_path / "t", pa.schema([("t", pa.timestamp("us", "UTC"))]), format="delta")
    for zone in ("UTC", "Europe/Oslo"):
        table.append(pa.table({"t": pa.array([0, 1], pa.timestamp("us", "UTC"))}))
        name = max(table.plan().file_uris(), key=lambda path: Path(path).stat().st_mtime_ns)
        pq.write_table(pa.table({"t": pa.array([0, 1], pa.timestamp("us", zone))}), name)
    check(table.scan())
