"""The directory in which file logs are staged: private, never another's, deleted by the process that made it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from tableformats.engines.spark.portable import file_log
from tableformats.engines.spark.portable.file_log import StagedFiles, staging_of
from tableformats.io.storage import Storage

PATHS, SIZES = pa.chunked_array([["/t/a.parquet"]]), pa.chunked_array([pa.array([5], pa.int64())])


def staged(storage: Storage, staging: str | None) -> Path:
    """The directory of a staged log."""
    pytest.importorskip("pyspark")
    place = staging_of(storage, staging)
    assert place is not None
    files = StagedFiles.__new__(StagedFiles)
    files._staging = place
    return Path(files._stage(PATHS, SIZES, "t").removeprefix("file:").replace("//", "/"))


@pytest.mark.parametrize("given", [False, True])
def test_it_is_private(tmp_path: Path, given: bool) -> None:
    before = os.umask(0)
    try:
        directory = staged(Storage(tmp_path), str(tmp_path / "staging") if given else None)
    finally:
        os.umask(before)
    private = directory if given else directory.parent
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    assert (directory / "_spark_metadata/0").read_text().startswith("v1\n")


def test_one_log_is_written_once(tmp_path: Path) -> None:
    staging = str(tmp_path / "staging")
    assert staged(Storage(tmp_path), staging) == staged(Storage(tmp_path), staging)
    assert staged(Storage(tmp_path), str(tmp_path / "other")) != staged(Storage(tmp_path), staging)


def test_a_log_that_another_wrote_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_log.uuid, "uuid4", lambda: SimpleNamespace(hex="known"))
    planted = tmp_path / "tableformats-t-known/_spark_metadata"
    planted.mkdir(parents=True)
    (planted / "0").write_text("v1\n")
    with pytest.raises(Exception, match="cannot be written"):
        staged(Storage(tmp_path / "t"), str(tmp_path))
    assert (planted / "0").read_text() == "v1\n"


def test_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_log.uuid, "uuid4", lambda: SimpleNamespace(hex="known"))
    (tmp_path / "theirs").mkdir()
    for target in ("theirs", "nothing"):
        (tmp_path / "tableformats-t-known").symlink_to(tmp_path / target)
        with pytest.raises(Exception, match="cannot be written"):
            staged(Storage(tmp_path / "t"), str(tmp_path))
        (tmp_path / "tableformats-t-known").unlink()
    assert not list((tmp_path / "theirs").iterdir()) and not (tmp_path / "nothing").exists()


def as_a_link(place: Path) -> None:
    place.with_name("planted").mkdir(exist_ok=True)
    place.symlink_to(place.with_name("planted"))


def as_one_for_all(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


def not_at_all(place: Path) -> None:
    """Nothing is planted."""


@pytest.mark.parametrize("plant", [as_a_link, as_one_for_all, not_at_all])
@pytest.mark.parametrize("given", [False, True])
def test_what_takes_the_place_of_a_deleted_log_is_not_used(
    tmp_path: Path, given: bool, plant: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Temporary files are tidied up while a process lives, and by then others have seen the name."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    process = 10**9 + os.getpid()  # with directories of its own, which no end of a process deletes
    monkeypatch.setattr(file_log.os, "getpid", lambda: process)
    place = str(tmp_path / "staging") if given else None
    first = staged(Storage(tmp_path), place)
    private = first if given else first.parent
    shutil.rmtree(private)
    plant(private)
    second = staged(Storage(tmp_path), place)
    assert second != first and (second if given else second.parent) != private
    assert (second / "_spark_metadata/0").exists() and stat.S_IMODE(second.stat().st_mode) == 0o700
    assert not list((tmp_path / "planted").glob("*")) and not (private.exists() and list(private.iterdir()))
    file_log._temporaries(process).clear()
    file_log._written(process).clear()


def test_names_cannot_be_guessed(tmp_path: Path) -> None:
    names = {staged(Storage(tmp_path), str(tmp_path / str(i))).name for i in range(5)}
    assert len(names) == 5


PROGRAM = """
import os, sys
from pathlib import Path
from tests.spark.test_staging import Storage, staged
mine = [staged(Storage(sys.argv[1]), None), staged(Storage(sys.argv[1]), sys.argv[1] + "/s")]
child = os.fork()
if not child:
    theirs = staged(Storage(sys.argv[1]), None)
    assert theirs.parent != mine[0].parent
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
assert all(path.is_dir() for path in mine), "the child deleted what is not its own"
print(*mine, sep="\\n")
"""


def test_one_owner_deletes(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    done = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    made = [Path(line) for line in done.stdout.split()]
    assert len(made) == 2 and not any(path.exists() for path in made)
