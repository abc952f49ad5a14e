"""The cache of decoded parts in a directory, for later processes: columns of files, and bounds that plans asked for.

Only parts of which no later row of the same part decides are stored: manifests, checkpoints and sidecars, not commits.
An entry is made once a part's files are pruned, and made again when a plan had to decode further bounds. What an entry
lacks is read from the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, replace

import numpy as np
import pyarrow as pa

from ...cache.directory import ALIGNMENT, CacheDirectory
from ...columnar import compute as pc
from ...columnar.arrays import to_arrow, to_numpy
from ...columnar.sparse_rows import SparseRows
from ...dataclass import dataclass
from ...plugin.files import FileBatch, MetadataPart
from ...plugin.partitions import PartitionSpec
from ...plugin.report import ScanReport
from ...plugin.statistics import Bounds, Statistics
from ...schema import Field
from ..batch_reloader import BatchReloader

__all__ = ["DiskPartCache", "RecordingStatistics"]

_FORMAT = 4
"""Counts up whenever entries look different, or bounds are made by other rules: existing entries are not found then."""
_SIDES = ("lower", "upper", "null_count", "nan_count", "value_count")


class DiskPartCache:
    """The parts of one table, read from a directory where they stand there, and written to it.

    Parameters
    ----------
    directory : CacheDirectory, optional
        None: everything is read from the table.
    scope : str
        Distinguishes the table from others.
    specs : mapping of spec id to PartitionSpec
        The snapshot's; entries of a spec with other fields are not used.
    """

    def __init__(self, directory: CacheDirectory | None, scope: str, specs: Mapping[int, PartitionSpec]) -> None:
        self._directory = directory
        self._scope = scope
        self._specs = specs
        self._read: dict[Hashable, _StoredPart] = {}

    @property
    def is_enabled(self) -> bool:
        """Whether parts are looked for in a directory."""
        return self._directory is not None

    def cached(self, part: MetadataPart, with_keys: bool) -> MetadataPart:
        """The same part, read from the directory where it stands there.

        ``with_keys``: the keys of its batches are needed.
        """
        key = None if self._directory is None else self._key(part)
        if key is None:
            return part

        def read(report: ScanReport) -> Iterator[FileBatch]:
            found = self._found(key, part)
            if found is None:
                return self._recorded(part, report)
            report.add(found.report)
            self._read[part.key] = found
            return (stored.batch(part.keys_of if with_keys else None) for stored in found.batches)

        return replace(part, read=read)

    def _recorded(self, part: MetadataPart, report: ScanReport) -> Iterator[FileBatch]:
        """The batches of a part that is read from the table; what is decoded of them is recorded."""
        made = _StoredPart(ScanReport(), [], is_new=True)
        complete = True
        for batch in part.read(made.report):
            recorded = _StoredBatch.of(batch, part)
            if recorded is None:
                complete = False
                yield batch
            else:
                made.batches.append(recorded)
                yield replace(batch, statistics=recorded.statistics)
        report.add(made.report)
        if complete:
            self._read[part.key] = made

    def write(self, parts: Iterable[MetadataPart]) -> None:
        """Store what was decoded of these parts since they were read."""
        for part in parts:
            found = self._read.pop(part.key, None)
            if found is not None and self._directory is not None and found.is_changed:
                key = self._key(part)
                assert key is not None
                self._directory.write(key, found.serialized(self._specs))

    def _key(self, part: MetadataPart) -> str | None:
        """A text that is equal where parts are; None: no other process can compare them, or the part is not stored."""
        if part.key is None or part.adds or " at 0x" in (text := repr(part.key)):
            return None
        return f"{_FORMAT} {pa.__version__} {self._scope} {text}"

    def _found(self, key: str, part: MetadataPart) -> _StoredPart | None:
        assert self._directory is not None
        payload = self._directory.read(key)
        if payload is None:
            return None
        try:
            return _StoredPart.of(payload, part, self._specs)
        except (pa.ArrowException, ValueError, KeyError, TypeError, IndexError, OverflowError):
            return None  # written by another version of this library, or not by it


@dataclass
class _RecordedColumn:
    """The bounds of one column, for some rows of a batch."""

    present: SparseRows
    sides: dict[str, pa.Array]

    def take(self, rows: np.ndarray | None) -> dict[str, pa.Array]:
        """The bounds of these rows (int64, ascending; None: all). Raises LookupError where one is not present."""
        positions = self.present.find(rows)
        if positions is None:
            return self.sides
        return {name: pc.take(side, to_arrow(positions)) for name, side in self.sides.items()}


class RecordingStatistics(Statistics):
    """Statistics that remember which bounds they gave; ``source`` gives what they lack."""

    def __init__(self, source: Callable[[], Statistics | None]) -> None:
        self._source = source
        self.columns: dict[str, _RecordedColumn] = {}
        self.is_changed = False

    def bounds(self, columns: Sequence[Field], rows: np.ndarray | None) -> Bounds:
        """See :meth:`tableformats.plugin.Statistics.bounds`."""
        found, missing = Bounds(), []
        for f in columns:
            try:
                sides = self.columns[_text_of_column(f)].take(rows)
            except LookupError:
                missing.append(f)
                continue
            _add(found, f, sides)
        statistics = self._source() if missing else None
        if statistics is not None:
            read = statistics.bounds(missing, rows)
            for f in missing:
                sides = {name: side[f.id] for name in _SIDES if f.id in (side := getattr(read, name))}
                if read.record_count is not None:
                    sides["record_count"] = read.record_count
                self.columns[_text_of_column(f)] = _RecordedColumn(SparseRows(rows), sides)
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
class _StoredBatch:
    files: pa.RecordBatch
    spec_id: int
    statistics: RecordingStatistics | None

    @classmethod
    def of(cls, batch: FileBatch, part: MetadataPart) -> _StoredBatch | None:
        """None where another process could not do without reading the batch."""
        has_same_keys = batch.keys is None or (part.keys_of is not None and not batch.insert_keys)
        if batch.live is not None or batch.row_errors is not None or not has_same_keys:
            return None
        statistics = None if batch.statistics is None else RecordingStatistics(lambda: batch.statistics)
        return cls(batch.files, batch.spec_id, statistics)

    def batch(self, keys_of: Callable[[pa.RecordBatch], pa.BinaryArray] | None) -> FileBatch:
        keys = None if keys_of is None else keys_of(self.files)
        return FileBatch(self.files, self.spec_id, self.statistics, keys, insert_keys=False)


@dataclass
class _StoredPart:
    """A part's batches, and what reading it counted and noted."""

    report: ScanReport
    batches: list[_StoredBatch]
    is_new: bool

    @property
    def is_changed(self) -> bool:
        return self.is_new or any(b.statistics is not None and b.statistics.is_changed for b in self.batches)

    def serialized(self, specs: Mapping[int, PartitionSpec]) -> list[bytes | memoryview]:
        """A line of JSON that describes the streams behind it, each an Arrow IPC stream of one record batch.

        Their lengths are multiples of 8, so with the line padded all numbers are aligned.
        """
        streams: list[memoryview] = []

        def stream(batch: pa.RecordBatch) -> int:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            streams.append(memoryview(sink.getvalue()))
            return len(streams[-1])

        def column(recorded: _RecordedColumn) -> list[int | None]:
            rows = recorded.present.rows
            return [
                stream(_record_batch(recorded.sides)),
                None if rows is None else stream(_record_batch({"rows": to_arrow(rows)})),
            ]

        batches = []
        for b in self.batches:
            entry: dict[str, object] = {"spec_id": b.spec_id, "spec": _text_of(specs, b.spec_id)}
            entry["files"] = stream(b.files)
            entry["has_statistics"] = b.statistics is not None
            recorded = b.statistics.columns if b.statistics is not None else {}
            entry["columns"] = {name: column(values) for name, values in recorded.items()}
            batches.append(entry)
        report = {k: v for k, v in vars(self.report).items() if isinstance(v, (int, list))}
        head = json.dumps({"report": report, "batches": batches}).encode()
        padded = -(-(len(head) + 1) // ALIGNMENT) * ALIGNMENT
        return [head.ljust(padded - 1) + b"\n", *streams]

    @classmethod
    def of(cls, payload: memoryview, part: MetadataPart, specs: Mapping[int, PartitionSpec]) -> _StoredPart:
        """Raises ValueError, and other errors, for an entry that this library did not write."""
        buffer = pa.py_buffer(payload)
        place = bytes(payload[: 1 << 20]).find(b"\n") + 1 or bytes(payload).index(b"\n") + 1
        head = json.loads(bytes(payload[:place]))

        def stream(size: int) -> pa.RecordBatch:
            nonlocal place
            place += size
            return pa.ipc.open_stream(buffer.slice(place - size, size)).read_next_batch()

        # Read from the table when statistics are asked for columns that the entry lacks.
        reloader = BatchReloader({part.key: part})
        batches = []
        for number, entry in enumerate(head["batches"]):
            if entry["spec"] != _text_of(specs, entry["spec_id"]):
                raise ValueError("another partition spec")
            files = stream(entry["files"])
            statistics = None
            if entry["has_statistics"]:
                reloaded = reloader.statistics(part.key, number)
                statistics = RecordingStatistics(lambda reloaded=reloaded: reloaded)  # type: ignore[misc]
            for name, (size, size_of_rows) in entry["columns"].items():
                sides = stream(size)
                rows = None if size_of_rows is None else to_numpy(stream(size_of_rows).column("rows"))
                assert statistics is not None
                columns = dict(zip(sides.schema.names, sides.columns, strict=True))
                statistics.columns[name] = _RecordedColumn(SparseRows(rows), columns)
            batches.append(_StoredBatch(files, entry["spec_id"], statistics))
        report = ScanReport()
        vars(report).update(head["report"])
        return cls(report, batches, is_new=False)


def _record_batch(columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _text_of(specs: Mapping[int, PartitionSpec], spec_id: int) -> str | None:
    return repr([astuple(field) for field in specs[spec_id].fields]) if spec_id in specs else None


def _text_of_column(f: Field) -> str:
    """All of a column that its bounds may depend on. Bounds are of columns without members."""
    return repr((f.id, f.name, f.physical_name, f.type, f.required, f.initial_default, f.metadata, f.collation))
