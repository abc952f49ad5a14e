"""Stub of the compiled reader of Thrift structs; rules stand in the docstring of ``_thrift.pyx``."""

from typing import Any

import numpy as np

def read_struct(octets: bytes, only: int = -1) -> dict[int, tuple[int, Any]]: ...
def check_chunks(octets: bytes, leaves: np.ndarray) -> None: ...
