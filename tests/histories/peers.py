"""Known bugs of writers, staged: what becomes of a table under the same fault, by its peers and by us."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa

import tableformats as tf
from tableformats.catalog.writing import TableWriter
from tableformats.io.local_writes import link_local
from tableformats.io.stores.base import PutOutcome

from ..support.s3_stub import S3Stub
from .peers_more import MORE
from .proxy import FaultProxy

__all__ = ["CASES", "Case", "outcomes", "right"]

ROWS = pa.table({"id": [7]})
Outcome = str
Case = tuple[str, str, Callable[[], Outcome], Callable[[], Outcome]]


def right(outcome: Outcome) -> bool:
    """Whether an outcome is right: the commit is in the table once, and the caller was not told otherwise."""
    return outcome.startswith("right")


# ---- F1: the answer of a commit's put is lost ------------------------------------------------------------------------


@contextlib.contextmanager
def _losing(fault: str) -> Iterator[tuple[str, dict[str, Any], S3Stub, FaultProxy]]:
    with S3Stub() as stub, FaultProxy(stub.endpoint) as proxy:
        tf.create_table("s3://bucket/t", ROWS.schema, format="delta", storage_options=stub.options)
        tf.open_table("s3://bucket/t", storage_options=stub.options).append(pa.table({"id": [1]}))
        left = [1]

        def plan(number: int, method: str, path: str) -> str | None:
            if method == "PUT" and path.endswith("2.json") and left:
                left.pop()
                return fault
            return None

        proxy.plan = plan
        yield "s3://bucket/t", {**stub.options, "aws_endpoint": proxy.endpoint}, stub, proxy


def _commits(stub: S3Stub) -> list[list[dict[str, Any]]]:
    keys = sorted(key for key in stub.objects if key.startswith("t/_delta_log/0") and key.endswith(".json"))
    return [[json.loads(line) for line in stub.objects[key][0].decode().splitlines()] for key in keys]


def _lost_answer(fault: str, write: Callable[[str, dict[str, Any]], None]) -> Outcome:
    with _losing(fault) as (location, options, stub, _):
        told = "success"
        try:
            write(location, options)
        except Exception as error:
            told = type(error).__name__
        commits = _commits(stub)[2:]
    adds = [action["add"]["path"] for commit in commits for action in commit if "add" in action]
    if len(adds) != len(set(adds)):
        return f"wrong: {told}, and one file is added in {len(commits)} versions"
    return f"{'right' if len(commits) == 1 and told == 'success' else 'wrong'}: {told}, {len(commits)} version made"


def _ours(location: str, options: dict[str, Any]) -> None:
    tf.open_table(location, storage_options=options).append(ROWS)


def _ours_once(location: str, options: dict[str, Any]) -> None:
    tf.open_table(location, storage_options=options).append(ROWS, application=("job", 1))


def _deltalake(location: str, options: dict[str, Any], **more: Any) -> None:
    import deltalake

    named = {name.upper().replace("AWS_ENDPOINT", "AWS_ENDPOINT_URL"): value for name, value in options.items()}
    named["AWS_CONDITIONAL_PUT"] = "etag"
    deltalake.write_deltalake(location, ROWS, mode="append", storage_options=named, **more)


def _deltalake_once(location: str, options: dict[str, Any]) -> None:
    import deltalake

    once = deltalake.CommitProperties(app_transactions=[deltalake.Transaction("job", 1)])
    _deltalake(location, options, commit_properties=once)


# ---- F2: a catalog's answer to a commit that landed is 409, on the last try ------------------------------------------


def _catalog(folder: str) -> Any:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}/w")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", ROWS.schema, properties={"commit.retry.num-retries": "0"})
    table.append(pa.table({"id": [1]}))
    return catalog


def _state(catalog: Any, told: str) -> Outcome:
    try:
        ids = sorted(catalog.load_table("n.t").scan().to_arrow()["id"].to_pylist())
    except FileNotFoundError:
        return f"wrong: {told}, and the table cannot be read any more: its manifests are deleted"
    return f"{'right' if ids == [1, 7] and told == 'success' else 'wrong'}: {told}, rows {ids}"


def _pyiceberg_409() -> Outcome:
    from pyiceberg.exceptions import CommitFailedException

    with tempfile.TemporaryDirectory() as folder:
        catalog, told = _catalog(folder), "success"
        real = catalog.commit_table

        def lost(*arguments: Any) -> Any:
            real(*arguments)
            raise CommitFailedException("409")

        with mock.patch.object(catalog, "commit_table", lost):
            try:
                catalog.load_table("n.t").append(ROWS)
            except Exception as error:
                told = type(error).__name__
        return _state(catalog, told)


def _ours_409() -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        catalog, told = _catalog(folder), "success"
        real = TableWriter.swap

        def lost(self: TableWriter, old: str, new: str) -> PutOutcome:
            assert real(self, old, new) is PutOutcome.WON
            return PutOutcome.LOST

        with mock.patch.object(TableWriter, "swap", lost):
            try:
                tf.open_table("n.t", catalog=catalog).append(ROWS, tries=1)
            except Exception as error:
                told = type(error).__name__
        return _state(catalog, told)


# ---- F3: several processes put one file if it is absent --------------------------------------------------------------


def _put_by_fsspec(path: str, data: bytes) -> bool:
    import fsspec

    try:
        fsspec.filesystem("file").pipe_file(path, data, mode="create")
    except FileExistsError:
        return False
    return True


def _put_by_us(path: str, data: bytes) -> bool:
    return link_local(path, data) is PutOutcome.WON


def _putting(put: Callable[[str, bytes], bool], folder: str, number: int, count: int, start: float, log: str) -> None:
    time.sleep(max(start - time.time(), 0))
    won = [version for version in range(count) if put(f"{folder}/{version}", f"{number} {version}".encode())]
    Path(log).write_text(json.dumps(won))


def _race(put: Callable[[str, bytes], bool], rounds: int = 4, count: int = 600, processes: int = 6) -> Outcome:
    """Rounds of races, until a file has several winners."""
    context, tried = multiprocessing.get_context("forkserver"), 0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            Path(f"{folder}/t").mkdir()
            logs, start = [f"{folder}/{n}.json" for n in range(processes)], time.time() + 1.5
            workers = [
                context.Process(target=_putting, args=(put, f"{folder}/t", n, count, start, log))
                for n, log in enumerate(logs)
            ]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            won = Counter(version for log in logs for version in json.loads(Path(log).read_text()))
        tried += count
        several, none = sum(n > 1 for n in won.values()), count - len(won)
        if several or none:
            return f"wrong: {several} of {tried:,} files had several winners, {none} none"
    return f"right: each of {tried:,} files had one winner"


# ---- F8: a rival enables a feature between the read and the commit ---------------------------------------------------


def _row_tracking(protocol: dict[str, Any]) -> str:
    """A commit that adds row tracking to a protocol."""
    features = [*protocol["writerFeatures"], "rowTracking", "domainMetadata"]
    domain = {"domain": "delta.rowTracking", "configuration": '{"rowIdHighWaterMark":0}', "removed": False}
    actions = [{"protocol": {**protocol, "writerFeatures": features}}, {"domainMetadata": domain}]
    return "".join(json.dumps(action) + "\n" for action in actions)


def _feature(write: Callable[[str, Callable[[], None]], None]) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        properties = {"delta.feature.timestampNtz": "supported"}
        tf.create_table(f"{folder}/t", ROWS.schema, format="delta", properties=properties)
        log = Path(folder) / "t" / "_delta_log"

        def rival() -> None:
            actions = [json.loads(line) for line in (log / f"{0:020d}.json").read_text().splitlines()]
            (protocol,) = [action["protocol"] for action in actions if "protocol" in action]
            (log / f"{1:020d}.json").write_text(_row_tracking(protocol))

        told = "success"
        try:
            write(f"{folder}/t", rival)
        except Exception as error:
            told = type(error).__name__
        path = log / f"{2:020d}.json"
        adds = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        found = [action["add"].get("baseRowId") for action in adds if "add" in action]
    if None in found:
        return f"wrong: {told}, and the new file has no row ids"
    return f"right: {told}, {len(found)} file with row ids"


def _feature_by_deltalake(location: str, rival: Callable[[], None]) -> None:
    import deltalake

    table = deltalake.DeltaTable(location)
    rival()
    deltalake.write_deltalake(table, ROWS, mode="append")


def _feature_by_us(location: str, rival: Callable[[], None]) -> None:
    with tf.open_table(location).transaction() as transaction:
        transaction.append(ROWS)
        rival()


# ---- the table -------------------------------------------------------------------------------------------------------

_F1 = "the answer of the commit's put is lost: {} (delta-rs#268, #2279, #2609)"
CASES: dict[str, Case] = {
    f"lost answer, {fault}": (
        _F1.format(fault.removesuffix(" lost")),
        "deltalake",
        lambda fault=fault: _lost_answer(fault, _deltalake),  # type: ignore[misc]
        lambda fault=fault: _lost_answer(fault, _ours),  # type: ignore[misc]
    )
    for fault in ("500 lost", "503 lost", "close lost")
}
CASES["lost answer, once"] = (
    "the same, of a transaction of an application",
    "deltalake",
    lambda: _lost_answer("500 lost", _deltalake_once),
    lambda: _lost_answer("500 lost", _ours_once),
)
CASES["409 of one's own commit"] = (
    "the catalog answers 409 to a commit that landed, on the last try (iceberg#2317, duckdb-iceberg#1120)",
    "PyIceberg",
    _pyiceberg_409,
    _ours_409,
)
CASES["several winners"] = (
    "six processes put each file of a local directory if it is absent (iceberg#1014, delta#1410)",
    "fsspec",
    lambda: _race(_put_by_fsspec),
    lambda: _race(_put_by_us),
)
CASES["a rival's feature"] = (
    "a rival enables row tracking between the read and the commit",
    "deltalake",
    lambda: _feature(_feature_by_deltalake),
    lambda: _feature(_feature_by_us),
)
CASES |= MORE


def outcomes(cases: Iterable[Case]) -> list[tuple[str, str, str, str]]:
    """(fault, peer, the peer's outcome, ours) of cases."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for what, peer, theirs, ours in cases:
            found.append((what, peer, theirs(), ours()))
            print(*found[-1], sep=" | ", flush=True)
    return found
