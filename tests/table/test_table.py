"""``open_table``, ``snapshot`` and ``scan`` given what is wrong: one typed error each, with the path and a hint."""

from __future__ import annotations

import datetime as dt
import pickle
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import tableformats as tf
from tableformats.table.opening import epoch_ms
from tests.support.golden import TABLES

DELTA = TABLES / "delta-evolved" / "table"
ICEBERG = TABLES / "iceberg-evolved" / "table"
TABLE_PATHS = pytest.mark.parametrize("location", [DELTA, ICEBERG], ids=["delta", "iceberg"])


def opened(location: Path) -> tf.Table:
    return tf.open_table(location, relocate=True)


def check(error: tf.TableFormatsError, path: Path | str | None) -> None:
    """The error says where and what to do."""
    if path is not None:
        assert error.path is not None and str(path) in error.path
        assert str(path) in str(error)
    assert error.hint
    assert str(error).endswith(error.hint)


@pytest.mark.parametrize("format", [None, "delta", "iceberg"])
def test_a_missing_path(tmp_path: Path, format: str | None) -> None:
    with pytest.raises(tf.TableNotFoundError) as caught:
        tf.open_table(tmp_path / "missing", format=format)
    check(caught.value, tmp_path / "missing")
    assert isinstance(caught.value, FileNotFoundError)


def test_a_misspelt_path_names_near_ones(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    there = f"{tmp_path} is there, the rest of it is not"
    for name, hint in (("evnts", "Near names: events"), ("other", "Check the path"), ("a/b/c", there)):
        with pytest.raises(tf.TableNotFoundError) as caught:
            tf.open_table(tmp_path / name)
        assert caught.value.hint and caught.value.hint.endswith(hint)


def test_an_empty_directory(tmp_path: Path) -> None:
    with pytest.raises(tf.UnknownFormatError) as caught:
        tf.open_table(tmp_path)
    check(caught.value, tmp_path)


def unknown(location: Path, message: str, hint: str) -> None:
    with pytest.raises(tf.UnknownFormatError) as caught:
        tf.open_table(location)
    assert message in caught.value.message and hint in (caught.value.hint or ""), str(caught.value)
    assert caught.value.path == str(location)


def test_each_mistake_has_its_own_words(tmp_path: Path) -> None:
    def made(*names: str) -> Path:
        root = tmp_path / names[0].partition("/")[0]
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(b"")
        return root

    (tmp_path / "nothing").mkdir()
    unknown(tmp_path / "nothing", "the directory is empty", "Check the path")
    unknown(made("flat/a.parquet"), "plain data files without the metadata", "pyarrow.dataset")
    unknown(made("hive/day=1/a.parquet"), "plain data files without the metadata", "pyarrow.dataset")
    unknown(tmp_path / "flat" / "a.parquet", "one Parquet file, no table", "read_table")
    unknown(made("hudi/.hoodie/hoodie.properties", "hudi/a.parquet"), "a Hudi table", "plugin")
    unknown(made("lance/_versions/1.manifest", "lance/data/a.lance"), "a Lance table", "plugin")
    unknown(made("lake/meta.ducklake", "lake/a.parquet"), "a DuckLake table", "plugin")
    unknown(made("paimon/manifest/manifest-0", "paimon/snapshot/snapshot-1"), "a Paimon table", "plugin")
    unknown(made("orc/a.orc"), "plain data files without the metadata", "pyarrow.dataset")
    unknown(made("meta.ducklake"), "a DuckLake table", "plugin")
    unknown(made("notes.txt"), "a file, and no metadata file", "directory of the table")
    unknown(made("docs/readme.txt"), "no table of a known format (delta, iceberg)", "directory of the table")


def test_a_parent_of_tables_names_them(tmp_path: Path) -> None:
    for name in "dcba":
        (tmp_path / name / "_delta_log").mkdir(parents=True)
    unknown(tmp_path, "holds tables, but is none: a, b, c, ...", f"Open one of them: {tmp_path}/a")


def test_a_parent_of_directories_of_tables_names_them(tmp_path: Path) -> None:
    for name in ("sales/new", "sales/old", "day=1/not", "_old/not"):
        (tmp_path / name / "_delta_log").mkdir(parents=True)
    unknown(tmp_path, "holds tables, but is none: sales/new, sales/old", f"Open one of them: {tmp_path}/sales/new")


def test_the_wrong_format_says_what_is_there(tmp_path: Path) -> None:
    def found(location: Path, format: str) -> str:
        with pytest.raises(tf.TableNotFoundError) as caught:
            tf.open_table(location, format=format)
        return str(caught.value)

    (tmp_path / "above" / "log" / "_delta_log").mkdir(parents=True)
    (tmp_path / "hudi" / ".hoodie").mkdir(parents=True)
    assert "format='iceberg', but this is a Delta table" in found(DELTA, "iceberg")
    assert found(ICEBERG, "delta").endswith("Leave out format=, or pass format='iceberg'")
    assert "format='delta', but this is an Iceberg table" in found(ICEBERG, "delta")
    assert "there is no Delta table: the directory holds tables, but is none: log" in found(tmp_path / "above", "delta")
    assert f"there is no Iceberg table: this is inside of the Delta table {DELTA}" in found(
        DELTA / "_delta_log", "iceberg"
    )
    assert "there is no Delta table: the location holds a Hudi table" in found(tmp_path / "hudi", "delta")


@pytest.mark.parametrize(("table", "format"), [(DELTA, "delta"), (ICEBERG, "iceberg")])
def test_a_path_inside_a_table_names_the_table(table: Path, format: str) -> None:
    inside = next(path for path in sorted(table.rglob("*.parquet")))
    for location in (inside, inside.parent):
        unknown(location, f"inside of the {format.capitalize()} table {table}", f"Open {table}")


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_an_empty_directory_called_a_table(tmp_path: Path, format: str) -> None:
    with pytest.raises(tf.TableNotFoundError) as caught:
        tf.open_table(tmp_path, format=format).snapshot()
    check(caught.value, tmp_path)


def test_a_directory_that_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "part-0.parquet").write_bytes(b"PAR1")
    with pytest.raises(tf.UnknownFormatError) as caught:
        tf.open_table(tmp_path)
    check(caught.value, tmp_path)


