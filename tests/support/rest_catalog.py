"""A stub of an Iceberg REST catalog: the config, tables, namespaces and credentials that a test puts in, and no more.

It answers in the JSON of the REST catalog's OpenAPI description, counts the requests, and fails on demand.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["RestCatalogStub"]

Answer = tuple[int, Any]


class RestCatalogStub:
    """A server on the loopback.

    Attributes
    ----------
    tables : dict
        {(namespace, ..., name): answer to loadTable}, or a callable that gives it.
    credentials : dict
        {(namespace, ..., name): list of storage credentials}, for the endpoint ``credentials``.
    views : set
        Identifiers of views.
    status : int
        What every request is answered with, where it is not 200.
    is_hanging : bool
        Whether requests get no answer.
    token : str
        The bearer token that requests must have; empty: any.
    requests : list of str
        "METHOD path" of each request.
    warehouse : str
        The directory of new tables.
    commit_fault : tuple or None
        (a status, or "close": the answer to commits; whether they are applied all the same).
    bodies : list of bytes
        What was posted.
    commits_several : bool
        Whether it has commits of several tables, and says so.
    names_endpoints : bool
        Whether its configuration says what it can do.
    """

    def __init__(self) -> None:
        self.tables: dict[tuple[str, ...], Any] = {}
        self.credentials: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        self.views: set[tuple[str, ...]] = set()
        self.status = 200
        self.token = ""
        self.requests: list[str] = []
        self.offers_credentials = False
        self.is_hanging = False
        self.warehouse = ""
        self.commit_fault: tuple[Any, bool] | None = None
        self.bodies: list[bytes] = []
        self.commits_several = False
        self.names_endpoints = True
        self._committing = threading.Lock()
        self._released = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> RestCatalogStub:
        return self

    def __exit__(self, *error: object) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def properties(self, **more: str) -> dict[str, str]:
        """What makes PyIceberg's catalog ``stub``."""
        return {"name": "stub", "type": "rest", "uri": self.uri, **more}

    def answer(self, method: str, path: str, body: bytes = b"") -> Answer:
        """The status and JSON for a request."""
        parts = [unquote(part) for part in path.strip("/").split("/")][1:]
        if self.status != 200:
            return self.status, _error(self.status, "Refused")
        if parts == ["config"]:
            found = ["GET /v1/{prefix}/namespaces/{namespace}/views/{view}", "GET /v1/{prefix}/namespaces/{namespace}"]
            found += ["HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}", "GET /v1/{prefix}/namespaces"]
            found += ["GET /v1/{prefix}/namespaces/{namespace}/tables"]
            found += [
                f"{method} /v1/{{prefix}}/namespaces/{{namespace}}/tables/{{table}}" for method in ("GET", "POST")
            ]
            if self.commits_several:
                found += ["POST /v1/{prefix}/transactions/commit"]
            if self.offers_credentials:
                found += ["GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"]
            answer = {"defaults": {}, "overrides": {}}
            return 200, {**answer, "endpoints": found} if self.names_endpoints else answer
        namespaces = sorted({key[:-1] for key in self.tables})
        if parts == ["namespaces"]:
            return 200, {"namespaces": [list(n) for n in namespaces]}
        if parts == ["transactions", "commit"] and self.commits_several:
            self.bodies.append(body)
            return self._commit_several(json.loads(body)["table-changes"])
        if parts[0] != "namespaces":
            return 404, _error(404, "NotFound")
        namespace = tuple(parts[1].split("\x1f"))
        if namespace not in namespaces:
            return 404, _error(404, "NoSuchNamespaceException")
        rest = parts[2:]
        if method == "POST" and rest[:1] == ["tables"]:
            self.bodies.append(body)
            given = json.loads(body)
            return self._stage(namespace, given) if rest == ["tables"] else self._commit((*namespace, rest[1]), given)
        if not rest:
            return 200, {"namespace": list(namespace), "properties": {}}
        if rest == ["tables"]:
            names = [{"namespace": list(key[:-1]), "name": key[-1]} for key in self.tables if key[:-1] == namespace]
            return 200, {"identifiers": names}
        key = (*namespace, rest[1])
        if rest[0] == "views":
            return (204, None) if key in self.views else (404, _error(404, "NoSuchViewException"))
        if key not in self.tables:
            return 404, _error(404, "NoSuchTableException")
        if rest[2:] == ["credentials"]:
            return 200, {"storage-credentials": self.credentials[key]}
        found_table = self.tables[key]
        return 200, found_table() if isinstance(found_table, Callable) else found_table  # type: ignore[arg-type]

    def _stage(self, namespace: tuple[str, ...], given: dict[str, Any]) -> Answer:
        location = given.get("location") or "/".join((self.warehouse, *namespace, given["name"]))
        return 200, {"metadata": {"location": location, "table-uuid": str(uuid.uuid4())}}

    def _commit(self, key: tuple[str, ...], given: dict[str, Any]) -> Answer:
        fault, is_applied = self.commit_fault or (200, True)
        if is_applied and not self._apply([(key, given)]):
            return 409, _error(409, "CommitFailedException")
        if fault == "close":
            return 0, None
        return (200, self.tables[key]) if fault == 200 else (fault, _error(fault, "Refused"))

    def _commit_several(self, changes: list[dict[str, Any]]) -> Answer:
        fault, is_applied = self.commit_fault or (204, True)
        keys = [(*one["identifier"]["namespace"], one["identifier"]["name"]) for one in changes]
        if is_applied and not self._apply(list(zip(keys, changes, strict=True))):
            return 409, _error(409, "CommitFailedException")
        if fault == "close":
            return 0, None
        return (204, None) if fault == 204 else (fault, _error(fault, "Refused"))

    def _apply(self, changes: list[tuple[tuple[str, ...], dict[str, Any]]]) -> bool:
        """Apply changes to tables, to all or to none. False: a requirement does not hold."""
        from tableformats_iceberg.write.metadata_updates import apply_updates
        from tableformats_iceberg.write.requirements import failed_requirement

        with self._committing:
            made: dict[tuple[str, ...], Any] = {}
            for key, given in changes:
                found = self.tables.get(key)
                base = None if found is None else found["metadata"]
                if failed_requirement(base, given["requirements"]) is not None:
                    return False
                after = apply_updates(base, given["updates"], now_ms=time.time_ns() // 1_000_000)
                location = f"{after['location']}/metadata/{len(self.bodies):05d}-{uuid.uuid4()}.metadata.json"
                Path(location).parent.mkdir(parents=True, exist_ok=True)
                Path(location).write_text(json.dumps(after))
                made[key] = {"metadata-location": location, "metadata": after, "config": {}}
            self.tables |= made
        return True


def _error(code: int, kind: str) -> dict[str, Any]:
    return {"error": {"message": "s3cretWords", "type": kind, "code": code}}


def _handler_of(stub: RestCatalogStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            return None

        def _serve(self) -> None:
            path = urlsplit(self.path).path
            stub.requests.append(f"{self.command} {path}")
            if stub.is_hanging:
                stub._released.wait(20)
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, found = stub.answer(self.command, path, sent)
            if status == 0:
                self.close_connection = True
                return
            if stub.token and self.headers.get("Authorization") != f"Bearer {stub.token}":
                status, found = 401, _error(401, "NotAuthorizedException")
            body = b"" if found is None or self.command == "HEAD" else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_HEAD = do_POST = _serve

    return Handler
