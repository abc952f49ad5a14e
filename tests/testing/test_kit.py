"""Our own plugins pass the kit that strangers' plugins are given."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tableformats.plugin import OpenOptions
from tableformats.testing import FormatConformance
from tests.support.examples import EVERY
from tests.support.golden import TABLES

JVM = TABLES.parent / "tables_jvm"


class TestDelta(FormatConformance):
    most_filters = 600 if EVERY else 150
    most_reads = 100 if EVERY else 30

    @pytest.fixture
    def format_class(self) -> Any:
        from tableformats_delta.format import DeltaFormat

        return DeltaFormat

    @pytest.fixture
    def location(self) -> Path:  # type: ignore[override]
        return TABLES / "delta-evolved" / "table"


class TestIceberg(FormatConformance):
    most_filters = 600 if EVERY else 150
    most_reads = 100 if EVERY else 30

    @pytest.fixture
    def format_class(self) -> Any:
        from tableformats_iceberg.format import IcebergFormat

        return IcebergFormat

    @pytest.fixture
    def location(self) -> Path:  # type: ignore[override]
        return TABLES / "iceberg-evolved" / "table"

    @pytest.fixture
    def options(self) -> OpenOptions:
        return OpenOptions(relocate=True)


class TestDeltaBySpark(TestDelta):
    most_filters = 100 if EVERY else 50
    most_reads = 20 if EVERY else 10

    @pytest.fixture(params=["column-mapping", "deletion-vectors", "shredded-variant", "type-widening"])
    def location(self, request: pytest.FixtureRequest) -> Path:  # type: ignore[override]
        return Path(JVM / f"delta-{request.param}" / "table")


class TestIcebergBySpark(TestIceberg):
    most_filters = 100 if EVERY else 50
    most_reads = 20 if EVERY else 10

    @pytest.fixture(params=["deletion-vectors", "equality-deletes", "evolution", "position-deletes"])
    def location(self, request: pytest.FixtureRequest) -> Path:  # type: ignore[override]
        return Path(JVM / f"iceberg-{request.param}" / "table")