def test_a_file_that_is_no_table(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no table")
    with pytest.raises(tf.UnknownFormatError) as caught:
        tf.open_table(file)
    check(caught.value, file)


def test_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(tf.TableFormatsError) as caught:
        tf.open_table(tmp_path).snapshot()
    check(caught.value, tmp_path)


def test_an_unknown_format() -> None:
    with pytest.raises(tf.UnknownFormatError, match="hudi") as caught:
        tf.open_table(DELTA, format="hudi")
    assert "delta" in str(caught.value) and "iceberg" in str(caught.value)


@pytest.mark.parametrize(("location", "format"), [(DELTA, "iceberg"), (ICEBERG, "delta")])
def test_a_table_of_the_other_format(location: Path, format: str) -> None:
    with pytest.raises(tf.TableFormatsError) as caught:
        tf.open_table(location, format=format).snapshot()
    check(caught.value, location)


@TABLE_PATHS
@pytest.mark.parametrize("version", [10**6, -2, 2**63, 2**200, "no such ref", "1.5", ""])
def test_a_version_that_does_not_exist(location: Path, version: int | str) -> None:
    with pytest.raises(tf.SnapshotNotFoundError) as caught:
        opened(location).snapshot(version)
    check(caught.value, location)
    assert isinstance(caught.value, LookupError)


@TABLE_PATHS
@pytest.mark.parametrize("selector", ["branch", "tag"])
def test_a_ref_that_does_not_exist(location: Path, selector: str) -> None:
    with pytest.raises(tf.SnapshotNotFoundError) as caught:
        opened(location).snapshot(**{selector: "nowhere"})
    check(caught.value, location)


@TABLE_PATHS
def test_a_time_before_the_table(location: Path) -> None:
    with pytest.raises(tf.SnapshotNotFoundError) as caught:
        opened(location).snapshot(timestamp="1999-12-31")
    check(caught.value, location)


@TABLE_PATHS
def test_two_selectors(location: Path) -> None:
    with pytest.raises(TypeError, match="version and tag"):
        opened(location).snapshot(0, tag="x")


def test_text_that_is_no_timestamp() -> None:
    with pytest.raises(tf.SnapshotNotFoundError, match="yesterday") as caught:
        opened(DELTA).snapshot(timestamp="yesterday")
    assert caught.value.hint and "ISO 8601" in caught.value.hint


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (None, None),
        (1706702400123, 1706702400123),
        ("2024-01-31T12:00:00Z", 1706702400000),
        ("2024-01-31T14:00:00+02:00", 1706702400000),
        (" 2024-01-31 12:00:00.123456 ", 1706702400123),
        ("2024-01-31", 1706659200000),
        (dt.datetime(2024, 1, 31, 12), 1706702400000),
        (dt.datetime(2024, 1, 31, 13, tzinfo=dt.timezone(dt.timedelta(hours=1))), 1706702400000),
        (dt.datetime(1969, 12, 31, 23, 59, 59, 999_900), -1),
    ],
)
def test_timestamps(moment: dt.datetime | str | int | None, expected: int | None) -> None:
    assert epoch_ms(moment) == expected


@pytest.mark.parametrize("moment", [True, 1.5, dt.date(2024, 1, 31)])
def test_what_is_no_timestamp(moment: object) -> None:
    with pytest.raises(TypeError):
        epoch_ms(moment)  # type: ignore[arg-type]


@TABLE_PATHS
def test_a_filter_that_does_not_parse(location: Path) -> None:
    with pytest.raises(tf.InvalidPredicateError) as caught:
        opened(location).scan("id >")
    assert caught.value.hint


@TABLE_PATHS
def test_a_filter_that_names_no_column(location: Path) -> None:
    table = opened(location)
    name = table.snapshot().schema.names[0]
    with pytest.raises(tf.InvalidPredicateError) as caught:
        table.scan(f"{name}x = 1")
    assert name in str(caught.value), "near names are listed"


