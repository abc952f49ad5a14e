"""Stub of the kernels of coded texts. Shapes and errors are documented in ``coded_texts.pyx``."""

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
UInt8 = npt.NDArray[np.uint8]

def find_text_ends(codes: Int32, offsets: Int32, out: Int32) -> None: ...
def copy_coded_texts(codes: Int32, offsets: Int32, data: UInt8, out: UInt8) -> None: ...
