"""Tails of ORC files made field by field: what is read of them, and what is refused. See orc_proto.proto."""

from __future__ import annotations

import zlib

import pyarrow as pa
import pytest

from tableformats.io.orc_tail import OrcTail, _fields, _is_bounded, _varint

DAY = 86_400_000
MOST = (2**63 - 1) // 1_000_000 - 2 * DAY
"""Milliseconds that nanoseconds in 64 bits hold in any time zone."""
TIMESTAMP, INSTANT, LONG = 9, 18, 4
"""Kinds of types."""


def varint(value: int) -> bytes:
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def message(*fields: tuple[int, int | bytes]) -> bytes:
    return b"".join(
        varint(number << 3) + varint(value)
        if isinstance(value, int)
        else varint(number << 3 | 2) + varint(len(value)) + value
        for number, value in fields
    )


def signed(value: int) -> int:
    return 2 * value if value >= 0 else -2 * value - 1


def statistics(count: int | None, *bounds: tuple[int, int], part: int = 9) -> bytes:
    """Of a column; ``bounds`` by their numbers, ``part`` 9: of timestamps, 7: of dates."""
    counted = [] if count is None else [(1, count)]
    found = message(*((number, signed(value)) for number, value in bounds))
    return message(*counted, (part, found)) if bounds else message(*counted)


def tail_of(footer: bytes, *script: tuple[int, int], before: bytes = b"ORC") -> OrcTail:
    end = message((1, len(footer)), *script)
    return OrcTail(pa.BufferReader(before + footer + end + bytes([len(end)])))


def footer_of(kinds: list[int], columns: list[bytes], *stripes: bytes) -> bytes:
    return message(
        *((3, stripe) for stripe in stripes),
        *((4, message((1, kind))) for kind in kinds),
        *((7, one) for one in columns),
    )


@pytest.mark.parametrize(
    ("first", "last"),
    [(-MOST, MOST), (0, 0), (5, 7), (1 - MOST, MOST - 1)],
)
@pytest.mark.parametrize("fields", [(1, 2), (3, 4)])
def test_bounds_that_nanoseconds_hold(first: int, last: int, fields: tuple[int, int]) -> None:
    low, high = fields
    assert _is_bounded(statistics(3, (low, first), (high, last))) is (MOST not in (-first, last))


def test_bounds_that_are_missing_or_too_great() -> None:
    assert _is_bounded(statistics(0)) and _is_bounded(statistics(0, (1, MOST), (2, MOST)))
    for found in [
        statistics(None),
        statistics(1),
        statistics(1, (1, 5)),
        statistics(1, (2, 5)),
        statistics(1, (1, 5), (4, 5)),
        statistics(1, (2, 5), (3, 5)),
        statistics(1, (1, 5), (2, 5), (3, -MOST), (4, 5)),
        statistics(1, (1, 5), (2, 5), (4, MOST)),
        statistics(1, (1, 5), (2, 5), part=7),
    ]:
        assert not _is_bounded(found)
    assert _is_bounded(statistics(1, (1, 5), (2, 5), (5, 2**62), (6, 2**62))), "nanoseconds within a millisecond"


@pytest.mark.parametrize(
    ("column", "found"),
    [
        (statistics(0), (True, None)),
        (statistics(0, (1, 5)), (True, None)),
        (statistics(2), (False, None)),
        (statistics(2, (2, 9)), (False, None)),
        (statistics(2, (1, 7), (2, 9), part=7), (True, 7)),
        (statistics(2, (1, -7), (2, 9), part=7), (True, -7)),
        (statistics(2, (1, 0), (2, 9), part=7), (True, 0)),
        (statistics(2, (1, 500), (3, -300)), (True, -300)),
        (statistics(2, (1, -500), (3, 300)), (True, -500)),
        (statistics(2, (3, 300)), (True, 300)),
        (statistics(2, (1, 3), part=8), (False, None)),
    ],
)
def test_the_least_value(column: bytes, found: tuple[bool, int | None]) -> None:
    tail = tail_of(footer_of([12, 4], [b"", column]))
    assert tail.least(1, 2) == found
    assert tail.least(1, 3) == tail.least(1, 1) == (False, None), "of another count of columns"


def stripe(zone: bytes | None) -> tuple[bytes, bytes]:
    footer = b"" if zone is None else message((3, zone))
    return footer, message((1, 3), (4, len(footer)))


