"""Writes the golden tables with the reference writers (deltalake, pyiceberg), and what their readers answer.

    python -m tests.golden.write

replaces ``tests/golden/tables``. Each table has an ``expected.json`` beside it: for every version the rows as the
reference reader returns them, sorted by ``id``. The tables are small and committed, so that the tests read bytes of
real writers wherever they run.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
import tempfile
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.support.golden import TABLES, answers

UTC = dt.timezone.utc
START = dt.datetime(2024, 1, 1, tzinfo=UTC)


def rows(first: int, last: int) -> pa.Table:
    """Rows ``first`` to ``last`` - 1 with every common type, NULLs and edge values."""
    ids = range(first, last)
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            ("name", pa.string()),
            ("amount", pa.decimal128(12, 2)),
            ("score", pa.float64()),
            ("day", pa.date32()),
            ("ts", pa.timestamp("us", "UTC")),
            ("ok", pa.bool_()),
            ("place", pa.struct([("city", pa.string()), ("zip", pa.int32())])),
            ("tags", pa.list_(pa.string())),
        ]
    )
    records = [
        {
            "id": i,
            "name": None if i % 7 == 3 else f"name-{i:03d}",
            "amount": Decimal(i * 1999).scaleb(-2),
            "score": float("nan") if i % 11 == 5 else (i - 10) / 4,
            "day": START.date() + dt.timedelta(days=i // 10),
            "ts": START + dt.timedelta(hours=6 * i, microseconds=i),
            "ok": None if i % 5 == 4 else i % 2 == 0,
            "place": None if i % 6 == 5 else {"city": ["Oslo", "São Paulo", "東京"][i % 3], "zip": i * 7},
            "tags": [f"t{j}" for j in range(i % 3)],
        }
        for i in ids
    ]
    return pa.Table.from_pylist(records, schema)


def write_delta(folder: Path) -> None:
    """Partitions, four appends, a delete, an added column, a checkpoint, commits after it."""
    from deltalake import DeltaTable, write_deltalake

    location = str(folder / "table")
    for first in (0, 10, 20, 30):
        write_deltalake(location, rows(first, first + 10), mode="append", partition_by=["day"])
    table = DeltaTable(location)
    table.delete("id = 12")
    table.create_checkpoint()
    wider = rows(40, 45).append_column("note", pa.array(["a", None, "c", "d", "e"]))
    write_deltalake(location, wider, mode="append", schema_mode="merge")
    expected = {v: answers(pa.table(DeltaTable(location, version=v).to_pyarrow_table())) for v in range(6)}
    save(folder, "delta", "deltalake", expected)


def write_iceberg(folder: Path) -> None:
    """Partitions by day(ts) and bucket(id), appends, a delete, a rename, an added column, a tag."""
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.transforms import BucketTransform, DayTransform
    from pyiceberg.types import StringType

    with tempfile.TemporaryDirectory() as scratch:
        catalog = SqlCatalog("golden", uri=f"sqlite:///{scratch}/catalog.db", warehouse=f"file://{scratch}")
        catalog.create_namespace("db")
        table = catalog.create_table("db.t", schema=rows(0, 0).schema, properties={"format-version": "2"})
        with table.update_spec() as spec:
            spec.add_field("ts", DayTransform(), "ts_day")
            spec.add_field("id", BucketTransform(4), "id_bucket")
        for first in (0, 8):
            table.append(rows(first, first + 8))
        table.manage_snapshots().create_tag(table.current_snapshot().snapshot_id, "before-delete").commit()
        table.delete("id = 9")
        with table.update_schema() as update:
            update.rename_column("name", "title")
            update.add_column("note", StringType())
        table.append(
            rows(16, 20).rename_columns({"name": "title"}).append_column("note", pa.array(["x", None, "y", "z"]))
        )
        table = catalog.load_table("db.t")
        expected = {s.snapshot_id: answers(table.scan(snapshot_id=s.snapshot_id).to_arrow()) for s in table.snapshots()}
        root = Path(table.location().removeprefix("file://"))
        shutil.copytree(root, folder / "table")
    save(folder, "iceberg", "pyiceberg", expected)


def save(folder: Path, format: str, writer: str, expected: dict[int, Any]) -> None:
    document = {"format": format, "writer": f"{writer} {version(writer)}", "versions": expected}
    (folder / "expected.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def main() -> None:
    shutil.rmtree(TABLES, ignore_errors=True)
    for name, write in (("delta-evolved", write_delta), ("iceberg-evolved", write_iceberg)):
        (TABLES / name).mkdir(parents=True)
        write(TABLES / name)
        print(f"{name}: {sum(f.is_file() for f in (TABLES / name).rglob('*'))} files")


if __name__ == "__main__":
    main()
