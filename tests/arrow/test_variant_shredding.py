"""Shredded variants made whole: the specification's own tables, random shredding of random values, and damage."""

from __future__ import annotations

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.engines.arrow.values.variant_shredding import MalformedVariantError, _packed, _width, unshredded
from tests.support.examples import examples, some_of
from tests.support.variants import decoded, metadata_of, object_of

EMPTY = b"\x01\x00"
NULL = b"\x00"
UTC = dt.timezone.utc


def part(typed: pa.DataType | None) -> pa.DataType:
    """A field or an element."""
    return pa.struct([("value", pa.binary()), *([] if typed is None else [("typed_value", typed)])])


def shredded(typed: pa.DataType | None) -> pa.DataType:
    return pa.struct([pa.field("metadata", pa.binary(), False), *part(typed)])


def whole(rows: list[Any], typed: pa.DataType | None) -> list[Any]:
    group = pa.array(rows, shredded(typed))
    metadata, value = unshredded(group)
    assert len(metadata) == len(value) == len(rows)
    pairs = zip(metadata.to_pylist(), value.to_pylist(), strict=True)
    return [decoded({"metadata": m, "value": v}) for (m, v), row in zip(pairs, rows, strict=True) if row is not None]


# ---- the tables of the specification ---------------------------------------------------------------------------------


def test_measurements() -> None:
    """VariantShredding.md, "Value Shredding"."""
    stored = [(None, 34), (NULL, None), (b"\x0dn/a", None), (None, 100), (None, None)]
    rows = [{"metadata": EMPTY, "value": v, "typed_value": t} for v, t in stored]
    assert whole([*rows, None], pa.int64()) == [34, None, "n/a", 100, None]


def test_tags() -> None:
    """VariantShredding.md, "Arrays"."""
    rows = [["comedy", "drama"], ["horror", None], ["comedy", "drama", "romance"], None]
    stored = [
        {
            "metadata": EMPTY,
            "value": NULL if tags is None else None,
            "typed_value": tags and [{"value": NULL if t is None else None, "typed_value": t} for t in tags],
        }
        for tags in rows
    ]
    assert whole(stored, pa.list_(part(pa.string()))) == rows


EVENT_TYPE, EVENT_TS, EMAIL, ERROR, CLICK = "event_type", "event_ts", "email", "error_msg", "click"
EVENT = metadata_of(EVENT_TYPE, EVENT_TS, EMAIL, ERROR, CLICK)
EVENT_KIND = pa.struct([(EVENT_TYPE, part(pa.string())), (EVENT_TS, part(pa.timestamp("us", "UTC")))])
AT = dt.datetime(2024, 10, 24, 18, 21, 54, 937000, tzinfo=UTC)


def event(value: bytes | None, kind: Any = None, at: Any = None) -> dict[str, Any]:
    def field(stored: Any) -> dict[str, Any]:
        is_plain = isinstance(stored, bytes)
        return {"value": stored if is_plain else None, "typed_value": None if is_plain else stored}

    return {"metadata": EVENT, "value": value, "typed_value": {EVENT_TYPE: field(kind), EVENT_TS: field(at)}}


def text(value: str) -> bytes:
    return bytes([len(value.encode()) << 2 | 1]) + value.encode()


def test_events() -> None:
    """VariantShredding.md, "Objects": all rows that writers may produce."""
    found = whole(
        [
            event(None, "noop", AT),
            event(object_of((2, text("user@example.com"))), "login", AT),
            event(object_of((3, text("malformed")))),
            {"metadata": EVENT, "value": text("malformed: not an object"), "typed_value": None},
            event(object_of((4, text("_button"))), None, AT),
            event(None, NULL, AT),
            event(None, "noop", text("2024-10-24")),
            event(None),
            {"metadata": EVENT, "value": NULL, "typed_value": None},
            {"metadata": EVENT, "value": None, "typed_value": None},
            None,
        ],
        EVENT_KIND,
    )
    assert found == [
        {EVENT_TS: AT, EVENT_TYPE: "noop"},
        {EMAIL: "user@example.com", EVENT_TS: AT, EVENT_TYPE: "login"},
        {ERROR: "malformed"},
        "malformed: not an object",
        {CLICK: "_button", EVENT_TS: AT},
        {EVENT_TS: AT, EVENT_TYPE: None},
        {EVENT_TS: "2024-10-24", EVENT_TYPE: "noop"},
        {},
        None,
        None,
    ]


