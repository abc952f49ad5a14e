"""The manifests of a snapshot: the manifest list, decoded into columns, and what its summaries rule out.

Field ids 500 to 520 and the names that older writers gave them; version 1 tables may name their manifests in the
metadata instead. Source: Iceberg spec, "Manifest Lists".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from tableformats.plugin import (
    DEFAULT_LIMITS,
    CorruptMetadataError,
    Field,
    Limits,
    PartitionField,
    PartitionSpec,
    UnsupportedFeatureError,
    arrow_type,
    cached_property,
    to_arrow,
    to_numpy,
)
from tableformats.plugin import compute as pc

from ..avro.columns import RawColumn
from ..avro.container import AvroColumns, Want, read_columns
from .values import decode_bounds

if TYPE_CHECKING:
    from tableformats.plugin import ScanReport

__all__ = ["DATA", "DELETES", "Manifest", "ManifestList", "manifest_list_of_paths", "parse_manifest_list"]

DATA, DELETES = 0, 1
UNKNOWN = -1

_COUNTS = {
    504: ("added_files_count", "added_data_files_count"),
    505: ("existing_files_count", "existing_data_files_count"),
    506: ("deleted_files_count", "deleted_data_files_count"),
    512: ("added_rows_count",),
    513: ("existing_rows_count",),
    514: ("deleted_rows_count",),
}
_WANTS = (
    Want(500, ("manifest_path",), "text"),
    Want(501, ("manifest_length",)),
    Want(502, ("partition_spec_id",)),
    Want(503, ("added_snapshot_id",)),
    Want(515, ("sequence_number",)),
    Want(516, ("min_sequence_number",)),
    Want(517, ("content",)),
    Want(519, ("key_metadata",), "bytes"),
    Want(520, ("first_row_id",)),
    *(Want(i, names) for i, names in _COUNTS.items()),
    Want(
        507,
        ("partitions",),
        "any",
        "list",
        (
            Want(509, ("contains_null",)),
            Want(518, ("contains_nan",)),
            Want(510, ("lower_bound",), "bytes"),
            Want(511, ("upper_bound",), "bytes"),
        ),
    ),
)


class Manifest(NamedTuple):
    """One row of a manifest list. Counts and ``length`` are -1 where the list does not say; ``spec_id`` is None
    where only the manifest's own header knows it."""

    path: str
    length: int
    spec_id: int | None
    content: int
    sequence_number: int
    min_sequence_number: int
    added_snapshot_id: int | None
    added_files: int
    existing_files: int
    deleted_files: int
    added_rows: int
    existing_rows: int
    deleted_rows: int
    first_row_id: int | None

    @property
    def has_live_files(self) -> bool:
        """False only where both counts are known to be zero; an unknown count is taken as not zero."""
        return self.added_files != 0 or self.existing_files != 0

    @property
    def live_files(self) -> int:
        """Entries that are not tombstones, as far as the list counts them."""
        return max(self.added_files, 0) + max(self.existing_files, 0)


_LIVE_COUNTS = (Manifest._fields.index("added_files"), Manifest._fields.index("existing_files"))


class _Numbers(NamedTuple):
    """What manifests are chosen by, [n] each; ``spec_id`` is -1 where it is not known."""

    content: np.ndarray
    spec_id: np.ndarray
    has_live: np.ndarray
    live_files: np.ndarray


@dataclass
class Summaries:
    """Partition summaries of some manifests of one spec, by partition field id, one row for each of ``rows``.

    ``rows`` are places in the group that was asked for. A null lower bound says that there is no value but NULL and
    NaN; ``sound`` is False where a bound is present but unreadable, or stands alone: that proves nothing.
    """

    rows: np.ndarray
    sound: np.ndarray
    lower: dict[int, pa.Array]
    upper: dict[int, pa.Array]
    contains_null: dict[int, pa.Array]
    contains_nan: dict[int, pa.Array]


