"""The commands that inspect one table, and ``plugins``.

Each calls the library once and writes the result. ``--json`` writes all of it; tables for people are shortened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import isnan, nan
from typing import TYPE_CHECKING, Any

import click

from ..expressions import TRUE
from ..inspect.text import bytes_text, changed_rows_text, count_text, location_text, printable, time_text
from .columns import texts_of
from .options import (
    as_number,
    filter_options,
    form_options,
    limit_option,
    opened_scan,
    opened_snapshot,
    opened_table,
    scan_options,
    snapshot_options,
    table_options,
)
from .output import echo, print_columns, print_table, show
from .values import is_number, rows_of, values_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ..planning.handle import SnapshotHandle
    from ..plugin.partitions import PartitionField
    from ..plugin.report import ScanReport
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
@limit_option("columns")
@form_options
def describe(form: str, limit: int | None, **chosen: Any) -> None:
    """Show a table's version, partitioning, size and columns."""
    snapshot = opened_snapshot(chosen)
    columns = list(snapshot.schema)[:limit]
    report = snapshot.scan().plan().report
    document = {
        **identity(snapshot),
        "schema": [_field(f, snapshot.partition_fields) for f in columns],
        "partition_fields": [_partition_field(f, snapshot) for f in snapshot.partition_fields],
        "properties": snapshot.properties,
        "files": report.files_planned,
        "files_with_deletes": report.files_with_deletes,
        "size_bytes": report.bytes_planned,
        "record_count": report.rows_planned,
    }
    show(form, "describe", document, lambda: _print_description(snapshot, report, columns))


def _print_description(snapshot: SnapshotHandle, report: ScanReport, columns: Sequence[Field]) -> None:
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
        echo(f"{name:<16}{printable(value)}")
    for f in columns:
        echo(f"  {_column_text(f)}")
    _tell_rest(len(columns), len(snapshot.schema), "--limit")
    if snapshot.properties:
        echo("Properties")
        for name, value in sorted(snapshot.properties.items()):
            echo(f"  {printable(name)} = {printable(value)}")


@click.command()
@table_options
@snapshot_options
@limit_option("columns")
@form_options
def schema(form: str, limit: int | None, **chosen: Any) -> None:
    """Show a table's columns."""
    snapshot = opened_snapshot(chosen)
    fields = [_field(f, snapshot.partition_fields) for f in list(snapshot.schema)[:limit]]
    rows = [
        (f["id"], f["name"], f["type"], "no" if f["required"] else "yes", ", ".join(f["partitioned_by"]), f["doc"])
        for f in fields
    ]
    names = ["id", "name", "type", "nullable", "partitioned by", "comment"]
    document = {**identity(snapshot), "fields": fields}
    columns = ["id", "name", "type", "required", "doc", "partitioned_by"]
    show(form, "schema", document, lambda: print_table(names, rows, numeric=["id"]), fields, columns)


@click.command()
@table_options
@limit_option("versions, the newest ones")
@form_options
def history(form: str, limit: int | None, **chosen: Any) -> None:
    """Show a table's versions, newest first. Of each: when, what was done, how many rows, and by whom."""
    table = opened_table(chosen)
    is_cut = form == "table" and limit is None
    versions = table.history(_SHOWN_VERSIONS + 1 if is_cut else limit)
    rows = rows_of(versions)

    def text() -> None:
        shown = rows[:_SHOWN_VERSIONS] if is_cut else rows
        names = ["version", "time", "operation", "rows", *(["user"] if any(r.get("user") for r in shown) else [])]
        print_table(names, map(_version_row(names), shown), numeric=["version"])
        if len(shown) < len(rows):
            echo(f"The newest {_SHOWN_VERSIONS} versions; --limit shows more")

    show(form, "history", {**table_identity(table), "versions": rows}, text, rows, versions.column_names)


def _version_row(names: Sequence[str]) -> Callable[[Mapping[str, Any]], list[Any]]:
    def row(version: Mapping[str, Any]) -> list[Any]:
        texts = {**version, "time": time_text(version["timestamp"]), "rows": changed_rows_text(version)}
        return [texts[name] for name in names]

    return row


@click.command()
@table_options
@snapshot_options
@filter_options
@limit_option("files")
@form_options
def files(form: str, limit: int | None, **chosen: Any) -> None:
    """List the data files of a table that a filter keeps."""
    scan = opened_scan(chosen)
    found = scan.plan().files
    shown = found if limit is None else found.slice(0, limit)
    document = {**identity(scan.snapshot), "files": shown}

    def text() -> None:
        _print_files(shown, scan.snapshot, scan.filter != TRUE)
        _tell_rest(shown.num_rows, found.num_rows, "--limit")

    show(form, "files", document, text, shown, found.column_names)


