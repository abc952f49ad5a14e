"""The rules for one row of a manifest list, compared with the manifest that it names.

Source: Iceberg spec, "Manifest Lists", "Sequence Number Inheritance", "First Row ID Assignment".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tableformats.plugin import FALSE, to_arrow, to_numpy
from tableformats.plugin import compute as pc

from ..manifests.manifest_list import DATA, Manifest, ManifestList, Summaries
from .manifest_file import ADDED, DELETED, EXISTING, ManifestFile

if TYPE_CHECKING:
    from ..metadata.table_metadata import Snapshot

__all__ = ["row_violations", "summary_violations"]

Found = Iterator[tuple[str, str]]
"""Rule, and what is wrong."""

_UNKNOWN = -1


def row_violations(row: Manifest, manifest: ManifestFile, snapshot: Snapshot, version: int) -> Found:
    """What a row of the list says of a manifest, and the manifest says otherwise.

    Parameters
    ----------
    version : int
        That of the table when the snapshot was made: lists of version 1 have neither content nor sequence numbers.
    """
    where = repr(row.path)
    if row.length != _UNKNOWN and row.length != manifest.size:
        yield "manifest-list", f"{where} has {manifest.size} bytes, the list says {row.length}"
    if row.added_snapshot_id is None and version > 1:
        yield "manifest-list", f"{where} has no added_snapshot_id"
    yield from _counts(row, manifest, version)
    if version > 1:
        yield from _sequence(row, manifest, snapshot)
    yield from _entries(row, manifest, version)
    if row.first_row_id is not None and (row.content != DATA or version < 3):
        yield "row-lineage", f"{where} has a first_row_id"
    if row.first_row_id is None and row.content == DATA and snapshot.first_row_id is not None:
        yield "row-lineage", f"{where} has no first_row_id"


def _counts(row: Manifest, manifest: ManifestFile, version: int) -> Found:
    said = {
        ADDED: ("added", row.added_files, row.added_rows),
        EXISTING: ("existing", row.existing_files, row.existing_rows),
        DELETED: ("deleted", row.deleted_files, row.deleted_rows),
    }
    for status, (name, files, rows) in said.items():
        n_files, n_rows = manifest.counts(status)
        for what, listed, found in (("files", files, n_files), ("rows", rows, n_rows)):
            if listed == _UNKNOWN:
                if version > 1:
                    yield "manifest-counts", f"{name}_{what}_count of {row.path!r} is missing"
            elif listed != found:
                yield "manifest-counts", f"{name}_{what}_count of {row.path!r} is {listed}, the manifest has {found}"


def _sequence(row: Manifest, manifest: ManifestFile, snapshot: Snapshot) -> Found:
    where = repr(row.path)
    if row.sequence_number > snapshot.sequence_number:
        yield "manifest-sequence", f"{where} has {row.sequence_number}, its snapshot {snapshot.sequence_number}"
    if row.added_snapshot_id == snapshot.id and row.sequence_number != snapshot.sequence_number:
        yield "manifest-sequence", f"{where} is new and has {row.sequence_number}, not {snapshot.sequence_number}"
    live = [_number(entry.sequence_number, row) for entry in manifest.live_entries]
    if live and row.min_sequence_number != min(live):
        yield "manifest-sequence", f"min_sequence_number of {where} is {row.min_sequence_number}, not {min(live)}"
    if live and max(live) > row.sequence_number:
        yield "manifest-sequence", f"{where} has {row.sequence_number}, a file of it {max(live)}"


def _number(stored: int | None, row: Manifest) -> int:
    return row.sequence_number if stored is None else stored


def _entries(row: Manifest, manifest: ManifestFile, version: int) -> Found:
    """Added and deleted entries were added and deleted by the snapshot that added the manifest."""
    for entry in manifest.entries:
        snapshot_id = row.added_snapshot_id if entry.snapshot_id is None else entry.snapshot_id
        if entry.status != EXISTING and row.added_snapshot_id not in (None, snapshot_id):
            what = "ADDED" if entry.status == ADDED else "DELETED"
            yield "status", f"{entry.path!r} is {what} by {snapshot_id}, its manifest by {row.added_snapshot_id}"
        number = entry.file_sequence_number
        if version > 1 and entry.status == ADDED and number not in (None, row.sequence_number):
            yield "sequence-number", f"{entry.path!r} is ADDED with {number}, its manifest with {row.sequence_number}"


# ---- partition summaries --------------------------------------------------------------------------------------------


def summary_violations(listed: ManifestList, manifests: list[ManifestFile | None]) -> Iterator[tuple[str, str]]:
    """Summaries that live files contradict. ``manifests`` are those of the list; None: one could not be read."""
    columns = listed.columns
    if columns is None:
        return
    sizes, has_summaries = np.diff(columns[(507,)].list_offsets()).tolist(), columns[(507,)].valid.tolist()
    for index, manifest in enumerate(manifests):
        if manifest is None or not has_summaries[index]:
            continue
        where, spec = repr(listed.manifests[index].path), manifest.spec
        if sizes[index] != len(spec.fields):
            yield "partition-summary", f"{where} has {sizes[index]} summaries for {len(spec.fields)} fields"
            continue
        summaries = listed.summaries(np.array([index]), spec)
        if summaries is not None and manifest.live_entries:
            live = to_arrow(np.array([entry.is_live for entry in manifest.entries], bool))
            for position, f in enumerate(spec.fields):
                values = pc.filter(manifest.partition[position], live)
                for what in _summary(summaries, f.id, values):
                    yield "partition-summary", f"{f.name!r} of {where}: {what}"


def _summary(summaries: Summaries, field_id: int, values: pa.Array) -> Iterator[str]:
    null, nan = (s[field_id][0].as_py() for s in (summaries.contains_null, summaries.contains_nan))
    lower, upper = summaries.lower[field_id], summaries.upper[field_id]
    if null is None:
        yield "contains_null is missing"
    if values.null_count and null is False:
        yield "contains_null is false, and a file has NULL"
    is_nan = _true(pc.is_nan(values)) if pa.types.is_floating(values.type) else np.zeros(len(values), bool)
    if is_nan.any() and nan is False:
        yield "contains_nan is false, and a file has NaN"
    present = pc.filter(values, to_arrow(to_numpy(pc.is_valid(values)) & ~is_nan))
    if not len(present):
        return
    if not (lower[0].is_valid and upper[0].is_valid):
        yield "a bound is missing or unreadable, and files have values"
        return
    outside = _true(pc.less(present, lower[0])) | _true(pc.greater(present, upper[0]))
    if pa.types.is_floating(values.type):
        outside |= _signed_zero(present, lower[0], upper[0])
    if outside.any():
        value = present[int(np.argmax(outside))].as_py()
        yield f"{value!r} lies outside of the bounds {lower[0].as_py()!r} and {upper[0].as_py()!r}"


def _signed_zero(values: pa.Array, lower: pa.Scalar, upper: pa.Scalar) -> np.ndarray:
    """Zeros of the sign that the bounds leave out: -0.0 comes before 0.0."""
    numbers = to_numpy(values)
    is_zero, is_negative = numbers == 0, np.signbit(numbers)
    low, high = float(lower.as_py()), float(upper.as_py())
    below = is_zero & is_negative & (low == 0 and not np.signbit(low))
    above = is_zero & ~is_negative & bool(high == 0 and np.signbit(high))
    found: np.ndarray = below | above
    return found


def _true(flags: pa.Array) -> np.ndarray:
    found: np.ndarray = to_numpy(pc.fill_null(flags, FALSE))
    return found
