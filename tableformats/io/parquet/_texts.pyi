"""Stub of the kernels for texts of data pages. Shapes and errors are documented in ``_texts.pyx``."""

import numpy as np
import numpy.typing as npt

from .data_pages import StoredPage

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt32 = npt.NDArray[np.uint32]
Buffer = bytes | memoryview | UInt8

def plain_places(
    values: Buffer, rows: int, defined: UInt8 | None, chosen: UInt8 | None, starts: Int64, ends: Int64
) -> None: ...
def plain_texts(
    pages: list[StoredPage],
    starts: Int64,
    defined: UInt8 | None,
    chosen: UInt8 | None,
    offsets: Int32,
    out: Buffer,
) -> None: ...
def coded_places(
    codes: UInt32,
    entry_starts: Int64,
    entry_ends: Int64,
    rows: int,
    defined: UInt8 | None,
    chosen: UInt8 | None,
    starts: Int64,
    ends: Int64,
) -> None: ...
def copy_texts(values: Buffer, starts: Int64, ends: Int64, out: Buffer) -> None: ...