INVALID: list[tuple[str, Any, pa.DataType]] = [
    ("stands in its value too", event(object_of((0, text("login"))), None, AT), EVENT_KIND),
    ("stands in its value too", event(object_of((0, text("login"))), "login", AT), EVENT_KIND),
    ("a value that is no object", event(text("a")), EVENT_KIND),
    ("a value that is no object", event(b""), EVENT_KIND),
    ("a value and a typed_value", event(None) | {"typed_value": 7, "value": NULL}, pa.int32()),
    ("a value and a typed_value", event(None) | {"typed_value": [], "value": NULL}, pa.list_(part(pa.int32()))),
    (
        "not in the metadata",
        {"metadata": EMPTY, "value": None, "typed_value": {"a": {"typed_value": 1}}},
        pa.struct([("a", part(pa.int32()))]),
    ),
    (
        "not in the metadata",
        {"metadata": metadata_of("a"), "value": object_of((9, NULL)), "typed_value": {}},
        pa.struct([("a", part(pa.int32()))]),
    ),
    ("without value and typed_value", {"metadata": EMPTY, "typed_value": {"a": 1}}, pa.struct([("a", pa.int32())])),
    ("without value and typed_value", {"metadata": EMPTY, "typed_value": [1]}, pa.list_(pa.int32())),
    (
        "without value and typed_value",
        {"metadata": EMPTY, "typed_value": [{"metadata": EMPTY}]},
        pa.list_(shredded(pa.int32())),
    ),
    ("shredded as uint8", {"metadata": EMPTY, "typed_value": 1}, pa.uint8()),
    ("shredded as timestamp", {"metadata": EMPTY, "typed_value": AT}, pa.timestamp("ms")),
    ("shredded as decimal256", {"metadata": EMPTY, "typed_value": Decimal(1)}, pa.decimal256(40, 0)),
    ("shredded as decimal128", {"metadata": EMPTY, "typed_value": Decimal(100)}, pa.decimal128(3, -2)),
    ("shredded as map", {"metadata": EMPTY, "typed_value": [("a", 1)]}, pa.map_(pa.string(), pa.int32())),
    ("shredded as fixed_size_binary", {"metadata": EMPTY, "typed_value": b"abc"}, pa.binary(3)),
]


@pytest.mark.parametrize(("message", "row", "typed"), INVALID)
def test_what_writers_must_not_produce(message: str, row: Any, typed: pa.DataType) -> None:
    with pytest.raises(MalformedVariantError, match=message):
        whole([row], typed)


@pytest.mark.parametrize(
    "kind",
    [
        pa.struct([("value", pa.binary())]),
        pa.struct([("metadata", pa.binary())]),
        pa.struct([("metadata", pa.binary()), ("value", pa.int64())]),
        pa.struct([("metadata", pa.int64()), ("value", pa.binary())]),
        pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("more", pa.binary())]),
        pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("value", pa.binary())]),
        pa.struct([("metadata", pa.binary()), ("typed_value", pa.int32()), ("typed_value", pa.int32())]),
    ],
)
def test_other_members(kind: pa.DataType) -> None:
    with pytest.raises(MalformedVariantError):
        unshredded(pa.nulls(1, kind))


def test_a_decimal_of_more_bytes_than_its_precision_has() -> None:
    """Arrow takes such a value from a file as it stands there."""
    data = pa.array([Decimal(2**40), None], pa.decimal128(20, 0)).buffers()
    typed = pa.Array.from_buffers(pa.decimal128(9, 0), 2, data)
    group = pa.StructArray.from_arrays([pa.array([EMPTY] * 2), typed], ["metadata", "typed_value"])
    with pytest.raises(MalformedVariantError, match=r"no decimal128\(9, 0\)"):
        unshredded(group)


# ---- every type -----------------------------------------------------------------------------------------------------

