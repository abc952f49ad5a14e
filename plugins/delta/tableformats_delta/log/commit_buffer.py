"""One reusable block of memory for the texts of many commits: :class:`CommitBuffer`.

Reuse matters: the system clears new memory before it hands it out, which takes as long as reading the texts into it.
And texts that are parsed together must be contiguous; one buffer for all of them saves a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import local
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CommitBuffer", "buffer_of_thread"]

_MAX_KEPT_BYTES = 8 << 20
"""A buffer that grew beyond this size is freed when it is cleared."""
_local = local()


class CommitBuffer:
    """The texts of commits in one block: a line feed after each text, a zero after the last.

    Parameters
    ----------
    texts : iterable of bytes
        The first texts.

    Attributes
    ----------
    starts : list of int
        The offset of each text, then the offset of the next one.
    """

    def __init__(self, texts: Iterable[bytes] = ()) -> None:
        self._bytes = _memory(1)
        self.clear()
        for text in texts:
            self.reserve(len(text))[:] = text
            self.end(len(text))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> bytes:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._bytes[self.starts[number] : self.starts[number + 1] - 1].tobytes()

    def expect(self, sizes: Sequence[int]) -> None:
        """Reserve memory for texts of about these sizes, up to the size that is kept."""
        self.reserve(min(sum(sizes) + len(sizes), _MAX_KEPT_BYTES))

    def reserve(self, size: int) -> memoryview:
        """Writable memory of ``size`` bytes for the next text; a later call replaces the reservation."""
        first = self.starts[-1]
        if first + size + 2 > len(self._bytes):
            grown = _memory(max(first + size + 2, 2 * len(self._bytes)))
            grown[: first + 1] = self._bytes[: first + 1]
            self._bytes = grown  # not resized in place: views of the old memory must stay valid
        return self._bytes[first : first + size].data

    def end(self, size: int) -> None:
        """Complete the next text: it has ``size`` of the bytes that were reserved."""
        last = self.starts[-1] + size
        self._bytes[last], self._bytes[last + 1] = ord("\n"), 0
        self.starts.append(last + 1)

    def data(self) -> np.ndarray:
        """All texts, uint8[starts[-1] + 1]: a view, which the texts after the next :meth:`clear` overwrite."""
        return self._bytes[: self.starts[-1] + 1]

    def clear(self) -> None:
        """Remove all texts; keep the memory unless it grew beyond the size that is kept."""
        self.starts = [0]
        if len(self._bytes) > _MAX_KEPT_BYTES:
            self._bytes = _memory(1)
        self._bytes[0] = 0


def buffer_of_thread() -> CommitBuffer:
    """The buffer of this thread, cleared."""
    buffer: CommitBuffer | None = getattr(_local, "buffer", None)
    if buffer is None:
        buffer = _local.buffer = CommitBuffer()
    buffer.clear()
    return buffer


def _memory(size: int) -> np.ndarray:
    """Uninitialized memory, uint8[size]."""
    import numpy as np

    return np.empty(size, np.uint8)
