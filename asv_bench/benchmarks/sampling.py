"""Where the threads of a call are, looked up every millisecond: the shares of our functions in its time.

A sampler sees all threads and slows nothing down, which a tracing profiler does not manage. Time in a library or in a
kernel counts for the function of ours that called it; threads that wait count for nothing.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

EVERY = 0.001
OURS = ("tableformats", "tableformats_delta", "tableformats_iceberg")
_WAITING = ("threading.py", "_base.py", "thread.py", "queue.py", "selectors.py")


def shares(call: Callable[[], Any], most: int = 5) -> dict[str, float]:
    """By ``module.function``, its share of the time in which threads were at work; the greatest ones."""
    counts: Counter[str] = Counter()
    done = threading.Event()
    sampler = threading.Thread(target=_sample, args=(counts, done))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(EVERY / 2)
    sampler.start()
    try:
        call()
    finally:
        done.set()
        sampler.join()
        sys.setswitchinterval(interval)
    total = sum(counts.values())
    return {name: count / total for name, count in counts.most_common(most)} if total else {}


def _sample(counts: Counter[str], done: threading.Event) -> None:
    """Count nanoseconds by function; a kernel that holds the GIL delays a sample, which then weighs as much."""
    own, last = threading.get_ident(), time.perf_counter_ns()
    while not done.wait(EVERY):
        now = time.perf_counter_ns()
        names = [place(frame) for ident, frame in sys._current_frames().items() if ident != own]
        for name in names:
            if name is not None:
                counts[name] += now - last
        last = now


def place(frame: FrameType | None) -> str | None:
    """The innermost function of ours that a thread is in; None where it waits, or is somewhere else altogether."""
    if frame is not None and Path(frame.f_code.co_filename).name in _WAITING:
        return None
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.split(".")[0] in OURS:
            return f"{module.rsplit('.', 1)[-1]}.{frame.f_code.co_name}"
        frame = frame.f_back
    return None
