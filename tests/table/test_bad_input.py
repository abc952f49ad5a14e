"""Every public function is given something wrong, and refuses it by a typed error that says what: one table of cases.

:func:`public` finds the functions by looking at what the package exports, so that a new one without a case fails here.
What is wrong is an argument, or a table that its metadata or its data file went missing from. Arguments of another
type than the hint says are TypeErrors; what a caller can only know by trying is one of our own errors.
"""

from __future__ import annotations

import datetime as dt
import inspect
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats import plugin
from tableformats.cli import main
from tableformats.cli.catalogs import CATALOG_COMMANDS
from tableformats.cli.checks import CHECK_COMMANDS
from tableformats.cli.commands import COMMANDS
from tableformats.cli.upkeep import UPKEEP_COMMANDS
from tableformats.cli.writing import WRITE_COMMANDS
from tableformats.plugin.registry import PluginHost
from tableformats.plugin.report import ScanReport
from tableformats.schema import primitive
from tableformats.table.changes import Changes
from tableformats.table.scan import ScanPlan
from tests.support.arrow_fakes import FakeSnapshot
from tests.support.golden import TABLES


@dataclass(frozen=True)
class Tables:
    """Tables of the golden ones, of which some lack what is needed to read them."""

    delta: tf.Table
    iceberg: tf.Table
    no_manifests: tf.Table
    """Iceberg, whose manifests are gone: it opens and selects, and cannot be planned."""
    no_log: tf.Table
    """Delta, whose log went away after it was opened."""
    no_data: tf.Table
    """Delta, whose data files are gone: it plans, and cannot be read."""

    @property
    def plan(self) -> ScanPlan:
        return self.delta.scan().plan()

    @property
    def changes(self) -> Changes:
        """Whose files cannot be listed."""
        return self.no_manifests.changes(self.no_manifests.snapshot().version)

    @property
    def format_table(self) -> plugin.FormatTable:
        """A format that has the least that it must have."""
        return BareTable()

    @property
    def format_snapshot(self) -> plugin.FormatSnapshot:
        return BareSnapshot(tf.Schema(()), [], plugin.NameMapping(), {}, {})


class BareTable(plugin.FormatTable):
    format, location = "bare", "/bare"

    def snapshot(self, selector: plugin.SnapshotSelector) -> plugin.FormatSnapshot:
        raise tf.SnapshotNotFoundError("there is no version", path=self.location)

    def history(self, limit: int | None = None) -> pa.Table:
        return pa.table({"version": pa.array([3], pa.int64())})


class BareSnapshot(FakeSnapshot):
    read = plugin.FormatSnapshot.read
    equality_deletes = plugin.FormatSnapshot.equality_deletes

    def resolve_paths(self, paths: pa.Array) -> pa.Array:
        raise tf.PathNotAllowedError("a path of another store")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    def copy(name: str, *gone: str) -> tf.Table:
        place = tmp_path_factory.mktemp(name) / "table"
        shutil.copytree(TABLES / name / "table", place)
        opened = tf.open_table(place, relocate=True, cache=False)
        for pattern in gone:
            for file in list(place.glob(pattern)):
                file.unlink()
        return opened

    return Tables(
        copy("delta-evolved"),
        copy("iceberg-evolved"),
        copy("iceberg-evolved", "metadata/*.avro"),
        copy("delta-evolved", "_delta_log/*"),
        copy("delta-evolved", "**/*.parquet"),
    )


Case = tuple[str, Callable[[Tables], Any], type[BaseException], str]
a = tf.col("a")
REFUSED, CORRUPT, UNBUILT = tf.InvalidPredicateError, tf.CorruptMetadataError, tf.UnsupportedFeatureError
MISSING, NOWHERE = tf.SnapshotNotFoundError, tf.TableNotFoundError


class NoCatalog:
    """A PyIceberg catalog that lacks the table, or whose server is away."""

    def load_table(self, identifier: tuple[str, ...]) -> Any:
        if identifier == ("away",):
            raise ConnectionError("no route")
        raise type("NoSuchTableError", (Exception,), {})(identifier)


