"""How many requests opening and planning send to a store, and how many of these wait for each other.

The longest chain is measured twice: by the server, from when requests begin and end, and by the report, from when they
could be asked for. The server sees a chain in requests that only wait for a free connection, so it is measured with
more connections than there are requests.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.table import DeltaTable

import tableformats as tf
from tableformats.io.catalog_commits import CatalogCommits
from tableformats.io.storage import Storage
from tableformats.plugin import MetadataCache, SnapshotSelector
from tests.support.delta_log import DeltaLog, add
from tests.support.golden import TABLES
from tests.support.s3_stub import Request, S3Stub

deltalake = pytest.importorskip("deltalake")
DELAY = 0.3
"""Longer than a machine needs to send all requests of one link of a chain, unless it is very busy."""
LONGEST = 4


@pytest.fixture
def stub() -> Iterator[S3Stub]:
    with S3Stub() as server:
        yield server


def measured(stub: S3Stub, location: str, filter: str | None = None, **options: Any) -> tuple[tf.ScanPlan, int, int]:
    """A cold plan, the requests for it, and their longest chain.

    A busy machine may send requests of one link so late that the server sees a longer chain: then it is measured again.
    """
    given = {**stub.options, "max_concurrency": 256}
    for _ in range(3):
        stub.requests.clear()
        stub.delay = DELAY
        plan = tf.open_table(location, storage_options=given, **options).scan(filter).plan()
        stub.delay = 0
        if stub.longest_chain <= LONGEST:
            break
    return plan, len(stub.requests), stub.longest_chain


def commits(root: Path, count: int) -> DeltaLog:
    log = DeltaLog(root).start()
    for version in range(1, count):
        log.commit(version, add(f"f{version}", stats='{"numRecords": 1}'))
    return log


def names(stub: S3Stub) -> list[str]:
    return [request.path.rpartition("/")[2] for request in stub.requests if "list-type" not in request.query]


def test_a_table_is_opened_with_one_client(stub: S3Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Formats are looked for at the same time, and a client takes longer to make than a request."""
    from tableformats.io.stores import object_store

    made: list[str] = []

    def slowly(*given: Any) -> Any:
        made.append(given[0].root)
        time.sleep(0.2)
        return client(*given)

    client = object_store._client
    monkeypatch.setattr(object_store, "_client", slowly)
    commits(tmp_path, 2)
    stub.upload(tmp_path, "t")
    assert len(tf.open_table("s3://bucket/t", storage_options=stub.options).scan().plan()) == 1
    assert made == ["s3://bucket"]


@pytest.mark.thread_unsafe
@pytest.mark.parametrize("format", [None, "delta"])
def test_many_commits(stub: S3Stub, tmp_path: Path, format: str | None) -> None:
    commits(tmp_path, 205)
    stub.upload(tmp_path, "t")
    plan, requests, chain = measured(stub, "s3://bucket/t", format=format)
    assert len(plan) == 204
    # Two listings of the log (to open the table, and for the newest version), and one of ``metadata``: is it Iceberg?
    assert chain <= 4 and plan.snapshot.storage.meter.chain == 2 and requests <= 205 + 2 + (format is None)
    assert sorted(name for name in names(stub) if name.endswith(".json")) == [f"{v:020d}.json" for v in range(205)]


def with_checkpoint(root: Path, before: int, after: int) -> None:
    """``before`` commits, a checkpoint of all their files, and ``after`` commits; the log keeps all of them."""
    log = commits(root, before)
    table = deltalake.DeltaTable(root)
    table.create_checkpoint()
    for version in range(before, before + after):
        log.commit(version, add(f"f{version}", stats='{"numRecords": 1}'))


@pytest.mark.thread_unsafe
def test_a_checkpoint_and_the_commits_after_it(stub: S3Stub, tmp_path: Path) -> None:
    with_checkpoint(tmp_path, 20, 30)
    stub.upload(tmp_path, "t")
    plan, requests, chain = measured(stub, "s3://bucket/t")
    assert len(plan) == 49
    assert chain <= 4 and plan.snapshot.storage.meter.chain == 2 and requests <= 31 + 3
    read = names(stub)
    assert len(read) == len(set(read)), "each object is read once"
    assert plan.report.requests == 0 and plan.report.longest_chain == 0  # the snapshot has read everything
    assert "- all was read at the opening" in plan.explain()


