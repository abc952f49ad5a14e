"""Variants as Python values, decoded one by one, and the few encodings that tests write by hand.

Source: Parquet VariantEncoding.md.
"""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from decimal import Decimal
from typing import Any

EPOCH = dt.datetime(1970, 1, 1)
_INTEGERS = {3: 1, 4: 2, 5: 4, 6: 8}
_DECIMALS = {8: 4, 9: 8, 10: 16}


def number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def names_of(metadata: bytes) -> list[str]:
    width = (metadata[0] >> 6) + 1
    assert metadata[0] & 15 == 1
    count = number(metadata[1 : 1 + width])
    offsets = [number(metadata[1 + width * (i + 1) :][:width]) for i in range(count + 1)]
    text = metadata[1 + width * (count + 2) :]
    return [text[a:b].decode() for a, b in zip(offsets, offsets[1:], strict=False)]


def decoded(variant: dict[str, bytes] | None) -> Any:
    """A variant as Python sees it; objects as dicts in the order of their fields, numbers with their type."""
    return None if variant is None else value_of(variant["value"], names_of(variant["metadata"]))


def value_of(value: bytes, names: list[str]) -> Any:
    kind, header, data = value[0] & 3, value[0] >> 2, value[1:]
    if kind == 1:
        assert len(data) >= header
        return data[:header].decode()
    if kind == 0:
        return primitive_of(header, data)
    width = (header & 3) + 1
    large, id_width = (header & 16, (header >> 2 & 3) + 1) if kind == 2 else (header & 4, 0)
    count_width = 4 if large else 1
    count, data = number(data[:count_width]), data[count_width:]
    ids = [number(data[i * id_width :][:id_width]) for i in range(count)]
    data = data[count * id_width :]
    offsets = [number(data[i * width :][:width]) for i in range(count + 1)]
    data = data[(count + 1) * width :]
    assert len(data) >= offsets[-1]
    values = [value_of(data[offset:], names) for offset in offsets[:-1]]
    if kind == 3:
        return values
    found = {names[i]: v for i, v in zip(ids, values, strict=True)}
    assert len(found) == count and list(found) == sorted(found, key=str.encode)
    return found


def primitive_of(header: int, data: bytes) -> Any:
    if header in _INTEGERS:
        return signed(data[: _INTEGERS[header]])
    if header in _DECIMALS:
        return Decimal(f"{signed(data[1 : 1 + _DECIMALS[header]])}E-{data[0]}")
    if header in (15, 16):
        size = number(data[:4])
        assert len(data) >= 4 + size
        return data[4 : 4 + size] if header == 15 else data[4 : 4 + size].decode()
    instants = {12: dt.timezone.utc, 13: None, 18: dt.timezone.utc, 19: None}
    if header in instants:
        stored = signed(data[:8])
        micros = EPOCH + dt.timedelta(microseconds=stored if header < 18 else stored // 1000)
        return micros.replace(tzinfo=instants[header])
    return {
        0: lambda: None,
        1: lambda: True,
        2: lambda: False,
        7: lambda: struct.unpack("<d", data[:8])[0],
        11: lambda: (EPOCH + dt.timedelta(days=signed(data[:4]))).date(),
        14: lambda: struct.unpack("<f", data[:4])[0],
        17: lambda: (EPOCH + dt.timedelta(microseconds=signed(data[:8]))).time(),
        20: lambda: uuid.UUID(bytes=data[:16]),
    }[header]()


def metadata_of(*names: str) -> bytes:
    """The metadata whose dictionary has these names, in this order, with offsets of one byte."""
    offsets = [sum(len(n.encode()) for n in names[:i]) for i in range(len(names) + 1)]
    return bytes([1, len(names), *offsets]) + "".join(names).encode()


def object_of(*fields: tuple[int, bytes]) -> bytes:
    """An object of these ids and values, in this order, with widths of one byte."""
    offsets = [sum(len(v) for _, v in fields[:i]) for i in range(len(fields) + 1)]
    return bytes([2, len(fields), *(i for i, _ in fields), *offsets]) + b"".join(v for _, v in fields)
