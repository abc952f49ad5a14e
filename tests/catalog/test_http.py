"""Requests of catalogs without a server: what is sent, how often it is tried, and what each answer becomes."""

from __future__ import annotations

import http.client
import io
import json
import urllib.error
import urllib.request
from email.message import Message
from typing import Any

import pytest

from tableformats.catalog import http as catalog_http
from tableformats.catalog.http import JsonClient, MissingError
from tableformats.errors import CatalogConnectionError, CatalogError, CatalogPermissionError

UNREACHABLE = urllib.error.URLError(ConnectionRefusedError(111, "secret words"))


class Server:
    """Answers in turn, the last answer again and again: JSON, an error that is raised, or a status with a body."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[urllib.request.Request] = []
        self.timeouts: list[float] = []
        self.slept: list[float] = []
        monkeypatch.setattr(catalog_http, "_OPENER", self)
        monkeypatch.setattr(catalog_http.time, "sleep", self.slept.append)
        monkeypatch.setattr(catalog_http.random, "uniform", lambda low, high: (low + high) / 2)

    def open(self, request: urllib.request.Request, timeout: float) -> Any:
        self.requests.append(request)
        self.timeouts.append(timeout)
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        if isinstance(found, tuple):
            status, body = found
            raise urllib.error.HTTPError(request.full_url, status, "words", Message(), io.BytesIO(body))
        return io.BytesIO(found if isinstance(found, bytes) else json.dumps(found).encode())


def test_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(monkeypatch, {"a": 1})
    client = JsonClient("c", "https://h/api/", "t0ken", 7.0)
    assert client.get("/x", {"b": "1 2", "none": None}, asked="x") == {"a": 1}
    assert client.get("/x", {"none": None}) == client.get("/x", body={"k": 0}) == client.post("/y", []) == {"a": 1}
    sent = [(r.get_method(), r.full_url, r.data, r.get_header("Content-type")) for r in server.requests]
    assert sent == [
        ("GET", "https://h/api/x?b=1+2", None, None),
        ("GET", "https://h/api/x", None, None),
        ("GET", "https://h/api/x", b'{"k": 0}', "application/json"),
        ("POST", "https://h/api/y", b"[]", "application/json"),
    ]
    assert {r.get_header("Authorization") for r in server.requests} == {"Bearer t0ken"} and server.timeouts == [7.0] * 4
    assert JsonClient("c", "http://h").get("/z") == {"a": 1}
    assert server.requests[-1].get_header("Authorization") is None and server.timeouts[-1] == 30.0
    assert "t0ken" not in repr(client)


@pytest.mark.parametrize("address", ["", "h", "ftp://h", "http://", "https:///x", "file:///x"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(CatalogError, match="catalog 'c' has no address") as caught:
        JsonClient("c", address)
    assert caught.value.field == "uri"


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_faults_that_are_tried_again(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    """Three times, with a longer pause each time."""
    server = Server(monkeypatch, (status, b"{}"), UNREACHABLE, [1])
    assert JsonClient("c", "http://h").get("/x") == [1]
    assert len(server.requests) == 3 and server.slept == [0.4, 0.8]
    server = Server(monkeypatch, (status, b'{"error_code": "BUSY"}'))
    with pytest.raises(CatalogConnectionError, match=f"catalog 'c' does not answer: {status} BUSY") as caught:
        JsonClient("c", "http://h").get("/x", asked="a.b")
    assert len(server.requests) == 3 and server.slept == [0.4, 0.8] and caught.value.path == "a.b"


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ((401, b""), CatalogPermissionError, "catalog 'c' refused the credentials: 401"),
        ((403, b'{"error_code": "DENIED"}'), CatalogPermissionError, "catalog 'c' refused the credentials: 403 DENIED"),
        ((400, b"{}"), CatalogError, "catalog 'c' does not give an answer: 400"),
        ((302, b"{}"), CatalogError, "catalog 'c' does not give an answer: 302"),
        ((501, b"{}"), CatalogError, "catalog 'c' does not give an answer: 501"),
        (b"<html>", CatalogError, "catalog 'c' answers with something else than JSON"),
        (b"\xff", CatalogError, "catalog 'c' answers with something else than JSON"),
    ],
    ids=str,
)
def test_faults_that_are_not(
    monkeypatch: pytest.MonkeyPatch, answer: Any, error: type[CatalogError], message: str
) -> None:
    server = Server(monkeypatch, answer)
    with pytest.raises(error) as caught:
        JsonClient("c", "http://h").get("/x", asked="a.b")
    assert (caught.value.message, caught.value.path, type(caught.value)) == (message, "a.b", error)
    assert len(server.requests) == 1 and server.slept == []


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        (UNREACHABLE, "ConnectionRefusedError"),
        (TimeoutError("secret words"), "TimeoutError"),
        (http.client.IncompleteRead(b"secret"), "IncompleteRead"),
        (ConnectionResetError(), "ConnectionResetError"),
    ],
    ids=["refused", "time", "cut", "reset"],
)
def test_connections_that_fail(monkeypatch: pytest.MonkeyPatch, fault: Exception, what: str) -> None:
    """The words of such errors are not shown."""
    server = Server(monkeypatch, fault)
    with pytest.raises(CatalogConnectionError) as caught:
        JsonClient("c", "http://h").post("/x", {})
    assert (caught.value.message, caught.value.path) == (f"catalog 'c' does not answer: {what}", None)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"error_code": "TABLE_NOT_FOUND"}', "TABLE_NOT_FOUND"),
        (b'{"error_code": "' + b"A" * 79 + b'"}', "A" * 79),
        (b'{"error_code": "' + b"A" * 80 + b'"}', ""),
        (b'{"error_code": "two words"}', ""),
        (b'{"error_code": 5}', ""),
        (b'{"message": "X"}', ""),
        (b"[]", ""),
        (b"<html>", ""),
        (b"", ""),
        (b'{"error_code": "X"}' + b" " * ((1 << 16) - 19), "X"),
        (b'{"error_code": "X"' + b" " * ((1 << 16) - 18) + b"}", ""),
    ],
    ids=range(11),
)
def test_the_servers_name_of_a_fault(monkeypatch: pytest.MonkeyPatch, body: bytes, code: str) -> None:
    Server(monkeypatch, (404, body))
    with pytest.raises(MissingError) as caught:
        JsonClient("c", "http://h").get("/x")
    assert caught.value.code == code


def test_redirects_are_not_followed() -> None:
    """Another host would get the token."""
    handler = catalog_http._NoRedirects()
    assert handler.redirect_request(None, None, 302, "", {}, "http://other") is None  # type: ignore[func-returns-value]
