"""Pickles of tables, snapshots, scans, plans and tasks: for another process of the same release, and free of secrets.

Each carries the number of the form that it has. One of another form is refused with a typed error before anything is
made of it, because pickles of other releases may be read and mean something else.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import UnsupportedFeatureError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PICKLE_FORMAT", "Portable", "compact"]

PICKLE_FORMAT = 2
"""Counts up whenever what is pickled changes."""

T = TypeVar("T", bound="Portable")


class Portable:
    """What is pickled by its attributes, as :meth:`_state` gives them, beside :data:`PICKLE_FORMAT`."""

    def __reduce__(self) -> tuple[Any, ...]:
        # The state comes behind the call that checks the form, so that nothing of it is made before.
        return _empty, (PICKLE_FORMAT, type(self)), self._state()

    def _state(self) -> dict[str, Any]:
        """The attributes that another process gets: of a dataclass its fields, and nothing that was kept since."""
        if is_dataclass(self):
            return {f.name: getattr(self, f.name) for f in fields(self)}
        return dict(self.__dict__)


def compact(table: pa.Table) -> pa.Table:
    """The same rows alone: of a slice Arrow pickles all that it was cut from."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def _empty(form: int, cls: type[T]) -> T:
    if form != PICKLE_FORMAT:
        raise UnsupportedFeatureError(
            f"this {cls.__name__} was pickled in form {form}, and here is form {PICKLE_FORMAT}",
            field="pickle",
            hint="Pickles are for processes of one release: use the same release everywhere, or make the object again",
        )
    return cls.__new__(cls)
