"""Timestamps of ORC files: read where the file's tail says that they are what Arrow makes of them, else refused."""

from __future__ import annotations

import datetime as dt
import random
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tableformats.errors import CorruptMetadataError, TableFormatsError, UnsupportedFeatureError
from tableformats.io.orc_tail import OrcTail, _is_bounded
from tableformats.schema import Field, ListType, StructType, primitive
from tests.support.arrow_fakes import FakeFile, snapshot_of

orc = pytest.importorskip("pyarrow.orc")

T, Z = Field(1, "t", primitive("timestamp_ntz")), Field(2, "z", primitive("timestamp"))
S = Field(3, "s", StructType((Field(4, "l", ListType(Field(5, "element", primitive("timestamp_ntz")))),)))
UTC = dt.timezone.utc
LEAP = dt.datetime(2024, 2, 29, 12, 0, 0, 1)
MOMENTS = [
    LEAP,
    dt.datetime(1970, 1, 1),
    None,
    dt.datetime(1969, 12, 31, 23, 59, 58, 999_999),
    dt.datetime(1678, 1, 1),
    dt.datetime(2261, 12, 31, 23, 59, 59, 999_999),
]


def table_of(moments: list[Any]) -> pa.Table:
    return pa.table(
        {
            "n": pa.array(range(len(moments)), pa.int64()),
            "t": pa.array(moments, pa.timestamp("us")),
            "z": pa.array(moments, pa.timestamp("us", "UTC")),
            "s": pa.array([{"l": [m, None]} for m in moments], pa.struct([("l", pa.list_(pa.timestamp("us")))])),
        }
    )


def read(root: Path, rows: int, *fields: Field) -> list[dict[str, Any]]:
    files = [FakeFile(str(root / "f.orc"), rows, file_format="orc")]
    found = snapshot_of(root, fields, files).scan().to_arrow()
    found.validate(full=True)
    return found.to_pylist()


@pytest.mark.parametrize("codec", ["uncompressed", "zlib", "snappy", "zstd"])
def test_values(tmp_path: Path, codec: str) -> None:
    orc.write_table(table_of(MOMENTS), tmp_path / "f.orc", compression=codec)
    assert read(tmp_path, len(MOMENTS), T, Z, S) == [
        {"t": m, "z": m and m.replace(tzinfo=UTC), "s": {"l": [m, None]}} for m in MOMENTS
    ]


def test_nothing_but_nulls_and_nothing_at_all(tmp_path: Path) -> None:
    for moments in ([None, None], []):
        orc.write_table(table_of(moments), tmp_path / "f.orc")
        assert read(tmp_path, len(moments), T, Z) == [{"t": None, "z": None} for _ in moments]


@pytest.mark.parametrize("moment", [dt.datetime(1677, 9, 21), dt.datetime(2262, 4, 12), dt.datetime(1, 1, 1)])
def test_years_that_nanoseconds_do_not_hold(tmp_path: Path, moment: dt.datetime) -> None:
    try:
        orc.write_table(table_of([moment]), tmp_path / "f.orc")
    except pa.ArrowInvalid:
        pytest.skip("this version of Arrow does not write such a file")
    for field in (T, Z, S):
        refused(tmp_path, field, "1678 and 2261")


def refused(root: Path, field: Field, why: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=why) as caught:
        read(root, 1, field)
    assert caught.value.field == "ORC timestamps" and caught.value.path == str(root / "f.orc") and caught.value.hint
    assert read(root, 1, Field(9, "n", primitive("long"))) == [{"n": 0}]


def test_wall_clocks_of_another_zone(tmp_path: Path) -> None:
    orc.write_table(table_of([LEAP]), tmp_path / "f.orc", compression="uncompressed")
    data = (tmp_path / "f.orc").read_bytes()
    assert data.count(b"GMT") == 1, "the zone of the only stripe's writer"
    (tmp_path / "f.orc").write_bytes(data.replace(b"GMT", b"CET"))
    refused(tmp_path, T, "zone 'CET'")
    refused(tmp_path, S, "zone 'CET'")
    assert read(tmp_path, 1, Z) == [{"z": LEAP.replace(tzinfo=UTC)}]


