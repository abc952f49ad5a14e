"""Tests of the columns that a plugin hands over: batches, parts, and the shape of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ..plugin import Bounds, FileBatch, FormatSnapshot, PartitionSpec, ReadRequest
from ..plugin.report import ScanReport
from ..schema import Field, arrow_type
from .findings import Findings, expect
from .fixtures import ConformanceFixtures, leaf_columns
from .values import canonical

__all__ = ["BatchChecks"]

_SIDES = ("lower", "upper", "null_count", "nan_count", "value_count")
_REQUIRED = {"path": pa.string(), "size_bytes": pa.int64()}
_OPTIONAL = {"record_count": pa.int64(), "file_format": pa.string(), "split_offsets": pa.list_(pa.int64())}


class BatchChecks(ConformanceFixtures):
    """Part of :class:`FormatConformance`."""

    def test_batches_keep_the_contract(self, snapshot: FormatSnapshot) -> None:
        """Columns, partition members, keys and statistics have their types and lengths."""
        columns = leaf_columns(snapshot)
        findings = Findings("batches have the columns and types of the contract")
        count = 0
        for batch in snapshot.read(ReadRequest(columns, ScanReport())):
            count += batch.files.num_rows
            _check_columns(findings, batch)
            if batch.spec_id not in snapshot.specs:
                findings.add("FileBatch.spec_id", repr(batch.spec_id), f"one of {sorted(snapshot.specs)}")
            else:
                _check_partition(findings, batch.files.schema, snapshot.specs[batch.spec_id])
            for name, array in (("keys", batch.keys), ("live", batch.live)):
                if array is not None:
                    findings.equal(f"length of FileBatch.{name}", len(array), batch.files.num_rows)
            if batch.statistics is not None:
                _check_statistics(findings, batch, columns)
        findings.check()
        if not count:
            raise AssertionError("files of the table of the fixture: found 0, wanted 1 or more")

    def test_parts_are_the_same_when_they_are_read_again(self, snapshot: FormatSnapshot) -> None:
        """What one plan made of a part serves the next one, and parts are read on several threads."""
        request = ReadRequest((), ScanReport())
        first, second = snapshot.parts(request), snapshot.parts(request)
        keys = [part.key for part in first]
        expect("keys of the parts, asked for again", [part.key for part in second], keys)
        known = [key for key in keys if key is not None]
        twice = sorted({repr(key) for key in known if known.count(key) > 1})
        expect("keys that several parts have", twice, [])
        adding = [bool(part.adds) for part in first]
        expect("parts that add keys, which come first", adding, sorted(adding, reverse=True))
        for part in (*first, *second):
            batches, again = (list(part.read(ScanReport())) for _ in range(2))
            where = f"part {part.key!r}"
            _same_files(f"{where}, read again", [b.files for b in again], [b.files for b in batches])
            for batch in batches:
                if batch.keys is not None:
                    expect(f"{where}: insert_keys", batch.insert_keys, bool(part.adds))
                    if part.keys_of is not None:
                        made = part.keys_of(batch.files).to_pylist()
                        expect(f"{where}: keys_of() of its files", made, batch.keys.to_pylist())

    def test_parts_are_the_same_when_they_are_read_together(self, snapshot: FormatSnapshot) -> None:
        """Where parts share the work of being read, each has the files and the bounds that it has alone."""
        columns = leaf_columns(snapshot)
        parts = [p for p in snapshot.parts(ReadRequest(columns, ScanReport())) if p.read_many is not None]
        shared = parts[0].read_many(parts) if parts and parts[0].read_many is not None else []
        expect("keys of the parts that are read together", [p.key for p in shared], [p.key for p in parts])
        for part, alone in zip(shared, parts, strict=True):
            reports = ScanReport(), ScanReport()
            found, wanted = list(part.read(reports[0])), list(alone.read(reports[1]))
            where = f"part {part.key!r}, read with others"
            _same_files(where, [b.files for b in found], [b.files for b in wanted])
            expect(f"{where}: its report", reports[0], reports[1])
            for one, other in zip(found, wanted, strict=True):
                if one.statistics is not None and other.statistics is not None:
                    for rows in (None, np.arange(0, one.files.num_rows, 2)):
                        bounds = [s.bounds(columns, rows) for s in (one.statistics, other.statistics)]
                        expect(f"{where}: bounds", bounds[0], bounds[1])

    def test_bounds_of_some_rows_are_the_same_bounds(self, snapshot: FormatSnapshot) -> None:
        """``bounds`` and ``record_counts`` of some rows of a batch are those rows of what all rows have."""
        columns = leaf_columns(snapshot)
        findings = Findings("the bounds of some rows of a batch are those rows of the bounds of all")
        for batch in snapshot.read(ReadRequest(columns, ScanReport())):
            n = batch.files.num_rows
            if batch.statistics is None or not n:
                continue
            whole, counts = batch.statistics.bounds(columns, None), batch.statistics.record_counts(np.arange(n))
            for rows in (np.arange(n), np.arange(0, n, 2), np.arange(n - 1, n)):
                paths = batch.files["path"].take(pa.array(rows)).to_pylist()
                some = batch.statistics.bounds(columns, rows)
                for field in columns:
                    for side in _SIDES:
                        alone = _values(getattr(some, side).get(field.id), np.arange(len(rows)))
                        among = _values(getattr(whole, side).get(field.id), rows)
                        for path, found, wanted in zip(paths, alone, among, strict=True):
                            if repr(found) != repr(wanted):  # NaN is not equal to itself
                                where = f"{path}, column {field.name}, {side} of rows {rows.tolist()}"
                                findings.add(where, found, wanted)
                found_counts = batch.statistics.record_counts(rows).to_pylist()
                findings.equal(f"record_counts({rows.tolist()})", found_counts, _values(counts, rows))
        findings.check()


def _check_columns(findings: Findings, batch: FileBatch) -> None:
    schema = batch.files.schema
    for name, kind in (*_REQUIRED.items(), *_OPTIONAL.items()):
        index = schema.get_field_index(name)
        if index >= 0 and not schema.field(index).type.equals(kind):
            findings.add(f"type of FileBatch.files[{name!r}]", str(schema.field(index).type), str(kind))
        elif index < 0 and name in _REQUIRED:
            findings.add(f"FileBatch.files[{name!r}]", "no such column", f"one of type {kind}")


def _check_partition(findings: Findings, schema: pa.Schema, spec: PartitionSpec) -> None:
    index = schema.get_field_index("partition")
    if index < 0 or not pa.types.is_struct(schema.field(index).type):
        found = "no such column" if index < 0 else str(schema.field(index).type)
        findings.add("FileBatch.files['partition']", found, "a struct")
        return
    members = {f.name: f.type for f in schema.field(index).type}
    wanted = {str(f.id): arrow_type(f.type) for f in spec.fields}
    findings.equal(f"members of the partition struct of spec {spec.id}", sorted(members), sorted(wanted))
    for field in spec.fields:
        kind = members.get(str(field.id))
        # Writers store the days of a transform as int or as date.
        is_day = field.transform.name == "day" and kind in (pa.int32(), pa.date32())
        if kind is not None and kind != wanted[str(field.id)] and not is_day:
            where = f"type of the partition values of {field.name} (member {field.id})"
            findings.add(where, str(kind), str(wanted[str(field.id)]))


def _check_statistics(findings: Findings, batch: FileBatch, columns: Sequence[Field]) -> None:
    assert batch.statistics is not None
    n = batch.files.num_rows
    every = batch.statistics.bounds(columns, None)
    counted = batch.statistics.bounds_or_counts(columns, None, [f.id for f in columns])
    some = np.arange(0, n, 2)
    _check_bounds(findings, "bounds()", every, columns, n)
    _check_bounds(findings, "bounds_or_counts()", counted, columns, n)
    _check_bounds(
        findings, f"bounds() of rows {some.tolist()}", batch.statistics.bounds(columns, some), columns, len(some)
    )
    for side in ("null_count", "value_count"):
        for field in columns:
            found, wanted = (_values(getattr(b, side).get(field.id), np.arange(n)) for b in (counted, every))
            findings.equal(f"{side} of column {field.name} by bounds_or_counts()", found, wanted)
    counts = batch.statistics.record_counts(some)
    findings.equal("type of record_counts()", counts.type, pa.int64())
    findings.equal(f"length of record_counts() of rows {some.tolist()}", len(counts), len(some))


def _check_bounds(findings: Findings, where: str, bounds: Bounds, columns: Sequence[Field], length: int) -> None:
    for field in columns:
        for side in _SIDES:
            array = getattr(bounds, side).get(field.id)
            if array is None:
                continue
            wanted = arrow_type(field.type) if side in ("lower", "upper") else pa.int64()
            what = f"{side} of column {field.name} by {where}"
            if array.type != wanted:
                findings.add(f"type of {what}", str(array.type), str(wanted))
            findings.equal(f"length of {what}", len(array), length)


def _values(array: Any, rows: np.ndarray) -> list[Any]:
    """The values of some rows; unknown ones where there is no array."""
    return [None] * len(rows) if array is None else canonical(array.take(pa.array(rows)))


def _same_files(where: str, found: Sequence[pa.RecordBatch], wanted: Sequence[pa.RecordBatch]) -> None:
    """Raise AssertionError unless the batches have the same files, with the same columns."""
    expect(f"{where}: files by batch", *([b["path"].to_pylist() for b in batches] for batches in (found, wanted)))
    for one, other in zip(found, wanted, strict=True):
        for name in dict.fromkeys((*one.schema.names, *other.schema.names)):
            columns = [_column(batch, name) for batch in (one, other)]
            if columns[0] != columns[1]:
                raise AssertionError(f"{where}: column {name!r} of the files: found {columns[0]}, wanted {columns[1]}")


def _column(batch: pa.RecordBatch, name: str) -> list[Any] | None:
    """The values of a column of the files; a file without a ``file_format`` is Parquet."""
    if name in batch.schema.names:
        return list(batch[name].to_pylist())
    return ["parquet"] * batch.num_rows if name == "file_format" else None