@pytest.mark.thread_unsafe
def test_a_long_log_is_listed_from_its_checkpoint_on(stub: S3Stub, tmp_path: Path) -> None:
    with_checkpoint(tmp_path, 20, 10)
    stub.upload(tmp_path, "t")
    # The versions move up by 4,000, and old commits come before them.
    last = stub.objects.pop("t/_delta_log/_last_checkpoint")[0]
    for key in [key for key in stub.objects if "/_delta_log/" in key]:
        data, time = stub.objects.pop(key)
        name = key.rpartition("/")[2]
        stub.objects[f"t/_delta_log/{int(name[:20]) + 4000:020d}{name[20:]}"] = data, time
    for version in range(4000):
        stub.put(f"t/_delta_log/{version:020d}.json", b"{}")
    hint = json.loads(last)
    stub.put("t/_delta_log/_last_checkpoint", json.dumps({**hint, "version": hint["version"] + 4000}).encode())
    plan, requests, chain = measured(stub, "s3://bucket/t")
    assert plan.snapshot.version == 4029 and len(plan) == 29
    assert chain <= 4 and requests <= 12 + 3  # the hint is one of the objects
    listed = [request for request in stub.requests if request.query.get("prefix", "").endswith("_delta_log/")]
    assert len(listed) <= 3