def test_tails_that_are_not_read_or_say_nothing(tmp_path: Path) -> None:
    orc.write_table(table_of([LEAP]), tmp_path / "f.orc", compression="lz4")
    refused(tmp_path, T, "compressed")
    assert not _is_bounded(b"") and not _is_bounded(b"\x08\x01") and _is_bounded(b"\x08\x00")
    # One value; a minimum, a maximum of 2 ms; then the minimum alone.
    assert _is_bounded(b"\x08\x01\x4a\x04\x08\x02\x10\x04") and not _is_bounded(b"\x08\x01\x4a\x02\x08\x02")


def test_damaged_tails_are_typed_errors(tmp_path: Path) -> None:
    orc.write_table(table_of(MOMENTS), tmp_path / "f.orc", compression="zlib")
    data, chance, errors = (tmp_path / "f.orc").read_bytes(), random.Random(1), 0
    for _ in range(150):
        damaged = bytearray(data)
        damaged[-chance.randint(1, 260)] ^= 1 << chance.randrange(8)
        (tmp_path / "f.orc").write_bytes(damaged)
        try:
            read(tmp_path, len(MOMENTS), T)
        except (CorruptMetadataError, UnsupportedFeatureError) as error:
            errors += 1
            assert error.path and error.hint
        except TableFormatsError as error:
            raise AssertionError("another error") from error
    assert errors > 20


def test_the_least_value_that_the_tail_tells(tmp_path: Path) -> None:
    """Spark's reader takes old dates for those of another calendar: the least one tells whether there are any."""

    def least(column: int, columns: int = 3) -> tuple[bool, int | None]:
        with pa.OSFile(str(tmp_path / "f.orc")) as source:
            return OrcTail(source).least(column, columns)

    def write(days: list[int | None], codec: str = "zlib") -> None:
        table = pa.table({"d": pa.array(days, pa.date32()), "t": pa.array(days, pa.timestamp("ms"))})
        orc.write_table(table, tmp_path / "f.orc", compression=codec)

    write([7, -800_000, None, 12])
    assert least(1) == (True, -800_000) and least(2) == (True, -800_000)
    assert least(1, 4) == (False, None), "statistics of other columns than those of the file"
    write([None, None])
    assert least(1) == least(2) == (True, None)
    write([1], "lz4")
    assert least(1) == (False, None)


def message(*fields: tuple[int, int | bytes]) -> bytes:
    """A protocol buffer of numbers and bytes below 128."""
    return b"".join(
        bytes([number << 3, value]) if isinstance(value, int) else bytes([number << 3 | 2, len(value)]) + value
        for number, value in fields
    )


def test_zones_of_the_writers_of_stripes() -> None:
    """A stripe's footer follows its index and its data; a number that is 0 need not be written."""
    first, second = message((3, b"UTC")), message((3, b"Asia/Tokyo"))
    data = b"ORC" + b"index" + b"data" + first + b"more" + second
    start = len(data) - len(second)
    stripes = [
        message((1, 3), (2, 5), (3, 4), (4, len(first))),
        message((1, start - 4), (3, 4), (4, len(second))),
        message((2, 7)),
    ]
    footer = message(*((3, stripe) for stripe in stripes))
    script = message((1, len(footer)))
    tail = OrcTail(pa.BufferReader(data + footer + script + bytes([len(script)])))
    assert list(tail._writer_zones()) == ["UTC", "Asia/Tokyo", ""]
    assert tail.stripes() == [(3, 0), (start - 4, 0), (0, 0)]


def test_parts_of_a_tail_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    footer = message((3, message((1, 3))))
    script = message((1, len(footer)))
    data = b"ORC" + footer + script + bytes([len(script)])
    for most in (len(footer), len(footer) - 1):
        monkeypatch.setattr("tableformats.io.orc_tail.MAX_TAIL_BYTES", most)
        with pytest.raises(ValueError, match="damaged") if most < len(footer) else nullcontext():
            assert OrcTail(pa.BufferReader(data)).stripes() == [(3, 0)]
