"""Pickle tables, snapshots, scans, plans and tasks for another process of the same release, without credentials.

Each pickle has the number of its format. A pickle of another format is refused with a typed error before any object is
made from it, because it might load without an error and mean something else.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import UnsupportedFeatureError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PICKLE_FORMAT", "Portable", "compact"]

PICKLE_FORMAT = 2
"""Incremented whenever the pickled state of any class changes."""

T = TypeVar("T", bound="Portable")


class Portable:
    """Base of classes that are pickled as the attributes that :meth:`_state` returns, with :data:`PICKLE_FORMAT`."""

    def __reduce__(self) -> tuple[Any, ...]:
        # The state follows the call that checks the format, so that nothing is loaded from it before.
        return _empty, (PICKLE_FORMAT, type(self)), self._state()

    def _state(self) -> dict[str, Any]:
        """The attributes that another process gets: a dataclass's fields, without cached properties."""
        if is_dataclass(self):
            return {f.name: getattr(self, f.name) for f in fields(self)}
        return dict(self.__dict__)


def compact(table: pa.Table) -> pa.Table:
    """A copy of the rows. Arrow pickles a slice with all the rows of its parent."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def _empty(form: int, cls: type[T]) -> T:
    """An object without attributes, if the pickle has our format."""
    if form != PICKLE_FORMAT:
        raise UnsupportedFeatureError(
            f"this {cls.__name__} was pickled in form {form}, and here is form {PICKLE_FORMAT}",
            field="pickle",
            hint="Pickles are for processes of one release: use the same release everywhere, or make the object again",
        )
    return cls.__new__(cls)
