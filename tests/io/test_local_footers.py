"""The footer of a local Parquet file, as it is stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tableformats.io._thrift_write import write_struct
from tableformats.io.parquet import schema_bytes
from tableformats.io.parquet.schema_bytes import local_footer, row_count


def stored(path: Path, pages: bytes, footer: bytes, length: int | None = None, magic: bytes = b"PAR1") -> str:
    claimed = len(footer) if length is None else length
    path.write_bytes(b"PAR1" + pages + footer + claimed.to_bytes(4, "little") + magic)
    return str(path)


@pytest.mark.parametrize("tail", [12, 15, 16, 17, 1 << 16])
@pytest.mark.parametrize("pages", [b"", b"x" * 20])
def test_it_is_found_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: bytes, tail: int) -> None:
    """Also where more has to be read than the end of the file that is read first."""
    monkeypatch.setattr(schema_bytes, "_TAIL", tail)
    for footer in (b"", b"f", b"f" * 8, b"f" * 9, bytes(range(200))):
        assert local_footer(stored(tmp_path / "f", pages, footer)) == footer


@pytest.mark.parametrize("length", [12, 13, 0x01000005, 0x00010005, 0xFFFFFFFF])
def test_a_length_that_is_too_great(tmp_path: Path, length: int) -> None:
    """The footer stands behind the first four bytes of the file."""
    assert local_footer(stored(tmp_path / "f", b"pages", b"footer", 11)) == b"pagesfooter"
    assert local_footer(stored(tmp_path / "f", b"pages", b"footer", length)) is None


@pytest.mark.parametrize("magic", [b"PARE", b"PAR", b"PAR2", b"par1"])
def test_files_of_another_kind(tmp_path: Path, magic: bytes) -> None:
    assert local_footer(stored(tmp_path / "f", b"", b"footer", magic=magic)) is None


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"\0\0\0\0PAR1"])
def test_files_that_are_too_short(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f").write_bytes(content)
    assert local_footer(str(tmp_path / "f")) is None


def test_what_is_no_file(tmp_path: Path) -> None:
    assert local_footer(str(tmp_path)) is None and local_footer(str(tmp_path / "none")) is None
    assert local_footer(f"{tmp_path}/a\0b") is None


@pytest.mark.parametrize(
    ("footer", "rows"),
    [
        (write_struct({1: (5, 1), 3: (6, 7_000_000_000)}), 7_000_000_000),
        (write_struct({3: (6, -1)}), 0),
        (write_struct({3: (8, b"7")}), 0),
        (write_struct({1: (5, 1)}), 0),
        (b"", 0),
        (b"\xff\xff", 0),
    ],
)
def test_rows(footer: bytes, rows: int) -> None:
    assert row_count(footer) == rows
