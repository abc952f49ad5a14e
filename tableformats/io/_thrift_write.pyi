"""Stub of the compiled writer of Thrift structs. The docstrings of ``_thrift_write.pyx`` give the rules."""

from typing import Any

def write_struct(fields: dict[int, tuple[int, Any]]) -> bytes: ...
