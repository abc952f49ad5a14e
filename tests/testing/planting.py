"""How mistakes are planted into the plugin of :mod:`tests.testing.hive`, and the names of the tests that find them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from tableformats.plugin import Bounds, MetadataPart
from tests.testing.hive import FooterStatistics, HiveSnapshot

Patch = pytest.MonkeyPatch
Plant = Callable[[Patch], None]

HOOK = "test_the_plugin_registers_its_format"
DETECT = "test_it_claims_its_table_and_nothing_else"
OPEN = "test_opening_what_is_no_table_is_a_typed_error"
SNAPSHOT = "test_a_snapshot_describes_itself"
SAME = "test_an_update_without_news_changes_nothing"
UPDATE = "test_an_update_of_an_older_snapshot_is_the_newest"
VERSIONS = "test_versions_that_do_not_exist_are_a_typed_error"
HISTORY = "test_history_is_newest_first"
TRAVEL = "test_versions_of_the_history_can_be_selected"
BATCHES = "test_batches_keep_the_contract"
PARTS = "test_parts_are_the_same_when_they_are_read_again"
TOGETHER = "test_parts_are_the_same_when_they_are_read_together"
SUBSETS = "test_bounds_of_some_rows_are_the_same_bounds"
FILES = "test_every_file_is_there_once"
EXPECTED_FILES = "test_the_files_are_the_expected_ones"
RECORDS = "test_counts_of_rows_are_those_of_the_files"
OFFSETS = "test_split_offsets_are_row_groups"
EXPECTED_ROWS = "test_every_row_is_there_once"
OWN_ROWS = "test_rows_are_those_of_the_files"
SPLITS = "test_splits_cover_every_file_once"
PICKLE = "test_a_pickled_plan_gives_the_same_rows"
BOUNDS = "test_bounds_hold_for_the_files_values"
COUNTS = "test_counts_of_columns_are_those_of_the_files"
FIELDS = "test_partition_fields_fit_the_schema"
FILE_VALUES = "test_partition_values_are_those_of_the_files"
ROW_VALUES = "test_partition_values_are_those_of_the_rows"
TYPES = "test_partition_values_have_the_types_of_their_fields"
PARTITION_FILTERS = "test_filters_on_partition_values_give_their_files"
FILTERS = "test_filters_at_the_bounds_plan_every_row"
FILTERED_ROWS = "test_filters_at_the_bounds_give_the_same_rows"


@dataclass(frozen=True)
class Mistake:
    """One planted mistake.

    Attributes
    ----------
    plant : callable
        Patches the plugin.
    found_by : mapping of str to str
        The tests of the kit that must fail, each with what its message says (a regular expression).
    """

    plant: Plant
    found_by: Mapping[str, str]

    def __str__(self) -> str:
        return self.plant.__name__


MISTAKES: list[Mistake] = []


def found_by(messages: Mapping[str, str]) -> Callable[[Plant], Plant]:
    """Add a function that plants a mistake to :data:`MISTAKES`."""

    def add(plant: Plant) -> Plant:
        MISTAKES.append(Mistake(plant, messages))
        return plant

    return add


def change(patch: Patch, cls: type, name: str, changed: Callable[..., Any]) -> None:
    """Patch a method: it returns ``changed`` of what it returned, of its object and of its arguments."""
    sound = getattr(cls, name)
    patch.setattr(cls, name, lambda self, *args: changed(sound(self, *args), self, *args))


def change_bounds(patch: Patch, side: str, column: str, changed: Callable[[Any], Any]) -> None:
    """Patch one side of the bounds of a column, value by value; unknown ones stay."""

    def with_side(bounds: Bounds, _: Any, columns: Any, rows: Any) -> Bounds:
        for field in columns:
            values = getattr(bounds, side).get(field.id)
            if field.name == column and values is not None:
                made = [None if value is None else changed(value) for value in values.to_pylist()]
                getattr(bounds, side)[field.id] = pa.array(made, values.type)
        return bounds

    change(patch, FooterStatistics, "bounds", with_side)


def change_column(patch: Patch, name: str, changed: Callable[[list[Any]], list[Any]]) -> None:
    """Patch a column of ``FileBatch.files``."""

    def with_column(files: pa.RecordBatch, *_: Any) -> pa.RecordBatch:
        place = files.schema.get_field_index(name)
        return files.set_column(place, name, pa.array(changed(files[name].to_pylist()), files[name].type))

    change(patch, HiveSnapshot, "columns", with_column)


def change_members(patch: Patch, changed: Callable[[dict[str, pa.Array]], dict[str, pa.Array]]) -> None:
    """Patch the members of the partition struct."""

    def with_members(partition: pa.StructArray, *_: Any) -> pa.StructArray:
        made = changed({field.name: partition.field(i) for i, field in enumerate(partition.type)})
        return pa.StructArray.from_arrays(list(made.values()), list(made))

    change(patch, HiveSnapshot, "partition", with_members)


def change_parts(patch: Patch, changed: Callable[[list[MetadataPart]], list[MetadataPart]]) -> None:
    """Patch the parts of a snapshot."""
    change(patch, HiveSnapshot, "parts", lambda parts, *_: changed(list(parts)))
