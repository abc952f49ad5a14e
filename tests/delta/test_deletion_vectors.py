"""Deletion vectors: where they are stored, how they are laid out, and that no damage goes unseen."""

from __future__ import annotations

import io
import json
import struct
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64
from tableformats_delta.deletes import z85
from tableformats_delta.deletes.deletion_vectors import NATIVE_MAGIC, PORTABLE_MAGIC, read_deletion_vector, stored_path

from tableformats import open_table
from tableformats.errors import CorruptMetadataError, LimitExceededError, PathNotAllowedError, TableFormatsError
from tableformats.io.storage import Storage
from tableformats.limits import DEFAULT_LIMITS, Limits
from tests.support.delta_log import (
    UUIDS,
    WITH_VECTORS,
    DeltaLog,
    add,
    deleted,
    live_files,
    native,
    portable,
    request,
    vector,
    vector_file,
)

POSITIONS = [0, 3, 7, 65_536, 2**32 + 5]


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    return DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS)


def positions_of(log: DeltaLog, descriptor: dict[str, Any], record_count: int | None = None) -> list[int]:
    log.commit(1, add("f", deletionVector=descriptor))
    snapshot = log.snapshot()
    return deleted(snapshot, live_files(snapshot)[0], record_count)


@pytest.mark.parametrize("layout", [portable, native])
@pytest.mark.parametrize("prefix", ["", "ab", "a b/%41"])
def test_by_uuid(log: DeltaLog, layout: Any, prefix: str) -> None:
    data = layout(POSITIONS)
    content, (offset,) = vector_file(data)
    folder = log.root / prefix
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"deletion_vector_{UUIDS[0]}.bin").write_bytes(content)
    descriptor = vector(0, prefix=prefix, cardinality=len(POSITIONS), size=len(data), offset=offset)
    assert positions_of(log, descriptor) == POSITIONS


@pytest.mark.parametrize("spelling", ["{}", "file:{}", "file://{}"])
def test_by_absolute_path(log: DeltaLog, tmp_path: Path, spelling: str) -> None:
    data = portable(POSITIONS)
    content, (offset,) = vector_file(data)
    path = tmp_path / "else where.bin"
    path.write_bytes(content)
    descriptor = {
        "storageType": "p",
        "pathOrInlineDv": spelling.format(quote(str(path))),
        "offset": offset,
        "sizeInBytes": len(data),
        "cardinality": len(POSITIONS),
    }
    assert positions_of(log, descriptor) == POSITIONS


@pytest.mark.parametrize("positions", [[3], [3, 4, 7, 11, 18, 29], list(range(100))])
def test_inline(log: DeltaLog, positions: list[int]) -> None:
    data = portable(positions)
    text = z85.encode(data + bytes(-len(data) % 4))
    descriptor = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": len(data), "cardinality": len(positions)}
    assert positions_of(log, descriptor) == positions


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 40),
        ("^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", 44),
    ],
    ids=["native", "portable"],
)
def test_inline_of_the_protocol(log: DeltaLog, text: str, size: int) -> None:
    """The example of PROTOCOL.md, "Deletion Vector Descriptor Schema", and its vector in the portable layout."""
    descriptor = {"storageType": "i", "pathOrInlineDv": text, "sizeInBytes": size, "cardinality": 6}
    assert positions_of(log, descriptor) == [3, 4, 7, 11, 18, 29]


def test_path_of_the_protocol() -> None:
    """The example of PROTOCOL.md, "JSON Example 1 - On Disk with Relative Path (with Random Prefix)"."""
    assert stored_path("u", "ab^-aqEH.-t@S}K{vb[*k^") == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def test_runs_that_touch(log: DeltaLog) -> None:
    """The format allows them, and pyroaring refuses them."""
    runs = struct.pack("<QIIBHHHHHHH", 1, 0, 12347, 1, 0, 5, 2, 0, 2, 3, 2)
    data = struct.pack("<I", PORTABLE_MAGIC) + runs
    content, (offset,) = vector_file(data)
    (log.root / f"deletion_vector_{UUIDS[0]}.bin").write_bytes(content)
    assert positions_of(log, vector(0, cardinality=6, size=len(data), offset=offset), 10) == [0, 1, 2, 3, 4, 5]


