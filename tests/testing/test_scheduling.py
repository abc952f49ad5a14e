"""The files of Spark go to half of the workers, the others to the rest, and no file is left."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("xdist", reason="needs pytest-xdist")

from tests.support.scheduling import FileScheduling

FILES = [*(f"tests/{name}.py" for name in "abcdef"), *(f"tests/spark/{name}.py" for name in "xyz"), "tests/write/w.py"]
TESTS = [f"{file}::test_{i}" for file in FILES for i in range(4)]


class Worker:
    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.given: list[int] = []
        self.shutting_down = False

    def send_runtest_some(self, places: list[int]) -> None:
        self.given += places

    def shutdown(self) -> None:
        self.shutting_down = True


def ran(count: int) -> list[list[str]]:
    """The files that each of so many workers runs, which are equally fast."""
    workers: list[Any] = [Worker(f"gw{i}") for i in range(count)]
    config: Any = SimpleNamespace(
        getvalue=lambda _: ["popen"] * count, option=SimpleNamespace(loadscopereorder=False, tx=["popen"] * count)
    )
    scheduling = FileScheduling(config)
    for worker in workers:
        scheduling.add_node(worker)
        scheduling.add_node_collection(worker, TESTS)
    scheduling.schedule()
    done = 0
    while any(len(worker.given) > done for worker in workers):
        for worker in workers:
            if len(worker.given) > done:
                scheduling.mark_test_complete(worker, worker.given[done])
        done += 1
    assert scheduling.tests_finished and not scheduling.has_pending
    assert sorted(place for worker in workers for place in worker.given) == list(range(len(TESTS)))
    return [list(dict.fromkeys(TESTS[place].split("::")[0] for place in worker.given)) for worker in workers]


def test_two_workers() -> None:
    first, second = ran(2)
    assert first[:3] == FILES[6:9] and second[:3] == FILES[:3]
    assert not any("spark" in file for file in second)


def test_four_workers() -> None:
    spark = [[file for file in files if "spark" in file] for files in ran(4)]
    assert sorted(spark[0] + spark[1]) == FILES[6:9] and spark[0] and spark[1] and not spark[2] + spark[3]


def test_one_worker() -> None:
    assert ran(1) == [[*FILES[6:9], *FILES[:6], FILES[9]]]