OPENING: list[Case] = [
    ("open_table", lambda t: tf.open_table("/x", format_options=5), TypeError, "format_options is a mapping"),  # type: ignore[arg-type]
    ("open_table", lambda t: tf.open_table(t.delta.location, format_options={"a": 1}), TypeError, "no option 'a'"),
    ("open_table", lambda t: tf.open_table(5), TypeError, "text, a path, or a table of .*, not int"),
    ("open_table", lambda t: tf.open_table(""), NOWHERE, "'' is no location.*Give a directory"),
    ("open_table", lambda t: tf.open_table("a\0b"), NOWHERE, "is no location"),
    ("open_table", lambda t: tf.open_table("no-such-store://a/b"), tf.TableFormatsError, "no-such-store"),
    ("open_table", lambda t: tf.open_table(t.delta.location, format="hudi"), tf.UnknownFormatError, "'hudi'"),
    ("open_table", lambda t: tf.open_table("/x", relocate="/old"), TypeError, "relocate is True or"),  # type: ignore[arg-type]
    ("open_table", lambda t: tf.open_table("/x", relocate={"/old": 5}), TypeError, "relocate"),  # type: ignore[dict-item]
    ("open_table", lambda t: tf.open_table("/x", cache=5), TypeError, "cache is True"),  # type: ignore[arg-type]
    ("open_table", lambda t: tf.open_table("/x", limits=5), TypeError, "limits is a"),  # type: ignore[arg-type]
    ("open_table", lambda t: tf.open_table("/x", allow_paths=5), TypeError, "not iterable"),  # type: ignore[arg-type]
    ("open_table", lambda t: tf.open_table("a.b", catalog=5), TypeError, "catalog is a PyIceberg catalog"),
    ("open_table", lambda t: tf.open_table("a.b", catalog=NoCatalog()), NOWHERE, "no such table.*'a.b'"),
    ("open_table", lambda t: tf.open_table("away", catalog=NoCatalog()), tf.CatalogConnectionError, "Connection.*away"),
    ("open_table", lambda t: tf.open_table("a.b", catalog="no-such"), tf.CatalogNotFoundError, "no catalog 'no-such'"),
    ("transaction", lambda t: tf.transaction(5), TypeError, "catalog is a PyIceberg catalog"),
    ("transaction", lambda t: tf.transaction(NoCatalog()), tf.UnsupportedFeatureError, "one table at a time"),
    ("list_tables", lambda t: tf.list_tables(5), TypeError, "catalog is a PyIceberg catalog"),
    ("list_tables", lambda t: tf.list_tables("no-such"), tf.CatalogNotFoundError, "no catalog 'no-such'"),
    ("list_tables", lambda t: tf.list_tables(NoCatalog(), 5), TypeError, "a namespace is text, or a tuple"),  # type: ignore[arg-type]
    ("list_tables", lambda t: tf.list_tables(NoCatalog(), "a..b"), ValueError, "a namespace is a name"),
    ("list_tables", lambda t: tf.list_tables(NoCatalog(), "a"), tf.CatalogError, "AttributeError.*'a'"),
    ("list_tables", lambda t: tf.list_tables(NoCatalog(), limit=-1), ValueError, "number of tables, not -1"),
    ("spark.read", lambda t: tf.spark.read(Session(), "/no/such/table"), NOWHERE, "/no/such/table"),
    ("spark.read", lambda t: tf.spark.read(None, t.delta.location), TypeError, "SparkSession"),  # type: ignore[arg-type]
    ("spark.register", lambda t: tf.spark.register(Session()), UNBUILT, "no Python data sources.*tf.spark.read"),
    ("spark.register", lambda t: tf.spark.register(None), TypeError, "SparkSession"),
    ("spark.view", lambda t: tf.spark.view(Session(), "v", "/no/such/table"), NOWHERE, "/no/such/table"),
    ("spark.view", lambda t: tf.spark.view(Session(), None, t.delta.location), TypeError, "name of a view"),
    ("spark.to_spark", lambda t: tf.spark.to_spark(t.delta.scan(), Session(), "fast"), UNBUILT, "no mode 'fast'"),
    ("spark.to_spark", lambda t: tf.spark.to_spark(t.delta, t.delta.scan()), TypeError, "SparkSession"),  # type: ignore[arg-type]
    ("Limits", lambda t: tf.Limits(entries=0), ValueError, "entries is from 1"),
    (
        "Limits.check_dotted_names",
        lambda t: tf.Limits().check_dotted_names(10**9, 1, path="p"),
        tf.LimitExceededError,
        "dotted names",
    ),
    ("Limits.check", lambda t: tf.Limits().check("fields", 10**9, "fields", path="p"), tf.LimitExceededError, "fields"),
    ("MetadataCache", lambda t: tf.MetadataCache(-1), ValueError, "budget_bytes"),
    ("MetadataCache", lambda t: tf.MetadataCache(1.5), ValueError, "number of bytes"),  # type: ignore[arg-type]
    ("MetadataCache", lambda t: tf.MetadataCache(directory=__file__), FileExistsError, "test_bad_input"),
    ("MetadataCache.find", lambda t: tf.MetadataCache().find([]), TypeError, "unhashable"),  # type: ignore[arg-type]
    ("MetadataCache.keep", lambda t: tf.MetadataCache().keep([], 1, 1), TypeError, "unhashable"),  # type: ignore[arg-type]
    ("MetadataCache.get", lambda t: tf.MetadataCache().get("x", fails, len), OSError, "the store"),
    ("MetadataCache.stream", lambda t: [*tf.MetadataCache().stream("x", fails, len)], OSError, "the store"),
]

