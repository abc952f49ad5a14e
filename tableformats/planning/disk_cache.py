"""Decoded parts in a directory, for the next process: the columns of their files, and the bounds that plans asked for.

Only parts of metadata that no later row of the same part decides about are stored: manifests, checkpoints and sidecars,
not commits. An entry is made once a part's files are pruned, and made again when a plan had to read further bounds.
What an entry lacks is read from the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..cache.directory import ALIGNMENT, CacheDirectory
from ..columnar import compute as pc
from ..columnar.arrays import to_arrow, to_numpy
from ..plugin.files import FileBatch, MetadataPart
from ..plugin.partitions import PartitionSpec
from ..plugin.report import ScanReport
from ..plugin.statistics import Bounds, Statistics
from ..schema import Field

__all__ = ["StoredParts"]

_FORMAT = 3
"""One more whenever entries look different, or bounds are made by other rules: those that are there are not found."""
_SIDES = ("lower", "upper", "null_count", "nan_count", "value_count")


class StoredParts:
    """The parts of one table, read from a directory where they stand there, and written to it.

    Parameters
    ----------
    directory : None: everything is read from the table
    scope : what tells the table from others
    specs : the snapshot's, by id; entries of other fields of a spec are none
    """

    def __init__(self, directory: CacheDirectory | None, scope: str, specs: Mapping[int, PartitionSpec]) -> None:
        self._directory = directory
        self._scope = scope
        self._specs = specs
        self._read: dict[Hashable, _Part] = {}

    def read(self, part: MetadataPart, report: ScanReport, with_keys: bool) -> Iterator[FileBatch]:
        """As ``part.read``. ``with_keys``: the keys of batches are looked at. Raises as it does."""
        key = self._key(part)
        if self._directory is None or key is None:
            yield from part.read(report)
            return
        found = self._found(key, part)
        if found is not None:
            report.add(found.report)
            self._read[part.key] = found
            for stored in found.batches:
                yield stored.batch(part.keys_of if with_keys else None)
            return
        made = _Part(ScanReport(), [], is_new=True)
        complete = True
        for batch in part.read(made.report):
            learning = _Batch.of(batch, part)
            if learning is None:
                complete = False
                yield batch
            else:
                made.batches.append(learning)
                yield replace(batch, statistics=learning.statistics)
        report.add(made.report)
        if complete:
            self._read[part.key] = made

    def write(self, parts: Iterable[MetadataPart]) -> None:
        """Store what was learned of these parts since they were read."""
        for part in parts:
            found = self._read.pop(part.key, None)
            if found is not None and self._directory is not None and found.is_changed:
                key = self._key(part)
                assert key is not None
                self._directory.write(key, found.serialized(self._specs))

    def _key(self, part: MetadataPart) -> str | None:
        """Texts are equal where parts are; None: no process can tell that they are, or the part is not stored."""
        text = repr(part.key)
        if part.key is None or part.adds or " at 0x" in text:
            return None
        return f"{_FORMAT} {pa.__version__} {self._scope} {text}"

    def _found(self, key: str, part: MetadataPart) -> _Part | None:
        assert self._directory is not None
        payload = self._directory.read(key)
        if payload is None:
            return None
        try:
            return _Part.of(payload, part, self._specs)
        except (pa.ArrowException, ValueError, KeyError, TypeError, IndexError, OverflowError):
            return None  # of another version of this library, or not by it


@dataclass
class _Column:
    """What is known of the bounds of one column, for the batch's ``rows`` (int64, ascending; None: all of them)."""

    rows: np.ndarray | None
    sides: dict[str, pa.Array]

    def places(self, rows: np.ndarray | None) -> np.ndarray | None:
        """Where these rows stand. Raises LookupError where one of them is not known."""
        if self.rows is None:
            return rows
        if rows is None or (len(rows) and not len(self.rows)):
            raise LookupError
        places = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        if not np.array_equal(self.rows[places], rows):
            raise LookupError
        return places


class _Learning(Statistics):
    """Statistics that remember which bounds they gave."""

    def __init__(self, source: Callable[[], Statistics | None]) -> None:
        self._source = source
        self.columns: dict[str, _Column] = {}
        self.is_changed = False

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """See :meth:`tableformats.plugin.Statistics.bounds`."""
        found, missing = Bounds(), []
        for f in columns:
            try:
                known = self.columns[repr(f)]
                places = known.places(rows)
            except LookupError:
                missing.append(f)
                continue
            _add(
                found,
                f,
                {
                    name: side if places is None else pc.take(side, to_arrow(places))
                    for name, side in known.sides.items()
                },
            )
        statistics = self._source() if missing else None
        if statistics is not None:
            read = statistics.bounds(missing, rows)
            for f in missing:
                sides = {name: side[f.id] for name in _SIDES if f.id in (side := getattr(read, name))}
                if read.record_count is not None:
                    sides["record_count"] = read.record_count
                self.columns[repr(f)] = _Column(rows, sides)
                self.is_changed = True
                _add(found, f, sides)
        return found

    def record_counts(self, rows: np.ndarray) -> pa.Int64Array:
        """See :meth:`tableformats.plugin.Statistics.record_counts`; they are not stored."""
        statistics = self._source()
        return super().record_counts(rows) if statistics is None else statistics.record_counts(rows)


