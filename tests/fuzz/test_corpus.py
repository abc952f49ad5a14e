"""Every input of the corpus through its target, without a fuzzer: seeds are read, findings stay fixed."""

from __future__ import annotations

import resource
import subprocess
import time
from pathlib import Path

import pytest

from tableformats.errors import CorruptMetadataError
from tests.fuzz.corpus import ALL_TARGETS, FOLDER, inputs
from tests.fuzz.kernels import KERNELS, build_replays
from tests.fuzz.targets import TARGETS, Finding, Target, base, run, warm

ANSWERED = [
    "delta_checkpoint",
    "delta_statistics",
    "delta_vector_file",
    "delta_vector_inline",
    "iceberg_avro_schema",
    "iceberg_delete_file",
    "iceberg_delete_manifest",
    "iceberg_manifest",
    "iceberg_manifest_list",
    "iceberg_metadata",
    "iceberg_orc_delete_file",
    "iceberg_vector",
    "sql",
]
"""Targets whose seeds are all sound."""


@pytest.mark.parametrize("name", TARGETS)
def test_inputs_end_in_an_answer_or_in_our_error(name: str) -> None:
    target = TARGETS[name]
    warm(target)
    answered = 0
    for data in (b"", b"\0", b"\xff" * 64, *(path.read_bytes() for path in inputs(name))):
        answered += run(target, data) is None
    assert answered, "every input is refused: the target reaches nothing"


@pytest.mark.parametrize("name", ANSWERED)
def test_seeds_are_answered(name: str) -> None:
    for path in inputs(name):
        if path.name.startswith("seed-"):
            TARGETS[name].run(path.read_bytes())


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    built = build_replays(tmp_path_factory.mktemp("kernels"))
    if built is None:
        pytest.skip("there is no C compiler")
    return built


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_replay_their_inputs(name: str, programs: dict[str, Path]) -> None:
    done = subprocess.run([programs[name], *inputs(name)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stderr.splitlines() == [str(path) for path in inputs(name)]


def test_the_corpus_is_complete_and_small() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(ALL_TARGETS)
    sizes = [path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(sizes) < 1 << 20
    assert max(sizes) < 32 << 10


def test_findings_are_told_from_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MAX_SECONDS", 0.01)
    monkeypatch.setattr(base, "MAX_GROWTH", 32 << 20)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def slow(data: bytes) -> None:
        until = time.process_time() + 0.1
        while time.process_time() < until:
            pass

    def foreign(data: bytes) -> None:
        raise KeyError("x")

    def large(data: bytes) -> None:
        assert bytearray(1024 * most + (64 << 20))

    with pytest.raises(Finding, match="s for 1 bytes"):
        run(Target("slow", slow, dict), b"x")
    with pytest.raises(KeyError):
        run(Target("foreign", foreign, dict), b"x")
    monkeypatch.setattr(base, "MAX_SECONDS", 10)
    with pytest.raises(Finding, match="KB more"):
        run(Target("large", large, dict), b"x")


def test_an_error_shows_no_control_characters() -> None:
    error = CorruptMetadataError("type \x0e\x1b[2J\nWARN forged", path="a\u2028b")
    assert str(error).startswith(r"type \x0e\x1b[2J\nWARN forged (path 'a\u2028b')")
    assert str(error).isprintable()
