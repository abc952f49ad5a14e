"""``tableformats demo DIR``: write two small tables, run the same query on both, and compare six readers.

The same rows are written to a Delta table and an Iceberg table, each with appends, a delete and a schema change. The
same predicate is planned on both. Arrow and Spark read both, and so do the formats' own libraries in Python, deltalake
and PyIceberg. All six results must be the same, and equal to the expected rows, which are computed without a reader.
Every run writes the same rows.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import TableFormatsError
from ..inspect.text import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from ..table.scan import Scan

__all__ = ["PREDICATE", "demo", "demo_rows", "write_tables"]

PREDICATE = "country = 'BR' AND ts >= TIMESTAMP '2024-01-20 00:00:00Z' AND amount > 40"

_MARKER = ".tableformats-demo"
_CONTENT = {_MARKER, "delta", "iceberg"}
_INSTALL = "pip install 'tableformats[demo]'"
_NEEDED = ("deltalake", "pyiceberg")
_COUNTRIES = ("BR", "DE", "IN", "JP")
_FIRST_DAY = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
_APPENDS, _DAYS_AN_APPEND, _ROWS_A_DAY = 8, 3, 24
_DELETED_COUNTRY = "BR"
_DELETED_FROM, _DELETED_TO = 530, 540
_CHANNEL_SINCE = 4  # the first append with the column
_DELETED = f"country = '{_DELETED_COUNTRY}' AND id >= {_DELETED_FROM} AND id < {_DELETED_TO}"


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error.")
def demo(directory: Path) -> int:
    """Write two small tables to DIR, plan and read both."""
    _require_readers()
    _prepare(directory)
    with _step(f"Writing {directory / 'delta'} and {directory / 'iceberg'}"):
        locations = write_tables(directory)
    from ..table.table import open_table

    scans = {name: open_table(location).scan(PREDICATE) for name, location in locations.items()}
    for name, scan in scans.items():
        click.echo(f"\n{'─' * 12} {name}: plan of {PREDICATE} {'─' * 12}\n")
        click.echo(scan.plan().explain())
    click.echo(f"\n{'─' * 12} rows {'─' * 12}\n")
    answers = {}
    for name, scan in scans.items():
        with _step(f"Reading {name} with Arrow"):
            answers[f"{name} with Arrow"] = _by_arrow(scan)
    with _step("Reading delta with deltalake"):
        answers["delta with deltalake"] = _by_deltalake(locations["delta"])
    with _step("Reading iceberg with PyIceberg"):
        answers["iceberg with PyIceberg"] = _by_pyiceberg(locations["iceberg"])
    missing = _missing_for_spark()
    if missing is None:
        with _step("Starting Spark"):
            spark = _start_spark()
        try:
            for name, scan in scans.items():
                with _step(f"Reading {name} with Spark {spark.version}"):
                    answers[f"{name} with Spark"] = _by_spark(scan, spark)
        finally:
            spark.stop()
    _compare(answers)
    if missing is not None:
        click.secho(f"\nSPARK WAS NOT TRIED: {missing}", fg="red", err=True)
        return 1
    click.echo(f"\nTry it:  tableformats plan {locations['delta']} -w \"country = 'JP'\"")
    return 0


def _require_readers() -> None:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise TableFormatsError(f"the demo compares with {', '.join(missing)}, not installed", hint=_INSTALL)


def _prepare(directory: Path) -> None:
    """Make the directory, or remove the files of an earlier demo from it. Nothing else is ever removed."""
    if directory.is_dir() and (content := {entry.name for entry in directory.iterdir()}):
        if _MARKER not in content or content - _CONTENT:
            strange = sorted(content - _CONTENT) or sorted(content)
            raise TableFormatsError(
                f"the directory holds what no demo wrote: {printable(strange[0])}",
                path=str(directory),
                hint="Name a new or empty directory",
            )
        for name in content:
            entry = directory / name
            shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
    directory.mkdir(parents=True, exist_ok=True)
    (directory / _MARKER).write_text("Written by 'tableformats demo', which may replace everything here.\n")


@contextmanager
def _step(text: str) -> Iterator[None]:
    click.echo(f"{text} ... ", nl=False)
    start = time.perf_counter()
    try:
        yield
    except BaseException:
        click.echo("failed")
        raise
    click.echo(f"{time.perf_counter() - start:.1f} s")


def write_tables(directory: Path) -> dict[str, str]:
    """Write both tables below ``directory`` and return their locations by format."""
    return {"delta": _write_delta(directory / "delta"), "iceberg": _write_iceberg(directory / "iceberg")}


def demo_rows(append: int) -> pa.Table:
    """The rows of one append: three days of orders. ``channel`` exists from the fifth append on."""
    import pyarrow as pa

    rows_an_append = _DAYS_AN_APPEND * _ROWS_A_DAY
    ids = range(append * rows_an_append, (append + 1) * rows_an_append)
    rows = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "ts": pa.array([_FIRST_DAY + dt.timedelta(hours=i) for i in ids], pa.timestamp("us", "UTC")),
            "country": pa.array([_COUNTRIES[i % len(_COUNTRIES)] for i in ids]),
            "amount": pa.array([None if i % 50 == 7 else i * 37 % 1000 / 10 for i in ids], pa.float64()),
        }
    )
    if append >= _CHANNEL_SINCE:
        rows = rows.append_column("channel", pa.array(["web" if i % 3 else "shop" for i in ids]))
    return rows


def expected_rows() -> list[tuple[Any, ...]]:
    """The rows that match :data:`PREDICATE`, computed from the constants; ``ts`` in microseconds since the epoch."""
    import pyarrow as pa

    everything = pa.concat_tables([demo_rows(i) for i in range(_APPENDS)], promote_options="default")
    since = dt.datetime(2024, 1, 20, tzinfo=dt.timezone.utc)
    return _sorted_rows(
        {**row, "ts": (row["ts"] - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)) // dt.timedelta(microseconds=1)}
        for row in everything.to_pylist()
        if row["country"] == "BR" and row["ts"] >= since and (row["amount"] or 0) > 40
        if not (row["country"] == _DELETED_COUNTRY and _DELETED_FROM <= row["id"] < _DELETED_TO)
    )


def _write_delta(path: Path) -> str:
    """Partitioned by country; a checkpoint in the middle, a new column, a delete."""
    from ..table.create import create_table

    once = {"delta.checkpointInterval": "100"}  # the checkpoint is the one that is asked for
    table = create_table(path, demo_rows(0).schema, format="delta", partition_by=["country"], properties=once)
    for append in range(_APPENDS):
        if append == _CHANNEL_SINCE:
            table.alter.add_columns({"channel": "string"})
            table.checkpoint()
        table.append(demo_rows(append))
    table.delete(_DELETED)
    return str(path)


def _write_iceberg(path: Path) -> str:
    """Partitioned by day(ts); a renamed column, a new column, a delete."""
    from ..table.create import create_table

    first = _before_the_rename(demo_rows(0))
    table = create_table(path, first.schema, format="iceberg", partition_by=["day(ts)"])
    for append in range(_APPENDS):
        if append == _CHANNEL_SINCE:
            table.alter.rename_column("price", "amount")
            table.alter.add_columns({"channel": "string"})
        rows = demo_rows(append)
        table.append(rows if append >= _CHANNEL_SINCE else _before_the_rename(rows))
    table.delete(_DELETED)
    return str(path)


def _before_the_rename(rows: pa.Table) -> pa.Table:
    return rows.rename_columns(["price" if name == "amount" else name for name in rows.column_names])


def _missing_for_spark() -> str | None:
    """Why Spark cannot start here, or None."""
    if importlib.util.find_spec("pyspark") is None:
        return f"PySpark is not installed; {_INSTALL}"
    home = os.environ.get("JAVA_HOME")
    if not (home and (Path(home) / "bin" / "java").exists()) and shutil.which("java") is None:
        return "there is no Java; install Java 17 or set JAVA_HOME, and run the demo again"
    return None


def _start_spark() -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("tableformats demo")
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    return builder.config(map=quiet).getOrCreate()


def _by_arrow(scan: Scan) -> list[tuple[Any, ...]]:
    return _arrow_rows(scan.to_arrow())


def _by_deltalake(location: str) -> list[tuple[Any, ...]]:
    import pyarrow.compute as pc
    from deltalake import DeltaTable

    since = dt.datetime(2024, 1, 20, tzinfo=dt.timezone.utc)
    matching = (pc.field("country") == "BR") & (pc.field("ts") >= since) & (pc.field("amount") > 40)
    return _arrow_rows(DeltaTable(location).to_pyarrow_table().filter(matching))


def _by_pyiceberg(location: str) -> list[tuple[Any, ...]]:
    from pyiceberg.table import StaticTable

    hint = Path(location, "metadata", "version-hint.text").read_text().strip()
    table = StaticTable.from_metadata(str(Path(location, "metadata", f"v{hint}.metadata.json")))
    matching = "country = 'BR' and ts >= '2024-01-20T00:00:00+00:00' and amount > 40"
    return _arrow_rows(table.scan(row_filter=matching).to_arrow())


def _arrow_rows(rows: pa.Table) -> list[tuple[Any, ...]]:
    import pyarrow as pa

    index = rows.column_names.index("ts")
    return _sorted_rows(rows.set_column(index, "ts", rows["ts"].cast(pa.int64())).to_pylist())


def _by_spark(scan: Scan, spark: Any) -> list[tuple[Any, ...]]:
    frame = scan.to_spark(spark).selectExpr("id", "unix_micros(ts) AS ts", "country", "amount", "channel")
    return _sorted_rows(row.asDict() for row in frame.collect())


def _sorted_rows(rows: Any) -> list[tuple[Any, ...]]:
    return sorted((r["id"], r["ts"], r["country"], r["amount"], r.get("channel")) for r in rows)


def _compare(answers: dict[str, list[tuple[Any, ...]]]) -> None:
    """Print the number of rows of each result; raise TableFormatsError if one is wrong."""
    expected = expected_rows()
    click.echo()
    wrong = [name for name, rows in answers.items() if rows != expected]
    for name, rows in answers.items():
        verdict = "as written" if rows == expected else f"WRONG: {len(expected)} were to be found"
        click.echo(f"{name:<24}{len(rows):>5} rows, {verdict}")
    if wrong:
        raise TableFormatsError(f"these answers are wrong: {', '.join(wrong)}", hint="Please report it with the output")
