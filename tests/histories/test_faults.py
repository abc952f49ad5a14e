"""Each request of each operation fails once in every way: the table is as before or after, and the next writer goes on.

The plain run lets every conditional put fail in one way, and some of the others. All of them, in every way:
``python -m tests.histories faults``.
"""

from __future__ import annotations

import pytest

from . import failing_catalog, failing_http
from .failing import judge, operations_of, requests_of
from .faults import faults_of


@pytest.mark.parametrize(
    ("name", "format"), [(name, format) for format in ("delta", "iceberg") for name in operations_of(format)]
)
def test_requests_fail(format: str, name: str) -> None:
    for number, request in enumerate(requests_of(format, name)):
        ways = faults_of(request)
        if request.method == "put_if_absent" or (number + len(name)) % 11 == 0:
            judge(format, name, number, ways[(number + len(name)) % len(ways)])


@pytest.mark.parametrize("name", ["append", "create", "overwrite where"])
def test_the_database_of_a_catalog_fails(name: str) -> None:
    pytest.importorskip("sqlalchemy")
    requests = failing_catalog.requests_of(name)
    (commit,) = [number for number, request in enumerate(requests) if request == "COMMIT"]
    for fault in failing_catalog.OF_COMMITS:
        failing_catalog.judge(name, commit, fault)
    failing_catalog.judge(name, commit - 1, "locked")


def test_answers_of_a_server_go_wrong() -> None:
    with failing_http.serving(is_stub=True):
        for format, name, faults in (("delta", "append", ("503 lost", "409")), ("iceberg", "delete", ("close lost",))):
            (commit,) = failing_http.commits_of(format, name)
            for fault in faults:
                assert failing_http.judge(format, name, commit, fault) == "ok"