TABLE: list[Case] = [
    ("Table.history", lambda t: t.delta.history(-1), ValueError, "number of versions, not -1"),
    ("Table.history", lambda t: t.no_log.history(), NOWHERE, "no commit"),
    ("Table.snapshot", lambda t: t.delta.snapshot(99), MISSING, "no version 99.*Versions 0 to"),
    ("Table.snapshot", lambda t: t.iceberg.snapshot(timestamp=10**18), MISSING, "years 1 to 9999"),
    ("Table.scan", lambda t: t.delta.scan("id >"), REFUSED, "does not parse"),
    ("Table.scan", lambda t: t.delta.scan(object()), REFUSED, "is no filter"),
    ("Table.changes", lambda t: t.delta.changes(2, 1), MISSING, "before the starting"),
    ("Table.changes", lambda t: t.iceberg.changes("no such ref"), MISSING, "no such ref"),
    ("Table.transaction", lambda t: t.delta.transaction(tries=0), ValueError, "tries"),
    ("Table.transaction", lambda t: t.delta.transaction(isolation="chaos"), ValueError, "WriteSerializable"),
    ("Table.transaction", lambda t: t.delta.transaction(branch="b"), UNBUILT, "no branches"),
    ("Table.create_branch", lambda t: t.delta.create_branch("b"), UNBUILT, "no branches"),
    ("Table.create_branch", lambda t: t.iceberg.create_branch("b", "no such"), MISSING, "no such"),
    ("Table.create_tag", lambda t: t.iceberg.create_tag("b", max_age=0), ValueError, "max_age"),
    ("Table.cherry_pick", lambda t: t.delta.cherry_pick(0), UNBUILT, "no versions beside"),
    ("Table.publish", lambda t: t.iceberg.publish("x"), UNBUILT, "a catalog decides"),
    ("Table.restore", lambda t: t.delta.restore(99), tf.SnapshotNotFoundError, "99"),
    ("Table.restore", lambda t: t.iceberg.restore(), TypeError, "a version or a timestamp"),
    ("Table.incremental_append_scan", lambda t: t.delta.incremental_append_scan(0), UNBUILT, "table.changes"),
    ("Table.incremental_append_scan", lambda t: t.iceberg.incremental_append_scan(5), MISSING, "no snapshot 5"),
    ("Table.versions_after", lambda t: t.delta.versions_after("x"), MISSING, "is no version"),  # type: ignore[arg-type]
    ("Table.versions_after", lambda t: t.iceberg.versions_after(5), MISSING, "no snapshot 5"),
    ("Table.refresh", lambda t: t.no_log.refresh(), NOWHERE, "no commit"),
    ("Table.updated", lambda t: t.no_log.updated(t.delta.snapshot().format_snapshot), NOWHERE, "no commit"),
    ("Snapshot.reattached", lambda t: away(t.delta.snapshot(), 99).reattached(), MISSING, "no version 99"),
    ("Snapshot.update", lambda t: tf.Snapshot(t.no_log, t.delta.snapshot().format_snapshot).update(), NOWHERE, "log"),
    ("Snapshot.scan", lambda t: t.delta.snapshot().scan(limit=-1), ValueError, "number of rows, not -1"),
    ("Snapshot.bind", lambda t: t.delta.snapshot().bind("nope = 1"), REFUSED, "nope"),
    ("Snapshot.project", lambda t: t.delta.snapshot().project(["nam"]), REFUSED, "no column 'nam'.*Near names: name"),
    ("Snapshot.project", lambda t: t.delta.snapshot().project([5]), REFUSED, "5 is no column"),  # type: ignore[list-item]
    *(
        (f"Inspector.{name}", lambda t, name=name: getattr(t.iceberg.inspect, name)(99), MISSING, "no snapshot 99")
        for name in ("files", "data_files", "delete_files", "manifests", "partitions", "entries")
    ),
    *(
        (f"Inspector.{name}", lambda t, name=name: getattr(t.no_log.inspect, name)(), NOWHERE, "no commit")
        for name in ("snapshots", "history")
    ),
    *(
        (f"Inspector.{name}", lambda t, name=name: getattr(t.delta.inspect, name)(), UNBUILT, f"{name!r}")
        for name in ("metadata_log_entries", "refs")
    ),
    *(
        (f"Inspector.{name}", lambda t, name=name: getattr(t.iceberg.inspect, name)(), UNBUILT, f"{name!r}")
        for name in ("tombstones", "transactions", "domains", "log")
    ),
]

