"""Stub of the compiled reader of JSON members; shapes and rules stand in the docstrings of ``_json.pyx``."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

UInt8 = npt.NDArray[np.uint8]
Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

class MemberColumns:
    sound: UInt8
    def __init__(
        self,
        offsets: Int32,
        data: UInt8,
        members: Sequence[tuple[bytes, int, int, int]],
        columns: int,
        chosen: Int64 | None = None,
    ) -> None: ...
    def int64(self, column: int) -> tuple[Int64, UInt8]: ...
    def double(self, column: int) -> tuple[npt.NDArray[np.float64], UInt8]: ...
    def decimal(self, column: int, scale: int) -> tuple[npt.NDArray[np.uint64], UInt8]: ...
    def text(self, column: int) -> tuple[Int32, UInt8, UInt8]: ...
    def raw(self, column: int, cells: UInt8) -> tuple[Int32, UInt8]: ...
    def kinds(self, column: int) -> UInt8: ...
