"""``table.inspect``: a table's metadata as Arrow tables.

``files`` is common to all formats; the others are the format's own, under its own column names, and refused by
name where a format has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from ..table import Table

__all__ = ["Inspector"]


class Inspector:
    """Metadata tables of one table. Each method raises UnsupportedFeatureError where the format has no such table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def files(self, version: int | str | None = None) -> pa.Table:
        """The live files of a version, as in ``plan.files``."""
        return self._table.snapshot(version).scan().plan().files

    def snapshots(self) -> pa.Table:
        """The versions that can be read, newest first, as :meth:`Table.history`."""
        return self._table.history()

    def manifests(self) -> pa.Table:
        """The current snapshot's manifests (Iceberg)."""
        return self._own("manifests")

    def partitions(self) -> pa.Table:
        """Distinct partition tuples of the current snapshot: ``partition``, ``spec_id``, ``file_count``,
        ``record_count``, ``total_size_bytes``."""
        files = self.files()
        members = files["partition"].combine_chunks().flatten()
        names = [f"p{i}" for i in range(len(members))]
        flat = files.select(["spec_id", "size_bytes", "record_count"])
        for name, values in zip(names, members, strict=True):
            flat = flat.append_column(name, values)
        grouped = flat.group_by([*names, "spec_id"]).aggregate(
            [("size_bytes", "count"), ("record_count", "sum"), ("size_bytes", "sum")]
        )
        return _named_groups(files, grouped, names)

    def entries(self) -> pa.Table:
        """The current snapshot's manifest entries (Iceberg)."""
        return self._own("entries")

    def refs(self) -> pa.Table:
        """Branches and tags (Iceberg)."""
        return self._own("refs")

    def tombstones(self) -> pa.Table:
        """The removed files that the current snapshot still remembers (Delta)."""
        return self._own("tombstones")

    def transactions(self) -> pa.Table:
        """The newest version that each application has committed (Delta's ``txn``)."""
        return self._own("transactions")

    def domains(self) -> pa.Table:
        """The metadata domains of the current snapshot and their configurations (Delta)."""
        return self._own("domains")

    def log(self) -> pa.Table:
        """The files of the log, what each is, and whether the current snapshot is made from it (Delta)."""
        return self._own("log")

    def _own(self, name: str) -> pa.Table:
        return self._table.snapshot().format_snapshot.inspect(name)


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
