"""The rules for one manifest, whichever snapshot lists it: its header, and each entry by itself.

Source: Iceberg spec, "Manifests", "Manifest Entry Fields", "Data File Fields", "Delete Formats".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tableformats.plugin import Violation

from ..manifests.manifest_list import DATA as DATA_MANIFEST
from .entry_columns import doubtful_entries
from .manifest_file import ADDED, DATA, EQUALITY_DELETES, EQUALITY_IDS, POSITION_DELETES, Entry, ManifestFile
from .rules import violation
from .statistics_rules import statistics_violations

if TYPE_CHECKING:
    from .manifest_file import TableFacts

__all__ = ["entry_violations"]

Found = Iterator[tuple[str, str]]
"""Rule, and what is wrong."""

_SPLIT_OFFSETS = 132
_FORMATS = ("avro", "orc", "parquet", "puffin")
_HEADERS = ("partition-spec-id", "format-version", "content")
"""Header keys that version 2 demands beside those of version 1. `schema-id`, too, but the reference leaves it out."""
_CONTENT = {0: "data", 1: "deletes"}


def entry_violations(manifest: ManifestFile, content: int, facts: TableFacts) -> Iterator[Violation]:
    """What is wrong with a manifest of ``content`` (``DATA`` or ``DELETES``) itself."""
    looks = [_header(manifest, content, facts), statistics_violations(manifest, facts)]
    for row in np.flatnonzero(doubtful_entries(manifest, content, facts)).tolist():
        entry = manifest.entries[row]
        looks += [_status(entry, manifest), _file(entry, manifest, content, facts), _deletes(entry, manifest, facts)]
    for look in looks:
        for rule, what in look:
            yield violation(rule, what, manifest.path)


def _header(manifest: ManifestFile, content: int, facts: TableFacts) -> Found:
    header, spec = manifest.header, manifest.spec
    needed = ("schema", "partition-spec", *(_HEADERS if manifest.format_version > 1 else ()))
    for key in needed:
        if header.text(key) is None:
            yield "manifest-header", f"{key} is missing"
    if manifest.format_version > facts.metadata.format_version:
        yield "manifest-header", f"format-version is {manifest.format_version}, the table's is lower"
    said = header.text("content")
    if said is not None and said != _CONTENT[content]:
        yield "manifest-header", f"content is {said!r}, the list says {_CONTENT[content]!r}"
    if header.text("partition-spec-id") not in (None, str(spec.id)):
        yield "manifest-header", f"partition-spec-id is {header.text('partition-spec-id')}, the list says {spec.id}"
    yield from _header_spec(manifest)
    yield from _header_schema(manifest)


def _header_spec(manifest: ManifestFile) -> Found:
    """The fields of the header are those of the table's spec; by their ids where they have ids."""
    try:
        fields = json.loads(manifest.header.text("partition-spec") or "null")
    except (ValueError, RecursionError):
        yield "manifest-header", "partition-spec is no JSON"
        return
    if not isinstance(fields, list) or not all(isinstance(f, dict) for f in fields):
        if fields is not None:
            yield "manifest-header", "partition-spec is no list of fields"
        return
    stored = [(f.get("field-id"), f.get("source-id"), f.get("transform")) for f in fields]
    own = [(f.id, f.source_id, str(f.transform)) for f in manifest.spec.fields]
    is_same = len(stored) == len(own) and all(
        a in (None, x) and b in (None, y) and (c == z or "void" in (c, z))
        for (a, b, c), (x, y, z) in zip(stored, own, strict=True)
    )
    if not is_same:
        yield "manifest-header", f"partition-spec {stored} is not spec {manifest.spec.id} of the table: {own}"


def _header_schema(manifest: ManifestFile) -> Found:
    text = manifest.header.text("schema-id")
    if text is not None and not text.lstrip("-").isdigit():
        yield "manifest-header", f"schema-id is {text[:50]!r}"
    try:
        schema = json.loads(manifest.header.text("schema") or "{}")
    except (ValueError, RecursionError):
        yield "manifest-header", "schema is no JSON"
        return
    if not isinstance(schema, dict) or not isinstance(schema.get("fields", []), list):
        yield "manifest-header", "schema is no schema"


