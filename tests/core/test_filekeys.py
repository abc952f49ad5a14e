"""The set of file keys against a Python set, over batches with nulls, duplicates and many keys."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tableformats._core import filekeys as compiled

Keys = list["bytes | None"]
KEY = st.binary(max_size=40) | st.sampled_from([b"", b"\0", b"\0\0"]) | st.integers(1, 34).map(lambda n: b"a" * n)


def _batch(keys: Keys, width: type = np.int32) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The keys as offsets, data and validity (None where no key is null)."""
    offsets: np.ndarray = np.cumsum([0, *(len(key or b"") for key in keys)]).astype(width)
    data = np.frombuffer(b"".join(key or b"" for key in keys), np.uint8)
    return offsets, data, np.array([key is not None for key in keys], np.uint8) if None in keys else None


@pytest.mark.parametrize("width", [np.int32, np.int64])
@settings(deadline=None)
@given(batches=st.lists(st.lists(st.none() | KEY, max_size=150), max_size=5))
def test_like_a_set_of_bytes(filekeys: ModuleType, width: type, batches: list[Keys]) -> None:
    keys, seen = filekeys.FileKeySet(), set()
    for batch in batches:
        assert keys.probe_batch(*_batch(batch, width)).tolist() == [k is not None and k not in seen for k in batch]
        expected = []
        for key in batch:
            expected.append(key is not None and key not in seen)
            seen |= {key} - {None}
        assert keys.add_batch(*_batch(batch, width)).tolist() == expected
        assert len(keys) == len(seen)


@pytest.mark.parametrize("width", [np.int32, np.int64])
@settings(deadline=None)
@given(batches=st.lists(st.lists(KEY, max_size=150), max_size=5))
def test_a_key_has_one_number(filekeys: ModuleType, width: type, batches: list[list[bytes]]) -> None:
    keys = filekeys.FileKeySet()
    numbers: dict[bytes, int] = {}
    for batch in batches:
        before = keys.find_batch(*_batch(list(batch), width)[:2]).tolist()
        assert before == [numbers.get(key, -1) for key in batch]
        keys.add_batch(*_batch(list(batch), width))
        found = keys.find_batch(*_batch(list(batch), width)[:2])
        assert found.dtype == np.int64 and (found >= 0).all()
        numbers |= dict(zip(batch, found.tolist(), strict=True))
    every = list(numbers)
    assert keys.find_batch(*_batch(list(every), width)[:2]).tolist() == list(numbers.values())
    assert len(set(numbers.values())) == len(numbers)


class _Machine(RuleBasedStateMachine):
    """Adds and probes in any order; the oracle is a dict from key to the batch that brought it first."""

    module: ModuleType

    def __init__(self) -> None:
        super().__init__()
        self.keys = self.module.FileKeySet()
        self.first: dict[bytes, int] = {}
        self.batches = 0

    @rule(batch=st.lists(st.binary(max_size=2), max_size=200))
    def add(self, batch: list[bytes]) -> None:
        self.batches += 1
        unseen = self.keys.add_batch(*_batch(list(batch)))
        for key, new in zip(batch, unseen.tolist(), strict=True):
            assert new == (key not in self.first)
            self.first.setdefault(key, self.batches)

    @rule(batch=st.lists(st.binary(max_size=2), max_size=200))
    def probe(self, batch: list[bytes]) -> None:
        assert self.keys.probe_batch(*_batch(list(batch))).tolist() == [key not in self.first for key in batch]

    @invariant()
    def counts(self) -> None:
        assert len(self.keys) == len(self.first)


def test_any_order_of_calls(filekeys: ModuleType) -> None:
    machine = type("Machine", (_Machine,), {"module": filekeys})
    run_state_machine_as_test(machine, settings=settings(max_examples=20, deadline=None))


def test_first_of_equal_keys_is_the_unseen_one_across_blocks(filekeys: ModuleType) -> None:
    batch = [b"%d" % (i % 100) for i in range(1000)]
    keys = filekeys.FileKeySet()
    assert keys.add_batch(*_batch(list(batch))).tolist() == [i < 100 for i in range(1000)]
    assert keys.add_batch(*_batch(list(batch))).sum() == 0


def test_bytes_decide_where_hashes_collide(filekeys: ModuleType) -> None:
    """Under a seed of zeros all these keys have one hash: a product with their first 8 bytes, which are 0."""
    texts = [b"\0" * 8 + b"ab"[: i % 3] + b"%d" % i for i in range(300)]
    texts += [text[:-1] for text in texts]  # the beginnings of others, which only their length tells apart
    keys, seen = filekeys.FileKeySet(seed=bytes(32)), set()
    for text in texts:
        assert keys.probe_batch(*_batch([text])).tolist() == [text not in seen]
        assert (keys.find_batch(*_batch([text])[:2]) < 0).tolist() == [text not in seen]
        assert keys.add_batch(*_batch([text])).tolist() == [text not in seen]
        seen.add(text)
    assert len(keys) == len(seen)


