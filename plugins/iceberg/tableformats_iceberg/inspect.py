"""Metadata tables for people, under the column names that Iceberg's own metadata tables have.

Source: Iceberg documentation, "Spark Queries", "Inspecting tables".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa

from tableformats.errors import UnsupportedFeatureError
from tableformats.plugin import PartitionSpec

from .entries import Entries
from .manifests import DATA, DELETES, Manifest, ManifestList
from .metadata import Snapshot, TableMetadata

__all__ = ["history_table", "metadata_table"]

_TIME = pa.timestamp("ms", "UTC")
_SUMMARY = pa.map_(pa.string(), pa.string())


def metadata_table(
    name: str, metadata: TableMetadata, manifest_list: Callable[[], ManifestList],
    entries: Callable[[int], Iterable[Entries]],
) -> pa.Table:  # fmt: skip
    """The metadata table ``name``. Raises UnsupportedFeatureError naming those that there are."""
    makers: dict[str, Callable[[], pa.Table]] = {
        "snapshots": lambda: _snapshots(metadata),
        "history": lambda: _log(metadata),
        "refs": lambda: _refs(metadata),
        "manifests": lambda: _manifests(manifest_list(), metadata.specs),
        "entries": lambda: _entries(entries),
    }
    if name not in makers:
        raise UnsupportedFeatureError(f"there is no metadata table {name!r}", field=name,
                                      hint=f"There are {', '.join(sorted(makers))}")  # fmt: skip
    return makers[name]()


def _current_log(metadata: TableMetadata) -> list[tuple[int, int]]:
    """(ms, snapshot id) of when each snapshot became current, newest first; by lineage where no log was kept."""
    if metadata.snapshot_log:
        return list(reversed(metadata.snapshot_log))
    return [(s.timestamp_ms, s.id) for s in metadata.ancestors(metadata.current_snapshot_id)]


def history_table(metadata: TableMetadata, limit: int | None) -> pa.Table:
    """See :meth:`tableformats.plugin.FormatTable.history`."""
    log = _current_log(metadata)[:limit]
    ancestors = {s.id for s in metadata.ancestors(metadata.current_snapshot_id)}
    found: list[Snapshot | None] = [metadata.snapshots.get(snapshot_id) for _, snapshot_id in log]
    return pa.table(
        {
            "version": pa.array([snapshot_id for _, snapshot_id in log], pa.int64()),
            "timestamp": pa.array([at for at, _ in log], pa.int64()).cast(_TIME),
            "operation": pa.array([s.summary.get("operation") if s else None for s in found], pa.string()),
            "parent_id": pa.array([s.parent_id if s else None for s in found], pa.int64()),
            "is_current_ancestor": pa.array([snapshot_id in ancestors for _, snapshot_id in log], pa.bool_()),
            "summary": pa.array([list(s.summary.items()) if s else None for s in found], _SUMMARY),
        }
    )


def _snapshots(metadata: TableMetadata) -> pa.Table:
    rows = sorted(metadata.snapshots.values(), key=lambda s: s.timestamp_ms)
    return pa.table(
        {
            "committed_at": pa.array([s.timestamp_ms for s in rows], pa.int64()).cast(_TIME),
            "snapshot_id": pa.array([s.id for s in rows], pa.int64()),
            "parent_id": pa.array([s.parent_id for s in rows], pa.int64()),
            "operation": pa.array([s.summary.get("operation") for s in rows], pa.string()),
            "manifest_list": pa.array([s.manifest_list for s in rows], pa.string()),
            "summary": pa.array([list(s.summary.items()) for s in rows], _SUMMARY),
        }
    )


def _log(metadata: TableMetadata) -> pa.Table:
    history = history_table(metadata, None)
    names = {"timestamp": "made_current_at", "version": "snapshot_id"}
    kept = history.select(["timestamp", "version", "parent_id", "is_current_ancestor"])
    kept = kept.rename_columns([names.get(n, n) for n in kept.column_names])
    return kept.take(pa.array(range(kept.num_rows - 1, -1, -1), pa.int64()))


def _refs(metadata: TableMetadata) -> pa.Table:
    refs = [metadata.refs[name] for name in sorted(metadata.refs)]
    return pa.table(
        {
            "name": pa.array([r.name for r in refs], pa.string()),
            "type": pa.array([r.type.upper() for r in refs], pa.string()),
            "snapshot_id": pa.array([r.snapshot_id for r in refs], pa.int64()),
            "max_reference_age_in_ms": pa.array([r.max_reference_age_ms for r in refs], pa.int64()),
            "min_snapshots_to_keep": pa.array([r.min_snapshots_to_keep for r in refs], pa.int32()),
            "max_snapshot_age_in_ms": pa.array([r.max_snapshot_age_ms for r in refs], pa.int64()),
        }
    )


def _manifests(manifest_list: ManifestList, specs: Mapping[int, PartitionSpec]) -> pa.Table:
    rows = manifest_list.manifests
    columns = {
        "content": pa.array([m.content for m in rows], pa.int32()),
        "path": pa.array([m.path for m in rows], pa.string()),
        "length": pa.array([_known(m.length) for m in rows], pa.int64()),
        "partition_spec_id": pa.array([m.spec_id for m in rows], pa.int32()),
        "added_snapshot_id": pa.array([m.added_snapshot_id for m in rows], pa.int64()),
    }
    for what, content in (("data", DATA), ("delete", DELETES)):
        for state in ("added", "existing", "deleted"):
            counts = [_known(getattr(m, f"{state}_files")) if m.content == content else 0 for m in rows]
            columns[f"{state}_{what}_files_count"] = pa.array(counts, pa.int32())
    summary = pa.struct(
        [("contains_null", pa.bool_()), ("contains_nan", pa.bool_()), ("lower_bound", pa.string()),
         ("upper_bound", pa.string())]
    )  # fmt: skip
    columns["partition_summaries"] = pa.array(
        [_summaries(manifest_list, i, m, specs) for i, m in enumerate(rows)], pa.list_(summary)
    )
    return pa.table(columns)


def _known(count: int) -> int | None:
    return None if count < 0 else count


def _summaries(
    manifest_list: ManifestList, row: int, manifest: Manifest, specs: Mapping[int, PartitionSpec]
) -> list[dict[str, object]] | None:
    spec = specs.get(manifest.spec_id) if manifest.spec_id is not None else None
    summaries = manifest_list.summaries(np.array([row]), spec) if spec is not None else None
    if spec is None or summaries is None or not len(summaries.rows):
        return None
    return [
        {
            "contains_null": summaries.contains_null[f.id][0].as_py(),
            "contains_nan": summaries.contains_nan[f.id][0].as_py(),
            "lower_bound": _text(summaries.lower[f.id][0].as_py()),
            "upper_bound": _text(summaries.upper[f.id][0].as_py()),
        }
        for f in spec.fields
    ]


def _text(value: object) -> str | None:
    return None if value is None else value.hex() if isinstance(value, bytes) else str(value)


def _entries(entries: Callable[[int], Iterable[Entries]]) -> pa.Table:
    """All entries of the snapshot, tombstones (status 2) included."""
    tables = [_entry_table(found) for content in (DATA, DELETES) for found in entries(content)]
    if not tables:
        file = pa.struct(
            [("content", pa.int32()), ("file_path", pa.string()), ("file_format", pa.string()),
             ("spec_id", pa.int32()), ("record_count", pa.int64()), ("file_size_in_bytes", pa.int64())]
        )  # fmt: skip
        kinds = {"status": pa.int32(), "snapshot_id": pa.int64(), "sequence_number": pa.int64(), "data_file": file}
        return pa.schema(kinds.items()).empty_table()
    return pa.concat_tables(tables)


def _entry_table(found: Entries) -> pa.Table:
    files = found.files
    content = files["content"] if "content" in files.schema.names else pa.array(np.zeros(files.num_rows, np.int32))
    members = {
        "content": content,
        "file_path": files["path"],
        "file_format": files["file_format"],
        "spec_id": pa.array(np.full(files.num_rows, found.spec_id, np.int32)),
        "record_count": files["record_count"],
        "file_size_in_bytes": files["size_bytes"],
    }
    return pa.table(
        {
            "status": files["status"],
            "snapshot_id": files["snapshot_id"],
            "sequence_number": files["data_sequence_number"],
            "data_file": pa.StructArray.from_arrays(list(members.values()), names=list(members)),
        }
    )
