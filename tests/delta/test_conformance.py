"""Every conformance table of Delta against its recorded answer, at every version, by the plugin alone."""

from __future__ import annotations

import datetime as dt
import decimal
import hashlib
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tableformats_delta.format import DeltaFormat
from tableformats_delta.snapshot.delta_snapshot import DeltaSnapshot
from tableformats_delta.table import DeltaTable

from tableformats import errors
from tableformats.io.storage import Storage
from tableformats.plugin import OpenOptions, SnapshotSelector
from tests.support.conformance import OUTCOMES, DeltaCase, delta_cases, needs_tables
from tests.support.delta_log import deleted, live_files

pytestmark = [pytest.mark.conformance, needs_tables]

CASES = delta_cases()
READABLE = [case for case in CASES if case.must_fail is None]
RECORDED = [case for case in READABLE if case.oracle["files"] is not None]


def open_table(case: DeltaCase) -> DeltaTable:
    return DeltaFormat().open(Storage(case.path), OpenOptions())


def at(case: DeltaCase, version: int | None = None) -> DeltaSnapshot:
    return open_table(case).snapshot(SnapshotSelector(version=version))


def identity(row: dict[str, Any]) -> tuple[str, str | None, int | None, int]:
    vector = row["vector"]
    if vector is None:
        return row["path"], None, None, row["size_bytes"]
    offset = "" if vector["offset"] is None else f"@{vector['offset']}"
    name = f"{vector['storageType']}{vector['pathOrInlineDv']}{offset}"
    return row["path"], name, vector["cardinality"], row["size_bytes"]


def cardinality(row: dict[str, Any]) -> int:
    return row["vector"]["cardinality"] if row["vector"] else 0


@pytest.mark.parametrize("case", CASES, ids=str)
def test_reads_or_refuses(case: DeltaCase) -> None:
    if case.must_fail is None:
        version = case.oracle["version"]
        assert at(case).version == (case.oracle["deltalake_1_6_6"]["version"] if version is None else version)
        OUTCOMES[f"delta plugin: {case}"] = "delta plugin: read"
        return
    with pytest.raises(getattr(errors, case.must_fail)) as caught:
        live_files(at(case))
    error = caught.value
    OUTCOMES[f"delta plugin: {case}"] = f"delta plugin: {type(error).__name__} {error.field or error.path}"
    assert error.path is not None
    assert Path(error.path).is_relative_to(case.path)
    if case.must_fail == "UnsupportedFeatureError":
        assert error.field in ("catalogOwned", "minReaderVersion")


@pytest.mark.parametrize("case", RECORDED, ids=str)
def test_metadata(case: DeltaCase) -> None:
    snapshot, oracle = at(case), case.oracle
    recorded = oracle["protocol"]
    assert {name: snapshot.protocol.get(name) for name in recorded if recorded[name] is not None} == {
        name: value for name, value in recorded.items() if value is not None
    }
    assert snapshot.properties == oracle["configuration"]
    assert [f.name for f in snapshot.specs[0].fields] == oracle["partitionColumns"]
    # Two tables have no schema: no columns.
    fields = json.loads(oracle["schemaString"])["fields"] if oracle["schemaString"] else []
    assert snapshot.schema.names == [f["name"] for f in fields]


@pytest.mark.parametrize("case", RECORDED, ids=str)
def test_live_files(case: DeltaCase) -> None:
    found = sorted(identity(row) for row in live_files(at(case)))
    assert found == sorted((f["path"], f["dv"], f["card"], f["size"]) for f in case.oracle["files"])
    assert sum(size for *_, size in found) == case.oracle["size_bytes"]


@pytest.mark.parametrize("case", [c for c in RECORDED if c.oracle["partitionColumns"]], ids=str)
def test_partition_values(case: DeltaCase) -> None:
    snapshot = at(case)
    recorded = {(f["path"], f["dv"]): f["pv"] for f in case.oracle["files"]}
    for row in live_files(snapshot):
        raw = recorded[identity(row)[:2]]
        for part in snapshot.specs[0].fields:
            column = snapshot.schema.find_id(part.source_id)
            assert column is not None
            text = raw[column.stored_name]
            expected = None if text in (None, "") else EXPECTED[str(column.type).partition("(")[0]](text)
            assert row["partition"][str(part.id)] == expected


