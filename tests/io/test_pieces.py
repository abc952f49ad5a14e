"""Local files: those written piece by piece are on the disk after the block, and gone after an error."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.engines.arrow.writing import data_files
from tableformats.io import local_writes
from tableformats.io.local_writes import creating_local, write_local

from ..support.verified import assert_clean


def test_syncs_go_along_and_an_error_of_any_is_told(tmp_path: Path) -> None:
    synced = []

    def fsync(handle: int) -> None:
        synced.append(os.fstat(handle).st_size)
        if fails_at == len(synced):
            raise OSError(errno.EIO, "the disk is broken")

    for fails_at in (0, 1, 2):
        synced.clear()
        path = tmp_path / f"{fails_at}"
        with patch.object(local_writes, "_SYNCED_BYTES", 4), patch.object(os, "fsync", fsync):
            if not fails_at:
                with creating_local(str(path)) as file:
                    file.write(b"12345")
                assert synced[0] == synced[1] == 5 and path.read_bytes() == b"12345"
                continue
            with pytest.raises(OSError, match="broken"), creating_local(str(path)) as file:
                file.write(b"12345")
        assert not path.exists()


def test_an_error_in_the_block_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), creating_local(f"{tmp_path}/f") as file:
        file.write(b"half")
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_a_checksum_of_the_file_before_goes(tmp_path: Path) -> None:
    """Hadoop writes one beside each local file, and Spark refuses a file that has the checksum of another."""
    (tmp_path / ".f.crc").write_bytes(b"crc\0")
    write_local(f"{tmp_path}/f", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_disk_that_is_full_at_any_piece_is_named(tmp_path: Path) -> None:
    rows = pa.table({"id": np.arange(300), "f": np.arange(300) / 7})
    table = tf.create_table(tmp_path / "t", rows.schema, format="delta")
    written, calls = local_writes._SyncedFile.write, 0

    def write(file: Any, data: Any) -> int:
        nonlocal calls
        calls += 1
        if calls == fails_at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return written(file, data)

    for fails_at in range(1, 50):  # noqa: B007
        calls = 0
        with patch.object(data_files, "_MANY_BYTES", 0), patch.object(local_writes._SyncedFile, "write", write):
            try:
                table.append(rows)
                break
            except tf.StoreError as error:
                assert (error.errno, error.committed) == (errno.ENOSPC, False)
        assert table.snapshot().version == 0 and not list((tmp_path / "t").glob("*.parquet"))
    assert fails_at > 4 and table.to_arrow().num_rows == 300


def test_rows_that_are_streamed_are_those_that_come_back(tmp_path: Path) -> None:
    rows = pa.table({"id": np.arange(6000), "f": np.arange(6000) / 7})
    table = tf.create_table(tmp_path / "t", rows.schema, format="delta")
    with patch.object(data_files, "_MANY_BYTES", 0):
        table.append(rows)
    assert table.to_arrow().sort_by("id").equals(rows)
    assert table.count("f > 857.1") == 0 and table.count(f"f >= {5999 / 7!r}") == 1
    assert_clean(table)
