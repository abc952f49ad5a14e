"""Folders of local files: what is listed of them, and what is said where something is missing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tableformats.errors import CorruptMetadataError
from tableformats.io.local_reads import (
    files_below,
    files_in,
    is_local_dir,
    is_local_file,
    local_stats,
    missing_hint,
    open_local,
)
from tableformats.io.local_writes import create_local, creating_local, is_temporary, link_local, write_local


def made(path: Path, data: bytes = b"", seconds: float = 1_234.567) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, ns=(0, int(seconds * 1000) * 1_000_000 + 999_999))
    return path


def test_files_of_a_folder_with_their_sizes_and_times(tmp_path: Path) -> None:
    made(tmp_path / "a.json", b"123")
    made(tmp_path / "b.txt", b"", 0.001)
    made(tmp_path / "c" / "d.json")
    (tmp_path / "e.json").mkdir()
    (tmp_path / "f").symlink_to("a.json")
    (tmp_path / "g").symlink_to("nothing")
    found = {one.name: one for one in files_in(str(tmp_path), (".json",))}
    assert {name: (one.size, one.mtime_ms) for name, one in found.items() if name != "e.json"} == {
        "a.json": (3, 1_234_567),
        "b.txt": (0, 1),
        "f": (3, 1_234_567),
    }
    assert found["e.json"].size == 0 and {*found} == {"a.json", "b.txt", "e.json", "f"}
    assert {one.path for one in found.values()} == {f"{tmp_path}/{name}" for name in found}
    assert {one.name for one in files_in(str(tmp_path), ())} == {"a.json", "b.txt", "f"}
    assert files_in(f"{tmp_path}/none", ()) == files_in(f"{tmp_path}/a.json/x", ()) == []
    with pytest.raises(NotADirectoryError):
        files_in(f"{tmp_path}/a.json", ())


def test_files_below_a_folder(tmp_path: Path) -> None:
    made(tmp_path / "a", b"123")
    made(tmp_path / "x" / "b", b"12")
    made(tmp_path / "x" / "y" / "c", b"1")
    (tmp_path / "x" / "link").symlink_to("b")
    (tmp_path / "x" / "way").symlink_to(tmp_path)
    found = [one for folder in files_below(f"{tmp_path}/") for one in folder]
    assert {(one.path, one.name, one.size, one.mtime_ms) for one in found} == {
        (f"{tmp_path}/a", "a", 3, 1_234_567),
        (f"{tmp_path}/x/b", "b", 2, 1_234_567),
        (f"{tmp_path}/x/y/c", "c", 1, 1_234_567),
    }
    assert [*files_below(f"{tmp_path}/none")] == []


@pytest.mark.skipif(os.name != "posix", reason="names are bytes")
def test_names_that_are_no_text_are_left_out(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"\xff")).write_bytes(b"")
    except OSError:
        pytest.skip("the file system has no such names")
    made(tmp_path / "a")
    assert [one.name for one in files_in(str(tmp_path), ())] == ["a"]
    assert [[one.name for one in folder] for folder in files_below(str(tmp_path))] == [["a"]]


def test_what_is_at_a_path(tmp_path: Path) -> None:
    made(tmp_path / "a")
    (tmp_path / "circle").symlink_to("circle")
    for name, is_file, is_folder in (
        ("a", True, False),
        (".", False, True),
        ("none", False, False),
        ("a/x", False, False),
        ("circle", False, False),
    ):
        path = f"{tmp_path}/{name}"
        assert (is_local_file(path), is_local_dir(path)) == (is_file, is_folder)
    with pytest.raises(OSError):
        is_local_file(f"{tmp_path}/{'x' * 300}")


def test_what_to_do_where_nothing_is(tmp_path: Path) -> None:
    for name in ("events", "event2", "evens", "event_s", "other"):
        made(tmp_path / name)
    near = missing_hint(f"{tmp_path}/event").removeprefix("Check the path. Near names: ").split(", ")
    assert len(near) == 3 and {*near} < {"events", "event2", "evens", "event_s"}
    assert missing_hint(f"{tmp_path}/zzz") == "Check the path"
    assert missing_hint(f"{tmp_path}/no/such/x") == f"Check the path: {tmp_path} is there, the rest of it is not"
    assert missing_hint("/no such folder/such/x") == "Check the path: / is there, the rest of it is not"
    assert missing_hint("s3://bucket/a%20b%21") == "Check the path: it is taken as it is, %20 too"
    assert missing_hint("s3://bucket/a%2") == "Check the path"
    assert missing_hint(f"/{os.listdir('/')[0]}x").startswith("Check the path")


def test_so_many_names_of_a_folder_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tableformats.io.local_reads._MOST_NAMES", 1)
    for name in ("events1", "events2", "events3"):
        made(tmp_path / name)
    assert missing_hint(f"{tmp_path}/events").count("events") == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("circle", "its symbolic links go round in a circle"),
        ("x" * 300, "the path is longer than the file system allows"),
        ("a\0b", "the file system does not allow it"),
        ("folder", "a path leads to a directory, not to a regular file"),
        ("pipe", "a path leads to a pipe, not to a regular file"),
    ],
)
def test_paths_that_lead_to_no_file(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CorruptMetadataError, match=reason) as caught:
        open_local(f"{tmp_path}/{name}")
    assert caught.value.path == f"{tmp_path}/{name}"


def test_missing_files_are_missing(tmp_path: Path) -> None:
    made(tmp_path / "a", b"xy")
    assert open_local(f"{tmp_path}/a").read() == b"xy"
    for name in ("none", "a/x", "none/x"):
        with pytest.raises(FileNotFoundError):
            open_local(f"{tmp_path}/{name}")


def test_a_missing_folder_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "x" / "a", b"1")
    looked: list[str] = []
    stat = os.stat

    def counted(path: str, **options: object) -> os.stat_result:
        looked.append(path)
        return stat(path, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", counted)
    names = ["x/a", "x/b", "x/c", "y/a", "y/b", "x/a"]
    found = [*local_stats(f"{tmp_path}/{name}" for name in names)]
    kinds = [getattr(one, "st_size", type(one)) for one in found]
    assert kinds == [1, *[FileNotFoundError] * 4, 1]
    assert f"{tmp_path}/y/b" not in looked and f"{tmp_path}/x/c" in looked
    (odd, root) = local_stats(["/a\0b", "/"])
    assert isinstance(odd, ValueError) and isinstance(root, os.stat_result)


@pytest.mark.parametrize(
    ("name", "temporary"),
    [
        (".f.json.01234567-89ab-cdef-0123-456789abcdef.tmp", True),
        (".01234567-89ab-cdef-0123-456789abcdef.probe", True),
        (".01234567-89ab-cdef-0123-456789abcdef.tmp", False),
        ("f.json.01234567-89ab-cdef-0123-456789abcdef.tmp", False),
        (".f.json.01234567-89ab-cdef-0123-456789abcde.tmp", False),
        (".f.json.01234567-89ab-cdef-0123-456789abcdef.tmp2", False),
        ("part-01234567-89ab-cdef-0123-456789abcdef.parquet", False),
    ],
)
def test_names_of_files_that_a_killed_writer_leaves(name: str, temporary: bool) -> None:
    assert is_temporary(name) is temporary


def test_new_files_are_no_programs(tmp_path: Path) -> None:
    """The mask of the process takes away from what everyone may read and write."""
    before = os.umask(0)
    try:
        create_local(f"{tmp_path}/x/a", b"1")
        write_local(f"{tmp_path}/b", b"2")
        link_local(f"{tmp_path}/c", b"3")
        with creating_local(f"{tmp_path}/y/z/d") as out:
            assert out.writable() and out.write(b"45") == 2 and out.tell() == 2
    finally:
        os.umask(before)
    found = {path.name: path for path in tmp_path.rglob("*") if path.is_file()}
    assert {name: path.read_bytes() for name, path in found.items()} == {"a": b"1", "b": b"2", "c": b"3", "d": b"45"}
    assert {path.stat().st_mode & 0o777 for path in found.values()} == {0o666}
    with pytest.raises(FileExistsError):
        create_local(f"{tmp_path}/b", b"3")
    assert found["b"].read_bytes() == b"2"


@pytest.mark.skipif(os.name == "nt", reason="directories are not opened there")
def test_names_are_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's directory is synced after it, and each new directory's own."""
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.readlink(f"/proc/self/fd/{handle}")))
    for write in (write_local, create_local, link_local):
        folder = f"{tmp_path}/{write.__name__}"
        synced.clear()
        write(f"{folder}/below/f", b"1")
        assert [path for path in synced if os.path.isdir(path)] == [str(tmp_path), folder, f"{folder}/below"]
        assert len(synced) == 4, "the bytes, too"
