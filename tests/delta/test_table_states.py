"""Protocol and metadata of a version: which files say them, and what is asked of a store for them."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tableformats_delta.log.checksums import VersionChecksum
from tableformats_delta.log.listing import Checkpoint, LogFile, list_log
from tableformats_delta.snapshot import table_state
from tableformats_delta.snapshot.table_state import (
    _check_format,
    _commits,
    _files_ahead,
    _loaded,
    load_state,
    reading_state_ahead,
)

import tableformats as tf
from tableformats.io.storage import Storage
from tableformats.plugin import MetadataCache
from tests.support.delta_log import PROTOCOL, DeltaLog, add, field, first_actions, metadata, schema_string

COMMITS = [LogFile(version, f"c{version}", 10 + version, 1) for version in (3, 2, 1)]
CHECKSUM = LogFile(3, "s3", 7, 1)


class Known:
    """A checkpoint, by which a cache finds its files."""

    def __init__(self, files: Any) -> None:
        self.files = files


def segment(**more: Any) -> Any:
    return SimpleNamespace(**{"commits": COMMITS, "checksum": None, "checkpoint": None, "version": 3, **more})


def test_files_that_are_asked_for() -> None:
    """Not those of an older state, and not those that are cached."""
    every = [("c3", 13), ("c2", 12), ("c1", 11)]
    cache = MetadataCache(1 << 20)
    assert _files_ahead(segment(), cache, None) == every
    older: Any = SimpleNamespace(commits=[SimpleNamespace(file=COMMITS[2])])
    assert _files_ahead(segment(), cache, older) == every[:2]
    assert _files_ahead(segment(checksum=CHECKSUM), cache, None) == [*every, ("s3", 7)]
    assert _files_ahead(segment(checksum=LogFile(2, "s2", 7, 1)), cache, None) == every
    cache.keep(("commit", COMMITS[0]), "known", 64)
    cache.keep(("checksum", CHECKSUM), "known", 64)
    assert _files_ahead(segment(checksum=CHECKSUM), cache, None) == every[1:]


def test_checkpoints_that_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def ahead(storage: Any, checkpoint: Any, others: Any) -> Any:
        asked.append((checkpoint, len(others)))
        return nullcontext()

    monkeypatch.setattr(table_state, "reading_checkpoint_ahead", ahead)
    store: Any = SimpleNamespace(is_local=False)
    cache, older = MetadataCache(1 << 20), SimpleNamespace(commits=[])
    files = ("the files of the checkpoint",)
    checkpoint: Any = Known(files)
    for one, known, wanted in (
        (segment(), None, ()),
        (segment(checkpoint=checkpoint), older, ()),
        (segment(), older, ()),
    ):
        with reading_state_ahead(store, one, cache, known):
            assert asked.pop() == (wanted, 3)
    for is_cached, wanted in ((False, files), (True, ())):
        if is_cached:
            cache.keep(checkpoint, ("its files",), 64)
        with reading_state_ahead(store, segment(checkpoint=checkpoint), cache, None):
            assert asked.pop() == (wanted, 3)
    store.is_local = True
    with reading_state_ahead(store, segment(checkpoint=checkpoint), cache, None):
        assert asked == []


@pytest.mark.parametrize("form", [None, {}, "x", {"provider": None}, {"provider": "parquet"}])
def test_formats_of_data_files(form: Any) -> None:
    _check_format({"format": form}, "/log")


def test_a_format_that_is_not_read() -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        _check_format({"format": {"provider": "orc"}}, "/log")
    assert (caught.value.field, caught.value.path) == ("metaData.format.provider", "/log")


# ---- where protocol and metadata come from ---------------------------------------------------------------------------

OTHER = {"minReaderVersion": 1, "minWriterVersion": 3}


def loaded(log: DeltaLog, version: int | None = None, older: Any = None) -> Any:
    storage = Storage(log.root)
    listing = list_log(storage)
    chosen = listing.segment(listing.latest if version is None else version)
    return load_state(storage, chosen, MetadataCache(0), older)


def test_the_newest_actions_count(tmp_path: Path) -> None:
    log = (
        DeltaLog(tmp_path / "t")
        .start()
        .commit(1, {"protocol": OTHER})
        .commit(2, {"metaData": {**metadata(), "id": "x"}})
    )
    found = [loaded(log, version) for version in range(3)]
    assert [one.protocol["minWriterVersion"] for one in found] == [2, 3, 3]
    assert [one.metadata["id"] for one in found] == ["t", "t", "x"]
    again = loaded(log.commit(3, add("a")), older=found[2])
    assert again.table_metadata is found[2].table_metadata and [c.file.version for c in again.commits] == [3, 2, 1, 0]
    changed = loaded(log.commit(4, {"metaData": {**metadata(), "id": "y"}}), older=again)
    assert changed.metadata["id"] == "y" and changed.table_metadata is not again.table_metadata


@pytest.mark.parametrize(
    ("actions", "field"),
    [
        ([{"metaData": metadata()}], "protocol"),
        ([{"protocol": PROTOCOL}], "metaData"),
        ([], "protocol"),
    ],
)
def test_a_log_without_one_of_them(tmp_path: Path, actions: list[Any], field: str) -> None:
    log = DeltaLog(tmp_path / "t").commit(0, *actions, add("a"))
    with pytest.raises(tf.CorruptMetadataError) as caught:
        loaded(log)
    assert (caught.value.field, caught.value.path) == (field, str(log.directory / f"{0:020d}.json"))


def test_of_a_checkpoint(tmp_path: Path) -> None:
    """What newer commits do not say."""
    path = f"{3:020d}.checkpoint.parquet"
    log = DeltaLog(tmp_path / "t").checkpoint(path, *first_actions()).commit(4, {"protocol": OTHER})
    found = loaded(log)
    assert (found.protocol, found.metadata["id"]) == (OTHER, "t")
    bare = DeltaLog(tmp_path / "u").checkpoint(path, first_actions()[0]).commit(4, add("a"))
    with pytest.raises(tf.CorruptMetadataError) as caught:
        loaded(bare)
    assert (caught.value.field, caught.value.path) == ("metaData", str(bare.directory / path))


WHOLE = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}


def test_of_a_checksum_file(tmp_path: Path) -> None:
    """That of the version, or of an older one behind which nothing has changed: the checkpoint need not be read."""
    path = f"{3:020d}.checkpoint.parquet"
    log = DeltaLog(tmp_path / "t").write(path, b"no Parquet").commit(4, add("a", size=0)).commit(5, add("b", size=0))
    content = {**WHOLE, "protocol": OTHER, "metadata": {**metadata(), "id": "x"}}
    log.write(f"{4:020d}.crc", json.dumps(content).encode())
    for version, has_checksum in ((4, True), (5, False)):
        found = loaded(log, version)
        assert (found.protocol, found.metadata["id"]) == (OTHER, "x")
        assert (found.checksum is not None) is has_checksum and found.notes == ()


def test_a_checksum_file_that_contradicts_the_log(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start().commit(1, {"protocol": OTHER})
    for change, version, is_refused in (
        ({"protocol": PROTOCOL}, 1, True),
        ({"metadata": {**metadata(), "id": "x"}}, 1, True),
        ({}, 1, False),
        ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 4}}, 0, False),
    ):
        path = log.directory / f"{version:020d}.crc"
        path.write_text(json.dumps({**WHOLE, "protocol": OTHER, "metadata": metadata(), **change}))
        if is_refused:
            with pytest.raises(tf.CorruptMetadataError):
                loaded(log)
        else:
            assert loaded(log).protocol == OTHER
        path.unlink()


def test_a_damaged_checksum_file_is_noted(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start().write(f"{0:020d}.crc", b"{")
    found = loaded(log)
    assert found.notes == ("The checksum file of version 0 is damaged and was ignored",) and found.checksum is None
    log.commit(1, add("a"))
    assert loaded(log).notes == (), "the commits say all, so that it is not read"


def test_the_file_that_an_error_names(tmp_path: Path) -> None:
    """That of the checksum file where it says the metadata, or the oldest file of the version."""
    path = f"{3:020d}.checkpoint.parquet"
    bad = {**metadata(), "format": {"provider": "orc"}}
    log = DeltaLog(tmp_path / "t").write(path, b"no Parquet").commit(4, add("a", size=0))
    content = json.dumps({**WHOLE, "protocol": OTHER, "metadata": bad}).encode()
    log.write(f"{4:020d}.crc", content)
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        loaded(log)
    assert caught.value.path == str(log.directory / f"{4:020d}.crc")
    log.commit(4, {"metaData": bad})
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        loaded(log)
    assert caught.value.path == str(log.directory / path)


def versions(state: Any) -> list[int]:
    return [commit.file.version for commit in state.commits]


def test_an_older_state_and_a_new_checkpoint(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start()
    for version in (1, 2, 3):
        log.commit(version, add(f"f{version}"))
    older = loaded(log)
    log.checkpoint(f"{3:020d}.checkpoint.parquet", *first_actions()).commit(4, add("f4"))
    assert versions(loaded(log, older=older)) == [4]


def test_an_older_state_and_a_compaction_that_is_damaged(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start().commit(1, add("f1"))
    older = loaded(log)
    log.commit(2, add("f2")).commit(3, add("f3")).write(f"{2:020d}.{3:020d}.compacted.json", b"{")
    found = loaded(log, older=older)
    assert versions(found) == [3, 2, 1, 0] and found.commits[2:] == older.commits
    assert len(found.notes) == 1 and found.notes[0].startswith("The log compaction of versions 2 to 3 was not used")
    log.compact(2, 3)
    found = loaded(log, older=older)
    assert versions(found) == [3, 1, 0] and found.notes == () and found.commits[1:] == older.commits


def test_how_much_a_schema_may_cost(tmp_path: Path) -> None:
    """By the bytes of its text in a commit, and by those of a checkpoint that holds it compressed."""
    limits = tf.Limits(expansion=1)
    text = schema_string(field("x" + "{" * 600, "long")) + " " * (2 << 20)
    log = DeltaLog(tmp_path / "t").commit(0, {"protocol": PROTOCOL}, {"metaData": {**metadata(), "schemaString": text}})
    segment_ = list_log(Storage(log.root)).segment(0)
    storage = Storage(log.root, limits=limits)
    assert len(load_state(storage, segment_, MetadataCache(0)).table_metadata.schema.fields) == 1
    protocol, described = first_actions()
    described["metaData"]["schemaString"] = text
    log.checkpoint(f"{0:020d}.checkpoint.parquet", protocol, described)
    segment_ = list_log(Storage(log.root)).segment(0)
    with pytest.raises(tf.LimitExceededError) as caught:
        load_state(storage, segment_, MetadataCache(0))
    assert caught.value.limit == "expansion"


# ---- what is at hand -------------------------------------------------------------------------------------------------


def at_hand(checksum: VersionChecksum | None = None, stored: tuple[Any, Any] | None = None, **actions: Any) -> Any:
    """The state of version 3 of one commit with these actions, upon a checkpoint of ``stored`` ones."""
    cache, commit = MetadataCache(1 << 20), COMMITS[0]
    said = SimpleNamespace(**{"file": commit, "protocol": None, "metadata": None, **actions})
    cache.keep(("commit", commit), said, 64)
    checkpoint = None if stored is None else Checkpoint(1, (LogFile(1, "k", 9, 1),))
    cache.keep(("metadata", checkpoint), stored, 64)
    if checksum is not None:
        cache.keep(("checksum", checksum.file), checksum, 64)
    one = segment(
        commits=(commit,),
        covered={},
        is_of_catalog=False,
        checkpoint=checkpoint,
        checksum=None if checksum is None else checksum.file,
    )
    store: Any = SimpleNamespace(is_local=True, limits=tf.Limits())
    return _loaded(store, one, cache, None)


def checksum_of(version: int, protocol: Any = None, stored: Any = None) -> VersionChecksum:
    return VersionChecksum(LogFile(version, f"s{version}", 7, 1), protocol, stored, 3, 30, None)


NAMED = {**metadata(), "id": "x"}


def test_a_checksum_file_counts_for_its_own_version() -> None:
    both = {"protocol": PROTOCOL, "metadata": metadata()}
    assert at_hand(checksum_of(3), **both).checksum == checksum_of(3)
    assert at_hand(checksum_of(3, PROTOCOL, metadata()), **both).checksum.num_files == 3
    assert at_hand(checksum_of(2), **both).checksum is None and at_hand(**both).checksum is None
    for wrong, field_ in ((checksum_of(3, OTHER), "protocol"), (checksum_of(3, None, NAMED), "metadata")):
        with pytest.raises(tf.CorruptMetadataError, match="contradicts its checksum file") as caught:
            at_hand(wrong, **both)
        assert (caught.value.field, caught.value.path) == (field_, "s3")
    assert at_hand(checksum_of(2, OTHER, NAMED), **both).protocol == PROTOCOL


@pytest.mark.parametrize("version", [2, 3])
def test_a_checksum_file_says_what_commits_do_not(version: int) -> None:
    """Also one of an older version, before the checkpoint does."""
    older = (OTHER, NAMED)
    found = at_hand(checksum_of(version, PROTOCOL, metadata()), older)
    assert (found.protocol, found.metadata) == (PROTOCOL, metadata())
    assert (found.checksum is None) == (version == 2)
    found = at_hand(checksum_of(version, PROTOCOL), older, metadata=metadata())
    assert (found.protocol, found.metadata) == (PROTOCOL, metadata())
    found = at_hand(checksum_of(version, None, metadata()), older)
    assert (found.protocol, found.metadata) == (OTHER, metadata())
    found = at_hand(checksum_of(version, PROTOCOL), older)
    assert (found.protocol, found.metadata) == (PROTOCOL, NAMED)


@pytest.mark.parametrize(
    ("given", "named", "path"),
    [
        ({"metadata": metadata()}, "protocol", "c3"),
        ({"protocol": PROTOCOL}, "metaData", "c3"),
        ({"stored": (None, metadata())}, "protocol", "k"),
        ({"stored": (PROTOCOL, None)}, "metaData", "k"),
        ({"checksum": checksum_of(2, None, metadata())}, "protocol", "s2"),
        ({"checksum": checksum_of(2, PROTOCOL)}, "metaData", "s2"),
        ({"checksum": checksum_of(2), "metadata": metadata()}, "protocol", "c3"),
        (
            {"protocol": PROTOCOL, "metadata": {**metadata(), "format": {"provider": "orc"}}},
            "metaData.format.provider",
            "c3",
        ),
        (
            {"protocol": {"minReaderVersion": 9, "minWriterVersion": 9}, "metadata": metadata()},
            "minReaderVersion",
            "c3",
        ),
    ],
)
def test_what_is_missing_or_not_supported(given: dict[str, Any], named: str, path: str) -> None:
    with pytest.raises(tf.TableFormatsError) as caught:
        at_hand(**given)
    assert (caught.value.field, caught.value.path) == (named, path)


@pytest.mark.parametrize(
    ("files", "taken", "cached"),
    [
        ((2, 1), [2, 1], []),
        ((3, 2, 1), [2, 1], [3]),
        ((3, 2), [2], [3]),
        ((3, 1), [1], [3]),
        ((3,), [], [3]),
        ((4, 3), [], [4, 3]),
    ],
)
def test_commits_that_an_older_state_has(files: tuple[int, ...], taken: list[int], cached: list[int]) -> None:
    """Whatever came before a new checkpoint is left out."""
    named = {version: LogFile(version, f"c{version}", 5, 1) for version in range(1, 5)}
    older: Any = SimpleNamespace(commits=[SimpleNamespace(file=named[version], of="older") for version in (2, 1)])
    cache = MetadataCache(1 << 20)
    for version in (3, 4):
        cache.keep(("commit", named[version]), SimpleNamespace(file=named[version], of="cache"), 64)
    store: Any = SimpleNamespace(is_local=True)
    one = segment(commits=tuple(named[version] for version in files), covered={})
    found = _commits(store, one, cache, older)
    assert found[0] is one and found[2] == []
    places: list[tuple[int, str]] = [(commit.file.version, commit.of) for commit in found[1]]  # type: ignore[attr-defined]
    assert [version for version, _ in places] == [*files]
    assert sorted(places) == sorted([*((v, "older") for v in taken), *((v, "cache") for v in cached)])


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"protocol": PROTOCOL, "metadata": metadata()}, 0),
        ({"metadata": metadata(), "stored": (PROTOCOL, NAMED)}, 0),
        ({"protocol": PROTOCOL, "stored": (OTHER, metadata())}, 9),
    ],
)
def test_the_bytes_of_the_file_that_holds_the_schema(
    given: dict[str, Any], stored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a checkpoint, which is compressed; 0 for a commit."""
    seen: list[int] = []
    monkeypatch.setattr(table_state.TableMetadata, "of_actions", lambda *given: seen.append(given[-1]))
    at_hand(**given)
    assert seen == [stored]


@pytest.mark.parametrize("path", ["c9", "c2"])
def test_damage_of_a_commit_that_no_other_file_stands_for(path: str) -> None:
    """It is told, also where it is among those that a compaction stood for."""
    damage = tf.CorruptMetadataError("it is damaged", path=path)

    def read(key: Any) -> Any:
        raise damage

    cache: Any = SimpleNamespace(find=read)
    one = segment(commits=(COMMITS[0],), covered={COMMITS[1]: (COMMITS[2],)})
    with pytest.raises(tf.CorruptMetadataError, match="it is damaged"):
        _commits(SimpleNamespace(is_local=True), one, cache, None)  # type: ignore[arg-type]
