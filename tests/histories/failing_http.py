"""One operation upon a real S3 server of which one answer goes wrong on its way: what may be left of the table.

The server is moto's, in a process of its own, behind :mod:`tests.histories.proxy`. Nothing of ours is replaced: the
store's client tries again as it does, and is given its own success as a conflict, as on S3.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import tableformats as tf

from ..support.s3_stub import S3Stub
from .checker import check
from .company import bucket_client, moto, objects_below
from .failing import FIRST, OPERATIONS, PROPERTIES, FaultFoundError, without_waiting
from .faults import TYPED
from .history import History, Recorder
from .proxy import FaultProxy
from .tables import SCHEMA, Op, arrow_of, ledger_of, perform
from .workers import makers_of

__all__ = ["cases", "commits_of", "judge", "requests_of", "serving"]

OF_READS = ("429", "500", "503", "close", "half")
OF_PUTS = ("429", "500", "503", "close", "500 lost", "503 lost", "close lost")
OF_COMMITS = (*OF_PUTS, "409", "412", "hang")
OF_DELETES = ("429", "500", "close", "close lost")
_COMMIT = re.compile(r"(_delta_log/\d{20}\.json|metadata/v\d+\.metadata\.json)$")
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class _Server:
    """A server, and what gives its files below a prefix."""

    endpoint: str
    files: Callable[[str], dict[str, bytes]]

    def options(self, endpoint: str) -> dict[str, str]:
        return {
            "aws_endpoint": endpoint,
            "aws_region": "us-east-1",
            "aws_access_key_id": "testing",
            "aws_secret_access_key": "t3stingSecret",
            "aws_allow_http": "true",
        }


_SERVERS: list[_Server] = []


@contextmanager
def serving(is_stub: bool = False) -> Iterator[None]:
    """The server, which this module needs to run: moto's, or the stub of the tests, which is there at once."""
    with ExitStack() as stack:
        if is_stub:
            stub = stack.enter_context(S3Stub())

            def files(prefix: str) -> dict[str, bytes]:
                found = list(stub.objects.items())
                return {key[len(prefix) :]: data for key, (data, _) in found if key.startswith(prefix)}

            server = _Server(stub.endpoint, files)
        else:
            endpoint = stack.enter_context(moto())
            client = bucket_client(endpoint)
            client.create_bucket(Bucket="bucket")
            server = _Server(endpoint, lambda prefix: objects_below(client, prefix))
        _SERVERS.append(server)
        try:
            yield
        finally:
            _SERVERS.pop()
            requests_of.cache_clear()


def faults_of(method: str, path: str) -> tuple[str, ...]:
    """The ways in which a request can go wrong."""
    if method == "PUT":
        return OF_COMMITS if _COMMIT.search(path) else OF_PUTS
    return OF_DELETES if method in ("DELETE", "POST") else OF_READS


def _run(format: str, name: str, number: int, fault: str) -> tuple[list[tuple[str, str, str | None]], list[str], str]:
    """The requests, what is wrong, and the outcome of the operation."""
    server, prefix = _SERVERS[-1], f"t{next(_NUMBERS)}"
    location, direct = f"s3://bucket/{prefix}", server.options(server.endpoint)
    op, creates, recorder = OPERATIONS[name], name == "create", Recorder()
    if not creates:
        tf.create_table(
            location, SCHEMA, format=format, partition_by="p", properties=PROPERTIES[format], storage_options=direct
        ).append(arrow_of(FIRST))
    with FaultProxy(server.endpoint) as proxy, warnings.catch_warnings(), without_waiting():
        warnings.simplefilter("ignore")
        proxy.plan = lambda n, method, path: fault if n == number else None

        def done(process: int, op: Op, options: dict[str, Any]) -> BaseException | None:
            return perform(location, format, op, recorder, process, level="serializable", storage_options=options)

        error = done(1, op, server.options(proxy.endpoint))
        requests = list(proxy.requests)
        found = [f"another error: {error!r}"] if error is not None and not isinstance(error, TYPED) else []
        outcome = str(recorder.events[-1]["type"])
        if creates and outcome != "ok":
            done(2, Op("again", "create", op.arguments), direct)
        after = Op("after", "append", {"rows": [{"id": 999, "p": 2, "k": 9}]})
        for process, step in ((3, after), (4, Op("reader", "read"))):
            if (error := done(process, step, direct)) is not None:
                found.append(f"the next {step.kind} fails: {error!r}")
    files = server.files(f"{prefix}/")
    ledger = ledger_of(format, files, None, makers_of(recorder.events))
    found += check(History.of(format, "serializable", 0 if creates else 2, recorder.events), ledger)
    return requests, found, outcome


@cache
def requests_of(format: str, name: str) -> tuple[tuple[str, str], ...]:
    """(method, path) of the requests of an operation when nothing fails."""
    return tuple((method, path) for method, path, _ in _run(format, name, -1, "")[0])


def commits_of(format: str, name: str) -> list[int]:
    """The numbers of the requests that make a commit visible."""
    told = enumerate(requests_of(format, name))
    return [number for number, (method, path) in told if method == "PUT" and _COMMIT.search(path)]


def judge(format: str, name: str, number: int, fault: str) -> str:
    """Let one request of an operation go wrong. Gives the outcome. Raises FaultFoundError where harm was done."""
    requests, found, outcome = _run(format, name, number, fault)
    if found:
        request = requests[number : number + 1]
        raise FaultFoundError(f"S3 behind a proxy: {format} {name}, request {number} {request}, {fault}: {found}")
    return outcome


def cases() -> Iterator[tuple[str, str, int, str]]:
    """(format, operation, number of the request, fault) of all faults."""
    for format in ("delta", "iceberg"):
        for name in sorted(OPERATIONS):
            for number, (method, path) in enumerate(requests_of(format, name)):
                for fault in faults_of(method, path):
                    yield format, name, number, fault
