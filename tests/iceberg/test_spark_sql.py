"""Spark with Iceberg's own runtime reads tables that were written here: rows, metadata tables, references, filters.

Then it appends to each of them, and we read that. ``TABLEFORMATS_SPARK_SQL=1`` runs it, in an environment with PySpark
4.1, Java 17 and Maven; without it the tests skip.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf

from ..spark.compare import session
from ..support.verified import assert_clean
from .test_java_turns import METADATA, in_order, sorted_rows

pytestmark = pytest.mark.skipif(
    not os.environ.get("TABLEFORMATS_SPARK_SQL"), reason="set TABLEFORMATS_SPARK_SQL=1; needs PySpark 4.1, Java, Maven"
)

UTC = dt.timezone.utc
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("i", pa.int32()),
        ("f", pa.float32()),
        ("x", pa.float64()),
        ("s", pa.string()),
        ("b", pa.binary()),
        ("d", pa.decimal128(9, 2)),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("ntz", pa.timestamp("us")),
        ("ok", pa.bool_()),
        ("st", pa.struct([("a", pa.int32()), ("n", pa.string())])),
        ("li", pa.list_(pa.int64())),
        ("m", pa.map_(pa.string(), pa.float64())),
    ]
)
NAN, INF = float("nan"), float("inf")
LAYOUTS = (
    (),
    ("s",),
    ("bucket(3, id)", "truncate(2, s)"),
    ("years(day)", "months(ts)"),
    ("days(ts)", "hours(ntz)"),
    ("day", "ok", "d"),
    ("truncate(10, i)", "truncate(50, d)", "truncate(2, b)"),
    ("bucket(4, d)", "bucket(4, day)", "bucket(4, ts)", "bucket(4, s)", "bucket(4, b)"),
    ("x", "f"),
    ("bucket(2, i)", "b", "ts", "void(s)"),
)
FILTERS = (
    *("id > 4", "i < 0", "i = 12", "f > 1", "x < 0", "x = 0", "s = 'ab'", "s like 'zz%'", "s is null", "s >= 'z'"),
    *("d > 0", "d = -0.01", "day >= date '2024-01-01'", "day < date '1970-01-01'", "ok", "not ok", "x is null"),
    *("ts < timestamp '1970-01-01 00:00:00Z'", "ts > timestamp '2024-02-29 12:00:00Z'", "i is not null and d < 5"),
)


def row(n: int) -> dict[str, Any]:
    def one(*values: Any) -> Any:
        return values[n % len(values)]

    ts = one(
        None, dt.datetime(1969, 12, 31, 23, 59, 59, 999999), dt.datetime(2024, 2, 29, 12, 30), dt.datetime(1970, 1, 1)
    )
    return {
        "id": n,
        "i": one(None, -1, 12, 2**31 - 1, -(2**31)),
        "f": one(1.5, NAN, None, -0.0, INF, 0.0),
        "x": one(NAN, 0.0, -2.5, None, -0.0, -INF),
        "s": one(None, "", "ab", "abc", "zz\u00e9\U0001f600" + "z" * 20, "\U0010ffff" * 20, "a/b=c d"),
        "b": one(b"", None, b"\xff" * 20, b"ab\x00"),
        "d": one(None, Decimal("-0.01"), Decimal("12.30"), Decimal("9999999.99"), Decimal("-50.01")),
        "day": one(dt.date(1969, 12, 31), None, dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)),
        "ts": ts and ts.replace(tzinfo=UTC),
        "ntz": ts,
        "ok": one(True, None, False),
        "st": one(None, {"a": 1, "n": None}, {"a": None, "n": "q"}),
        "li": one([], None, [1, None], [2]),
        "m": one([], None, [("k", 1.0), ("l", None)]),
    }


def arrow(*numbers: int) -> pa.Table:
    return pa.Table.from_pylist([row(n) for n in numbers], SCHEMA)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    try:
        yield session.session()
    except session.Unavailable as reason:
        pytest.skip(f"Spark with Iceberg's runtime: {reason}")


def any_value(value: Any) -> bool:
    return any(map(any_value, value.values())) if isinstance(value, dict) else value is not None


def of_dropped_columns(root: Path) -> frozenset[str]:
    """The names of partition fields whose source column the current schema lacks."""
    newest = max(root.glob("metadata/v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))
    found = json.loads(newest.read_text())
    schema = next(one for one in found["schemas"] if one["schema-id"] == found["current-schema-id"])
    ids = {column["id"] for column in schema["fields"]}
    fields = [one for spec in found["partition-specs"] for one in spec["fields"]]
    return frozenset(one["name"] for one in fields if one["source-id"] not in ids)


def differences(ours: Any, theirs: Any, forgotten: frozenset[str], place: str = "") -> list[str]:
    """The places at which two values differ. Metrics that are all NULL are none.

    Ours have no members for what is in lists and maps. Java shows no values of the partition fields ``forgotten``.
    """
    ours, theirs = [None if isinstance(v, dict) and not any_value(v) else v for v in (ours, theirs)]
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            one
            for key in ours | theirs
            if key in ours or "readable" not in place
            for one in differences(ours.get(key), theirs.get(key), forgotten, f"{place}.{key}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [
            one
            for i, (a, b) in enumerate(zip(ours, theirs, strict=True))
            for one in differences(a, b, forgotten, f"{place}[{i}]")
        ]
    if theirs is None and forgotten:
        name = place.rpartition(".")[2]
        if (".partition." in place and name in forgotten) or (".partition_summaries[" in place and "bound" in name):
            return []
    return [] if ours == theirs else [f"{place}: {ours!r} {theirs!r}"]


class Judge:
    """Compares what Spark reads of a table with what we read."""

    def __init__(self, spark: Any, root: Path) -> None:
        self.spark, self.root = spark, root

    @property
    def table(self) -> tf.Table:
        return tf.open_table(self.root)

    def theirs(self, what: str = "", **options: Any) -> list[dict[str, Any]]:
        reader = self.spark.read.format("iceberg").options(**options)
        found: list[dict[str, Any]] = reader.load(f"{self.root}{what}").toArrow().to_pylist()
        return found

    def __call__(self) -> None:
        table = self.table
        for ref in table.inspect.refs().to_pylist():
            is_branch, name = ref["type"] == "BRANCH", ref["name"]
            ours = table.scan(branch=name) if is_branch else table.scan(tag=name)
            if is_branch and name != "main":  # Spark reads a branch with the schema of its snapshot
                continue
            theirs = self.theirs() if is_branch else self.theirs(versionAsOf=name)
            assert in_order(ours.to_arrow().to_pylist()) == in_order(theirs), name
        self.metadata()
        assert_clean(self.root)

    def metadata(self) -> None:
        inspect, forgotten = self.table.inspect, of_dropped_columns(self.root)
        specs = len({entry["spec_id"] for entry in inspect.files().to_pylist()})
        for name in METADATA:
            # Java has one row for a partition of all specs.
            if name == "partitions" and specs > 1:
                continue
            ours, theirs = getattr(inspect, name)().to_pylist(), self.theirs(f"#{name}")
            assert len(ours) == len(theirs), name
            common = set(theirs[0]) & set(ours[0]) if theirs and ours else set()
            assert not theirs or len(common) > 2, (name, set(theirs[0]), set(ours[0]))
            mine, other = sorted_rows(ours, common), sorted_rows(theirs, common)
            assert not (found := differences(mine, other, forgotten)), f"{name}, ours and theirs: {found[:8]}"

    def filters(self) -> None:
        """Spark counts all rows, and those of files that Iceberg left: it takes no file for NaN, or for both zeros."""
        frame = self.spark.read.format("iceberg").load(str(self.root))
        wrong = []
        for where in FILTERS:
            name = where.split()[0]
            ours, pruned = self.table.scan(where).count(), frame.where(where).count()
            wanted = frame.where(where.replace(name, f"({name} + 0)")).count() if name in ("f", "x") else pruned
            wrong += [(where, ours, pruned, wanted)] if ours != wanted else []
        assert not wrong, f"ours, Iceberg's, Spark's: {wrong}"

    def appended(self) -> None:
        before, even = self.table.scan().count(), self.table.scan("id % 2 = 0").count()
        frame = self.spark.read.format("iceberg").load(str(self.root))
        frame.where("id % 2 = 0").write.format("iceberg").mode("append").save(str(self.root))
        assert self.table.scan().count() == before + even > before
        self()


@pytest.mark.parametrize("number", range(len(LAYOUTS)), ids=lambda number: ", ".join(LAYOUTS[number]) or "none")
def test_partitions_and_rows(spark: Any, tmp_path: Path, number: int) -> None:
    layout, version = LAYOUTS[number], number % 3 + 1
    judge = Judge(spark, tmp_path / "t")
    properties = {"format-version": str(version), "commit.manifest.min-count-to-merge": "3"}
    tf.create_table(judge.root, SCHEMA, format="iceberg", partition_by=layout, sort_by="id desc", properties=properties)
    table = judge.table
    for first in (0, 10, 20):
        table.append(arrow(*range(first, first + 10)))
    table.delete("id IN (3, 14, 15)")
    table.overwrite(arrow(101, 106, 111), "i < 0")
    table.overwrite(arrow(200, 201, 202), "dynamic")
    judge()
    judge.filters()
    judge.appended()
    table.refresh().delete("id % 3 = 0")
    judge()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_schemas_specs_and_references(spark: Any, tmp_path: Path, version: int) -> None:
    judge = Judge(spark, tmp_path / "t")
    properties = {"format-version": str(version), "write.metadata.previous-versions-max": "4"}
    tf.create_table(judge.root, SCHEMA, format="iceberg", partition_by="bucket(3, id)", properties=properties)
    table = judge.table
    table.append(arrow(*range(10)))
    table.create_tag("first")
    table.create_branch("audit")
    steps: list[Callable[[], Any]] = [
        lambda: table.alter.add_columns({"note": "string", "st.z": "double"}),
        lambda: table.alter.rename_column("f", "g"),
        lambda: table.alter.rename_column("st.a", "first"),
        lambda: table.alter.change_type("i", "long"),
        lambda: table.alter.change_type("g", "double"),
        lambda: table.alter.change_type("d", "decimal(12, 2)"),
        lambda: table.alter.set_nullable("id"),
        lambda: table.alter.move_column("ts", first=True),
        lambda: table.alter.set_comment("s", "what it is called"),
        lambda: table.alter.drop_columns("b", "st.n"),
        lambda: table.alter.set_partitioning("truncate(2, s)", "days(ts)"),
        lambda: table.alter.set_sort_order("s desc nulls last", "bucket(4, id)"),
        lambda: table.alter.set_partitioning("days(ts)"),
        lambda: table.alter.set_sort_order("id"),
        lambda: table.alter.drop_columns("s"),
        lambda: table.append(table.scan("id < 4").to_arrow()),
        lambda: table.delete("i > 12"),
        lambda: table.alter.set_partitioning(),
    ]
    if version == 3:
        steps.append(lambda: table.alter.add_columns({"with_default": "int"}, defaults={"with_default": 7}))
    for step in steps:
        step()
        table.append(table.scan("id = 2").to_arrow().slice(0, 1))
        judge()
    table.create_tag("last", max_age=dt.timedelta(days=3))
    table.create_branch("kept", "first", min_versions=2, max_age=dt.timedelta(days=9), max_version_age=dt.timedelta(1))
    with table.transaction(branch="audit") as txn:
        txn.append(table.scan("id = 1").to_arrow())
    judge()
    table.restore("first")
    judge()
    table.cherry_pick(table.snapshot(branch="audit").version)
    judge()
    for newer in range(version + 1, 4):
        table.alter.set_properties({"format-version": str(newer)})
        judge()
        table.append(table.scan("id = 2").to_arrow().slice(0, 1))
        judge()
    judge.appended()
