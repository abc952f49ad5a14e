"""Tables whose catalog decides which commits count (``catalogManaged``), through a stub of Unity Catalog.

The expected versions follow from the rules of PROTOCOL.md, "Reading Catalog-managed Tables", one test for each.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.plugin import CatalogCommit, CatalogCommits
from tests.support.delta_log import DeltaLog
from tests.support.managed_table import NAME, OTHER_UUID, PROTOCOL, UUID, Managed
from tests.support.s3_stub import S3Stub
from tests.support.unity_stub import UnityStub


@pytest.fixture
def managed(tmp_path: Path) -> Iterator[Managed]:
    with UnityStub() as unity:
        yield Managed(unity, tmp_path / "t")


def test_staged_commits_that_the_catalog_accepted_are_read(managed: Managed) -> None:
    managed.accept(2, managed.stage(2))
    managed.accept(3, managed.stage(3))
    table = managed.open()
    assert table.snapshot().version == 3 and managed.ids() == [1, 2, 3]
    assert table.snapshot(2).scan().count() == 2
    assert table.snapshot(timestamp=1_700_000_000_002).version == 2
    assert table.history()["version"].to_pylist() == [3, 2, 1, 0]
    assert table.changes(2).to_arrow()["id"].to_pylist() == [2, 3]


def test_the_example_of_the_protocol(managed: Managed) -> None:
    """Published and held, held alone, rejected, not yet accepted, and a partial file."""
    for version in range(2, 8):
        managed.publish(version)
    managed.accept(7, managed.stage(7))
    managed.accept(8, managed.stage(8))
    managed.stage(8, OTHER_UUID, "rejected.parquet")
    managed.stage(10, OTHER_UUID, "proposed.parquet")
    managed.log.write(f"_staged_commits/{10:020d}.{UUID}.json", b'{"add": {"path"')
    assert managed.open().snapshot().version == 8 and managed.ids() == list(range(1, 9))


def test_the_catalogs_commit_counts_more_than_the_published_one(managed: Managed) -> None:
    managed.accept(2, managed.stage(2, file="ratified.parquet"))
    managed.publish(2, "published.parquet")
    paths = managed.open().scan().plan().file_uris()
    assert [Path(p).name for p in paths if "1.parquet" not in p] == ["ratified.parquet"]


def test_a_compaction_does_not_replace_the_catalogs_commit(managed: Managed) -> None:
    managed.publish(2, "published.parquet")
    managed.log.compact(1, 2)
    managed.accept(2, managed.stage(2, file="ratified.parquet"))
    names = {Path(p).name for p in managed.open().scan().plan().file_uris()}
    assert names == {"1.parquet", "ratified.parquet"}


def test_what_is_published_beyond_the_catalogs_version_is_ignored(managed: Managed) -> None:
    managed.publish(2)
    managed.log.write(f"{2:020d}.crc", b"damaged")
    managed.log.checkpoint(f"{2:020d}.checkpoint.parquet")
    assert managed.open().snapshot().version == 1
    with pytest.raises(tf.SnapshotNotFoundError, match=r"no version 2.*Versions 0 to 1"):
        managed.open().snapshot(2)


def test_a_table_without_commits_through_the_catalog(managed: Managed) -> None:
    managed.unity.latest[managed.id] = -1
    assert managed.open().snapshot().version == 1


def test_updates_see_what_was_accepted_and_published(managed: Managed) -> None:
    table = managed.open()
    first = table.snapshot()
    managed.accept(2, managed.stage(2))
    second = first.update()
    assert second.version == 2 and second.scan().count() == 2
    managed.publish(2)
    del managed.unity.commits[managed.id][2]
    managed.accept(3, managed.stage(3))
    third = second.update()
    assert third.version == 3 and third.scan().count() == 3 and table.refresh().snapshot().version == 3
    assert third.update() is third
    managed.publish(3)
    del managed.unity.commits[managed.id][3]
    assert third.update().version == 3


@pytest.mark.parametrize("when", ["before the listing", "after it"])
def test_the_catalog_is_asked_before_the_log_is_listed(
    managed: Managed, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """A writer publishes version 2, which the catalog then forgets, and commits and publishes version 3."""
    from tableformats_delta import table as module

    managed.accept(2, managed.stage(2))
    original = module.list_log

    def list_log(*arguments: Any) -> Any:
        found = original(*arguments)
        if managed.unity.latest[managed.id] == 2:
            managed.publish(2)
            managed.publish(3)
            managed.accept(3)
            managed.unity.commits[managed.id].clear()
        return found if when == "after it" else original(*arguments)

    monkeypatch.setattr(module, "list_log", list_log)
    assert managed.open().snapshot().version == 2


def test_many_commits_come_in_pages(managed: Managed) -> None:
    managed.unity.page = 2
    for version in range(2, 9):
        managed.accept(version, managed.stage(version))
    assert managed.ids() == list(range(1, 9))
    asked = [b["start_version"] for b in managed.unity.bodies if b and "start_version" in b]
    assert asked == [0, 4, 6, 8]


def test_at_its_directory_the_table_is_refused(managed: Managed) -> None:
    with pytest.raises(tf.UnsupportedFeatureError, match="only its catalog knows which commits count") as caught:
        tf.open_table(managed.log.root).snapshot()
    assert caught.value.field == "catalogManaged" and "catalog=..." in str(caught.value)


def test_a_catalog_that_does_not_manage_the_table_is_not_enough(managed: Managed) -> None:
    managed.unity.tables[NAME]["properties"] = {}
    with pytest.raises(tf.UnsupportedFeatureError, match="catalogManaged"):
        managed.open().snapshot()


def test_an_append_is_refused(managed: Managed) -> None:
    before = sorted(managed.log.root.rglob("*"))
    with pytest.raises(tf.UnsupportedFeatureError, match="catalogManaged"):
        managed.open().append(pa.table({"id": [9]}))
    assert sorted(managed.log.root.rglob("*")) == before


def gone(managed: Managed) -> None:
    managed.accept(3)


def hole(managed: Managed) -> None:
    managed.accept(3, managed.stage(3))


def lost(managed: Managed) -> None:
    managed.accept(2, f"{2:020d}.{UUID}.json")


def climbing(managed: Managed) -> None:
    managed.accept(2, f"../../{2:020d}.{UUID}.json")


def other_version(managed: Managed) -> None:
    managed.accept(2, managed.stage(3))


def negative(managed: Managed) -> None:
    managed.accept(2, managed.stage(2))
    managed.unity.commits[managed.id][2]["file_size"] = -1


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (gone, "accepted version 3, and neither holds its commit nor has it been published.*ends at version 1"),
        (hole, "the log has a gap: version 3 needs the commit of version 2"),
        (lost, "a file of the log is missing"),
        (climbing, "the catalog names '../../0"),
        (other_version, "as the commit of version 2"),
        (negative, "as the commit of version 2"),
    ],
)
def test_damage_is_never_an_older_version(managed: Managed, damage: Callable[[Managed], None], message: str) -> None:
    damage(managed)
    with pytest.raises(tf.CorruptMetadataError, match=message):
        managed.open().snapshot()


def test_a_catalog_that_fails_is_never_an_older_version(managed: Managed) -> None:
    table = managed.open()
    managed.unity.faults = [500] * 9
    with pytest.raises(tf.CatalogConnectionError, match=r"'uc'.*'main\.sales\.managed'"):
        table.snapshot()


def test_a_pickled_table_asks_nobody(managed: Managed) -> None:
    table = managed.open()
    plan = pickle.loads(pickle.dumps(table.scan().plan()))
    assert plan.to_arrow()["id"].to_pylist() == [1]
    with pytest.raises(tf.CatalogError, match="not known to this process"):
        pickle.loads(pickle.dumps(table)).snapshot()


@pytest.fixture
def remote(managed: Managed) -> Iterator[tuple[Managed, S3Stub]]:
    """The table on an S3, with version 2 staged and accepted."""
    managed.accept(2, managed.stage(2))
    with S3Stub() as store:
        store.upload(managed.log.root, "t")
        managed.unity.tables[NAME]["storage_location"] = "s3://bucket/t"
        keys = {"access_key_id": "AKIA1", "secret_access_key": "st0bSecretKey", "session_token": "t"}
        managed.unity.credentials = {"aws_temp_credentials": keys, "expiration_time": 4_000_000_000_000}
        yield managed, store


def test_on_a_store(remote: tuple[Managed, S3Stub]) -> None:
    managed, store = remote
    properties = managed.unity.properties(**{"s3.endpoint": store.endpoint, "s3.region": "us-east-1"})
    table = tf.open_table(NAME, catalog=properties)
    snapshot = table.snapshot()
    assert snapshot.version == 2 and sorted(snapshot.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    name = managed.stage(3)
    managed.accept(3, name)
    store.upload(managed.log.root, "t")
    assert snapshot.update().version == table.snapshot().version == 3
    store.upload(managed.log.root, "t")
    assert table.snapshot().scan().count() == 3


@pytest.mark.parametrize("latest", [None, 5])
def test_the_plugin_alone(tmp_path: Path, latest: int | None) -> None:
    """Without a catalog of ours: what a stranger's catalog would give."""
    from tableformats_delta.format import DeltaFormat

    from tableformats.io.storage import Storage
    from tableformats.plugin import OpenOptions, SnapshotSelector

    log = DeltaLog(tmp_path / "t").start(protocol=PROTOCOL)
    log.write(f"_staged_commits/{1:020d}.{UUID}.json", b'{"commitInfo": {}}\n')
    held = CatalogCommits(latest, (CatalogCommit(1, f"{1:020d}.{UUID}.json", 19, 0),))
    table = DeltaFormat().open(Storage(log.root), OpenOptions(catalog_commits=lambda: held))
    if latest is None:
        assert table.snapshot(SnapshotSelector()).version == 1
    else:
        with pytest.raises(tf.CorruptMetadataError, match="accepted version 5"):
            table.snapshot(SnapshotSelector())


