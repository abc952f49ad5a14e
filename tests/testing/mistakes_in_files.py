"""Mistakes in files, partition values and parts."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tableformats.plugin import FileBatch, MetadataPart, NameMapping, PartitionField
from tableformats.schema import primitive
from tests.testing import hive
from tests.testing.hive import HiveSnapshot
from tests.testing.planting import (
    BATCHES,
    EXPECTED_FILES,
    EXPECTED_ROWS,
    FIELDS,
    FILE_VALUES,
    FILES,
    FILTERED_ROWS,
    FILTERS,
    OFFSETS,
    PARTITION_FILTERS,
    PARTS,
    RECORDS,
    ROW_VALUES,
    TOGETHER,
    TYPES,
    Patch,
    change,
    change_column,
    change_members,
    change_parts,
    found_by,
)


@found_by(
    {
        RECORDS: "record_count by FileBatch.files: found 11, wanted 10",
        FILTERED_ROWS: r"count\(\): found \d+, wanted \d+",
    }
)
def record_counts_are_too_big(patch: Patch) -> None:
    change_column(patch, "record_count", lambda counts: [count + 1 for count in counts])


@found_by({FILES: r"part-0.parquet, size_bytes: found \d+, wanted \d+"})
def sizes_are_too_big(patch: Patch) -> None:
    change_column(patch, "size_bytes", lambda sizes: [size + 1 for size in sizes])


@found_by({FILES: r"part-0.parquet, size_bytes: found 0, wanted \d+"})
def sizes_are_zero(patch: Patch) -> None:
    change_column(patch, "size_bytes", lambda sizes: [0] * len(sizes))


@found_by({BATCHES: r"type of FileBatch.files\['size_bytes'\]: found int32, wanted int64"})
def sizes_have_another_type(patch: Patch) -> None:
    def as_int(files: pa.RecordBatch, *_: Any) -> pa.RecordBatch:
        return files.set_column(1, "size_bytes", files["size_bytes"].cast(pa.int32()))

    change(patch, HiveSnapshot, "columns", as_int)


@found_by({OFFSETS: r"part-0.parquet, split_offsets: found \[5, .*\], wanted some of \[4, "})
def split_offsets_are_wrong(patch: Patch) -> None:
    change_column(patch, "split_offsets", lambda offsets: [[start + 1 for start in starts] for starts in offsets])


@found_by({OFFSETS: r"part-0.parquet, split_offsets: found \[\d+, 4\], wanted some of \[4, \d+\], ascending"})
def split_offsets_descend(patch: Patch) -> None:
    change_column(patch, "split_offsets", lambda offsets: [starts[::-1] for starts in offsets])


@found_by(
    {
        EXPECTED_ROWS: r"rows \(id, .*\): found 45, wanted 49 \(missing: \(60, ",
        EXPECTED_FILES: r"found 6, wanted 7 \(missing: .*part-6.parquet; not wanted: nothing",
    }
)
def a_file_is_dropped(patch: Patch) -> None:
    sound = HiveSnapshot.read_part
    patch.setattr(HiveSnapshot, "read_part", lambda self, places, report: sound(self, places[:2], report))


@found_by(
    {
        FILES: "part-4.parquet: found it 2 times in the plan, wanted it once",
        EXPECTED_ROWS: r"rows \(id, .*\): found 89, wanted 49 \(missing: nothing; not wanted: ",
        EXPECTED_FILES: "files of the plan: found 12, wanted 7",
    }
)
def a_file_is_there_twice(patch: Patch) -> None:
    sound = HiveSnapshot.read_part
    patch.setattr(HiveSnapshot, "read_part", lambda self, places, r: sound(self, [*places, places[0]], r))


@found_by({FILES: r"resolve_paths\(\) of (.*part-0.parquet): found \1, wanted an absolute path"})
def paths_are_not_absolute(patch: Patch) -> None:
    patch.setattr(HiveSnapshot, "resolve_paths", lambda self, paths: paths)


@found_by({FILES: "area=north/west/.*: found no such file, wanted the file"})
def paths_are_decoded_once_more(patch: Patch) -> None:
    """The directories' names are percent-encoded, the paths are not."""
    patch.setattr(HiveSnapshot, "resolve_paths", lambda self, paths: self.storage.resolve(paths, encoded=True))


@found_by({EXPECTED_ROWS: r"values of column shop: found 49, wanted 49 \(missing: 3, 7; not wanted: -1, None\)"})
def partition_values_are_reversed(patch: Patch) -> None:
    sound = HiveSnapshot.partition
    patch.setattr(
        HiveSnapshot, "partition", lambda self, places: sound(self, [len(self.files) - 1 - i for i in places])
    )


@found_by(
    {
        BATCHES: r"partition values of shop \(member 1001\): found string, wanted int32",
        TYPES: "partition field shop: found 3 of type string, wanted a value of type int32",
        PARTITION_FILTERS: "partition field shop: found .* of type string, wanted a value of type int32",
        ROW_VALUES: "rows of column shop: found 3, wanted '3', its partition",
    }
)
def partition_values_are_texts(patch: Patch) -> None:
    change_members(patch, lambda members: {**members, "1001": members["1001"].cast(pa.string())})


@found_by({FIELDS: r"found \[1000, 1002, 1003\], wanted \[1000, 1000, 1002, 1003\]"})
def partition_fields_have_ids_of_others(patch: Patch) -> None:
    def with_id(fields: Any, *_: Any) -> list[PartitionField]:
        return [replace(field, id=1000) if field.name == "shop" else field for field in fields]

    change(patch, HiveSnapshot, "partition_fields", with_id)


