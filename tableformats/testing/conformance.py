"""What every format must hold, as an abstract pytest suite; authors supply the fixtures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ..errors import SnapshotNotFoundError, TableFormatsError, TableNotFoundError, UnsupportedFeatureError
from ..io.storage import Storage
from ..plugin.format import FormatTable, OpenOptions, SnapshotSelector, TableFormat
from ..plugin.partitions import PartitionSpec
from ..plugin.report import ScanReport
from ..plugin.snapshot import FormatSnapshot, ReadRequest
from ..schema import Schema, arrow_type
from ..table.table import Snapshot, Table

__all__ = ["FormatConformance"]


class FormatConformance:
    """Subclass it, name the subclass ``Test...``, and supply :meth:`format_class` and :meth:`location`."""

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
    def opened(self, format_class: Any, location: Any, options: OpenOptions) -> tuple[FormatTable, Storage]:
        storage = Storage(location)
        return format_class().open(storage, options), storage

    @pytest.fixture
    def snapshot(self, opened: tuple[FormatTable, Storage]) -> FormatSnapshot:
        return opened[0].snapshot(SnapshotSelector())

    def test_it_claims_its_table_and_nothing_else(
        self, format_class: Any, location: Any, options: OpenOptions, tmp_path: Path
    ) -> None:
        empty = tmp_path / "no table"
        empty.mkdir()
        assert format_class().detect(Storage(location), options) is True
        assert format_class().detect(Storage(empty), options) is False
        assert isinstance(format_class().name, str) and format_class().name

    def test_opening_what_is_no_table_is_a_typed_error(
        self, format_class: Any, options: OpenOptions, tmp_path: Path
    ) -> None:
        empty = tmp_path / "no table"
        empty.mkdir()
        with pytest.raises(TableNotFoundError) as caught:
            format_class().open(Storage(empty), options).snapshot(SnapshotSelector())
        assert caught.value.path

    def test_an_update_without_news_changes_nothing(
        self, opened: tuple[FormatTable, Storage], snapshot: FormatSnapshot
    ) -> None:
        updated = opened[0].update(snapshot)
        assert updated.version == snapshot.version
        assert updated is snapshot or snapshot.version == -1

    def test_a_snapshot_describes_itself(self, snapshot: FormatSnapshot) -> None:
        assert isinstance(snapshot.version, int)
        assert snapshot.timestamp_ms is None or isinstance(snapshot.timestamp_ms, int)
        assert isinstance(snapshot.schema, Schema)
        ids = [path[-1].id for path in snapshot.schema.leaves()]
        assert len(set(ids)) == len(ids), "field ids are unique"
        assert snapshot.default_spec_id in snapshot.specs
        assert snapshot.name_mapping.by in ("name", "id")
        arrow = snapshot.schema.to_arrow()
        assert arrow.names == snapshot.schema.names

    def test_versions_that_do_not_exist_are_a_typed_error(self, opened: tuple[FormatTable, Storage]) -> None:
        for selector in (SnapshotSelector(version=2**53), SnapshotSelector(timestamp_ms=0), SnapshotSelector(tag="?!")):
            with pytest.raises((SnapshotNotFoundError, TableFormatsError)) as caught:
                opened[0].snapshot(selector)
            assert caught.value.hint

    def test_history_is_newest_first(self, opened: tuple[FormatTable, Storage]) -> None:
        history = opened[0].history()
        assert history.column_names[:3] == ["version", "timestamp", "operation"]
        assert history.schema.field("version").type == pa.int64()
        stamps = [t for t in history["timestamp"].to_pylist() if t is not None]
        assert stamps == sorted(stamps, reverse=True)
        assert opened[0].history(1).num_rows == min(1, history.num_rows)

    def test_batches_keep_the_contract(self, snapshot: FormatSnapshot) -> None:
        columns = tuple(path[-1] for path in snapshot.schema.leaves())
        count = 0
        for batch in snapshot.read(ReadRequest(columns, ScanReport())):
            files = batch.files
            count += files.num_rows
            assert files.schema.field("path").type == pa.string()
            assert files.schema.field("size_bytes").type == pa.int64()
            if "record_count" in files.schema.names:
                assert files.schema.field("record_count").type == pa.int64()
            self._check_partition(files.schema.field("partition").type, snapshot.specs[batch.spec_id])
            if batch.keys is not None:
                assert len(batch.keys) == files.num_rows
            if batch.statistics is not None:
                every = batch.statistics.bounds(columns, None)
                self._check_bounds(every, columns, files.num_rows)
                counted = batch.statistics.bounds_or_counts(columns, None, [f.id for f in columns])
                self._check_bounds(counted, columns, files.num_rows)
                assert (counted.null_count, counted.value_count) == (every.null_count, every.value_count)
                some = np.arange(0, files.num_rows, 2)
                self._check_bounds(batch.statistics.bounds(columns, some), columns, len(some))
                counts = batch.statistics.record_counts(some)
                assert counts.type == pa.int64() and len(counts) == len(some)
        assert count, "the table of the fixture has files"

    def test_parts_are_the_same_when_they_are_read_again(self, snapshot: FormatSnapshot) -> None:
        """What one plan made of a part serves the next one, and parts are read on several threads."""
        request = ReadRequest((), ScanReport())
        first, second = snapshot.parts(request), snapshot.parts(request)
        assert [part.key for part in first] == [part.key for part in second]
        keys = [part.key for part in first if part.key is not None]
        assert len(set(keys)) == len(keys)
        adding = [bool(part.adds) for part in first]
        assert adding == sorted(adding, reverse=True), "parts that add keys come first"
        for part in (*first, *second):
            batches, again = (list(part.read(ScanReport())) for _ in range(2))
            assert [batch.files for batch in batches] == [batch.files for batch in again]
            for batch in batches:
                assert batch.keys is None or batch.insert_keys == bool(part.adds)
                if part.keys_of is not None and batch.keys is not None:
                    assert part.keys_of(batch.files).equals(batch.keys)

    def test_parts_are_the_same_when_they_are_read_together(self, snapshot: FormatSnapshot) -> None:
        """Where parts share the work of being read, each has the files and the bounds that it has alone."""
        columns = tuple(path[-1] for path in snapshot.schema.leaves())
        parts = [p for p in snapshot.parts(ReadRequest(columns, ScanReport())) if p.read_many is not None]
        shared = parts[0].read_many(parts) if parts and parts[0].read_many is not None else []
        assert [part.key for part in shared] == [part.key for part in parts]
        for part, alone in zip(shared, parts, strict=True):
            reports = ScanReport(), ScanReport()
            found, expected = list(part.read(reports[0])), list(alone.read(reports[1]))
            assert [batch.files for batch in found] == [batch.files for batch in expected]
            assert reports[0] == reports[1]
            for one, other in zip(found, expected, strict=True):
                if one.statistics is not None and other.statistics is not None:
                    for rows in (None, np.arange(0, one.files.num_rows, 2)):
                        assert one.statistics.bounds(columns, rows) == other.statistics.bounds(columns, rows)

    @staticmethod
    def _check_partition(kind: pa.DataType, spec: PartitionSpec) -> None:
        assert {f.name for f in kind} == {str(f.id) for f in spec.fields}

    @staticmethod
    def _check_bounds(bounds: Any, columns: Any, length: int) -> None:
        for field in columns:
            for side in (bounds.lower, bounds.upper):
                if field.id in side:
                    assert side[field.id].type == arrow_type(field.type), field.name
                    assert len(side[field.id]) == length
            for counts in (bounds.null_count, bounds.nan_count, bounds.value_count):
                if field.id in counts:
                    assert counts[field.id].type == pa.int64()
                    assert len(counts[field.id]) == length

    def test_bounds_of_some_rows_are_the_same_bounds(self, snapshot: FormatSnapshot) -> None:
        columns = tuple(path[-1] for path in snapshot.schema.leaves())
        for batch in snapshot.read(ReadRequest(columns, ScanReport())):
            if batch.statistics is None or batch.files.num_rows < 2:
                continue
            row = np.array([batch.files.num_rows - 1])
            whole, last = (batch.statistics.bounds(columns, rows) for rows in (None, row))
            for field_id, values in last.lower.items():
                assert values[0].as_py() == whole.lower[field_id][-1].as_py()

    def test_plans_and_rows_hold_together(self, opened: tuple[FormatTable, Storage]) -> None:
        table = Table(*opened)
        scan = Snapshot(table, opened[0].snapshot(SnapshotSelector())).scan()
        plan = scan.plan()
        assert len(plan) == plan.report.files_planned == plan.report.files_total
        assert plan.files.num_rows == len(plan.file_uris()) == len(list(plan.tasks()))
        assert np.all(np.diff(plan.delete_files.offsets) >= 0)
        assert len(plan.delete_files.offsets) == len(plan) + 1
        rows = scan.to_arrow()
        assert rows.schema.equals(table.snapshot().schema.to_arrow())
        assert scan.count() == rows.num_rows
        for name in rows.column_names:
            nulls, others = table.scan(f"`{name}` IS NULL"), table.scan(f"`{name}` IS NOT NULL")
            assert nulls.count() + others.count() == rows.num_rows, name
            assert nulls.count() == rows[name].null_count, name

    def test_changes_lead_to_the_newest_version(self, opened: tuple[FormatTable, Storage]) -> None:
        """The rows of the version before, with what was inserted and without what was deleted, are the newest rows."""
        table = Table(*opened)
        versions = table.history(2)["version"].to_pylist()
        if len(versions) < 2:
            pytest.skip("the table of the fixture has one version")
        newest, before = (table.snapshot(version) for version in versions)
        try:
            changes = table.changes(versions[0], versions[0])
        except UnsupportedFeatureError as error:
            assert error.field and error.hint
            pytest.skip(f"changes are refused: {error}")
        assert changes.schema.names[-3:] == ["_change_type", "_commit_version", "_commit_timestamp"]
        found = changes.to_arrow()
        assert found.schema.equals(changes.schema.to_arrow()) and changes.count() == found.num_rows
        assert set(found["_commit_version"].to_pylist()) <= {versions[0]}
        # Columns that were renamed or added in between are left to the format's own tests.
        names = [f.name for f in newest.schema if (old := before.schema.find_id(f.id)) and old.name == f.name]
        rows = Counter(_texts(before.scan().to_arrow(), names))
        for kind, text in zip(found["_change_type"].to_pylist(), _texts(found, names), strict=True):
            rows[text] += 1 if kind in ("insert", "update_postimage") else -1
        assert {text: n for text, n in rows.items() if n} == Counter(_texts(newest.scan().to_arrow(), names))


def _texts(table: pa.Table, names: Sequence[str]) -> list[str]:
    """One text a row: values may neither be hashable nor equal themselves."""
    return list(map(repr, zip(*(table[name].to_pylist() for name in names), strict=True)))
