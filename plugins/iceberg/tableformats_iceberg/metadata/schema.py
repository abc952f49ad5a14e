"""Parses Iceberg schemas, types, default values and name mappings from JSON.

``geometry`` and ``geography`` become binary, because they are stored as WKB. ``Field.metadata["logical_type"]``, and so
the metadata of the Arrow field, has Iceberg's name of the type with its coordinate reference system. Their bounds are
not used.
Source: Iceberg spec, "Schemas and Data Types", appendix C; for default values appendix D, "JSON single-value
serialization".
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
import uuid
from collections.abc import Iterable, Iterator
from typing import Any

from tableformats.plugin import (
    DAY_S,
    DEFAULT_LIMITS,
    EXACT,
    DecimalType,
    Field,
    FixedType,
    Limits,
    ListType,
    MapType,
    NameMapping,
    PrimitiveType,
    Schema,
    StructType,
    Type,
    UnsupportedFeatureError,
    lazy_pattern,
    primitive,
)

from ..files.strict_json import Node, parse_json

__all__ = ["NAME_MAPPING_PROPERTY", "field_ids", "parse_default", "parse_name_mapping", "parse_schema"]

NAME_MAPPING_PROPERTY = "schema.name-mapping.default"

_PRIMITIVES = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "date": "date",
    "time": "time",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    "timestamp_ns": "timestamp_ntz_ns",
    "timestamptz_ns": "timestamp_ns",
    "string": "string",
    "uuid": "uuid",
    "binary": "binary",
    "variant": "variant",
    "unknown": "unknown",
}
_DECIMAL = lazy_pattern(r"^decimal\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$")
_FIXED = lazy_pattern(r"^fixed\[\s*(\d{1,9})\s*\]$")
_FIELD_BYTES = 48
"""What a field takes in JSON at least, beside its name."""
_GEO = lazy_pattern(r"^geo(metry|graphy)\b")


def parse_schema(node: Node) -> Schema:
    """Parse the schema of a JSON struct type.

    Raises CorruptMetadataError, UnsupportedFeatureError (unknown types), LimitExceededError (``nesting``, ``fields``,
    ``expansion``).
    """
    fields = _fields(node, 0)
    ids = list(field_ids(fields))
    node.limits.check("fields", len(ids), "fields of a schema", path=node.path, field=node.field or None)
    if len(set(ids)) != len(ids):
        node.child("fields").fail("the schema uses a field id twice")
    own, dotted = _characters(fields, 0)
    node.limits.check_dotted_names(dotted, own + _FIELD_BYTES * len(ids), path=node.path, field=node.field or None)
    return Schema(fields, node.optional_integer("schema-id", 32))


def _characters(fields: Iterable[Field], prefix: int) -> tuple[int, int]:
    """The characters of the names of the fields and of all fields below them, and those of their dotted names.

    ``prefix``: the characters before each dotted name.
    """
    own = dotted = 0
    for f in fields:
        name = len(f.name)
        own, dotted = own + name, dotted + prefix + name
        kind = f.type
        below: tuple[Field, ...] = ()
        if isinstance(kind, StructType):
            below = kind.fields
        elif isinstance(kind, ListType):
            below = (kind.element,)
        elif isinstance(kind, MapType):
            below = (kind.key, kind.value)
        if below:
            found = _characters(below, prefix + name + 1)
            own, dotted = own + found[0], dotted + found[1]
    return own, dotted


def _fields(node: Node, depth: int) -> tuple[Field, ...]:
    if not isinstance(node.child("fields").value, list):
        node.child("fields").fail("a JSON array is expected here")
    return tuple(_field(child, depth) for child in node.items("fields"))


def field_ids(fields: Iterable[Field]) -> Iterator[int]:
    """The ids of the fields and of all fields below them."""
    for f in fields:
        yield f.id
        if isinstance(f.type, StructType):
            yield from field_ids(f.type.fields)
        elif isinstance(f.type, ListType):
            yield from field_ids((f.type.element,))
        elif isinstance(f.type, MapType):
            yield from field_ids((f.type.key, f.type.value))


def _field(node: Node, depth: int) -> Field:
    kind = _type(node.child("type"), depth + 1)
    return Field(
        node.integer("id", 32),
        node.text("name"),
        kind,
        node.boolean("required"),
        initial_default=parse_default(node, "initial-default", kind),
        doc=node.optional_text("doc"),
        metadata=_geo_metadata(node.child("type").value),
    )


def _geo_metadata(text: Any) -> dict[str, Any]:
    return {"logical_type": text} if isinstance(text, str) and _GEO.match(text) else {}


def _type(node: Node, depth: int) -> Type:
    node.limits.check("nesting", depth, "levels of types or more in a schema", path=node.path, field=node.field)
    if isinstance(node.value, str):
        return _primitive(node)
    kind = node.text("type")
    if kind == "struct":
        return StructType(_fields(node, depth))
    if kind == "list":
        return ListType(_part(node, "element", "element-required", depth))
    if kind == "map":
        key = _part(node, "key", None, depth)
        return MapType(key, _part(node, "value", "value-required", depth))
    node.fail(f"{kind[:100]!r} is no nested type")


def _part(node: Node, name: str, required: str | None, depth: int) -> Field:
    kind = _type(node.child(name), depth + 1)
    is_required = True if required is None else node.boolean(required)
    return Field(
        node.integer(f"{name}-id", 32), name, kind, is_required, metadata=_geo_metadata(node.child(name).value)
    )


def _primitive(node: Node) -> Type:
    text = node.value
    if text in _PRIMITIVES:
        return primitive(_PRIMITIVES[text])
    if match := _DECIMAL.match(text):
        precision, scale = int(match.group(1)), int(match.group(2))
        if not (1 <= precision <= 38 and scale <= precision):
            node.fail(f"{text!r} is no decimal type: precision is 1 to 38, scale at most the precision")
        return DecimalType(precision, scale)
    if match := _FIXED.match(text):
        return FixedType(int(match.group(1)))
    if _GEO.match(text):
        return primitive("binary")
    raise UnsupportedFeatureError(
        f"the schema uses the type {text[:100]!r}",
        path=node.path,
        field=node.field,
        hint="A newer version may read it",
    )


# ---- default values -------------------------------------------------------------------------------------------------


def parse_default(node: Node, key: str, kind: Type) -> Any:
    """The default value as a Python value that Arrow accepts. None: there is none."""
    if key not in node:
        return None
    child = node.child(key)
    try:
        return _default_value(child, kind)
    except (ValueError, TypeError, ArithmeticError, OverflowError):
        child.fail(f"the default value is no {kind}")


def _default_value(node: Node, kind: Type) -> Any:
    value = node.value
    if value is None:
        return None
    if isinstance(kind, StructType):
        # A struct's default is {}, and its members have their own. Older writers gave the members by field id.
        members = node.mapping()
        return {
            f.name: _default_value(Node(members.get(str(f.id)), node.path, node.field), f.type)
            if str(f.id) in members
            else f.initial_default
            for f in kind.fields
        }
    if isinstance(kind, ListType):
        if not isinstance(value, list):
            raise TypeError
        return [_default_value(Node(v, node.path, node.field), kind.element.type) for v in value]
    if isinstance(kind, MapType):
        keys, values = list(node.items("keys")), list(node.items("values"))
        if len(keys) != len(values):
            raise ValueError
        pairs = zip(keys, values, strict=True)
        return [(_default_value(k, kind.key.type), _default_value(v, kind.value.type)) for k, v in pairs]
    if isinstance(kind, DecimalType):
        stored = decimal.Decimal(_checked(value, str))
        found = stored.quantize(decimal.Decimal(f"1e{-kind.scale}"), context=EXACT)
        if found != stored or found.copy_abs() > kind.greatest:
            raise ValueError
        return found
    if isinstance(kind, FixedType):
        octets = bytes.fromhex(_checked(value, str))
        if len(octets) != kind.length:
            raise ValueError
        return octets
    assert isinstance(kind, PrimitiveType)
    return _default_primitive(value, kind.name)


def _checked(value: Any, kind: type | tuple[type, ...]) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError
    return value


def _default_primitive(value: Any, name: str) -> Any:
    if name == "boolean":
        return _checked(value, bool)
    if name in ("int", "long"):
        bits = 31 if name == "int" else 63
        if not -(1 << bits) <= _checked(value, int) < 1 << bits:
            raise ValueError
        return value
    if name in ("float", "double"):
        return float(_checked(value, (int, float)))
    text = _checked(value, str)
    if name == "string":
        return text
    if name == "uuid":
        return uuid.UUID(text).bytes
    if name == "binary":
        return bytes.fromhex(text)
    if name == "date":
        return dt.date.fromisoformat(text)
    if name == "time":
        return dt.time.fromisoformat(text)
    if name.startswith("timestamp"):
        return _timestamp(text, name)
    raise ValueError


def _timestamp(text: str, name: str) -> dt.datetime | int:
    """A datetime; for the ``_ns`` types, nanoseconds since the epoch."""
    match = re.match(r"^(.*?T\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?$", text)
    if match is None or bool(match.group(3)) == ("ntz" in name):
        raise ValueError
    zone = (match.group(3) or "").replace("Z", "+00:00")
    seconds = dt.datetime.fromisoformat(match.group(1) + zone)
    digits = (match.group(2) or "").ljust(9, "0")
    if not name.endswith("_ns"):
        return seconds.replace(microsecond=int(digits[:6]))
    aware = seconds if seconds.tzinfo else seconds.replace(tzinfo=dt.timezone.utc)
    since = aware - dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
    return (since.days * DAY_S + since.seconds) * 1_000_000_000 + int(digits)


# ---- name mapping ---------------------------------------------------------------------------------------------------


def parse_name_mapping(properties: dict[str, str], path: str, limits: Limits = DEFAULT_LIMITS) -> NameMapping:
    """Parse the table property ``schema.name-mapping.default``, by which files without field ids are read.

    Source: Iceberg spec, "Column Projection" and "Name Mapping Serialization". Raises CorruptMetadataError,
    LimitExceededError (``nesting``, ``fields``).
    """
    text = properties.get(NAME_MAPPING_PROPERTY)
    if not text:
        return NameMapping(by="id")
    data = text.encode()
    collector = _NameCollector(limits.budget(len(data)))
    collector.add(Node({"fields": parse_json(data, path, limits)}, path, NAME_MAPPING_PROPERTY, limits), [""], 0)
    return NameMapping(by="id", names=collector.names)


_NAME_BYTES = 160
"""What a dotted name takes beside its characters, as text and in a dictionary."""


class _NameCollector:
    """Collects the dotted names of a mapping. A name below fields of several names stands for one path by each.

    So a few names can stand for very many. What they will take is charged to ``budget`` (bytes) before they are made.
    """

    def __init__(self, budget: int) -> None:
        self.names: dict[str, int] = {}
        self._left = budget

    def add(self, node: Node, prefixes: list[str], depth: int) -> None:
        """Add the field id of each dotted name below ``node`` to :attr:`names`."""
        _check_nesting(node, depth)
        for child in node.items("fields"):
            last_names = child.mapping().get("names") or []
            if not isinstance(last_names, list) or not all(isinstance(name, str) for name in last_names):
                child.fail("the names of a mapped field are no strings")
            self._charge(child, prefixes, last_names)
            full = [prefix + name for prefix in prefixes for name in last_names]
            field_id = child.optional_integer("field-id", 32)
            if field_id is not None:
                self.names.update(dict.fromkeys(full, field_id))
            if "fields" in child:
                self.add(child, [f"{name}." for name in full], depth + 1)

    def _charge(self, child: Node, prefixes: list[str], last_names: list[str]) -> None:
        count = len(prefixes) * len(last_names)
        found = len(self.names) + count
        path, field = child.path, NAME_MAPPING_PROPERTY
        child.limits.check("fields", found, "names or more of a name mapping", path=path, field=field)
        characters = len(last_names) * sum(map(len, prefixes)) + len(prefixes) * sum(map(len, last_names))
        self._left -= _NAME_BYTES * count + 2 * characters
        if self._left < 0:
            what = f"{count} names of {characters} characters of a name mapping"
            raise child.limits.exceeded("expansion", what, path=path, field=field)


def _check_nesting(node: Node, depth: int) -> None:
    node.limits.check("nesting", depth, "levels or more of a name mapping", path=node.path, field=node.field)
