"""One decoded column of Avro values. It owns the memory that the decoder filled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tableformats.plugin import compute as pc
from tableformats.plugin import dataclass, text_buffers, to_arrow

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["RawColumn"]


@dataclass
class RawColumn:
    """A column of numbers, or of bytes in the layout of Arrow's binary type.

    Attributes
    ----------
    numbers : int64[n], optional
        Integers, the bits of floats, or the ends of lists. None for bytes.
    offsets : int32[n + 1], optional
        Offsets into ``data``. None for numbers.
    data : uint8[m], optional
    known : bool[n], optional
        Which rows are not null. None: all.
    width : int, optional
        The size of every value that is not null. None: the sizes differ, or all values are null.
    flaws : int, optional
        For text: ``HAS_NUL | NOT_UTF8`` of the decoder. None: the bytes were not checked.
    avro : dict
        The Avro type of the values. Empty: the file has no such field.
    """

    numbers: np.ndarray | None
    offsets: np.ndarray | None
    data: np.ndarray | None
    known: np.ndarray | None
    width: int | None
    flaws: int | None
    avro: dict[str, Any]

    def __len__(self) -> int:
        if self.offsets is not None:
            return len(self.offsets) - 1
        return len(self.values)

    @property
    def values(self) -> np.ndarray:
        """The numbers. Zeros where the file has no such field."""
        assert self.numbers is not None
        return self.numbers

    @property
    def is_bytes(self) -> bool:
        return self.offsets is not None

    @property
    def nbytes(self) -> int:
        arrays = (self.numbers, self.offsets, self.data, self.known)
        return sum(array.nbytes for array in arrays if array is not None)

    @property
    def null_count(self) -> int:
        import numpy as np

        return 0 if self.known is None else len(self) - int(np.count_nonzero(self.known))

    @property
    def valid(self) -> np.ndarray:
        """bool[n]: which rows are not null."""
        import numpy as np

        return np.ones(len(self), bool) if self.known is None else self.known

    @property
    def mask(self) -> np.ndarray | None:
        """bool[n]: which rows are null, as Arrow expects it. None: no row is null."""
        return None if self.known is None else ~self.known

    @property
    def sizes(self) -> np.ndarray:
        """int32[n]: the byte length of each value, 0 for null."""
        import numpy as np

        assert self.offsets is not None
        return np.diff(self.offsets)

    def integers(self, default: int = 0) -> np.ndarray:
        """int64[n] with ``default`` for nulls."""
        import numpy as np

        return self.values if self.known is None else np.where(self.known, self.values, default)

    def int_array(self, kind: pa.DataType | None = None) -> pa.Array:
        """The integers as an Arrow array, int64 unless ``kind``, which must hold them all, says otherwise."""
        array = to_arrow(self.values, valid=self.known)
        return array if kind is None else pc.cast(array, kind)

    def take(self, rows: np.ndarray | None) -> RawColumn:
        """The rows at the indices ``rows`` (int64[k]). None: all rows."""
        if rows is None:
            return self
        known = None if self.known is None else self.known[rows]
        if self.offsets is None:
            return RawColumn(self.values[rows], None, None, known, None, self.flaws, self.avro)
        offsets, data = self._gather(rows)
        return RawColumn(None, offsets, data, known, self.width, self.flaws, self.avro)

    def _gather(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np
        import pyarrow as pa

        assert self.data is not None
        if self.width and self.known is None:
            offsets = np.arange(len(rows) + 1, dtype=np.int32) * np.int32(self.width)
            return offsets, self.data.reshape(len(self), self.width)[rows].ravel()
        return text_buffers(pc.take(self.bytes_array(pa.binary()), to_arrow(rows)))

    def bytes_array(self, kind: pa.DataType) -> pa.Array:
        """The byte values as the Arrow type ``kind`` (string or binary). Neither copied nor validated."""
        import pyarrow as pa

        if self.offsets is None:
            return pa.nulls(len(self), kind)
        validity = None if self.known is None else to_arrow(self.known).buffers()[1]
        buffers = [validity, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(kind, len(self), buffers)

    def list_offsets(self) -> np.ndarray:
        """int64[n + 1]: offsets into the children of a list column."""
        import numpy as np

        return np.concatenate([np.zeros(1, np.int64), self.values])
