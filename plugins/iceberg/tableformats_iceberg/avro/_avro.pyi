from typing import Any, NamedTuple

import numpy as np

class AvroDecodeError(ValueError):
    offset: int
    limit: bool
    def __init__(self, message: str, offset: int, limit: bool = ...) -> None: ...

class Buffers(NamedTuple):
    values: np.ndarray | None
    offsets: np.ndarray | None
    data: np.ndarray | None
    valid: np.ndarray | None
    width: int | None
    flaws: int | None

HAS_NUL: int
NOT_UTF8: int

def read_metadata(data: Any, offset: int) -> tuple[dict[str, bytes], int]: ...
def widen_decimals(offsets: np.ndarray | None, data: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]: ...
def read_varint(data: Any, offset: int) -> tuple[int, int]: ...

class Inflater:
    capacity: int
    def __init__(self, functions: tuple[int, int, int, int]) -> None: ...

class BlockDecoder:
    rows: int
    def __init__(
        self,
        program: np.ndarray,
        kinds: np.ndarray,
        parents: np.ndarray,
        sparse_start: int,
        keys: np.ndarray,
        drop_column: int,
        drop_value: int,
        memory_limit: int,
    ) -> None: ...
    def expect(self, records: int) -> None: ...
    def decode(self, block: Any, count: int) -> None: ...
    def decode_file(
        self,
        data: Any,
        offset: int,
        sync: bytes,
        min_size: int,
        most_records: int,
        inflater: Inflater | None,
        limit: int,
        total: int,
        ahead: int,
    ) -> bool: ...
    def append(self, more: BlockDecoder) -> bool: ...
    def column(self, index: int) -> Buffers: ...