SCAN: list[Case] = [
    ("Scan.where", lambda t: t.delta.scan().where("id = 'x"), REFUSED, "has no end"),
    ("Scan.select", lambda t: t.delta.scan().select("id", "x"), REFUSED, "no column 'x'"),
    ("Scan.plan", lambda t: t.no_manifests.scan().plan(), CORRUPT, "is missing"),
    ("Scan.plan", lambda t: t.delta.scan().plan("spark"), TypeError, "SparkSession"),  # type: ignore[arg-type]
    ("Scan.plan_files", lambda t: t.no_manifests.scan().plan_files(), CORRUPT, "is missing"),
    ("Scan.diagnose", lambda t: t.no_manifests.scan().diagnose(), CORRUPT, "is missing"),
    ("Table.checkpoint", lambda t: t.delta.checkpoint(99), MISSING, "no version 99"),
    ("Table.verify", lambda t: t.delta.verify(99), MISSING, "no version 99"),
    ("Table.verify_stats", lambda t: t.delta.verify_stats(columns="x"), REFUSED, "no column 'x'"),
    ("Table.orphan_files", lambda t: t.delta.orphan_files("yesterday"), MISSING, "no timestamp"),
    ("Table.orphan_files", lambda t: t.delta.orphan_files(dt.timedelta(-1)), ValueError, "negative"),
    ("Table.compact_log", lambda t: t.delta.compact_log(1, 1), MISSING, "at least two commits"),
    ("Table.detail", lambda t: t.no_manifests.detail(), CORRUPT, "is missing"),
    ("Table.clustering", lambda t: t.delta.clustering("x"), REFUSED, "no column 'x'"),
    ("Table.health", lambda t: t.delta.health({"x": 1}), ValueError, "no check 'x'"),
    ("Scan.reattached", lambda t: away(t.delta.snapshot(), 99).scan().reattached(), MISSING, "no version 99"),
    ("Scan.count", lambda t: t.no_manifests.scan().count(), CORRUPT, "is missing"),
    ("Scan.to_arrow", lambda t: t.no_data.scan().to_arrow(), CORRUPT, "is missing"),
    ("Scan.to_arrow_batch_reader", lambda t: [*t.no_data.scan().to_arrow_batch_reader()], CORRUPT, "is missing"),
    ("Scan.to_pandas", lambda t: t.no_data.scan().to_pandas(), CORRUPT, "is missing"),
    (
        "Scan.to_arrow_dataset",
        lambda t: t.delta.snapshot().scan(limit=1).to_arrow_dataset(),
        UNBUILT,
        "has no limit.*to_arrow",
    ),
    (
        "Scan.to_polars",
        lambda t: t.delta.scan().to_polars(),
        ImportError,
        "to_polars needs polars.*tableformats.polars",
    ),
    (
        "Scan.to_duckdb",
        lambda t: t.delta.scan().to_duckdb("t"),
        ImportError,
        "to_duckdb needs duckdb.*tableformats.duckdb",
    ),
    ("Scan.to_spark", lambda t: t.delta.scan().to_spark(Session(), "fast"), UNBUILT, "no mode 'fast'"),
    ("Scan.to_spark", lambda t: t.delta.scan().to_spark("local"), TypeError, "SparkSession"),  # type: ignore[arg-type]
    ("Changes.added_files", lambda t: t.changes.added_files(), CORRUPT, "is missing"),
    ("ScanPlan.plot", lambda t: t.plan.plot(), ImportError, "plot needs matplotlib.*tableformats.plot"),
    ("ScanPlan.keep_mask", lambda t: t.plan.keep_mask([("nope", "=", 1)]), REFUSED, "nope"),
    ("ScanPlan.why", lambda t: t.plan.why("nope"), REFUSED, "no such data file"),
    ("ScanPlan.take", lambda t: t.plan.take(np.array([99])), IndexError, "99"),
    ("ScanPlan.splits", lambda t: t.plan.splits("much"), ValueError, "'much' is no size"),
    ("ScanPlan.splits", lambda t: t.plan.splits(1.5), ValueError, "1.5 is no size"),  # type: ignore[arg-type]
    ("ScanPlan.splits", lambda t: t.plan.splits(lookback=0), ValueError, "greater than 0"),
    ("ScanPlan.to_arrow", lambda t: t.no_data.scan().plan().to_arrow(), CORRUPT, "is missing"),
    ("ScanPlan.to_arrow", lambda t: t.plan.to_arrow([1]), TypeError, "plan.tasks"),  # type: ignore[list-item]
    ("ScanPlan.to_arrow_batch_reader", lambda t: [*t.plan.to_arrow_batch_reader([1])], TypeError, "plan.splits"),  # type: ignore[list-item]
]

