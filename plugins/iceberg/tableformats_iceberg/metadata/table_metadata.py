"""The table metadata file: versions 1, 2 and 3, and deviations of older writers.

:func:`read_metadata` reads one ``metadata.json`` and returns a :class:`TableMetadata`. Whether it is plain, gzip or
zstandard is decided by the content, not by the file's name. Errors name the field that is missing or malformed.
Source: Iceberg spec, "Table Metadata Fields", "Snapshots", "Snapshot References", appendix C.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    DATETIME_MS,
    DEFAULT_LIMITS,
    CorruptMetadataError,
    Field,
    Limits,
    ListType,
    MapType,
    PartitionField,
    PartitionSpec,
    Schema,
    StructType,
    TableNotFoundError,
    Transform,
    Type,
    UnsupportedFeatureError,
    dataclass,
    parse_transform,
    primitive,
)

from ..files.inflate import inflated
from ..files.strict_json import Node, parse_json
from .schema import field_ids, parse_schema

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = [
    "Reference",
    "Snapshot",
    "TableMetadata",
    "metadata_json",
    "metadata_of",
    "parse_metadata",
    "read_metadata",
]

FIRST_PARTITION_FIELD_ID = 1000
NEWEST_VERSION = 3


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of the metadata's list.

    ``manifest_list`` names its manifests; in old version 1 tables, ``manifests`` does.
    """

    id: int
    parent_id: int | None
    sequence_number: int
    timestamp_ms: int
    manifest_list: str | None
    manifests: tuple[str, ...]
    summary: Mapping[str, str]
    schema_id: int | None
    first_row_id: int | None


@dataclass(frozen=True)
class Reference:
    """A branch or tag. ``type`` is ``branch`` or ``tag``."""

    name: str
    snapshot_id: int
    type: str
    max_reference_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None


@dataclass(frozen=True)
class TableMetadata:
    """The content of one metadata file, at the absolute ``path``."""

    path: str
    format_version: int
    location: str
    last_updated_ms: int
    schemas: Mapping[int, Schema]
    current_schema_id: int
    specs: Mapping[int, PartitionSpec]
    default_spec_id: int
    properties: dict[str, str]
    snapshots: Mapping[int, Snapshot]
    current_snapshot_id: int | None
    refs: Mapping[str, Reference]
    snapshot_log: tuple[tuple[int, int], ...] = field(default=())
    """(timestamp in ms, snapshot id): when each snapshot became current, oldest first."""
    size_bytes: int = 0
    last_column_id: int | None = None
    metadata_log: tuple[tuple[int, str], ...] = field(default=())
    """(timestamp in ms, path as stored): the metadata files before this one, oldest first."""

    @property
    def schema(self) -> Schema:
        """The current schema."""
        return self.schemas[self.current_schema_id]

    @property
    def knows_all_schemas(self) -> bool:
        """Whether no schema was removed: ids count from 0 without a gap, and every snapshot's schema is there."""
        named = all(snapshot.schema_id in self.schemas for snapshot in self.snapshots.values())
        return named and set(self.schemas) == set(range(len(self.schemas)))

    def dropped_nothing_from(self, schema: Schema) -> bool:
        """Whether ``schema`` has every column that the table ever had, at every depth."""
        ids = sorted(field_ids(schema.fields))
        return len(ids) == self.last_column_id and ids == list(range(1, len(ids) + 1))

    def without_history(self) -> TableMetadata:
        """A copy without snapshots, references and logs, which grow with every commit."""
        return replace(self, snapshots={}, refs={}, current_snapshot_id=None, snapshot_log=(), metadata_log=())

    def find_field(self, field_id: int) -> Field | None:
        """The field with that id, in the current schema or else in the newest schema that has it."""
        for schema_id in [self.current_schema_id, *sorted(self.schemas, reverse=True)]:
            found = self.schemas[schema_id].find_id(field_id)
            if found is not None:
                return found
        return None

    def ancestors(self, snapshot_id: int | None) -> list[Snapshot]:
        """A snapshot and its ancestors that have not expired, newest first."""
        found: dict[int, Snapshot] = {}
        while snapshot_id is not None and snapshot_id in self.snapshots and snapshot_id not in found:
            found[snapshot_id] = self.snapshots[snapshot_id]
            snapshot_id = found[snapshot_id].parent_id
        return list(found.values())


