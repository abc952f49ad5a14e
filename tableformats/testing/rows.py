"""Tests of rows: that all are there once, however they are read, and that changes lead to them."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ..errors import SnapshotNotFoundError, UnsupportedFeatureError
from ..io.storage import Storage
from ..plugin import FormatTable, SnapshotSelector
from ..table.table import Snapshot, Table
from .findings import Findings, expect
from .fixtures import ConformanceFixtures, ExpectedRows, FileRows, read_parquet
from .live_files import LiveFile
from .parquet import ParquetData, Unreadable
from .values import canonical, dotted, leaf_values, readable, row_texts

__all__ = ["RowChecks"]


class RowChecks(ConformanceFixtures):
    """Part of :class:`FormatConformance`."""

    def test_every_row_is_there_once(self, current_snapshot: Snapshot, expected_rows: ExpectedRows) -> None:
        """The rows of a scan are those of the fixture ``expected_rows``, in any order."""
        if expected_rows is None:
            pytest.skip("supply the fixture expected_rows: without it nobody notices a file that the plugin forgets")
        found = current_snapshot.scan().to_arrow()
        wanted = _as_table(expected_rows, found.schema)
        findings = Findings("a scan has the rows of the fixture expected_rows, each as often")
        if found.num_rows == wanted.num_rows:
            for name in found.column_names:
                values = [list(map(repr, readable(rows[name]))) for rows in (found, wanted)]
                findings.same_items(f"values of column {name}", *values)
        if not findings:
            where = f"rows ({', '.join(found.column_names)})"
            findings.same_items(where, *(row_texts(_columns(rows)) for rows in (found, wanted)))
        findings.check()

    def test_rows_are_those_of_the_files(
        self, current_snapshot: Snapshot, live_files: list[LiveFile], unpruned_rows: list[FileRows]
    ) -> None:
        """Without deletes, the rows that a plan reads of a Parquet file are those that pyarrow reads of it."""
        if len(current_snapshot.scan().plan().delete_files.indices):
            pytest.skip("the table of the fixture has deletes")
        rows = {file.path: file.rows for file in unpruned_rows}
        findings = Findings("the rows of a file are those that pyarrow reads of it")
        for file, data in read_parquet(live_files, current_snapshot):
            own = _own_columns(current_snapshot, file, data)
            if file.absolute not in rows:
                findings.add(file.path, "it not in the plan", "its rows")
                continue
            findings.equal(f"{file.path}, number of rows", rows[file.absolute].num_rows, data.num_rows)
            for path, wanted in own:
                found = leaf_values(rows[file.absolute], path)
                texts = [list(map(repr, values)) for values in (found, wanted)]
                findings.same_items(f"{file.path}, values of column {dotted(path)}", *texts)
        findings.check()

    def test_plans_and_rows_hold_together(self, opened: tuple[FormatTable, Storage]) -> None:
        """The report, the files, the tasks, the rows and the counts of a scan agree."""
        table = Table(*opened)
        scan = Snapshot(table, opened[0].snapshot(SnapshotSelector())).scan()
        plan = scan.plan()
        findings = Findings("the report, the files and the rows of a scan without a filter agree")
        for name, found in (
            ("report.files_planned", plan.report.files_planned),
            ("report.files_total", plan.report.files_total),
            ("rows of plan.files", plan.files.num_rows),
            ("length of plan.file_uris()", len(plan.file_uris())),
            ("number of plan.tasks()", len(list(plan.tasks()))),
            ("length of delete_files.offsets, less one", len(plan.delete_files.offsets) - 1),
        ):
            findings.equal(name, found, len(plan))
        if np.any(np.diff(plan.delete_files.offsets) < 0):
            findings.add("delete_files.offsets", plan.delete_files.offsets.tolist(), "ascending numbers")
        rows = scan.to_arrow()
        wanted = table.snapshot().schema.to_arrow()
        if not rows.schema.equals(wanted):
            findings.add("schema of the rows", str(rows.schema), str(wanted))
        findings.equal("count()", scan.count(), rows.num_rows)
        for name in rows.column_names:
            quoted = "`" + name.replace("`", "``") + "`"
            nulls, others = table.scan(f"{quoted} IS NULL").count(), table.scan(f"{quoted} IS NOT NULL").count()
            findings.equal(f"count of {quoted} IS NULL", nulls, rows[name].null_count)
            findings.equal(f"count of {quoted} IS NOT NULL", others, rows.num_rows - rows[name].null_count)
        findings.check()

    def test_splits_cover_every_file_once(self, current_snapshot: Snapshot) -> None:
        """The parts of a file follow each other from its first byte to its last, and give every row once."""
        plan = current_snapshot.scan().plan()
        whole = row_texts(_columns(plan.to_arrow()))
        smallest = max(1, max((task.size_bytes for task in plan.tasks()), default=1) // 3)
        findings = Findings("the splits of a plan cover every byte of every file once, and so its rows")
        for target in (None, smallest):
            groups = plan.splits(target, None if target is None else 0)
            parts: dict[int, list[tuple[int, int]]] = {}
            for task in (task for group in groups for task in group):
                parts.setdefault(task.index, []).append((task.start, task.start + task.length))
            for task in plan.tasks():
                found = sorted(parts.get(task.index, []))
                ends = [0, *(end for _, end in found)]
                if [start for start, _ in found] != ends[:-1] or ends[-1] != task.size_bytes:
                    where = f"{task.path}, bytes by splits({target})"
                    findings.add(where, found, f"0 to {task.size_bytes} without a gap")
            rows = [text for group in groups for text in row_texts(_columns(plan.to_arrow(group)))]
            findings.same_items(f"rows by splits({target})", rows, whole)
        findings.check()

    def test_a_pickled_plan_gives_the_same_rows(self, current_snapshot: Snapshot) -> None:
        """A plan that was made here is read in another process: its snapshot has to pickle."""
        plan = current_snapshot.scan().plan()
        try:
            sent = pickle.loads(pickle.dumps(plan))
        except Exception as error:
            raise AssertionError(
                f"pickle of a plan: found {type(error).__name__}: {error}, wanted a snapshot that pickles "
                "(see FormatSnapshot.__getstate__)"
            ) from error
        expect("files of the pickled plan", sent.file_uris(), plan.file_uris())
        findings = Findings("a pickled plan gives the same rows")
        findings.same_items("rows", *(row_texts(_columns(p.to_arrow())) for p in (sent, plan)))
        findings.check()

    def test_changes_lead_to_the_newest_version(self, opened: tuple[FormatTable, Storage]) -> None:
        """The rows of the version before, with what was inserted and without what was deleted, are the newest rows."""
        table = Table(*opened)
        versions = table.history(2)["version"].to_pylist()
        if len(versions) < 2:
            pytest.skip("the table of the fixture has one version")
        try:
            newest, before = (table.snapshot(version) for version in versions)
        except SnapshotNotFoundError as error:
            pytest.skip(f"a version of the history is not there any more: {error}")
        try:
            changes = table.changes(versions[0], versions[0])
        except UnsupportedFeatureError as error:
            if not (error.field and error.hint):
                raise AssertionError(f"changes(): found {error!r} without field or hint, wanted both") from error
            pytest.skip(f"changes are refused: {error}")
        expect(
            "last columns of changes()",
            changes.schema.names[-3:],
            ["_change_type", "_commit_version", "_commit_timestamp"],
        )
        found = changes.to_arrow()
        if not found.schema.equals(changes.schema.to_arrow()):
            raise AssertionError(f"schema of the changes: found {found.schema}, wanted {changes.schema.to_arrow()}")
        expect("count() of the changes", changes.count(), found.num_rows)
        expect("versions of the changes", set(found["_commit_version"].to_pylist()) - {versions[0]}, set())
        # Columns that were renamed or added in between are left to the format's own tests.
        names = [f.name for f in newest.schema if (old := before.schema.find_id(f.id)) and old.name == f.name]
        rows = Counter(row_texts(_columns(before.scan().to_arrow(), names)))
        for kind, text in zip(found["_change_type"].to_pylist(), row_texts(_columns(found, names)), strict=True):
            rows[text] += 1 if kind in ("insert", "update_postimage") else -1
        wanted = row_texts(_columns(newest.scan().to_arrow(), names))
        findings = Findings(f"the rows of version {versions[1]} and the changes of {versions[0]} are its rows")
        findings.equal("rows that are deleted but not there", [text for text, n in rows.items() if n < 0], [])
        findings.same_items("rows", list(rows.elements()), wanted)
        findings.check()


def _columns(rows: pa.Table, names: Sequence[str] | None = None) -> list[list[Any]]:
    """The values of these top-level columns (None: of all)."""
    return [readable(rows[name]) for name in (rows.column_names if names is None else names)]


def _as_table(rows: Any, schema: pa.Schema) -> pa.Table:
    """``expected_rows`` in the columns and types of ``schema``; values of another kind are not converted."""
    is_table = isinstance(rows, pa.Table)
    names = rows.column_names if is_table else list({name: None for row in rows for name in row})
    expect("columns of the rows", sorted(schema.names), sorted(names))
    findings = Findings("the columns have the types of the fixture expected_rows")
    columns = []
    for field in schema:
        try:
            if is_table:
                columns.append(_cast(rows[field.name], field.type))
            else:
                columns.append(pa.array([row.get(field.name) for row in rows], field.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            wanted = str(rows.schema.field(field.name).type) if is_table else f"one for the values: {error}"
            findings.add(f"type of column {field.name}", str(field.type), wanted)
    findings.check()
    return pa.table(columns, schema=schema)


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The same values in another width, unit or encoding."""
    if _kind(values.type) != _kind(kind):
        raise pa.ArrowTypeError(f"{values.type} is no {kind}")
    return values.cast(kind)


def _kind(kind: pa.DataType) -> str:
    """What is left of an Arrow type without its width, unit, zone and encoding."""
    if pa.types.is_dictionary(kind):
        return _kind(kind.value_type)
    for name in ("boolean", "integer", "floating", "decimal", "string", "large_string", "date", "timestamp", "time"):
        if getattr(pa.types, f"is_{name}")(kind):
            return name.removeprefix("large_")
    return "nested" if pa.types.is_nested(kind) else "binary"


def _own_columns(current: Snapshot, file: LiveFile, data: ParquetData) -> list[tuple[Any, list[Any]]]:
    """The columns that the file itself decides, with the values that pyarrow reads."""
    first = current.format_snapshot.name_mapping.partition_values_first
    elsewhere = {f.source_id for f in file.spec.fields if f.transform.name == "identity"} if first else set()
    found = []
    for path in current.schema.leaves():
        if path[-1].id in elsewhere:
            continue
        try:
            column = data.column(path)
        except Unreadable:
            continue
        if column is not None:
            found.append((path, canonical(column)))
    return found
