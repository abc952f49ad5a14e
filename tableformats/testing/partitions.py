"""Tests of partition values: their types, and that they are what the transform makes of the files' own values."""

from __future__ import annotations

import decimal
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ..plugin import FormatSnapshot, PartitionField
from ..schema import DecimalType, Field, Type, arrow_type
from ..table.table import Snapshot
from .filters import equals_filter
from .findings import Findings, sample
from .fixtures import ConformanceFixtures, FileRows, read_parquet
from .live_files import LiveFile
from .parquet import ParquetData, Unreadable
from .values import canonical, dotted, is_nan, leaf_values, order, shown

__all__ = ["PartitionChecks"]

_MOST_FILES = 50
_MOST_VALUES = 20
"""Partition values of a field that are filtered by, evenly spread where there are more."""
_UNITS = {"year": "Y", "month": "M", "day": "D", "hour": "h"}


class PartitionChecks(ConformanceFixtures):
    """Part of :class:`FormatConformance`."""

    def test_partition_fields_fit_the_schema(self, snapshot: FormatSnapshot) -> None:
        """Field ids are unique, and a field's type is what its transform makes of its source column."""
        findings = Findings("partition fields have ids of their own and the types that their transforms give")
        known: dict[int, PartitionField] = {}
        for spec in snapshot.specs.values():
            ids = [f.id for f in spec.fields]
            findings.equal(f"distinct field ids of spec {spec.id}", sorted(set(ids)), sorted(ids))
            for field in spec.fields:
                other = known.setdefault(field.id, field)
                where = f"partition field {field.name} ({field.id}) of spec {spec.id}"
                findings.equal(f"{where}, source column", field.source_id, other.source_id)
                source = snapshot.schema.find_id(field.source_id)
                if source is not None and field.transform.name not in ("unknown", "void"):
                    wanted = field.transform.result_type(source.type)
                    findings.equal(f"{where}, type", str(field.type), str(wanted))
        findings.check()

    def test_partition_values_have_the_types_of_their_fields(self, live_files: list[LiveFile]) -> None:
        """Every file has a value of the right type for every field of its spec."""
        findings = Findings("a file has a partition value for every field of its spec, in the field's type")
        for file in live_files:
            for field in file.spec.fields:
                found, wanted = file.partition(field.id), arrow_type(field.type)
                where = f"{file.path}, partition field {field.name}"
                if found is None:
                    members = [member.name for member in file.batch.files["partition"].type]
                    findings.add(where, f"the members {members}", f"a member {str(field.id)!r}")
                elif found.type != wanted and not _is_day(field, found.type):
                    findings.add(where, f"{found[0]} of type {found.type}", f"a value of type {wanted}")
        findings.check()

    def test_partition_values_are_those_of_the_rows(
        self, current_snapshot: Snapshot, live_files: list[LiveFile], unpruned_rows: list[FileRows]
    ) -> None:
        """The source column of an identity field has the partition's value in every row that is read."""
        rows = {file.path: file.rows for file in unpruned_rows}
        findings = Findings("the rows of a file have the value of its partition in the source column")
        for file in live_files:
            for field in file.spec.fields:
                source = current_snapshot.schema.find_id(field.source_id)
                value = file.partition(field.id)
                if field.transform.name != "identity" or source is None or value is None or file.absolute not in rows:
                    continue
                path = current_snapshot.schema.path_of(field.source_id)
                found = _distinct(leaf_values(rows[file.absolute], path))
                wanted = canonical(value)
                if found and not _all_equal(found, wanted[0]):
                    findings.add(
                        f"{file.path}, rows of column {dotted(path)}",
                        shown(found, path[-1].type),
                        f"{shown(wanted, path[-1].type)}, its partition",
                    )
        findings.check()

    def test_partition_values_are_those_of_the_files(
        self, current_snapshot: Snapshot, live_files: list[LiveFile]
    ) -> None:
        """Where a file itself has the source column, the transform of each of its values is the partition's value."""
        findings = Findings("a partition value is what the transform makes of every value of the file")
        for file, data in read_parquet(sample(live_files, _MOST_FILES), current_snapshot):
            for field, path, values in _sources(current_snapshot, file, data):
                stored = file.partition(field.id)
                if stored is None:
                    continue
                wanted = _distinct([_transformed(value, field, path[-1].type) for value in values])
                found = canonical(stored)[0]
                if not all(_is_unit(found, value, field) for value in wanted):
                    where = f"{file.path}, partition field {field.name} ({field.transform} of {dotted(path)})"
                    findings.add(
                        where, shown([found], field.type), f"{shown(wanted, field.type)} for the file's values"
                    )
        findings.check()

    def test_filters_on_partition_values_give_their_files(
        self, current_snapshot: Snapshot, live_files: list[LiveFile]
    ) -> None:
        """A filter for the value of an identity field plans the files whose partition has it, and no other of its
        spec."""
        findings = Findings("a filter for a partition value plans exactly the files whose partition has it")
        tried = 0
        for field_id, field in _identity_fields(current_snapshot, live_files).items():
            path = current_snapshot.schema.path_of(field.source_id)
            having = [file for file in live_files if any(f.id == field_id for f in file.spec.fields)]
            by_file = {file.absolute: canonical(_known(file, field))[0] for file in having}
            for value in sample(_distinct(list(by_file.values())), _MOST_VALUES):
                filter_ = equals_filter(current_snapshot, path, value)
                if filter_ is None:
                    break
                tried += 1
                planned = set(current_snapshot.scan(filter_, case_sensitive=True).plan().file_uris())
                found = [file for file in by_file if file in planned]
                wanted = [file for file, own in by_file.items() if _all_equal([own], value)]
                findings.same_items(f"{filter_}, files", found, wanted)
        findings.check()
        if not tried:
            pytest.skip("the table of the fixture has no identity partition field")