def read_metadata(storage: Storage, path: str) -> TableMetadata:
    """Read the metadata file at the absolute ``path``.

    Raises
    ------
    TableNotFoundError
        There is no such file.
    CorruptMetadataError
        The JSON is malformed, or a field is missing or has the wrong type. ``field`` names it.
    UnsupportedFeatureError
        The table has a newer format version, is encrypted, or has an unknown type.
    LimitExceededError
        The limits ``metadata_bytes``, ``inflated_bytes``, ``expansion``, ``nesting`` and ``fields``.
    """
    try:
        data = storage.read_bytes(path)
    except FileNotFoundError:
        raise TableNotFoundError("there is no such metadata file", path=path, hint="Check the path") from None
    return parse_metadata(data, path, storage.limits)


def parse_metadata(data: bytes, path: str, limits: Limits = DEFAULT_LIMITS) -> TableMetadata:
    """Parse the content of a metadata file. Raises as :func:`read_metadata` does."""
    return metadata_of(metadata_json(data, path, limits), path, limits, len(data))


def metadata_json(data: bytes, path: str, limits: Limits = DEFAULT_LIMITS) -> Any:
    """The JSON of a metadata file. Raises CorruptMetadataError, LimitExceededError."""
    return parse_json(_plain(data, path, limits), path, limits, len(data))


def metadata_of(
    value: Any,
    path: str,
    limits: Limits = DEFAULT_LIMITS,
    size_bytes: int = 0,
    earlier: tuple[Mapping[str, Any], TableMetadata] | None = None,
) -> TableMetadata:
    """The metadata that the JSON of a metadata file describes. Raises as :func:`read_metadata` does.

    Parameters
    ----------
    earlier : tuple of (mapping, TableMetadata), optional
        The JSON of an earlier file of the table, and what it describes. Snapshots that both have are taken from it.
    """
    node = Node(value, path, limits=limits)
    version = node.integer("format-version", 32)
    if version > NEWEST_VERSION:
        raise UnsupportedFeatureError(
            f"the table has Iceberg format version {version}",
            path=path,
            field="format-version",
            hint=f"Versions 1 to {NEWEST_VERSION} are read",
        )
    if version < 1:
        node.child("format-version").fail(f"there is no format version {version}")
    _refuse_encryption(node)
    if version > 1:
        _require(node, version)
    schemas, current_schema_id = _schemas(node, version)
    snapshots = _snapshots(node, version, earlier)
    current = node.optional_integer("current-snapshot-id")
    current = None if current == -1 else current
    if current is not None and current not in snapshots:
        node.child("current-snapshot-id").fail(f"the snapshot {current} is not listed")
    specs, default_spec_id = _specs(node, version, schemas, current_schema_id)
    return TableMetadata(
        path,
        version,
        node.text("location").rstrip("/") or "/",
        _time(node, "last-updated-ms"),
        schemas,
        current_schema_id,
        specs,
        default_spec_id,
        node.texts("properties"),
        snapshots,
        current,
        _refs(node, current, snapshots),
        _snapshot_log(node, earlier),
        size_bytes,
        node.optional_integer("last-column-id", 32),
        _metadata_log(node, earlier),
    )


def _plain(data: bytes, path: str, limits: Limits) -> bytes:
    """The content of a metadata file, inflated if it is compressed."""
    if data[:2] == b"\x1f\x8b":
        return bytes(inflated("gzip", memoryview(data), limits, path, 0, len(data)))
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return bytes(inflated("zstandard", memoryview(data), limits, path, 0, len(data)))
    if not data:
        raise CorruptMetadataError("the metadata file is empty", path=path, offset=0)
    return data


def _refuse_encryption(node: Node) -> None:
    snapshots = node.mapping().get("snapshots")
    are_plain = isinstance(snapshots, list) and not any("key-id" in s for s in snapshots if isinstance(s, dict))
    keyed = None if are_plain else next((s for s in node.items("snapshots") if "key-id" in s), None)
    if keyed is None and next(node.items("encryption-keys"), None) is None:
        return
    raise UnsupportedFeatureError(
        "the table is encrypted", path=node.path, field="encryption-keys", hint="Encrypted tables are not read yet"
    )


