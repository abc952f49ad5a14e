"""Stub of the table of keys. Shapes and errors are documented in ``key_filter.pyx``."""

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
UInt64 = npt.NDArray[np.uint64]

def add_keys(keys: Int64, bits: UInt64, least: int, multiplier: int, shift: int) -> None: ...
def find_keys(values: Int64, bits: UInt64, least: int, multiplier: int, shift: int, out: Int64) -> int: ...
