"""An S3 server that costs its machine little: one thread, which sends what is in memory; delays, and a rate of bytes.

    python -m benchmarks.s3_server [BYTES_PER_SECOND]

It answers ListObjectsV2, and GET and HEAD with ranges, of what it was told to load; nothing is signed or written. It
reads commands from its standard input, a line each, and answers each with a line:

``upload FOLDER`` loads a folder, ``start SECONDS`` begins to count requests and delays each of them, ``stop`` tells how
many there were and the longest chain of them, and ends the delay.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sys
import threading
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from tests.support.s3_stub import Request, S3Stub, listing_xml

_CHUNK = 1 << 18
_RANGE = re.compile(rb"\r\nrange: bytes=(\d*)-(\d*)", re.IGNORECASE)
_DATE = "Wed, 01 Jan 2025 00:00:00 GMT"


class Server:
    """What all connections share.

    Parameters
    ----------
    rate : float
        Bytes in each second, for all connections together; 0: as many as can be.
    """

    def __init__(self, rate: float) -> None:
        self.stub = S3Stub()  # which is never started: it has the objects and the requests
        self.loop = asyncio.new_event_loop()
        self._rate = rate
        self._free_at = 0.0

    def wait_s(self, size: int) -> float:
        """How long to wait until ``size`` bytes may have been sent."""
        if not self._rate:
            return 0.0
        now = self.loop.time()
        self._free_at = max(self._free_at, now) + size / self._rate
        return self._free_at - now


class Connection(asyncio.Protocol):
    """One connection. Clients send a request after the answer to the one before."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See :class:`asyncio.Protocol`."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        found = transport.get_extra_info("socket")
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)

    def data_received(self, data: bytes) -> None:
        """See :class:`asyncio.Protocol`."""
        self._head += data
        if b"\r\n\r\n" not in self._head:
            return
        head, self._head = self._head, b""
        method, target, _ = head.split(b" ", 2)
        parts = urlsplit(target.decode())
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        stub, loop = self._server.stub, self._server.loop
        span = _RANGE.search(head)
        request = Request(method.decode(), unquote(parts.path), query, span and span.group().decode(), loop.time())
        stub.requests.append(request)
        wanted = (span[1], span[2]) if span else None
        loop.call_later(stub.delay, partial(self._answer, request, wanted))

    def _answer(self, request: Request, wanted: tuple[bytes, bytes] | None) -> None:
        stub = self._server.stub
        key = request.path.lstrip("/").partition("/")[2]
        if not key:
            self._send(request, "200 OK", memoryview(listing_xml(stub.objects, request.query, 1000)))
        elif key not in stub.objects:
            body = b"<Error><Code>NoSuchKey</Code><Message>absent</Message></Error>"
            self._send(request, "404 Not Found", memoryview(body))
        elif wanted is None:
            self._send(request, "200 OK", memoryview(stub.objects[key][0]))
        else:
            data = stub.objects[key][0]
            first, last = wanted
            start = int(first) if first else max(len(data) - int(last), 0)
            stop = min(int(last) + 1, len(data)) if first and last else len(data)
            more = f"Content-Range: bytes {start}-{stop - 1}/{len(data)}\r\n"
            self._send(request, "206 Partial Content", memoryview(data)[start:stop], more)

    def _send(self, request: Request, status: str, body: memoryview, more: str = "") -> None:
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nLast-Modified: {_DATE}\r\n"
        head += 'Accept-Ranges: bytes\r\nETag: "1"\r\n'  # of every range the same, and no object changes
        self._transport.write(f"{head}{more}\r\n".encode())
        self._send_from(request, body if request.method == "GET" else body[:0], 0)

    def _send_from(self, request: Request, body: memoryview, start: int) -> None:
        """Send the body by chunks, each when the rate allows it."""
        if self._transport.is_closing():
            return
        chunk = body[start : start + _CHUNK]
        self._transport.write(chunk)
        if start + len(chunk) < len(body):
            wait = self._server.wait_s(len(chunk))
            self._server.loop.call_later(wait, self._send_from, request, body, start + len(chunk))
        else:
            request.end = self._server.loop.time()


def main() -> None:
    """Serve until the standard input ends. Argument: bytes in each second; or "stub" for the stub of the tests."""
    if sys.argv[1:] == ["stub"]:
        with S3Stub(delay=0.0) as stub:
            answer_commands(stub, stub.options)
        return
    server = Server(float(sys.argv[1]) if len(sys.argv) > 1 else 0)
    listening = server.loop.run_until_complete(
        server.loop.create_server(lambda: Connection(server), "127.0.0.1", 0, backlog=512)
    )
    port = listening.sockets[0].getsockname()[1]
    options = {**KEYS, "aws_endpoint": f"http://127.0.0.1:{port}"}

    def answer() -> None:
        answer_commands(server.stub, options)
        server.loop.call_soon_threadsafe(server.loop.stop)

    threading.Thread(target=answer, daemon=True).start()
    server.loop.run_forever()


KEYS = {
    "aws_region": "us-east-1",
    "aws_access_key_id": "AKIASTUB",
    "aws_secret_access_key": "st0bSecretKey",
    "aws_allow_http": "true",
}


def answer_commands(stub: S3Stub, options: dict[str, str]) -> None:
    """Say the options of a client, then answer commands of the standard input until it ends.

    ``upload DIRECTORY``; ``start DELAY``, with seconds; ``fault NAME`` and ``fault-of-puts NAME``, which only the stub
    of the tests heeds; ``stop``, whose answer is the number of requests since the start, and the longest chain.
    """
    print(json.dumps(options), flush=True)
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "upload":
            stub.upload(Path(argument), Path(argument).name)
        elif command == "start":
            stub.requests.clear()
            stub.delay = float(argument)
        elif command in ("fault", "fault-of-puts"):
            stub.requests.clear()
            stub.fault = argument
            stub.faulty = (
                (lambda request: request.method == "PUT") if command == "fault-of-puts" else lambda request: True
            )
        elif command == "stop":
            stub.delay, stub.fault = 0.0, ""
            print(json.dumps([len(stub.requests), stub.longest_chain]), flush=True)
            continue
        print("ok", flush=True)


if __name__ == "__main__":
    main()
