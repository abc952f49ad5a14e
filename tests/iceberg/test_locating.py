"""Where the metadata file of a table is looked for, on local disks and in stores, and what is asked of a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tableformats_iceberg.metadata.locate import Located, locate, reading_newest_ahead

from tableformats.errors import CorruptMetadataError, TableNotFoundError
from tableformats.io.storage import Storage
from tableformats.io.stores.base import FileInfo
from tests.support.memory_store import ROOT, MemoryStore, memory_storage

METADATA = f"{ROOT}/metadata"


class CountingStore(MemoryStore):
    """Says which directories were listed, and for which files it was asked whether they are there."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.files = {f"{METADATA}/{name}": b"{}" for name in names}
        self.listed: list[str] = []
        self.looked_at: list[str] = []

    def pages(self, directory: str, start_after: str | None = None) -> Iterator[list[FileInfo]]:
        self.listed.append(directory)
        return super().pages(directory, start_after)

    def head(self, path: str) -> FileInfo:
        self.looked_at.append(path)
        return super().head(path)


def storage_at(store: MemoryStore, location: str) -> Storage:
    storage = Storage(location)
    storage._stores["s3://bucket"] = store
    return storage


@pytest.mark.parametrize(
    ("file", "directory"),
    [
        ("t/metadata/v1.metadata.json", "t"),
        ("t/metadata/copy", "t"),
        ("t/other/v1.metadata.json", "t/other"),
        ("t/copy.json", "t"),
    ],
)
def test_a_local_file_is_taken_whatever_its_name(tmp_path: Path, file: str, directory: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text("{}")
    assert locate(Storage(tmp_path / file)) == Located(str(tmp_path / file), str(tmp_path / directory))


def test_a_local_directory_whose_name_is_that_of_a_metadata_file(tmp_path: Path) -> None:
    folder = tmp_path / "v1.metadata.json"
    (folder / "metadata").mkdir(parents=True)
    (folder / "metadata" / "v2.metadata.json").write_text("{}")
    found = locate(Storage(folder))
    assert found == Located(str(folder / "metadata" / "v2.metadata.json"), str(folder))


def test_a_remote_metadata_file_is_taken_without_a_question() -> None:
    store = CountingStore()
    path = f"{METADATA}/v9.metadata.json"
    assert locate(storage_at(store, path)) == Located(path, ROOT)
    assert (store.listed, store.looked_at) == ([], [])


def test_a_remote_file_of_another_name_is_asked_for_after_the_directory() -> None:
    store = CountingStore("copy")
    assert locate(storage_at(store, f"{METADATA}/copy")) == Located(f"{METADATA}/copy", ROOT)
    assert (store.listed, store.looked_at) == ([f"{METADATA}/copy/metadata"], [f"{METADATA}/copy"])
    with pytest.raises(TableNotFoundError, match="holds no Iceberg table"):
        locate(storage_at(store, f"{METADATA}/other"))


def test_a_remote_directory_is_listed_alone() -> None:
    store = CountingStore("v1.metadata.json", "v2.metadata.json")
    assert locate(memory_storage(store)) == Located(f"{METADATA}/v2.metadata.json", ROOT)
    assert store.listed == [METADATA]


def test_files_without_a_version_are_older_than_all_others(tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    for name in ("first", "second"):
        (tmp_path / "metadata" / f"{name}.metadata.json").write_text("{}")
    with pytest.raises(CorruptMetadataError, match=r"2 metadata files of version -1, and no hint that decides"):
        locate(Storage(tmp_path))
    (tmp_path / "metadata" / "v0.metadata.json").write_text("{}")
    assert Path(locate(Storage(tmp_path)).metadata_path).name == "v0.metadata.json"


@pytest.mark.parametrize(
    ("hint", "found"), [("1", "v2"), (" " * 1023 + "1", "v2"), (" " * 1024 + "1", "v4")], ids=["1", "1024", "1025"]
)
def test_a_hint_of_more_than_1024_bytes_is_none(tmp_path: Path, hint: str, found: str) -> None:
    (tmp_path / "metadata").mkdir()
    for name in ("v1", "v2", "v4"):
        (tmp_path / "metadata" / f"{name}.metadata.json").write_text("{}")
    (tmp_path / "metadata" / "version-hint.text").write_text(hint)
    assert Path(locate(Storage(tmp_path)).metadata_path).name == f"{found}.metadata.json"


@pytest.mark.parametrize(
    ("hint", "names", "ahead"),
    [
        (b"1", ["v1.metadata.json", "v2.metadata.json"], ["version-hint.text", "v2.metadata.json"]),
        (b" " * 1024, ["v1.metadata.json"], ["version-hint.text", "v1.metadata.json"]),
        (b" " * 1025, ["v1.metadata.json"], ["v1.metadata.json"]),
        (b"", ["v1.metadata.json"], ["v1.metadata.json"]),
        (None, ["00003-x.metadata.json", "00003-y.metadata.json"], ["00003-x.metadata.json"]),
        (b"1", ["x.avro"], ["version-hint.text"]),
        (None, [], []),
    ],
)
def test_what_is_read_ahead_while_a_table_is_opened(
    monkeypatch: pytest.MonkeyPatch, hint: bytes | None, names: list[str], ahead: list[str]
) -> None:
    asked = asked_ahead(monkeypatch)
    store = CountingStore(*names)
    if hint is not None:
        store.files[f"{METADATA}/version-hint.text"] = hint
    with reading_newest_ahead(memory_storage(store)):
        pass
    assert asked == [[(f"{METADATA}/{name}", len(store.files[f"{METADATA}/{name}"])) for name in ahead]]


def test_a_file_that_is_named_is_not_read_ahead(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = asked_ahead(monkeypatch)
    store = CountingStore("v1.metadata.json")
    for storage in (storage_at(store, f"{METADATA}/v1.metadata.json"), Storage(tmp_path)):
        with reading_newest_ahead(storage):
            pass
    assert (asked, store.listed) == ([], [])


def asked_ahead(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, int]]]:
    """The files of each call of :meth:`Storage.reading_ahead`, from now on."""
    asked: list[list[tuple[str, int]]] = []

    @contextmanager
    def reading_ahead(self: Storage, files: Iterable[tuple[str, int]] = ()) -> Iterator[None]:
        asked.append(list(files))
        yield

    monkeypatch.setattr(Storage, "reading_ahead", reading_ahead)
    return asked
