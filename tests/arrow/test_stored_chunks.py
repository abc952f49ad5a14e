"""Bytes of an open local file, by offset."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from tableformats.engines.arrow.files.stored_chunks import StoredChunks

STORED = bytes(range(256)) * 3


@pytest.mark.parametrize("way", ["at once", "in parts", "without preadv"])
def test_bytes_at_an_offset(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system gives fewer bytes than it has, the others are asked for; behind the end there are none."""
    if way == "in parts":
        whole = os.preadv

        def some(number: int, rooms: Sequence[memoryview], offset: int) -> int:
            return whole(number, [rooms[0][:100]], offset)

        monkeypatch.setattr(os, "preadv", some)
    elif way == "without preadv":
        monkeypatch.delattr(os, "preadv")
    path = tmp_path / "f"
    path.write_bytes(STORED)
    with pa.OSFile(str(path)) as source, StoredChunks(source, None).reading([]) as read:
        for offset, size in ((0, 768), (3, 5), (100, 400), (700, 100), (768, 4), (5, 0)):
            assert bytes(read(offset, size)) == STORED[offset : offset + size]
