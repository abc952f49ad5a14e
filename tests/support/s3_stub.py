"""A small S3 server on the loopback, in threads of the test's process: it counts requests, delays them, and fails.

It is a stub: it speaks the requests that a reader and a conditional put need (ListObjectsV2, GET with ranges, HEAD, PUT
with ``If-None-Match``, DELETE), also as Google's XML API has them (``x-goog-if-generation-match``). It checks no
signatures, and keeps objects in memory. Tests against real implementations of the protocol stand beside those that use
it (``tests/io/test_moto.py``).
"""

from __future__ import annotations

import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import formatdate
from functools import lru_cache
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

__all__ = ["Request", "S3Stub", "listing_xml"]

_CODES = {403: "AccessDenied", 404: "NoSuchKey", 429: "SlowDown", 500: "InternalError", 503: "SlowDown"}
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass
class Request:
    """One request: ``start`` and ``end`` are of ``time.monotonic``."""

    method: str
    path: str
    query: dict[str, str]
    range: str | None
    start: float
    is_signed: bool = False
    end: float = 0.0


@dataclass
class S3Stub:
    """A context: the server runs within it.

    Attributes
    ----------
    delay : float
        Seconds that each request waits before it is answered.
    fault : str or callable
        Empty, a status ("403") or a status with its code ("400:ExpiredToken"), "reset", "half" (half a body) or "hang",
        for every request that ``faulty`` accepts.
    faulty : callable
        Takes a request.
    fault_count : int or None
        How many requests fail; None: all.
    max_keys : int
        Keys of one page of a listing.
    """

    bucket: str = "bucket"
    delay: float = 0.0
    fault: str = ""
    faulty: Callable[[Request], bool] = field(default=lambda request: True)
    fault_count: int | None = None
    max_keys: int = 1000
    objects: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)

    def __enter__(self) -> S3Stub:
        self.released = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def options(self) -> dict[str, Any]:
        """Options that open the stub."""
        return {
            "aws_endpoint": self.endpoint,
            "aws_region": "us-east-1",
            "aws_access_key_id": "AKIASTUB",
            "aws_secret_access_key": "st0bSecretKey",
            "aws_allow_http": "true",
        }

    @property
    def gcs_options(self) -> dict[str, Any]:
        """Options that open the stub as Google's store, whose XML API has the same requests."""
        return {"base_url": self.endpoint, "bearer_token": "anybody", "allow_http": "true"}

    def put(self, key: str, data: bytes) -> None:
        self.objects[key] = data, time.time()

    def upload(self, folder: Path, prefix: str) -> None:
        """Put every file below ``folder`` as ``prefix``/its relative path."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    @property
    def longest_chain(self) -> int:
        """The greatest number of requests of which each began after the one before it had ended."""
        longest = 0
        ended: list[tuple[float, int]] = []
        for request in sorted(self.requests, key=lambda one: one.start):
            depth = 1 + max((d for end, d in ended if end <= request.start), default=0)
            ended.append((request.end, depth))
            longest = max(longest, depth)
        return longest


@lru_cache(8192)
def _digest(data: bytes) -> str:
    return md5(data).hexdigest()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def _unchunked(body: bytes) -> bytes:
    """The bytes of a body that is sent in chunks, each with its length and a signature, as the SDK for Java does."""
    found, at = b"", 0
    while size := int(body[at : (end := body.index(b"\r\n", at))].partition(b";")[0], 16):
        found += body[end + 2 : end + 2 + size]
        at = end + 2 + size + 2
    return found


def _handler_of(stub: S3Stub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16

        def log_message(self, *arguments: object) -> None:
            return None

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if "aws-chunked" in self.headers.get("Content-Encoding", ""):
                body = _unchunked(body)
            is_signed = "Authorization" in self.headers
            path, span = unquote(parts.path), self.headers.get("Range")
            request = Request(self.command, path, query, span, time.monotonic(), is_signed)
            stub.requests.append(request)
            if stub.delay:
                time.sleep(stub.delay)
            try:
                self._answer(request, body)
            finally:
                request.end = time.monotonic()

        do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = _serve

        def _answer(self, request: Request, body: bytes) -> None:
            fault = stub.fault if stub.fault and stub.faulty(request) else ""
            if fault and stub.fault_count is not None:
                stub.fault_count -= 1
                fault = fault if stub.fault_count >= 0 else ""
            if fault == "hang":
                stub.released.wait(60)
                self.close_connection = True
            elif fault == "reset":
                self._reset()
            elif fault[:1].isdigit():
                status, _, code = fault.partition(":")
                self._error(int(status), code or None)
            else:
                bucket, _, key = request.path.lstrip("/").partition("/")
                if bucket != stub.bucket:
                    self._error(404, "NoSuchBucket")
                elif not key:
                    self._list(request)
                else:
                    getattr(self, f"_{request.method.lower()}")(request, key, body, fault == "half")

        def _reset(self) -> None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

        def _send(self, status: int, body: bytes, headers: dict[str, str], half: bool = False) -> None:
            self.send_response(status)
            self.send_header("x-amz-request-id", "REQ1234")
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "HEAD":
                return
            self.wfile.write(body[: len(body) // 2] if half else body)
            self.wfile.flush()
            if half:
                self._reset()

        def _error(self, status: int, code: str | None = None) -> None:
            text = f"<Error><Code>{code or _CODES[status]}</Code><Message>refused</Message>"
            text += "<RequestId>REQ1234</RequestId></Error>"
            self._send(status, text.encode(), {"Content-Type": "application/xml"})

        def _headers(self, key: str) -> dict[str, str]:
            data, at = stub.objects[key]
            return {"Last-Modified": formatdate(at, usegmt=True), "ETag": f'"{_digest(data)}"'}

        def _get(self, request: Request, key: str, body: bytes, half: bool) -> None:
            if key not in stub.objects:
                return self._error(404)
            data = stub.objects[key][0]
            headers = self._headers(key)
            if (found := _RANGE.fullmatch(request.range or "")) is None:
                return self._send(200, data, headers, half)
            first, last = found.groups()
            start = int(first) if first else max(len(data) - int(last), 0)
            stop = min(int(last) + 1, len(data)) if first and last else len(data)
            if start >= len(data):
                return self._send(416, b"", headers)
            headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(data)}"
            return self._send(206, data[start:stop], headers, half)

        def _head(self, request: Request, key: str, body: bytes, half: bool) -> None:
            if key not in stub.objects:
                return self._error(404)
            return self._send(200, b"", {**self._headers(key), "Content-Length": str(len(stub.objects[key][0]))})

        def _put(self, request: Request, key: str, body: bytes, half: bool) -> None:
            is_new = self.headers.get("If-None-Match") == "*" or self.headers.get("x-goog-if-generation-match") == "0"
            if is_new and key in stub.objects:
                return self._error(412, "PreconditionFailed")
            stub.put(key, body)
            return self._send(200, b"", self._headers(key))

        def _delete(self, request: Request, key: str, body: bytes, half: bool) -> None:
            stub.objects.pop(key, None)
            return self._send(204, b"", {})

        def _list(self, request: Request) -> None:
            text = listing_xml(stub.objects, request.query, stub.max_keys)
            self._send(200, text, {"Content-Type": "application/xml"})

    return Handler


def listing_xml(objects: Mapping[str, tuple[bytes, float]], query: Mapping[str, str], max_keys: int) -> bytes:
    """The answer to ListObjectsV2: a page of the keys that ``query`` asks for."""
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    after = query.get("continuation-token") or query.get("start-after", "")
    entries: dict[str, bool] = {}
    for key in sorted(objects):
        if key.startswith(prefix):
            rest = key[len(prefix) :]
            cut = rest.find(delimiter) if delimiter else -1
            name = prefix + rest[: cut + 1] if cut >= 0 else key
            if name > after:
                entries[name] = cut >= 0
    names = list(entries)[:max_keys]
    more = len(entries) > len(names)
    text = "<ListBucketResult>"
    for name in names:
        if entries[name]:
            text += f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
            continue
        data, at = objects[name]
        stamp = datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        text += f"<Contents><Key>{escape(name)}</Key><LastModified>{stamp}</LastModified>"
        text += f"<ETag>&quot;{_digest(data)}&quot;</ETag><Size>{len(data)}</Size></Contents>"
    if more:
        text += f"<NextContinuationToken>{escape(names[-1])}</NextContinuationToken>"
    return f"{text}<IsTruncated>{str(more).lower()}</IsTruncated></ListBucketResult>".encode()