def _identity_fields(current: Snapshot, files: Sequence[LiveFile]) -> dict[int, PartitionField]:
    """The identity fields that every file of their specs has a value for, and whose columns are in the schema."""
    return {
        f.id: f
        for spec in {file.spec.id: file.spec for file in files}.values()
        for f in spec.fields
        if f.transform.name == "identity" and current.schema.find_id(f.source_id) is not None
    }


def _known(file: LiveFile, field: PartitionField) -> pa.Array:
    """The file's value of a field, as an array of one. Raises AssertionError where it is none of the field's type."""
    value, wanted = file.partition(field.id), arrow_type(field.type)
    if value is None or value.type != wanted:
        found = "no value" if value is None else f"{value[0]} of type {value.type}"
        raise AssertionError(
            f"{file.path}, partition field {field.name}: found {found}, wanted a value of type {wanted}"
        )
    return value


def _sources(
    current: Snapshot, file: LiveFile, data: ParquetData
) -> Iterator[tuple[PartitionField, tuple[Field, ...], list[Any]]]:
    """(partition field, its source column, the column's distinct values) where the file itself decides the values."""
    for field in file.spec.fields:
        first = current.format_snapshot.name_mapping.partition_values_first
        if current.schema.find_id(field.source_id) is None or field.transform.name == "unknown":
            continue
        if field.transform.name == "identity" and first:
            continue
        path = current.schema.path_of(field.source_id)
        try:
            column = data.column(path)
        except Unreadable:
            continue
        if column is not None:
            yield field, path, _distinct(canonical(column))


def _transformed(value: Any, field: PartitionField, source: Type) -> Any:
    """What the transform makes of a canonical value. Source: Iceberg spec, "Partition Transforms"."""
    name, width = field.transform.name, field.transform.width
    if value is None or name == "void":
        return None
    if name in _UNITS:
        return _unit(value, _UNITS[name], str(source))
    if name == "bucket":
        return field.transform.bucket(value, source)
    if name == "truncate":
        if isinstance(value, (str, bytes)):
            return value[:width]
        if isinstance(source, DecimalType):
            unscaled = source.unscaled(value)
            digits = unscaled - unscaled % width
            return decimal.Decimal((int(digits < 0), tuple(map(int, str(abs(digits)))), -source.scale))
        return value - value % width
    return value


def _unit(value: int, unit: str, source: str) -> int:
    """The year, month, day or hour since 1970 that days, micro- or nanoseconds fall into."""
    resolution = "D" if source == "date" else "ns" if source.endswith("_ns") else "us"
    instants = np.array([value], np.int64).astype(f"datetime64[{resolution}]")
    return int(instants.astype(f"datetime64[{unit}]").astype(np.int64)[0])


def _is_unit(found: Any, wanted: Any, field: PartitionField) -> bool:
    """Whether a partition value is the wanted one; old writers rounded times before 1970 towards zero."""
    if field.transform.name in _UNITS and isinstance(wanted, int) and wanted < 0 and found == wanted + 1:
        return True
    return _all_equal([found], wanted)


def _is_day(field: PartitionField, kind: pa.DataType) -> bool:
    """Whether the type is another one that days are stored in."""
    return field.transform.name == "day" and kind in (pa.int32(), pa.date32())


def _distinct(values: Sequence[Any]) -> list[Any]:
    """Each value once, in order of appearance; NaN is one value."""
    return list({"NaN" if is_nan(value) else (type(value), value): value for value in values}.values())


def _all_equal(values: Sequence[Any], value: Any) -> bool:
    """Whether all values are this one; NULL is one value here."""
    if value is None:
        return all(v is None for v in values)
    return all(type(v) is type(value) and order(v, value) == 0 for v in values)