EXPRESSIONS: list[Case] = [
    ("col", lambda t: tf.col(1), TypeError, "name is text, not 1"),  # type: ignore[arg-type]
    ("col", lambda t: tf.col("`a"), REFUSED, "not closed"),
    ("Column.eq_null_safe", lambda t: t.delta.scan(tf.col("id").eq_null_safe("x")), REFUSED, "'id'"),
    ("Column.isin", lambda t: t.delta.scan(tf.col("id").isin(object())), REFUSED, "Python type object"),
    ("Column.between", lambda t: t.delta.scan(tf.col("id").between(1, "x")), REFUSED, "'id'"),
    ("Column.is_null", lambda t: t.delta.scan(a.is_null()), REFUSED, "'a'"),
    ("Column.is_not_null", lambda t: t.delta.scan(a.is_not_null()), REFUSED, "'a'"),
    ("Column.is_nan", lambda t: t.delta.scan(tf.col("ok").is_nan()), REFUSED, "ok"),
    ("Column.startswith", lambda t: t.delta.scan(tf.col("name").startswith(1)), REFUSED, "quotes"),  # type: ignore[arg-type]
    ("Column.like", lambda t: t.delta.scan(tf.col("name").like("a\\b")), REFUSED, "escape"),
    ("Column.endswith", lambda t: t.delta.scan(tf.col("name").endswith(1)), REFUSED, "needs text, not 1"),  # type: ignore[arg-type]
    ("Column.contains", lambda t: t.delta.scan(tf.col("name").contains(1)), REFUSED, "needs text, not 1"),  # type: ignore[arg-type]
    ("Column.ilike", lambda t: t.delta.scan(tf.col("name").ilike(1)), REFUSED, "needs text, not 1"),  # type: ignore[arg-type]
    ("Column.rlike", lambda t: t.delta.scan(tf.col("name").rlike(1)), REFUSED, "needs text, not 1"),  # type: ignore[arg-type]
    ("Column.[]", lambda t: a[1], TypeError, "members by name"),  # type: ignore[index]
    ("Column.bool", lambda t: a and a, TypeError, "no truth value"),
    ("Expression.bool", lambda t: (a > 1) and (a < 2), TypeError, "no truth value"),
    ("Expression.&", lambda t: (a > 1) & "a < 2", REFUSED, "is no predicate"),  # type: ignore[operator]
    ("Expression.|", lambda t: (a > 1) | None, REFUSED, "is no predicate"),  # type: ignore[operator]
    ("Schema.path_of", lambda t: tf.Schema(()).path_of(99), KeyError, "99"),
    ("Schema.from_arrow", lambda t: tf.Schema.from_arrow(pa.schema([("d", pa.duration("s"))])), UNBUILT, "duration"),
    (
        "Schema.to_spark_json",
        lambda t: tf.Schema((tf.Field(1, "a", primitive("time")),)).to_spark_json(),
        UNBUILT,
        "type time",
    ),
]