def test_a_null_is_no_key(filekeys: ModuleType) -> None:
    """Not even where its slot has bytes, as Arrow allows, and it is not the empty key."""
    keys = filekeys.FileKeySet()
    offsets, data = np.array([0, 1, 2, 2], np.int32), np.frombuffer(b"xx", np.uint8)
    assert keys.add_batch(offsets, data, np.array([0, 1, 0], np.uint8)).tolist() == [0, 1, 0]
    assert keys.add_batch(np.array([0, 0], np.int32), data).tolist() == [1]
    assert len(keys) == 2


def test_grows_to_many_keys(filekeys: ModuleType) -> None:
    """Far past every first size: slots, arena and blocks are all outgrown several times."""
    texts = [f"part-{i:05d}-{i * i}.parquet".encode() for i in range(30_000)]
    keys = filekeys.FileKeySet()
    for i in range(0, len(texts), 7_000):
        assert keys.add_batch(*_batch(list(texts[i : i + 7_000]))).all()
    assert len(keys) == len(texts)
    assert not keys.probe_batch(*_batch(list(texts))).any()
    assert keys.probe_batch(*_batch([text + b"x" for text in texts])).all()


def test_slices_of_a_larger_array(filekeys: ModuleType) -> None:
    """The offsets of a slice do not begin at 0."""
    offsets, data, _ = _batch([b"aa", b"b", b"aa", b"c"])
    keys = filekeys.FileKeySet()
    assert keys.add_batch(offsets[2:], data).tolist() == [1, 1]
    assert keys.add_batch(offsets[:3], data).tolist() == [0, 1]


def test_empty_batches(filekeys: ModuleType) -> None:
    keys, none = filekeys.FileKeySet(), np.zeros(0, np.uint8)
    for offsets in (np.zeros(0, np.int32), np.zeros(1, np.int32)):
        for answer in (keys.add_batch(offsets, none), keys.probe_batch(offsets, none, none)):
            assert answer.dtype == np.uint8 and answer.shape == (0,)
        assert keys.find_batch(offsets, none).shape == (0,)
    assert len(keys) == 0


@pytest.mark.parametrize("offsets", [[0, 2, 1], [-1, 0], [0, 4], [2, 1, 3]])
def test_refuses_offsets_outside_of_the_data(filekeys: ModuleType, offsets: list[int]) -> None:
    keys, data = filekeys.FileKeySet(), np.frombuffer(b"abc", np.uint8)
    for call in (keys.add_batch, keys.probe_batch, keys.find_batch):
        with pytest.raises(ValueError, match=r"offsets\[\d\]"):
            call(np.array(offsets, np.int32), data)
    with pytest.raises(ValueError, match="validity has 2"):
        keys.add_batch(np.array([0, 1], np.int32), data, np.ones(2, np.uint8))
    assert len(keys) == 0


NEEDS_LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc and limits memory")


@NEEDS_LINUX
def test_sets_free_their_memory() -> None:
    """400 sets of 5,000 keys would be over 300 MB, were they kept; so would what a refused batch began."""
    batch = _batch([b"%d" % i for i in range(5_000)])

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def build() -> None:
        keys = compiled.FileKeySet()
        keys.add_batch(*batch)
        with pytest.raises(ValueError, match="offsets"):
            keys.add_batch(np.array([0, 9], np.int32), np.zeros(1, np.uint8))

    build()
    before = resident()
    for _ in range(400):
        build()
    assert resident() - before < 50 << 20


@NEEDS_LINUX
def test_out_of_memory_is_an_error_and_the_set_stays_sound() -> None:
    """In a process that may grow by 96 MB only: what was added before is still there, nothing else is."""
    script = """
import resource
import numpy as np
from tableformats._core.filekeys import FileKeySet

def batch(i):
    keys = [b"%09d" % (1000 * i + j) + b"x" * 91 for j in range(1000)]
    return np.arange(0, 100_001, 100, dtype=np.int32), np.frombuffer(b"".join(keys), np.uint8)

keys = FileKeySet()
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (96 << 20), resource.RLIM_INFINITY))
added = 0
try:
    while added < 10_000:
        keys.add_batch(*batch(added))
        added += 1
except MemoryError:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert 10 < added < 10_000, added
assert 1000 * added <= len(keys) < 1000 * (added + 1), (added, len(keys))
assert not any(keys.probe_batch(*batch(i)).any() for i in range(added))
assert keys.probe_batch(*batch(added + 1)).all()
keys.add_batch(*batch(added))
assert len(keys) == 1000 * (added + 1)
print("sound")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "sound\n", done.stderr


def test_threads_may_share_a_set(filekeys: ModuleType) -> None:
    """Every key is unseen exactly once, whichever thread comes first."""
    if filekeys.__name__.endswith("reference"):
        pytest.skip("the readable twin is for one thread")
    texts: Keys = [b"%d" % i for i in range(20_000)]
    keys, counts = filekeys.FileKeySet(), []

    def work() -> None:
        unseen = [keys.add_batch(*_batch(texts[i : i + 500])).sum() for i in range(0, len(texts), 500)]
        counts.append(sum(unseen))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == len(keys) == len(texts)