SCALARS: list[tuple[pa.DataType, list[Any]]] = [
    (pa.bool_(), [True, False]),
    (pa.int8(), [-128, 127]),
    (pa.int16(), [-(2**15), 300]),
    (pa.int32(), [-(2**31), 7]),
    (pa.int64(), [2**63 - 1, -(2**63)]),
    (pa.float32(), [1.5, float("-inf")]),
    (pa.float64(), [-0.1, 5e-324]),
    (pa.decimal128(9, 2), [Decimal("-1234567.89"), Decimal("0.01")]),
    (pa.decimal128(18, 0), [Decimal(10**18 - 1), Decimal(-(10**18) + 1)]),
    (pa.decimal128(38, 38), [Decimal("-0." + "9" * 38), Decimal("1E-38")]),
    (pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    (pa.timestamp("us", "UTC"), [AT, dt.datetime(1, 1, 1, tzinfo=UTC)]),
    (pa.timestamp("us", "Europe/Paris"), [AT]),
    (pa.timestamp("us"), [dt.datetime(1500, 1, 1, 0, 0, 0, 1)]),
    (pa.timestamp("ns", "UTC"), [AT]),
    (pa.timestamp("ns"), [dt.datetime(1970, 1, 1)]),
    (pa.time64("us"), [dt.time(23, 59, 59, 999999)]),
    (pa.binary(), [b"", b"\x00" * 100]),
    (pa.string(), ["", "é" * 31, "x" * 63, "é" * 32, "\U0001f600" * 100]),
    (pa.large_string(), ["a" * 64]),
    (pa.uuid(), [uuid.UUID(int=2**100 + 1).bytes]),
    (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "a"]),
]


@pytest.mark.parametrize(("kind", "values"), SCALARS, ids=[str(kind) for kind, _ in SCALARS])
@pytest.mark.parametrize("skipped", [0, 1])
def test_scalars(kind: pa.DataType, values: list[Any], skipped: int) -> None:
    """Also where the rows are a slice, which does not begin at the buffers' beginning."""
    stored = [None] * skipped + values + [None]
    storage = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    typed = pa.array(stored, storage).slice(skipped)
    typed = pa.ExtensionArray.from_storage(kind, typed) if storage is not kind else typed
    group = pa.StructArray.from_arrays([pa.array([EMPTY] * len(typed)), typed], ["metadata", "typed_value"])
    metadata, value = unshredded(group)
    pairs = zip(metadata.to_pylist(), value.to_pylist(), strict=True)
    found = [decoded({"metadata": m, "value": v}) for m, v in pairs]
    if isinstance(found[0], uuid.UUID):
        found = [v and v.bytes for v in found]
    assert found == [*values, None]
    assert [type(v) for v in found[:-1]] == [type(v) for v in values]


@pytest.mark.parametrize("count", [0, 1, 255, 256, 70_000])
def test_large_arrays_and_objects(count: int) -> None:
    """Counts, ids and offsets of one, two and three bytes. Counts of more than 255 members take four bytes."""
    row = {"metadata": EMPTY, "value": None, "typed_value": [{"typed_value": i} for i in range(count)]}
    assert whole([row], pa.list_(part(pa.int64()))) == [list(range(count))]
    if count > 256:
        return
    stored = unshredded(pa.array([row], shredded(pa.list_(part(pa.int64())))))[1].to_pylist()[0]
    assert (stored[0] >> 4 & 1, stored[1 : 5 if count > 255 else 2]) == (
        count > 255,
        count.to_bytes(4 if count > 255 else 1, "little"),
    )
    names = [f"{i:06d}" for i in range(count)]
    text_of_names = "".join(names).encode()
    offsets = b"".join((6 * i).to_bytes(2, "little") for i in range(count + 1))
    metadata = b"\x41" + count.to_bytes(2, "little") + offsets + text_of_names
    kind = pa.struct([(name, part(pa.int64())) for name in reversed(names)])
    typed = {name: {"typed_value": i} for i, name in enumerate(names)}
    row = {"metadata": metadata, "typed_value": typed}
    assert whole([row], kind) == [dict(zip(names, range(count), strict=True))]
    stored = unshredded(pa.array([row], shredded(kind)))[1].to_pylist()[0]
    assert (stored[0] >> 6 & 1, stored[1 : 5 if count > 255 else 2]) == (
        count > 255,
        count.to_bytes(4 if count > 255 else 1, "little"),
    )


