"""What differs between two snapshots of a table: its files, their deletes, its columns, partitioning and properties.

Only metadata is compared. A file is the same in both if its path is. Columns are matched as the table's data files are,
by id or by name: where it is by id, a renamed column is one column. Which *rows* changed is what
:meth:`tableformats.Table.changes` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from ..schema import Field
    from ..table.table import Snapshot

__all__ = ["Difference", "SnapshotDiff", "diff"]


@dataclass(frozen=True)
class Difference:
    """One thing of the metadata: how it was, and how it is; None: it was, or is, not there."""

    kind: str
    """column, partitioning or property"""
    before: str | None
    after: str | None


@dataclass(frozen=True)
class SnapshotDiff:
    """What ``last`` has and ``first`` has not, and the other way round."""

    first: Snapshot
    last: Snapshot
    added: pa.Table
    """Files that only ``last`` has, as in ``plan.files``."""
    removed: pa.Table
    """Files that only ``first`` has."""
    deletes_changed: pa.Table
    """Files that both have, with other deletes, as they are in ``last``."""
    metadata: list[Difference]
    """Columns, partitioning and properties."""


def diff(first: Snapshot, last: Snapshot) -> SnapshotDiff:
    """Compare two snapshots of one table. Raises as planning does."""
    import pyarrow.compute as pc

    before, after = first.scan().plan().files, last.scan().plan().files
    added = after.filter(pc.invert(pc.is_in(after["path"], before["path"])))
    removed = before.filter(pc.invert(pc.is_in(before["path"], after["path"])))
    return SnapshotDiff(first, last, added, removed, _deletes_changed(before, after), list(_metadata(first, last)))


def _deletes_changed(before: pa.Table, after: pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pc.indices_nonzero(pc.is_in(after["path"], before["path"]))
    both = after.take(rows)
    had, have = _deletes(before), _deletes(both)
    return both.filter(pa.array([had.get(path) != have.get(path) for path in both["path"].to_pylist()], pa.bool_()))


def _deletes(files: pa.Table) -> dict[str, frozenset[tuple[object, ...]]]:
    """The deletes of each file that has some."""
    import pyarrow.compute as pc

    some = files.select(["path", "deletes"]).filter(pc.greater(pc.list_value_length(files["deletes"]), 0))
    return {row["path"]: frozenset(tuple(d.values()) for d in row["deletes"]) for row in some.to_pylist()}


def _metadata(first: Snapshot, last: Snapshot) -> Iterator[Difference]:
    by_id = all(snapshot.format_snapshot.name_mapping.by == "id" for snapshot in (first, last))
    yield from _differences("column", _columns(first, by_id), _columns(last, by_id))
    yield from _differences("partitioning", {"": _partitioning(first)}, {"": _partitioning(last)})
    yield from _differences("property", _properties(first), _properties(last))


def _differences(kind: str, before: dict[Any, str], after: dict[Any, str]) -> Iterator[Difference]:
    for key in before | after:
        if before.get(key) != after.get(key):
            yield Difference(kind, before.get(key), after.get(key))


def _columns(snapshot: Snapshot, by_id: bool) -> dict[Any, str]:
    def text(f: Field) -> str:
        return f"{f.name}: {f.type}{' not null' if f.required else ''}"

    return {f.id if by_id else f.stored_name: text(f) for f in snapshot.schema}


def _partitioning(snapshot: Snapshot) -> str:
    """``day(ts), identity(country)``"""
    return ", ".join(f"{f.transform}({_source(snapshot, f.source_id)})" for f in snapshot.partition_fields) or "none"


def _source(snapshot: Snapshot, column: int) -> str:
    found = snapshot.schema.find_id(column)
    return f"dropped column {column}" if found is None else found.name


def _properties(snapshot: Snapshot) -> dict[Any, str]:
    return {name: f"{name} = {value}" for name, value in snapshot.properties.items()}
