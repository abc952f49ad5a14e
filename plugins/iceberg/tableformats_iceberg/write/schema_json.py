"""Schemas as JSON: types under Iceberg's names, fields with fresh ids.

Source: Iceberg spec, "Schemas and Data Types", "Default values", appendix C, "Schemas", and appendix D, "JSON
single-value serialization".
"""

from __future__ import annotations

import datetime as dt
import decimal
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tableformats.plugin import (
    DAY_US,
    EXACT,
    DecimalType,
    Field,
    FixedType,
    ListType,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    Type,
    UnsupportedFeatureError,
)

__all__ = ["default_json", "field_json", "fresh_schema", "name_mapping", "schema_json", "type_json"]

_NAMES = {
    "byte": "int",
    "short": "int",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    "timestamp_ns": "timestamptz_ns",
    "timestamp_ntz_ns": "timestamp_ns",
}
"""Iceberg's names of types where they are not ours. There are no smaller integers than int."""

Json = dict[str, Any]
NextId = Callable[[], int]


def fresh_schema(schema: Schema, first: int = 1) -> Json:
    """The JSON of a schema whose ids are assigned anew, from ``first`` on.

    The ids of a struct's fields come before those within the fields.
    """
    ids = iter(range(first, 2**31))
    return {"type": "struct", "schema-id": 0, "fields": _fields_json(schema.fields, lambda: next(ids))}


def schema_json(schema: Schema, schema_id: int = 0) -> Json:
    """The JSON of a schema with the ids that its fields have."""
    return {"type": "struct", "schema-id": schema_id, "fields": _fields_json(schema.fields, None)}


def _fields_json(fields: Iterable[Field], next_id: NextId | None) -> list[Json]:
    fields = list(fields)
    ids = [f.id if next_id is None else next_id() for f in fields]
    return [field_json(f, i, next_id) for f, i in zip(fields, ids, strict=True)]


def field_json(f: Field, field_id: int, next_id: NextId | None) -> Json:
    """The JSON of a struct's field. ``next_id`` gives the ids of the fields within it; None: they have their own."""
    found: Json = {"id": field_id, "name": f.name, "required": f.required, "type": _field_type(f, next_id)}
    if f.doc is not None:
        found["doc"] = f.doc
    return found


def _field_type(f: Field, next_id: NextId | None) -> Any:
    if f.collation is not None or f.char_length is not None:
        what = "collation" if f.collation is not None else "char"
        raise UnsupportedFeatureError(
            "Iceberg has neither collations nor CHAR columns", field=f"{f.name}.{what}", hint="Nothing was written"
        )
    logical = f.metadata.get("logical_type")
    if isinstance(logical, str) and logical.startswith(("geometry", "geography")):
        return logical
    return type_json(f.type, next_id)


def type_json(kind: Type, next_id: NextId | None) -> Any:
    """The JSON of a type. ``next_id`` as in :func:`field_json`."""
    if isinstance(kind, StructType):
        return {"type": "struct", "fields": _fields_json(kind.fields, next_id)}
    if isinstance(kind, ListType):
        element_id = kind.element.id if next_id is None else next_id()
        return {
            "type": "list",
            "element-id": element_id,
            "element-required": kind.element.required,
            "element": _field_type(kind.element, next_id),
        }
    if isinstance(kind, MapType):
        key_id = kind.key.id if next_id is None else next_id()
        value_id = kind.value.id if next_id is None else next_id()
        return {
            "type": "map",
            "key-id": key_id,
            "key": _field_type(kind.key, next_id),
            "value-id": value_id,
            "value-required": kind.value.required,
            "value": _field_type(kind.value, next_id),
        }
    if isinstance(kind, DecimalType):
        return f"decimal({kind.precision}, {kind.scale})"
    if isinstance(kind, FixedType):
        return f"fixed[{kind.length}]"
    assert isinstance(kind, PrimitiveType)
    return _NAMES.get(kind.name, kind.name)


def name_mapping(schema: Mapping[str, Any]) -> list[Json]:
    """The name mapping of a schema's JSON, by which data files without field ids are read.

    Source: Iceberg spec, "Name Mapping Serialization".
    """
    return [_mapped(field["id"], field["name"], field["type"]) for field in schema["fields"]]