@pytest.mark.parametrize("case", [c for c in RECORDED if c.oracle["dvs"]], ids=str)
def test_deletion_vectors(case: DeltaCase) -> None:
    snapshot = at(case)
    found = {identity(row)[:2]: row for row in live_files(snapshot) if row["vector"] is not None}
    assert set(found) == {(dv["path"], dv["dv"]) for dv in case.oracle["dvs"]}
    for dv in case.oracle["dvs"]:
        row = found[dv["path"], dv["dv"]]
        positions = deleted(snapshot, row, row["record_count"])
        assert len(positions) == dv["n"]
        assert hashlib.sha256(struct.pack(f"<{len(positions)}Q", *positions)).hexdigest() == dv["sha256"]
        if dv["positions"] is not None:
            assert positions == dv["positions"]


@pytest.mark.parametrize("case", [c for c in CASES if c.oracle["versions"]], ids=str)
def test_every_version(case: DeltaCase) -> None:
    """Live files and rows of each version that can be reconstructed; one that cannot is refused."""
    footers: dict[str, int | None] = {}
    for text, recorded in case.oracle["versions"].items():
        try:
            files = live_files(at(case, int(text)))
        except errors.UnsupportedFeatureError as error:
            assert case.must_fail == "UnsupportedFeatureError", error
            continue
        except (errors.SnapshotNotFoundError, errors.CorruptMetadataError):
            assert case.must_fail == "CorruptMetadataError" or str(recorded).startswith("ERR")
            continue
        assert not isinstance(recorded, str), f"version {text} must be refused"
        assert len(files) == recorded[0], f"version {text}"
        rows = [physical_rows(row, case.path, footers) for row in files]
        if recorded[1] is not None and None not in rows:
            live = sum(n - cardinality(row) for n, row in zip(rows, files, strict=True) if n is not None)
            assert live == recorded[1], f"version {text}"


@pytest.mark.parametrize("case", RECORDED, ids=str)
def test_row_count(case: DeltaCase) -> None:
    files = live_files(at(case))
    rows = [physical_rows(row, case.path, {}) for row in files]
    if case.oracle["num_rows"] is None:
        assert None in rows, "the recorded answer is unknown, this one is not"
    else:
        deleted_rows = sum(cardinality(row) for row in files)
        assert sum(n for n in rows if n is not None) - deleted_rows == case.oracle["num_rows"]


@pytest.mark.parametrize("case", READABLE, ids=str)
def test_history(case: DeltaCase) -> None:
    history = open_table(case).history()
    versions = history.column("version").to_pylist()
    assert versions == sorted(versions, reverse=True)
    assert len(versions) == case.oracle["log"]["commits"]
    assert open_table(case).history(limit=1).num_rows == 1


def test_pretty_printed_actions() -> None:
    """The kernels read pretty-printed actions; the recorded answer is theirs."""
    case = next(case for case in READABLE if "null_constraints_lists" in case.name)
    assert sum(row["record_count"] for row in live_files(at(case))) == case.oracle["deltalake_1_6_6"]["count"]


@pytest.mark.parametrize(("table", "version"), [("table_b", 7), ("table_b", 10_000), ("table_b", -1), ("table_g", 20)])
def test_versions_that_are_not_there(table: str, version: int) -> None:
    case = next(case for case in CASES if case.name.endswith(table))
    with pytest.raises(errors.SnapshotNotFoundError, match="Versions 0 to"):
        at(case, version)


def physical_rows(row: dict[str, Any], root: Path, footers: dict[str, int | None]) -> int | None:
    """From the log, else from the data file's footer where it is there."""
    if row["record_count"] is not None:
        return int(row["record_count"])
    path = row["path"]
    if path not in footers:
        file = Storage(root).resolve_one(path, encoded=True)
        footers[path] = pq.read_metadata(file).num_rows if Path(file).exists() else None
    return footers[path]


def _instant(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc)


EXPECTED: dict[str, Callable[[str], Any]] = {
    "string": str,
    "int": int,
    "bigint": int,
    "smallint": int,
    "tinyint": int,
    "float": float,
    "double": float,
    "boolean": lambda text: {"true": True, "false": False}[text],
    "decimal": decimal.Decimal,
    "date": dt.date.fromisoformat,
    "binary": str.encode,
    "timestamp": _instant,
    "timestamp_ntz": dt.datetime.fromisoformat,
}
