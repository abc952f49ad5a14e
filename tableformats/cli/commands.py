"""The commands that inspect one table, and ``plugins``.

Each calls the library once and writes the result. ``--json`` writes all of it; tables for people are shortened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import click

from ..inspect.text import bytes_text, count_text, location_text, printable, time_text
from ..inspect.why import verdict_lines
from .options import (
    as_number,
    opened_scan,
    opened_snapshot,
    opened_table,
    output_options,
    scan_options,
    snapshot_options,
    table_options,
)
from .output import is_number, print_json, print_table, rows_of, value_text, values_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ..planning.handle import SnapshotHandle
    from ..plugin.partitions import PartitionField
    from ..schema import Field
    from ..table.table import Table

__all__ = ["CHECK_FAILED", "COMMANDS", "identity", "table_identity"]

_SHOWN_FILES = 20
_SHOWN_ROWS = 20
_SHOWN_VERSIONS = 20
CHECK_FAILED = 3
"""The exit code where a check of ``health --fail-on`` fails."""

all_option = click.option("--all", "show_all", is_flag=True, help=f"List all files, not only {_SHOWN_FILES}.")


@click.command()
@table_options
@snapshot_options
@output_options
def describe(as_json: bool, **chosen: Any) -> None:
    """Show a table's version, partitioning, size and columns."""
    snapshot = opened_snapshot(chosen)
    report = snapshot.scan().plan().report
    if as_json:
        print_json(
            {
                **identity(snapshot),
                "schema": [_field(f, snapshot.partition_fields) for f in snapshot.schema],
                "partition_fields": [_partition_field(f, snapshot) for f in snapshot.partition_fields],
                "properties": snapshot.properties,
                "files": report.files_planned,
                "files_with_deletes": report.files_with_deletes,
                "size_bytes": report.bytes_planned,
                "record_count": report.rows_planned,
            }
        )
        return
    partitioning = ", ".join(_partition_text(f, snapshot) for f in snapshot.partition_fields)
    facts = [
        ("Location", location_text(snapshot.location)),
        ("Format", snapshot.table_format),
        ("Version", "no snapshot yet" if snapshot.version == -1 else str(snapshot.version)),
        ("Time", time_text(snapshot.timestamp)),
        ("Partitioned by", partitioning or "nothing"),
        ("Files", count_text(report.files_planned)),
        ("  with deletes", count_text(report.files_with_deletes)),
        ("Bytes", bytes_text(report.bytes_planned)),
        ("Rows stored", count_text(report.rows_planned)),
        ("Columns", str(len(snapshot.schema))),
    ]
    for name, value in facts:
        click.echo(f"{name:<16}{printable(value)}")
    for f in snapshot.schema:
        click.echo(f"  {_column_text(f)}")
    if snapshot.properties:
        click.echo("Properties")
        for name, value in sorted(snapshot.properties.items()):
            click.echo(f"  {printable(name)} = {printable(value)}")


@click.command()
@table_options
@snapshot_options
@output_options
def schema(as_json: bool, **chosen: Any) -> None:
    """Show a table's columns."""
    snapshot = opened_snapshot(chosen)
    fields = [_field(f, snapshot.partition_fields) for f in snapshot.schema]
    if as_json:
        print_json({**identity(snapshot), "fields": fields})
        return
    rows = [
        (f["id"], f["name"], f["type"], "no" if f["required"] else "yes", ", ".join(f["partitioned_by"]), f["doc"])
        for f in fields
    ]
    print_table(["id", "name", "type", "nullable", "partitioned by", "comment"], rows, numeric=["id"])


@click.command()
@table_options
@click.option("--limit", metavar="N", type=click.IntRange(min=0), help="Show the newest N versions.")
@output_options
def history(as_json: bool, limit: int | None, **chosen: Any) -> None:
    """Show a table's versions, newest first."""
    table = opened_table(chosen)
    if as_json:
        print_json({**table_identity(table), "versions": rows_of(table.history(limit))})
        return
    versions = table.history(_SHOWN_VERSIONS + 1 if limit is None else limit)
    shown = versions if limit is not None else versions.slice(0, _SHOWN_VERSIONS)
    columns = ["version", "timestamp", "operation"]
    rows = [(v["version"], time_text(v["timestamp"]), v["operation"]) for v in shown.select(columns).to_pylist()]
    print_table(columns, rows, numeric=["version"])
    if shown.num_rows < versions.num_rows:
        click.echo(f"The newest {_SHOWN_VERSIONS} versions; --limit shows more")


@click.command()
@table_options
@snapshot_options
@scan_options
@output_options
def files(as_json: bool, **chosen: Any) -> None:
    """List the data files of a table that a filter keeps."""
    scan = opened_scan(chosen)
    found = scan.plan().files
    if as_json:
        print_json({**identity(scan.snapshot), "files": rows_of(found)})
    else:
        _print_files(found, show_all=True)


