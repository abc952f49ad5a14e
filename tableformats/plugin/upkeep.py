"""What a format says of its own upkeep: checkpoints of its metadata."""

from __future__ import annotations

from ..dataclass import dataclass

__all__ = ["CheckpointResult"]


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
