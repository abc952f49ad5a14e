"""The file actions of a checkpoint as columns. An action is made when a rule looks at it, and rules look at few.

Source: Delta PROTOCOL.md, "Checkpoint Schema".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tableformats.plugin import cached_property
from tableformats.plugin import compute as pc

from .commit_file import FileKey, file_key, with_vector
from .commit_rules import FIELDS, VECTOR

if TYPE_CHECKING:
    import pyarrow as pa

    from .commit_rules import Fields

__all__ = ["StoredActions", "as_json"]

_MAPS = ("partitionValues", "tags", "configuration", "options")


class StoredActions:
    """Add or remove actions that a checkpoint has in one batch of rows.

    Parameters
    ----------
    kind : str
        ``add`` or ``remove``.
    values : StructArray
        Without nulls, of types that :meth:`can_hold` allows.

    Raises
    ------
    pyarrow.ArrowInvalid
        A text is not UTF-8.
    """

    def __init__(self, kind: str, values: pa.StructArray) -> None:
        values.validate(full=True)
        self.kind = kind
        self.values = values
        self.members = [values.type.field(i).name for i in range(values.type.num_fields)]
        self._plain: dict[str, list[Any]] = {}

    @staticmethod
    def can_hold(kind: str, stored: pa.StructType) -> bool:
        """Whether members are there once, and those of the protocol have its types."""
        return _is_like(stored, FIELDS[kind])

    def __len__(self) -> int:
        return len(self.values)

    def column(self, name: str) -> pa.Array | None:
        """The values of a member; None where the checkpoint does not have it."""
        return self.values.field(name) if name in self.members else None

    def plain(self, name: str) -> list[Any]:
        """A member that is neither a struct nor a map nor a list, as Python's values."""
        if name not in self._plain:
            column = self.column(name)
            self._plain[name] = [None] * len(self) if column is None else column.to_pylist()
        return self._plain[name]

    def action(self, row: int) -> dict[str, Any]:
        """An action as in a commit."""
        found: dict[str, Any] = as_json(self.values[row].as_py())
        return found

    @cached_property
    def keys(self) -> list[FileKey]:
        """What identifies the logical file of each action, as :func:`.commit_file.file_key` says it.

        Only a path with an escape or a scheme may be spelled in several ways.
        """
        paths, vectors = self.column("path"), self.column("deletionVector")
        found: list[FileKey] = [path or "" for path in self.plain("path")]
        if paths is not None:
            for row in pc.indices_nonzero(pc.match_substring_regex(paths, "[%:]")).to_pylist():
                found[row] = file_key({"path": found[row]})
        if vectors is not None:
            rows = pc.indices_nonzero(pc.is_valid(vectors))
            for row, vector in zip(rows.to_pylist(), pc.take(vectors, rows).to_pylist(), strict=True):
                found[row] = with_vector(found[row], vector)
        return found


def _is_like(stored: pa.StructType, fields: Fields) -> bool:
    members = {stored.field(i).name: stored.field(i).type for i in range(stored.num_fields)}
    is_known = all(_is_of_kind(one, name, fields) for name, one in members.items() if name in fields)
    return len(members) == stored.num_fields and is_known


def _is_of_kind(stored: pa.DataType, name: str, fields: Fields) -> bool:
    """Whether a member has the type of its field."""
    import pyarrow as pa

    if name == "deletionVector":
        return pa.types.is_struct(stored) and _is_like(stored, VECTOR)
    is_kind = {str: pa.types.is_string, int: pa.types.is_integer, bool: pa.types.is_boolean}.get(fields[name][0])
    return bool(stored == pa.map_(pa.string(), pa.string()) if is_kind is None else is_kind(stored))


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """A row of Parquet as an action of JSON: maps are objects, and there are no nulls.

    Raises TypeError or ValueError for a map that is none, or whose keys are no texts.
    """
    found: dict[str, Any] = {}
    for name, value in row.items():
        if name in _MAPS and isinstance(value, list):
            value = {str(key): one for key, one in value}
        elif isinstance(value, dict):
            value = as_json(value) or None
        if value is not None and not name.endswith("_parsed"):
            found[name] = value
    return found
