"""The error hierarchy: every error that a caller may want to catch.

Each error has attributes for the place (``path``, ``offset``, ``field``). Its message names them and says what to do
next. Each error is also the built-in error that fits, so that code which does not know this library can catch it.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AmbiguousFormatError",
    "CatalogConnectionError",
    "CatalogError",
    "CatalogNotFoundError",
    "CatalogPermissionError",
    "CommitConflictError",
    "CommitUnknownError",
    "ConstraintViolationError",
    "CorruptMetadataError",
    "InvalidPredicateError",
    "LimitExceededError",
    "MissingExtraError",
    "NamespaceNotFoundError",
    "PathNotAllowedError",
    "PluginContractError",
    "PluginLoadError",
    "SnapshotNotFoundError",
    "StoreConnectionError",
    "StoreError",
    "StorePermissionError",
    "StoreThrottledError",
    "StoreTimeoutError",
    "TableExistsError",
    "TableFormatsError",
    "TableNotFoundError",
    "UnknownFormatError",
    "UnsupportedFeatureError",
]


class TableFormatsError(Exception):
    """Base of all errors of this library.

    Parameters
    ----------
    message : str
        What was wrong, in one sentence.
    path : str, optional
        The file or location.
    offset : int, optional
        The byte offset in that file.
    field : str, optional
        The column, field or feature.
    hint : str, optional
        What to do next. None: :attr:`default_hint`.

    Attributes
    ----------
    committed : bool or None
        Of an error out of a verb that writes. False: certainly nothing was committed. True: the commit was made, and
        what came after it failed. None: unknown, and the hint of :class:`CommitUnknownError` says how to find out; or
        nothing had been begun.
    """

    default_hint: ClassVar[str | None] = None
    """The hint of errors that are raised without one."""
    committed: bool | None = None

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
        text = _followed(text, self.hint) if self.hint else text
        if self.committed is False and not any(f"othing was {done}" in text for done in ("committed", "written")):
            text = _followed(text, "Nothing was committed")
        if self.committed:
            text = _followed(text, "The commit was made: do not run it again")
        return _printable(text)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.message, self.__dict__.copy()))


def _followed(text: str, sentence: str) -> str:
    return f"{text.removesuffix('.')}. {sentence}"


def _printable(text: str) -> str:
    """``text`` with control characters escaped: a table's bytes must not control a terminal or forge lines of a log."""
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


class TableExistsError(TableFormatsError, FileExistsError):
    """A table is at the location where one shall be created. Nothing was written."""

    default_hint = "Nothing was written: choose another location, or say by if_exists or mode what is done"
    committed = False
    __str__ = TableFormatsError.__str__


class NamespaceNotFoundError(TableNotFoundError):
    """The catalog has no such namespace."""

    __str__ = TableFormatsError.__str__


class UnknownFormatError(TableFormatsError, ValueError):
    """No installed plugin recognizes a table at the location."""


class AmbiguousFormatError(TableFormatsError, ValueError):
    """Several plugins recognize a table at the location. Pass ``format=`` to choose one."""


class SnapshotNotFoundError(TableFormatsError, LookupError):
    """The version, timestamp, branch or tag does not exist, or no longer exists."""


class InvalidPredicateError(TableFormatsError, ValueError):
    """The filter cannot be parsed, names no column, or compares values that do not compare."""


class CorruptMetadataError(TableFormatsError, ValueError):
    """The table's files violate the format: they are damaged, truncated or incomplete."""

    default_hint = (
        "The table's own files are damaged, or a writer is at work on them: open the table again, restore them, or "
        "read an older version"
    )


class UnsupportedFeatureError(TableFormatsError, NotImplementedError):
    """The table or the call needs a feature that is not supported. ``field`` names it."""

    default_hint = "Nothing was read; another reader may know the feature"


class CommitConflictError(TableFormatsError):
    """Another writer changed what a commit depends on. Nothing was committed."""

    default_hint = "Nothing was committed: look at the table's history, then run the operation again"
    committed = False


