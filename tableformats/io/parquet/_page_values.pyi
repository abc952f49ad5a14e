"""Stub of the kernels for values of data pages. Shapes and errors are documented in ``_page_values.pyx``."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .data_pages import StoredPage

UInt8 = npt.NDArray[np.uint8]
Int64 = npt.NDArray[np.int64]
Buffer = bytes | memoryview | UInt8

def decompress_pages(
    pages: list[StoredPage], into: Callable[[memoryview, memoryview], int], room: memoryview
) -> None: ...
def find_values(pages: list[StoredPage], is_optional: bool, starts: Int64, counts: Int64, levels: UInt8) -> None: ...
def read_fixed_width(
    pages: list[StoredPage],
    into: Callable[[memoryview, memoryview], int] | None,
    is_optional: bool,
    width: int,
    entries: Buffer,
    runs: Int64,
    out: Buffer,
    levels: UInt8,
) -> int: ...
def read_integers_without(
    pages: list[StoredPage],
    into: Callable[[memoryview, memoryview], int] | None,
    is_optional: bool,
    width: int,
    entries: Buffer,
    runs: Int64,
    out: Buffer,
    levels: UInt8,
    keys: tuple[npt.NDArray[np.uint64], int, int, int, Int64],
    places: Int64,
) -> tuple[int, bool]: ...
def read_coded_rows(
    pages: list[StoredPage],
    into: Callable[[memoryview, memoryview], int] | None,
    is_optional: bool,
    entry_count: int,
    runs: Int64,
    out: Buffer,
    levels: UInt8,
) -> int: ...
def mark_runs(runs: Int64, out: UInt8) -> None: ...
