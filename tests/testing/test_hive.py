"""A sound plugin passes the kit, with all fixtures and with none but those that must be supplied."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from tableformats.testing import FormatConformance
from tests.support.examples import EVERY
from tests.testing import hive


class TestWithWhatMustBeSupplied(FormatConformance):
    most_filters = 600 if EVERY else 150
    most_reads = 100 if EVERY else 30

    @pytest.fixture
    def format_class(self) -> Any:
        return hive.HiveFormat

    @pytest.fixture
    def location(self, tmp_path: Path) -> Path:
        hive.write_table(tmp_path / "table")
        return tmp_path / "table"


class TestWithAll(TestWithWhatMustBeSupplied):
    @pytest.fixture
    def expected_rows(self, tmp_path: Path) -> pa.Table:
        return hive.write_table(tmp_path / "again")

    @pytest.fixture
    def expected_files(self, location: Path) -> list[Path]:
        return sorted(location.rglob("*.parquet"))

    @pytest.fixture
    def plugin_module(self) -> ModuleType:
        return hive


class TestWithRowsAsDicts(TestWithWhatMustBeSupplied):
    @pytest.fixture
    def expected_rows(self, tmp_path: Path) -> list[dict[str, Any]]:
        return list(reversed(hive.write_table(tmp_path / "again").to_pylist()))

    @pytest.fixture
    def expected_files(self, location: Path) -> list[str]:
        return [path.relative_to(location).as_posix() for path in location.rglob("*.parquet")]

    @pytest.fixture
    def plugin_module(self) -> str:
        return hive.__name__
