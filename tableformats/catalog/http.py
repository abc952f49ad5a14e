"""JSON over HTTP, for catalogs that no library speaks to: time limits, a few retries, typed errors."""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from ..errors import CatalogConnectionError, CatalogError, CatalogPermissionError

__all__ = ["JsonClient", "MissingError"]

_TIMEOUT_S = 30.0
_TRIES = 3
_RETRIED = frozenset((408, 429, 500, 502, 503, 504))
_MAX_BYTES = 256 << 20


class MissingError(Exception):
    """The server says that there is no such thing (404). ``code``: its own name of the fault; empty: none."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class JsonClient:
    """Sends requests below one address.

    Parameters
    ----------
    name : str
        The catalog's name, for errors.
    address : str
        Begins all URLs.
    token : str
        A bearer token; empty: none.
    timeout : float
        Seconds until the connection stands, and until more bytes come.
    """

    def __init__(self, name: str, address: str, token: str = "", timeout: float = _TIMEOUT_S) -> None:
        if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
            raise CatalogError(
                f"catalog {name!r} has no address", field="uri", hint="Give uri='https://host'", catalog=name
            )
        self._name = name
        self._address = address.rstrip("/")
        self._token = token
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"JsonClient({self._name!r})"

    def get(self, path: str, query: Mapping[str, Any] | None = None, body: Any = None, asked: str = "") -> Any:
        """The answer to a GET; ``asked`` is what is asked for, for errors. Raises as :meth:`post`."""
        found = {name: value for name, value in (query or {}).items() if value is not None}
        return self._send("GET", f"{path}?{urlencode(found)}" if found else path, body, asked)

    def post(self, path: str, body: Any, asked: str = "") -> Any:
        """The answer to a POST, which must be safe to repeat.

        Raises
        ------
        MissingError
            404.
        CatalogPermissionError, CatalogConnectionError, CatalogError
            401 and 403; no answer, 429 and 5xx in all tries; all else.
        """
        return self._send("POST", path, body, asked)

    def _send(self, method: str, path: str, body: Any, asked: str) -> Any:
        headers = {"Accept": "application/json", "User-Agent": "tableformats"}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        for left in reversed(range(_TRIES)):
            request = urllib.request.Request(self._address + path, data, headers, method=method)
            try:
                return self._answer(request, asked)
            except CatalogConnectionError:
                if not left:
                    raise
            time.sleep(random.uniform(0.1, 0.3) * 2 ** (_TRIES - left))
        raise AssertionError("unreachable")

    def _answer(self, request: urllib.request.Request, asked: str) -> Any:
        where: dict[str, Any] = {"path": asked or None, "catalog": self._name}
        try:
            with _OPENER.open(request, timeout=self._timeout) as response:
                return json.loads(response.read(_MAX_BYTES))
        except urllib.error.HTTPError as error:
            code = _code_of(error)
            if error.code == 404:
                raise MissingError(code) from None
            reason = f"{error.code} {code}".strip()
            if error.code in (401, 403):
                raise CatalogPermissionError(
                    f"catalog {self._name!r} refused the credentials: {reason}", **where
                ) from None
            if error.code in _RETRIED:
                raise CatalogConnectionError(f"catalog {self._name!r} does not answer: {reason}", **where) from None
            raise CatalogError(f"catalog {self._name!r} does not give an answer: {reason}", **where) from None
        except ValueError:
            raise CatalogError(
                f"catalog {self._name!r} answers with something else than JSON",
                hint="Check its address: many servers answer with a web page elsewhere",
                **where,
            ) from None
        except (OSError, http.client.HTTPException) as error:
            what = type(getattr(error, "reason", None) or error).__name__
            raise CatalogConnectionError(f"catalog {self._name!r} does not answer: {what}", **where) from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect to another host would get the token."""

    def redirect_request(self, *arguments: Any, **options: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirects)


def _code_of(error: urllib.error.HTTPError) -> str:
    """The server's own name of the fault; never its words, which may hold more than one wants to show."""
    try:
        found = json.loads(error.read(1 << 16)).get("error_code", "")
    except (ValueError, AttributeError, OSError, http.client.HTTPException):
        return ""
    return found if isinstance(found, str) and found.isidentifier() and len(found) < 80 else ""
