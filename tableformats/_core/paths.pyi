"""Stub of the kernels over paths. Shapes and errors are documented in ``paths.pyx``."""

import numpy as np
import numpy.typing as npt

Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]

def path_kinds(offsets: Offsets, data: UInt8, encoded: bool) -> UInt8: ...
def texts_with_prefix(offsets: Offsets, data: UInt8, prefix: bytes, skip: int) -> list[str]: ...