@click.command()
@table_options
@snapshot_options
@scan_options
@all_option
@click.option("--files", "every_file", is_flag=True, help="List every file of the table with its verdict instead.")
@click.option(
    "--why", "file", metavar="FILE", help="Say why this file is read or dropped. The end of its path will do."
)
@output_options
def plan(as_json: bool, show_all: bool, every_file: bool, file: str | None, **chosen: Any) -> None:
    """Show which files a query reads, and why others are skipped."""
    scan = opened_scan(chosen)
    planned = scan.plan()
    if file is not None:
        found = planned.why(file)
        if as_json:
            print_json({**identity(scan.snapshot), **asdict(found)})
        else:
            click.echo("\n".join(verdict_lines(found)))
        return
    if every_file:
        verdicts = planned.verdicts()
        if as_json:
            print_json({**identity(scan.snapshot), "files": rows_of(verdicts)})
        else:
            _print_verdicts(verdicts, show_all)
        return
    if as_json:
        from ..expressions import TRUE

        residual = None if planned.residual == TRUE else str(planned.residual)
        print_json(
            {
                **identity(scan.snapshot),
                "report": planned.report.as_dict(),
                "filter_parts": planned.attribution.as_dict(),
                "residual": residual,
                "files": rows_of(planned.files),
            }
        )
        return
    click.echo(planned.explain())
    click.echo("\nPlanned files")
    _print_files(planned.files, show_all)


@click.command()
@table_options
@snapshot_options
@scan_options
@output_options
def count(as_json: bool, **chosen: Any) -> None:
    """Count rows, from metadata where that is exact."""
    scan = opened_scan(chosen)
    rows = scan.count()
    if as_json:
        print_json({**identity(scan.snapshot), "count": rows})
    else:
        click.echo(rows)


@click.command()
@table_options
@snapshot_options
@scan_options
@output_options
def read(as_json: bool, **chosen: Any) -> None:
    """Show the rows that match a filter."""
    is_cut = chosen["limit"] is None and not as_json
    scan = opened_scan({**chosen, "limit": _SHOWN_ROWS + 1} if is_cut else chosen)
    rows = scan.to_arrow()
    if as_json:
        print_json({**identity(scan.snapshot), "rows": rows_of(rows)})
        return
    shown = rows.slice(0, _SHOWN_ROWS) if is_cut else rows
    print_table(
        rows.column_names,
        zip(*map(values_of, shown.columns), strict=True),
        numeric=[f.name for f in rows.schema if is_number(f.type)],
    )
    if shown.num_rows < rows.num_rows:
        click.echo(f"The first {_SHOWN_ROWS} rows; --limit shows more")


@click.command(short_help="Show the differences between two versions.")
@table_options
@click.argument("first")
@click.argument("last", required=False)
@all_option
@output_options
def diff(as_json: bool, show_all: bool, first: str, last: str | None, **chosen: Any) -> None:
    """Show the differences between version FIRST and version LAST (default: the current one)."""
    from ..inspect.diff import diff as compare

    table = opened_table(chosen)
    found = compare(table.snapshot(as_number(first)), table.snapshot(as_number(last)))
    if as_json:
        print_json(
            {
                **table_identity(table),
                "first": _version(found.first),
                "last": _version(found.last),
                "metadata": [vars(d) for d in found.metadata],
                "added": rows_of(found.added),
                "removed": rows_of(found.removed),
                "deletes_changed": rows_of(found.deletes_changed),
            }
        )
        return
    for title, snapshot in (("From", found.first), ("to", found.last)):
        click.echo(f"{title:<5}version {snapshot.version}, {time_text(snapshot.timestamp)}")
    for d in found.metadata:
        click.echo(printable(f"     {d.kind}: {d.before or 'nothing'} -> {d.after or 'nothing'}"))
    titled = {"added": found.added, "removed": found.removed, "with other deletes": found.deletes_changed}
    for title, part in titled.items():
        click.echo(f"\nFiles {title}: {count_text(part.num_rows)}")
        if part.num_rows:
            _print_files(part, show_all)


@click.command()
@table_options
@snapshot_options
@output_options
@click.option(
    "--fail-on",
    multiple=True,
    metavar="CHECK[=VALUE]",
    help="Exit with 3 if this check gives advice; above VALUE, where one is given. 'all': any check. Repeatable.",
)
def health(as_json: bool, fail_on: tuple[str, ...], **chosen: Any) -> int:
    """Show what makes a table slow to plan or to read, with advice."""
    from ..inspect.health import CHECKS
    from ..inspect.health import health as examine

    thresholds = _thresholds(fail_on, CHECKS)
    snapshot = opened_snapshot(chosen)
    found = examine(snapshot, {name: value for name, value in thresholds.items() if value is not None})
    failed = [name for name in found.failed if name in thresholds]
    if as_json:
        print_json({**identity(snapshot), "findings": [f.as_dict() for f in found], "failed": failed})
    else:
        print_table(["what", "figure", "advice"], [(f.subject, f.figure, f.advice) for f in found])
        if failed:
            click.echo(f"Failed: {', '.join(failed)}", err=True)
    return CHECK_FAILED if failed else 0


