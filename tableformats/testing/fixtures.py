"""What an author tells the kit, and what the kit makes of it for its tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import pyarrow as pa
import pytest

from ..dataclass import dataclass
from ..io.storage import Storage
from ..plugin import FormatSnapshot, FormatTable, OpenOptions, SnapshotSelector, TableFormat
from ..schema import Field
from ..table.table import Snapshot, Table
from .live_files import LiveFile, find_live_files
from .parquet import ParquetData, Unreadable

__all__ = ["ConformanceFixtures", "FileRows", "leaf_columns", "read_parquet"]

ExpectedRows: TypeAlias = "pa.Table | Sequence[Mapping[str, Any]] | None"


@dataclass(frozen=True)
class FileRows:
    """The live rows of one data file, read through the plan that prunes nothing; ``path`` is absolute."""

    path: str
    rows: pa.Table


class ConformanceFixtures:
    """The fixtures of :class:`FormatConformance`. The first two must be supplied; the others have defaults."""

    @pytest.fixture
    def format_class(self) -> Callable[[], TableFormat]:
        """The class that the plugin registers."""
        raise NotImplementedError("supply the fixture format_class")

    @pytest.fixture
    def location(self, tmp_path: Path) -> str | Path:
        """A readable table with at least one file, written by another library."""
        raise NotImplementedError("supply the fixture location")

    @pytest.fixture
    def options(self) -> OpenOptions:
        """The options to open the table with."""
        return OpenOptions()

    @pytest.fixture
    def expected_rows(self) -> ExpectedRows:
        """The rows of the table: a ``pyarrow.Table``, or dicts by column name, in any order.

        Only with these does the kit find a file that the plugin forgot, and values that stand in no data file, such
        as those of partition columns. None: the rows that pyarrow reads from the Parquet files of the plan.
        """
        return None

    @pytest.fixture
    def expected_files(self) -> Iterable[str | Path] | None:
        """The paths of the table's live data files, absolute or relative to its location; None: not checked."""
        return None

    @pytest.fixture
    def plugin_module(self) -> ModuleType | str | None:
        """The module that the entry point names (``[project.entry-points.tableformats]``), or its name.

        None: what the installed entry point of the format's package names, else the module of the format's class or a
        package around it, where that has a hook.
        """
        return None

    @pytest.fixture
    def opened(self, format_class: Any, location: Any, options: OpenOptions) -> tuple[FormatTable, Storage]:
        """The table, opened by the format itself, with its storage."""
        storage = Storage(location)
        return format_class().open(storage, options), storage

    @pytest.fixture
    def snapshot(self, opened: tuple[FormatTable, Storage]) -> FormatSnapshot:
        """The current version, as the format gives it."""
        return opened[0].snapshot(SnapshotSelector())

    @pytest.fixture
    def current_snapshot(self, opened: tuple[FormatTable, Storage], snapshot: FormatSnapshot) -> Snapshot:
        """The current version, as users have it."""
        return Snapshot(Table(*opened), snapshot)

    @pytest.fixture
    def live_files(self, snapshot: FormatSnapshot) -> list[LiveFile]:
        """The live files of the current version, from its batches."""
        return find_live_files(snapshot, leaf_columns(snapshot))

    @pytest.fixture
    def unpruned_rows(self, current_snapshot: Snapshot) -> list[FileRows]:
        """All live rows by file: what a scan without a filter gives."""
        plan = current_snapshot.scan().plan()
        return [FileRows(task.path, plan.to_arrow([task])) for task in plan.tasks()]


def leaf_columns(snapshot: FormatSnapshot) -> tuple[Field, ...]:
    """The columns that may have bounds."""
    return tuple(path[-1] for path in snapshot.schema.leaves())


def read_parquet(files: Sequence[LiveFile], current: Snapshot) -> list[tuple[LiveFile, ParquetData]]:
    """The files that are Parquet, with their contents; skips the test where pyarrow reads none of them."""
    found, reasons = [], []
    for file in files:
        if file.file_format != "parquet":
            reasons.append(f"{file.path} is {file.file_format}")
            continue
        try:
            mapping = current.format_snapshot.name_mapping
            found.append((file, ParquetData(current.storage, file.absolute, mapping)))
        except (Unreadable, FileNotFoundError) as error:
            reasons.append(str(error))
    if files and not found:
        pytest.skip(f"pyarrow reads no data file: {reasons[0]}")
    return found
