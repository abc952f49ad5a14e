"""Prints, after a run over the conformance tables, what was read and what was refused; settles Hypothesis.

With ``-n auto`` (pytest-xdist) the files are shared out among a few workers; what they counted is added up here.
"""

from __future__ import annotations

import gc
import os

os.environ.setdefault("TABLEFORMATS_LET_THROUGH", "1")  # a foreign exception over a table's bytes is a defect

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.support.conformance import OUTCOMES
from tests.support.examples import EVERY, examples
from tests.support.skips import note_outcome, write_pins
from tests.support.summary import CASES
from tests.support.turns import forget_ends

# How fast a machine is decides no test: the first example pays for imports, and a busy machine is slow.
settings.register_profile(
    "tableformats",
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
# A long run reports the first case that fails as it is: shrinking would take its hours.
settings.register_profile("nightly", settings.get_profile("tableformats"), phases=[Phase.explicit, Phase.generate])
# The same cases in every run, so that what a mutant does to them is the same too.
settings.register_profile("mutants", settings.get_profile("nightly"), derandomize=True, database=None)
settings.load_profile(os.environ.get("TABLEFORMATS_PROFILE", "tableformats"))


@pytest.fixture(scope="session", autouse=True)
def races_are_lost() -> Iterator[None]:
    """Two transactions of a test begin together, and the second one to commit shall lose the race."""
    with pytest.MonkeyPatch.context() as patch:
        forget_ends(patch)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if EVERY:
        return
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker(pytest.mark.skip(reason="takes long: TF_NIGHTLY=1 runs it"))


def pytest_collection_finish() -> None:
    """Keep Python from looking at thousands of tests whenever it collects garbage: that takes a second each time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any) -> Iterator[None]:
    made = yield
    note_outcome(item, made.get_result())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    # Each worker may start a JVM of its own.
    return min(os.cpu_count() or 1, 4)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: Any, log: Any) -> Any:
    from tests.support.scheduling import FileScheduling

    config.option.loadscopereorder = False
    return FileScheduling(config, log)


def pytest_sessionfinish(session: Any) -> None:
    write_pins()
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput.update(cases=dict(CASES), outcomes=dict(OUTCOMES))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    counted = getattr(node, "workeroutput", {})
    CASES.update(counted.get("cases", {}))
    OUTCOMES.update(counted.get("outcomes", {}))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    for what, count in sorted(CASES.items()):
        terminalreporter.write_line(f"{count:6}  {what}")
    if not OUTCOMES:
        return
    terminalreporter.section("conformance tables")
    for outcome, count in sorted(Counter(OUTCOMES.values()).items(), key=lambda pair: -pair[1]):
        terminalreporter.write_line(f"{count:4}  {outcome}")
    if terminalreporter.config.getoption("verbose") > 0:
        for table, outcome in sorted(OUTCOMES.items()):
            terminalreporter.write_line(f"      {table}: {outcome}")
