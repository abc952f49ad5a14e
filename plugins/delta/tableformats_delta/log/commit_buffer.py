"""Texts of commits, read one behind the other into one piece of memory: :class:`CommitBuffer`.

The system clears new memory before anybody has it, which takes as long as reading what then stands there; and texts
that are looked through together would have to be copied together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import local
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CommitBuffer", "buffer_of_thread"]

_MOST_KEPT = 8 << 20
_local = local()


class CommitBuffer:
    """The texts of commits, a line feed behind each and a zero behind all of them.

    ``starts`` has where each text begins, and where the next one would.
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
        """Texts of about these sizes come: they fit into what is made now, if that is not more than usual."""
        self.reserve(min(sum(sizes) + len(sizes), _MOST_KEPT))

    def reserve(self, size: int) -> memoryview:
        """uint8[size], to be written to, behind the texts that are there: the next one, until another is asked for."""
        first = self.starts[-1]
        if first + size + 2 > len(self._bytes):
            grown = _memory(max(first + size + 2, 2 * len(self._bytes)))
            grown[: first + 1] = self._bytes[: first + 1]
            self._bytes = grown  # and not made longer: whoever looks at what was there still does
        return self._bytes[first : first + size].data

    def end(self, size: int) -> None:
        """The text has so many bytes of the room that was asked for."""
        last = self.starts[-1] + size
        self._bytes[last], self._bytes[last + 1] = ord("\n"), 0
        self.starts.append(last + 1)

    def data(self) -> np.ndarray:
        """uint8[starts[-1] + 1]: all of it, in the memory that is written to next."""
        return self._bytes[: self.starts[-1] + 1]

    def clear(self) -> None:
        """Begin again, in the same memory where it is not more than usual."""
        self.starts = [0]
        if len(self._bytes) > _MOST_KEPT:
            self._bytes = _memory(1)
        self._bytes[0] = 0


def buffer_of_thread() -> CommitBuffer:
    """This thread's, empty."""
    texts: CommitBuffer | None = getattr(_local, "texts", None)
    if texts is None:
        texts = _local.texts = CommitBuffer()
    texts.clear()
    return texts


def _memory(size: int) -> np.ndarray:
    """uint8[size], which nobody has touched yet."""
    import numpy as np

    return np.empty(size, np.uint8)
