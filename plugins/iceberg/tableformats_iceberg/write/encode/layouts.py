"""The Avro schemas of manifests and manifest lists: which members an entry has, in which order, of which type.

A :class:`Layout` of files that are carried over has the members of their writer, unknown ones included, each with the
type that its writer gave it. So their encoded values are copied as they are.
Source: Iceberg spec, "Manifests", "Manifest Lists", "Writer requirements", appendix A, "Avro".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import Any

from tableformats.plugin import (
    CorruptMetadataError,
    DecimalType,
    FixedType,
    PartitionSpec,
    PrimitiveType,
    Type,
    UnsupportedFeatureError,
    dataclass,
)

from .avro_encoding import NOTHING, varint

__all__ = [
    "PARTITION",
    "Layout",
    "Member",
    "carried_layout",
    "layout_of",
    "list_members",
    "list_schema",
    "list_writers",
    "members_of_writer",
    "merged_members",
]

PARTITION = 102
_DEFAULT_BLOCK_SIZE = varint(64 << 20)
_MOST_LEVELS = 32


@dataclass(frozen=True)
class Member:
    """A member of the record ``data_file``.

    ``avro`` is the Avro type as parsed JSON. ``default`` is the encoded value where a file has none; None: it must
    have one.
    """

    id: int
    name: str
    avro: Any
    default: bytes | None = None

    @cached_property
    def encoding(self) -> Any:
        """What decides how values are encoded: equal for types whose encoded values may stand for each other."""
        return encoding_of(self.avro)


@dataclass(frozen=True)
class Layout:
    """The members of the entries of one manifest."""

    format_version: int
    members: tuple[Member, ...]

    @cached_property
    def key(self) -> Any:
        """Entries of layouts with the same key may stand in one manifest."""
        return self.format_version, tuple((m.id, m.encoding) for m in self.members)

    @cached_property
    def schema(self) -> Any:
        """The Avro schema of an entry, as parsed JSON."""
        fields = [{"name": m.name, "type": m.avro, "field-id": m.id} for m in self.members]
        data_file = {"type": "record", "name": "r2", "fields": [_with_default(f) for f in fields]}
        heads = [_field(0, "status", "int"), _field(1, "snapshot_id", "long", self.format_version > 1)]
        if self.format_version > 1:
            heads += [_field(3, "sequence_number", "long", True), _field(4, "file_sequence_number", "long", True)]
        entry = {"type": "record", "name": "manifest_entry", "fields": [*heads, _field(2, "data_file", data_file)]}
        return _with_unique_names(entry)


def _field(field_id: int, name: str, avro: Any, is_optional: bool = False) -> dict[str, Any]:
    return _with_default({"name": name, "type": ["null", avro] if is_optional else avro, "field-id": field_id})


def _with_default(field: dict[str, Any]) -> dict[str, Any]:
    kind = field["type"]
    return {**field, "default": None} if isinstance(kind, list) and kind[0] == "null" else field


def _map(key: int, value: int, kind: str) -> Any:
    members = [{"name": "key", "type": "int", "field-id": key}, {"name": "value", "type": kind, "field-id": value}]
    item = {"type": "record", "name": f"k{key}_v{value}", "fields": members}
    return ["null", {"type": "array", "logicalType": "map", "items": item}]


def _list(element: int, kind: str) -> Any:
    return ["null", {"type": "array", "element-id": element, "items": kind}]


_MEMBERS = (
    (134, "content", "int", varint(0), (2, 3)),
    (100, "file_path", "string", None, (1, 2, 3)),
    (101, "file_format", "string", None, (1, 2, 3)),
    (PARTITION, "partition", None, None, (1, 2, 3)),
    (103, "record_count", "long", None, (1, 2, 3)),
    (104, "file_size_in_bytes", "long", None, (1, 2, 3)),
    (105, "block_size_in_bytes", "long", _DEFAULT_BLOCK_SIZE, (1,)),
    (108, "column_sizes", _map(117, 118, "long"), NOTHING, (1, 2, 3)),
    (109, "value_counts", _map(119, 120, "long"), NOTHING, (1, 2, 3)),
    (110, "null_value_counts", _map(121, 122, "long"), NOTHING, (1, 2, 3)),
    (137, "nan_value_counts", _map(138, 139, "long"), NOTHING, (1, 2, 3)),
    (125, "lower_bounds", _map(126, 127, "bytes"), NOTHING, (1, 2, 3)),
    (128, "upper_bounds", _map(129, 130, "bytes"), NOTHING, (1, 2, 3)),
    (131, "key_metadata", ["null", "bytes"], NOTHING, (1, 2, 3)),
    (132, "split_offsets", _list(133, "long"), NOTHING, (1, 2, 3)),
    (135, "equality_ids", _list(136, "int"), NOTHING, (2, 3)),
    (140, "sort_order_id", ["null", "int"], NOTHING, (1, 2, 3)),
    (142, "first_row_id", ["null", "long"], NOTHING, (3,)),
    (143, "referenced_data_file", ["null", "string"], NOTHING, (2, 3)),
    (144, "content_offset", ["null", "long"], NOTHING, (3,)),
    (145, "content_size_in_bytes", ["null", "long"], NOTHING, (3,)),
)
_REPLACED = {142}
"""Members whose values are written anew, so in the type of the specification."""


@lru_cache(maxsize=64)
def layout_of(format_version: int, spec: PartitionSpec) -> Layout:
    """The layout of new files. Raises UnsupportedFeatureError for a partition field whose type is not known."""
    partition = partition_type(spec)
    members = [
        Member(field_id, name, partition if field_id == PARTITION else avro, default)
        for field_id, name, avro, default, versions in _MEMBERS
        if format_version in versions
    ]
    return Layout(format_version, tuple(members))


def carried_layout(format_version: int, spec: PartitionSpec, writers: tuple[Member, ...]) -> Layout:
    """The layout of files whose entries another writer wrote with the members ``writers``.

    Left out are members that the specification says are not written in this version.
    """
    known = {m.id: m for m in writers}
    listed = {field_id for field_id, *_ in _MEMBERS}
    members = []
    for standard in layout_of(format_version, spec).members:
        own = known.get(standard.id)
        is_own = own is not None and standard.id not in _REPLACED and own.encoding != standard.encoding
        members.append(Member(standard.id, standard.name, own.avro, standard.default) if own and is_own else standard)
    members += [m for m in writers if m.id not in listed]
    return Layout(format_version, tuple(members))


def partition_type(spec: PartitionSpec) -> Any:
    """The Avro type of the partition values of a spec."""
    fields = []
    for f in spec.fields:
        name = _avro_name(f.name)
        member = {"name": name, "type": ["null", _avro_type(f.type)], "default": None, "field-id": f.id}
        fields.append(member if name == f.name else {**member, "iceberg-field-name": f.name})
    return {"type": "record", "name": "r102", "fields": fields}


_SIMPLE = {
    "boolean": "boolean",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "time": {"type": "long", "logicalType": "time-micros"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    "timestamp_ntz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    "timestamp_ns": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
    "timestamp_ntz_ns": {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    "uuid": {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"},
}


def _avro_type(kind: Type) -> Any:
    if isinstance(kind, DecimalType):
        size = decimal_bytes(kind.precision)
        name = f"decimal_{kind.precision}_{kind.scale}"
        numbers = {"precision": kind.precision, "scale": kind.scale}
        return {"type": "fixed", "name": name, "size": size, "logicalType": "decimal", **numbers}
    if isinstance(kind, FixedType):
        return {"type": "fixed", "name": f"fixed_{kind.length}", "size": kind.length}
    if isinstance(kind, PrimitiveType) and kind.name in _SIMPLE:
        return _SIMPLE[kind.name]
    raise UnsupportedFeatureError(f"partition values of the type {kind} are not written", field="partition")


def decimal_bytes(precision: int) -> int:
    """The fewest bytes that hold every number of so many digits."""
    return ((10**precision - 1).bit_length() + 8) // 8


def _avro_name(name: str) -> str:
    """A name as Avro allows it, as the Java reference makes it: others become ``_`` and the character's number."""
    first = "_" + name[0] if name[:1].isdigit() and name[0].isascii() else ""
    rest = name[1:] if first else name
    return first + re.sub(r"[^A-Za-z0-9_]", lambda found: f"_x{ord(found.group()):X}", rest)


