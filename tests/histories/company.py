"""Mixed company: ours beside other writers of one table at once, all in processes of their own.

Each writer appends rows that nobody else has, deletes and overwrites by conditions, and reads. The history of all of
them is judged like one of ours alone: nothing that was acknowledged is lost, or there twice. Which version an operation
of a peer made is read from what it left in the commit.
"""

from __future__ import annotations

import json
import multiprocessing
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import tableformats as tf

from ..support.iceberg_rest import running_rest_catalog
from ..support.s3_stub import S3Stub
from .checker import check
from .company_peers import ELSEWHERE, TABLE, Place, peers
from .history import History, Recorder, merged
from .ledger import Ledger, local_files
from .ledger_delta import delta_ledger
from .ledger_iceberg import iceberg_ledger, metadata_order
from .orphans import wrong_orphans
from .tables import SCHEMA, arrow_of
from .workers import NUMBERS_EACH

__all__ = ["COMPANIES", "OF_THE_JVM", "Company", "Outcome", "bucket_client", "kept", "moto", "objects_below"]

LEVELS = {"delta": "write-serializable", "iceberg": "snapshot"}
"""What the writers promise, but for those with an isolation of their own."""
_PROPERTIES = {
    "delta": {"delta.checkpointInterval": "5"},
    # The metadata files that were current are read from the last one.
    "iceberg": {"write.metadata.previous-versions-max": "100000", "commit.retry.num-retries": "20"},
}
_LONGEST_START_S = 600.0
LEAD = 4
"""Of writers beside one with a JVM."""
FIRST = [{"id": number, "p": number % 3, "k": number} for number in range(6)]
Files = Callable[[], dict[str, bytes]]


@dataclass(frozen=True)
class Company:
    """Writers of one table. ``store``: "disk", "S3", or "REST" or "REST, S3", with Iceberg's REST catalog.

    ``unsafe``: why these must not write one table, where their documents say so. ``lead``: how many operations a writer
    may be ahead of the slowest one; 0: each is as fast as it can. Without it a writer that needs a second for a commit
    loses the race for every version to one that needs a hundredth of that.
    """

    format: str
    store: str
    writers: tuple[str, ...]
    unsafe: str = ""
    lead: int = 0


COMPANIES = {
    "deltalake, disk": Company("delta", "disk", ("tableformats", "tableformats", "deltalake", "deltalake")),
    "deltalake, S3": Company("delta", "S3", ("tableformats", "tableformats", "deltalake", "deltalake")),
    "PyIceberg, disk": Company("iceberg", "disk", ("tableformats", "tableformats", "PyIceberg", "PyIceberg")),
    "PyIceberg, S3": Company("iceberg", "S3", ("tableformats", "tableformats", "PyIceberg", "PyIceberg")),
}
OF_THE_JVM = {
    "Iceberg's runtime, REST": Company(
        "iceberg", "REST", ("tableformats", "tableformats", "Iceberg's runtime"), lead=LEAD
    ),
    "Iceberg's runtime, REST, S3": Company(
        "iceberg", "REST, S3", ("tableformats", "tableformats", "Iceberg's runtime"), lead=LEAD
    ),
    "delta-spark, disk": Company(
        "delta",
        "disk",
        ("tableformats", "tableformats", "delta-spark"),
        "delta-spark looks whether a version is there and then renames; its log store of disks is for one driver",
        lead=LEAD,
    ),
}
"""With JARs, which the plain companies do without."""


