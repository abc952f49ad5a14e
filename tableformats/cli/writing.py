"""``tableformats create``, ``append`` and ``overwrite``: tables and rows from files, one commit a call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..inspect.text import bytes_text, count_text, counted, location_text, printable
from .options import opened_table, output_options, pairs, table_options
from .output import echo, print_json
from .progress import confirm, tell_done

if TYPE_CHECKING:
    from pyarrow import RecordBatchReader, Schema

    from ..plugin.writing.transaction import Commit
    from ..table.table import Table

__all__ = ["WRITE_COMMANDS"]

_KINDS = {
    ".parquet": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_IF_EXISTS = ["error", "ignore", "replace"]
_FILES = "FILE: Parquet, Arrow, CSV with a header, or one JSON object a line, by the ending of its name."


@click.command()
@click.argument("location")
@click.option("--format", "format", metavar="NAME", required=True, help="The format of the table.")
@click.option("--column", metavar="NAME TYPE", nargs=2, multiple=True, help="A column. Can be repeated.")
@click.option("--like", metavar="FILE", help="The columns of this file, in place of --column.")
@click.option("--partition-by", metavar="NAME", multiple=True, help="Partition by this column. Can be repeated.")
@click.option("--set-property", metavar="K=V", multiple=True, callback=pairs, help="Set a property. Can be repeated.")
@click.option("--storage-option", "storage_options", metavar="K=V", multiple=True, callback=pairs, help="As of append.")
@click.option(
    "--if-exists", type=click.Choice(["error", "ignore", "replace"]), default="error", help="Where a table is."
)
@click.option("--dry-run", is_flag=True, help="Check all of it, and create nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before a table is replaced.")
@output_options
def create(
    as_json: bool,
    location: str,
    column: Sequence[tuple[str, str]],
    like: str | None,
    partition_by: Sequence[str],
    set_property: Mapping[str, str],
    dry_run: bool,
    yes: bool,
    **chosen: Any,
) -> None:
    """Create a table without rows. TYPE is that of SQL: bigint, string, decimal(10,2), array<int>, ..."""
    from ..table.create import check_creation, create_table

    if bool(column) == bool(like):
        raise click.UsageError("Give columns, by --column or by --like", click.get_current_context())
    schema = _file_schema(like) if like else _columns(column)
    chosen["storage_options"] = chosen["storage_options"] or None
    named = {"partition_by": partition_by, "properties": set_property, **chosen}
    if dry_run:
        is_new, version = check_creation(location, schema, **named), None
        text = f"The table {'can be created' if is_new else 'is there'}; nothing was written"
    else:
        if chosen["if_exists"] == "replace" and not (yes or as_json):
            question = f"Remove all rows and the definition of {location_text(location)}, if a table is there?"
            confirm(question)
        table = create_table(location, schema, **named)
        version = _version(table)
        text = f"{location_text(table.location)} has version {version}"
    if as_json:
        print_json("create", {"location": location, "version": version, "dry_run": dry_run})
    else:
        echo(text)


@click.command()
@table_options
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--sort-by", metavar="NAME", multiple=True, help="Sort the rows of files by this column.")
@click.option("--dry-run", is_flag=True, help="Check all rows, and write nothing.")
@output_options
def append(as_json: bool, files: Sequence[str], sort_by: Sequence[str], dry_run: bool, **chosen: Any) -> None:
    table = opened_table(chosen)
    rows = _rows(files)
    if dry_run:
        _tell_check(table.transaction(sort_by=sort_by).check_rows(rows), table, as_json)
    else:
        _tell(table.append(rows, sort_by=sort_by), table, as_json)


append.help = f"Add the rows of files to a table, in one commit.\n\n{_FILES}"


@click.command()
@table_options
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--where", "-w", metavar="FILTER", help="Replace the rows for which FILTER is TRUE. Default: all rows.")
@click.option("--dynamic", is_flag=True, help="Replace the rows of the partitions that the files have rows of.")
@click.option("--sort-by", metavar="NAME", multiple=True, help="Sort the rows of files by this column.")
@click.option("--dry-run", is_flag=True, help="Check all rows, say what would be replaced, and write nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before rows are replaced.")
@output_options
def overwrite(
    as_json: bool,
    files: Sequence[str],
    where: str | None,
    dynamic: bool,
    sort_by: Sequence[str],
    dry_run: bool,
    yes: bool,
    **chosen: Any,
) -> None:
    if where is not None and dynamic:
        raise click.UsageError("--where and --dynamic exclude each other", click.get_current_context())
    table = opened_table(chosen)
    rows, condition = _rows(files), "dynamic" if dynamic else where
    if dry_run:
        count = table.transaction(sort_by=sort_by).check_rows(rows, condition)
        _tell_check(count, table, as_json, None if dynamic else len(table.plan(where)))
        return
    if not (yes or as_json):
        what = "the rows of the partitions of these files" if dynamic else "all rows"
        listed = what if where is None else f"the rows with {printable(where)}"
        confirm(f"Replace {listed} of {location_text(table.location)}?")
    _tell(table.overwrite(rows, condition, sort_by=sort_by), table, as_json)


overwrite.help = f"Replace rows of a table by those of files, in one commit.\n\n{_FILES}"

WRITE_COMMANDS = (create, append, overwrite)


def _tell(commit: Commit, table: Table, as_json: bool) -> None:
    if as_json:
        told = {"version": commit.version, "operation": commit.operation, "attempts": commit.attempts}
        print_json("commit", {"location": table.location, **told, "metrics": dict(commit.metrics), "dry_run": False})
        return
    if not commit.attempts:
        echo(f"There was nothing to commit; the table has version {commit.version}")
        return
    found = commit.metrics
    rows, files, size = (found.get(f"added_{name}", 0) for name in ("rows", "files", "bytes"))
    parts = [f"{counted(rows, 'row')} in {counted(files, 'file')}, {bytes_text(size)}"]
    if found.get("removed_files"):
        parts.append(f"{counted(found['removed_files'], 'file')} removed")
    echo(f"{printable(commit.operation)} is version {commit.version}: {'; '.join(parts)}")


def _tell_check(rows: int, table: Table, as_json: bool, files: int | None = None) -> None:
    version = _version(table)
    if as_json:
        found = {"version": version, "rows": rows, "files_with_replaced_rows": files, "dry_run": True}
        print_json("dry-run", {"location": table.location, **found})
        return
    replaced = "" if files is None else f" Rows of up to {counted(files, 'file')} would be replaced."
    echo(f"{counted(rows, 'row')} can be written; nothing was (the table has version {version}).{replaced}")


def _version(table: Table) -> int:
    return table.snapshot().version


def _columns(given: Sequence[tuple[str, str]]) -> Any:
    from ..schema import Field, Schema, number_fields
    from ..schema.type_text import parse_type

    try:
        return Schema(number_fields(Field(0, name, parse_type(text)) for name, text in given))
    except ValueError as error:
        raise click.UsageError(str(error), click.get_current_context()) from None


def _rows(files: Sequence[str]) -> RecordBatchReader:
    """The rows of files of one kind, as a stream."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    kinds = {_kind(file) for file in files}
    if len(kinds) > 1:
        listed = ", ".join(sorted(kinds))
        raise click.UsageError(f"The files are of several kinds: {listed}", click.get_current_context())
    try:
        return _counted(ds.dataset(list(files), format=kinds.pop()).scanner().to_reader())
    except FileNotFoundError as error:
        raise click.ClickException(f"There is no file {error}") from error
    except (OSError, pa.ArrowInvalid) as error:
        raise click.ClickException(f"The files cannot be read: {error}") from error


def _counted(reader: RecordBatchReader) -> RecordBatchReader:
    """The same rows; whoever waits is told how many were read."""
    import pyarrow as pa

    def batches() -> Iterator[pa.RecordBatch]:
        rows = 0
        for batch in reader:
            rows += batch.num_rows
            tell_done(f"{count_text(rows)} rows read")
            yield batch

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _file_schema(file: str) -> Schema:
    from ..engines.arrow.writing.plain_types import plain_schema

    return plain_schema(_rows([file]).schema)


def _kind(file: str) -> str:
    for ending, kind in _KINDS.items():
        if file.lower().endswith(ending):
            return kind
    raise click.UsageError(f"{printable(file)}: the ending is none of {', '.join(_KINDS)}", click.get_current_context())