@pytest.mark.parametrize(("number", "width"), [(0, 1), (255, 1), (256, 2), (1 << 24, 4), (0xFFFF_FFFF, 4)])
def test_numbers_of_every_width(number: int, width: int) -> None:
    assert _width(number) == width and _packed([0, number], width) == bytes(width) + number.to_bytes(width, "little")


def test_variants_of_4_gib() -> None:
    with pytest.raises(MalformedVariantError, match="4 GiB or more"):
        _packed([0, 1 << 32], _width(1 << 32))


@pytest.mark.parametrize(
    ("size", "width"), [(0xFF, 1), (0x100, 2), (0x1FF, 2), (0xFFFF, 2), (0x1_0000, 3), (0x2_0000, 3)]
)
def test_widths_of_offsets(size: int, width: int) -> None:
    """An array and an object take as many bytes for an offset as the size of their members needs."""
    text = "x" * (size - 5)  # a long text has a header and its length in front of it
    group = pa.array(
        [{"metadata": EMPTY, "typed_value": [{"typed_value": text}]}], shredded(pa.list_(part(pa.string())))
    )
    stored = unshredded(group)[1].to_pylist()[0]
    assert stored[:2] == bytes([(width - 1) << 2 | 3, 1])
    assert stored[2 : 2 + 2 * width] == bytes(width) + size.to_bytes(width, "little")
    assert len(stored) == 2 + 2 * width + size and decoded({"metadata": EMPTY, "value": stored}) == [text]
    row = {"metadata": metadata_of("a"), "typed_value": {"a": {"typed_value": text}}}
    group = pa.array([row], shredded(pa.struct([("a", part(pa.string()))])))
    stored = unshredded(group)[1].to_pylist()[0]
    assert stored[:3] == bytes([(width - 1) << 2 | 2, 1, 0])
    assert stored[3 : 3 + 2 * width] == bytes(width) + size.to_bytes(width, "little")
    assert decoded({"metadata": metadata_of("a"), "value": stored}) == {"a": text}


@pytest.mark.parametrize("kind", [pa.large_list, lambda element: pa.list_(element, 2)])
def test_lists_of_every_layout(kind: Any) -> None:
    row = {"metadata": EMPTY, "typed_value": [{"typed_value": 1}, {"typed_value": None}]}
    assert whole([row], kind(part(pa.int32()))) == [[1, None]]


def test_unshredded_values_are_what_is_stored() -> None:
    group = pa.array([{"metadata": EMPTY, "value": b"\x0c\x07"}, None, {"metadata": EMPTY}], shredded(None))
    _, value = unshredded(group)
    assert [v for v, there in zip(value.to_pylist(), group.is_valid().to_pylist(), strict=True) if there] == [
        b"\x0c\x07",
        NULL,
    ]


def test_a_variant_without_metadata() -> None:
    for typed in (None, pa.int32()):
        kind = pa.struct([("metadata", pa.binary()), *part(typed)])
        with pytest.raises(MalformedVariantError, match="no metadata"):
            unshredded(pa.array([{"metadata": None, "value": NULL}], kind))


# ---- random values, shredded at random -------------------------------------------------------------------------------

NAMES = ["", "a", "b", "é", "\U0001f600", "\uffee", "long name" * 9]
TEXT = st.text(max_size=70)
SCALAR = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT
VALUE = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
KIND = st.recursive(
    st.sampled_from([None, "bool", "long", "double", "string"]),
    lambda inner: (
        st.tuples(st.just("list"), inner) | st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=4)
    ),
    max_leaves=6,
)
PLAIN = {
    "bool": (bool, pa.bool_()),
    "long": (int, pa.int64()),
    "double": (float, pa.float64()),
    "string": (str, pa.string()),
}


