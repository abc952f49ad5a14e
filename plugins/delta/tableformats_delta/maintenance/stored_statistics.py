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
        import pyarrow as pa

        found: dict[str, pa.Array] = {}
        if self.as_json:
            if texts is None:
                texts = pa.nulls(n, pa.string()) if parsed is None else stats_texts(parsed)
            elif parsed is not None and texts.null_count and parsed.null_count < n:
                texts = pc.coalesce(texts, stats_texts(parsed))
            found["stats"] = texts
        if self.columns is not None:
            found["stats_parsed"] = self._structs(n, texts, parsed)
        return found

    def _structs(self, n: int, texts: pa.StringArray | None, parsed: pa.StructArray | None) -> pa.StructArray:
        import pyarrow as pa

        assert self.columns is not None
        wanted = stats_type(self.columns)
        if parsed is not None and parsed.type == wanted and (texts is None or not parsed.null_count):
            return parsed
        if texts is None:
            # The text has every leaf that is known, in any type: the new columns take what they have of it.
            texts = pa.nulls(n, pa.string()) if parsed is None else stats_texts(parsed)
        elif parsed is not None and texts.null_count:
            texts = pc.coalesce(texts, stats_texts(parsed))
        return structs_of_texts(texts, self.columns)
