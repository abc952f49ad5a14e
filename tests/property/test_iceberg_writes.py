"""Writes onto tables of other writers: each leaves the rows that a row model has, and metadata by the book.

The laboratory makes a table: mixed versions of manifests, several specs, position deletes, equality deletes, deletion
vectors, members left out. Then our verbs change it. ``check_metadata`` reads all manifests with fastavro and holds them
against the specification; it shares nothing with the plugin.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import fastavro
from hypothesis import event, given, settings
from hypothesis import strategies as st

import tableformats as tf
from tableformats.expressions import tree as ex
from tests.property.test_lab import canonical
from tests.support import rowmodel
from tests.support.lab import Version
from tests.support.lab_iceberg import IcebergLab
from tests.support.strategies import predicates_over, type_of

EXAMPLES = int(os.environ.get("TABLEFORMATS_EXAMPLES", 15))
VERBS = ("append", "delete", "overwrite", "replace_matching")
PROPERTIES = {"commit.manifest.min-count-to-merge": "3", "write.manifest.compression-codec": "uncompressed"}


def records_of(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        return list(fastavro.reader(io.BytesIO(file.read())))  # type: ignore[arg-type]


def check_metadata(root: Path, snapshot_id: int, first_number: int) -> None:
    """What the specification demands of the newest snapshot, which ``snapshot_id`` is."""
    newest = max((root / "metadata").glob("v*.metadata.json"), key=lambda p: int(p.name[1:].split(".")[0]))
    metadata = json.loads(newest.read_text())
    version = metadata["format-version"]
    snapshot = next(s for s in metadata["snapshots"] if s["snapshot-id"] == snapshot_id)
    assert metadata["current-snapshot-id"] == snapshot_id
    number = snapshot.get("sequence-number", 0)
    assert (number == metadata["last-sequence-number"]) if version > 1 else ("sequence-number" not in snapshot)
    live: list[str] = []
    row_ids: list[tuple[int, int]] = []
    for row in records_of(Path(snapshot["manifest-list"])):
        entries = records_of(Path(row["manifest_path"]))
        is_own = row["added_snapshot_id"] == snapshot_id
        assert Path(row["manifest_path"]).stat().st_size == row["manifest_length"] or not is_own
        if version > 1 and is_own:
            assert row["sequence_number"] == number
        check_entries(entries, row, version, snapshot_id)
        next_id = row.get("first_row_id")
        for entry in entries:
            file = entry["data_file"]
            if entry["status"] == 2:
                continue
            live.append(file["file_path"] + str(file.get("content_offset")))
            if version == 3 and row["content"] == 0:
                assert row["first_row_id"] is not None
                first = file.get("first_row_id")
                if first is None:
                    first, next_id = next_id, next_id + file["record_count"]
                row_ids.append((first, file["record_count"]))
    assert len(set(live)) == len(live), "a file is listed twice"
    ends = 0
    for first, count in sorted(row_ids):
        assert first >= ends, "two files share row ids"
        ends = first + count
    assert ends <= metadata.get("next-row-id", 0) or version < 3


def check_entries(entries: list[dict[str, Any]], row: dict[str, Any], version: int, snapshot_id: int) -> None:
    is_own = row["added_snapshot_id"] == snapshot_id
    names = {1: "added", 0: "existing", 2: "deleted"}
    for entry in entries if is_own else ():
        assert (entry["status"] == 0) != (entry["snapshot_id"] == snapshot_id)
        if version > 1:
            is_inherited = entry["sequence_number"] is None
            assert is_inherited == (entry["status"] == 1), "only added files inherit"
            assert is_inherited or entry["sequence_number"] >= row["min_sequence_number"] or entry["status"] == 2
    for status, name in names.items() if is_own else ():
        chosen = [e for e in entries if e["status"] == status]
        assert row[f"{name}_files_count"] == len(chosen)
        assert row[f"{name}_rows_count"] == sum(e["data_file"]["record_count"] for e in chosen)
    for position, summary in enumerate(row["partitions"] or [] if is_own else []):
        values = [list(e["data_file"]["partition"].values())[position] for e in entries]
        assert summary["contains_null"] == any(v is None for v in values)
        known = [v for v in values if v is not None and v == v]
        assert (summary["lower_bound"] is not None) == bool(known)
        for value in known if isinstance(next(iter(known), None), str) else ():
            assert summary["lower_bound"] <= value.encode() <= summary["upper_bound"]


class Writes:
    """Our verbs on a table, and the rows that it must have then."""

    def __init__(self, lab: IcebergLab) -> None:
        self.lab, self.draw = lab, lab.draw
        self.table = tf.open_table(lab.root)
        self.last: Version = lab.versions[-1]
        self.rows = self.last.rows

    def some_rows(self) -> list[Any]:
        rows = self.draw(st.lists(self.lab.some_row(), max_size=4))
        return self.lab.complete(self.lab.normal(row) for row in rows)

    def condition(self) -> Any:
        hurt = [file for file in self.lab.files if file.dead and file.live()]
        if hurt and self.draw(st.booleans()):
            return self.neighbour(self.draw(st.sampled_from(hurt)))
        columns = {c.name: (c.kind, [r[c.id] for r in self.rows if r[c.id] is not None]) for c in self.last.columns}
        return self.draw(predicates_over(columns))

    def neighbour(self, file: Any) -> ex.Expression:
        """TRUE for a live row of a file that has deleted rows, and often for none of these."""
        row = self.draw(st.sampled_from(self.lab.complete(file.live())))
        known = [c for c in self.last.columns if row[c.id] is not None]
        if not known:
            return ex.TRUE
        column = self.draw(st.sampled_from(known))
        return ex.Comparison("=", ex.Reference((column.name,)), ex.Literal(row[column.id], type_of(column.kind)))

    def append(self) -> tf.Commit:
        rows = self.some_rows()
        self.rows = self.rows + rows
        return self.table.append(self.last.to_arrow(rows))

    def delete(self) -> tf.Commit:
        scan = self.table.scan(self.condition())
        self.rows = [row for row in self.rows if not rowmodel.is_kept(scan.filter, row)]
        return self.table.delete(scan.filter)

    def overwrite(self) -> tf.Commit:
        rows = self.some_rows()
        self.rows = rows
        return self.table.overwrite(self.last.to_arrow(rows))

    def replace_matching(self) -> tf.Commit:
        scan = self.table.scan(self.condition())
        rows = [row for row in self.some_rows() if rowmodel.is_kept(scan.filter, row)]
        self.rows = [row for row in self.rows if not rowmodel.is_kept(scan.filter, row)] + rows
        return self.table.overwrite(self.last.to_arrow(rows), scan.filter)

    def check(self, commit: tf.Commit) -> None:
        for table in (self.table, tf.open_table(self.lab.root)):
            found = table.scan().to_arrow()
            assert canonical(found) == canonical(self.last.to_arrow(self.rows)), commit
        assert self.table.count() == len(self.rows)
        if commit.attempts:
            check_metadata(self.lab.root, commit.version, 0)


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_our_verbs_on_tables_of_others(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        lab = IcebergLab(Path(folder) / "t", data.draw)
        lab.run()
        if data.draw(st.booleans()):
            lab.delete_equal()
        first = lab.root / "metadata" / "v1.metadata.json"
        first.write_text(json.dumps({**json.loads(first.read_text()), "properties": PROPERTIES}))
        writes = Writes(lab)
        for name in data.draw(
            st.lists(st.sampled_from(["append", "delete", "overwrite", "replace_matching"]), min_size=1, max_size=5)
        ):
            try:
                commit = getattr(writes, name)()
            except tf.UnsupportedFeatureError as error:
                event(f"refused {error.field}")
                return
            event(name)
            writes.check(commit)