def test_several_vectors_in_one_file(log: DeltaLog) -> None:
    wanted = [[1], [2, 5], list(range(1000))]
    content, offsets = vector_file(*map(portable, wanted))
    (log.root / f"deletion_vector_{UUIDS[0]}.bin").write_bytes(content)
    for positions, offset in zip(wanted, offsets, strict=True):
        size = len(portable(positions))
        assert positions_of(log, vector(0, cardinality=len(positions), size=size, offset=offset)) == positions


@pytest.mark.parametrize("leading", [b"\x01", b""], ids=["after the version", "at 0"])
def test_missing_offset(log: DeltaLog, leading: bytes) -> None:
    """0 by the text and 1 as kernels write it; at 0 the size itself must begin with the version byte."""
    data = portable([1, 2])
    block = struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
    (log.root / f"deletion_vector_{UUIDS[0]}.bin").write_bytes(leading + block)
    descriptor = vector(0, cardinality=2, size=len(data), offset=None)
    if leading:
        assert positions_of(log, descriptor) == [1, 2]
    else:  # no size of less than 16 MiB begins with 1: the file has no version
        with pytest.raises(CorruptMetadataError, match="version"):
            positions_of(log, descriptor)


def test_attached_deletes(log: DeltaLog) -> None:
    log.commit(1, add("a", deletionVector=vector(0, prefix="p%q")), add("b"), add("c", deletionVector=vector(1)))
    snapshot = log.snapshot()
    (batch,) = snapshot.read(request())
    files = pa.Table.from_batches([batch.files])
    found = snapshot.attach_deletes(files, request())
    assert found.offsets.tolist() == [0, 1, 1, 2]
    assert found.indices.tolist() == [0, 1]
    assert found.files.column("kind").to_pylist() == ["deletion_vector"] * 2
    resolved = snapshot.resolve_paths(found.files.column("path").combine_chunks()).to_pylist()
    assert resolved == [
        f"{log.root}/p%q/deletion_vector_{UUIDS[0]}.bin",
        f"{log.root}/deletion_vector_{UUIDS[1]}.bin",
    ]
    assert snapshot.attach_deletes(files.slice(1, 1), request()).offsets.tolist() == [0, 0]
    assert snapshot.attach_deletes(files.slice(0, 0).select(["path"]), request()).files.num_rows == 0