def _add(bounds: Bounds, column: Field, sides: Mapping[str, pa.Array]) -> None:
    for name, values in sides.items():
        if name == "record_count":
            bounds.record_count = values
        else:
            getattr(bounds, name)[column.id] = values


@dataclass
class _Batch:
    files: pa.RecordBatch
    spec_id: int
    statistics: _Learning | None

    @classmethod
    def of(cls, batch: FileBatch, part: MetadataPart) -> _Batch | None:
        """None where another process could not do without reading the batch."""
        again = batch.keys is None or (part.keys_of is not None and not batch.insert_keys)
        if batch.live is not None or batch.row_errors is not None or not again:
            return None
        statistics = None if batch.statistics is None else _Learning(lambda: batch.statistics)
        return cls(batch.files, batch.spec_id, statistics)

    def batch(self, keys_of: Callable[[pa.RecordBatch], pa.BinaryArray] | None) -> FileBatch:
        keys = None if keys_of is None else keys_of(self.files)
        return FileBatch(self.files, self.spec_id, self.statistics, keys, insert_keys=False)


@dataclass
class _Part:
    """A part's batches, and what reading it counted and noticed."""

    report: ScanReport
    batches: list[_Batch]
    is_new: bool

    @property
    def is_changed(self) -> bool:
        return self.is_new or any(b.statistics is not None and b.statistics.is_changed for b in self.batches)

    def serialized(self, specs: Mapping[int, PartitionSpec]) -> list[bytes | memoryview]:
        """A line of JSON that names the pieces behind it, each an Arrow IPC stream of one record batch. Their lengths
        are multiples of 8, so with the line padded all numbers lie where a processor expects them."""
        pieces: list[memoryview] = []

        def piece(batch: pa.RecordBatch) -> int:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            pieces.append(memoryview(sink.getvalue()))
            return len(pieces[-1])

        batches = [
            {
                "spec_id": b.spec_id,
                "spec": _text_of(specs, b.spec_id),
                "files": piece(b.files),
                "has_statistics": b.statistics is not None,
                "columns": {
                    name: [
                        piece(_record_batch(column.sides)),
                        None if column.rows is None else piece(_record_batch({"rows": to_arrow(column.rows)})),
                    ]
                    for name, column in (b.statistics.columns if b.statistics is not None else {}).items()
                },
            }
            for b in self.batches
        ]
        report = {k: v for k, v in vars(self.report).items() if isinstance(v, (int, list))}
        head = json.dumps({"report": report, "batches": batches}).encode()
        padded = -(-(len(head) + 1) // ALIGNMENT) * ALIGNMENT
        return [head.ljust(padded - 1) + b"\n", *pieces]

    @classmethod
    def of(cls, payload: memoryview, part: MetadataPart, specs: Mapping[int, PartitionSpec]) -> _Part:
        """Raises ValueError and what else comes of an entry that this library did not write."""
        buffer = pa.py_buffer(payload)
        place = bytes(payload[: 1 << 20]).find(b"\n") + 1 or bytes(payload).index(b"\n") + 1
        head = json.loads(bytes(payload[:place]))

        def piece(size: int) -> pa.RecordBatch:
            nonlocal place
            place += size
            return pa.ipc.open_stream(buffer.slice(place - size, size)).read_next_batch()

        batches = []
        for number, entry in enumerate(head["batches"]):
            if entry["spec"] != _text_of(specs, entry["spec_id"]):
                raise ValueError("another partition spec")
            files = piece(entry["files"])
            statistics = _Learning(_Again(part, number)) if entry["has_statistics"] else None
            for name, (size, size_of_rows) in entry["columns"].items():
                sides = piece(size)
                rows = None if size_of_rows is None else to_numpy(piece(size_of_rows).column("rows"))
                assert statistics is not None
                statistics.columns[name] = _Column(rows, dict(zip(sides.schema.names, sides.columns, strict=True)))
            batches.append(_Batch(files, entry["spec_id"], statistics))
        report = ScanReport()
        vars(report).update(head["report"])
        return cls(report, batches, is_new=False)


class _Again:
    """The statistics of the ``number``-th batch of a part, read from the table when they are asked for."""

    def __init__(self, part: MetadataPart, number: int) -> None:
        self._part = part
        self._number = number
        self._found: FileBatch | None = None

    def __call__(self) -> Statistics | None:
        if self._found is None:
            self._found = list(self._part.read(ScanReport()))[self._number]
        return self._found.statistics


def _record_batch(columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _text_of(specs: Mapping[int, PartitionSpec], spec_id: int) -> Any:
    return repr(specs[spec_id].fields) if spec_id in specs else None
