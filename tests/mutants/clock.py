"""How long tests take, whatever else the machine does, so that a busy machine lets no mutant survive."""

from __future__ import annotations

import os
import time
from pathlib import Path

PROC = Path("/proc")


class Clock:
    """Seconds of a session of processes, without those in which they only waited for a processor.

    Where the system does not tell these (it is not Linux), all seconds count.
    """

    def __init__(self, session: int) -> None:
        self._session = session
        self._spent = 0.0
        self._wall = time.monotonic()
        self._ran, self._delayed = used(session)

    def spent(self) -> float:
        """The seconds up to now. What happens between two calls is known as a sum only: call it about each second."""
        wall, (ran, delayed) = time.monotonic(), used(self._session)
        # What a process or thread that has ended told before is missing in the sums.
        waited = max(delayed - self._delayed, 0.0)
        self._spent += max(ran - self._ran, wall - self._wall - waited, 0.0)
        self._wall, self._ran, self._delayed = wall, ran, delayed
        return self._spent


def used(session: int) -> tuple[float, float]:
    """(Seconds in which processors ran the session's processes, seconds in which their threads waited for one)."""
    ran = delayed = 0.0
    for process in PROC.glob("[0-9]*") if PROC.is_dir() else ():
        try:
            fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[3]) != session:
                continue
            ran += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # its children's that have ended, too
            for thread in (process / "task").iterdir():
                delayed += int((thread / "schedstat").read_bytes().split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            continue  # it has just ended
    return ran, delayed


def waited() -> float:
    """Seconds in which this thread waited for a processor, from its beginning on; 0 where the system does not tell."""
    try:
        return int((PROC / "thread-self" / "schedstat").read_bytes().split()[1]) / 1e9
    except OSError:
        return 0.0


__all__ = ["Clock", "used", "waited"]