class TestDamage:
    DATA = portable([1, 5, 9])

    @pytest.fixture
    def content(self) -> bytes:
        return vector_file(self.DATA)[0]

    def read(self, tmp_path: Path, content: bytes, record_count: int | None = 10, **change: Any) -> list[int]:
        (tmp_path / "dv.bin").write_bytes(content)
        wanted = {
            "path": "dv.bin",
            "inline": None,
            "offset": 1,
            "size_bytes": len(self.DATA),
            "cardinality": 3,
            **change,
        }
        return list(read_deletion_vector(Storage(tmp_path), wanted, record_count))

    def test_sound(self, tmp_path: Path, content: bytes) -> None:
        assert self.read(tmp_path, content) == [1, 5, 9]
        assert self.read(tmp_path, content, None) == [1, 5, 9]

    @pytest.mark.parametrize(
        "change",
        [
            {"offset": -1},
            {"offset": 0},
            {"offset": 2},
            *({"offset": offset} for offset in (40, 41, 42, 43)),
            {"offset": 10**6},
            {"offset": 2**62},
            {"size_bytes": 0},
            {"size_bytes": -1},
            {"size_bytes": 3},
            {"size_bytes": 35},
            {"size_bytes": 2**31},
            {"size_bytes": 2**62},
            {"cardinality": 2},
            {"cardinality": 4},
            {"cardinality": None},
        ],
    )
    def test_descriptor_and_file_disagree(self, tmp_path: Path, content: bytes, change: dict[str, Any]) -> None:
        with pytest.raises(CorruptMetadataError) as caught:
            self.read(tmp_path, content, **change)
        assert caught.value.path == str(tmp_path / "dv.bin")
        assert caught.value.offset is not None

    @pytest.mark.parametrize("record_count", [0, 5, 9])
    def test_positions_past_the_file(self, tmp_path: Path, content: bytes, record_count: int) -> None:
        with pytest.raises(CorruptMetadataError, match="row 9 of a file of"):
            self.read(tmp_path, content, record_count)

    def test_every_cut(self, tmp_path: Path, content: bytes) -> None:
        for length in range(len(content)):
            with pytest.raises(CorruptMetadataError):
                self.read(tmp_path, content[:length])

    def test_every_flipped_bit(self, tmp_path: Path, content: bytes) -> None:
        for i in range(len(content) * 8):
            damaged = bytearray(content)
            damaged[i // 8] ^= 1 << i % 8
            with pytest.raises(CorruptMetadataError):
                self.read(tmp_path, bytes(damaged))

    @pytest.mark.parametrize("layout", [portable, native])
    def test_every_flipped_bit_behind_a_sound_checksum(self, tmp_path: Path, layout: Any) -> None:
        """A checksum says nothing against a malicious writer: three rows within the file, or an error."""
        data = layout([1, 5, 9])
        for i in range(len(data) * 8):
            damaged = bytearray(data)
            damaged[i // 8] ^= 1 << i % 8
            try:
                found = self.read(tmp_path, vector_file(bytes(damaged))[0], size_bytes=len(data))
            except CorruptMetadataError:
                continue
            assert len(found) == 3
            assert max(found) < 10

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\0" * 3,
            struct.pack("<I", 7) + DATA[4:],
            DATA[:4],
            DATA[:8],
            DATA + b"\0",
            struct.pack("<IQ", PORTABLE_MAGIC, 2**40),
            struct.pack("<IQ", PORTABLE_MAGIC, 2**63) + DATA[12:],
            struct.pack("<II", NATIVE_MAGIC, 2**31),
            struct.pack("<III", NATIVE_MAGIC, 1, 2**31),
            struct.pack("<III", NATIVE_MAGIC, 1, 100) + DATA[16:],
            native([1, 5, 9]) + b"\0",
        ],
    )
    def test_damaged_bitmaps(self, tmp_path: Path, data: bytes) -> None:
        with pytest.raises(CorruptMetadataError):
            self.read(tmp_path, vector_file(data)[0], size_bytes=len(data))

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b"", "cut off"),
            (b"\0\0\0", "cut off"),
            (struct.pack("<I", 2) + native([1])[8:], "cut off"),
            (native([1])[4:-1], "cut off"),
            (struct.pack("<I", 0) + b"\0", "bytes follow"),
            (native([1])[4:] + b"\0", "bytes follow"),
        ],
    )
    def test_what_is_wrong_with_the_older_layout(self, tmp_path: Path, data: bytes, said: str) -> None:
        data = struct.pack("<I", NATIVE_MAGIC) + data
        with pytest.raises(CorruptMetadataError, match=said):
            self.read(tmp_path, vector_file(data)[0], size_bytes=len(data))

    def test_no_row_in_the_older_layout(self, tmp_path: Path) -> None:
        data = struct.pack("<II", NATIVE_MAGIC, 0)
        assert self.read(tmp_path, vector_file(data)[0], size_bytes=8, cardinality=0) == []

    def test_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(CorruptMetadataError, match="missing"):
            self.read(tmp_path, b"", path="gone.bin")

    @pytest.mark.parametrize("path", ["s3://bucket/dv.bin", "http://host/dv.bin", "%2e%2e/dv.bin", "../dv.bin"])
    def test_paths_that_are_not_allowed(self, tmp_path: Path, content: bytes, path: str) -> None:
        with pytest.raises(PathNotAllowedError):
            self.read(tmp_path, content, path=path)

    @pytest.mark.parametrize(
        ("text", "size"),
        [
            ("", 4),
            ("abcd", 4),
            ("abc d", 4),
            ("%%%%%", 4),
            ("#####", 4),
            ("00000", 3),
            ("00000", 8),
            ("00000", -1),
            ("00000", 0),
            ("0000é", 4),
            ("\ud800" * 5, 4),
            ("0" * 40, 36),
        ],
    )
    def test_damaged_inline_text(self, tmp_path: Path, text: str, size: int) -> None:
        with pytest.raises(CorruptMetadataError):
            self.read(tmp_path, b"", path=None, inline=text, size_bytes=size)

    @pytest.mark.parametrize("text", ["", "short", "a" * 19, "\xff" * 20, "#" * 20])
    def test_damaged_uuid(self, text: str) -> None:
        with pytest.raises(CorruptMetadataError):
            stored_path("u", text)

    def test_unknown_storage_type(self) -> None:
        with pytest.raises(CorruptMetadataError, match="'x'"):
            stored_path("x", "text")

    @given(st.binary(max_size=80), st.integers(-1, 80), st.integers(-1, 80))
    def test_random_bytes(self, content: bytes, offset: int, size: int) -> None:
        storage = _MemoryStorage(content)
        wanted = {"path": "dv", "inline": None, "offset": offset, "size_bytes": size, "cardinality": 1}
        with pytest.raises(TableFormatsError):
            read_deletion_vector(storage, wanted, None)  # type: ignore[arg-type]


