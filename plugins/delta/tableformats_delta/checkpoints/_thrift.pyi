"""Stub of the compiled reader of Thrift structs. The docstrings of ``_thrift.pyx`` give the rules."""

from typing import Any

import numpy as np

def read_struct(octets: bytes, only: int = -1) -> dict[int, tuple[int, Any]]: ...
def check_chunks(octets: bytes, leaves: np.ndarray) -> None: ...