# ---- other writers' schemas -----------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def members_of_writer(schema: bytes) -> tuple[Member, ...]:
    """The members of ``data_file`` in a manifest's schema, as their writer declared them.

    Members without a field id are those of the specification by their names, and left out if they are none.

    Raises
    ------
    CorruptMetadataError
        The schema is damaged.
    """
    try:
        entry = _expanded(json.loads(schema), {}, 0)
        fields = entry["fields"]
        data_file = next(
            f for f in fields if f.get("field-id") == 2 or (f.get("field-id") is None and f["name"] == "data_file")
        )
        by_name = {name: field_id for field_id, name, *_ in _MEMBERS}
        found = [(f.get("field-id", by_name.get(f["name"])), f["name"], f["type"]) for f in data_file["type"]["fields"]]
        return tuple(Member(i, name, avro) for i, name, avro in found if isinstance(i, int))
    except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
        raise CorruptMetadataError("the Avro schema of a manifest is damaged", field="avro.schema") from None


def _expanded(avro: Any, named: dict[str, Any], depth: int) -> Any:
    """A type without references to names."""
    if depth > _MOST_LEVELS:
        raise ValueError("nested too deeply")
    if isinstance(avro, list):
        return [_expanded(branch, named, depth + 1) for branch in avro]
    if isinstance(avro, str):
        return named.get(avro, avro)
    kind = avro["type"]
    if isinstance(kind, (dict, list)):
        return _expanded(kind, named, depth + 1)
    found = dict(avro)
    if kind == "record":
        found["fields"] = [{**f, "type": _expanded(f["type"], named, depth + 1)} for f in avro["fields"]]
    for part in ("items", "values"):
        if part in avro:
            found[part] = _expanded(avro[part], named, depth + 1)
    if isinstance(avro.get("name"), str):
        named[avro["name"]] = named[avro["name"].rpartition(".")[2]] = found
    return found


