"""Compare two snapshots of a table: files, their deletes, columns, partitioning and properties.

Only metadata is compared. A file is the same in both if its path is the same. Columns are matched as in data files, by
id or by name; by id, a renamed column is still the same column. :meth:`tableformats.Table.changes` gives the *rows*
that changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..display import bars, grid, page
from .files import files_of
from .text import count_text, counted

if TYPE_CHECKING:
    import pyarrow as pa

    from ..planning.handle import SnapshotHandle
    from ..schema import Field

__all__ = ["Difference", "SnapshotDiff", "diff"]


@dataclass(frozen=True)
class Difference:
    """A difference in the metadata.

    Attributes
    ----------
    kind : str
        ``column``, ``partitioning`` or ``property``.
    before, after : str or None
        Its text in the first and in the last snapshot; None: it is not there.
    """

    kind: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class SnapshotDiff:
    """The differences between two snapshots.

    Attributes
    ----------
    first, last : SnapshotHandle
        The snapshots.
    added : pa.Table
        Files that only ``last`` has, with the columns of ``plan.files``.
    removed : pa.Table
        Files that only ``first`` has.
    deletes_changed : pa.Table
        Files that both have, with different deletes, as they are in ``last``.
    metadata : list[Difference]
        Columns, partitioning and properties.
    """

    first: SnapshotHandle
    last: SnapshotHandle
    added: pa.Table
    removed: pa.Table
    deletes_changed: pa.Table
    metadata: list[Difference]

    def __repr__(self) -> str:
        files = f"{counted(self.added.num_rows, 'file')} added, {self.removed.num_rows} removed"
        more = f"{self.deletes_changed.num_rows} with other deletes, {len(self.metadata)} differences of metadata"
        return f"SnapshotDiff(version {self.first.version} to {self.last.version}: {files}, {more})"

    def _repr_html_(self) -> str:
        counts = {"added": self.added, "removed": self.removed, "with other deletes": self.deletes_changed}
        whole = max(part.num_rows for part in counts.values())
        rows = ((f"files {name}", n.num_rows, count_text(n.num_rows), name == "added") for name, n in counts.items())
        changes = [(d.kind, d.before or "nothing", d.after or "nothing") for d in self.metadata]
        table = grid(["what", "before", "after"], changes) if changes else ""
        versions = f"version {self.first.version} to {self.last.version}"
        return page("SnapshotDiff", versions, bars(rows, whole), table)


def diff(first: SnapshotHandle, last: SnapshotHandle) -> SnapshotDiff:
    """Compare two snapshots of one table. Raises the errors of planning."""
    from ..columnar import compute as pc

    before, after = files_of(first), files_of(last)
    added = pc.filter(after, pc.invert(pc.is_in(after["path"], before["path"])))
    removed = pc.filter(before, pc.invert(pc.is_in(before["path"], after["path"])))
    return SnapshotDiff(first, last, added, removed, _deletes_changed(before, after), list(_metadata(first, last)))


def _deletes_changed(before: pa.Table, after: pa.Table) -> pa.Table:
    import pyarrow as pa

    from ..columnar import compute as pc
    from ..columnar.arrays import array_of

    rows = pc.indices_nonzero(pc.is_in(after["path"], before["path"]))
    both = pc.take(after, rows)
    old, new = _deletes(before), _deletes(both)
    is_changed = [old.get(path) != new.get(path) for path in both["path"].to_pylist()]
    return pc.filter(both, array_of(is_changed, pa.bool_()))


def _deletes(files: pa.Table) -> dict[str, frozenset[tuple[object, ...]]]:
    """The deletes of each file that has any."""
    import pyarrow as pa

    from ..columnar import compute as pc
    from ..columnar.arrays import scalar

    has_deletes = pc.greater(pc.list_value_length(files["deletes"]), scalar(0, pa.int32()))
    some = pc.filter(files.select(["path", "deletes"]), has_deletes)
    return {row["path"]: frozenset(tuple(d.values()) for d in row["deletes"]) for row in some.to_pylist()}


def _metadata(first: SnapshotHandle, last: SnapshotHandle) -> Iterator[Difference]:
    by_id = all(snapshot.format_snapshot.name_mapping.by == "id" for snapshot in (first, last))
    yield from _differences("column", _columns(first, by_id), _columns(last, by_id))
    yield from _differences("partitioning", {"": _partitioning(first)}, {"": _partitioning(last)})
    yield from _differences("property", _properties(first), _properties(last))


def _differences(kind: str, before: dict[Any, str], after: dict[Any, str]) -> Iterator[Difference]:
    for key in before | after:
        if before.get(key) != after.get(key):
            yield Difference(kind, before.get(key), after.get(key))


def _columns(snapshot: SnapshotHandle, by_id: bool) -> dict[Any, str]:
    def text(f: Field) -> str:
        return f"{f.name}: {f.type}{' not null' if f.required else ''}"

    return {f.id if by_id else f.stored_name: text(f) for f in snapshot.schema}


def _partitioning(snapshot: SnapshotHandle) -> str:
    """``day(ts), identity(country)``"""
    return ", ".join(f"{f.transform}({_source(snapshot, f.source_id)})" for f in snapshot.partition_fields) or "none"


def _source(snapshot: SnapshotHandle, column: int) -> str:
    found = snapshot.schema.find_id(column)
    return f"dropped column {column}" if found is None else found.name


def _properties(snapshot: SnapshotHandle) -> dict[Any, str]:
    return {name: f"{name} = {value}" for name, value in snapshot.properties.items()}