PLUGINS: list[Case] = [
    ("plugin.hookimpl", lambda t: load(MisspeltHook), tf.PluginLoadError, "misspelt"),
    ("plugin.utc_datetime", lambda t: plugin.utc_datetime(10**15), OverflowError, "out of range"),
    ("plugin.DeleteFiles.none", lambda t: plugin.DeleteFiles.none(-2), ValueError, "negative"),
    ("plugin.DeleteFiles.take", lambda t: plugin.DeleteFiles.none(1).take(np.array([9])), IndexError, "9"),
    ("plugin.FileBatch.slice", lambda t: keyed_batch().slice(0, 1), tf.PluginContractError, "without keys"),
    ("plugin.FormatSnapshot.parts", lambda t: t.format_snapshot.parts(request()), tf.PluginContractError, "neither"),
    ("plugin.FormatSnapshot.read", lambda t: [*t.format_snapshot.read(request())], tf.PluginContractError, "neither"),
    (
        "plugin.FormatSnapshot.check_paths",
        lambda t: t.format_snapshot.check_paths(pa.array(["x"])),
        tf.PathNotAllowedError,
        "another store",
    ),
    ("plugin.FormatSnapshot.equality_deletes", lambda t: t.format_snapshot.equality_deletes({}), UNBUILT, "equality"),
    ("plugin.FormatSnapshot.inspect", lambda t: t.format_snapshot.inspect("refs"), UNBUILT, "'refs'"),
    ("plugin.FormatTable.update", lambda t: t.format_table.update(t.format_snapshot), MISSING, "no version"),
    ("plugin.FormatTable.versions_after", lambda t: t.format_table.versions_after(4), MISSING, "no version 4"),
    ("plugin.FormatTable.changes", lambda t: t.format_table.changes(1), UNBUILT, "bare tables"),
    ("plugin.FormatTable.begin", lambda t: t.format_table.begin(), UNBUILT, "bare tables are only read"),
    ("plugin.added_files_schema", lambda t: plugin.added_files_schema(5), AttributeError, "stored"),  # type: ignore[arg-type]
    ("plugin.FormatTable.appends", lambda t: t.format_table.appends(1), UNBUILT, "bare tables"),
    (
        "plugin.FormatTable.checkpoint",
        lambda t: t.format_table.checkpoint(),
        UNBUILT,
        "bare tables have no checkpoints",
    ),
    ("plugin.FormatTable.verify", lambda t: t.format_table.verify(), UNBUILT, "bare tables have no verifier"),
    ("plugin.FormatTable.kept_files", lambda t: t.format_table.kept_files(), UNBUILT, "files that bare tables keep"),
    ("plugin.FormatTable.compact_log", lambda t: t.format_table.compact_log(1, 2), UNBUILT, "bare tables have no log"),
    ("plugin.row_check", lambda t: plugin.row_check("c", "c", "nope > 1", tf.Schema(()), "/t"), UNBUILT, "nope"),
    (
        "plugin.generated_column",
        lambda t: plugin.generated_column(tf.Field(1, "a", primitive("long")), "a", "nope + 1", tf.Schema(()), "/t"),
        UNBUILT,
        "nope",
    ),
]

