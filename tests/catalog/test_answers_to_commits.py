"""What an answer to a commit says of it: done, lost, unknown, or refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tableformats.catalog import pyiceberg_commits as commits
from tableformats.catalog.swaps import bigquery
from tableformats.catalog.swaps.aws_answers import attempted
from tableformats.errors import CatalogConnectionError, CatalogError, CatalogPermissionError
from tableformats.io.stores.base import PutOutcome

pytest.importorskip("pyiceberg")
WON, LOST, UNKNOWN = PutOutcome.WON, PutOutcome.LOST, PutOutcome.UNKNOWN


class Answer:
    """An answer of a REST catalog."""

    def __init__(self, status: int, body: Any = None) -> None:
        self.status_code = status
        self.body = body if isinstance(body, str) else json.dumps(body)

    def json(self) -> Any:
        return json.loads(self.body)


class RestCatalog:
    """A REST catalog that gives one answer, and remembers what it was sent."""

    __module__ = "pyiceberg.catalog.rest"
    name = "c"

    def __init__(self, answer: Any) -> None:
        self._session = self
        self.answer = answer
        self.sent: list[tuple[str, Any]] = []

    def post(self, url: str, data: bytes, **options: Any) -> Any:
        self.sent.append((url, json.loads(data)))
        assert options["allow_redirects"] is False and options["timeout"] == (5.0, 120.0)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def url(self, path: str, prefixed: bool, **parts: str) -> str:
        assert prefixed
        return path.format(**parts)

    def _split_identifier_for_path(self, identifier: tuple[str, ...]) -> dict[str, str]:
        return {"namespace": "/".join(identifier[:-1]), "table": identifier[-1]}


METADATA = {"metadata": {}}


def error(name: str) -> dict[str, Any]:
    return {"error": {"type": name, "message": "secret"}}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Answer(200, METADATA), WON),
        (Answer(204, ""), WON),
        (Answer(200, {"metadata": []}), UNKNOWN),
        (Answer(200, {}), UNKNOWN),
        (Answer(200, [1]), UNKNOWN),
        (Answer(200, "<html>"), UNKNOWN),
        (Answer(201, METADATA), UNKNOWN),
        (Answer(299), UNKNOWN),
        (Answer(409), LOST),
        (Answer(500), UNKNOWN),
        (Answer(502), UNKNOWN),
        (Answer(520), UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_answers_of_a_rest_catalog(answer: Answer | None, outcome: PutOutcome) -> None:
    if answer is None:
        import requests

        catalog = RestCatalog(requests.exceptions.ReadTimeout("late"))
    else:
        catalog = RestCatalog(answer)
    assert commits.commit(catalog, ("a", "b", "t"), [{"type": "r"}], [{"action": "u"}]) is outcome
    ((url, body),) = catalog.sent
    assert url == "namespaces/a/b/tables/t"
    assert body == {
        "identifier": {"namespace": ["a", "b"], "name": "t"},
        "requirements": [{"type": "r"}],
        "updates": [{"action": "u"}],
    }


@pytest.mark.parametrize(
    ("answer", "kind", "message", "hint"),
    [
        (Answer(401), CatalogPermissionError, "catalog 'c' refused the commit: HTTP 401", "token"),
        (Answer(403, error("No")), CatalogPermissionError, "catalog 'c' refused the commit: HTTP 403, No", "token"),
        (Answer(419), CatalogPermissionError, "catalog 'c' refused the commit: HTTP 419", "token"),
        (Answer(429), CatalogConnectionError, "catalog 'c' did not take the request: HTTP 429", "try again later"),
        (Answer(400, error("Bad")), CatalogError, "catalog 'c' refused the commit: HTTP 400, Bad", "log says why"),
        (Answer(400, error("not a name")), CatalogError, "catalog 'c' refused the commit: HTTP 400", "log says why"),
        (Answer(400, [1]), CatalogError, "catalog 'c' refused the commit: HTTP 400", "log says why"),
        (Answer(301), CatalogError, "catalog 'c' refused the commit: HTTP 301", "log says why"),
        (Answer(501), CatalogError, "catalog 'c' refused the commit: HTTP 501", "log says why"),
        (Answer(505), CatalogError, "catalog 'c' refused the commit: HTTP 505", "log says why"),
    ],
)
def test_refusals_of_a_rest_catalog(answer: Answer, kind: type[CatalogError], message: str, hint: str) -> None:
    with pytest.raises(CatalogError) as caught:
        commits.commit(RestCatalog(answer), ("a", "t.x"), [], [])
    found = caught.value
    assert type(found) is kind and found.message == message and found.path == "a.`t.x`"
    assert hint in str(found.hint)


def test_a_table_that_is_missing() -> None:
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    with pytest.raises(NoSuchTableError):
        commits.commit(RestCatalog(Answer(404)), ("a", "t"), [], [])
    with pytest.raises(NoSuchNamespaceError):
        commits.stage(RestCatalog(Answer(404)), ("a", "t"), {})


def test_a_catalog_that_is_not_reached() -> None:
    import requests

    with pytest.raises(requests.exceptions.ConnectTimeout):
        commits.commit(RestCatalog(requests.exceptions.ConnectTimeout()), ("a", "t"), [], [])


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (Answer(204), WON),
        (Answer(200, METADATA), UNKNOWN),  # not the answer to a commit of several tables
        (Answer(409), LOST),
        (Answer(500), UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_commits_of_several_tables(answer: Answer | None, outcome: PutOutcome) -> None:
    import requests

    catalog = RestCatalog(requests.exceptions.ConnectionError() if answer is None else answer)
    tables = [(("a", "t"), [{"r": 1}], [{"u": 1}]), (("b", "c", "x"), [], [])]
    assert commits.commit_several(catalog, tables) is outcome
    ((url, body),) = catalog.sent
    assert url == "transactions/commit"
    assert [change["identifier"] for change in body["table-changes"]] == [
        {"namespace": ["a"], "name": "t"},
        {"namespace": ["b", "c"], "name": "x"},
    ]
    assert [(c["requirements"], c["updates"]) for c in body["table-changes"]] == [([{"r": 1}], [{"u": 1}]), ([], [])]


@pytest.mark.parametrize("status", [404, 405, 501])
def test_catalogs_without_commits_of_several_tables(status: int) -> None:
    with pytest.raises(commits.NoSuchEndpointError):
        commits.commit_several(RestCatalog(Answer(status, error("Other"))), [(("a", "t"), [], [])])


def test_one_of_several_tables_is_missing() -> None:
    from pyiceberg.exceptions import NoSuchTableError

    with pytest.raises(NoSuchTableError):
        commits.commit_several(RestCatalog(Answer(404, error("NoSuchTableException"))), [(("a", "t"), [], [])])


def test_a_staged_table() -> None:
    answer = {"metadata": {"location": "s3://b/t", "table-uuid": "u"}, "config": {"k": "v"}}
    catalog = RestCatalog(Answer(200, answer))
    staged, found = commits.stage(catalog, ("a", "t"), {"name": "t"})
    assert (staged.location, staged.table_id, found) == ("s3://b/t", "u", answer)
    assert catalog.sent == [("namespaces/a/tables", {"name": "t", "stage-create": True})]
    for status, kind in ((409, CatalogError), (500, CatalogConnectionError), (201, CatalogConnectionError)):
        with pytest.raises(CatalogError) as caught:
            commits.stage(RestCatalog(Answer(status, answer)), ("a", "t"), {})
        assert type(caught.value) is kind
    with pytest.raises(ConnectionError):
        import requests

        commits.stage(RestCatalog(requests.exceptions.ReadTimeout()), ("a", "t"), {})


def raised(name: str, base: type[Exception] = Exception) -> Exception:
    return type(name, (base,), {})()


def expect_outcome(attempt: Callable[[Callable[[], None]], Any], fault: Exception | None, outcome: Any) -> None:
    """Attempt a commit that ends in ``fault``: it has the outcome, or the fault is raised."""

    def write() -> None:
        if fault is not None:
            raise fault

    if outcome == "raised":
        assert fault is not None
        with pytest.raises(type(fault)):
            attempt(write)
    else:
        assert attempt(write) is outcome


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (None, WON),
        (raised("CommitFailedException"), LOST),
        (raised("TableAlreadyExistsError"), LOST),
        (raised("CommitStateUnknownException"), UNKNOWN),
        (OSError(), UNKNOWN),
        (raised("NoSuchTableError"), "raised"),
        (raised("NoSuchNamespaceError"), "raised"),
        (raised("ValidationError"), "raised"),
        (NotImplementedError(), "raised"),
    ],
)
def test_errors_of_pyiceberg(fault: Exception | None, outcome: Any) -> None:
    expect_outcome(lambda write: commits._attempt(write), fault, outcome)


def of_aws(code: str | None, status: int | None = 400) -> Exception:
    found = raised("ClientError")
    found.response = {}  # type: ignore[attr-defined]
    if code is not None:
        found.response["Error"] = {"Code": code}  # type: ignore[attr-defined]
    if status is not None:
        found.response["ResponseMetadata"] = {"HTTPStatusCode": status}  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [
        (None, WON),
        (of_aws("Lost"), LOST),
        (of_aws("Lost", 500), LOST),
        (of_aws("InternalFailure"), UNKNOWN),
        (of_aws("OperationTimeoutException"), UNKNOWN),
        (of_aws("Other", 500), UNKNOWN),
        (of_aws(None, 503), UNKNOWN),
        (of_aws("Other", 499), "raised"),
        (of_aws("Other", None), "raised"),
        (of_aws(None, None), "raised"),
        (OSError(), UNKNOWN),
    ],
)
def test_errors_of_aws(fault: Exception | None, outcome: Any) -> None:
    expect_outcome(lambda write: attempted(write, ("Lost",)), fault, outcome)


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (409, LOST),
        (412, LOST),
        (400, "raised"),
        (403, "raised"),
        (499, "raised"),
        (399, UNKNOWN),
        (500, UNKNOWN),
        (None, UNKNOWN),
        ("409", UNKNOWN),
    ],
)
def test_errors_of_bigquery(code: Any, outcome: Any) -> None:
    fault = raised("GoogleError")
    fault.code = code  # type: ignore[attr-defined]

    def write() -> None:
        raise fault

    if outcome == "raised":
        with pytest.raises(type(fault)):
            bigquery._attempted(write)
    else:
        assert bigquery._attempted(write) is outcome
    assert bigquery._attempted(lambda: None) is WON


@pytest.mark.parametrize(
    ("known", "may"),
    [
        (None, True),
        (set(), True),
        ({"GET /v1/x"}, False),
        ({"GET /v1/x", "POST /v1/{prefix}/transactions/commit"}, True),
        ({"POST /v1/{prefix}/transactions/commits"}, False),
    ],
)
def test_whether_a_catalog_commits_to_several_tables(known: set[str] | None, may: bool) -> None:
    catalog: Any = RestCatalog(None)
    catalog._supported_endpoints = known
    assert commits.may_commit_several(catalog) is may
    assert commits.may_commit_several(object()) is False
