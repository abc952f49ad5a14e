"""The conformance tables: real Delta and Iceberg tables with expected answers, kept outside of the repository.

Found through ``TABLEFORMATS_CONFORMANCE``, or beside the checkout; tests that need them skip and say so where they
are absent. :data:`OUTCOMES` collects what was read and what was refused; ``conftest.py`` prints it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(os.environ.get("TABLEFORMATS_CONFORMANCE", Path(__file__).resolve().parents[3] / "shared" / "tables"))
needs_tables = pytest.mark.skipif(
    not ROOT.is_dir(), reason=f"no conformance tables at {ROOT}; set TABLEFORMATS_CONFORMANCE to their folder"
)

OUTCOMES: dict[str, str] = {}
"""Table -> "read", or the error's type and what it names."""


@dataclass(frozen=True)
class DeltaCase:
    name: str
    path: Path
    oracle: dict[str, Any]

    def __str__(self) -> str:
        return self.name

    @property
    def must_fail(self) -> str | None:
        """The error that the index demands; None where the table must be read."""
        protocol = self.oracle.get("protocol") or {}
        if "catalogOwned" in (protocol.get("readerFeatures") or ()) or (protocol.get("minReaderVersion") or 0) > 3:
            return "UnsupportedFeatureError"
        if "null_constraints_lists" in self.name:
            # The index: pretty-printed actions, which delta-kernel accepts (10 rows) and line-based readers do not.
            return None
        return "CorruptMetadataError" if self.oracle.get("error") else None


def delta_cases() -> list[DeltaCase]:
    cases = []
    for file in sorted((ROOT / "delta" / "ORACLE").glob("*.json")):
        for table, oracle in json.loads(file.read_text()).items():
            cases.append(DeltaCase(f"{file.stem}/{table}", ROOT / "delta" / file.stem / table, oracle))
    return cases


@dataclass(frozen=True)
class IcebergCase:
    name: str
    metadata: Path
    snapshots: tuple[dict[str, Any], ...]

    def __str__(self) -> str:
        return self.name

    @property
    def path(self) -> Path:
        return self.metadata.parent.parent


def iceberg_cases() -> list[IcebergCase]:
    """One case a table and metadata file, with the expected lines of all its snapshots."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in iceberg_lines():
        grouped.setdefault((line["table"], line["metadata"]), []).append(line)
    return [
        IcebergCase(f"{table}/{metadata}", _metadata_file(table, metadata), tuple(lines))
        for (table, metadata), lines in sorted(grouped.items())
    ]


def iceberg_lines() -> Iterator[dict[str, Any]]:
    file = ROOT / "iceberg" / "expected.jsonl"
    if file.is_file():
        yield from map(json.loads, file.read_text().splitlines())


def _metadata_file(table: str, metadata: str) -> Path:
    folder = ROOT / "iceberg" / table
    return folder / "metadata" / metadata if (folder / "metadata" / metadata).exists() else folder / metadata


def has_data(plan: Any) -> bool:
    """Whether every file that the plan names is there; many tables are kept as metadata alone."""
    return all(os.path.exists(path) for path in plan.file_uris())