NOTHING_WRONG = {
    "plugin.file_sizes": "of a path without a file it is None",
    "plugin.whole_number": "of what is no number it is None",
    "Commit": "a record",
    "Field": "a record",
    "Schema": "a record",
    "Expression": "a base",
    "plugin.deletes_type": "takes nothing",
    "plugin.column_default": "what cannot be computed is refused when a row needs it",
    "plugin.names_in": "any text has names, or none",
    "plugin.IdentityColumn.first_free": "takes nothing",
    "plugin.partition_members": "of records",
    "Schema.find_id": "an unknown id is None",
    "Schema.resolve": "an unknown name is None",
    "Schema.near_names": "any text has names near it, or none",
    "Schema.leaves": "takes nothing",
    "Schema.to_arrow": "every type has one in Arrow",
    "ScanPlan.file_uris": "planning has checked",
    "ScanPlan.tasks": "planning has checked",
    "ScanPlan.of": "any plan",
    "plugin.TableFormat.check_options": "see open_table",
    "plugin.TableFormat.table_above": "any path is metadata, or none",
    "Snapshot.has_schema_of_version": "the version was read before",
    "ScanPlan.explain": "planning has checked",
    "ScanPlan.verdicts": "planning has checked",
    "Limits.exceeded": "makes an error",
    "Limits.budget": "any size has a budget",
    "Limits.within": "any size has limits",
    "MetadataCache.digest": "any options",
    "MetadataCache.scoped": "any",
    "plugin.FormatSnapshot.verify": "does nothing",
    "plugin.FormatSnapshot.files_of_deletes": "names nothing",
    "plugin.Statistics.record_counts": "knows nothing",
    "plugin.FileBatch.follows": "any batch",
    "plugin.RowErrors.raise_if_live": "the damage that it raises is the plugin's",
    "ScanReport.add": "another report",
    "ScanReport.funnel_html": "only numbers",
    "ScanReport.as_dict": "counts as planning does",
    "ScanReport.count_metadata": "a number",
    "ScanReport.count_planned": "set by planning",
    "ScanReport.count_total": "set by planning",
    "ScanReport.count_rows": "a number of the plan",
    "ScanReport.note": "any text",
    "plugin.constant_default": "tests/iceberg/commits",
    "plugin.FormatTable.restoring": "Table.restore",
    "plugin.FormatTable.definition_differs": "write_table",
    "plugin.FormatTable.picking": "Table.cherry_pick",
    "ScanReport.stage": "any name",
    "plugin.Statistics.bounds_or_counts": "as bounds",
    "plugin.StatisticsSlice.bounds": "the parent does",
    "plugin.StatisticsSlice.bounds_or_counts": "the parent does",
    "plugin.StatisticsSlice.rows_in_parent": "rows of its own",
    "plugin.StatisticsSlice.record_counts": "the whole does",
    "plugin.FormatTransaction.after_commit": "does nothing",
    "plugin.FormatTransaction.application_version": "tests/write",
    "plugin.FormatTransaction.stage_metadata": "tests/write",
    "CatalogTransaction.append": "tests/catalog/test_transactions.py",
    "CatalogTransaction.delete": "tests/catalog/test_transactions.py",
    "CatalogTransaction.overwrite": "tests/catalog/test_transactions.py",
    "CatalogTransaction.table": "tests/catalog/test_transactions.py",
    "plugin.FormatTransaction.prepare": "tests/catalog/test_transactions.py",
    "plugin.FormatTransaction.settle": "tests/catalog/test_transactions.py",
    "plugin.FormatTransaction.turn": "tests/runtime",
    "plugin.FormatTransaction.unknown_outcome": "tests/write",
    "plugin.TableFormat.create": "tests/write",
    "plugin.TableFormat.definition": "tests/iceberg/commits",
    "plugin.stored_leaves": "any target",
    "create_table": "tests/write/test_create.py",
    "write_table": "tests/write/test_create.py",
}
"""Public functions that refuse nothing, and why."""

COMMAND_LINES = {
    "create": (["/no/such/table", "--format", "no", "--column", "id", "bigint"], 1, "no installed plugin"),
    "append": (["DELTA", "rows.txt"], 2, "the ending is none of"),
    "overwrite": (["DELTA", "rows.parquet", "--dynamic", "--where", "true"], 2, "exclude each other"),
    "describe": (["/no/such/table"], 1, "nothing is at the location"),
    "schema": (["DELTA", "--version", "99"], 1, "no version 99"),
    "history": (["DELTA", "--limit", "-1"], 2, "--limit"),
    "files": (["DELTA", "--timestamp", "yesterday"], 1, "'yesterday' is no timestamp"),
    "plan": (["DELTA", "--columns", "x"], 2, "no column 'x'"),
    "count": (["DELTA", "-w", "id >"], 2, "does not parse"),
    "read": (["DELTA", "--version", "1", "--tag", "x"], 2, "exclude each other"),
    "diff": (["DELTA", "0", "99"], 1, "no version 99"),
    "health": (["DELTA", "--branch", "x"], 1, "no branches"),
    "checkpoint": (["DELTA", "--version", "99"], 1, "no version 99"),
    "verify": (["DELTA", "--version", "99"], 1, "no version 99"),
    "orphans": (["DELTA", "--older-than", "soon"], 1, "'soon' is no timestamp"),
    "detail": (["DELTA", "--version", "99"], 1, "no version 99"),
    "clustering": (["DELTA", "x"], 2, "no column 'x'"),
    "report": (["DELTA", "-w", "id >", "-o", "/no/such/report.html"], 2, "does not parse"),
    "diagnose": (["DELTA", "-w", "x = 1"], 2, "no column 'x'"),
    "verify-stats": (["DELTA", "--columns", "x"], 2, "no column 'x'"),
    "plugins": (["--all"], 2, "--all"),
    "ls": (["no-such"], 1, "no catalog 'no-such'"),
}
CASES = [*OPENING, *TABLE, *SCAN, *EXPRESSIONS, *PLUGINS]


