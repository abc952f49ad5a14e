"""Statistics of files in the forms that a checkpoint stores: as JSON text, as structs, or both.

Source: Delta PROTOCOL.md, "Checkpoints", on ``delta.checkpoint.writeStatsAsJson`` and ``...writeStatsAsStruct``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from tableformats.plugin import Schema, dataclass
from tableformats.plugin import compute as pc

from ..statistics.stats_struct import StatsColumn, stats_columns, stats_texts, stats_type, structs_of_texts

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["StoredStatistics"]


@dataclass(frozen=True)
class StoredStatistics:
    """Which statistics a checkpoint has.

    Attributes
    ----------
    as_json : bool
        Whether it has ``stats``.
    columns : sequence of StatsColumn or None
        The leaves of ``stats_parsed``; None: there is no such column.
    """

    as_json: bool
    columns: Sequence[StatsColumn] | None

    @classmethod
    def of(cls, schema: Schema, partitioned: Collection[int], properties: Mapping[str, str]) -> StoredStatistics:
        """What the table's properties ask for."""
        as_json = properties.get("delta.checkpoint.writeStatsAsJson", "true").lower() != "false"
        as_struct = properties.get("delta.checkpoint.writeStatsAsStruct", "false").lower() == "true"
        return cls(as_json, stats_columns(schema, partitioned, properties) if as_struct else None)

    @property
    def members(self) -> dict[str, pa.DataType]:
        """The members of ``add`` that hold statistics."""
        import pyarrow as pa

        found: dict[str, pa.DataType] = {}
        if self.as_json:
            found["stats"] = pa.string()
        if self.columns is not None:
            found["stats_parsed"] = stats_type(self.columns)
        return found

    def needed(self, stored: Collection[str]) -> set[str]:
        """Which of ``stats`` and ``stats_parsed`` are read of an older checkpoint that has the members ``stored``."""
        if not self.members:
            return set()
        wanted = {"stats"} if self.columns is None and "stats" in stored else {"stats", "stats_parsed"}
        return wanted & set(stored)

    def made(self, n: int, texts: pa.StringArray | None, parsed: pa.StructArray | None) -> dict[str, pa.Array]:
        """The values of :attr:`members` of ``n`` files, from the forms in which their statistics are known."""
        found: dict[str, pa.Array] = {}
        is_whole = texts is None or (parsed is not None and not parsed.null_count)
        if self.columns is not None and parsed is not None and is_whole and parsed.type == stats_type(self.columns):
            found["stats_parsed"] = parsed
        if self.members.keys() - found:
            # The text has every leaf that is known, in any type: the new columns take what they have of it.
            texts = _as_texts(n, texts, parsed)
        if self.as_json:
            found["stats"] = texts
        if self.columns is not None and "stats_parsed" not in found:
            found["stats_parsed"] = structs_of_texts(texts, self.columns)
        return found


def _as_texts(n: int, texts: pa.StringArray | None, parsed: pa.StructArray | None) -> pa.StringArray:
    """The texts of ``n`` files; where there is none, the struct as text."""
    import pyarrow as pa

    if texts is None:
        texts = pa.nulls(n, pa.string())
    return pc.coalesce(texts, stats_texts(parsed)) if parsed is not None and texts.null_count else texts
