"""What a format says of rules of its specification that a table breaks; see :meth:`FormatTable.verify`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..io.local_reads import local_stats
from ..runtime.threads import in_order

if TYPE_CHECKING:
    from ..io.storage import Storage

__all__ = ["Violation", "file_sizes"]


@dataclass(frozen=True)
class Violation:
    """A rule that a table breaks.

    Attributes
    ----------
    rule : str
        The name of the rule, of lower case words with hyphens; one rule has one name.
    what : str
        What is wrong, in one line.
    source : str
        The document and the section that demand it.
    path : str or None
        The file of the metadata, or the data file, that is concerned.
    version : int or None
        The version that is concerned.
    """

    rule: str
    what: str
    source: str
    path: str | None = None
    version: int | None = None


def file_sizes(storage: Storage, paths: Sequence[str]) -> Iterator[int | None]:
    """:meth:`Storage.size_of` for each of many absolute paths, in their order.

    Raises
    ------
    StoreError
        As the store fails.
    """
    # A thread is asked for a request; the size of a local file is known at once.
    return map(_size, local_stats(paths)) if storage.is_local else in_order(storage.size_of, paths)


def _size(found: os.stat_result | OSError | ValueError) -> int | None:
    return found.st_size if isinstance(found, os.stat_result) and stat.S_ISREG(found.st_mode) else None