def encoding_of(avro: Any) -> Any:
    """See :attr:`Member.encoding`. Names of types and of their members do not count, field ids do."""
    if isinstance(avro, list):
        return ("union", *map(encoding_of, avro))
    if isinstance(avro, str):
        return avro
    kind = avro["type"]
    if kind == "record":
        return (kind, *((f.get("field-id"), encoding_of(f["type"])) for f in avro["fields"]))
    if kind == "array":
        return (kind, avro.get("element-id"), encoding_of(avro["items"]))
    if kind == "map":
        return (kind, encoding_of(avro["values"]))
    if kind == "fixed":
        return (kind, avro["size"])
    if kind == "enum":
        return (kind, *avro["symbols"])
    return encoding_of(kind)


def _with_unique_names(avro: Any) -> Any:
    """A schema in which each name is defined once; a second definition of the same type refers to the first."""
    return _unique(avro, {})


def _unique(avro: Any, seen: dict[str, Any]) -> Any:
    if isinstance(avro, list):
        return [_unique(branch, seen) for branch in avro]
    if isinstance(avro, str):
        return avro
    found = dict(avro)
    name = avro.get("name")
    if isinstance(name, str):
        encoding = encoding_of(avro)
        while name in seen and seen[name] != encoding:
            name += "_"
        if name in seen:
            return name
        seen[name] = encoding
        found["name"] = name
        found.pop("namespace", None)
    if avro["type"] == "record":
        found["fields"] = [{**f, "type": _unique(f["type"], seen)} for f in avro["fields"]]
    for part in ("items", "values"):
        if part in avro:
            found[part] = _unique(avro[part], seen)
    return found


# ---- manifest lists -------------------------------------------------------------------------------------------------

_SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field(509, "contains_null", "boolean"),
        _field(518, "contains_nan", "boolean", True),
        _field(510, "lower_bound", "bytes", True),
        _field(511, "upper_bound", "bytes", True),
    ],
}
_SUMMARIES = ["null", {"type": "array", "element-id": 508, "items": _SUMMARY}]
_LIST = (
    Member(500, "manifest_path", "string"),
    Member(501, "manifest_length", "long"),
    Member(502, "partition_spec_id", "int"),
    Member(517, "content", "int", varint(0)),
    Member(515, "sequence_number", "long", varint(0)),
    Member(516, "min_sequence_number", "long", varint(0)),
    Member(503, "added_snapshot_id", "long"),
    Member(504, "added_files_count", "int"),
    Member(505, "existing_files_count", "int"),
    Member(506, "deleted_files_count", "int"),
    Member(512, "added_rows_count", "long"),
    Member(513, "existing_rows_count", "long"),
    Member(514, "deleted_rows_count", "long"),
    Member(507, "partitions", _SUMMARIES, NOTHING),
    Member(519, "key_metadata", ["null", "bytes"], NOTHING),
    Member(520, "first_row_id", ["null", "long"], NOTHING),
)
_OLD_NAMES = {"added_data_files_count": 504, "existing_data_files_count": 505, "deleted_data_files_count": 506}
_COUNTS = (504, 505, 506, 512, 513, 514)
_ONLY_V2 = {517, 515, 516}


@lru_cache(maxsize=64)
def list_writers(schema: bytes) -> tuple[Member, ...]:
    """The members of the rows of a manifest list, as its writer declared them. See :func:`members_of_writer`."""
    try:
        fields = _expanded(json.loads(schema), {}, 0)["fields"]
        by_name = {**{m.name: m.id for m in _LIST}, **_OLD_NAMES}
        found = [(f.get("field-id", by_name.get(f["name"])), f["name"], f["type"]) for f in fields]
        return tuple(Member(i, name, avro) for i, name, avro in found if isinstance(i, int))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise CorruptMetadataError("the Avro schema of a manifest list is damaged", field="avro.schema") from None


def list_members(format_version: int) -> tuple[Member, ...]:
    """The members of a row of a manifest list. In version 1 counts may be null."""
    left = [m for m in _LIST if (format_version > 1 or m.id not in _ONLY_V2) and (format_version > 2 or m.id != 520)]
    if format_version > 1:
        return tuple(left)
    return tuple(Member(m.id, m.name, ["null", m.avro], NOTHING) if m.id in _COUNTS else m for m in left)


def list_schema(members: Iterable[Member]) -> Any:
    """The Avro schema of a manifest list, as parsed JSON."""
    fields = [_with_default({"name": m.name, "type": m.avro, "field-id": m.id}) for m in members]
    return _with_unique_names({"type": "record", "name": "manifest_file", "fields": fields})


def merged_members(standard: Iterable[Member], writers: Mapping[int, Member]) -> tuple[Member, ...]:
    """The members of a list that carries rows over: the standard's, and those that only ``writers`` know."""
    found = tuple(standard)
    known = {m.id for m in _LIST}
    # New manifests have no value of a member that is not known, so it is kept only where it may be null.
    return (
        *found,
        *(m for i, m in writers.items() if i not in known and isinstance(m.avro, list) and "null" in m.avro),
    )
