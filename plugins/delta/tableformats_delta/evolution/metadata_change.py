"""A changed table: new ``metaData`` and ``protocol`` actions from the old ones, with all that they did not say kept.

The protocol is raised to the least that has the features which the new metadata needs, and which the old did not.
Source: Delta PROTOCOL.md, "Change Metadata", "Protocol Evolution", "Column Mapping", "Row Tracking", "CHECK
Constraints", "In-Commit Timestamps".
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from tableformats.plugin import (
    CorruptMetadataError,
    MetadataChange,
    Schema,
    UnsupportedFeatureError,
    dataclass,
    names_in,
)

from ..schema.schema_string import parse_schema
from .properties import (
    FEATURE_PREFIX,
    GREATEST_ID,
    check_property,
    check_unset,
    features_of_properties,
    greatest_id,
    is_true,
)
from .protocol_upgrade import with_features
from .schema_change import CHANGE_COLUMNS, SchemaChange, SchemaContext
from .schema_json import ID, ColumnIds, all_structs, struct_features

__all__ = ["CONSTRAINT_PREFIX", "AlteredTable", "changed_table", "with_commit", "without_nulls"]

CONSTRAINT_PREFIX = "delta.constraints."
_MODE = "delta.columnMapping.mode"
_STATISTICS = "delta.dataSkippingStatsColumns"
_ROW_TRACKING = "delta.enableRowTracking"
_COMMIT_TIMES = "delta.enableInCommitTimestamps"
_HINT = "Nothing was changed"
_DEFAULT = "CURRENT_DEFAULT"
_COMPUTED = ("delta.generationExpression", "delta.identity.")
_EXPRESSIONS = ("delta.invariants", "delta.generationExpression")


@dataclass(frozen=True)
class AlteredTable:
    """The actions of a changed table.

    Attributes
    ----------
    metadata, protocol : dict
        As the actions are written. ``protocol`` equals the old one if nothing needs another.
    starts_commit_times : bool
        Whether the change enables them. Then the commit writes more: see :func:`with_commit`.
    """

    metadata: dict[str, Any]
    protocol: dict[str, Any]
    starts_commit_times: bool = False


def changed_table(
    metadata: Mapping[str, Any],
    protocol: Mapping[str, Any],
    change: MetadataChange,
    clustered: Iterable[str] = (),
    path: str = "",
    is_new: bool = False,
) -> AlteredTable:
    """Change a table.

    Parameters
    ----------
    metadata, protocol : mapping
        The actions of the version that is changed.
    change : MetadataChange
    clustered : iterable of str
        The physical names of the columns by which files are clustered.
    path : str
        The table's location, for errors.
    is_new : bool
        Whether the table is being created, so that it has no files.

    Raises
    ------
    UnsupportedFeatureError
        The change is not done; ``field`` names the column, the property or the constraint.
    ValueError
        A property has no such value.
    """
    if change.references:
        raise UnsupportedFeatureError(
            "Delta tables have no branches and tags", path=path, field=next(iter(change.references))
        )
    if change.sort_by is not None:
        raise UnsupportedFeatureError("Delta tables have no sort order", path=path, field="sort_by")
    if change.partition_by is not None:
        raise UnsupportedFeatureError(
            "the partitioning of a Delta table is not changed: each of its files has values of the partition columns",
            path=path,
            field="partitioning",
            hint="Overwrite the table with another partitioning",
        )
    old = {str(k): str(v) for k, v in (metadata.get("configuration") or {}).items() if v is not None}
    properties, named_features = _changed_properties(old, change.properties, is_new)
    properties = _changed_constraints(properties, change.constraints)
    struct = json.loads(metadata["schemaString"])
    was_mapped = old.get(_MODE, "none") != "none"
    if not was_mapped and properties.get(_MODE, "none") != "none":
        struct = _mapped(struct, old, properties, is_new)
    found = without_nulls(metadata)
    if change.schema is not None:
        parsed = parse_schema(metadata["schemaString"], "name" if was_mapped else "none", path)
        struct = _changed_schema(struct, parsed, change.schema, found, properties, frozenset(clustered))
    _set_defaults(struct, change.defaults)
    _check_change_feed(struct, properties)
    if is_true(properties, _ROW_TRACKING) and not is_true(old, _ROW_TRACKING):
        for key, kind in (("RowIdColumnName", "row-id"), ("RowCommitVersionColumnName", "row-commit-version")):
            properties.setdefault(f"delta.rowTracking.materialized{key}", f"_{kind}-col-{uuid.uuid4()}")
    found["schemaString"] = json.dumps(struct, ensure_ascii=False, separators=(",", ":"))
    found["configuration"] = properties
    before = _needed(json.loads(metadata["schemaString"]), old)
    needed = (_needed(struct, properties) - before) | named_features
    return AlteredTable(
        found,
        with_features(without_nulls(protocol), needed),
        is_true(properties, _COMMIT_TIMES) and not is_true(old, _COMMIT_TIMES),
    )


def with_commit(metadata: Mapping[str, Any], version: int, timestamp: int) -> dict[str, Any]:
    """The ``metaData`` of the commit ``version``, made at ``timestamp`` (ms), that starts in-commit timestamps.

    A table that has older versions records from which one on the log has timestamps.
    """
    if version == 0:
        return dict(metadata)
    since = {"Version": str(version), "Timestamp": str(timestamp)}
    enabled = {f"delta.inCommitTimestampEnablement{name}": value for name, value in since.items()}
    return {**metadata, "configuration": {**metadata["configuration"], **enabled}}


def without_nulls(action: Mapping[str, Any]) -> dict[str, Any]:
    """An action as it is written: a checkpoint has null for fields that an action lacks, and pairs for the options of
    the format.

    Raises CorruptMetadataError where these options are no map.
    """
    found = {key: value for key, value in action.items() if value is not None}
    form = found.get("format")
    if isinstance(form, Mapping):
        found["format"] = {**form, "options": _options(form.get("options"))}
    return found


def _options(stored: Any) -> dict[str, Any]:
    pairs = list(stored.items()) if isinstance(stored, Mapping) else stored or []
    if not isinstance(pairs, list) or not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise CorruptMetadataError("the options of the table's format are no map", field="metaData.format.options")
    if not all(isinstance(key, str) for key, _ in pairs):
        raise CorruptMetadataError("an option of the table's format has no name", field="metaData.format.options")
    return dict(pairs)


def _needed(struct: Mapping[str, Any], properties: Mapping[str, str]) -> frozenset[str]:
    return struct_features(struct) | features_of_properties(properties)


def _changed_properties(
    old: Mapping[str, str], wanted: Mapping[str, str | None], is_new: bool
) -> tuple[dict[str, str], frozenset[str]]:
    """(the properties, the features that were asked for by name)"""
    found, features = dict(old), set()
    for name, value in wanted.items():
        if value is None:
            check_unset(name, old)
            found.pop(name, None)
            continue
        check_property(name, value)
        if name.startswith(FEATURE_PREFIX):
            features.add(name.removeprefix(FEATURE_PREFIX))
        else:
            found[name] = value
    was, now = (p.get(_MODE, "none") for p in (old, found))
    if was != now and (was, now) != ("none", "name") and not is_new:
        raise UnsupportedFeatureError(
            f"the column mapping mode {was!r} is not changed to {now!r}: files were written by the old one",
            field=_MODE,
            hint=_HINT,
        )
    return found, frozenset(features)


def _changed_constraints(properties: Mapping[str, str], wanted: Mapping[str, str | None]) -> dict[str, str]:
    found = dict(properties)
    for name, sql in wanted.items():
        same = [key for key in found if key.lower() == f"{CONSTRAINT_PREFIX}{name}".lower()]
        if sql is None:
            if not same:
                raise UnsupportedFeatureError(
                    f"the table has no constraint {name!r}", field=f"{CONSTRAINT_PREFIX}{name}", hint=_HINT
                )
            del found[same[0]]
        elif same:
            raise UnsupportedFeatureError(
                f"the table has a constraint {name!r}", field=same[0], hint="Drop it, or choose another name"
            )
        else:
            found[f"{CONSTRAINT_PREFIX}{name.lower()}"] = sql
    return found


def _set_defaults(struct: Mapping[str, Any], wanted: Mapping[tuple[str, ...], str | None]) -> None:
    """Set the defaults of columns, or remove them. Source: Delta PROTOCOL.md, "Default Columns"."""
    columns = {(f["name"],): f for f in struct["fields"]}
    for path, sql in wanted.items():
        name = ".".join(path)
        if path not in columns:
            raise UnsupportedFeatureError("only a top-level column has a default", field=name, hint=_HINT)
        metadata = dict(columns[path].get("metadata") or {})
        if any(key.startswith(_COMPUTED) for key in metadata):
            raise UnsupportedFeatureError("a column that is computed has no default", field=name, hint=_HINT)
        metadata.pop(_DEFAULT, None)
        columns[path]["metadata"] = metadata if sql is None else {**metadata, _DEFAULT: sql}


def _check_change_feed(struct: Mapping[str, Any], properties: Mapping[str, str]) -> None:
    taken = [f["name"] for f in struct["fields"] if f["name"].lower() in CHANGE_COLUMNS]
    if taken and is_true(properties, "delta.enableChangeDataFeed"):
        raise UnsupportedFeatureError("the name of a column is one of the change data feed", field=taken[0], hint=_HINT)


def _mapped(struct: dict[str, Any], old: Mapping[str, str], properties: dict[str, str], is_new: bool) -> dict[str, Any]:
    """The schema of a table whose column mapping is switched on: the names in files that are there stay."""
    ids = ColumnIds(greatest_id(old), None if is_new else lambda name: name)
    for level in all_structs(struct):
        for member in level["fields"]:
            member["metadata"] = {**(member.get("metadata") or {}), **ids.metadata_of(member["name"])}
    properties[GREATEST_ID] = str(ids.greatest)
    return struct


def _changed_schema(
    struct: dict[str, Any],
    parsed: Schema,
    wanted: Schema,
    metadata: dict[str, Any],
    properties: dict[str, str],
    clustered: frozenset[str],
) -> dict[str, Any]:
    """The schema with the columns ``wanted``. Updates the partition columns and the greatest id."""
    ids = None
    if properties.get(_MODE, "none") != "none":
        ids = ColumnIds(max([greatest_id(properties), *_ids(struct)]))
    partition_columns = metadata.get("partitionColumns") or []
    context = SchemaContext(
        ids,
        is_true(properties, "delta.enableTypeWidening"),
        is_true(properties, "delta.enableChangeDataFeed"),
        frozenset(partition_columns),
        _words(struct, properties),
        clustered,
    )
    change = SchemaChange(context)
    found = change.struct(struct, parsed.fields, wanted.fields)
    metadata["partitionColumns"] = [change.renamed.get(name, name) for name in partition_columns]
    if ids is not None:
        properties[GREATEST_ID] = str(ids.greatest)
    if not any(f.name not in metadata["partitionColumns"] for f in wanted.fields):
        raise UnsupportedFeatureError(
            "a table needs a column beside its partition columns", field="partitionColumns", hint=_HINT
        )
    return found


def _ids(struct: Mapping[str, Any]) -> Iterable[int]:
    for level in all_structs(struct):
        for member in level["fields"]:
            found = (member.get("metadata") or {}).get(ID)
            if isinstance(found, int):
                yield found


def _words(struct: Mapping[str, Any], properties: Mapping[str, str]) -> dict[str, str]:
    """The words of the table's expressions, in lower case, with what the expression is."""
    texts = [
        (f"the constraint {k.removeprefix(CONSTRAINT_PREFIX)!r}", v)
        for k, v in properties.items()
        if k.startswith(CONSTRAINT_PREFIX)
    ]
    texts += [(_STATISTICS, properties[_STATISTICS])] if _STATISTICS in properties else []
    for level in all_structs(struct):
        for member in level["fields"]:
            for key in _EXPRESSIONS:
                if key in (member.get("metadata") or {}):
                    texts.append((f"an expression of the column {member['name']!r}", str(member["metadata"][key])))
    return {word: owner for owner, text in texts for word in names_in([text])}
