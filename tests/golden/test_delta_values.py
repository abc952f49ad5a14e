"""Rows of the Delta conformance tables at every version, value by value: DAT's own answers, elsewhere deltalake's."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf
from tests.support.conformance import ROOT, DeltaCase, delta_cases, has_data, needs_tables

pytestmark = [needs_tables, pytest.mark.conformance]

DAT = sorted((ROOT / "delta" / "dat-2022").rglob("table_content.parquet"))
MOST_ROWS = 1000
"""Rows of a table that are compared one by one; of larger ones Spark's answers are compared elsewhere."""


def bag(table: pa.Table) -> Counter[str]:
    """The rows, whatever their order; repr keeps 1, 1.0 and True apart, and -0.0 from 0.0."""
    return Counter(repr(sorted(plain(row).items())) for row in table.to_pylist())


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize("answer", DAT, ids=lambda path: "/".join(path.parts[-4:-1]))
def test_dat(answer: Path) -> None:
    """Content, version and protocol of each version, as Delta Acceptance Testing has them."""
    described = json.loads((answer.parent / "table_version_metadata.json").read_text())
    version = None if answer.parent.name == "latest" else described["version"]
    snapshot = tf.open_table(answer.parents[2] / "delta").snapshot(version)
    assert snapshot.version == described["version"]
    protocol = snapshot.format_snapshot.protocol  # type: ignore[attr-defined]
    assert protocol["minReaderVersion"] == described["min_reader_version"]
    assert protocol["minWriterVersion"] == described["min_writer_version"]
    assert snapshot.properties == described["properties"]
    expected = pq.ParquetFile(answer, coerce_int96_timestamp_unit="us").read()
    assert bag(snapshot.scan().to_arrow()) == bag(expected)


def versions_with_rows() -> list[tuple[DeltaCase, int]]:
    """Versions of tables whose rows are few and known to the recorded answers."""
    return [
        (case, int(version))
        for case in delta_cases()
        if case.must_fail is None
        for version, answer in (case.oracle["versions"] or {}).items()
        if not isinstance(answer, str) and answer[1] is not None and answer[1] <= MOST_ROWS
    ]


@pytest.mark.parametrize(("case", "version"), versions_with_rows(), ids=str)
def test_every_version(case: DeltaCase, version: int) -> None:
    deltalake = pytest.importorskip("deltalake")
    scan = tf.open_table(case.path, format="delta").scan(version=version)
    if not has_data(scan.plan()):
        pytest.skip("data files of this version are not kept")
    try:
        query = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(str(case.path), version=version))
        expected = pa.table(query.execute("SELECT * FROM t").read_all())
    except Exception as error:
        pytest.skip(f"deltalake does not read this version: {str(error)[:80]}")
    assert bag(scan.to_arrow()) == bag(expected)


def literal(value: Any) -> str | None:
    """The value in SQL; None for kinds that have no literals, and for what is no number."""
    if isinstance(value, (bool, int, Decimal)):
        return str(value)
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)" if math.isfinite(value) else None
    if isinstance(value, dt.date):
        return f"'{value.isoformat()}'"
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'" if isinstance(value, str) else None


def filters(rows: list[dict[str, Any]]) -> Iterator[tuple[str, Callable[[dict[str, Any]], bool]]]:
    """Filters by values that stand in the columns, and what they say of a row."""
    for name in rows[0]:
        known = [row[name] for row in rows if row[name] is not None]
        value = known[len(known) // 2] if known else None
        text, column = literal(value), "`" + name.replace("`", "``") + "`"
        if text is None or any(isinstance(v, float) and math.isnan(v) for v in known):
            continue
        yield f"{column} = {text}", lambda row, name=name, value=value: row[name] == value
        yield (
            f"{column} > {text} OR {column} IS NULL",
            lambda row, name=name, value=value: row[name] is None or row[name] > value,
        )


@pytest.mark.parametrize("case", [case for case in delta_cases() if case.must_fail is None], ids=str)
def test_filters(case: DeltaCase) -> None:
    """Whatever is pruned by what the log says, the rows are those that pass the filter."""
    table = tf.open_table(case.path, format="delta")
    if not has_data(table.scan().plan()) or not 0 < (case.oracle["num_rows"] or 0) <= MOST_ROWS:
        pytest.skip("no rows, too many, or their files are not kept")
    rows = table.scan().to_arrow().to_pylist()
    for where, passes in filters(rows):
        found = table.scan(where).to_arrow().to_pylist()
        assert Counter(map(repr, found)) == Counter(repr(row) for row in rows if passes(row)), where
