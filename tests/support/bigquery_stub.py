"""A stub of BigQuery's REST API v2, made from its public description: nothing of Google runs here.

It knows datasets and tables (``insert``, ``get``, ``list``, ``patch``, ``delete``) in the JSON of the description, with
ETags and ``If-Match``, errors as the service writes them, and a token endpoint for service accounts. ``patch`` merges
objects, deletes what is null and leaves all else, as Google's APIs say of it. ``google-cloud-bigquery`` speaks to it
where ``BIGQUERY_EMULATOR_HOST`` names it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["BigQueryStub", "service_account"]

API = "/bigquery/v2/projects/project"
TOKEN = "bigQueryT0ken"
Answer = tuple[int, Any]
_REASONS = {400: "invalid", 401: "authError", 403: "accessDenied", 404: "notFound", 409: "duplicate"}
_REASONS |= {412: "conditionNotMet", 500: "backendError", 503: "backendError"}


class BigQueryStub:
    """A server on the loopback with one project, ``project``.

    Attributes
    ----------
    datasets : dict
        {name: dataset}.
    tables : dict
        {(dataset, name): table}.
    page : int
        The most entries of one answer to a list.
    requests : list of str
        "METHOD path" of each request but those for tokens.
    faults : list of (int, str, bool)
        For the next requests that change something: a status, the reason, and whether the change is made all the same.
        Status 0 closes the connection.
    reading : (int, str) or None
        The status and reason that other requests get.
    account, warehouse
        For the tests' own use.
    """

    def __init__(self) -> None:
        self.datasets: dict[str, dict[str, Any]] = {}
        self.tables: dict[tuple[str, str], dict[str, Any]] = {}
        self.page = 50
        self.requests: list[str] = []
        self.faults: list[tuple[int, str, bool]] = []
        self.reading: tuple[int, str] | None = None
        self.account: dict[str, str] = {}
        self.warehouse = ""
        self._changes = 0
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> BigQueryStub:
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def put(self, dataset: str, name: str, **more: Any) -> None:
        """Set a table as it is, of whatever kind."""
        self._changes += 1
        reference = {"projectId": "project", "datasetId": dataset, "tableId": name}
        found = {"kind": "bigquery#table", "id": f"project:{dataset}.{name}", "tableReference": reference}
        self.tables[dataset, name] = {**found, "type": "TABLE", **more, "etag": f"etag{self._changes}"}

    def parameters(self, dataset: str, name: str) -> dict[str, str]:
        """What the table's ``externalCatalogTableOptions`` say."""
        found: dict[str, str] = self.tables[dataset, name]["externalCatalogTableOptions"]["parameters"]
        return found

    def served(self, method: str, path: str, query: Mapping[str, str], body: Any, condition: str | None) -> Answer:
        """The status and JSON for a request; status 0 for none."""
        if not path.startswith(f"{API}/datasets"):
            return self._error(404)
        names = [part for part in path[len(API) :].split("/") if part not in ("", "datasets", "tables")]
        is_of_tables = "/tables" in path
        with self._lock:
            if method == "GET":
                if self.reading is not None:
                    return self._error(*self.reading)
                return self._read(names, is_of_tables, query)
            fault = self.faults.pop(0) if self.faults else None
            if fault is None:
                return self._change(method, names, is_of_tables, body, condition)
            if fault[2]:
                self._change(method, names, is_of_tables, body, condition)
            return self._error(*fault[:2])

    def _read(self, names: list[str], is_of_tables: bool, query: Mapping[str, str]) -> Answer:
        if not names:
            return self._listed("datasets", list(self.datasets.values()), query)
        if names[0] not in self.datasets:
            return self._error(404)
        if not is_of_tables:
            return 200, self.datasets[names[0]]
        if len(names) == 1:
            found = [table for (dataset, _), table in sorted(self.tables.items()) if dataset == names[0]]
            return self._listed("tables", found, query)
        found_table = self.tables.get((names[0], names[1]))
        return self._error(404) if found_table is None else (200, found_table)

    def _listed(self, kind: str, found: list[dict[str, Any]], query: Mapping[str, str]) -> Answer:
        start = int(query.get("pageToken", 0))
        more = {"nextPageToken": str(start + self.page)} if start + self.page < len(found) else {}
        return 200, {kind: found[start : start + self.page], **more}

    def _change(self, method: str, names: list[str], is_of_tables: bool, body: Any, condition: str | None) -> Answer:
        if not names:
            name = body["datasetReference"]["datasetId"]
            if name in self.datasets:
                return self._error(409)
            self.datasets[name] = {**body, "id": f"project:{name}", "etag": "etag0"}
            return 200, self.datasets[name]
        if names[0] not in self.datasets:
            return self._error(404)
        if method == "POST":
            name = body["tableReference"]["tableId"]
            if (names[0], name) in self.tables:
                return self._error(409)
            self.put(names[0], name, **{**body, "type": "EXTERNAL"})
            return 200, self.tables[names[0], name]
        key = (names[0], names[1])
        found = self.tables.get(key)
        if found is None or not is_of_tables:
            return self._error(404)
        if condition is not None and condition != found["etag"]:
            return self._error(412)
        if method == "DELETE":
            del self.tables[key]
            return 204, None
        self.put(*key, **_merged(found, body))
        return 200, self.tables[key]

    def _error(self, status: int, reason: str = "") -> Answer:
        said = {"message": "s3cretWords", "domain": "global", "reason": reason or _REASONS[status]} if status else None
        return status, {"error": {"code": status, "message": "s3cretWords", "errors": [said]}}


def service_account(uri: str) -> dict[str, str]:
    """The JSON of a service account of nobody, whose tokens come from ``uri``."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = serialization.NoEncryption()
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()
    who = {"type": "service_account", "project_id": "project", "client_email": "nobody@project.iam.gserviceaccount.com"}
    return {**who, "private_key_id": "1", "private_key": text, "token_uri": f"{uri}/token"}


def _merged(found: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(found)
    for name, value in patch.items():
        old = merged.get(name)
        merged[name] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return {name: value for name, value in merged.items() if value is not None}


def _handler_of(stub: BigQueryStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments: object) -> None:
            return None

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if parts.path == "/token":
                self._answer(200, {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"})
                return
            stub.requests.append(f"{self.command} {parts.path.removeprefix(API)}")
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                self._answer(*stub._error(401))
                return
            body = json.loads(sent) if sent else None
            self._answer(*stub.served(self.command, parts.path, query, body, self.headers.get("If-Match")))

        def _answer(self, status: int, found: Any) -> None:
            if status == 0:
                self.close_connection = True
                return
            answer = b"" if found is None else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PATCH = do_DELETE = _serve

    return Handler
