"""What a format says of its own upkeep: checkpoints of its metadata, and the files that it keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..dataclass import dataclass

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CheckpointResult", "KeptFiles"]


@dataclass(frozen=True)
class KeptFiles:
    """Which files a table keeps.

    Attributes
    ----------
    named : list of pyarrow.Array
        string: the absolute paths of all files that the metadata names of any version that it still has: data, deletes,
        changes, statistics, and metadata itself.
    is_kept : callable
        Takes a path below the table's directory: whether the table keeps such a file although nothing names it, as it
        keeps a log.
    least_age_ms : int
        A younger file may belong to a commit that is on its way. Milliseconds.
    """

    named: list[pa.Array]
    is_kept: Callable[[str], bool]
    least_age_ms: int


@dataclass(frozen=True)
class CheckpointResult:
    """The checkpoint of a version.

    Attributes
    ----------
    version : int
    path : str
        Absolute; of a checkpoint in several files the one that names the others.
    size_bytes : int
        Of all its files.
    is_new : bool
        Whether it was written now; False: it was there.
    files : int or None
        The live files in it; None: not known, as it was there.
    actions : int or None
        All actions in it; None: not known.
    """

    version: int
    path: str
    size_bytes: int
    is_new: bool = True
    files: int | None = None
    actions: int | None = None
