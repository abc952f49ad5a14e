"""Stub of the kernels that drop rows. Shapes and errors are documented in ``rows.pyx``."""

import numpy as np
import numpy.typing as npt

Offsets = npt.NDArray[np.int32] | npt.NDArray[np.int64]

def drop_values(
    values: npt.NDArray[np.uint8], width: int, dropped: npt.NDArray[np.int64], out: npt.NDArray[np.uint8]
) -> None: ...
def drop_texts(
    offsets: Offsets,
    data: npt.NDArray[np.uint8],
    dropped: npt.NDArray[np.int64],
    out_offsets: Offsets,
    out: npt.NDArray[np.uint8],
) -> None: ...
def drop_from_runs(runs: npt.NDArray[np.int64], dropped: npt.NDArray[np.int64], out: npt.NDArray[np.int64]) -> int: ...
def find_runs(mask: npt.NDArray[np.uint8], first: int, out: npt.NDArray[np.int64]) -> int: ...
