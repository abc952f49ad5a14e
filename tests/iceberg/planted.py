"""A sound Iceberg table, and the faults that are planted in it; ``python -m tests.iceberg.planted`` pins the words."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa

import tableformats as tf
from tableformats.plugin import Violation

from ..support.iceberg_writing import metadata_of, newest
from ..support.verified import told

PINNED = Path(__file__).with_name("planted_outcomes.json")
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.int32()), ("x", pa.float64())])
Record = dict[str, Any]


class Planted:
    """A sound table of three snapshots in a directory, and ways to damage it."""

    def __init__(self, root: Path, version: int = 2) -> None:
        self.root = root
        properties = {"format-version": str(version), "write.manifest.compression-codec": "uncompressed"}
        table = tf.create_table(root, SCHEMA, format="iceberg", partition_by="p", sort_by="id", properties=properties)
        for n in range(3):
            rows = {"id": [n, n + 10], "p": [1, 1], "x": [0.5, None]}
            table.append(pa.table(rows, schema=SCHEMA))
        table.overwrite(pa.table({"id": [11], "p": [2], "x": [1.0]}, schema=SCHEMA), where="id = 1 or id = 11")

    @property
    def metadata(self) -> dict[str, Any]:
        return metadata_of(self.root)

    def change(self, **fields: Any) -> None:
        """Change fields of the metadata, called with underscores; None removes one."""
        found = {**self.metadata, **{name.replace("_", "-"): value for name, value in fields.items()}}
        newest(self.root).write_text(json.dumps({k: v for k, v in found.items() if v is not None}))

    def change_snapshot(self, at: int, **fields: Any) -> None:
        snapshots = self.metadata["snapshots"]
        found = {**snapshots[at], **{name.replace("_", "-"): value for name, value in fields.items()}}
        snapshots[at] = {k: v for k, v in found.items() if v is not None}
        self.change(snapshots=snapshots)

    def summarize(self, **fields: str) -> None:
        summary = self.metadata["snapshots"][-1]["summary"]
        self.change_snapshot(-1, summary={**summary, **{k.replace("_", "-"): v for k, v in fields.items()}})

    def list_path(self, at: int = -1) -> Path:
        return Path(self.metadata["snapshots"][at]["manifest-list"])

    def rows(self, at: int = -1) -> list[Record]:
        return list(fastavro.reader(io.BytesIO(self.list_path(at).read_bytes())))

    def change_rows(self, change: Callable[[list[Record]], Any], at: int = -1) -> None:
        """Write the manifest list of a snapshot with other rows."""
        path = self.list_path(at)
        rewrite(path, change)

    def change_entries(self, change: Callable[[list[Record]], Any], row: int = 0, **header: str | None) -> None:
        """Write a manifest of the newest snapshot with other entries, and its new length in all lists."""
        path = Path(self.rows()[row]["manifest_path"])
        size = rewrite(path, change, **header)
        for at in range(len(self.metadata["snapshots"])):
            self.change_rows(lambda rows: with_length(rows, str(path), size), at)

    def entry(self, row: int = 0, at: int = 0, **fields: Any) -> None:
        """Change members of an entry, those of its file included."""

        def change(entries: list[Record]) -> None:
            for name, value in fields.items():
                target = entries[at] if name in entries[at] else entries[at]["data_file"]
                target[name] = value

        self.change_entries(change, row)

    def first(self, **fields: Any) -> None:
        """Change members of the first row of the newest list."""
        self.change_rows(lambda rows: rows[0].update(fields))

    def violations(self) -> list[Violation]:
        return list(tf.open_table(self.root)._opened.verify())

    def rules(self) -> set[str]:
        found = self.violations()
        assert all(one.source and one.what for one in found)
        return {one.rule for one in found}

    def told(self) -> list[str]:
        """What is wrong in words, with ``s0`` for the first snapshot."""
        names = {one["snapshot-id"]: f"s{at}" for at, one in enumerate(metadata_of(self.root)["snapshots"])}
        return told(self.violations(), self.root, names)


def rewrite(path: Path, change: Callable[[list[Record]], Any], **header: str | None) -> int:
    reader = fastavro.reader(io.BytesIO(path.read_bytes()))
    records = list(reader)
    changed = change(records)
    known = {k: v for k, v in reader.metadata.items() if not k.startswith("avro.")}
    known |= {name.replace("_", "-"): value for name, value in header.items()}
    out = io.BytesIO()
    schema = json.loads(reader.metadata["avro.schema"])
    kept = {k: v for k, v in known.items() if v is not None}
    fastavro.writer(out, schema, changed if isinstance(changed, list) else records, metadata=kept)
    path.write_bytes(out.getvalue())
    return len(out.getvalue())


def with_length(rows: list[Record], path: str, size: int) -> None:
    for row in rows:
        if row["manifest_path"] == path:
            row["manifest_length"] = size


def pairs(values: dict[int, Any]) -> list[Record]:
    return [{"key": key, "value": value} for key, value in values.items()]


def bound(value: int) -> bytes:
    return value.to_bytes(8, "little", signed=True)


NAN = bytes.fromhex("000000000000f87f")


def repeated(entries: list[Record]) -> list[Record]:
    return [*entries, entries[0]]


FAULTS: dict[str, tuple[str, Callable[[Planted], Any]]] = {
    # the metadata file
    "schema in version 2": ("extra-field", lambda p: p.change(schema=p.metadata["schemas"][0])),
    "row ids in version 2": ("extra-field", lambda p: p.change(next_row_id=5)),
    "no UUID": ("missing-field", lambda p: p.change(table_uuid="x")),
    "a schema twice": ("duplicate-id", lambda p: p.change(schemas=p.metadata["schemas"] * 2)),
    "last-column-id": ("column-id", lambda p: p.change(last_column_id=2)),
    "last-partition-id": ("partition-spec", lambda p: p.change(last_partition_id=999)),
    "two equal specs": (
        "partition-spec",
        lambda p: p.change(
            partition_specs=[*p.metadata["partition-specs"], {**p.metadata["partition-specs"][0], "spec-id": 7}]
        ),
    ),
    "a field id for two fields": (
        "partition-spec",
        lambda p: p.change(
            partition_specs=[
                *p.metadata["partition-specs"],
                {"spec-id": 7, "fields": [{"source-id": 1, "field-id": 1000, "name": "q", "transform": "identity"}]},
            ]
        ),
    ),
    "no such sort order": ("sort-order", lambda p: p.change(default_sort_order_id=9)),
    "a sort order without fields": ("sort-order", lambda p: p.change(sort_orders=[{"order-id": 1, "fields": []}])),
    "identifier that is optional": (
        "identifier-field",
        lambda p: p.change(schemas=[{**p.metadata["schemas"][0], "identifier-field-ids": [2]}]),
    ),
    "no summary": ("snapshot", lambda p: p.change_snapshot(0, summary=None)),
    "a schema that is not there": ("snapshot", lambda p: p.change_snapshot(0, schema_id=9)),
    "another operation": ("operation", lambda p: p.summarize(operation="update")),
    "an operation that lies": ("operation", lambda p: p.summarize(operation="append")),
    "a sequence number twice": ("snapshot-sequence", lambda p: p.change_snapshot(1, sequence_number=1)),
    "last-sequence-number": ("snapshot-sequence", lambda p: p.change(last_sequence_number=2)),
    "a snapshot of the future": ("timestamp", lambda p: p.change(last_updated_ms=1)),
    "the log ends with another": ("snapshot-log", lambda p: p.change(snapshot_log=p.metadata["snapshot-log"][:-1])),
    "the log names an expired one": (
        "snapshot-log",
        lambda p: p.change(
            snapshot_log=[{**p.metadata["snapshot-log"][0], "snapshot-id": 5}, *p.metadata["snapshot-log"]]
        ),
    ),
    "main is elsewhere": (
        "current-snapshot",
        lambda p: p.change(current_snapshot_id=p.metadata["snapshots"][0]["snapshot-id"]),
    ),
    "a tag that counts snapshots": (
        "reference",
        lambda p: p.change(
            refs={
                **p.metadata["refs"],
                "t": {"type": "tag", "snapshot-id": p.metadata["current-snapshot-id"], "min-snapshots-to-keep": 1},
            }
        ),
    ),
    "added files": ("summary", lambda p: p.summarize(added_data_files="2")),
    "total of rows": ("summary", lambda p: p.summarize(total_records="4")),
    "a total that is none": ("summary", lambda p: p.summarize(total_data_files="many")),
    # the manifest list
    "no list": ("damaged-file", lambda p: p.list_path().unlink()),
    "a torn list": ("damaged-file", lambda p: p.list_path().write_bytes(p.list_path().read_bytes()[:-9])),
    "a manifest twice": ("manifest-list", lambda p: p.change_rows(repeated)),
    "a manifest left out": ("status", lambda p: p.change_rows(lambda rows: rows[:-1])),
    "another length": ("manifest-list", lambda p: p.first(manifest_length=9)),
    "added files of the list": ("manifest-counts", lambda p: p.first(added_files_count=7)),
    "deleted rows of the list": ("manifest-counts", lambda p: p.first(deleted_rows_count=7)),
    "a sequence number of another": ("manifest-sequence", lambda p: p.first(sequence_number=3)),
    "a least sequence number": ("manifest-sequence", lambda p: p.first(min_sequence_number=1)),
    "another spec": ("damaged-file", lambda p: p.first(partition_spec_id=9)),
    "another snapshot's manifest": (
        "status",
        lambda p: p.first(added_snapshot_id=p.metadata["snapshots"][0]["snapshot-id"]),
    ),
    "NULL left out of summaries": ("partition-summary", lambda p: p.entry(partition={"p": None})),
    "a bound of summaries": (
        "partition-summary",
        lambda p: p.change_rows(
            lambda rows: rows[0]["partitions"][0].update(lower_bound=b"\3\0\0\0", upper_bound=b"\3\0\0\0")
        ),
    ),
    "two summaries for one field": (
        "partition-summary",
        lambda p: p.change_rows(lambda rows: rows[0].update(partitions=rows[0]["partitions"] * 2)),
    ),
    # manifests
    "no manifest": ("damaged-file", lambda p: Path(p.rows()[0]["manifest_path"]).unlink()),
    "no spec in the header": ("manifest-header", lambda p: p.change_entries(list, partition_spec_id=None)),
    "other content in the header": ("manifest-header", lambda p: p.change_entries(list, content="deletes")),
    "another spec in the header": ("manifest-header", lambda p: p.change_entries(list, partition_spec="[]")),
    "a newer manifest": ("manifest-header", lambda p: p.change_entries(list, format_version="3")),
    "status 3": ("status", lambda p: p.entry(status=3)),
    "an existing file without numbers": ("sequence-number", lambda p: p.entry(status=0, sequence_number=None)),
    "a negative sequence number": ("sequence-number", lambda p: p.entry(sequence_number=-1)),
    "a newer file sequence number": ("sequence-number", lambda p: p.entry(file_sequence_number=9)),
    "a file that nobody added": ("status", lambda p: p.entry(status=0, sequence_number=4, file_sequence_number=4)),
    "a file twice": ("duplicate-file", lambda p: p.change_entries(repeated)),
    "no rows": ("data-file", lambda p: p.entry(record_count=-1)),
    "another format": ("data-file", lambda p: p.entry(file_format="csv")),
    "split offsets in no order": ("data-file", lambda p: p.entry(split_offsets=[9, 4])),
    "a split offset twice": ("data-file", lambda p: p.entry(split_offsets=[4, 4])),
    "a split before the file": ("data-file", lambda p: p.entry(split_offsets=[-4])),
    "a split beyond the end": ("data-file", lambda p: p.entry(split_offsets=[1 << 30])),
    "a sort order that is not there": ("data-file", lambda p: p.entry(sort_order_id=9)),
    "deletes among data": ("data-file", lambda p: p.entry(content=1)),
    "equality ids of data": ("delete-file", lambda p: p.entry(equality_ids=[1])),
    "a NaN bound": ("metrics", lambda p: p.entry(lower_bounds=pairs({3: NAN}))),
    "bounds in the wrong order": (
        "metrics",
        lambda p: p.entry(lower_bounds=pairs({1: bound(9)}), upper_bounds=pairs({1: bound(8)})),
    ),
    "fewer values than rows": ("metrics", lambda p: p.entry(value_counts=pairs({1: 3}))),
    "more NULLs than values": ("metrics", lambda p: p.entry(null_value_counts=pairs({3: 3}))),
    "a partition that no row is in": ("partition-tuple", lambda p: p.entry(partition={"p": 3})),
    # files
    "a file that is gone": ("file-missing", lambda p: next(p.root.glob("data/**/*.parquet")).unlink()),
    "another size": ("file-size", lambda p: p.entry(file_size_in_bytes=1_000_000)),
}


LINEAGE: dict[str, Callable[[Planted], Any]] = {
    "no row ids": lambda p: p.change_snapshot(-1, first_row_id=None, added_rows=None),
    "ids that are taken": lambda p: p.change_snapshot(-1, first_row_id=1),
    "next-row-id": lambda p: p.change(next_row_id=3),
    "a manifest without": lambda p: p.first(first_row_id=None),
    "two files with one id": lambda p: p.rows()[0] and p.entry(first_row_id=0),
    "more than the snapshot has": lambda p: p.change_snapshot(-1, added_rows=0),
}


@contextmanager
def mended(planted: Planted) -> Iterator[Planted]:
    """A table that may be damaged. It is as before afterwards."""
    files = {path: path.read_bytes() for path in planted.root.rglob("*") if path.is_file()}
    yield planted
    for path, data in files.items():
        path.write_bytes(data)


def main() -> None:
    found: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for version, faults in ((2, {name: plant for name, (_, plant) in FAULTS.items()}), (3, LINEAGE)):
            table = Planted(Path(folder) / f"v{version}", version)
            for name, plant in faults.items():
                with mended(table) as planted:
                    plant(planted)
                    found[name] = planted.told()
    PINNED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
