"""Stub of the compiled reader of Thrift structs; rules stand in the docstring of ``_thrift.pyx``."""

from typing import Any

def read_struct(octets: bytes) -> dict[int, tuple[int, Any]]: ...