def _mapped(field_id: int, name: str, kind: Any) -> Json:
    found: Json = {"field-id": field_id, "names": [name]}
    if isinstance(kind, Mapping) and kind["type"] == "struct":
        found["fields"] = name_mapping(kind)
    elif isinstance(kind, Mapping):
        parts = ("element",) if kind["type"] == "list" else ("key", "value")
        found["fields"] = [_mapped(kind[f"{part}-id"], part, kind[part]) for part in parts]
    return found


# ---- default values -------------------------------------------------------------------------------------------------

_EPOCH = dt.datetime(1970, 1, 1)


def default_json(value: Any, kind: Any) -> Any:
    """A default value as JSON.

    Parameters
    ----------
    value : object
        The Python value, as Arrow gives it. For times in nanoseconds also their number since the epoch.
    kind : object
        The JSON of the type.

    Raises
    ------
    ValueError, TypeError
        The value is none of that type.
    UnsupportedFeatureError
        Defaults of lists and maps are not written.
    """
    if value is None:
        return None
    if isinstance(kind, Mapping):
        if kind["type"] == "struct" and value == {}:
            return {}
        raise UnsupportedFeatureError(
            f"default values of a {kind['type']} are not written", field="default", hint="Set NULL as the default"
        )
    if kind.startswith("decimal"):
        scale = int(kind.partition(",")[2].strip(" )"))
        exact = decimal.Decimal(str(value)).quantize(decimal.Decimal(f"1e{-scale}"), context=EXACT)
        if exact != decimal.Decimal(str(value)):
            raise ValueError(f"{value} has more than {scale} decimal places")
        return f"{exact:f}"
    if kind.startswith("fixed"):
        length = int(kind[6:-1])
        if len(value) != length:
            raise ValueError(f"{len(value)} bytes are not {length}")
        return bytes(value).hex()
    return _DEFAULTS[kind](value)


def _whole(bits: int) -> Callable[[Any], int]:
    def of(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise ValueError(f"{value!r} is no {bits}-bit integer")
        return value

    return of


def _exactly(*kinds: type) -> Callable[[Any], Any]:
    def of(value: Any) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise TypeError(f"{value!r} has another type")
        return value

    return of


def _finite(value: Any) -> float:
    found = float(_exactly(int, float)(value))
    if found != found or found in (float("inf"), float("-inf")):
        raise ValueError(f"{value!r} cannot be a default value: JSON has no such number")
    return found


def _uuid(value: Any) -> str:
    return str(uuid.UUID(bytes=value) if isinstance(value, bytes) else uuid.UUID(str(value)))


def _timestamp(is_zoned: bool, is_ns: bool) -> Callable[[Any], str]:
    def of(value: Any) -> str:
        if isinstance(value, dt.datetime):
            if (value.tzinfo is not None) is not is_zoned:
                raise ValueError("the value has a time zone, or has none, unlike the column")
            naive = value.astimezone(dt.timezone.utc).replace(tzinfo=None) if is_zoned else value
            text, nanos = naive.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0"), naive.microsecond * 1000
        elif is_ns and isinstance(value, int):
            micros, rest = divmod(value, 1000)
            naive = _EPOCH + dt.timedelta(days=micros // DAY_US, microseconds=micros % DAY_US)
            text, nanos = naive.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0"), naive.microsecond * 1000 + rest
        else:
            raise TypeError(f"{value!r} is no time")
        digits = f"{nanos:09d}" if is_ns else f"{nanos // 1000:06d}"
        return f"{text}.{digits}{'+00:00' if is_zoned else ''}"

    return of


_DEFAULTS: Mapping[str, Callable[[Any], Any]] = {
    "boolean": _exactly(bool),
    "int": _whole(32),
    "long": _whole(64),
    "float": _finite,
    "double": _finite,
    "string": _exactly(str),
    "binary": lambda value: bytes(_exactly(bytes)(value)).hex(),
    "uuid": _uuid,
    "date": lambda value: _exactly(dt.date)(value).isoformat()[:10],
    "time": lambda value: _exactly(dt.time)(value).isoformat(),
    "timestamp": _timestamp(is_zoned=False, is_ns=False),
    "timestamptz": _timestamp(is_zoned=True, is_ns=False),
    "timestamp_ns": _timestamp(is_zoned=False, is_ns=True),
    "timestamptz_ns": _timestamp(is_zoned=True, is_ns=True),
}