def encoded(value: Any) -> bytes:
    """A variant value, by the names of :data:`NAMES`; widths of four bytes throughout."""
    if value is None:
        return NULL
    if isinstance(value, bool):
        return b"\x04" if value else b"\x08"
    if isinstance(value, int):
        return b"\x18" + value.to_bytes(8, "little", signed=True)
    if isinstance(value, float):
        return b"\x1c" + pa.array([value]).buffers()[1].to_pybytes()[:8]
    if isinstance(value, str):
        return b"\x40" + len(value.encode()).to_bytes(4, "little") + value.encode()
    parts = sorted(value.items(), key=lambda item: item[0].encode()) if isinstance(value, dict) else value
    ids = [NAMES.index(name) for name, _ in parts] if isinstance(value, dict) else []
    stored = [encoded(v) for v in (value[name] for name, _ in parts)] if ids else list(map(encoded, parts))
    offsets = [sum(map(len, stored[:i])) for i in range(len(stored) + 1)]
    header = (0b11111 << 2 | 2) if isinstance(value, dict) else (0b111 << 2 | 3)
    numbers = [n.to_bytes(4, "little") for n in (len(stored), *ids, *offsets)]
    return bytes([header]) + b"".join(numbers + stored)


def arrow_kind(kind: Any) -> pa.DataType | None:
    if kind is None:
        return None
    if isinstance(kind, str):
        return PLAIN[kind][1]
    if isinstance(kind, tuple):
        return pa.list_(part(arrow_kind(kind[1])))
    return pa.struct([(name, part(arrow_kind(inner))) for name, inner in kind.items()])


def shred(value: Any, kind: Any) -> dict[str, Any]:
    """Value and typed_value of a present value. Source: VariantShredding.md, "Value Shredding"."""
    if isinstance(kind, str) and type(value) is PLAIN[kind][0]:
        return {"value": None, "typed_value": value}
    if isinstance(kind, tuple) and isinstance(value, list):
        return {"value": None, "typed_value": [shred(v, kind[1]) for v in value]}
    if isinstance(kind, dict) and isinstance(value, dict):
        rest = {name: v for name, v in value.items() if name not in kind}
        missing = {"value": None, "typed_value": None}
        typed = {name: shred(value[name], inner) if name in value else missing for name, inner in kind.items()}
        return {"value": encoded(rest) if rest else None, "typed_value": typed}
    return {"value": encoded(value), "typed_value": None}


@settings(max_examples=examples(100))
@given(st.lists(VALUE, max_size=4), KIND)
def test_random_values(values: list[Any], kind: Any) -> None:
    metadata = metadata_of(*NAMES)
    rows = [{"metadata": metadata, **shred(value, kind)} for value in values]
    assert repr(whole(rows, arrow_kind(kind))) == repr([in_order(value) for value in values])


def in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: in_order(value[name]) for name in sorted(value, key=str.encode)}
    return [in_order(v) for v in value] if isinstance(value, list) else value


# ---- damage ---------------------------------------------------------------------------------------------------------

SOUND = event(object_of((2, text("m")), (4, text("b"))), "login", AT)


@pytest.mark.parametrize("member", ["metadata", "value"])
def test_every_byte_changed_and_every_cut(member: str) -> None:
    """What is put together from damaged bytes is an error or bytes again, never another exception.

    For each change a byte becomes one in five of the 256 others, which ones depends on its place; at night all of them.
    """
    stored = SOUND[member]
    damaged = [stored[:n] for n in range(len(stored))]
    damaged += [
        stored[:i] + bytes([b]) + stored[i + 1 :] for i in range(len(stored)) for b in some_of(5, range(256), i)
    ]
    outcomes = set()
    for data in damaged:
        try:
            unshredded(pa.array([{**SOUND, member: data}], shredded(EVENT_KIND)))
            outcomes.add("bytes")
        except MalformedVariantError:
            outcomes.add("error")
    assert outcomes == {"bytes", "error"}


@pytest.mark.parametrize(
    "value", [b"\x02", b"\x52\xff\xff\xff\xff", b"\x52\xff\xff\xff\xff" + b"\x00" * 64, b"\x02\x01\x02\x05\x01\x00"]
)
def test_counts_beyond_the_bytes(value: bytes) -> None:
    with pytest.raises(MalformedVariantError):
        whole([event(value)], EVENT_KIND)


@pytest.mark.parametrize(
    "metadata",
    [b"", b"\x02\x00\x00", b"\xc1\xff\xff\xff\xff", b"\x01\x01\x00", b"\x01\x02\x00\x05\x02ab", b"\x01\x01\x00\x09a"],
)
def test_damaged_metadata(metadata: bytes) -> None:
    with pytest.raises(MalformedVariantError):
        whole([{**SOUND, "metadata": metadata}], EVENT_KIND)
