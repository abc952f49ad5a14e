"""Stub of the pruning kernels. Shapes and errors are documented in ``pruning.pyx``."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]

def locate_int64(values: Int64, literals: Int64, out: Int32) -> None: ...
def locate_float64(values: npt.NDArray[np.float64], literals: npt.NDArray[np.float64], out: Int32) -> None: ...
def locate_decimal128(values: UInt8, literals: UInt8, out: Int32) -> None: ...
def locate_bytes(
    offsets: Int32 | Int64, data: UInt8, literal_offsets: Int32, literal_data: UInt8, out: Int32
) -> None: ...
def leaf_mask(
    lower_code: Int32,
    upper_code: Int32,
    top: int,
    may_value: UInt8,
    may_null: UInt8,
    first: int,
    last: int,
    odd_only: bool,
    negate: bool,
    out: UInt8,
) -> None: ...
def and_masks(a: UInt8, b: UInt8, out: UInt8) -> None: ...
def or_masks(a: UInt8, b: UInt8, out: UInt8) -> None: ...
def not_mask(mask: UInt8, out: UInt8) -> None: ...
def intersect_masks(a: UInt8, b: UInt8, out: UInt8) -> None: ...
def verdicts(mask: UInt8, out: UInt8) -> None: ...
def fill_unknown(codes: Int32, validity: UInt8 | None, first: int, code: int) -> None: ...
def count_flags(
    counts: Sequence[Int64 | None],
    validities: Sequence[UInt8 | None],
    firsts: Sequence[int],
    has_nan: bool,
    may_value: UInt8,
    may_null: UInt8,
    may_nan: UInt8,
) -> None: ...
def bucket_hits(
    lower_code: Int32, upper_code: Int32, bucket: Int64, buckets: Int32, n_buckets: int, out: UInt8
) -> None: ...
