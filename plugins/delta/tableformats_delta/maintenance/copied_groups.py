"""Row groups that a checkpoint takes from an older one as they are, without decoding them.

A row group that holds adds alone, all of which are live, says in the next checkpoint what it said in the last one. It
is copied where the older file was written by this writer in the same layout, which it says in its key-value metadata,
with checksums. Whatever is not as this writer leaves it is decoded and written anew.
Source: Delta PROTOCOL.md, "Checkpoints"; parquet.thrift.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError, GroupFile, ParquetFooter, dataclass, runs

from ..checkpoints.checkpoint_files import CheckpointFile
from ..checkpoints.damage import HINT, guard_parquet

if TYPE_CHECKING:
    from .replay import Replay

__all__ = ["CopiedGroups", "copied_groups", "with_copied_groups"]

_KEY = b"tableformats.checkpoint"
_FORMAT = 1
"""Raised when actions are made into rows in another way than before: older row groups are written anew then."""
_READ_BYTES = 16 << 20
_LOOKED_AT, _LEAST_SHARE = 4, 4
"""After four row groups, if fewer than a quarter of them may be copied, the others are not looked at."""


@dataclass
class CopiedGroups:
    """The row groups that are copied, and their bytes.

    Attributes
    ----------
    numbers : list of int
        Which of the older file.
    files, size_bytes : int
        The data files that they name, and their bytes.
    checksums : list of int
        The CRC-32 of each one.
    written : GroupFile
        The new checkpoint so far: these row groups.
    """

    numbers: list[int] = field(default_factory=list)
    files: int = 0
    size_bytes: int = 0
    checksums: list[int] = field(default_factory=list)
    written: GroupFile = field(default_factory=GroupFile)


def copied_groups(
    files: Sequence[CheckpointFile], replay: Replay, layout: str, frame: dict[int, Any] | None
) -> CopiedGroups | None:
    """The row groups of an older checkpoint that stay as they are; None: none of them.

    Parameters
    ----------
    files : sequence of CheckpointFile
        The older checkpoint.
    replay : Replay
        Has read all commits behind it.
    layout : str
        What the adds depend on beside their actions.
    frame : dict or None
        What the new footer says beside row groups; None: unknown.

    Raises
    ------
    CorruptMetadataError
        The older checkpoint is damaged.
    """
    if frame is None or len(files) != 1 or files[0].is_json:
        return None
    older = _OlderFile.of(files[0], layout, frame)
    return None if older is None else older.copied(replay)


@dataclass(frozen=True)
class _OlderFile:
    """A checkpoint that this writer wrote in the same layout.

    Attributes
    ----------
    checksums : sequence of int or None
        The CRC-32 of each row group; None where it has other actions than adds.
    """

    file: CheckpointFile
    footer: ParquetFooter
    checksums: Sequence[int | None]

    @classmethod
    def of(cls, file: CheckpointFile, layout: str, frame: dict[int, Any]) -> _OlderFile | None:
        """None where the file is of another writer or layout, or its footer is not as it was written."""
        text = file.pairs().get(_KEY)
        if text is None:
            return None
        try:
            note = json.loads(text)
            wanted, found = (_FORMAT, layout), (note["format"], note["layout"])
            footer, checksums = ParquetFooter.of(*file.stored_footer()), note["groups"]
            if found != wanted or footer.frame != frame or footer.checksum() != note["footer"]:
                return None
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if not isinstance(checksums, list) or len(checksums) != len(footer.groups):
            return None
        return cls(file, footer, checksums)

    def copied(self, replay: Replay) -> CopiedGroups | None:
        """The row groups of which all adds are live. Raises CorruptMetadataError where their bytes are damaged."""
        found = CopiedGroups()
        candidates = [number for number, checksum in enumerate(self.checksums) if checksum is not None]
        for seen, number in enumerate(candidates):
            if seen >= _LOOKED_AT and _LEAST_SHARE * len(found.numbers) < seen:
                break  # What is not copied is decoded twice.
            rows = self.footer.groups[number].rows
            size = replay.bytes_if_live(self.file, number, rows)
            if size is not None:
                found.numbers.append(number)
                found.files += rows
                found.size_bytes += size
        for number, data in self._read(found.numbers):
            checksum = zlib.crc32(data)
            if checksum != self.checksums[number]:
                raise CorruptMetadataError(
                    f"the bytes of row group {number} are not those that were written",
                    path=self.file.path,
                    offset=self.footer.groups[number].start,
                    hint=HINT,
                )
            found.checksums.append(checksum)
            found.written.add(self.footer.groups[number], data)
        return found if found.numbers else None

    def _read(self, numbers: Sequence[int]) -> Iterator[tuple[int, memoryview]]:
        """The bytes of row groups; neighbours are read together."""
        groups = self.footer.groups
        ends = [groups[number].start + groups[number].size for number in numbers]
        reach = {number: end - before for number, end, before in zip(numbers, ends, [0, *ends], strict=False)}
        with guard_parquet(self.file.path), self.file.open_source() as source:
            for some in runs(numbers, reach.__getitem__, _READ_BYTES):
                start, end = groups[some[0]].start, groups[some[-1]].start + groups[some[-1]].size
                data = memoryview(source.read_at(end - start, start))
                for number in some:
                    first = groups[number].start - start
                    yield number, data[first : first + groups[number].size]


def with_copied_groups(
    copied: CopiedGroups, data: memoryview, has_adds_alone: Sequence[bool], layout: str
) -> memoryview:
    """The file ``data`` behind the row groups that are copied, with a note from which a later checkpoint copies.

    Parameters
    ----------
    has_adds_alone : sequence of bool
        Of each row group of ``data``: whether all its actions are adds.
    """
    footer = ParquetFooter.of_file(data)
    checksums: list[int | None] = list(copied.checksums)
    for group, is_copied in zip(footer.groups, has_adds_alone, strict=True):
        stored = data[group.start : group.start + group.size]
        copied.written.add(group, stored)
        checksums.append(zlib.crc32(stored) if is_copied else None)
    checksum = copied.written.footer(footer.frame).checksum()
    note = {"format": _FORMAT, "layout": layout, "footer": checksum, "groups": checksums}
    return copied.written.finish(footer.frame, {_KEY: json.dumps(note, separators=(",", ":")).encode()})