@pytest.mark.parametrize("zone", [b"UTC", b"GMT", b"Etc/UTC", b"Etc/GMT", b"Z", b"", None])
@pytest.mark.parametrize("kind", [TIMESTAMP, INSTANT])
def test_clocks_of_utc(zone: bytes | None, kind: int) -> None:
    footer, stored = stripe(zone)
    tail = tail_of(footer_of([12, kind], [b"", statistics(1, (1, 5), (2, 5))], stored), before=b"ORC" + footer)
    assert tail.column_problem(1, 2) is None


def test_clocks_of_another_zone_are_no_instants() -> None:
    footer, stored = stripe(b"CET")
    columns = [b"", statistics(1, (1, 5), (2, 5))]
    tail = tail_of(footer_of([12, TIMESTAMP], columns, stored), before=b"ORC" + footer)
    assert tail.column_problem(1, 2) == "they are wall clocks of the writer's time zone 'CET'"
    assert tail_of(footer_of([12, INSTANT], columns, stored), before=b"ORC" + footer).column_problem(1, 2) is None


def test_problems_of_a_column() -> None:
    none = "the file has no statistics of all its columns"
    good = statistics(1, (1, 5), (2, 5))
    assert tail_of(footer_of([12, INSTANT], [good, good])).column_problem(1, 2) is None
    assert tail_of(footer_of([12, INSTANT], [good, good])).column_problem(1, 3) == none
    assert tail_of(footer_of([12, INSTANT], [good])).column_problem(1, 2) == none
    assert tail_of(footer_of([12], [good, good])).column_problem(1, 2) == none
    unbounded = tail_of(footer_of([12, INSTANT], [good, statistics(1)]))
    assert "between the years 1678 and 2261" in (unbounded.column_problem(1, 2) or "")
    assert unbounded.column_problem(0, 2) is None
    unknown = tail_of(b"", (2, 4))
    assert "compressed in a way that is not read" in (unknown.column_problem(1, 2) or "")
    assert unknown.stripes() is None and unknown.least(1, 2) == (False, None)


def test_columns_are_numbered_depth_first() -> None:
    """The root, a, its members and theirs, then b: 0; 1, 2 (list), 3; 4 (map), 5, 6; 7."""
    time, text = pa.timestamp("ns"), pa.string()
    a = pa.struct([("l", pa.list_(time)), ("m", pa.map_(text, time))])
    schema = pa.schema([("a", a), ("b", time)])
    for number, name in ((3, "a"), (6, "a"), (7, "b")):
        columns = [statistics(1, (1, 5), (2, 5))] * 8
        columns[number] = statistics(1)
        tail = tail_of(footer_of([12, 12, 10, INSTANT, 11, 7, INSTANT, INSTANT], columns))
        assert tail.timestamp_problem(schema, {"a", "b"}) is not None
        assert (tail.timestamp_problem(schema, {"a"}) is None) is (name == "b")
        assert tail.timestamp_problem(schema, set()) is None
    for number in (0, 1, 2, 4, 5):
        columns = [statistics(1, (1, 5), (2, 5))] * 8
        columns[number] = statistics(1)
        tail = tail_of(footer_of([12, 12, 10, INSTANT, 11, 7, INSTANT, INSTANT], columns))
        assert tail.timestamp_problem(schema, {"a", "b"}) is None, "no timestamps"


@pytest.mark.parametrize("value", [0, 1, 127, 128, 16_383, 16_384, 2**32, 2**63, 2**64 - 1])
def test_numbers_of_every_length(value: int) -> None:
    stored = varint(value)
    assert _varint(b"xy" + stored + b"\x01", 2) == (value, 2 + len(stored))
    assert list(_fields(message((1000, value), (2, b"ab")))) == [(1000, value), (2, b"ab")]


@pytest.mark.parametrize("stored", [b"", b"\x80", b"\x80" * 9, b"\x80" * 10, b"\xff" * 10 + b"\x01"])
def test_numbers_without_end(stored: bytes) -> None:
    with pytest.raises(ValueError, match="a number without end"):
        _varint(stored, 0)


