"""Write results and errors: as JSON for programs, as tables for people.

:mod:`values` says how values are written that JSON lacks. Text from a table is escaped and never interpreted as markup.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import click

from ..errors import TableFormatsError
from ..inspect.text import location_text, printable
from ..runtime.collector import uncollected
from .columns import json_objects, slices, texts_of
from .layout import column_lines, folded
from .progress import is_terminal, stop_waiting
from .values import json_value, value_text

if TYPE_CHECKING:
    import pyarrow as pa

    Records: TypeAlias = Sequence[Mapping[str, Any]] | pa.Table

__all__ = [
    "SCHEMA_VERSION",
    "echo",
    "print_columns",
    "print_error",
    "print_json",
    "print_records",
    "print_table",
    "show",
    "write",
]

SCHEMA_VERSION = 1
"""The version of the JSON documents. A member may be added within a version; none changes its meaning or goes."""
_LINES = 16384
"""Lines that are written at once."""


@uncollected()
def show(
    form: str,
    name: str,
    document: Mapping[str, Any],
    text: Callable[[], None],
    records: Records | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Write a result in the form that was asked for.

    Parameters
    ----------
    form : str
        One of :data:`tableformats.cli.options.FORMS`.
    name : str
        The name of the JSON schema of ``document``.
    document : mapping
        All of it, for ``json``. A member that is an Arrow table is an array of its rows.
    text : callable
        Writes it for people.
    records : sequence of mappings or pa.Table, optional
        The rows of ``tsv`` and ``jsonl``. None: ``document`` is the only one.
    columns : sequence of str
        The columns of ``tsv``. Empty: all members of ``document``.
    """
    if form == "json":
        print_json(name, document)
    elif form == "table":
        text()
    else:
        print_records(form, [document] if records is None else records, columns or list(document))


def print_json(name: str, value: Mapping[str, Any]) -> None:
    """Write ``value`` as one JSON document; :mod:`values` says how values are written that JSON lacks.

    ``name`` is that of its schema, a file of ``tableformats/cli/schemas``; the document begins with it. A member that
    is an Arrow table is an array of its rows.
    """
    before = "{"
    for key, member in {"output_schema": f"{name}/{SCHEMA_VERSION}", **value}.items():
        before = f"{before}\n  {_json_text(key)}: "
        if _is_table(member):
            opening = "["
            for part in slices(member):
                write(_escaped(before + opening + ",".join(f"\n    {row}" for row in json_objects(part, "    "))), "")
                before, opening = "", ","
            before = f"{before}[]," if opening == "[" else "\n  ],"
        else:
            text = _json_text(member, indent=2).replace("\n", "\n  ")
            before = f"{before}{text},"
    write(before.removesuffix(",") + "\n}")


def echo(text: object = "") -> None:
    """Write lines for people on standard output, folded where a terminal is narrower than they are."""
    write(folded(str(text), _terminal_width()))


def write(text: str, end: str = "\n") -> None:
    """Write lines on standard output as they are, and end the signs that something takes its time."""
    stop_waiting()
    click.echo(text + end, nl=False)


def _terminal_width() -> int | None:
    """The columns of the terminal that standard output is; None: it is none."""
    return max(shutil.get_terminal_size().columns, 1) if is_terminal(sys.stdout) else None


def _json_text(value: Any, indent: int | None = None) -> str:
    """``value`` as JSON in which characters that could control a terminal, or turn its text around, are escaped."""
    return _escaped(json.dumps(json_value(value), indent=indent, ensure_ascii=False, allow_nan=False))


def _escaped(text: str) -> str:
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    numeric: Sequence[str] = (),
    paths: Sequence[str] = (),
    below: str | None = None,
) -> None:
    """Write a table.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequences
        One value for each column.
    numeric : sequence of str
        Columns that are aligned to the right.
    paths : sequence of str
        Columns that are shortened in the middle where a terminal is too narrow.
    below : str, optional
        A location. At a terminal ``paths`` below it are shown without it, and a last line says so. Else they are whole.
    """
    texts = [[value_text(value) for value in row] for row in rows]
    values = [list(column) for column in zip(*texts, strict=True)] or [[] for _ in columns]
    print_columns(columns, values, numeric=numeric, paths=paths, below=below)