@TABLE_PATHS
def test_a_column_that_does_not_exist(location: Path) -> None:
    table = opened(location)
    name = table.snapshot().schema.names[0]
    with pytest.raises(tf.InvalidPredicateError) as caught:
        table.scan(columns=[f"{name}x"])
    check(caught.value, location)
    assert caught.value.field == f"{name}x"
    assert name in str(caught.value)


@pytest.mark.parametrize("limit", [-1, True, 1.5, "3"])
def test_a_limit_that_is_no_number_of_rows(limit: object) -> None:
    with pytest.raises(ValueError, match="limit"):
        opened(DELTA).scan(limit=limit)  # type: ignore[arg-type]


@TABLE_PATHS
def test_damaged_metadata_is_never_an_empty_table(location: Path, tmp_path: Path) -> None:
    """Every metadata file cut in half, one at a time: the plan is the same, or a typed error that names a path."""
    whole = opened(location).scan().plan().files.num_rows
    assert whole
    failed = 0
    for number, victim in enumerate(sorted(metadata_files(location))):
        copy = tmp_path / f"{number}" / "table"
        shutil.copytree(location, copy)
        damaged = copy / victim
        damaged.write_bytes(damaged.read_bytes()[: damaged.stat().st_size // 2])
        try:
            assert opened(copy).scan().plan().files.num_rows == whole, victim
        except tf.TableFormatsError as error:
            failed += 1
            assert error.path is not None and str(copy) in error.path, victim
    assert failed, "no file was missed at all"


def metadata_files(location: Path) -> list[Path]:
    folders = [location / "_delta_log", location / "metadata"]
    return [p.relative_to(location) for folder in folders for p in folder.rglob("*") if p.is_file()]


@TABLE_PATHS
def test_versions_behind_another(location: Path) -> None:
    table = opened(location)
    versions = table.history()["version"].to_pylist()[::-1]
    assert table.versions_after(None) == versions
    for place, version in enumerate(versions):
        assert table.versions_after(version) == versions[place + 1 :]


def test_rows_are_handed_to_other_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    scan = opened(DELTA).scan(columns=["id"], limit=3)
    rows = scan.to_arrow()
    registered: dict[str, object] = {}
    connection = SimpleNamespace(register=registered.__setitem__)
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(from_arrow=lambda table: ("frame", table)))
    monkeypatch.setitem(sys.modules, "duckdb", SimpleNamespace(connect=lambda: connection))
    assert scan.to_polars() == ("frame", rows), "a scan with a limit is read at once"
    assert scan.to_duckdb("t") is connection and registered == {"t": rows}
    other = SimpleNamespace(register=registered.__setitem__)
    assert scan.to_duckdb("u", other) is other and registered == {"t": rows, "u": rows}


def test_the_cache_of_a_table() -> None:
    """One that is given, none, or one of its own."""
    cache, table = tf.MetadataCache(), opened(DELTA)
    assert tf.Table(table._opened, table.storage, cache).cache is cache
    own = [tf.Table(table._opened, table.storage).cache for _ in range(2)]
    assert own[0] is not own[1] and {one.budget_bytes for one in own} == {tf.MetadataCache().budget_bytes}
    budgets = {given: tf.open_table(DELTA, cache=given).cache.budget_bytes for given in (True, False)}
    assert budgets == {True: tf.MetadataCache().budget_bytes, False: 0}


def test_a_catalog_that_fails_tells_no_credentials() -> None:
    class Catalog:
        def load_table(self, identifier: str) -> object:
            raise ValueError("https://user:canary@catalog refuses")

    with pytest.raises(tf.TableFormatsError, match="does not give an answer: ValueError") as caught:
        tf.open_table("a.b", catalog=Catalog())
    assert "canary" not in str(caught.value) and caught.value.path == "a.b"


def test_ansi_and_one_instant_go_along_with_a_scan(tmp_path: Path) -> None:
    """``ansi=False`` reaches filters that are added later, and now() is the same in all filters of a scan."""
    from tests.support.delta_log import DeltaLog, field

    DeltaLog(tmp_path / "t").start(field("i", "integer"), field("ts", "timestamp"))
    table = tf.open_table(str(tmp_path / "t"))
    for filter in ("i = 'x'", "i = CAST('x' AS INT)"):
        with pytest.raises(tf.InvalidPredicateError):
            table.scan(filter)
        with pytest.raises(tf.InvalidPredicateError):
            table.scan().where(filter)
        for scan in (table.scan(filter, ansi=False), table.scan(ansi=False).where(filter)):
            assert str(scan.filter) == "NULL"
        assert str(table.scan(ansi=False).narrowed(filter).filter) == "NULL"
    scan = table.scan("ts < now()")
    first, second = scan.where("ts < current_timestamp").filter.children  # type: ignore[attr-defined]
    assert first == second == scan.filter
    assert scan.narrowed("ts < now()").detached().now == scan.now
    assert pickle.loads(pickle.dumps(scan)).now == scan.now
