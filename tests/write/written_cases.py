"""A program of every verb on a table of each format, and all metadata that it writes.

``python -m tests.write.written_cases`` writes it to ``written.json``: read what has changed there.
"""

from __future__ import annotations

import datetime as dt
import json
import tempfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import tableformats as tf
from tests.support import leaves
from tests.support.dumps import Dump

PINNED = Path(__file__).with_name("written.json")
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("day", pa.date32()),
        ("price", pa.decimal128(9, 2)),
        ("name", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("ratio", pa.float64()),
        ("tags", pa.list_(pa.string())),
        ("inner", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ]
)
KINDS = {
    "delta": {"partition_by": ["day"], "properties": {"delta.enableDeletionVectors": "true"}},
    "delta, by name": {
        "partition_by": ["day"],
        "properties": {
            "delta.columnMapping.mode": "name",
            "delta.enableChangeDataFeed": "true",
            "delta.enableInCommitTimestamps": "true",
            "delta.enableRowTracking": "true",
        },
    },
    "iceberg 1": {"partition_by": ["day"], "properties": {"format-version": "1"}},
    "iceberg 2": {
        "partition_by": ["month(day)", "bucket(4, id)", "truncate(2, name)"],
        "sort_by": ["id"],
        "properties": {"format-version": "2"},
    },
    "iceberg 3": {"partition_by": ["day"], "properties": {"format-version": "3"}},
}


def rows(first: int, count: int, **others: Any) -> pa.Table:
    found = []
    for i in range(first, first + count):
        day = dt.date(2024, 1, 31) + dt.timedelta(days=i // 2)
        row = {
            "id": i,
            "day": None if i == 5 else day,
            "price": None if i % 3 == 2 else f"{i}.25",
            "name": f"name {i}" * (i % 4),
            "at": dt.datetime(2024, 1, 1, i % 24, tzinfo=dt.timezone.utc),
            "ratio": [0.5, -0.0, float("nan"), None][i % 4],
            "tags": [["a", None], [], None][i % 3],
            "inner": None if i % 5 == 4 else {"a": i, "b": None},
        }
        found.append({**row, **others, "price": row["price"] and Decimal(row["price"])})
    return pa.Table.from_pylist(found, SCHEMA)


Step = Callable[[Any], Any]
STEPS: dict[str, Step] = {
    "append": lambda t: t.append(rows(0, 6)),
    "append again": lambda t: t.append(rows(6, 4)),
    "append nothing": lambda t: t.append(rows(0, 0)),
    "overwrite where": lambda t: t.overwrite(rows(2, 2, name="new"), where="id >= 2 AND id < 4"),
    "delete rows": lambda t: t.delete("id = 7"),
    "delete files": lambda t: t.delete("day = DATE '2024-02-04'"),
    "add columns": lambda t: t.alter.add_columns({"extra": pa.int32()}),
    "rename": lambda t: t.alter.rename_column("ratio", "share"),
    "comment": lambda t: t.alter.set_comment("name", "who"),
    "widen": lambda t: t.alter.change_type("extra", pa.int64()),
    "properties": lambda t: t.alter.set_properties({"owner": "me"}),
    "unset": lambda t: t.alter.unset_properties("owner"),
    "drop": lambda t: t.alter.drop_columns("tags"),
    "partitioning": lambda t: t.alter.set_partitioning("name"),
    "sort order": lambda t: t.alter.set_sort_order("name"),
    "append after": lambda t: t.append(pa.table({"id": pa.array([100], pa.int64()), "name": ["n"]})),
    "constraint": lambda t: t.alter.add_constraint("positive", "id >= 0"),
    "tag": lambda t: t.create_tag("v1"),
    "branch": lambda t: t.create_branch("b"),
    "two in one": lambda t: two_in_one(t),
    "restore": lambda t: t.restore(t.history()["version"].to_pylist()[-2]),
    "checkpoint": lambda t: t.checkpoint(),
    "compact log": lambda t: t.compact_log(1, 3),
    "overwrite": lambda t: t.overwrite(pa.table({"id": pa.array([1], pa.int64())})),
}


LAST = "overwrite"
"""Before it, what a user is told of the table is looked at."""


def two_in_one(table: tf.Table) -> None:
    with table.transaction(application=("app", 1)) as transaction:
        transaction.delete("id = 100")
        transaction.append(pa.table({"id": pa.array([200], pa.int64()), "name": ["t"]}))


def written(kind: str, root: Path) -> Iterator[tuple[str, list[str]]]:
    """Each step, and what it wrote, or why it is refused."""
    dump = Dump(root)
    tf.create_table(root, SCHEMA, format=kind.partition(",")[0].split()[0], **KINDS[kind])
    yield "create", [*map(short, dump.new_lines())]
    for name, step in STEPS.items():
        if name == LAST:
            yield "read", [short(dump.plain(line)) for line in shown(tf.open_table(root))]
        try:
            step(tf.open_table(root))
        except Exception as error:
            yield name, [f"{type(error).__name__}: {error}".replace(str(root), "ROOT")]
        else:
            yield name, [*map(short, dump.new_lines())]


def shown(table: tf.Table) -> Iterator[str]:
    """What a user is told of the table."""
    for name in ("files", "snapshots", "history", "manifests", "partitions", "entries", "refs", "tombstones"):
        try:
            found = getattr(table.inspect, name)()
        except tf.errors.TableFormatsError as error:
            yield f"{name}: {error}"
        else:
            yield f"{name}: {found.schema.names}"
            yield from (f"{name}: {json.dumps(row, default=str)}" for row in found.to_pylist())
    yield from sorted(f"row: {row}" for row in table.scan().to_arrow().to_pylist())
    yield f"{table.schema}"
    yield f"{table.detail()}"


def short(line: str) -> str:
    """The line; the end of a long one is a digest."""
    return line if len(line) < 120 else f"{line[:90]} {leaves.digest(line)}"


def found_for(kind: str) -> dict[str, list[str]]:
    with tempfile.TemporaryDirectory() as folder:
        return dict(written(kind, Path(folder).resolve() / "table"))


def main() -> None:
    leaves.write(PINNED, {kind: found_for(kind) for kind in KINDS})


if __name__ == "__main__":
    main()
