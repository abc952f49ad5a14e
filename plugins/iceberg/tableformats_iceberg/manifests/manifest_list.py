"""The manifests of a snapshot: the manifest list, decoded into columns, and pruning by its partition summaries.

Fields are found by their ids (500 to 520), or by the names that older writers gave them. Version 1 tables may name
their manifests in the table metadata instead. Source: Iceberg spec, "Manifest Lists".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

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
    dataclass,
    to_arrow,
    to_numpy,
)
from tableformats.plugin import compute as pc

from ..avro.columns import RawColumn
from ..avro.container import AvroColumns, Want, read_columns
from .values import decode_bounds

if TYPE_CHECKING:
    from tableformats.plugin import ManifestFilter, ScanReport

__all__ = ["DATA", "DELETES", "Manifest", "ManifestList", "manifest_list_of_paths", "parse_manifest_list"]

DATA, DELETES = 0, 1
UNKNOWN = -1
_MANIFEST_BYTES = 2048
"""What a manifest takes while a snapshot is planned."""
_MOST_SUMMARIES = 8
"""How many selections of manifests have their summaries kept."""
_MOST_REPEATED = 100
"""A commit may add a manifest a second time. No writer does so very often."""

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
    """One row of a manifest list.

    Counts and ``length`` are -1 where the list does not have them. ``spec_id`` is None where only the manifest's own
    header has it.
    """

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
        """False only where both counts are known to be zero. An unknown count may be any number."""
        return self.added_files != 0 or self.existing_files != 0

    @property
    def live_files(self) -> int:
        """The number of live entries, as far as the list counts them."""
        return max(self.added_files, 0) + max(self.existing_files, 0)


_ADDED_FILES, _ADDED_ROWS = Manifest._fields.index("added_files"), Manifest._fields.index("added_rows")
"""The count of existing ones comes next to each."""


class _Numbers(NamedTuple):
    """Columns of the list by which manifests are selected, [n] each, and [n, 2] of files and rows: added
    and existing ones. Unknown values are -1."""

    content: np.ndarray
    spec_id: np.ndarray
    has_live: np.ndarray
    files: np.ndarray
    rows: np.ndarray


@dataclass
class Summaries:
    """Partition summaries of manifests of one spec, by partition field id, one row for each of ``rows``.

    Attributes
    ----------
    rows : int64[k]
        Indices into the rows that were given to :meth:`ManifestList.summaries`.
    sound : bool[k]
        False where a bound cannot be read, or one of the two is missing. Such a summary proves nothing.
    lower, upper : dict of int to array[k]
        Null: the manifest has no values other than NULL and NaN.
    contains_null, contains_nan : dict of int to bool array[k]
        Null: unknown.
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

    @property
    def columns(self) -> AvroColumns | None:
        """The decoded columns of the list; None where version 1 metadata names the manifests."""
        return self._columns

    def select(
        self,
        content: int,
        specs: Mapping[int, PartitionSpec],
        manifest_filter: ManifestFilter | None = None,
        report: ScanReport | None = None,
        added_by: int | None = None,
    ) -> list[Manifest]:
        """The manifests of ``content`` that may have a live file which the filter needs.

        Leaves out manifests without live entries, and those whose summaries rule every file out.

        Parameters
        ----------
        content : int
            ``DATA`` or ``DELETES``.
        specs : mapping of int to PartitionSpec
        manifest_filter : ManifestFilter, optional
        report : ScanReport, optional
            Counts the manifests, and those that were left out.
        added_by : int, optional
            Consider only manifests that this snapshot may have added.
        """
        return [manifest for manifest, _ in self.select_with_columns(content, specs, manifest_filter, report, added_by)]

    def select_with_columns(
        self,
        content: int,
        specs: Mapping[int, PartitionSpec],
        manifest_filter: ManifestFilter | None = None,
        report: ScanReport | None = None,
        added_by: int | None = None,
    ) -> list[tuple[Manifest, frozenset[int]]]:
        """:meth:`select`, with the ids of the columns that the filter does not need for any file of the manifest."""
        numbers = self._numbers
        considered = numbers.content == content
        if added_by is not None:
            considered &= np.array([m.added_snapshot_id in (None, added_by) for m in self.manifests], bool)
        keep = considered & numbers.has_live
        unneeded: dict[int, frozenset[int]] = {}
        if manifest_filter is not None:
            for spec in specs.values():
                rows = np.flatnonzero(keep & (numbers.spec_id == spec.id))
                keep[rows], unneeded_here = self._decide(rows, spec, manifest_filter)
                unneeded |= unneeded_here
        if report is not None:
            report.manifests_total += int(np.count_nonzero(considered))
            self._count_skipped(np.flatnonzero(considered & ~keep), report, added_alone=added_by is not None)
        return [(self.manifests[i], unneeded.get(i, frozenset())) for i in np.flatnonzero(keep).tolist()]

    def _count_skipped(self, skipped: np.ndarray, report: ScanReport, *, added_alone: bool) -> None:
        """Count the manifests at ``skipped``, and their live files (or those that they add) and rows, as far as the
        list counts them."""
        counted = slice(1) if added_alone else slice(None)
        files, rows = self._numbers.files[skipped, counted], self._numbers.rows[skipped, counted]
        report.manifests_skipped += len(skipped)
        n_files = int(np.maximum(files, 0).sum())
        report.files_total += n_files
        report.files_skipped_with_manifests += n_files
        uncounted = int(np.count_nonzero((files < 0).any(axis=1)))
        report.manifests_uncounted += uncounted
        if uncounted:
            report.note(
                "the manifest list does not say how many files some of the skipped manifests have: "
                "the files in total, and shares of them, are without these"
            )
        rows = rows[(files != 0).any(axis=1)]
        report.count_rows(None if (rows < 0).any() else sum(rows.ravel().tolist()))

    @cached_property
    def _summaries(self) -> dict[tuple[object, bytes], Summaries]:
        """What :meth:`summaries` decoded before: a plan, its explanation and later plans ask for the same ones."""
        return {}

    @cached_property
    def _numbers(self) -> _Numbers:
        manifests = self.manifests
        files, rows = (
            np.array([m[first : first + 2] for m in manifests], np.int64).reshape(-1, 2)
            for first in (_ADDED_FILES, _ADDED_ROWS)
        )
        return _Numbers(
            content=np.array([m.content for m in manifests], np.int64),
            spec_id=np.array([-1 if m.spec_id is None else m.spec_id for m in manifests], np.int64),
            has_live=(files != 0).any(axis=1),
            files=files,
            rows=rows,
        )

    def _decide(
        self, rows: np.ndarray, spec: PartitionSpec, manifest_filter: ManifestFilter
    ) -> tuple[np.ndarray, dict[int, frozenset[int]]]:
        """Evaluate the filter on manifests of one spec.

        Returns
        -------
        keep : bool[len(rows)]
            True also where summaries are missing.
        unneeded : dict of int to frozenset of int
            For the row of each manifest that its summaries keep, the columns that the filter needs for no file of it.
        """
        keep = np.ones(len(rows), bool)
        summaries = self.summaries(rows, spec)
        if summaries is None or not len(summaries.rows):
            return keep, {}
        decision = manifest_filter.decide(
            spec.id, summaries.lower, summaries.upper, summaries.contains_null, summaries.contains_nan
        )
        keep[summaries.rows] = ~summaries.sound | decision.keep
        matching = np.flatnonzero(keep[summaries.rows] & summaries.sound)
        undecided = [(column, flags[matching].tolist()) for column, flags in decision.undecided_columns.items()]
        return keep, {
            row: frozenset(column for column, flags in undecided if not flags[i])
            for i, row in enumerate(rows[summaries.rows[matching]].tolist())
        }

    def summaries(self, rows: np.ndarray, spec: PartitionSpec) -> Summaries | None:
        """The partition summaries of the manifests at ``rows``, all of ``spec``. None: there are none."""
        if not spec.fields or self._columns is None:
            return None
        asked = tuple((f.id, f.type) for f in spec.fields), rows.tobytes()
        if (known := self._summaries.get(asked)) is None:
            known = self._decode_summaries(self._columns, rows, spec)
            if len(self._summaries) >= _MOST_SUMMARIES:
                self._summaries.clear()
            self._summaries[asked] = known
        return known

    def _decode_summaries(self, columns: AvroColumns, rows: np.ndarray, spec: PartitionSpec) -> Summaries:
        offsets = columns[(507,)].list_offsets()
        # A list of summaries with another length than the spec cannot be matched with its fields.
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
    CorruptMetadataError
        The Avro file is damaged, a required field is missing, or a value is out of range.
    UnsupportedFeatureError
        The manifests are encrypted.
    LimitExceededError
        See :func:`tableformats_iceberg.avro.container.read_columns`.
    """
    columns = read_columns(data, _WANTS, (), path, limits=limits)
    _check_count(columns, len(data), path, limits)
    if columns[(519,)].valid.any():
        raise UnsupportedFeatureError(
            "the manifests are encrypted", path=path, field="key_metadata", hint="Encrypted tables are not read yet"
        )
    paths = columns.strings((500,), "manifest_path")
    columns.required((500,), "manifest_path")
    _check_repetition(paths, path)
    length = columns.required((501,), "manifest_length").values
    spec_id = columns.required((502,), "partition_spec_id").values
    content, sequence, least = columns[(517,)].integers(DATA), columns[(515,)].integers(0), columns[(516,)].integers(0)
    counts = [columns[(i,)].integers(UNKNOWN) for i in _COUNTS]
    unknown = content[(content != DATA) & (content != DELETES)]
    if len(unknown):
        raise CorruptMetadataError(f"a manifest has content {unknown[0]}", path=path, field="content")
    if (length < 0).any() or (sequence < 0).any() or any((n < UNKNOWN).any() for n in counts):
        raise CorruptMetadataError("a manifest has a negative length, sequence number or count", path=path)
    added_by, first_row_id = (columns[(i,)].int_array().to_pylist() for i in (503, 520))
    described = (column.tolist() for column in (length, spec_id, content, sequence, least))
    counted = (column.tolist() for column in counts)
    # In the order of the fields of Manifest.
    rows = zip(paths.to_pylist(), *described, added_by, *counted, first_row_id, strict=True)
    new = tuple.__new__  # half of what _make costs, for lists of thousands
    return ManifestList([new(Manifest, row) for row in rows], columns, len(data))


def _check_count(columns: AvroColumns, stored: int, path: str, limits: Limits) -> None:
    """Raise LimitExceededError where the manifests, as Python values, take more than a file of that size may become."""
    if columns.rows * _MANIFEST_BYTES > limits.budget(stored):
        what = f"{columns.rows} manifests of a manifest list from {stored} bytes"
        raise limits.exceeded("expansion", what, path=path)


def _check_repetition(paths: pa.Array, path: str) -> None:
    """A manifest that stands very often in a list would be read very often."""
    if len(paths) > _MOST_REPEATED:
        most = pc.max(pc.struct_field(pc.value_counts(paths), "counts")).as_py()
        if most > _MOST_REPEATED:
            raise CorruptMetadataError(f"the list names one manifest {most} times", path=path, field="manifest_path")


def manifest_list_of_paths(paths: Sequence[str]) -> ManifestList:
    """The manifests that version 1 metadata names. Only their paths are known."""
    unknown = Manifest("", UNKNOWN, None, DATA, 0, 0, None, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, None)
    return ManifestList([unknown._replace(path=p) for p in paths])