@pytest.mark.parametrize(("name", "call", "error", "message"), CASES, ids=[case[0] for case in CASES])
def test_what_is_wrong_is_refused_by_a_typed_error(
    tables: Tables,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    call: Callable[[Tables], Any],
    error: type[BaseException],
    message: str,
) -> None:
    for library in ("polars", "duckdb", "matplotlib"):  # whether or not they are installed
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(error, match=message) as caught:
        found = call(tables)
        if isinstance(found, BaseException):
            raise found
    assert caught.type is error or not issubclass(error, tf.TableFormatsError), "the error that fits"


@pytest.mark.parametrize("command", COMMAND_LINES)
def test_commands(command: str, tables: Tables, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, code, message = COMMAND_LINES[command]
    assert main([command, *(tables.delta.location if a == "DELTA" else a for a in arguments)]) == code
    out, err = capsys.readouterr()
    assert not out and message in err and "Traceback" not in err


def test_every_public_function_has_a_case() -> None:
    has_case = {case[0] for case in CASES}
    assert sorted({*public()} - has_case - NOTHING_WRONG.keys()) == []
    assert sorted(NOTHING_WRONG.keys() - {*public()}) == [], "these are gone"
    assert not NOTHING_WRONG.keys() & has_case
    every = (*COMMANDS, *CATALOG_COMMANDS, *WRITE_COMMANDS, *UPKEEP_COMMANDS, *CHECK_COMMANDS)
    assert {command.name for command in every} == COMMAND_LINES.keys()


def public() -> Iterator[str]:
    """The names of the public functions, methods and classes that callers make themselves."""
    made_by_us = (
        tf.Table,
        tf.Snapshot,
        tf.Scan,
        tf.ScanPlan,
        tf.ScanTask,
        tf.ScanReport,
        tf.CatalogTransaction,
        tf.Changes,
        tf.Inspector,
        tf.Column,
        tf.PartitionField,
    )
    for name in tf.__all__:
        value = getattr(tf, name)
        is_error = inspect.isclass(value) and issubclass(value, BaseException)
        if callable(value) and not is_error and value not in made_by_us:
            yield name
    yield from (f"spark.{name}" for name in tf.spark.__all__)
    for kind in (*made_by_us, tf.Schema, tf.Limits, tf.MetadataCache):
        yield from (f"{kind.__name__}.{name}" for name in methods(kind))
    for name in plugin.__all__:
        value = getattr(plugin, name)
        if not getattr(value, "__module__", "").startswith("tableformats.plugin."):
            continue  # a helper of a lower package, which has tests of its own
        if inspect.isclass(value) and name not in tf.__all__:
            yield from (f"plugin.{name}.{method}" for method in methods(value))
        elif callable(value) and not inspect.isclass(value):
            yield f"plugin.{name}"


def methods(kind: type) -> list[str]:
    """The public methods that ``kind`` itself defines; what a plugin has to define is the plugin's."""
    return [
        name
        for name, value in vars(kind).items()
        if not name.startswith("_")
        and isinstance(value, (type(public), classmethod, staticmethod))
        and not getattr(value, "__isabstractmethod__", False)
    ]


class Session:
    """As much of a Spark session as is looked at before anything else is."""

    range: Any = None
    version = "4.0.0"


class MisspeltHook:
    """A plugin's module."""

    @staticmethod
    @plugin.hookimpl
    def tableformats_register_format() -> list[Any]:
        return []


def load(module: Any) -> Any:
    """The error with which a plugin is recorded, for an entry point that gives ``module``."""

    class Entry:
        name, value, dist = "misspelt", "misspelt", None

        def load(self) -> Any:
            return module

    return PluginHost([Entry()]).plugins[0].error  # type: ignore[list-item]


def fails() -> Any:
    raise OSError("the store is away")


def keyed_batch() -> plugin.FileBatch:
    return plugin.FileBatch(pa.record_batch({"path": ["a"]}), keys=pa.array([b"a"]))


def request() -> plugin.ReadRequest:
    return plugin.ReadRequest((), ScanReport())


def away(snapshot: tf.Snapshot, version: int) -> tf.Snapshot:
    """The snapshot as another process has it, when the version that was asked for is gone."""
    found = tf.Snapshot(snapshot.table, snapshot.format_snapshot, {"version": version})
    found._is_unpickled = True
    return found
