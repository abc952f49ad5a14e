"""An HTTP proxy before a real server, or a stub of one, that lets requests fail by plan: of S3, or of a catalog."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

__all__ = ["FAULTS", "FaultProxy"]

FAULTS = ("409", "412", "429", "500", "503", "close", "hang", "half", "500 lost", "503 lost", "close lost")
"""What a request of S3 ends in. With "lost" the server does it first, and its answer is lost.

Any status can be given. "rubbish" is a web page with status 200.
"""
_DROPPED = ("transfer-encoding", "connection", "content-length", "date", "server")
_CODES = {"409": "ConditionalRequestConflict", "412": "PreconditionFailed", "429": "SlowDown", "503": "SlowDown"}


class FaultProxy:
    """A context in which a server on the loopback forwards requests to ``target``, an http URL.

    Attributes
    ----------
    plan : callable
        (number of the request, method, path) -> one of :data:`FAULTS`, or None.
    refusal : callable
        (status) -> the type and the bytes of the body of such an answer.
    hang_s : float
        How long a request that hangs gets no answer.
    requests : list of (method, path, fault)
    """

    def __init__(
        self,
        target: str,
        plan: Callable[[int, str, str], str | None] = lambda n, method, path: None,
        *,
        refusal: Callable[[str], tuple[str, bytes]] = lambda status: _refusal_of_s3(status),
        hang_s: float = 2.0,
    ) -> None:
        self.target, self.plan = urlsplit(target), plan
        self.refusal, self.hang_s = refusal, hang_s
        self.requests: list[tuple[str, str, str | None]] = []
        self._lock = threading.Lock()

    def __enter__(self) -> FaultProxy:
        self._server = _Server(("127.0.0.1", 0), _handler_of(self))
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def fault(self, method: str, path: str) -> str | None:
        with self._lock:
            found = self.plan(len(self.requests), method, path)
            self.requests.append((method, path, found))
        return found


def _refusal_of_s3(status: str) -> tuple[str, bytes]:
    code = _CODES.get(status, "InternalError")
    return "application/xml", f"<Error><Code>{code}</Code><Message>refused</Message></Error>".encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def _handler_of(proxy: FaultProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16

        def log_message(self, *arguments: object) -> None:
            return None

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = proxy.fault(self.command, self.path)
            kind, _, lost = (fault or "").partition(" ")
            if kind in ("", "half") or lost:
                answer, data = self._forwarded(body)
            if kind == "hang":
                time.sleep(proxy.hang_s)
            if kind in ("hang", "close"):
                return self._reset()
            if kind == "rubbish":
                return self._answer(200, "text/html", b"<html>It works!</html>")
            if kind.isdigit():
                return self._answer(int(kind), *proxy.refusal(kind))
            self._send(answer, data, kind == "half")

        do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = _serve

        def _forwarded(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
            connection = http.client.HTTPConnection(str(proxy.target.hostname), proxy.target.port, timeout=30)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            data = answer.read()
            connection.close()
            return answer, data

        def _answer(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def _send(self, answer: http.client.HTTPResponse, data: bytes, half: bool) -> None:
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _DROPPED:
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(data))
            self.send_header("Content-Length", length or "0")
            self.end_headers()
            if self.command == "HEAD":
                return
            self.wfile.write(data[: len(data) // 2] if half else data)
            if half:
                self._reset()

        def _reset(self) -> None:
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

    return Handler
