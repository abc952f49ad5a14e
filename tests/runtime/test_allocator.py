"""Planning takes jemalloc where nobody chose an allocator, and leaves the process as it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.runtime.allocator import _Switch, quick_allocator
from tests.support.arrow_fakes import FakeFile, snapshot_of, write

pytestmark = pytest.mark.thread_unsafe(reason="the allocator is the process's")
BACKENDS = pa.supported_memory_backends()
PAIR = {"mimalloc", "jemalloc"}


def _backend() -> str:
    return str(pa.default_memory_pool().backend_name)


@pytest.fixture
def arrows_choice(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if sys.platform != "linux" or not PAIR.issubset(BACKENDS):
        pytest.skip(f"needs Linux, and both allocators; this build of Arrow has {', '.join(BACKENDS)}")
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    before = pa.default_memory_pool()
    pa.set_memory_pool(pa.mimalloc_memory_pool())
    yield
    pa.set_memory_pool(before)


@pytest.mark.usefixtures("arrows_choice")
class TestArrowsChoice:
    def test_is_put_back_behind_the_last_of_several(self) -> None:
        with quick_allocator():
            assert _backend() == "jemalloc"
            with quick_allocator():
                assert _backend() == "jemalloc"
            assert _backend() == "jemalloc"
        assert _backend() == "mimalloc"

    def test_is_put_back_behind_the_first_plan_of_a_process(self) -> None:
        switch = _Switch()
        for _ in range(2):
            switch.enter()
            assert _backend() == "jemalloc"
            switch.leave()
            assert _backend() == "mimalloc"

    def test_freed_memory_is_kept_for_the_next_query(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found: list[int] = []
        monkeypatch.setattr(pa, "jemalloc_set_decay_ms", found.append)
        switch = _Switch()
        for _ in range(3):
            switch.enter()
            switch.leave()
        assert found == [5_000]

    def test_is_put_back_behind_an_error(self) -> None:
        with pytest.raises(ZeroDivisionError), quick_allocator():
            _ = 1 / 0
        assert _backend() == "mimalloc"

    def test_a_plan_takes_jemalloc(self, tmp_path: Path) -> None:
        from tableformats.schema import Field, primitive

        path = write(tmp_path, pa.table({"id": pa.array([1, 2], pa.int64())}), "f.parquet")
        snapshot = snapshot_of(tmp_path, [Field(1, "id", primitive("long"))], [FakeFile(path, 2)])
        seen = []
        parts = snapshot.format_snapshot.parts
        snapshot.format_snapshot.parts = lambda request: seen.append(_backend()) or parts(request)  # type: ignore[func-returns-value]
        snapshot.scan(tf.col("id") > 0).plan()
        assert (seen, _backend()) == (["jemalloc"], "mimalloc")

    def test_rows_take_jemalloc(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tf.write_table(pa.table({"id": [1, 2]}), tmp_path / "t", format="delta")
        scan = tf.open_table(tmp_path / "t").scan()
        seen = []
        read = tf.ScanPlan.to_arrow_batch_reader
        monkeypatch.setattr(
            tf.ScanPlan, "to_arrow_batch_reader", lambda *a, **k: seen.append(_backend()) or read(*a, **k)
        )
        assert scan.to_arrow().num_rows == scan.plan().to_arrow().num_rows == 2
        assert (seen, _backend()) == (["jemalloc", "jemalloc"], "mimalloc")

    def test_one_that_the_process_chose_is_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pa.set_memory_pool(pa.system_memory_pool())
        monkeypatch.setattr(pa, "jemalloc_set_decay_ms", lambda _: pytest.fail("the process has another allocator"))
        with quick_allocator():
            assert _backend() == "system"
        pa.set_memory_pool(pa.mimalloc_memory_pool())
        monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", "mimalloc")
        with quick_allocator():
            assert _backend() == "mimalloc"

    def test_one_that_is_chosen_meanwhile_is_kept(self) -> None:
        with quick_allocator():
            pa.set_memory_pool(pa.system_memory_pool())
        assert _backend() == "system"

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
    def test_a_forked_child_has_what_the_process_had(self) -> None:
        with quick_allocator():
            child = os.fork()
            if child == 0:
                os._exit(0 if _backend() == "mimalloc" else 1)
        assert os.waitpid(child, 0)[1] == 0
