"""Keep credentials out of locations, errors and reprs.

Callers give credentials in ``storage_options`` or inside a location (``s3://key:secret@bucket/t``, the query of a
signed URL). :func:`without_credentials` makes a location that may be shown. :class:`Redactor` knows what is secret and
replaces it in texts and errors. :class:`RedactingProxy` wraps a file system, so that no error that it raises, and none
that led to it, shows a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..lazy_pattern import lazy_pattern
from .paths import percent_decoded

__all__ = ["HiddenOptions", "RedactingProxy", "Redactor", "masked", "user_of", "without_credentials"]

REDACTED = "***"
_SCHEME = lazy_pattern(r"^([A-Za-z][A-Za-z0-9+.-]*)://")
_QUERY = lazy_pattern(r"\?(?=[A-Za-z0-9_.%-]+=)")
_PARAMETERS = lazy_pattern(r"[#;](?=[A-Za-z0-9_.%-]+=[^/]*$)")
"""A fragment, or parameters of the last part of a path, that give values to names."""
_SIGNED = lazy_pattern(
    r"[?&#;](?=(?:sig|signature|token|x-amz-[a-z-]+|x-goog-[a-z-]+|[a-z_-]*(?:secret|password))=)", re.IGNORECASE
)
_PORT = lazy_pattern(r"[^:]*:\d{0,5}$")
_WEB = ("http", "https")
_NO_SECRETS = ("endpoint", "region")
"""Parts of names of options whose values are addresses: a mistyped one must be readable in an error."""
_MIN_SECRET_LENGTH = 4
"""Shorter texts are no secrets, and occur in any message."""


def without_credentials(location: str) -> str:
    """``location`` without ``user:password@``, without a query, and without a fragment or parameters that have values.

    A password may hold ``/`` and ``@``, as the keys of S3 do. A user without a password is a token in a web address.
    Elsewhere it is no secret and stays (``abfss://container@``). Source: RFC 3986, "User Information"; pyarrow's file
    system URIs.
    """
    return _split(location)[0]


def masked(location: str) -> str:
    """``location`` with a mark in the place of its credentials, and of whatever query it has."""
    shown, user, values = _split(location)
    scheme = _SCHEME.match(shown)
    if scheme is None:
        return location
    rest, mark, _ = shown[scheme.end() :].partition("?")
    return f"{scheme[0]}{'…@' if user else ''}{rest}{'?…' if mark or values else ''}"


def user_of(location: str) -> str:
    """``user:password``, or the token, of a location as it is written there; empty where it has none."""
    return _split(location)[1]


def _split(location: str) -> tuple[str, str, str]:
    """A location without credentials, its user and password, and its query, fragment or parameters; empty if none."""
    scheme = _SCHEME.match(location)
    if scheme is None:
        return location, "", ""
    rest = location[scheme.end() :]
    starts = [found.start() for mark in (_QUERY, _PARAMETERS, _SIGNED) if (found := mark.search(rest))]
    rest, values = (rest[: min(starts)], rest[min(starts) + 1 :]) if starts else (rest, "")
    authority, slash, path = rest.partition("/")
    user = ""
    if "@" in authority:
        before, _, host = authority.rpartition("@")
        if ":" in before or scheme[1].lower() in _WEB:
            user, rest = before, host + slash + path
    elif "@" in path and ":" in authority and not _PORT.match(authority):
        user, _, rest = rest.rpartition("@")
    return scheme[0] + rest, user, values


def _credentials_in(location: str) -> Iterator[str]:
    """The texts that :func:`without_credentials` leaves out of a location."""
    _, user, values = _split(location)
    if values:
        yield values
        for pair in re.split("[&;#]", values):
            value = pair.partition("=")[2]
            yield from (value, percent_decoded(value))
    if user:
        # Whoever takes such a location apart at other places shows pieces of a password.
        for text in (user, *user.split(":", 1), *re.split("[/@]", user), *re.split("[/@:?#]", user)):
            yield from (text, percent_decoded(text))


class HiddenOptions(dict[str, Any]):
    """Options whose repr shows their names alone. They are not pickled."""

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{name!r}: {REDACTED}' for name in self)}}}"

    __str__ = __repr__

    def __reduce__(self) -> Any:
        raise TypeError("options of a store may be credentials and are not pickled")


def _texts(value: Any) -> Iterator[str]:
    """All strings and bytes in nested options, as strings."""
    if isinstance(value, (str, bytes)):
        yield value if isinstance(value, str) else value.decode(errors="replace")
    elif isinstance(value, Mapping):
        for name, member in value.items():
            if isinstance(member, str) and any(part in str(name).lower() for part in _NO_SECRETS):
                yield from _credentials_in(member)
            else:
                yield from _texts(member)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for member in value:
            yield from _texts(member)


class Redactor:
    """Replaces the values of ``options``, and the credentials in ``locations``, in texts and errors.

    It is false where there is nothing to replace.
    """

    def __init__(self, options: Mapping[str, Any], locations: Iterable[str]) -> None:
        found = {text for text in _texts(options) if len(text) >= _MIN_SECRET_LENGTH}
        found |= {text for where in locations for text in _credentials_in(where) if len(text) >= _MIN_SECRET_LENGTH}
        self._secrets = sorted(found, key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def redact(self, text: str) -> str:
        """``text`` with every secret replaced."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return text

    def redact_error(self, error: BaseException | None) -> None:
        """Replace the secrets in an error, and in all errors that led to it, in place.

        The errors keep their types and tracebacks.
        """
        seen: set[int] = set()
        left = [error]
        while left:
            one = left.pop()
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            left += [one.__cause__, one.__context__]
            one.args = tuple(self._redacted(value) for value in one.args)
            for name in ("strerror", "filename", "filename2", "msg", "message"):
                if isinstance(value := getattr(one, name, None), str) and self.redact(value) != value:
                    setattr(one, name, self.redact(value))
            if self.redact(repr(one) + str(one)) != repr(one) + str(one):
                one.args = (f"{type(one).__name__}: {REDACTED}",)

    def _redacted(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact(value)
        if isinstance(value, bytes):
            return self.redact(value.decode(errors="replace"))
        if isinstance(value, (dict, list, tuple, set)) or not isinstance(value, (int, float, bool, type(None))):
            return value if self.redact(repr(value)) == repr(value) else REDACTED
        return value


class RedactingProxy:
    """An object whose methods raise errors without secrets. Files that its methods open are wrapped as well."""

    def __init__(self, inner: Any, redactor: Redactor) -> None:
        self._inner = inner
        self._redactor = redactor

    def __repr__(self) -> str:
        return f"RedactingProxy({type(self._inner).__name__})"

    def __reduce__(self) -> Any:
        raise TypeError("a file system may hold credentials and is not pickled")

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        return self._method(value) if callable(value) else value

    def __eq__(self, other: object) -> bool:
        return self._inner == (other._inner if isinstance(other, RedactingProxy) else other)

    __hash__ = None  # type: ignore[assignment]

    def _method(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            try:
                found = method(*arguments, **options)
            except Exception as error:
                self._redactor.redact_error(error)
                raise
            is_file = hasattr(found, "read") and hasattr(found, "seek")
            return RedactingProxy(found, self._redactor) if is_file else found

        return call