def _status(entry: Entry, manifest: ManifestFile) -> Found:
    where = repr(entry.path)
    if entry.status not in (0, 1, 2):
        yield "status", f"{where} has status {entry.status}"
    if manifest.format_version == 1:
        if entry.snapshot_id is None:
            yield "status", f"{where} has no snapshot_id"
        return
    if entry.status != ADDED and None in (entry.sequence_number, entry.file_sequence_number):
        yield "sequence-number", f"{where} is not ADDED, and has no sequence numbers of its own"
    if any(number is not None and number < 0 for number in (entry.sequence_number, entry.file_sequence_number)):
        yield "sequence-number", f"{where} has a negative sequence number"


def _file(entry: Entry, manifest: ManifestFile, content: int, facts: TableFacts) -> Found:
    where = repr(entry.path)
    is_data = content == DATA_MANIFEST
    if entry.content not in ((DATA,) if is_data else (POSITION_DELETES, EQUALITY_DELETES)):
        yield "data-file", f"{where} has content {entry.content} in a manifest of {_CONTENT[content]}"
    if entry.record_count < 0 or entry.size <= 0:
        yield "data-file", f"{where} has {entry.record_count} rows and {entry.size} bytes"
    if entry.format.lower() not in _FORMATS or (is_data and entry.format.lower() == "puffin"):
        yield "data-file", f"{where} has the format {entry.format!r}"
    offsets = manifest.integers_of(entry, _SPLIT_OFFSETS) or []
    if any(a >= b for a, b in zip(offsets, offsets[1:], strict=False)):
        yield "data-file", f"split offsets of {where} are not ascending: {offsets}"
    if offsets and (offsets[0] < 0 or offsets[-1] >= entry.size):
        yield "data-file", f"split offsets of {where} lie outside of its {entry.size} bytes: {offsets}"
    if entry.sort_order_id is not None:
        if entry.content == POSITION_DELETES and entry.sort_order_id:
            yield "data-file", f"position deletes {where} have a sort order"
        elif facts.orders and entry.sort_order_id not in facts.orders | {0}:
            yield "data-file", f"{where} has sort order {entry.sort_order_id}, which the table lacks"
    if entry.first_row_id is not None and (manifest.format_version < 3 or not is_data):
        yield "row-lineage", f"{where} has a first_row_id"
    for value, f in zip(manifest.partition_of(entry), manifest.spec.fields, strict=True):
        if f.transform.name == "void" and value is not None:
            yield "partition-tuple", f"{where}: {f.name!r} is void, and has {value!r}"
        if f.transform.name == "bucket" and value is not None and not 0 <= value < f.transform.width:
            yield "partition-tuple", f"{where}: {f.name!r} is {value!r}, of {f.transform.width} buckets"


def _deletes(entry: Entry, manifest: ManifestFile, facts: TableFacts) -> Found:
    where, equality_ids = repr(entry.path), manifest.integers_of(entry, EQUALITY_IDS)
    if entry.content == EQUALITY_DELETES:
        if not equality_ids:
            yield "delete-file", f"equality deletes {where} have no equality_ids"
        for id in equality_ids or ():
            if id not in facts.fields:
                yield "delete-file", f"equality deletes {where} have the field {id}, which no schema has"
    elif equality_ids:
        yield "delete-file", f"{where} has equality_ids, and no equality deletes"
    if entry.content != POSITION_DELETES:
        if (entry.referenced, entry.content_offset, entry.content_size) != (None, None, None):
            yield "delete-file", f"{where} references a data file, and has no position deletes"
        return
    if entry.is_vector:
        if manifest.format_version < 3:
            yield "deletion-vector", f"{where} is in a manifest of version {manifest.format_version}"
        if entry.referenced is None or entry.content_offset is None or entry.content_size is None:
            yield "deletion-vector", f"{where} lacks its data file, offset or size"
        elif entry.content_offset < 0 or entry.content_offset + entry.content_size > entry.size:
            yield "deletion-vector", f"{where} has {entry.size} bytes, and the vector lies outside of them"
        if entry.record_count == 0 and entry.is_live:
            yield "deletion-vector", f"{where} deletes no row"
    elif manifest.format_version > 2 and entry.status == ADDED:
        yield "delete-file", f"position deletes {where} were added in version 3"
