"""Credentials stay where they are needed: out of locations, out of what errors say, out of every repr.

Callers give them as ``storage_options`` or inside of a location (``s3://key:secret@bucket/t``, a query of a signed
URL). Here a location is taken apart into what may be shown and the whole, and a file system is wrapped so that no
error of it says what was given: not its text, nor that of the errors behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote

__all__ = ["Guarded", "HiddenOptions", "Scrubber", "without_secrets"]

HIDDEN = "***"
_USER = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+://)([^/@]*:[^/@]*)@")
_QUERY = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+://[^?]*)\?([A-Za-z0-9_.%-]+=.*)$", re.DOTALL)
_LEAST = 4
"""Texts that are shorter are no secrets, and would be found in anything."""


def without_secrets(location: str) -> str:
    """``location`` without ``user:password@`` and without a query; a user without a password (``abfss://container@``)
    names no secret and stays. Source: RFC 3986, "User Information"; pyarrow's file system URIs."""
    location = _QUERY.sub(r"\1", location)
    return _USER.sub(r"\1", location)


def _parts(location: str) -> Iterator[str]:
    """The texts of a location that :func:`without_secrets` leaves out."""
    if found := _QUERY.match(location):
        yield found[2]
        for pair in found[2].split("&"):
            value = pair.partition("=")[2]
            yield from (value, unquote(value))
    if found := _USER.match(location):
        for text in (found[2], *found[2].split(":")):
            yield from (text, unquote(text))


class HiddenOptions(dict[str, Any]):
    """Options whose repr shows their names alone."""

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {HIDDEN}' for name in self)}}}"

    __str__ = __repr__

    def __reduce__(self) -> Any:
        raise TypeError("options of a store may be credentials and are not pickled")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, (str, bytes)):
        yield value if isinstance(value, str) else value.decode(errors="replace")
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for member in value:
            yield from _texts(member)


class Scrubber:
    """Takes what ``options`` and ``locations`` hold out of texts and errors."""

    def __init__(self, options: Mapping[str, Any], locations: Iterable[str]) -> None:
        found = {text for text in _texts(options) if len(text) >= _LEAST}
        found |= {text for location in locations for text in _parts(location) if len(text) >= _LEAST}
        self._secrets = sorted(found, key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text

    def error(self, error: BaseException | None) -> None:
        """Take the secrets out of an error and of all errors that led to it, in place: their types and places stay."""
        seen: set[int] = set()
        left = [error]
        while left:
            one = left.pop()
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            left += [one.__cause__, one.__context__]
            one.args = tuple(self._value(value) for value in one.args)
            for name in ("strerror", "filename", "filename2", "msg", "message"):
                if isinstance(value := getattr(one, name, None), str) and self.text(value) != value:
                    setattr(one, name, self.text(value))
            if self.text(repr(one) + str(one)) != repr(one) + str(one):
                one.args = (f"{type(one).__name__}: {HIDDEN}",)

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.text(value.decode(errors="replace"))
        if isinstance(value, (dict, list, tuple, set)) or not isinstance(value, (int, float, bool, type(None))):
            return value if self.text(repr(value)) == repr(value) else HIDDEN
        return value


class Guarded:
    """An object, and all files that it opens, whose methods raise errors without secrets."""

    def __init__(self, inner: Any, scrubber: Scrubber) -> None:
        self._inner = inner
        self._scrubber = scrubber

    def __repr__(self) -> str:
        return f"Guarded({type(self._inner).__name__})"

    def __reduce__(self) -> Any:
        raise TypeError("a file system may hold credentials and is not pickled")

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        return self._method(value) if callable(value) else value

    def __eq__(self, other: object) -> bool:
        return self._inner == (other._inner if isinstance(other, Guarded) else other)

    __hash__ = None  # type: ignore[assignment]

    def _method(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            try:
                found = method(*arguments, **options)
            except Exception as error:
                self._scrubber.error(error)
                raise
            return Guarded(found, self._scrubber) if hasattr(found, "read") and hasattr(found, "seek") else found

        return call