class _MemoryStorage:
    """A file that is there under every name."""

    def __init__(self, content: bytes, limits: Limits = DEFAULT_LIMITS) -> None:
        self._content = content
        self.limits = limits

    def resolve_one(self, path: str, *, encoded: bool) -> str:
        return path

    def open_file(self, path: str, size: int = 0, tail: Any = None) -> Any:
        return pa.BufferReader(self._content)


def read(content: bytes, limits: Limits = DEFAULT_LIMITS, rows: int | None = None, **change: Any) -> list[int]:
    wanted = {"path": "dv", "inline": None, "offset": 1, "cardinality": 3, **change}
    return list(read_deletion_vector(_MemoryStorage(content, limits), wanted, rows))  # type: ignore[arg-type]


def blocks(*data: bytes) -> bytes:
    return vector_file(*data)[0]


THREE = portable([1, 5, 9])
EMPTY = struct.pack("<I", PORTABLE_MAGIC) + bytes(8)
LONG = 1 << 24
"""The least size whose first byte is that of version 1."""


@pytest.mark.parametrize(
    ("content", "change", "said", "offset"),
    [
        (b"", {}, "unknown version or is empty", 0),
        (b"\2" + blocks(THREE)[1:], {}, "unknown version or is empty", 0),
        (blocks(THREE), {"offset": -1}, "bytes at offset -1 pass the end", -1),
        (blocks(THREE), {"offset": 0}, "its file says", 0),
        (blocks(THREE), {"offset": 2}, "bytes at offset 2 pass the end", 2),
        (blocks(THREE[:4]), {"size_bytes": 4}, "its bitmap is", 1),
        (blocks(THREE[:3]), {"size_bytes": 3}, "3 bytes at offset 1 pass the end", 1),
        (blocks(THREE), {"size_bytes": len(THREE) - 1}, f"says {len(THREE)} bytes, the log {len(THREE) - 1}", 1),
        (blocks(THREE), {"size_bytes": len(THREE) + 1}, "pass the end", 1),
        (blocks(THREE)[:-1] + b"?", {}, "its checksum does not match", 1),
        (blocks(b"abcd"), {"size_bytes": 4}, f"its magic number is {int.from_bytes(b'abcd', 'little')}", 1),
        (blocks(THREE), {"cardinality": 4}, "it deletes 3 rows, and 4 are declared", 1),
        (blocks(THREE), {"rows": 9}, "it deletes row 9 of a file of 9 rows", 1),
        (b"\1", {"offset": None}, "bytes at offset 1 pass the end", 1),
        (b"\1\0\0\0", {"offset": None, "size_bytes": LONG}, "bytes at offset 0 pass the end", 0),
        (b"\1\0\0\0\7", {"offset": None, "size_bytes": LONG}, "bytes at offset 0 pass the end", 0),
        (b"\1\0\0\1", {"offset": None, "size_bytes": LONG}, "bytes at offset 1 pass the end", 1),
        (b"\1\0\0\0", {"offset": None, "size_bytes": LONG + (1 << 32)}, "bytes at offset 1 pass the end", 1),
    ],
)
def test_what_is_wrong_with_a_vector(content: bytes, change: dict[str, Any], said: str, offset: int) -> None:
    with pytest.raises(CorruptMetadataError, match=said) as caught:
        read(content, **{"size_bytes": len(THREE), **change})
    assert (caught.value.path, caught.value.offset) == ("dv", offset)


def test_the_shortest_vectors() -> None:
    assert read(blocks(EMPTY), size_bytes=len(EMPTY), cardinality=0) == []
    assert read(b"\1\0\0" + blocks(THREE)[1:] + b"\0", size_bytes=len(THREE), offset=3, rows=10) == [1, 5, 9]


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        ({"metadata_bytes": len(THREE) - 1}, "metadata_bytes"),
        ({"deleted_rows": 2}, "deleted_rows"),
        ({"file_rows": 9}, "file_rows"),
    ],
)
def test_limits_of_vectors(limits: dict[str, int], limit: str) -> None:
    (name, most), *_ = limits.items()
    assert read(blocks(THREE), Limits(**{name: most + 1}), size_bytes=len(THREE)) == [1, 5, 9]
    with pytest.raises(LimitExceededError) as caught:
        read(blocks(THREE), Limits(**limits), size_bytes=len(THREE))
    assert (caught.value.limit, caught.value.path, caught.value.offset) == (limit, "dv", 1)