@click.command()
@table_options
@snapshot_options
@scan_options
@all_option
@click.option("--files", "every_file", is_flag=True, help="List every file of the table with its verdict instead.")
@click.option(
    "--why", "file", metavar="FILE", help="Say why this file is read or dropped. The end of its path will do."
)
@form_options
def plan(form: str, show_all: bool, every_file: bool, file: str | None, **chosen: Any) -> None:
    """Show which files a query reads, and why others are skipped."""
    scan = opened_scan(chosen)
    planned = scan.plan()
    start = identity(scan.snapshot)
    most = None if show_all else _SHOWN_FILES
    if file is not None:
        from ..inspect.why import verdict_lines

        found = planned.why(file)
        parts = asdict(found)["parts"]
        document = {**start, **asdict(found)}
        show(
            form,
            "plan-why",
            document,
            lambda: echo("\n".join(verdict_lines(found))),
            parts,
            list(parts[0] if parts else ()),
        )
    elif every_file:
        verdicts = planned.verdicts()
        document = {**start, "files": verdicts}
        show(
            form,
            "plan-files",
            document,
            lambda: _print_verdicts(verdicts, most, scan.snapshot),
            verdicts,
            verdicts.column_names,
        )
    elif form == "table":
        echo(planned.explain())
        echo("\nPlanned files")
        listed = planned.files
        _print_files(listed.slice(0, most), scan.snapshot, scan.filter != TRUE)
        _tell_rest(min(listed.num_rows, most or listed.num_rows), listed.num_rows, "--all")
    else:
        document = {
            **start,
            "report": planned.report.as_dict(),
            "filter_parts": planned.attribution.as_dict() if form == "json" else None,
            "residual": None if planned.residual == TRUE else str(planned.residual),
            "files": planned.files,
        }
        show(form, "plan", document, lambda: None, planned.files, planned.files.column_names)


@click.command()
@table_options
@snapshot_options
@scan_options
@form_options
def count(form: str, **chosen: Any) -> None:
    """Count rows, from metadata where that is exact."""
    scan = opened_scan(chosen)
    rows = scan.count()
    show(form, "count", {**identity(scan.snapshot), "count": rows}, lambda: echo(rows))


@click.command()
@table_options
@snapshot_options
@scan_options
@form_options
def read(form: str, **chosen: Any) -> None:
    """Show the rows that match a filter."""
    is_cut = chosen["limit"] is None and form == "table"
    scan = opened_scan({**chosen, "limit": _SHOWN_ROWS + 1} if is_cut else chosen)
    found = scan.to_arrow()

    def text() -> None:
        shown = found.slice(0, _SHOWN_ROWS) if is_cut else found
        numeric = [f.name for f in found.schema if is_number(f.type)]
        print_table(found.column_names, zip(*map(values_of, shown.columns), strict=True), numeric=numeric)
        if shown.num_rows < found.num_rows:
            echo(f"The first {_SHOWN_ROWS} rows; --limit shows more")

    show(form, "read", {**identity(scan.snapshot), "rows": found}, text, found, found.column_names)


@click.command(short_help="Show the differences between two versions.")
@table_options
@click.argument("first")
@click.argument("last", required=False)
@all_option
@limit_option("files that were added, removed, and with other deletes, each")
@form_options
def diff(form: str, show_all: bool, limit: int | None, first: str, last: str | None, **chosen: Any) -> None:
    """Show the differences between version FIRST and version LAST (default: the current one)."""
    from ..inspect.diff import diff as compare

    table = opened_table(chosen)
    found = compare(table.snapshot(as_number(first)), table.snapshot(as_number(last)))
    files = {name: getattr(found, name) for name in ("added", "removed", "deletes_changed")}
    parts = {name: table if limit is None else table.slice(0, limit) for name, table in files.items()}
    most = None if show_all or limit is not None else _SHOWN_FILES
    document = {
        **table_identity(table),
        "first": _version(found.first),
        "last": _version(found.last),
        "metadata": [vars(d) for d in found.metadata],
        **parts,
    }

    def text() -> None:
        for title, snapshot in (("From", found.first), ("to", found.last)):
            echo(f"{title:<5}version {snapshot.version}, {time_text(snapshot.timestamp)}")
        for d in found.metadata:
            echo(printable(f"     {d.kind}: {d.before or 'nothing'} -> {d.after or 'nothing'}"))
        for title, name in (("added", "added"), ("removed", "removed"), ("with other deletes", "deletes_changed")):
            total, shown = files[name].num_rows, parts[name].slice(0, most)
            echo(f"\nFiles {title}: {count_text(total)}")
            if shown.num_rows:
                _print_files(shown, found.last)
            _tell_rest(shown.num_rows, total, "--all")

    asks_for_rows = form in ("tsv", "jsonl")
    records = [{"change": name, **row} for name, part in parts.items() for row in rows_of(part) if asks_for_rows]
    columns = ["change", *(name for name in found.added.column_names)]
    show(form, "diff", document, text, records, columns)


