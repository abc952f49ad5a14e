"""The error hierarchy: every error that a caller may want to catch, and nothing else.

Each error carries what it knows as attributes (``path``, ``offset``, ``field``) and says them in its message
together with what to do next. Each also is the builtin that fits, so code that knows nothing of us catches it.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AmbiguousFormatError",
    "CorruptMetadataError",
    "InvalidPredicateError",
    "LimitExceededError",
    "PathNotAllowedError",
    "PluginContractError",
    "PluginLoadError",
    "SnapshotNotFoundError",
    "TableFormatsError",
    "TableNotFoundError",
    "UnknownFormatError",
    "UnsupportedFeatureError",
]


class TableFormatsError(Exception):
    """Base of all errors of this library.

    Parameters
    ----------
    message : what was wrong, in one sentence
    path : the file or location concerned
    offset : byte offset in that file
    field : the column, field or feature concerned
    hint : what to do next
    """

    default_hint: ClassVar[str | None] = None
    """What to do next where the raiser knows nothing better."""

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        field: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.offset = offset
        self.field = field
        self.hint = hint if hint is not None else self.default_hint

    def __str__(self) -> str:
        where = []
        if self.path is not None:
            where.append(f"path {self.path!r}")
        if self.offset is not None:
            where.append(f"offset {self.offset}")
        if self.field is not None:
            where.append(f"field {self.field!r}")
        text = self.message + (f" ({', '.join(where)})" if where else "")
        return _printable(f"{text}. {self.hint}" if self.hint else text)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.__dict__.copy()))


def _printable(text: str) -> str:
    """What a table's bytes brought into a message can neither steer a terminal nor begin a line of a log."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _rebuild(cls: type[TableFormatsError], message: str, state: dict[str, object]) -> TableFormatsError:
    error = cls.__new__(cls)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class TableNotFoundError(TableFormatsError, FileNotFoundError):
    """Nothing is at the location."""

    __str__ = TableFormatsError.__str__


class UnknownFormatError(TableFormatsError, ValueError):
    """Something is at the location, but no installed plugin calls it a table."""


class AmbiguousFormatError(TableFormatsError, ValueError):
    """Two plugins claim the location; ``format=`` decides."""


class SnapshotNotFoundError(TableFormatsError, LookupError):
    """The version, timestamp, branch or tag does not exist (any more)."""


class InvalidPredicateError(TableFormatsError, ValueError):
    """The filter does not parse, names no column, or compares what cannot be compared."""


class CorruptMetadataError(TableFormatsError, ValueError):
    """The table's own bytes contradict the format: damaged, truncated or incomplete."""

    default_hint = (
        "The table's own files are damaged, or a writer is at work on them: open the table again, restore them, or "
        "read an older version"
    )


class UnsupportedFeatureError(TableFormatsError, NotImplementedError):
    """The table or the call needs a feature that is not built; ``field`` names it."""

    default_hint = "Nothing was read; another reader may know the feature"


class PathNotAllowedError(TableFormatsError, PermissionError):
    """The table's metadata names a path outside of what the caller allowed."""

    __str__ = TableFormatsError.__str__


class LimitExceededError(TableFormatsError, ValueError):
    """What the table's bytes claim passes a limit.

    ``limit`` and ``value`` are the name and the value of the one of :class:`tableformats.Limits`; None where it cannot
    be raised, because it is the width of a type.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        field: str | None = None,
        hint: str | None = None,
        limit: str | None = None,
        value: int | None = None,
    ) -> None:
        super().__init__(message, path=path, offset=offset, field=field, hint=hint)
        self.limit = limit
        self.value = value


class PluginLoadError(TableFormatsError, ImportError):
    """An installed plugin could not be loaded; raised when its format is asked for."""

    __str__ = TableFormatsError.__str__


class PluginContractError(TableFormatsError, TypeError):
    """A plugin returned what the interface does not allow."""