@pytest.mark.parametrize(
    ("text", "size", "said"),
    [
        ("0000", 4, "its text is damaged: the length is no multiple of five"),
        ("00000", 3, "it holds 4 bytes, and 3 are declared"),
        ("00000", 4, "its magic number is 0"),
        ("00000" * 2, 4, "it holds 8 bytes, and 4 are declared"),
        ("00000" * 2, 5, "its magic number is 0"),
        ("00000" * 2, 8, "its magic number is 0"),
        ("00000" * 2, 9, "it holds 8 bytes, and 9 are declared"),
    ],
)
def test_what_is_wrong_with_an_inline_vector(text: str, size: int, said: str) -> None:
    with pytest.raises(CorruptMetadataError, match=said) as caught:
        read(b"", path=None, inline=text, size_bytes=size)
    assert (caught.value.path, caught.value.offset) == ("inline deletion vector", 0)


@given(st.binary(max_size=64).map(lambda data: data + bytes(-len(data) % 4)))
def test_z85_round_trip(data: bytes) -> None:
    assert z85.decode(z85.encode(data)) == data


def test_z85_of_the_rfc() -> None:
    """The example of ZeroMQ RFC 32."""
    assert z85.decode("HelloWorld") == bytes.fromhex("864FD26FB559F75B")
    assert z85.encode(bytes.fromhex("864FD26FB559F75B")) == "HelloWorld"
    with pytest.raises(ValueError, match="multiple of four"):
        z85.encode(b"abc")


# ---- files of billions of rows --------------------------------------------------------------------------------------


def huge_file(path: Path) -> int:
    """A file of 2^32 + 2^24 rows without values: one row group that its footer names many times."""
    pq.write_table(pa.table({"nothing": pa.nulls(2**24)}), path, row_group_size=2**24)
    footer, one = pq.read_metadata(path), pq.read_metadata(path)
    for _ in range(8):
        footer.append_row_groups(footer)
    footer.append_row_groups(one)
    stored = path.read_bytes()
    (size,) = struct.unpack("<I", stored[-8:-4])
    written = io.BytesIO()
    footer.write_metadata_file(written)
    path.write_bytes(stored[: -8 - size] + written.getvalue()[4:])
    return footer.num_rows


def deleting(log: DeltaLog, rows: int, positions: BitMap64, **more: Any) -> Any:
    """The scan of a table of that file with these positions deleted, and ``more`` in its action."""
    data = struct.pack("<I", PORTABLE_MAGIC) + bytes(positions.serialize())
    content, (offset,) = vector_file(data)
    (log.root / f"deletion_vector_{UUIDS[0]}.bin").write_bytes(content)
    stored = vector(cardinality=len(positions), size=len(data), offset=offset)
    log.commit(1, add("f", stats=json.dumps({"numRecords": rows}), deletionVector=stored, **more))
    return open_table(log.root).scan()


@pytest.mark.nightly
def test_positions_of_several_high_words(tmp_path: Path) -> None:
    """All but some rows around 2^31 and 2^32 are deleted: what is left is read, in memory for a batch."""
    tracked = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "r",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "v",
    }
    log = DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS, configuration=tracked)
    rows = huge_file(log.root / "f")
    live = [0, 5, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 7, rows - 1]
    positions = BitMap64()
    positions.add_range(0, rows)
    positions -= BitMap64(live)
    scan = deleting(log, rows, positions, baseRowId=0, defaultRowCommitVersion=1)
    assert scan.count() == len(live)
    assert scan.select("_metadata.row_id").to_arrow()["_metadata.row_id"].to_pylist() == live
    assert scan.where("id IS NULL").to_arrow()["id"].to_pylist() == [None] * len(live)


def test_a_position_past_a_huge_file(log: DeltaLog) -> None:
    rows = huge_file(log.root / "f")
    for position in (rows, 2**40, 2**62):
        scan = deleting(log, rows, BitMap64([3, position]))
        with pytest.raises(CorruptMetadataError, match=f"row {position}"):
            scan.to_arrow()
