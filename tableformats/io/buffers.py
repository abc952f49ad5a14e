"""Memory that one thread uses for one file after the other."""

from __future__ import annotations

__all__ = ["ReusableBuffer"]

_MAX_KEPT_BYTES = 8 << 20
"""A buffer keeps at most so much memory between two files."""


class ReusableBuffer:
    """Memory for one file at a time, which one thread reads, decodes and releases before it reads the next.

    The operating system clears new memory before a process gets it. That takes as long as reading the file does, so
    memory is used again.
    """

    def __init__(self) -> None:
        self._memory = memoryview(bytearray())

    def reserve(self, size: int) -> memoryview:
        """Memory for the next file.

        Parameters
        ----------
        size : int
            Bytes.

        Returns
        -------
        memoryview
            uint8[size], writable, with arbitrary content. It shares memory with what was returned before.
        """
        if size > _MAX_KEPT_BYTES:
            return _uninitialized(size)
        if size > len(self._memory):
            self._memory = _uninitialized(min(2 * size, _MAX_KEPT_BYTES))
        return self._memory[:size]


def _uninitialized(size: int) -> memoryview:
    """uint8[size] that nobody has cleared."""
    import numpy as np

    return np.empty(size, np.uint8).data
