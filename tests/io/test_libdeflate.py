"""The C functions in another package's wheel are called only if they inflate a known block."""

from __future__ import annotations

import ctypes
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tableformats.io import compression
from tableformats.io.compression import inflates_as_libdeflate, libdeflate

SIZES = ctypes.POINTER(ctypes.c_size_t)
SIGNATURES = (
    ctypes.CFUNCTYPE(ctypes.c_void_p),
    ctypes.CFUNCTYPE(None, ctypes.c_void_p),
    ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, SIZES, SIZES
    ),
    ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t),
)
freed: list[int] = []


def inflate(own: int, source: int, size: int, target: int, room: int, read: Any, written: Any) -> int:
    """libdeflate_deflate_decompress_ex, by zlib."""
    inflater = zlib.decompressobj(-15)
    plain = inflater.decompress(ctypes.string_at(source, size))
    if len(plain) > room:
        return 3
    ctypes.memmove(target, plain, len(plain))
    read[0], written[0] = size - len(inflater.unused_data), len(plain)
    return 0


SOUND: dict[str, Callable[..., Any]] = {
    "alloc": lambda: 7,
    "free": lambda own: freed.append(own),
    "inflate": inflate,
    "adler32": lambda start, source, size: zlib.adler32(ctypes.string_at(source, size), start),
}


def wrong_byte(*arguments: Any) -> int:
    status = inflate(*arguments)
    ctypes.memset(arguments[3] + 9, 0, 1)
    return status


def past_the_room(*arguments: Any) -> int:
    status = inflate(*arguments)
    ctypes.memset(arguments[3] + arguments[4], 0, 1)
    return status


def other_count(*arguments: Any) -> int:
    status = inflate(*arguments)
    arguments[5][0] += 1
    return status


@pytest.fixture
def addresses() -> Iterator[Callable[..., tuple[int, int, int, int]]]:
    kept: list[Any] = []

    def made(**changed: Callable[..., Any]) -> tuple[int, int, int, int]:
        functions = {**SOUND, **changed}
        kept.extend(kind(functions[name]) for kind, name in zip(SIGNATURES, SOUND, strict=True))
        return tuple(ctypes.cast(f, ctypes.c_void_p).value or 0 for f in kept[-4:])  # type: ignore[return-value]

    freed.clear()
    yield made


def test_functions_that_do_as_libdeflate(addresses: Callable[..., tuple[int, int, int, int]]) -> None:
    assert inflates_as_libdeflate(addresses())
    assert freed == [7]


@pytest.mark.parametrize(
    "changed",
    [
        {"alloc": lambda: None},
        {"inflate": lambda *arguments: 1},
        {"inflate": lambda *arguments: 0},
        {"inflate": wrong_byte},
        {"inflate": past_the_room},
        {"inflate": other_count},
        {"adler32": lambda start, source, size: zlib.crc32(ctypes.string_at(source, size))},
    ],
)
def test_other_functions_are_left_alone(
    changed: dict[str, Callable[..., Any]], addresses: Callable[..., tuple[int, int, int, int]]
) -> None:
    assert not inflates_as_libdeflate(addresses(**changed))


def test_what_is_installed_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("deflate")
    found = libdeflate.__wrapped__()
    monkeypatch.setattr(compression, "inflates_as_libdeflate", lambda functions: False)
    assert libdeflate.__wrapped__() is None
    assert found is None or inflates_as_libdeflate(found)
