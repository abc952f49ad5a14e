"""Stub of the compiled builder of file keys. The docstrings of ``_keys.pyx`` give shapes and rules."""

import numpy as np
import numpy.typing as npt

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]

def holds_any(data: UInt8, octets: bytes) -> bool: ...
def with_endings(
    offsets: Int32, data: UInt8, rows: npt.NDArray[np.int64], ending_offsets: Int32, endings: UInt8
) -> tuple[Int32, UInt8]: ...
