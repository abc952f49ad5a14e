"""The kit finds every planted mistake, and says what it found and what it wanted."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from tableformats.testing import ConformanceFixtures, FormatConformance
from tests.testing import hive
from tests.testing.mistakes import MISTAKES, Mistake

CASES = [pytest.param(mistake, test, id=f"{mistake}-{test}") for mistake in MISTAKES for test in mistake.found_by]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pa.Table]:
    """The table, and its rows."""
    root = tmp_path_factory.mktemp("hive")
    return root, hive.write_table(root)


@pytest.mark.thread_unsafe
class TestMistakes(ConformanceFixtures):
    """The fixtures of the kit are resolved as pytest does; of its tests only one is called."""

    @pytest.fixture
    def format_class(self) -> Any:
        return hive.HiveFormat

    @pytest.fixture
    def location(self, written: tuple[Path, pa.Table]) -> Path:  # type: ignore[override]
        return written[0]

    @pytest.fixture
    def expected_rows(self, written: tuple[Path, pa.Table]) -> pa.Table:
        return written[1]

    @pytest.fixture
    def expected_files(self, location: Path) -> list[Path]:
        return list(location.rglob("*.parquet"))

    @pytest.fixture
    def plugin_module(self) -> ModuleType:
        return hive

    @pytest.mark.parametrize(("mistake", "test"), CASES)
    def test_a_mistake_is_found(
        self, mistake: Mistake, test: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        mistake.plant(monkeypatch)
        with pytest.raises(AssertionError) as caught:
            _run(test, request)
        message = str(caught.value)
        assert "found" in message and "wanted" in message, message
        assert re.search(mistake.found_by[test], message), message

    @pytest.mark.parametrize("test", sorted({test for mistake in MISTAKES for test in mistake.found_by}))
    def test_without_a_mistake_nothing_is_found(self, test: str, request: pytest.FixtureRequest) -> None:
        _run(test, request)


def _run(test: str, request: pytest.FixtureRequest) -> None:
    """Call a test of the kit with its fixtures; being skipped is a failure."""
    kit = FormatConformance()
    kit.most_filters = 200
    method = getattr(kit, test)
    try:
        method(**{name: request.getfixturevalue(name) for name in inspect.signature(method).parameters})
    except pytest.skip.Exception as skipped:
        pytest.fail(f"{test} was skipped: {skipped}")


def test_there_are_many_mistakes() -> None:
    assert len(MISTAKES) >= 50