def test_fields_of_fixed_width_and_of_groups() -> None:
    eight, four = bytes([3 << 3 | 1]) + b"12345678", bytes([4 << 3 | 5]) + b"1234"
    assert list(_fields(eight + four + message((5, 6)))) == [(3, b"12345678"), (4, b"1234"), (5, 6)]
    for short in (eight[:-1], four[:-1], message((5, b"ab"))[:-1]):
        with pytest.raises(ValueError, match="is cut short"):
            list(_fields(short))
    for kind in (3, 4, 6, 7):
        with pytest.raises(ValueError, match="is no protocol buffer"):
            list(_fields(bytes([8 | kind]) + b"\x00" * 9))


def chunk(data: bytes, is_stored: bool) -> bytes:
    """Of a compressed part: its length in three bytes, with a bit for what is not compressed."""
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    inside = data if is_stored else deflater.compress(data) + deflater.flush()
    return (len(inside) << 1 | is_stored).to_bytes(3, "little") + inside


STRIPES = message(*((3, message((1, i), (5, i * i))) for i in range(100)))


@pytest.mark.parametrize("cut", [0, 1, 256, len(STRIPES)])
def test_parts_are_inflated_chunk_by_chunk(cut: int) -> None:
    for kinds in ((True, False), (False, True), (False, False), (True, True)):
        footer = chunk(STRIPES[:cut], kinds[0]) + chunk(STRIPES[cut:], kinds[1])
        tail = tail_of(footer, (2, 1), (3, 1 << 12))
        assert tail.stripes() == [(i, i * i) for i in range(100)]


def test_chunks_that_are_longer_than_they_may_be() -> None:
    footer = chunk(STRIPES, False)
    assert tail_of(footer, (2, 1), (3, len(STRIPES))).stripes()
    with pytest.raises(ValueError, match="damaged"):
        tail_of(footer, (2, 1), (3, len(STRIPES) - 1))
    assert tail_of(chunk(STRIPES, True), (2, 1), (3, 10)).stripes(), "it is not inflated"
    for cut in (chunk(STRIPES, True)[:-1], chunk(STRIPES, True) + b"\x02"):
        with pytest.raises(ValueError):
            tail_of(cut, (2, 1), (3, 1 << 12))


def test_what_the_script_need_not_say() -> None:
    """A footer without a length is empty, and chunks without a size are too long."""
    assert tail_of(STRIPES, before=b"").stripes() is not None
    for script in (message((2, 0)), message((2, 0), (1, 0))):
        tail = OrcTail(pa.BufferReader(b"ORC" + script + bytes([len(script)])))
        assert tail.stripes() == [] and tail._footer == b""
    with pytest.raises(ValueError, match="damaged"):
        tail_of(chunk(b"\x08", False), (2, 1))
    zone = message((3, b"UTC"))
    footer = footer_of([], [], message((2, 5), (4, len(zone))))
    assert list(tail_of(footer, before=b"index" + zone)._writer_zones()) == ["UTC"]


def test_no_codec_is_said_by_nothing_or_by_0() -> None:
    for script in ((), ((2, 0),)):
        assert tail_of(STRIPES, *script).stripes() == [(i, i * i) for i in range(100)]


def test_all_chunks_of_a_part_together_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    footer = chunk(STRIPES[:300], False) + chunk(STRIPES[300:], False)
    for most in (len(STRIPES), len(STRIPES) - 1):
        monkeypatch.setattr("tableformats.io.orc_tail.MAX_TAIL_BYTES", most)
        if most < len(STRIPES):
            with pytest.raises(ValueError, match="damaged"):
                tail_of(footer, (2, 1), (3, 1 << 12))
        else:
            assert tail_of(footer, (2, 1), (3, 1 << 12)).stripes()


def test_tails_that_begin_before_the_file() -> None:
    for length in (4, 5):  # of a footer in a file of four bytes before its script
        script = message((1, length))
        data = STRIPES[:4] + script + bytes([len(script)])
        if length > 4:
            with pytest.raises(ValueError, match="damaged"):
                OrcTail(pa.BufferReader(data))
        else:
            assert OrcTail(pa.BufferReader(data))._footer == STRIPES[:4]
    with pytest.raises(ValueError, match="damaged"):
        OrcTail(pa.BufferReader(b"\x02\x08\x05"[:1]))
    with pytest.raises(ValueError, match="damaged"):
        OrcTail(pa.BufferReader(b""))
