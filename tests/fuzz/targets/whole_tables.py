"""Whole tables under coverage: one file of a real writer's table is the input, and everything is done with the table.

The first two bytes choose the table and the file, and the rest takes its place. So the fuzzer sees every kind of file
through the whole API: plan, rows, metadata tables, changes, and the command, at a pseudo-terminal too.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import zlib
from bisect import bisect_left
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from tests.fuzz.tables import TABLES, files_of, reframed, use
from tests.fuzz.targets.base import Target

__all__ = ["TABLE_TARGETS"]

LARGEST = 12_000
"""Bytes of a seed; larger files take too long to change."""
_KINDS = (
    ".gz.metadata.json",
    ".json",
    ".crc",
    "_last_checkpoint",
    ".text",
    ".avro",
    ".parquet",
    ".orc",
    ".puffin",
    ".bin",
)


@cache
def inputs() -> tuple[tuple[int, Path, Path], ...]:
    """(number, table, file below it) of every file of every table. Further tables do not change the numbers."""
    found = [(source, file.relative_to(source / "table")) for source in TABLES for file in files_of(source / "table")]
    return tuple(sorted((zlib.crc32(f"{table.name}/{file}".encode()) & 0xFFFF, table, file) for table, file in found))


@cache
def work() -> Path:
    return Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))


def chosen(data: bytes) -> tuple[Path, Path]:
    number = int.from_bytes(data[:2].ljust(2, b"\0"), "big")
    return inputs()[bisect_left(inputs(), (number,)) % len(inputs())][1:]


def whole_table(data: bytes) -> None:
    source, name = chosen(data)
    root = work() / "table"
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(source / "table", root)
    (root / name).write_bytes(data[2:])
    use(root, random.Random(zlib.crc32(data)))


def seeds() -> Mapping[str, bytes]:
    """The smallest file of each kind of each format."""
    found: dict[str, bytes] = {}
    for number, source, name in inputs():
        kind = next((end for end in _KINDS if name.name.endswith(end)), None)
        data = (source / "table" / name).read_bytes()
        if kind is None or not data or len(data) > LARGEST:
            continue
        folder = name.parts[0] if name.parts[0] in ("_delta_log", "metadata", "_change_data") else "data"
        key = f"{source.name.partition('-')[0]}-{folder}{'' if kind.startswith('.') else '-'}{kind}"
        if key not in found or len(found[key]) > len(data) + 2:
            found[key] = number.to_bytes(2, "big") + data
    return found


def mutate(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The file is changed within its frame; which one it is stays."""
    if len(data) < 3:
        return data + b"\0\0\0"
    return data[:2] + reframed(chosen(data)[1].name, data[2:], change)


TABLE_TARGETS = (Target("whole_table", whole_table, seeds, mutate),)
