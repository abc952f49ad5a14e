"""A stub of Unity Catalog's open REST API, made from its OpenAPI description: no server of it is started here.

It knows catalogs, schemas, tables, temporary credentials and the commits of catalog-managed tables, in the JSON of the
description ("TableInfo", "TemporaryCredentials", "DeltaGetCommitsResponse"), and errors as the server writes them.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

__all__ = ["UnityStub"]

API = "/api/2.1/unity-catalog"


class UnityStub:
    """A server on the loopback.

    Attributes
    ----------
    tables : dict
        {"catalog.schema.table": TableInfo}; see :meth:`add`.
    commits : dict
        {table id: {version: DeltaCommitInfo}}.
    latest : dict
        {table id: the newest version that was accepted}.
    credentials : dict
        The answer to requests for temporary credentials.
    page : int
        The most tables or commits of one answer.
    requests : list of str
        "METHOD path" of each request.
    """

    def __init__(self) -> None:
        self.tables: dict[str, dict[str, Any]] = {}
        self.commits: dict[str, dict[int, dict[str, Any]]] = {}
        self.latest: dict[str, int] = {}
        self.credentials: dict[str, Any] = {}
        self.page = 100
        self.token = ""
        self.faults: list[int] = []
        self.requests: list[str] = []
        self.bodies: list[Any] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> UnityStub:
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def properties(self, **more: str) -> dict[str, str]:
        return {"type": "unity", "name": "uc", "uri": self.uri, **more}

    def add(self, full_name: str, location: str, **more: Any) -> str:
        """Add a table, and return its id."""
        catalog, schema, name = full_name.split(".")
        table_id = f"id-{len(self.tables)}"
        info = {
            "name": name,
            "catalog_name": catalog,
            "schema_name": schema,
            "table_type": "EXTERNAL",
            "data_source_format": "DELTA",
            "storage_location": location,
            "properties": {},
            "table_id": table_id,
        }
        self.tables[full_name] = {**info, **more}
        return table_id

    def manage(self, full_name: str, location: str) -> str:
        """Add a table whose commits the catalog decides."""
        table_id = self.add(
            full_name, location, table_type="MANAGED", properties={"delta.feature.catalogManaged": "supported"}
        )
        self.commits[table_id], self.latest[table_id] = {}, 0
        return table_id

    def answer(self, method: str, path: str, query: dict[str, str], body: Any) -> tuple[int, Any]:
        """The status and JSON for a request."""
        if self.faults:
            return self.faults.pop(0), {"error_code": "INTERNAL", "message": "s3cretWords"}
        if not path.startswith(API):
            return 404, {"error_code": "NOT_FOUND"}
        path = path[len(API) :]
        names = [name.split(".") for name in self.tables]
        if (method, path) == ("GET", "/catalogs"):
            return 200, {"catalogs": [{"name": name} for name in sorted({n[0] for n in names})]}
        if (method, path) == ("GET", "/schemas"):
            found = sorted({n[1] for n in names if n[0] == query["catalog_name"]})
            return 200, {"schemas": [{"name": name, "catalog_name": query["catalog_name"]} for name in found]}
        if (method, path) == ("GET", "/tables"):
            return self._list(query)
        if method == "GET" and path.startswith("/tables/"):
            return self._table(unquote(path[len("/tables/") :]))
        if (method, path) == ("POST", "/temporary-table-credentials"):
            known = any(t["table_id"] == body["table_id"] for t in self.tables.values())
            return (200, self.credentials) if known else (404, {"error_code": "TABLE_NOT_FOUND"})
        if (method, path) == ("GET", "/delta/preview/commits"):
            return self._commits(body)
        return 404, {"error_code": "NOT_FOUND"}

    def _list(self, query: dict[str, str]) -> tuple[int, Any]:
        prefix = f"{query['catalog_name']}.{query['schema_name']}."
        found = [info for name, info in sorted(self.tables.items()) if name.startswith(prefix)]
        if not found:
            return 404, {"error_code": "SCHEMA_NOT_FOUND"}
        start = int(query.get("page_token", 0))
        more = {"next_page_token": str(start + self.page)} if start + self.page < len(found) else {}
        return 200, {"tables": found[start : start + self.page], **more}

    def _table(self, name: str) -> tuple[int, Any]:
        if name in self.tables:
            return 200, self.tables[name]
        catalog, schema, _ = name.split(".")
        if not any(n.startswith(f"{catalog}.") for n in self.tables):
            return 404, {"error_code": "CATALOG_NOT_FOUND"}
        is_schema = any(n.startswith(f"{catalog}.{schema}.") for n in self.tables)
        return 404, {"error_code": "TABLE_NOT_FOUND" if is_schema else "SCHEMA_NOT_FOUND"}

    def _commits(self, body: dict[str, Any]) -> tuple[int, Any]:
        known = next((t for t in self.tables.values() if t["table_id"] == body["table_id"]), None)
        if known is None:
            return 404, {"error_code": "TABLE_NOT_FOUND"}
        if known["storage_location"] != body["table_uri"]:
            return 400, {"error_code": "INVALID_ARGUMENT"}
        held = self.commits[body["table_id"]]
        found = [held[v] for v in sorted(held) if v >= body["start_version"]][: self.page]
        # "Can be in arbitrary order."
        return 200, {"commits": found[::-1], "latest_table_version": self.latest[body["table_id"]]}


def _handler_of(stub: UnityStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            return None

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(sent) if sent else None
            stub.requests.append(f"{self.command} {parts.path.removeprefix(API)}")
            stub.bodies.append(body)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            status, found = stub.answer(self.command, parts.path, query, body)
            if stub.token and self.headers.get("Authorization") != f"Bearer {stub.token}":
                status, found = 401, {"error_code": "UNAUTHENTICATED", "message": "s3cretWords"}
            answer = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = _serve

    return Handler