def _require(node: Node, version: int) -> None:
    """Refuse metadata without the fields that versions 2 and later must have, even those that reading does not need."""
    node.text("table-uuid")
    node.integer("last-sequence-number")
    for key in ("last-column-id", "last-partition-id", "default-sort-order-id", "current-schema-id", "default-spec-id"):
        node.integer(key, 32)
    for key in ("schemas", "partition-specs", "sort-orders"):
        node.child(key)
    if version > 2:
        node.integer("next-row-id")


def _schemas(node: Node, version: int) -> tuple[dict[int, Schema], int]:
    """All schemas by id, and the current id. A single ``schema`` of version 1 without an id gets the id 0."""
    found = [parse_schema(child) for child in node.items("schemas")]
    schemas = {s.id if s.id is not None else 0: s for s in found}
    current = node.optional_integer("current-schema-id", 32)
    if not schemas or (version == 1 and current is None):
        schema = parse_schema(node.child("schema"))
        current = schema.id if schema.id is not None else 0
        schemas.setdefault(current, Schema(schema.fields, current))
    if current is None or current not in schemas:
        node.child("current-schema-id").fail(f"the schema {current} is not listed")
    return schemas, current


# ---- partition specs ------------------------------------------------------------------------------------------------


def _specs(node: Node, version: int, schemas: dict[int, Schema], current: int) -> tuple[dict[int, PartitionSpec], int]:
    """All specs by id, and the default id. A single ``partition-spec`` of version 1 gets the id 0."""
    order = [schemas[current], *(schemas[i] for i in sorted(schemas, reverse=True))]
    specs: dict[int, PartitionSpec] = {}
    for child in node.items("partition-specs"):
        spec_id = child.integer("spec-id", 32)
        specs[spec_id] = PartitionSpec(spec_id, _spec_fields(child, "fields", order))
    if not specs:
        if version > 1:
            node.child("partition-specs").fail("the list of partition specs is empty")
        node.child("partition-spec")
        specs[0] = PartitionSpec(0, _spec_fields(node, "partition-spec", order))
    # A field that became void has the type that it had before: its id stands for one column of partition values.
    types = {f.id: f.type for s in specs.values() for f in s.fields if f.transform.name != "void"}
    for spec_id, spec in specs.items():
        if any(f.transform.name == "void" for f in spec.fields):
            fields = tuple(replace(f, type=types.get(f.id, f.type)) for f in spec.fields)
            specs[spec_id] = replace(spec, fields=fields)
    default = node.optional_integer("default-spec-id", 32)
    default = max(specs) if default is None else default
    if default not in specs:
        node.child("default-spec-id").fail(f"the partition spec {default} is not listed")
    return specs, default


def _spec_fields(node: Node, key: str, schemas: list[Schema]) -> tuple[PartitionField, ...]:
    fields = []
    for index, child in enumerate(node.items(key)):
        sources = [child.integer("source-id", 32)] if "source-id" in child else _source_ids(child)
        text = child.text("transform")
        # Transforms of several columns are not supported, so their values are never used for pruning.
        transform = parse_transform(text) if len(sources) == 1 else Transform("unknown", text=text)
        field_id = child.optional_integer("field-id", 32)
        fields.append(
            PartitionField(
                FIRST_PARTITION_FIELD_ID + index if field_id is None else field_id,
                child.text("name"),
                sources[0],
                transform,
                _result_type(transform, sources[0], schemas, child),
            )
        )
    if len({f.id for f in fields}) != len(fields):
        node.fail("a partition spec uses a field id twice")
    return tuple(fields)


def _source_ids(node: Node) -> list[int]:
    ids = [child.value for child in node.items("source-ids")]
    if not ids or not all(isinstance(i, int) for i in ids):
        node.fail("a partition field has no source column")
    return ids


def _result_type(transform: Transform, source_id: int, schemas: list[Schema], node: Node) -> Type:
    """The type of the partition values. Values of a column that is in no schema any more stay bytes."""
    for schema in schemas:
        source = schema.find_id(source_id)
        if source is not None:
            if isinstance(source.type, (StructType, ListType, MapType)):
                if transform.name in ("void", "unknown"):
                    return primitive("binary")  # such values are never used
                node.fail(f"a table cannot be partitioned by a column of the type {str(source.type)[:100]}")
            return transform.result_type(source.type)
    return transform.result_type(primitive("binary"))


