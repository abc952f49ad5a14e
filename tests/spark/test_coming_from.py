"""docs/coming-from.md: what is here for delta-spark and for Iceberg's runtime runs in a session, and gives the rows."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.spark.support.session import has_data_sources
from tests.support.coming_from import pairs, run

BEFORE, BOTH, NEW = [0, 1, 2], [0, 1, 2, 3, 4, 5], [6]
DELTA = {
    "SELECT count(*)": 3,
    'spark, "events")': BOTH,
    "version=0": BEFORE,
    "timestamp=": BOTH,
    "changes(1)": [3, 4, 5],
    "spark.view": BOTH,
    "scan().to_spark": BOTH,
    "append(": BOTH + NEW,
    "overwrite(df)": NEW,
    "overwrite(table": BEFORE,
    "where=": BOTH + NEW,
    "write_table": NEW,
    "delete(": BEFORE,
}
ICEBERG = {
    'spark, "orders")': BOTH,
    "version=first": BEFORE,
    "timestamp=": BOTH,
    "branch=": BOTH,
    "scan(first)": [3, 4, 5],
    "changes(last)": [3, 4, 5],
    "append(": BOTH + NEW,
    "where=": BOTH + NEW,
    "write_table": NEW,
    "delete(": BEFORE,
    "restore(": BEFORE,
}
"""Part of the code -> the ids that it gives, or that are then in the table that it writes."""


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("title", "name", "format", "expected"),
    [("delta-spark", "events", "delta", DELTA), ("Iceberg's Spark runtime", "orders", "iceberg", ICEBERG)],
)
def test_ours(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    title: str,
    name: str,
    format: str,
    expected: dict[str, Any],
) -> None:
    place = tmp_path / "work"
    place.mkdir()
    monkeypatch.chdir(place)
    for day, ids in ((1, range(3)), (2, range(3, 6))):
        rows = pa.table({"id": pa.array(ids, pa.int64()), "day": pa.array([day] * 3, pa.int64())})
        tf.write_table(rows, name, format=format, mode="append", partition_by="day")
    shutil.copytree(place, tmp_path / "kept")
    for theirs, ours in pairs(title):
        if "Stream" in ours and not has_data_sources():
            continue
        table = tf.open_table(name, cache=False)
        last, first = table.history()["version"].to_pylist()
        moment = table.snapshot().timestamp
        df = spark.createDataFrame([(6, 3)], "id long, day long")
        stream = spark.readStream.format("rate").load().selectExpr("value AS id", "3L AS day")
        names = {
            "stream": stream,
            "tf": tf,
            "spark": spark,
            "table": table,
            "df": df,
            "first": first,
            "last": last,
            "moment": moment,
        }
        # A path without a directory is Spark's own, in its home; the page's reader has one.
        code = ours.replace(f'"{name}")', f'"{place / name}")').replace('"c"', f'"{place / "c"}"')
        value = run(code, {**names, "millis": int(moment.timestamp() * 1000)})
        wanted = next((ids for part, ids in expected.items() if part in ours), None)
        assert wanted is None or found(value, place, name) == wanted, theirs
        if hasattr(value, "awaitTermination"):
            assert value.isActive
            value.stop()
        if value is not None and type(value).__name__ == "Commit":
            for made in place.iterdir():
                shutil.rmtree(made)
            shutil.copytree(tmp_path / "kept", place, dirs_exist_ok=True)


def found(value: Any, place: Path, name: str) -> Any:
    if type(value).__name__ == "Commit":
        made = place / "new"
        return sorted(tf.open_table(made if made.exists() else place / name).to_arrow()["id"].to_pylist())
    rows = value.collect()
    return sorted(row.id for row in rows) if "id" in value.columns else rows[0][0]