@dataclass
class Outcome:
    """What came of a company: the operations of each writer by their ends, the versions, and what is wrong."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    versions: int = 0
    violations: list[str] = field(default_factory=list)


def kept(company: Company, seconds: float, steps: int = NUMBERS_EACH // 2, seed: int = 0) -> Outcome:
    """Let a company write for some seconds, or so many operations each, and judge what it did."""
    with tempfile.TemporaryDirectory() as folder, _table(company, Path(folder)) as (place, files):
        history, ledger = _written(company, place, Path(folder), seconds, steps, seed, files)
        levels = {n: peers()[name].isolation for n, name in enumerate(company.writers, 1) if peers()[name].isolation}
        found = check(history, ledger, levels)
        found += [f"the verifier says {what}" for what in list(place.open().verify())[:3]]
        found += wrong_orphans(place.open(), files(), ledger)[:3]
        last = ledger.entries[-1]
        try:
            read = place.open().to_arrow()["id"].to_pylist()
            if sorted(read) != sorted(dict(row)["id"] for row in last.rows.elements()):
                found.append("the newest version has other rows than its files")
        except tf.CorruptMetadataError as error:  # what was written over is missed by what counted it
            found.append(f"the newest version is not read: {error}")
    outcome = Outcome(versions=len(ledger.entries), violations=found)
    for op in history.operations:
        outcome.counts[company.writers[op.process - 1], op.outcome] += 1
    return outcome


def _written(
    company: Company, place: Place, folder: Path, seconds: float, steps: int, seed: int, files: Files
) -> tuple[History, Ledger]:
    """The history of a company, with the versions that peers made, and the ledger."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.histories.company_peers", "tableformats_delta", "tableformats_iceberg"])
    logs = [folder / f"events-{number}" for number in range(len(company.writers))]
    barrier = context.Barrier(len(logs), timeout=_LONGEST_START_S)
    pace = _Pace(context.Array("q", len(logs)), company.lead)
    level = LEVELS[company.format]
    processes = [
        context.Process(target=_process, args=(n, name, place, level, seed, str(log), seconds, steps, barrier, pace))
        for n, (name, log) in enumerate(zip(company.writers, logs, strict=True), 1)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        if process.exitcode:
            raise RuntimeError(f"a writer ended with {process.exitcode}")
    events = merged([[json.loads(line) for line in log.read_text().splitlines()] for log in logs])
    return _attributed(company, events, _ledger(place, files()))


def _attributed(company: Company, events: list[Mapping[str, Any]], ledger: Ledger) -> tuple[History, Ledger]:
    """The history with the versions that the commits tell of, and the ledger with the makers that the history tells."""
    told = {event["made"]: event["op"] for event in events if type(event.get("made")) is int}
    entries = [replace(one, maker=one.maker or told.get(one.version)) for one in ledger.entries]
    made = {entry.maker: entry for entry in entries}
    kinds = {event["op"]: event["kind"] for event in events if event["type"] == "invoke"}
    known = []
    for event in events:
        found = dict(event)
        if "made" in event:
            found["made"] = _made(event, kinds, {maker: entry.version for maker, entry in made.items()})
        if event.get("read") == ELSEWHERE:
            found["read"] = made[event["op"]].read if event["op"] in made else None
        known.append(found)
    return History.of(company.format, LEVELS[company.format], 2, known), replace(ledger, entries=entries)


def _made(event: Mapping[str, Any], kinds: Mapping[str, str], made: Mapping[str | None, int]) -> Any:
    """The version that an operation made. A delete without one had nothing to do; else it is lost (-2)."""
    if event["made"] != ELSEWHERE:
        return event["made"]
    return made.get(event["op"], None if kinds[event["op"]] == "delete" else -2)


@dataclass
class _Pace:
    """Holds writers back that are too far ahead of the slowest one. ``done``: how many operations each has done."""

    done: Any
    lead: int

    def wait(self, number: int, until: float) -> None:
        while self.lead and self.done[number - 1] - min(self.done) >= self.lead and time.monotonic() < until:
            time.sleep(0.005)


def _process(
    number: int,
    name: str,
    place: Place,
    level: str,
    seed: int,
    log: str,
    seconds: float,
    steps: int,
    barrier: Any,
    pace: _Pace,
) -> None:
    with open(log, "a", encoding="utf-8") as out:

        def tell(event: Mapping[str, Any]) -> None:
            out.write(json.dumps(event) + "\n")
            out.flush()

        worker = peers()[name](number, place, level, Recorder(tell=tell), seed)
        worker.warm_up()
        barrier.wait()
        until = time.monotonic() + seconds  # from when all are ready
        for _ in range(steps):
            pace.wait(number, until)
            if time.monotonic() >= until:
                break
            worker.step()
            pace.done[number - 1] += 1


def _ledger(place: Place, files: dict[str, bytes]) -> Ledger:
    if place.format == "delta":
        return delta_ledger(files)
    from pyiceberg.catalog import load_catalog

    current = load_catalog(**place.catalog).load_table(TABLE).metadata_location
    last = "metadata/" + current.rpartition("/")[2]
    return iceberg_ledger(files, order=metadata_order(files, last), chains=True)


# ---- tables ----------------------------------------------------------------------------------------------------------


@contextmanager
def _table(company: Company, folder: Path) -> Iterator[tuple[Place, Files]]:
    """The place of a table, and what gives its files by their paths below its root."""
    properties = _PROPERTIES[company.format]
    if company.format == "delta":
        with _delta_place(company.store, folder) as (place, files):
            made = tf.create_table(
                place.location,
                SCHEMA,
                format="delta",
                partition_by="p",
                properties=properties,
                storage_options=dict(place.options) or None,
            )
            made.append(arrow_of(FIRST))
            yield place, files
        return
    with _iceberg_place(company.store, folder) as (place, files):
        from pyiceberg.catalog import load_catalog

        load_catalog(**place.catalog).create_namespace("n")
        tf.create_table(
            TABLE, SCHEMA, format="iceberg", partition_by="p", properties=properties, catalog=dict(place.catalog)
        )
        place.open().append(arrow_of(FIRST))
        yield place, files


@contextmanager
def _delta_place(store: str, folder: Path) -> Iterator[tuple[Place, Files]]:
    if store == "disk":
        yield Place("delta", str(folder / "t")), lambda: local_files(folder / "t")
        return
    with S3Stub() as stub:
        yield (
            Place("delta", "s3://bucket/t", stub.options),
            lambda: {key[2:]: data for key, (data, _) in list(stub.objects.items()) if key.startswith("t/")},
        )


@contextmanager
def _iceberg_place(store: str, folder: Path) -> Iterator[tuple[Place, Files]]:
    catalog = {"name": "c", "type": "sql", "uri": f"sqlite:///{folder}/catalog.db?timeout=30"}
    if store == "REST":
        with running_rest_catalog(folder / "w") as uri:
            catalog = {"name": "c", "type": "rest", "uri": uri}
            yield Place("iceberg", TABLE, catalog=catalog), lambda: local_files(folder / "w" / "n" / "t")
        return
    if store == "disk":
        catalog["warehouse"] = f"file://{folder}/w"
        yield Place("iceberg", TABLE, catalog=catalog), lambda: local_files(folder / "w" / "n" / "t")
        return
    with moto() as endpoint:
        client = bucket_client(endpoint)
        client.create_bucket(Bucket="bucket")
        options = {
            "warehouse": "s3://bucket/w",
            "s3.endpoint": endpoint,
            "s3.access-key-id": "testing",
            "s3.secret-access-key": "t3stingSecret",
        }
        if store == "S3":
            yield (
                Place("iceberg", TABLE, catalog={**catalog, **options, "s3.region": "us-east-1"}),
                lambda: objects_below(client, "w/n/t/"),
            )
            return
        java = {
            "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
            "s3.path-style-access": "true",
            "client.region": "us-east-1",
        }
        with running_rest_catalog(folder / "w", {**options, **java}) as uri:
            catalog = {"name": "c", "type": "rest", "uri": uri, **options, **java, "s3.region": "us-east-1"}
            yield Place("iceberg", TABLE, catalog=catalog), lambda: objects_below(client, "w/n/t/")


def bucket_client(endpoint: str) -> Any:
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="testing",
        aws_secret_access_key="t3stingSecret",
    )


def objects_below(client: Any, prefix: str) -> dict[str, bytes]:
    pages = client.get_paginator("list_objects_v2").paginate(Bucket="bucket", Prefix=prefix)
    keys = [found["Key"] for page in pages for found in page.get("Contents", ())]
    return {key[len(prefix) :]: client.get_object(Bucket="bucket", Key=key)["Body"].read() for key in keys}


@contextmanager
def moto() -> Iterator[str]:
    """The address of an S3 server of moto in a process of its own."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/moto-api/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(30)
