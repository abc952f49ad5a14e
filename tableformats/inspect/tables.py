"""``table.inspect``: a table's metadata as Arrow tables.

``files``, ``snapshots``, ``history`` and ``partitions`` exist for every table. If the format defines a metadata table
of that name (Iceberg defines all four), it has the format's columns, otherwise the columns described here. For columns
that do not depend on the format use ``scan.plan().files`` and ``table.history()``. The other tables are specific to one
format; they are refused by name for others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .files import files_of

if TYPE_CHECKING:
    import pyarrow as pa

    from ..planning.handle import SnapshotHandle

__all__ = ["Inspector"]


class InspectedTable(Protocol):
    """What the metadata tables need of a table."""

    def history(self, limit: int | None = None) -> pa.Table:
        """See :meth:`tableformats.Table.history`."""

    def snapshot(self, version: int | str | None = None) -> SnapshotHandle:
        """See :meth:`tableformats.Table.snapshot`."""


class Inspector:
    """Metadata tables of one table. Each method raises UnsupportedFeatureError if the format has no such table.

    >>> tf.open_table("events").inspect.snapshots()["version"].to_pylist()
    [2, 1, 0]
    """

    def __init__(self, table: InspectedTable) -> None:
        self._table = table

    def __repr__(self) -> str:
        names = sorted(name for name in dir(type(self)) if not name.startswith("_"))
        return f"Inspector({', '.join(f'.{name}()' for name in names)})"

    def files(self, version: int | str | None = None) -> pa.Table:
        """The live files of a version.

        For Iceberg data and delete files with the columns of their manifests (``content``, ``file_path``,
        ``record_count``, ``lower_bounds``, ``readable_metrics``, ...); for others data files as in ``plan.files``.

        >>> tf.open_table("events").inspect.files()["record_count"].to_pylist()
        [3, 3]
        """
        snapshot = self._table.snapshot(version)
        defined = self._defined("files", snapshot)
        return files_of(snapshot) if defined is None else defined

    def data_files(self, version: int | str | None = None) -> pa.Table:
        """The data files among :meth:`files` (Iceberg).

        >>> tf.open_table("orders").inspect.data_files()["record_count"].to_pylist()
        [3, 3]
        """
        return self._of_format("data_files", version)

    def delete_files(self, version: int | str | None = None) -> pa.Table:
        """The position delete files, deletion vectors and equality delete files among :meth:`files` (Iceberg).

        >>> tf.open_table("orders").inspect.delete_files().num_rows
        0
        """
        return self._of_format("delete_files", version)

    def snapshots(self) -> pa.Table:
        """The versions that can be read.

        For Iceberg ``committed_at``, ``snapshot_id``, ``parent_id``, ``operation``, ``manifest_list``, ``summary``,
        oldest first; for others as :meth:`Table.history`.

        >>> tf.open_table("orders").inspect.snapshots()["operation"].to_pylist()
        ['append', 'append']
        """
        defined = self._defined("snapshots")
        return self._table.history() if defined is None else defined

    def history(self) -> pa.Table:
        """When each version became the current one.

        For Iceberg ``made_current_at``, ``snapshot_id``, ``parent_id``, ``is_current_ancestor``, oldest first; for
        others as :meth:`Table.history`.

        >>> tf.open_table("orders").inspect.history()["is_current_ancestor"].to_pylist()
        [True, True]
        """
        defined = self._defined("history")
        return self._table.history() if defined is None else defined

    def metadata_log_entries(self) -> pa.Table:
        """The table's metadata files, oldest first: ``timestamp``, ``file``, ``latest_snapshot_id``,
        ``latest_schema_id``, ``latest_sequence_number`` (Iceberg).

        >>> tf.open_table("orders").inspect.metadata_log_entries().num_rows > 1
        True
        """
        return self._of_format("metadata_log_entries")

    def manifests(self, version: int | str | None = None) -> pa.Table:
        """The manifests of a version (Iceberg).

        >>> tf.open_table("orders").inspect.manifests()["added_data_files_count"].to_pylist()
        [1, 1]
        """
        return self._of_format("manifests", version)

    def partitions(self, version: int | str | None = None) -> pa.Table:
        """The distinct partition tuples of a version.

        For Iceberg ``partition``, ``spec_id``, ``record_count``, ``file_count``, ``total_data_file_size_in_bytes``,
        counts of deletes, and the last update of each; for others ``partition``, ``spec_id``, ``file_count``,
        ``record_count``, ``total_size_bytes``.

        >>> tf.open_table("events").inspect.partitions()["file_count"].to_pylist()
        [1, 1]
        """
        snapshot = self._table.snapshot(version)
        defined = self._defined("partitions", snapshot)
        return _partitions(files_of(snapshot)) if defined is None else defined

    def entries(self, version: int | str | None = None) -> pa.Table:
        """The manifest entries of a version, those of removed files included (Iceberg).

        >>> tf.open_table("orders").inspect.entries()["status"].to_pylist()
        [1, 1]
        """
        return self._of_format("entries", version)

    def refs(self) -> pa.Table:
        """Branches and tags (Iceberg).

        >>> tf.open_table("orders").inspect.refs()["name"].to_pylist()
        ['main']
        """
        return self._of_format("refs")

    def tombstones(self) -> pa.Table:
        """The tombstones of removed files in the current snapshot (Delta).

        >>> tf.open_table("events").inspect.tombstones().num_rows
        0
        """
        return self._of_format("tombstones")

    def transactions(self) -> pa.Table:
        """The newest version that each application has committed (Delta's ``txn``).

        >>> tf.open_table("events").inspect.transactions().num_rows
        0
        """
        return self._of_format("transactions")

    def domains(self) -> pa.Table:
        """The metadata domains of the current snapshot and their configurations (Delta).

        >>> tf.open_table("events").inspect.domains().num_rows
        0
        """
        return self._of_format("domains")

    def log(self) -> pa.Table:
        """The files of the log, the kind of each, and whether the current snapshot was read from it (Delta).

        >>> tf.open_table("events").inspect.log().num_rows
        3
        """
        return self._of_format("log")

    def _of_format(self, name: str, version: int | str | None = None) -> pa.Table:
        return self._table.snapshot(version).format_snapshot.inspect(name)

    def _defined(self, name: str, snapshot: SnapshotHandle | None = None) -> pa.Table | None:
        """The metadata table of that name that the format defines, or None."""
        format_snapshot = (snapshot or self._table.snapshot()).format_snapshot
        return format_snapshot.inspect(name) if name in format_snapshot.own_metadata_tables else None


def _partitions(files: pa.Table) -> pa.Table:
    members = files["partition"].combine_chunks().flatten()
    names = [f"p{i}" for i in range(len(members))]
    flat = files.select(["spec_id", "size_bytes", "record_count"])
    for name, values in zip(names, members, strict=True):
        flat = flat.append_column(name, values)
    grouped = flat.group_by([*names, "spec_id"]).aggregate(
        [("size_bytes", "count"), ("record_count", "sum"), ("size_bytes", "sum")]
    )
    return _named_groups(files, grouped, names)


def _named_groups(files: pa.Table, grouped: pa.Table, names: list[str]) -> pa.Table:
    import pyarrow as pa

    kind = files.schema.field("partition").type
    if names:
        members = [grouped[name].combine_chunks() for name in names]
        partition = pa.StructArray.from_arrays(members, fields=list(kind))
    else:
        partition = pa.Array.from_buffers(kind, grouped.num_rows, [None], children=[])
    return pa.table(
        {
            "partition": partition,
            "spec_id": grouped["spec_id"],
            "file_count": grouped["size_bytes_count"],
            "record_count": grouped["record_count_sum"],
            "total_size_bytes": grouped["size_bytes_sum"],
        }
    )