# ---- snapshots ------------------------------------------------------------------------------------------------------


def _added(
    node: Node, key: str, earlier: tuple[Mapping[str, Any], TableMetadata] | None, version: int
) -> tuple[TableMetadata | None, Iterator[Node]]:
    """The earlier file, if a list begins with all of its elements, and the elements that are not that file's."""
    mine, known = node.mapping().get(key), None if earlier is None else earlier[0].get(key)
    if earlier is None or earlier[1].format_version != version or not isinstance(mine, list) or not known:
        return None, node.items(key)
    if mine[: len(known)] != known:
        return None, node.items(key)
    return earlier[1], node.items(key, len(known))


def _snapshots(
    node: Node, version: int, earlier: tuple[Mapping[str, Any], TableMetadata] | None
) -> dict[int, Snapshot]:
    extended, rest = _added(node, "snapshots", earlier, version)
    found = {} if extended is None else dict(extended.snapshots)
    found.update((s.id, s) for s in (_snapshot(child, version) for child in rest))
    return found


def _snapshot(node: Node, version: int) -> Snapshot:
    manifests = []
    for child in node.items("manifests"):
        if not isinstance(child.value, str):
            child.fail("a string is expected here")
        manifests.append(child.value)
    manifest_list = node.optional_text("manifest-list")
    # Version 2 has no list of manifests here. But an upgraded table keeps the snapshots of version 1.
    if manifest_list is None and "manifests" not in node:
        node.child("manifest-list")
    return Snapshot(
        node.integer("snapshot-id"),
        node.optional_integer("parent-snapshot-id"),
        (node.optional_integer("sequence-number") or 0) if version > 1 else 0,
        _time(node),
        manifest_list,
        tuple(manifests),
        node.texts("summary"),
        node.optional_integer("schema-id", 32),
        node.optional_integer("first-row-id"),
    )


def _time(node: Node, key: str = "timestamp-ms") -> int:
    """Milliseconds since the epoch. Refuses times outside of Python's range, which could not be shown."""
    milliseconds = node.integer(key)
    if milliseconds not in DATETIME_MS:
        node.child(key).fail(f"the time {milliseconds} ms lies outside of the years 1 to 9999")
    return milliseconds


def _refs(node: Node, current: int | None, snapshots: Mapping[int, Snapshot]) -> dict[str, Reference]:
    """Branches and tags by name. Without a reference ``main``, it is a branch at the current snapshot."""
    refs: dict[str, Reference] = {}
    if "refs" in node:
        for name in node.child("refs").mapping():
            child = node.child("refs").child(name)
            kind = child.text("type")
            if kind not in ("branch", "tag"):
                child.child("type").fail(f"{kind[:50]!r} is neither branch nor tag")
            refs[name] = Reference(
                name,
                child.integer("snapshot-id"),
                kind,
                child.optional_integer("max-ref-age-ms"),
                child.optional_integer("min-snapshots-to-keep"),
                child.optional_integer("max-snapshot-age-ms"),
            )
    if current is not None and "main" not in refs:
        refs["main"] = Reference("main", current, "branch")
    for ref in refs.values():
        if ref.snapshot_id not in snapshots:
            node.child("refs").fail(f"the {ref.type} {ref.name[:100]!r} names a snapshot that is not listed")
    return refs


def _snapshot_log(node: Node, earlier: tuple[Mapping[str, Any], TableMetadata] | None) -> tuple[tuple[int, int], ...]:
    extended, rest = _added(node, "snapshot-log", earlier, node.integer("format-version"))
    log = [] if extended is None else list(extended.snapshot_log)
    log += [(_time(child), child.integer("snapshot-id")) for child in rest]
    return tuple(sorted(log, key=itemgetter(0)))


def _metadata_log(node: Node, earlier: tuple[Mapping[str, Any], TableMetadata] | None) -> tuple[tuple[int, str], ...]:
    known = set() if earlier is None else set(earlier[1].metadata_log)
    log: list[tuple[int, str]] = []
    for child in node.items("metadata-log"):
        entry = child.mapping()
        at, file = entry.get("timestamp-ms"), entry.get("metadata-file")
        if type(at) is int and type(file) is str and (at, file) in known:
            log.append((at, file))
        else:
            log.append((_time(child), child.text("metadata-file")))
    return tuple(sorted(log, key=itemgetter(0)))
