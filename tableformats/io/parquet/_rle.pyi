"""Stub of the kernels for codes. Shapes and errors are documented in ``_rle.pyx``."""

import numpy as np
import numpy.typing as npt

def read_codes(data: bytes | memoryview | npt.NDArray[np.uint8], out: npt.NDArray[np.uint32]) -> None: ...