@pytest.mark.parametrize("first_staged", range(3, 7))
@pytest.mark.parametrize("latest", range(3, 7))
def test_what_counts_of_the_log(latest: int, first_staged: int) -> None:
    """Nothing above the newest version that was accepted, and no compaction of what the catalog holds."""
    from tableformats_delta.log.catalog_log import with_catalog_commits
    from tableformats_delta.log.listing import Checkpoint, LogFile, LogListing

    files = {version: LogFile(version, f"p{version}", 1, 0) for version in range(7)}
    checkpoints = {version: Checkpoint(version, (file,)) for version, file in files.items()}
    spans = {(first, last): file for last, file in files.items() for first in range(last)}
    staged = [CatalogCommit(version, f"{version:020d}.{UUID}.json", 0, 0) for version in range(first_staged, 7)]
    published = LogListing("/log", files, checkpoints, spans, files)
    found = with_catalog_commits(published, CatalogCommits(latest, tuple(staged)))
    assert found.is_of_catalog and [*found.commits] == [*found.checkpoints] == [*found.checksums] == [
        *range(latest + 1)
    ]
    paths = [found.commits[version].path for version in range(latest + 1)]
    held = [f"/log/_staged_commits/{one.file_name}" for one in staged]
    assert paths == [f"p{n}" if n < first_staged else held[n - first_staged] for n in range(latest + 1)]
    assert set(found.compactions) == {span for span in spans if span[1] <= latest and span[1] < first_staged}
    assert with_catalog_commits(published, CatalogCommits(None, ())).checksums == files


@pytest.mark.parametrize("size", [-1, 0])
def test_a_commit_of_a_negative_size_is_refused(size: int) -> None:
    from tableformats_delta.log.catalog_log import with_catalog_commits
    from tableformats_delta.log.listing import LogListing

    held = CatalogCommits(1, (CatalogCommit(1, f"{1:020d}.{UUID}.json", size, 0),))
    if size < 0:
        with pytest.raises(tf.CorruptMetadataError, match="as the commit of version 1"):
            with_catalog_commits(LogListing("/log"), held)
    else:
        assert with_catalog_commits(LogListing("/log"), held).commits[1].size == size