def print_columns(
    names: Sequence[str],
    columns: Sequence[list[str]],
    *,
    numeric: Sequence[str] = (),
    paths: Sequence[str] = (),
    below: str | None = None,
) -> None:
    """:func:`print_table` of columns whose values are texts already, without line breaks and other controls."""
    width, root = _terminal_width(), None
    columns = list(columns)
    if width is not None and below is not None:
        root, is_below = printable(below).rstrip("/") + "/", False
        for i in (i for i, name in enumerate(names) if name in paths):
            is_below = is_below or any(text.startswith(root) for text in columns[i])
            columns[i] = [text.removeprefix(root) for text in columns[i]]
        root = root if is_below else None
    lines = list(column_lines([printable(name) for name in names], columns, width=width, numeric=numeric, paths=paths))
    if width is not None and lines:
        lines[0] = click.style(lines[0], bold=True)
    for start in range(0, len(lines), _LINES):
        write("\n".join(lines[start : start + _LINES]))
    if root is not None:
        echo(f"Paths are below {location_text(root)}")


def print_records(form: str, records: Records, columns: Sequence[str]) -> None:
    """Write records for programs: one line for each.

    Parameters
    ----------
    form : str
        ``jsonl``: one JSON document a line. ``tsv``: a line of names, then values between tabs, escaped so that no
        value has a tab or a line break; what is no text is JSON, and NULL is empty.
    records : Sequence[Mapping[str, Any]] or pa.Table
    columns : Sequence[str]
        The columns of ``tsv``, also where there are no records. ``jsonl`` has all members.
    """
    if form == "tsv":
        write("\t".join(map(printable, columns)))
    if _is_table(records):
        for part in slices(records):
            if form == "jsonl":
                lines = _escaped("\n".join(json_objects(part)))
            else:
                lines = "\n".join(map("\t".join, zip(*(texts_of(part[name]) for name in columns), strict=True)))
            write(lines)
        return
    for record in records:
        write(_json_text(record) if form == "jsonl" else "\t".join(value_text(record[name]) for name in columns))


def _is_table(value: object) -> TypeGuard[pa.Table]:
    """Whether a value is an Arrow table. pyarrow is imported already where there is one."""
    return hasattr(value, "column_names") and hasattr(value, "slice")


def print_error(error: Exception, as_json: bool) -> None:
    """Write ``error`` to standard error: its message and hint, or one JSON document ``{"error": {...}}``."""
    stop_waiting()
    parts = _error_parts(error)
    if as_json:
        document = {"output_schema": f"error/{SCHEMA_VERSION}", "error": parts}
        click.echo(json.dumps(document, ensure_ascii=True), err=True)
        return
    where = [f"{name} {parts[name]}" for name in ("path", "offset", "field") if parts[name] is not None]
    click.echo(f"Error: {parts['message']}" + (f" ({', '.join(where)})" if where else ""), err=True)
    if parts["hint"]:
        click.echo(f"Hint: {parts['hint']}", err=True)


def _error_parts(error: Exception) -> dict[str, Any]:
    parts: dict[str, Any] = {"type": type(error).__name__, "message": "", "path": None, "offset": None, "field": None}
    if isinstance(error, TableFormatsError):
        parts["message"] = printable(error.message)
        parts["path"] = None if error.path is None else location_text(error.path)
        parts["offset"] = error.offset
        parts["field"] = None if error.field is None else printable(error.field)
        parts["hint"] = None if error.hint is None else printable(error.hint)
    elif isinstance(error, click.ClickException):
        parts["message"] = printable(error.format_message())
        context = getattr(error, "ctx", None)
        parts["hint"] = f"{context.command_path} --help" if context is not None else None
    else:
        parts["message"] = printable(f"{type(error).__name__}: {error}")
        parts["hint"] = "This is unexpected; run again with --debug for the traceback"
    return parts
