"""Foreign exceptions over a table's bytes become CorruptMetadataError; what says nothing of the bytes passes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tableformats_delta.snapshot.delta_snapshot import DeltaSnapshot
from tableformats_iceberg.metadata import table_metadata
from tableformats_iceberg.snapshot import IcebergSnapshot

import tableformats as tf
from tableformats.engines.arrow.files.data_file import typed_errors
from tableformats.planning import planner
from tableformats.plugin import FormatSnapshot, FormatTable
from tableformats.runtime.boundary import boundary, note_path
from tests.support.delta_log import DeltaLog, add
from tests.support.iceberg_tables import write_table

FOREIGN = [KeyError("x"), TypeError("x"), IndexError(3), RecursionError("x"), AssertionError(), UnicodeError("x")]
PASSING = [
    MemoryError(),
    OSError(24, "Too many open files"),
    ImportError("x"),
    RuntimeError("can't start new thread"),
    tf.UnsupportedFeatureError("x"),
    KeyboardInterrupt(),
]


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users have it; all other tests let foreign exceptions through."""
    monkeypatch.delenv("TABLEFORMATS_LET_THROUGH")


@pytest.mark.parametrize("error", FOREIGN, ids=repr)
def test_foreign_exceptions(error: Exception) -> None:
    said = f"the manifest cannot be read: {type(error).__name__}"
    with pytest.raises(tf.CorruptMetadataError, match=said) as caught, boundary("the manifest", "/t"):
        note_path("/t/m.avro")
        raise error
    assert caught.value.__cause__ is error
    assert caught.value.path == "/t/m.avro"
    assert caught.value.hint
    with pytest.raises(tf.CorruptMetadataError) as caught, boundary("the manifest", "/t"):
        raise error
    assert caught.value.path == "/t"


@pytest.mark.parametrize("error", PASSING, ids=repr)
def test_what_passes(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught, boundary("the manifest"):
        raise error
    assert caught.value is error
    with pytest.raises(type(error)) as caught, typed_errors("/t/a"):
        raise error
    assert caught.value is error


@pytest.mark.parametrize("error", FOREIGN, ids=repr)
def test_data_files(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tf.CorruptMetadataError, match="data file cannot be read") as caught, typed_errors("/t/a"):
        raise error
    assert caught.value.path == "/t/a" and caught.value.__cause__ is error
    monkeypatch.setenv("TABLEFORMATS_LET_THROUGH", "1")
    expected = tf.CorruptMetadataError if isinstance(error, ValueError) else type(error)
    with pytest.raises(expected), typed_errors("/t/a"):
        raise error


def test_memory_that_a_file_claims_is_damage() -> None:
    with pytest.raises(tf.CorruptMetadataError), typed_errors("/t/a"):
        raise MemoryError("malloc of size 4611686018427387904 failed")
    with pytest.raises(MemoryError), typed_errors("/t/a"):
        raise MemoryError("malloc of size 65536 failed")


def test_fuzzers_see_what_was_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLEFORMATS_LET_THROUGH", "1")
    with pytest.raises(KeyError), boundary("the manifest"):
        raise KeyError("x")


def test_nested_boundaries_name_the_inner_file() -> None:
    with pytest.raises(tf.CorruptMetadataError) as caught, boundary("the table", "/t"):
        note_path("/t/list")
        with boundary("a manifest"):
            pass
        raise KeyError("x")
    assert caught.value.path == "/t/list"
    with pytest.raises(tf.CorruptMetadataError) as caught, boundary("the table", "/t"):
        with boundary("a manifest"):
            note_path("/t/m")
        raise KeyError("x")
    assert caught.value.path == "/t/m"


class Broken(FormatSnapshot):
    def read(self, request: Any) -> Iterator[Any]:
        yield 1
        raise KeyError("later")

    def inspect(self, name: str) -> Any:
        raise ZeroDivisionError

    def resolve_paths(self, paths: Any) -> Any:
        return paths

    check_paths = attach_deletes = deleted_positions = equality_deletes = resolve_paths


def test_iterators_of_plugins_are_guarded_to_their_end() -> None:
    batches = Broken().read(None)
    assert next(batches) == 1
    with pytest.raises(tf.CorruptMetadataError, match=r"snapshot's metadata \(read\)"):
        next(batches)
    with pytest.raises(tf.CorruptMetadataError, match=r"\(inspect\)"):
        Broken().inspect("files")


@pytest.mark.parametrize("cls", [DeltaSnapshot, IcebergSnapshot])
def test_the_plugins_methods_are_guarded(cls: type) -> None:
    for name in ("deleted_positions", "attach_deletes", "inspect"):
        assert hasattr(getattr(cls, name), "__wrapped__"), name
    assert not hasattr(FormatTable.snapshot, "__wrapped__")


def test_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_table(tmp_path / "t")

    def fail(*_: object) -> None:
        raise AttributeError("'NoneType' object has no attribute 'id'")

    monkeypatch.setattr(table_metadata, "parse_json", fail)
    with pytest.raises(tf.CorruptMetadataError, match="AttributeError") as caught:
        tf.open_table(tmp_path / "t")
    assert caught.value.path == str(path)


def test_planning_names_the_table_of_a_foreign_exception(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = DeltaLog(tmp_path / "t").start().commit(1, add("a"))

    def fail(*_: object) -> None:
        raise OverflowError("x")

    monkeypatch.setattr(planner, "prune_block", fail)
    with pytest.raises(tf.CorruptMetadataError, match="OverflowError") as caught:
        tf.open_table(log.root).scan("id > 1").plan()
    assert caught.value.path is not None and caught.value.path.startswith(str(log.root))


def test_threads_have_paths_of_their_own() -> None:
    note_path("/mine")
    with pytest.raises(tf.CorruptMetadataError) as caught, boundary("a file"):
        other = threading.Thread(target=note_path, args=("/other",))
        other.start()
        other.join()
        raise KeyError
    assert caught.value.path is None
