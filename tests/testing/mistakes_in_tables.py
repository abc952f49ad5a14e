"""Mistakes in formats, tables and snapshots."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from tableformats.plugin import SnapshotSelector, hookimpl
from tableformats.schema import Schema
from tests.testing import hive
from tests.testing.hive import HiveFormat, HiveSnapshot, HiveTable
from tests.testing.planting import (
    DETECT,
    HISTORY,
    HOOK,
    OPEN,
    PICKLE,
    SAME,
    SNAPSHOT,
    TRAVEL,
    UPDATE,
    VERSIONS,
    Patch,
    change,
    found_by,
)


@found_by(
    {HOOK: "found PluginValidationError: unknown hook 'tableformats_register_format' .*, wanted a plugin that loads"}
)
def the_hook_is_misspelt(patch: Patch) -> None:
    patch.delattr(hive, "tableformats_register_formats")
    patch.setattr(hive, "tableformats_register_format", hookimpl(lambda: [HiveFormat]), raising=False)


@found_by({HOOK: r"registers: found \[\], wanted \['hive'\]"})
def the_hook_has_no_marker(patch: Patch) -> None:
    patch.setattr(hive, "tableformats_register_formats", lambda: [HiveFormat])


@found_by({HOOK: "found PluginContractError: .*, wanted a plugin that loads"})
def the_hook_registers_no_class(patch: Patch) -> None:
    patch.setattr(hive, "tableformats_register_formats", hookimpl(lambda: [HiveFormat()]))


@found_by({DETECT: r"detect\(\) of an empty directory .*: found True, wanted False"})
def every_directory_is_claimed(patch: Patch) -> None:
    patch.setattr(HiveFormat, "detect", lambda self, storage, options: True)


@found_by({DETECT: r"detect\(\) of the table .*: found \[HiveFile.*, wanted True"})
def detect_gives_no_bool(patch: Patch) -> None:
    patch.setattr(HiveFormat, "detect", lambda self, storage, options: hive.list_files(storage))


@found_by({OPEN: r"open\(\) of an empty directory, .*: found None, wanted TableNotFoundError"})
def an_empty_directory_is_an_empty_table(patch: Patch) -> None:
    class Empty(HiveTable):
        def snapshot(self, selector: SnapshotSelector) -> Any:
            return super().snapshot(selector) if hive.list_files(self.storage) else None

    patch.setattr(HiveFormat, "open", lambda self, storage, options: Empty(storage))


@found_by({OPEN: "found IndexError: .*, wanted TableNotFoundError"})
def an_empty_directory_is_an_untyped_error(patch: Patch) -> None:
    patch.setattr(HiveFormat, "open", lambda self, storage, options: HiveTable(storage))


@found_by({VERSIONS: "version=9007199254740992, .*: found 'a snapshot of version 1', wanted SnapshotNotFoundError"})
def every_version_is_there(patch: Patch) -> None:
    change(patch, HiveTable, "selected", lambda found, _, selector, times: len(times) - 1 if found is None else found)


@found_by({TRAVEL: r"snapshot\(version=0\).version: found 1, wanted 0"})
def time_travel_gives_the_current_version(patch: Patch) -> None:
    change(patch, HiveTable, "selected", lambda found, _, selector, times: found if found is None else len(times) - 1)


@found_by({TRAVEL: r"snapshot\(timestamp_ms=1700086400000\).version: found 0, wanted 1"})
def a_version_begins_after_its_timestamp(patch: Patch) -> None:
    def later(found: Any, table: Any, selector: SnapshotSelector, times: Any) -> Any:
        at = selector.timestamp_ms
        return found if at is None else max((i for i, time in enumerate(times) if time < at), default=None)

    change(patch, HiveTable, "selected", later)


@found_by({UPDATE: r"after an update\(\) of version 0: found 0, wanted 1"})
def an_update_never_finds_news(patch: Patch) -> None:
    patch.setattr(HiveTable, "update", lambda self, snapshot: snapshot)


@found_by({SAME: "found another .*, wanted the same snapshot"})
def an_update_always_finds_news(patch: Patch) -> None:
    patch.setattr(HiveTable, "update", lambda self, snapshot: self.snapshot(SnapshotSelector()))


@found_by({HISTORY: "timestamps: found 2023-11-14 .*, 2023-11-15 .*, wanted the newest first"})
def history_is_oldest_first(patch: Patch) -> None:
    change(patch, HiveTable, "history", lambda history, *_: history[::-1])


@found_by({HISTORY: r"rows of history\(1\): found 2, wanted 1"})
def history_has_no_limit(patch: Patch) -> None:
    sound = HiveTable.history
    patch.setattr(HiveTable, "history", lambda self, limit=None: sound(self))


@found_by({SNAPSHOT: "id of column amount: found 1, which id has, wanted an id of its own"})
def field_ids_are_not_unique(patch: Patch) -> None:
    def repeated(_: None, snapshot: HiveSnapshot, *__: Any) -> None:
        first, second, *others = snapshot.schema.fields
        snapshot.schema = Schema((first, replace(second, id=first.id), *others))

    change(patch, HiveSnapshot, "__init__", repeated)


@found_by({SNAPSHOT: "default_spec_id: found 1, wanted one of specs"})
def the_default_spec_is_not_there(patch: Patch) -> None:
    patch.setattr(HiveSnapshot, "default_spec_id", 1)


@found_by({PICKLE: "pickle of a plan: found TypeError: .*lock.*, wanted a snapshot that pickles"})
def a_snapshot_holds_a_lock(patch: Patch) -> None:
    def with_lock(_: None, snapshot: Any, *__: Any) -> None:
        snapshot.lock = threading.Lock()

    change(patch, HiveSnapshot, "__init__", with_lock)