@click.command()
@table_options
@snapshot_options
@limit_option("findings")
@form_options
@click.option(
    "--fail-on",
    multiple=True,
    metavar="CHECK[=VALUE]",
    help="Exit with 3 if this check gives advice; above VALUE, where one is given. 'all': any check. Repeatable.",
)
def health(form: str, limit: int | None, fail_on: tuple[str, ...], **chosen: Any) -> int:
    """Show what makes a table slow, and what to do."""
    from ..inspect.health import CHECKS
    from ..inspect.health import health as examine

    thresholds = _thresholds(fail_on, CHECKS)
    snapshot = opened_snapshot(chosen)
    found = examine(snapshot, {name: value for name, value in thresholds.items() if value is not None})
    failed = [name for name in found.failed if name in thresholds]
    shown = list(found)[:limit]
    records = [f.as_dict() for f in shown]
    document = {**identity(snapshot), "findings": records, "failed": failed}
    rows = [(f.subject, f.figure, f.advice) for f in shown]
    columns = ["subject", "figure", "advice", "check", "value", "threshold"]
    show(form, "health", document, lambda: print_table(["what", "figure", "advice"], rows), records, columns)
    if failed and form == "table":
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
@limit_option("plugins")
@form_options
def plugins(form: str, limit: int | None) -> None:
    """List the installed formats, and plugins that failed to load."""
    from ..plugin.registry import host

    columns = ["name", "formats", "module", "distribution", "version", "error"]
    found: list[dict[str, Any]] = [
        {
            "name": p.name,
            "module": p.module,
            "distribution": p.distribution,
            "version": p.version,
            "formats": list(p.formats),
            "error": None if p.error is None else str(p.error),
        }
        for p in host().plugins[:limit]
    ]
    rows = [[", ".join(p[c]) if c == "formats" else p[c] for c in columns] for p in found]
    show(form, "plugins", {"plugins": found}, lambda: print_table(columns, rows), found, columns)


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


def _print_verdicts(files: pa.Table, most: int | None, snapshot: SnapshotHandle) -> None:
    shown = files.slice(0, most)
    dropped_by = [" and ".join(map(printable, parts)) for parts in values_of(shown["dropped_by"])]
    columns = [texts_of(shown["path"]), texts_of(shown["verdict"]), dropped_by]
    print_columns(["path", "verdict", "dropped by"], columns, paths=["path"], below=snapshot.location)
    _tell_rest(shown.num_rows, files.num_rows, "--all")


def _print_files(files: pa.Table, snapshot: SnapshotHandle, is_filtered: bool = False) -> None:
    """A table of files, without the columns in which none has anything. Of a query with a filter it says whether all
    rows of a file match."""
    columns = {
        "path": texts_of(files["path"]),
        "size": [bytes_text(size) for size in values_of(files["size_bytes"])],
        "rows": [count_text(count) for count in values_of(files["record_count"])],
        "partition": _partition_texts(files["partition"].combine_chunks()),
        "deletes": [_kinds_text(deletes) for deletes in values_of(files["deletes"])],
    }
    if is_filtered:
        columns["all match"] = ["yes" if matched else "no" for matched in values_of(files["fully_matched"])]
    shown = {name: texts for i, (name, texts) in enumerate(columns.items()) if i < 3 or any(texts)}
    print_columns(list(shown), list(shown.values()), numeric=["size", "rows"], paths=["path"], below=snapshot.location)


def _kinds_text(deletes: Sequence[Mapping[str, Any]] | None) -> str:
    """``equality, vector``: how rows of a file are deleted."""
    return ", ".join(sorted({delete["kind"].removeprefix("deletion_") for delete in deletes or ()}))


def _partition_texts(partition: pa.StructArray) -> list[str]:
    """``day=3, kind=null`` of each file."""
    names = [partition.type.field(i).name for i in range(partition.type.num_fields)]
    columns = [
        [f"{printable(name)}={text}" for text in texts_of(values, null="null")]
        for name, values in zip(names, partition.flatten(), strict=True)
    ]
    return list(map(", ".join, zip(*columns, strict=True))) if columns else [""] * len(partition)


def _tell_rest(shown: int, total: int, option: str) -> None:
    if shown < total:
        echo(f"{count_text(total - shown)} more; {option} {'lists them' if option == '--all' else 'chooses how many'}")