class CommitUnknownError(TableFormatsError):
    """The store does not say whether a commit landed. Its data files are kept."""

    default_hint = "Do not run it again before table.history() shows whether the commit with this txnId is there"


class ConstraintViolationError(TableFormatsError, ValueError):
    """The data does not fit into the table. Nothing was committed."""

    default_hint = "Nothing was committed: correct the data"
    committed = False


class PathNotAllowedError(TableFormatsError, PermissionError):
    """The table's metadata names a path that the caller did not allow."""

    __str__ = TableFormatsError.__str__


class LimitExceededError(TableFormatsError, ValueError):
    """The table claims more than a limit allows.

    Attributes
    ----------
    limit : str or None
        The field of :class:`tableformats.Limits`. None: the limit is the width of a type and cannot be raised.
    value : int or None
        The value of that field.
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
    """An installed plugin could not be loaded. Raised when its format is used."""

    __str__ = TableFormatsError.__str__


class PluginContractError(TableFormatsError, TypeError):
    """A plugin violated the interface."""


class StoreError(TableFormatsError, OSError):
    """The store did not answer, or refused: nothing is known of the table, and nothing in it needs to be repaired.

    Attributes
    ----------
    bucket : str or None
        The bucket, container or host. ``path`` has the key too.
    status : int or None
        The HTTP status.
    code : str or None
        The store's own name of the fault, such as ``AccessDenied``.
    request_id : str or None
        The store's number of the request, where its answer has one.
    """

    default_hint = "Try again; if it goes on, check the store's status and the endpoint"
    __str__ = TableFormatsError.__str__

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        field: str | None = None,
        hint: str | None = None,
        bucket: str | None = None,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(message, path=path, offset=offset, field=field, hint=hint)
        self.bucket = bucket
        self.status = status
        self.code = code
        self.request_id = request_id


class StorePermissionError(StoreError, PermissionError):
    """The store refused the credentials, or they do not allow the request."""

    default_hint = "Check the credentials in storage_options or in the environment, and what they allow"
    __str__ = TableFormatsError.__str__


class StoreThrottledError(StoreError):
    """The store asked for fewer requests, and went on to do so in all retries."""

    default_hint = "Try again later, or with fewer requests at once (the storage option max_concurrency)"


class StoreTimeoutError(StoreError, TimeoutError):
    """The store did not answer in time."""

    default_hint = "Check the endpoint and the network, or raise the storage options read_timeout and timeout"
    __str__ = TableFormatsError.__str__


class StoreConnectionError(StoreError, ConnectionError):
    """The store could not be reached, or the connection broke in every retry."""

    default_hint = "Check the endpoint, the region and the network"
    __str__ = TableFormatsError.__str__


class CatalogError(TableFormatsError):
    """The catalog gave no answer that could be used. Nothing is known of its tables.

    Attributes
    ----------
    catalog : str or None
        The catalog's name. ``path`` is the identifier that was asked for.
    """

    default_hint = "Check the catalog's properties; docs/catalogs.md lists them"

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        field: str | None = None,
        hint: str | None = None,
        catalog: str | None = None,
    ) -> None:
        super().__init__(message, path=path, offset=offset, field=field, hint=hint)
        self.catalog = catalog


class CatalogNotFoundError(CatalogError, LookupError):
    """Nothing is configured under the catalog's name."""


class CatalogPermissionError(CatalogError, PermissionError):
    """The catalog refused the credentials, or they do not allow the request."""

    default_hint = "Check the catalog's credentials (token, credential, keys or profile), and what they allow"
    __str__ = TableFormatsError.__str__


class CatalogConnectionError(CatalogError, ConnectionError):
    """The catalog could not be reached, failed, or did not answer in time."""

    default_hint = "Check the catalog's address and the network, or try again"
    __str__ = TableFormatsError.__str__


class MissingExtraError(TableFormatsError, ImportError):
    """A library that the call needs is not installed. ``field`` names the extra, ``name`` the library."""

    __str__ = TableFormatsError.__str__

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        field: str | None = None,
        hint: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(message, path=path, offset=offset, field=field, hint=hint)
        self.name = name
