"""What a fuzz target in Python is, and what it must end in: an answer, or one of our errors, soon and in little memory.

A target is a function of bytes. :func:`run` calls it and lets through what the library promises; whatever else happens
is a :class:`Finding`, or an exception that nobody caught.
"""

from __future__ import annotations

import os
import resource
import sys
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from tableformats.cache.metadata_cache import MetadataCache
from tableformats.errors import TableFormatsError
from tableformats.io.storage import FileInfo, Storage

__all__ = ["MAX_GROWTH", "MAX_SECONDS", "Finding", "Memory", "Target", "attempt", "nothing_kept", "run", "warm"]

os.environ["TABLEFORMATS_LET_THROUGH"] = "1"  # a foreign exception is a finding, also where users get an error of ours

MAX_SECONDS = 1.0
"""Processor time that one input may take."""
MAX_GROWTH = 512 << 20
"""Bytes by which one input may raise the most memory that the process ever had."""

Mutator = Callable[[bytes, Callable[[bytes], bytes]], bytes]
"""(a stored input, what changes bytes) -> another input that gets further than damage to a checksum would."""


class Finding(AssertionError):
    """The library did what it promises never to do."""


@dataclass(frozen=True)
class Target:
    """``seeds`` makes {name: input}; ``mutate`` knows the format's frames (None: bytes are changed as they come)."""

    name: str
    run: Callable[[bytes], object]
    seeds: Callable[[], Mapping[str, bytes]]
    mutate: Mutator | None = None


def run(target: Target, data: bytes) -> TableFormatsError | None:
    """Run ``target`` on ``data``; the error of ours that it ended in, if it did.

    Raises
    ------
    Finding : it took too long twice, or too much memory, or the error says nothing
    Exception : any other that came out of the library
    """
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds, outcome = _timed(target, data)
    if seconds > MAX_SECONDS:  # a busy machine is no finding, nor is the garbage of others that Python collects
        seconds, outcome = _timed(target, data)
    growth = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most
    if seconds > MAX_SECONDS:
        raise Finding(f"{target.name}: {seconds:.1f} s for {len(data)} bytes")
    if growth * (1 if sys.platform == "darwin" else 1024) > MAX_GROWTH:
        raise Finding(f"{target.name}: {growth} KB more for {len(data)} bytes")
    if outcome is not None and not str(outcome).isprintable():
        raise Finding(f"{target.name}: the error's text would confuse a terminal or a log: {str(outcome)!r}")
    return outcome


def _timed(target: Target, data: bytes) -> tuple[float, TableFormatsError | None]:
    started, outcome = time.process_time(), None
    try:
        target.run(data)
    except TableFormatsError as error:
        outcome = error
    return time.process_time() - started, outcome


def attempt(call: Callable[[], object]) -> TableFormatsError | None:
    """The error of ours that a call ends in, for targets that ask several times."""
    try:
        call()
    except TableFormatsError as error:
        return error
    return None


def warm(target: Target) -> None:
    """Have everything imported that is imported on first use, which is no input's fault."""
    for data in target.seeds().values():
        attempt(partial(target.run, data))


class Memory(Storage):
    """A table's storage whose files lie in memory; what is not among them is looked for on the disk."""

    def __init__(self, files: Mapping[str, bytes], root: str = "/table") -> None:
        super().__init__(root)
        self.files = {f"{root}/{name}": data for name, data in files.items()}

    def read_bytes(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        if path not in self.files:
            return super().read_bytes(path, offset, length)
        data = self.files[path]
        wanted = len(data) - offset if length is None else length
        if offset < 0 or wanted < 0 or wanted > len(data) - offset:
            raise OSError("the range passes the end of the file")
        return data[offset : offset + wanted]

    def open_file(self, path: str, size: int = 0, tail: object = None) -> pa.NativeFile:
        return pa.BufferReader(self.files[path]) if path in self.files else super().open_file(path, size)

    def list(self, path: str) -> list[FileInfo]:
        inside = [name for name in self.files if name.rpartition("/")[0] == path]
        return [FileInfo(name.rpartition("/")[2], name, len(self.files[name]), 1) for name in sorted(inside)]

    def is_file(self, path: str) -> bool:
        return path in self.files

    def stamp_of(self, path: str) -> tuple[int, int]:
        return (len(self.files[path]), zlib.crc32(self.files[path])) if path in self.files else super().stamp_of(path)

    def is_dir(self, path: str) -> bool:
        return any(name.startswith(path + "/") for name in self.files)


def nothing_kept() -> MetadataCache:
    return MetadataCache(0)
