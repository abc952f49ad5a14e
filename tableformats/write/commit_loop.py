"""Commit an append: try, and after a lost race look what the winner did and try again.

Data files are deleted only when the commit has certainly lost. After an unknown outcome they are kept, because the
commit that names them may be in the log.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import CommitConflictError, CommitUnknownError
from ..io.stores.base import PutOutcome
from ..plugin.write import Commit, FormatAppend

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CommitOptions", "commit_append"]


@dataclass(frozen=True)
class CommitOptions:
    """How long a commit is tried.

    Attributes
    ----------
    tries : int
        The most tries.
    seconds : float
        No try is begun after this time.
    first_wait, longest_wait : float
        Seconds. Before each further try a random time up to twice the last limit is waited.
    """

    tries: int = 100
    seconds: float = 120.0
    first_wait: float = 0.005
    longest_wait: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.tries, bool) or not isinstance(self.tries, int) or self.tries < 1:
            raise ValueError(f"tries must be a number from 1 on, not {self.tries!r}")
        for name in ("seconds", "first_wait", "longest_wait"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
                raise ValueError(f"{name} must be a number of seconds, not {value!r}")


def commit_append(append: FormatAppend, files: pa.Table, options: CommitOptions) -> Commit:
    """Commit written files.

    Raises
    ------
    CommitConflictError
        Another writer changed what the append depends on, or won every race within the options. Nothing was committed.
    CommitUnknownError
        Nobody can say whether the commit landed.
    UnsupportedFeatureError
        A winner enabled a feature that is not honoured. Nothing was committed.
    """
    end = time.monotonic() + options.seconds
    wait = options.first_wait
    for attempt in range(1, options.tries + 1):
        outcome = append.try_commit(files)
        if outcome is PutOutcome.WON:
            return Commit(append.version, append.operation, _metrics(files), attempt)
        if outcome is PutOutcome.UNKNOWN:
            raise CommitUnknownError(f"nobody can say whether version {append.version + 1} is this commit")
        if attempt == options.tries or time.monotonic() >= end:
            break
        time.sleep(random.uniform(0, wait))
        wait = min(2 * wait, options.longest_wait)
        append.rebase()
    raise CommitConflictError(
        f"other writers won {attempt} races for the next version",
        hint="Nothing was committed: try again, or raise the options tries and seconds",
    )


def _metrics(files: pa.Table) -> dict[str, int]:
    import pyarrow.compute as pc

    def total(name: str) -> int:
        return int(pc.sum(files.column(name)).as_py() or 0)

    return {"added_files": files.num_rows, "added_rows": total("record_count"), "added_bytes": total("size_bytes")}