@pytest.mark.parametrize("hint", [b"{}", b"damaged", b'{"version": 99999}', b'{"version": 1}', b"[" * 100_000, None])
def test_no_hint_misleads(stub: S3Stub, tmp_path: Path, hint: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableformats_delta.log.remote_log._LONG_LOG", 2)
    monkeypatch.setattr("tableformats.io.stores.object_store._PAGE", 5)
    stub.max_keys = 5
    with_checkpoint(tmp_path, 20, 3)
    stub.upload(tmp_path, "t")
    del stub.objects["t/_delta_log/_last_checkpoint"]
    if hint is not None:
        stub.put("t/_delta_log/_last_checkpoint", hint)
    table = tf.open_table("s3://bucket/t", storage_options=stub.options)
    assert table.snapshot().version == 22 and len(table.scan().plan()) == 22
    assert table.history().num_rows == 23


def test_a_hint_shortens_the_listing(stub: S3Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableformats_delta.log.remote_log._LONG_LOG", 2)
    monkeypatch.setattr("tableformats.io.stores.object_store._PAGE", 5)
    stub.max_keys = 5
    with_checkpoint(tmp_path, 20, 3)
    stub.upload(tmp_path, "t")
    table = tf.open_table("s3://bucket/t", storage_options=stub.options)
    stub.requests.clear()
    snapshot = table.snapshot()
    assert snapshot.version == 22
    assert table.snapshot().version == 22  # lists from the checkpoint that was found, and reads no hint again
    assert names(stub).count("_last_checkpoint") == 1
    assert any(request.query.get("start-after", "").endswith(f"{19:020d}") for request in stub.requests)
    stub.put(f"t/_delta_log/{23:020d}.json", b'{"commitInfo":{"timestamp":1}}\n')
    stub.requests.clear()
    assert snapshot.update().version == 23
    assert names(stub) == [f"{23:020d}.json"]


def test_the_listing_is_requested_before_what_it_confirms(stub: S3Stub, tmp_path: Path) -> None:
    """Connections take turns, so a few may come before it; on a busy machine more, and then it is looked again."""
    commits(tmp_path, 40)
    stub.upload(tmp_path, "t")

    def requests_before() -> int:
        stub.delay = 0
        table = tf.open_table("s3://bucket/t", storage_options=stub.options)
        stub.requests.clear()
        stub.delay = DELAY
        assert table.snapshot().version == 39
        listed = [number for number, request in enumerate(stub.requests) if "list-type" in request.query]
        assert len(stub.requests) == 41 and len(listed) == 1
        return listed[0]

    assert any(requests_before() < 20 for _ in range(3))


def test_a_catalog_is_asked_before_the_log_is_listed(stub: S3Stub, tmp_path: Path) -> None:
    """Or a commit could be published and forgotten in between."""
    commits(tmp_path, 3)
    stub.upload(tmp_path, "t")
    storage = Storage("s3://bucket/t", stub.options)

    def ask() -> CatalogCommits:
        time.sleep(0.2)
        assert not any("list-type" in request.query for request in stub.requests)
        return CatalogCommits(2)

    page = storage.first_page("s3://bucket/t/_delta_log")
    stub.requests.clear()
    table = DeltaTable(storage, MetadataCache(0), None, page, ask)
    assert table.snapshot(SnapshotSelector()).version == 2


def test_a_second_plan_asks_for_one_listing(stub: S3Stub, tmp_path: Path) -> None:
    with_checkpoint(tmp_path, 20, 3)
    stub.upload(tmp_path, "t")
    table = tf.open_table("s3://bucket/t", storage_options=stub.options)
    snapshot = table.snapshot()
    first = len(snapshot.scan().plan())
    stub.requests.clear()
    assert len(snapshot.scan().plan()) == first
    assert not stub.requests
    assert len(table.scan().plan()) == first
    assert len(stub.requests) == 1 and stub.requests[0].query["prefix"].endswith("_delta_log/")


def test_an_update_lists_and_reads_what_is_new(stub: S3Stub, tmp_path: Path) -> None:
    with_checkpoint(tmp_path, 20, 3)
    stub.upload(tmp_path, "t")
    snapshot = tf.open_table("s3://bucket/t", storage_options=stub.options).snapshot()
    stub.put(f"t/_delta_log/{23:020d}.json", add_line("new"))
    stub.requests.clear()
    assert snapshot.update().version == 23
    assert len(stub.requests) == 2 and names(stub) == [f"{23:020d}.json"]
    assert stub.requests[0].query["start-after"].endswith(f"_delta_log/{19:020d}"), "nothing older is listed"


def add_line(name: str) -> bytes:
    return json.dumps(add(name)).encode() + b"\n"


@pytest.mark.parametrize("replaced", [b'{"commitInfo":{"timestamp":1}}\n', add_line("other")])
def test_a_log_that_was_replaced_is_read_anew(stub: S3Stub, tmp_path: Path, replaced: bytes) -> None:
    """What was being read when the listing came was of the log as it had been listed before."""
    commits(tmp_path, 3)
    stub.upload(tmp_path, "t")
    table = tf.open_table("s3://bucket/t", storage_options=stub.options)
    assert len(table.scan().plan()) == 2
    stub.put(f"t/_delta_log/{2:020d}.json", replaced)
    plan = table.scan().plan()
    expected = ["f1"] if b"add" not in replaced else ["f1", "other"]
    assert sorted(plan.paths.to_pylist()) == [f"s3://bucket/t/{name}" for name in expected]


def test_a_commit_that_is_replaced_after_it_was_read_ahead(stub: S3Stub, tmp_path: Path) -> None:
    commits(tmp_path, 3)
    stub.upload(tmp_path, "t")
    table = tf.open_table("s3://bucket/t", storage_options=stub.options, cache=False)
    stub.requests.clear()

    def replace(request: Request) -> bool:
        """Before the listing is answered, and after the commit was."""
        if "list-type" in request.query and not is_replaced:
            deadline = time.monotonic() + 10
            while not any(r.path.endswith("2.json") and r.end for r in stub.requests) and time.monotonic() < deadline:
                time.sleep(0.01)
            stub.put(f"t/_delta_log/{2:020d}.json", add_line("replaced"))
            is_replaced.append(True)
        return False

    is_replaced: list[bool] = []
    stub.fault, stub.faulty = "403", replace
    plan = table.scan().plan()
    assert is_replaced and sorted(plan.paths.to_pylist()) == ["s3://bucket/t/f1", "s3://bucket/t/replaced"]


def test_a_log_that_lost_its_files_after_opening(stub: S3Stub, tmp_path: Path) -> None:
    with_checkpoint(tmp_path, 20, 3)
    stub.upload(tmp_path, "t")
    table = tf.open_table("s3://bucket/t", storage_options=stub.options)
    for version in range(20):  # a clean-up of the log
        del stub.objects[f"t/_delta_log/{version:020d}.json"]
    assert table.snapshot().version == 22 and len(table.scan().plan()) == 22
    for key in list(stub.objects):
        del stub.objects[key]
    with pytest.raises(tf.TableNotFoundError):
        table.snapshot()


# ---- rows -----------------------------------------------------------------------------------------------------------


def rows_table(root: Path, files: int, rows: int) -> pa.Table:
    """A table of ``files`` files with two row groups each; the columns are ``x``, ``unused`` and ``y``."""
    parts = [
        pa.table(
            {"x": range(i * rows, (i + 1) * rows), "unused": [os.urandom(400) for _ in range(rows)], "y": [i] * rows}
        )
        for i in range(files)
    ]
    properties = deltalake.WriterProperties(max_row_group_size=rows // 2, compression="UNCOMPRESSED")
    for part in parts:
        deltalake.write_deltalake(root, part, mode="append", writer_properties=properties)
    return pa.concat_tables(parts).select(["x", "y"])


def ranges_of(stub: S3Stub) -> list[str | None]:
    return [request.range for request in stub.requests if request.path.endswith(".parquet")]


@pytest.mark.thread_unsafe
def test_footers_then_column_chunks_of_all_files_are_read_together(stub: S3Stub, tmp_path: Path) -> None:
    expected = rows_table(tmp_path, 6, 20_000)
    stub.upload(tmp_path, "t")
    plan = tf.open_table("s3://bucket/t", storage_options=stub.options).scan(columns=["x", "y"]).plan()
    stub.requests.clear()
    stub.delay = DELAY
    found = plan.to_arrow()
    stub.delay = 0
    assert found.sort_by("x").equals(expected.sort_by("x").cast(found.schema))
    # Of each file the end, in which the last ``y`` is; the first ``x``; and the first ``y`` with the second ``x``.
    assert len(ranges_of(stub)) == 6 * 3 and ranges_of(stub).count("bytes=-65536") == 6
    assert stub.longest_chain <= 3
    size = sum(len(data) for key, (data, _) in stub.objects.items() if key.endswith(".parquet"))
    assert sum(spanned(found) for found in ranges_of(stub)) < size / 2


def spanned(text: str | None) -> int:
    first, _, last = (text or "").removeprefix("bytes=").partition("-")
    return int(last) - int(first) + 1 if first else int(last)


def test_small_files_are_read_by_one_request(stub: S3Stub, tmp_path: Path) -> None:
    expected = rows_table(tmp_path, 3, 1000)
    stub.upload(tmp_path, "t")
    plan = tf.open_table("s3://bucket/t", storage_options=stub.options).scan(columns=["x", "y"]).plan()
    stub.requests.clear()
    assert plan.to_arrow().num_rows == expected.num_rows
    assert len(ranges_of(stub)) == 3


@pytest.mark.thread_unsafe
def test_a_second_query_reads_no_footer(stub: S3Stub, tmp_path: Path) -> None:
    """Its column chunks are asked for at once. A file that was replaced has another ETag, and is refused."""
    expected = rows_table(tmp_path, 3, 20_000)
    stub.upload(tmp_path, "t")
    table = tf.open_table("s3://bucket/t", storage_options=stub.options)
    table.scan(columns=["x"]).to_arrow()
    plan = table.scan(columns=["x", "y"]).plan()
    stub.requests.clear()
    stub.delay = DELAY
    found = plan.to_arrow()
    stub.delay = 0
    assert found.sort_by("x").equals(expected.sort_by("x").cast(found.schema))
    assert stub.longest_chain == 1 and not [text for text in ranges_of(stub) if text and text.startswith("bytes=-")]
    rows_table(tmp_path / "others", 3, 20_000)
    for ours, theirs in zip(tmp_path.glob("*.parquet"), (tmp_path / "others").glob("*.parquet"), strict=True):
        theirs.replace(ours)
    stub.upload(tmp_path, "t")
    with pytest.raises(tf.TableFormatsError, match=r"\.parquet"):
        table.scan(columns=["x", "y"]).to_arrow()


def test_a_fault_while_columns_are_read(stub: S3Stub, tmp_path: Path) -> None:
    rows_table(tmp_path, 2, 20_000)
    stub.upload(tmp_path, "t")
    plan = tf.open_table("s3://bucket/t", storage_options=stub.options).scan(columns=["x", "y"]).plan()
    stub.fault = "403"
    stub.faulty = lambda request: request.range is not None and not request.range.startswith("bytes=-")
    with pytest.raises(tf.StorePermissionError) as caught:
        plan.to_arrow()
    assert caught.value.status == 403 and (caught.value.path or "").endswith(".parquet")


# ---- Iceberg --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iceberg(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 50 manifests."""
    pyiceberg = pytest.importorskip("pyiceberg.catalog.memory")
    pytest.importorskip("sqlalchemy")
    root = tmp_path_factory.mktemp("iceberg")
    catalog = pyiceberg.InMemoryCatalog("local", warehouse=str(root))
    catalog.create_namespace("n")
    table = catalog.create_table(
        "n.t", pa.schema([("x", pa.int64())]), properties={"commit.manifest-merge.enabled": "false"}
    )
    with table.transaction() as transaction:
        for i in range(50):
            transaction.append(pa.table({"x": [i]}))
    return Path(table.location().removeprefix("file://"))


Locate = Callable[[S3Stub], str]


def newest(stub: S3Stub) -> str:
    return "s3://bucket/" + max(key for key in stub.objects if key.endswith(".metadata.json"))


@pytest.mark.thread_unsafe
@pytest.mark.parametrize("locate", [lambda stub: "s3://bucket/t", newest], ids=["directory", "metadata.json"])
def test_manifests_are_read_together(stub: S3Stub, iceberg: Path, locate: Locate) -> None:
    stub.upload(iceberg, "t")
    plan, requests, chain = measured(stub, locate(stub), relocate=True)
    assert len(plan) == 50
    assert chain <= 4 and requests <= 52 + 2
    assert plan.report.requests >= 50 and plan.report.longest_chain <= 2
    # The metadata file, the manifest list, the manifests; a directory is listed before.
    meter, is_directory = plan.snapshot.storage.meter, plan.snapshot.storage.root == "s3://bucket/t"
    assert meter.chain == 3 + is_directory and requests == 52 + 2 * is_directory
    assert plan.report.request_bytes > 50 * 1000
    report = plan.report
    assert report.requests + report.opening_requests == meter.requests == requests
    assert report.request_bytes + report.opening_bytes == meter.bytes
    text = plan.explain()
    assert "requests to the store" in text and "- one after the other" in text
    assert re.search(rf"requests at the opening +{report.opening_requests}\n", text)


def test_manifests_of_deletes_are_not_explained(stub: S3Stub) -> None:
    """Their requests are sent ahead, by the same filter."""
    stub.upload(TABLES.with_name("tables_jvm") / "iceberg-position-deletes/table", "t")
    plan = tf.open_table("s3://bucket/t", storage_options=stub.options, relocate=True).plan("id = 1")
    assert plan.report.delete_manifests_total == 4
    assert plan.attribution.groups == plan.report.manifests_total == 5


@pytest.mark.thread_unsafe
def test_a_delta_table_may_be_named_like_a_metadata_file(stub: S3Stub, tmp_path: Path) -> None:
    commits(tmp_path, 3)
    stub.upload(tmp_path, "t.metadata.json")
    location = "s3://bucket/t.metadata.json"
    assert len(tf.open_table(location, storage_options=stub.options, format="delta").scan().plan()) == 2


@pytest.mark.thread_unsafe
def test_only_needed_manifests_are_read(stub: S3Stub, iceberg: Path) -> None:
    stub.upload(iceberg, "t")
    table = tf.open_table("s3://bucket/t", storage_options=stub.options, relocate=True)
    table.scan().plan()
    stub.requests.clear()
    assert len(table.scan("x = 7").plan()) == 1
    assert len(stub.requests) <= 51  # the manifest list, which a snapshot reads once


def test_a_second_plan_and_an_update_of_an_iceberg_table(stub: S3Stub) -> None:
    location = "s3://bucket/own"
    tf.write_table(pa.table({"x": [1]}), location, format="iceberg", storage_options=stub.options)
    writer = tf.open_table(location, storage_options=stub.options)
    snapshot = tf.open_table(location, storage_options=stub.options).snapshot()
    snapshot.scan().plan()
    stub.requests.clear()
    snapshot.scan("x > 0").plan()
    assert len(stub.requests) <= 1
    writer.append(pa.table({"x": [2]}))
    stub.requests.clear()
    assert snapshot.update().scan().count() == 2
    # The hint and the metadata file come together; then the manifest list, and the manifest that is new.
    assert len(stub.requests) == 5 and stub.requests[0].query["prefix"].endswith("metadata/")


def test_local_tables_send_nothing(iceberg: Path) -> None:
    report = tf.open_table(iceberg).scan().plan().report
    assert report.requests == report.longest_chain == report.request_bytes == report.opening_requests == 0
