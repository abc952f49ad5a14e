"""Partition fields and sort fields as users write them: ``day(ts)``, ``bucket(16, id)``, ``id desc nulls last``.

Names of transforms are those of Iceberg and of Spark's SQL (``days``, ``date``, ``date_hour``). The number of buckets,
or the width, stands before the column, as in Spark, or after it, as in Trino.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from tableformats.plugin import ConstraintViolationError, Field, Schema, dataclass, lazy_pattern, whole_number

__all__ = ["PartitionText", "check_redundant", "default_name", "parse_partition_text", "partition_json", "sort_json"]

_TRANSFORMS = {
    "identity": "identity",
    "bucket": "bucket",
    "truncate": "truncate",
    "trunc": "truncate",
    "year": "year",
    "years": "year",
    "month": "month",
    "months": "month",
    "day": "day",
    "days": "day",
    "date": "day",
    "hour": "hour",
    "hours": "hour",
    "date_hour": "hour",
    "void": "void",
}
_CALL = lazy_pattern(r"^\s*([A-Za-z_]+)\s*(?:\[\s*(\d+)\s*\]\s*)?\((.*)\)\s*$", re.DOTALL)
_ALIAS = lazy_pattern(r"^(.*?)\s+as\s+(`[^`]+`|\S+)\s*$", re.DOTALL | re.IGNORECASE)
_ORDER = lazy_pattern(r"^(.*?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?\s*$", re.DOTALL | re.IGNORECASE)
_PART = lazy_pattern(r"`((?:[^`]|``)*)`|([^.`]+)")
_WITH_WIDTH = ("bucket", "truncate")
_GREATEST_WIDTH = 2**31 - 1


@dataclass(frozen=True)
class PartitionText:
    """A transform of a column. ``transform`` is spelled as in metadata; ``name`` is None where the text has none."""

    path: tuple[Field, ...]
    transform: str
    name: str | None

    @property
    def source(self) -> Field:
        return self.path[-1]


def parse_partition_text(text: str, schema: Schema) -> PartitionText:
    """Parse a partition field.

    Parameters
    ----------
    text : str
        A column, or a transform of one, with ``as name`` behind it or not. A column whose name is the whole text is
        meant by it, whatever is in the name.

    Raises
    ------
    ConstraintViolationError
        It cannot be parsed, or there is no such column.
    """
    if not isinstance(text, str) or not text.strip():
        _refuse(str(text), "a partition field is a column, or a transform of one such as day(ts)")
    if any(f.name == text for f in schema):
        return PartitionText((next(f for f in schema if f.name == text),), "identity", None)
    aliased = _ALIAS.match(text)
    name = aliased.group(2).strip("`") if aliased else None
    body = aliased.group(1) if aliased else text
    call = _CALL.match(body)
    if call is None:
        return PartitionText(_column(body, schema, text), "identity", name)
    transform = _TRANSFORMS.get(call.group(1).lower())
    if transform is None:
        _refuse(
            text, f"there is no transform {call.group(1)!r}; there are {', '.join(dict.fromkeys(_TRANSFORMS.values()))}"
        )
    column, width = _arguments(call, text)
    if (width is not None) is not (transform in _WITH_WIDTH):
        needs = "takes a number: bucket(16, id)" if transform in _WITH_WIDTH else "takes one column alone"
        _refuse(text, f"the transform {transform} {needs}")
    if width is not None and not 0 < width <= _GREATEST_WIDTH:
        _refuse(text, f"the number is from 1 to {_GREATEST_WIDTH}")
    spelled = transform if width is None else f"{transform}[{width}]"
    return PartitionText(_column(column, schema, text), spelled, name)


def _arguments(call: re.Match[str], text: str) -> tuple[str, int | None]:
    parts = [part.strip() for part in re.split(r",(?=(?:[^`]*`[^`]*`)*[^`]*$)", call.group(3))]
    numbers = [part for part in parts if part.isascii() and part.isdigit()]
    columns = [part for part in parts if part not in numbers]
    numbers += [call.group(2)] if call.group(2) else []
    if len(columns) != 1 or len(numbers) > 1:
        _refuse(text, "a transform takes one column, and bucket and truncate a number")
    return columns[0], (whole_number(numbers[0]) or 0) if numbers else None


def _column(text: str, schema: Schema, whole: str) -> tuple[Field, ...]:
    parts = [a.replace("``", "`") if a else b.strip() for a, b in _PART.findall(text.strip())]
    found = schema.resolve(parts) if parts else None
    if found is None:
        near = schema.near_names(".".join(parts))
        raise ConstraintViolationError(
            f"there is no column {text.strip()[:100]!r}",
            field=whole[:100],
            hint=f"Near names: {', '.join(near)}" if near else "Nothing was written",
        )
    return found


def default_name(parsed: PartitionText, has_width: bool) -> str:
    """The name of a partition field that the user gave none.

    ``has_width``: whether the number of buckets or the width is part of it. The reference implementation leaves it out
    where a table is created, and adds it where a field is added.
    """
    column = ".".join(f.name for f in parsed.path)
    kind, _, width = parsed.transform.rstrip("]").partition("[")
    if kind == "identity":
        return column
    suffix = {"truncate": "trunc", "void": "null"}.get(kind, kind)
    return f"{column}_{suffix}_{width}" if has_width and width else f"{column}_{suffix}"


def partition_json(parsed: PartitionText, has_width: bool = False) -> dict[str, Any]:
    """The JSON of a partition field, without an id. ``has_width`` as in :func:`default_name`."""
    name = parsed.name if parsed.name is not None else default_name(parsed, has_width)
    return {"source-id": parsed.source.id, "transform": parsed.transform, "name": name}


def check_redundant(fields: Iterable[Mapping[str, Any]]) -> None:
    """Refuse two partition fields of one column that say the same, or of which one follows from the other.

    Raises ConstraintViolationError.
    """
    seen: dict[tuple[Any, str], str] = {}
    for field in fields:
        is_time = field["transform"] in ("year", "month", "day", "hour")
        key = (field["source-id"], "time" if is_time else field["transform"])
        if key in seen and field["transform"] != "void":
            _refuse(field["name"], f"it is redundant beside the partition field {seen[key]!r} of the same column")
        seen[key] = field["name"]


def sort_json(text: str, schema: Schema) -> dict[str, Any]:
    """The JSON of a sort field. NULLs come first where values ascend, and last where they descend, as in Spark.

    Raises ConstraintViolationError as :func:`parse_partition_text` does.
    """
    if not isinstance(text, str) or not text.strip():
        _refuse(str(text), "a sort field is a column, or a transform of one, with asc or desc behind it or not")
    is_name = any(f.name == text for f in schema)
    match = _ORDER.match(text)
    assert match is not None
    body, direction, nulls = (text, None, None) if is_name else match.groups()
    parsed = parse_partition_text(body, schema)
    direction = (direction or "asc").lower()
    nulls = (nulls or ("first" if direction == "asc" else "last")).lower()
    return {
        "transform": parsed.transform,
        "source-id": parsed.source.id,
        "direction": direction,
        "null-order": f"nulls-{nulls}",
    }


def _refuse(text: str, message: str) -> NoReturn:
    raise ConstraintViolationError(message, field=text[:100], hint="Nothing was written")
