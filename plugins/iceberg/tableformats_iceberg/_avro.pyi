from typing import Any

import numpy as np

class AvroDecodeError(ValueError):
    offset: int
    limit: bool
    def __init__(self, message: str, offset: int, limit: bool = ...) -> None: ...

def read_varint(data: Any, offset: int) -> tuple[int, int]: ...

class BlockDecoder:
    def __init__(
        self, program: np.ndarray, has_data: np.ndarray, sparse_start: int, keys: np.ndarray, memory_limit: int
    ) -> None: ...
    def decode(self, block: Any, count: int) -> None: ...
    def column(self, index: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray | None]: ...
