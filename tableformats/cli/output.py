"""Write results and errors: as JSON for programs, as tables for people.

Values that JSON lacks are written like this: timestamps and dates as ISO 8601 text (UTC with ``Z``), decimals and
non-finite floats as text, binary values as base64 text, maps as lists of [key, value] pairs. Text from a table is
escaped and never interpreted as markup.
"""

from __future__ import annotations

import base64
import datetime as dt
import gc
import json
import math
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from ..errors import TableFormatsError
from ..inspect.text import location_text, printable
from ..schema.datetimes import format_date, format_timestamp
from .layout import folded, table_lines
from .progress import stop_waiting

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "SCHEMA_VERSION",
    "echo",
    "is_number",
    "print_error",
    "print_json",
    "print_records",
    "print_table",
    "rows_of",
    "show",
    "uncollected",
    "value_text",
    "values_of",
    "write",
]

SCHEMA_VERSION = 1
"""The version of the JSON documents. A member may be added within a version; none changes its meaning or goes."""
_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the collector of cycles from looking at hundreds of thousands of new objects, none of which is in one."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@uncollected()
def show(
    form: str,
    name: str,
    document: Mapping[str, Any],
    text: Callable[[], None],
    records: Sequence[Mapping[str, Any]] | None = None,
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
        All of it, for ``json``.
    text : callable
        Writes it for people.
    records : sequence of mappings, optional
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
    """Write ``value`` as one JSON document; the module's docstring says how values are written that JSON lacks.

    ``name`` is that of its schema, a file of ``tableformats/cli/schemas``; the document begins with it.
    """
    write(_json_text({"output_schema": f"{name}/{SCHEMA_VERSION}", **value}, indent=2))


def echo(text: object = "") -> None:
    """Write lines for people on standard output, folded where a terminal is narrower than they are."""
    write(folded(str(text), _terminal_width()))


def write(text: str) -> None:
    """Write lines on standard output as they are, and end the signs that something takes its time."""
    stop_waiting()
    click.echo(text)


def _terminal_width() -> int | None:
    """The columns of the terminal that standard output is; None: it is none."""
    return max(shutil.get_terminal_size().columns, 1) if sys.stdout.isatty() else None


def _json_text(value: Any, indent: int | None = None) -> str:
    """``value`` as JSON in which characters that could control a terminal, or turn its text around, are escaped."""
    text = json.dumps(_json_value(value), indent=indent, ensure_ascii=False, allow_nan=False)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def _json_value(value: Any) -> Any:
    """``value`` in the types of JSON."""
    if isinstance(value, Mapping):
        return {str(key): _json_value(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(member) for member in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    if value is None or isinstance(value, (bool, int, str)):
        # A lone surrogate cannot be encoded as UTF-8, so it is escaped.
        return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value
    return str(value) if isinstance(value, Decimal) else repr(value)


@uncollected()
def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as dictionaries by column name; see :func:`values_of` for the values."""
    if not table.num_columns:
        return [{}] * table.num_rows
    columns = map(values_of, table.columns)
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def values_of(column: pa.ChunkedArray) -> list[Any]:
    """The values as Python objects; ISO 8601 text for dates and times that Python lacks (year 10000, nanoseconds).

    In text, U+FFFD stands for bytes that are not UTF-8.
    """
    try:
        found = _moments(column)
        return list(column.to_pylist()) if found is None else found
    except (OverflowError, ValueError):
        return [_python_value(scalar) for scalar in column]


def _moments(column: pa.ChunkedArray) -> list[dt.datetime | None] | None:
    """The values of a column of timestamps; None: it is none. Raises OverflowError for years that Python lacks.

    For these, pyarrow would import pandas, which takes longer than most commands.
    """
    from pyarrow import int64, types

    kind = column.type
    if not types.is_timestamp(kind) or kind.tz not in (None, "UTC") or kind.unit == "ns":
        return None
    start = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc if kind.tz else None)
    step = dt.timedelta(microseconds=10 ** (6 - _DIGITS[kind.unit]))
    return [None if n is None else start + n * step for n in column.cast(int64()).to_pylist()]


def _python_value(scalar: pa.Scalar) -> Any:
    from pyarrow import types

    kind = scalar.type
    if not scalar.is_valid:
        return None
    if types.is_struct(kind):
        return {f.name: _python_value(scalar[i]) for i, f in enumerate(kind)}
    if types.is_map(kind):
        return [(_python_value(entry[0]), _python_value(entry[1])) for entry in scalar.values]
    if types.is_list(kind):
        return [_python_value(member) for member in scalar.values]
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        if types.is_date(kind):
            return format_date(scalar.value)
        if types.is_string(kind) or types.is_large_string(kind):
            return bytes(scalar.as_buffer()).decode("utf-8", "replace")
        return format_timestamp(scalar.value, _DIGITS[kind.unit]).replace(" ", "T") + ("Z" if kind.tz else "")


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
    width = _terminal_width()
    root = None
    if width is not None and below is not None:
        root = printable(below).rstrip("/") + "/"
        at = [i for i, name in enumerate(columns) if name in paths]
        is_below = False
        for row in texts:
            for i in at:
                if row[i].startswith(root):
                    row[i], is_below = row[i][len(root) :], True
        root = root if is_below else None
    names = [printable(name) for name in columns]
    lines = list(table_lines(names, texts, width=width, numeric=numeric, paths=paths))
    if width is not None and lines:
        lines[0] = click.style(lines[0], bold=True)
    if lines:
        write("\n".join(lines))
    if root is not None:
        echo(f"Paths are below {location_text(root)}")


def print_records(form: str, records: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """Write records for programs: one line for each.

    Parameters
    ----------
    form : str
        ``jsonl``: one JSON document a line. ``tsv``: a line of names, then values between tabs, escaped so that no
        value has a tab or a line break; what is no text is JSON, and NULL is empty.
    records : Sequence[Mapping[str, Any]]
    columns : Sequence[str]
        The columns of ``tsv``, also where there are no records. ``jsonl`` has all members.
    """
    if form == "jsonl":
        lines = [_json_text(record) for record in records]
    else:
        lines = [
            "\t".join(map(printable, columns)),
            *("\t".join(value_text(record[name]) for name in columns) for record in records),
        ]
    if lines:
        write("\n".join(lines))


def is_number(kind: pa.DataType) -> bool:
    """Whether columns of the Arrow type ``kind`` are right-aligned."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def value_text(value: Any) -> str:
    """A value from a table as one line of text; empty for None."""
    if value is None:
        return ""
    if isinstance(value, str):
        return printable(value)
    found = _json_value(value)
    return printable(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))


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