def _thresholds(fail_on: Sequence[str], checks: Mapping[str, float]) -> dict[str, float | None]:
    """The checks that fail the command, with their thresholds; None: the usual one."""
    found: dict[str, float | None] = {}
    for text in fail_on:
        name, given, value = text.partition("=")
        if name == "all" and not given:
            found = {**dict.fromkeys(checks), **found}
        elif name not in checks:
            raise click.BadParameter(f"there is no check {name!r}; the checks are {', '.join(checks)}, all")
        else:
            found[name] = _threshold(text, value) if given else None
    return found


def _threshold(text: str, value: str) -> float:
    try:
        found = float(value)
    except ValueError:
        found = nan
    if isnan(found):
        raise click.BadParameter(f"{text!r} has no number behind '='")
    return found


@click.command()
@output_options
def plugins(as_json: bool) -> None:
    """List the installed formats, and plugins that failed to load."""
    from ..plugin.registry import host

    found: list[dict[str, Any]] = [
        {
            "name": p.name,
            "module": p.module,
            "distribution": p.distribution,
            "version": p.version,
            "formats": list(p.formats),
            "error": None if p.error is None else str(p.error),
        }
        for p in host().plugins
    ]
    if as_json:
        print_json({"plugins": found})
        return
    columns = ["name", "formats", "module", "distribution", "version", "error"]
    print_table(columns, [[", ".join(p[c]) if c == "formats" else p[c] for c in columns] for p in found])


COMMANDS = (describe, schema, history, files, plan, count, read, diff, health, plugins)


def identity(snapshot: SnapshotHandle) -> dict[str, Any]:
    """What the JSON of every command about a version begins with."""
    table = {"format": snapshot.table_format, "location": location_text(snapshot.location)}
    return {**table, **_version(snapshot)}


def table_identity(table: Table) -> dict[str, Any]:
    return {"format": table.format, "location": location_text(table.location)}


def _version(snapshot: SnapshotHandle) -> dict[str, Any]:
    return {"version": snapshot.version, "timestamp": snapshot.timestamp}


def _field(field: Field, partition_fields: list[PartitionField]) -> dict[str, Any]:
    return {
        "id": field.id,
        "name": field.name,
        "type": str(field.type),
        "required": field.required,
        "doc": field.doc,
        "partitioned_by": [str(p.transform) for p in partition_fields if p.source_id == field.id],
    }


def _column_text(field: Field) -> str:
    return printable(f"{field.name}: {field.type}{' not null' if field.required else ''}")


def _partition_field(field: PartitionField, snapshot: SnapshotHandle) -> dict[str, Any]:
    return {"id": field.id, "name": field.name, "transform": str(field.transform), "source": _source(field, snapshot)}


def _partition_text(field: PartitionField, snapshot: SnapshotHandle) -> str:
    source = _source(field, snapshot) or f"dropped column {field.source_id}"
    transform = str(field.transform)
    return source if transform == "identity" else f"{transform}({source})"


def _source(field: PartitionField, snapshot: SnapshotHandle) -> str | None:
    path = [] if snapshot.schema.find_id(field.source_id) is None else snapshot.schema.path_of(field.source_id)
    return ".".join(f.name for f in path) or None


def _print_verdicts(verdicts: pa.Table, show_all: bool) -> None:
    shown = verdicts if show_all else verdicts.slice(0, _SHOWN_FILES)
    rows = [(f["path"], f["verdict"], " and ".join(f["dropped_by"])) for f in shown.to_pylist()]
    print_table(["path", "verdict", "dropped by"], rows)
    if shown.num_rows < verdicts.num_rows:
        click.echo(f"{verdicts.num_rows - shown.num_rows:,} more; --all lists them")


def _print_files(files: pa.Table, show_all: bool) -> None:
    shown = files if show_all else files.slice(0, _SHOWN_FILES)
    rows = [
        (
            f["path"],
            bytes_text(f["size_bytes"]),
            count_text(f["record_count"]),
            ", ".join(f"{name}={value_text(value) or 'null'}" for name, value in f["partition"].items()),
            ", ".join(sorted({d["kind"] for d in f["deletes"]})),
            "yes" if f["fully_matched"] else "no",
        )
        for f in rows_of(shown)
    ]
    print_table(["path", "size", "rows", "partition", "deletes", "all rows match"], rows, numeric=["size", "rows"])
    if shown.num_rows < files.num_rows:
        click.echo(f"{files.num_rows - shown.num_rows:,} more; --all lists them")
