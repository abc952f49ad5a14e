"""The verbs that keep a table's metadata in order, and change nothing of its rows: ``checkpoint``."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..plugin.format import FormatTable
    from ..plugin.upkeep import CheckpointResult

__all__ = ["UpkeepVerbs"]


class UpkeepVerbs(ABC):
    """Verbs of a table about its metadata."""

    _opened: FormatTable

    def checkpoint(self, version: int | str | None = None) -> CheckpointResult:
        """Write the checkpoint of a version, so that readers need no older metadata to open it.

        A checkpoint that is there is not written again. Columns go from the log to the file in row groups: memory does
        not grow with the number of files, but for the bytes of the file.

        Parameters
        ----------
        version : int or str, optional
            None: the current version.

        Raises
        ------
        UnsupportedFeatureError
            The format has no checkpoints, or the version has a feature that is not honoured.
        SnapshotNotFoundError
            There is no such version.
        CorruptMetadataError
            The metadata is damaged.
        StoreError
            As the store fails. OSError if it is local.

        Examples
        --------
        >>> import tableformats as tf
        >>> tf.open_table("events").checkpoint().files
        2
        """
        from ..runtime.allocator import quick_allocator

        with quick_allocator():
            return self._opened.checkpoint(version)