@found_by({FIELDS: r"partition field shop \(1001\) of spec 0, type: found 'string', wanted 'int'"})
def partition_fields_have_another_type_than_their_columns(patch: Patch) -> None:
    def as_text(fields: Any, *_: Any) -> list[PartitionField]:
        return [replace(field, type=primitive("string")) for field in fields]

    change(patch, HiveSnapshot, "partition_fields", as_text)
    change_members(patch, lambda members: {name: values.cast(pa.string()) for name, values in members.items()})


@found_by(
    {
        BATCHES: r"found \['1000', '1002', '1003'\], wanted \['1000', '1001', '1002', '1003'\]",
        TYPES: "partition field shop: found the members .*, wanted a member '1001'",
        PARTITION_FILTERS: "partition field shop: found no value, wanted a value of type int32",
    }
)
def a_partition_member_is_missing(patch: Patch) -> None:
    change_members(patch, lambda members: {name: values for name, values in members.items() if name != "1001"})


@found_by(
    {
        BATCHES: r"found \['area', 'at_day', 'day', 'shop'\], wanted \['1000', ",
        TYPES: "partition field day: found the members .*, wanted a member '1000'",
    }
)
def partition_members_have_the_names_of_the_columns(patch: Patch) -> None:
    def renamed(members: dict[str, pa.Array]) -> dict[str, pa.Array]:
        return dict(zip(("day", "shop", "area", "at_day"), members.values(), strict=True))

    change_members(patch, renamed)


@found_by({EXPECTED_ROWS: "values of column area: .*missing: .*None.*; not wanted: .*__HIVE_DEFAULT_PARTITION__"})
def null_partitions_are_a_text(patch: Patch) -> None:
    change_members(patch, lambda members: {**members, "1002": members["1002"].fill_null(hive.NULL)})


@found_by({EXPECTED_ROWS: "values of column area: .*missing: .*north/west.*; not wanted: .*north%2Fwest"})
def partition_values_stay_encoded(patch: Patch) -> None:
    patch.setattr(hive, "unquote", lambda text: text)


@found_by({EXPECTED_ROWS: "values of column day: .*missing: .*2024-01-01.*; not wanted: .*2023-12-30"})
def partition_days_are_off_by_one(patch: Patch) -> None:
    """As where midnight is taken in another zone."""

    change_members(patch, lambda members: {**members, "1000": _a_day_earlier(members["1000"])})


@found_by(
    {
        FILE_VALUES: r"field at_day \(day of at\): found DATE '1969-12-29', wanted DATE '1969-12-30'",
        FILTERS: "at > TIMESTAMP .*: found it dropped .*partition at_day 1969-12-29",
    }
)
def transformed_days_are_off_by_one(patch: Patch) -> None:
    change_members(patch, lambda members: {**members, "1003": _a_day_earlier(members["1003"])})


def _a_day_earlier(days: pa.Array) -> pa.Array:
    return pa.array([None if d is None else d - dt.timedelta(days=1) for d in days.to_pylist()], days.type)


@found_by({EXPECTED_ROWS: r"values of column amount: found 49, wanted 49 \(missing: .*not wanted: None \(\d+ times\)"})
def columns_are_found_by_ids_that_files_lack(patch: Patch) -> None:
    patch.setattr(HiveSnapshot, "name_mapping", NameMapping(by="id", names={"id": 1}))


@found_by({PARTS: r"keys that several parts have: found \[.'files'.\], wanted \[\]"})
def different_parts_have_one_key(patch: Patch) -> None:
    change_parts(patch, lambda parts: [replace(part, key="files") for part in parts])


@found_by({PARTS: "keys of the parts, asked for again: found .*, wanted "})
def keys_of_parts_change(patch: Patch) -> None:
    change_parts(patch, lambda parts: [replace(part, key=object()) for part in parts])


@found_by({TOGETHER: "keys of the parts that are read together: found .*, wanted "})
def parts_read_together_are_in_another_order(patch: Patch) -> None:
    change_parts(patch, lambda parts: [replace(part, read_many=lambda some: list(some)[::-1]) for part in parts])


@found_by({PARTS: r"read again: files by batch: found \[\], wanted \[\["})
def parts_can_be_read_once(patch: Patch) -> None:
    def read_once(part: MetadataPart) -> MetadataPart:
        batches = iter(list(part.read(hive.ScanReport())))
        return replace(part, read=lambda report: batches)

    change_parts(patch, lambda parts: [read_once(part) for part in parts])


@found_by({BATCHES: "length of FileBatch.keys: found 2, wanted 1"})
def keys_are_those_of_some_files(patch: Patch) -> None:
    def with_keys(batches: Any, *_: Any) -> list[FileBatch]:
        return [
            replace(batch, keys=pa.array([b"a"] * (batch.files.num_rows + 1)), insert_keys=False) for batch in batches
        ]

    change(patch, HiveSnapshot, "read_part", with_keys)


@found_by(
    {
        EXPECTED_ROWS: r"rows \(id, .*\): found 6, wanted 49",
        EXPECTED_FILES: "files of the plan: found 1, wanted 7",
    }
)
def different_files_have_one_key(patch: Patch) -> None:
    def with_keys(batches: Any, *_: Any) -> list[FileBatch]:
        return [replace(batch, keys=pa.array([b"a"] * batch.files.num_rows)) for batch in batches]

    change(patch, HiveSnapshot, "read_part", with_keys)
    change_parts(patch, lambda parts: [replace(part, adds=(part.key,)) for part in parts])
