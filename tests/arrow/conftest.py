"""What tests of the Arrow reader share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tableformats.engines.arrow.files.parquet import ParquetFile


@pytest.fixture
def groups_read(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[int]]:
    """The numbers of the row groups that were read."""
    found: set[int] = set()
    part_rows = ParquetFile.part_rows

    def noted(self: ParquetFile, part: Any, *arguments: Any) -> Any:
        found.update(part.row_groups)
        return part_rows(self, part, *arguments)

    monkeypatch.setattr(ParquetFile, "part_rows", noted)
    yield found