class ManifestList:
    """The manifests of one snapshot, in the order of the list, and their partition summaries as columns."""

    def __init__(self, manifests: Sequence[Manifest], columns: AvroColumns | None = None, size_bytes: int = 0) -> None:
        self.manifests = list(manifests)
        self.size_bytes = size_bytes
        self._columns = columns

    def kept(
        self,
        content: int,
        specs: Mapping[int, PartitionSpec],
        manifest_filter: Any,
        report: ScanReport | None,
        added_by: int | None = None,
    ) -> list[Manifest]:
        """The manifests of ``content`` that may hold a live file which the filter needs; counts the others.

        A manifest is left out where it has no live entry, or where its summaries rule every file out. With
        ``added_by`` only manifests that this snapshot may have added are looked at.
        """
        return [manifest for manifest, _ in self.chosen(content, specs, manifest_filter, report, added_by)]

    def chosen(
        self,
        content: int,
        specs: Mapping[int, PartitionSpec],
        manifest_filter: Any,
        report: ScanReport | None,
        added_by: int | None = None,
    ) -> list[tuple[Manifest, frozenset[int]]]:
        """:meth:`kept`, each with the columns (field ids) that none of its files needs."""
        numbers = self._numbers
        asked = numbers.content == content
        if added_by is not None:
            asked &= np.array([m.added_snapshot_id in (None, added_by) for m in self.manifests], bool)
        keep = asked & numbers.has_live
        idle: dict[int, frozenset[int]] = {}
        if manifest_filter is not None:
            for spec in specs.values():
                group = np.flatnonzero(keep & (numbers.spec_id == spec.id))
                keep[group], idle_here = self._decide(group, spec, manifest_filter)
                idle |= idle_here
        if report is not None:
            skipped = asked & ~keep
            report.manifests_total += int(np.count_nonzero(asked))
            report.manifests_skipped += int(np.count_nonzero(skipped))
            files = int(numbers.live_files[skipped].sum())
            report.files_total += files
            report.files_skipped_with_manifests += files
        return [(self.manifests[i], idle.get(i, frozenset())) for i in np.flatnonzero(keep).tolist()]

    @cached_property
    def _numbers(self) -> _Numbers:
        every = self.manifests
        added, existing = (np.array([m[i] for m in every], np.int64) for i in _LIVE_COUNTS)
        return _Numbers(
            content=np.array([m.content for m in every], np.int64),
            spec_id=np.array([-1 if m.spec_id is None else m.spec_id for m in every], np.int64),
            has_live=(added != 0) | (existing != 0),
            live_files=np.maximum(added, 0) + np.maximum(existing, 0),
        )

    def _decide(
        self, rows: np.ndarray, spec: PartitionSpec, manifest_filter: Any
    ) -> tuple[np.ndarray, dict[int, frozenset[int]]]:
        """bool[len(rows)]: which manifests of one spec the filter keeps; True where summaries are missing. By number of
        a kept one: the columns that none of its files needs."""
        keep = np.ones(len(rows), bool)
        summaries = self.summaries(rows, spec)
        if summaries is None or not len(summaries.rows):
            return keep, {}
        decision = manifest_filter.decide(
            spec.id, summaries.lower, summaries.upper, summaries.contains_null, summaries.contains_nan
        )
        keep[summaries.rows] = ~summaries.sound | decision.keep
        kept = np.flatnonzero(keep[summaries.rows] & summaries.sound)
        needs = [(column, need[kept].tolist()) for column, need in decision.undecided_columns.items()]
        return keep, {
            row: frozenset(column for column, need in needs if not need[i])
            for i, row in enumerate(rows[summaries.rows[kept]].tolist())
        }

    def summaries(self, rows: np.ndarray, spec: PartitionSpec) -> Summaries | None:
        """The partition summaries of the manifests ``rows``, all of ``spec``; None where there can be none."""
        if not spec.fields or self._columns is None:
            return None
        offsets = self._columns[(507,)].list_offsets()
        # A summary list of another length than the spec cannot be trusted.
        complete = np.flatnonzero(np.diff(offsets)[rows] == len(spec.fields))
        first = offsets[:-1][rows[complete]]
        found = Summaries(complete, np.ones(len(complete), bool), {}, {}, {}, {})
        for position, field in enumerate(spec.fields):
            low, high = self._child(510, first + position), self._child(511, first + position)
            lower, upper = _bounds(low, field, True), _bounds(high, field, False)
            found.lower[field.id], found.upper[field.id] = lower, upper
            found.contains_null[field.id] = _booleans(self._child(509, first + position))
            found.contains_nan[field.id] = _booleans(self._child(518, first + position))
            found.sound &= (low.valid == high.valid) & (low.valid == _is_valid(lower))
            found.sound &= high.valid == _is_valid(upper)
        return found

    def _child(self, field_id: int, at: np.ndarray) -> RawColumn:
        assert self._columns is not None
        return self._columns[(507, field_id)].take(at)


def _bounds(raw: RawColumn, field: PartitionField, is_lower: bool) -> pa.Array:
    values = decode_bounds(raw, Field(field.id, field.name, field.type), is_lower)
    return pa.nulls(len(raw), arrow_type(field.type)) if values is None else values


def _booleans(raw: RawColumn) -> pa.Array:
    return to_arrow(raw.values != 0, valid=raw.known)


def _is_valid(values: pa.Array) -> np.ndarray:
    return to_numpy(pc.is_valid(values))


def parse_manifest_list(data: bytes | memoryview, path: str, limits: Limits = DEFAULT_LIMITS) -> ManifestList:
    """Decode a manifest list.

    Raises
    ------
    CorruptMetadataError : damaged Avro, a required field missing, values out of range
    UnsupportedFeatureError : encrypted manifests
    LimitExceededError : see :func:`read_columns`
    """
    columns = read_columns(data, _WANTS, (), path, limits=limits)
    if columns[(519,)].valid.any():
        raise UnsupportedFeatureError(
            "the manifests are encrypted", path=path, field="key_metadata", hint="Encrypted tables are not read yet"
        )
    paths = columns.strings((500,), "manifest_path")
    columns.required((500,), "manifest_path")
    length = columns.required((501,), "manifest_length").values
    spec_id = columns.required((502,), "partition_spec_id").values
    content, sequence, least = columns[(517,)].integers(DATA), columns[(515,)].integers(0), columns[(516,)].integers(0)
    counts = [columns[(i,)].integers(UNKNOWN) for i in _COUNTS]
    strange = content[(content != DATA) & (content != DELETES)]
    if len(strange):
        raise CorruptMetadataError(f"a manifest has content {strange[0]}", path=path, field="content")
    if (length < 0).any() or (sequence < 0).any() or any((n < UNKNOWN).any() for n in counts):
        raise CorruptMetadataError("a manifest has a negative length, sequence number or count", path=path)
    added_by, first_row_id = (columns[(i,)].int_array().to_pylist() for i in (503, 520))
    described = (n.tolist() for n in (length, spec_id, content, sequence, least))
    counted = (n.tolist() for n in counts)
    rows = zip(paths.to_pylist(), *described, added_by, *counted, first_row_id, strict=True)
    return ManifestList(list(map(Manifest._make, rows)), columns, len(data))


def manifest_list_of_paths(paths: Sequence[str]) -> ManifestList:
    """The manifests that version 1 metadata names itself: nothing is known of them but the paths."""
    unknown = Manifest("", UNKNOWN, None, DATA, 0, 0, None, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, None)
    return ManifestList([unknown._replace(path=p) for p in paths])
