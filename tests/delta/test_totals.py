"""What our commits count: the files and bytes of checksum files, marks of identity columns, rows of files."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.log.actions import Actions
from tableformats_delta.maintenance import checksum_writer
from tableformats_delta.maintenance.checksum_writer import (
    Totals,
    checksum_path,
    extend_checksum,
    extended,
    plain_action,
    read_totals,
    totals_of_commits,
    write_checksum,
)
from tableformats_delta.write.identity import identity_metadata, new_high_water
from tableformats_delta.write.restoring import _has_count

from tableformats.io.storage import Storage
from tableformats.plugin import Field, IdentityColumn, PrimitiveType
from tests.support.delta_log import PROTOCOL, DeltaLog, add, field, metadata, remove

Json = dict[str, Any]


def actions(adds: list[Json] = [], removes: list[Json] = [], **more: Any) -> Actions:  # noqa: B006
    return Actions(adds=[(one, 0) for one in adds], removes=[(one, 0) for one in removes], **more)


BEFORE = Totals(3, 100, {})


@pytest.mark.parametrize(
    ("found", "files", "size"),
    [
        (actions(), 3, 100),
        (actions([{"size": 5}, {"size": 7}]), 5, 112),
        (actions([{"size": 5}], [{"size": 9}, {"size": 1}]), 2, 95),
        (actions([], [{"size": 40}, {"size": 50}, {"size": 10}]), 0, 0),
        (actions([{"size": 5, "dataChange": False}, {"size": 6, "dataChange": True}], metadata={}), 4, 106),
        (actions([{"size": 5, "dataChange": False}], [{"size": 5}], metadata={}), 3, 100),
        (actions([{"size": 5, "dataChange": False}]), 4, 105),
    ],
)
def test_totals_after_a_commit(found: Actions, files: int, size: int) -> None:
    assert extended(BEFORE, found) == Totals(files, size, {})


@pytest.mark.parametrize(
    "found",
    [
        actions([], [{}]),
        actions([], [{"size": "1"}]),
        actions([], [{"size": 101}]),
        actions([], [{"size": 0}] * 4),
    ],
)
def test_totals_that_are_not_known(found: Actions) -> None:
    assert extended(BEFORE, found) is None


def test_lists_of_transactions_and_domains() -> None:
    known = {"setTransactions": [{"appId": "a", "version": 1}, {"appId": "b", "version": 1}], "domainMetadata": []}
    domains = [{"domain": "d", "configuration": "x"}, {"domain": "e", "removed": True}]
    found = extended(Totals(0, 0, known), actions(transactions=[{"appId": "a", "version": 2}], domains=domains))
    assert found is not None and found.lists == {
        "setTransactions": [{"appId": "a", "version": 2}, {"appId": "b", "version": 1}],
        "domainMetadata": [{"domain": "d", "configuration": "x"}],
    }
    gone = extended(found, actions(domains=[{"domain": "d", "removed": True}]))
    assert gone is not None and gone.lists["domainMetadata"] == []


@pytest.mark.parametrize(
    ("content", "totals"),
    [
        ({"numFiles": 0, "tableSizeBytes": 0}, Totals(0, 0, {})),
        ({"numFiles": 2, "tableSizeBytes": 7, "setTransactions": []}, Totals(2, 7, {"setTransactions": []})),
        ({"numFiles": 2, "tableSizeBytes": 7, "domainMetadata": [1]}, Totals(2, 7, {})),
        ({"numFiles": 2, "tableSizeBytes": 7, "domainMetadata": {}}, Totals(2, 7, {})),
        ({"numFiles": -1, "tableSizeBytes": 0}, None),
        ({"numFiles": 0, "tableSizeBytes": -1}, None),
        ({"numFiles": True, "tableSizeBytes": 0}, None),
        ({"numFiles": 1.0, "tableSizeBytes": 0}, None),
        ({"tableSizeBytes": 0}, None),
        ([], None),
        ("{", None),
        ("[" * 100_000, None),
    ],
)
def test_totals_of_a_checksum_file(tmp_path: Path, content: Any, totals: Totals | None) -> None:
    log = DeltaLog(tmp_path / "t")
    text = content if isinstance(content, str) else json.dumps(content)
    log.write(f"{4:020d}.crc", text.encode())
    storage = Storage(tmp_path / "t")
    assert read_totals(storage, 4) == totals and read_totals(storage, 5) is None


def test_totals_of_commits(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start()
    log.commit(1, add("a", size=5), add("b", size=7)).commit(2, remove("a"), add("b", size=8)).commit(3, add("c"))
    storage = Storage(tmp_path / "t")
    assert totals_of_commits(storage, log.snapshot()) == Totals(2, 18, {})
    assert totals_of_commits(storage, log.snapshot(0)) == Totals(0, 0, {})
    log.checkpoint(f"{3:020d}.checkpoint.parquet", {"protocol": PROTOCOL}, {"metaData": metadata_row()})
    assert totals_of_commits(storage, log.snapshot()) is None


@pytest.mark.parametrize(("most", "counted"), [(6, True), (5, True), (4, False)])
def test_how_many_actions_are_counted(
    tmp_path: Path, most: int, counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three adds and two removes are five."""
    monkeypatch.setattr(checksum_writer, "_MOST_COUNTED", most)
    log = DeltaLog(tmp_path / "t").start().commit(1, add("a"), add("b"), add("c")).commit(2, remove("a"), remove("b"))
    found = totals_of_commits(Storage(tmp_path / "t"), log.snapshot())
    assert found == (Totals(1, 10, {}) if counted else None)


def metadata_row() -> Json:
    return {k: v for k, v in metadata().items() if k in ("id", "schemaString", "partitionColumns")}


def test_the_file_that_is_written(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t")
    storage, timed = Storage(tmp_path / "t"), metadata(configuration={"delta.enableInCommitTimestamps": "TRUE"})
    totals = Totals(2, 9, {"setTransactions": []})
    assert write_checksum(storage, 1, totals, PROTOCOL, metadata(), {"txnId": 7, "inCommitTimestamp": 5})
    assert not write_checksum(storage, 1, totals, PROTOCOL, metadata()), "there is one"
    assert not write_checksum(storage, 2, totals, PROTOCOL, timed, {}) and not write_checksum(
        storage, 2, totals, PROTOCOL, timed
    )
    assert write_checksum(storage, 2, totals, PROTOCOL, timed, {"txnId": "x", "inCommitTimestamp": 5})
    first, second = (json.loads((log.directory / f"{n:020d}.crc").read_text()) for n in (1, 2))
    counts = {"tableSizeBytes": 9, "numFiles": 2, "numMetadata": 1, "numProtocol": 1, "setTransactions": []}
    assert first == {**counts, "metadata": metadata(), "protocol": PROTOCOL}
    assert second == {**counts, "metadata": timed, "protocol": PROTOCOL, "txnId": "x", "inCommitTimestampOpt": 5}
    assert checksum_path(storage, 1) == str(log.directory / f"{1:020d}.crc")
    assert not write_checksum(storage, 3, totals, PROTOCOL, {**metadata(), "name": "\ud800"}), "UTF-8 has no such text"
    assert not (log.directory / f"{3:020d}.crc").exists()


def test_actions_of_a_checkpoint_as_json() -> None:
    stored = {"configuration": [("a", "b")], "format": {"provider": "parquet", "options": [("c", "d")]}, "name": None}
    assert plain_action(stored) == {
        "configuration": {"a": "b"},
        "format": {"provider": "parquet", "options": {"c": "d"}},
    }
    other = {"format": "parquet", "own": {"a": None}, "options": "x"}
    assert plain_action(other) == other


def test_which_totals_a_commit_goes_on_from(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start().commit(1, add("a", size=5))
    storage, new = Storage(tmp_path / "t"), actions([{"size": 2}])
    before = log.snapshot()
    counted = extend_checksum(storage, before, new, 2)
    assert counted == Totals(2, 7, {})
    assert extend_checksum(storage, before, new, 2) is None, "there is one"
    assert extend_checksum(storage, before, new, 3) == Totals(3, 9, {}), "from the file of version 2"
    assert extend_checksum(storage, before, new, 9) is None, "nothing is known of version 8"
    assert extend_checksum(storage, before, new, 9, Totals(5, 5, {})) == Totals(6, 7, {})
    assert extend_checksum(storage, None, new, 5) is None
    for half in ({"protocol": PROTOCOL}, {"metadata": metadata()}):
        assert extend_checksum(storage, None, actions([{"size": 2}], **half), 0) is None
    first = actions([{"size": 2}], protocol=PROTOCOL, metadata=metadata())
    empty: dict[str, list[Json]] = {"setTransactions": [], "domainMetadata": []}
    assert extend_checksum(storage, None, first, 0, Totals(9, 9, {})) == Totals(1, 2, empty)


# ---- identity columns and counts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "step", "high_water", "farthest", "mark"),
    [
        (1, 1, None, None, None),
        (1, 1, 7, None, 7),
        (10, 1, None, 9, None),
        (10, 1, 12, 9, 12),
        (10, 1, None, 10, 10),
        (10, 1, 12, 12, 12),
        (10, 1, 12, 11, 12),
        (10, 1, 12, 13, 13),
        (10, 5, 12, 12, 12),
        (10, 5, 15, 16, 20),
        (10, 5, 15, 20, 20),
        (10, 5, None, 11, 15),
        (10, -5, None, 11, None),
        (10, -5, None, 9, 5),
        (10, -5, 5, 4, 0),
        (10, -5, 5, 5, 5),
        (10, -5, 5, 6, 5),
        (0, 5, None, 2**63 - 1, 2**63 - 1),
        (0, -5, None, -(2**63), -(2**63)),
        (2, 5, None, 2**63 - 1, 2**63 - 1),
    ],
)
def test_marks_of_identity_columns(
    start: int, step: int, high_water: int | None, farthest: int | None, mark: int | None
) -> None:
    rule = IdentityColumn(Field(1, "id", PrimitiveType("long")), start, step, high_water, True)
    assert new_high_water(rule, farthest) == mark


def test_metadata_with_new_marks_of_identity_columns() -> None:
    """The schema is spelled as writers spell it: without blanks, and with letters as they are."""
    rule = IdentityColumn(Field(1, "zähler", PrimitiveType("long")), 1, 1, 4, True)
    target: Any = SimpleNamespace(rules=SimpleNamespace(identities=(rule,)), partitioning=())
    before = metadata(field("zähler", "long"), field("x", "long"))
    added = pa.table({"upper": [{"1": 6}, {"1": 9}, {"1": None}], "lower": [{"1": 5}, {"1": 7}, {"1": None}]})
    made = identity_metadata(before, target, added)
    assert made is not None and {**made, "schemaString": ""} == {**before, "schemaString": ""}
    assert made["schemaString"] == (
        '{"type":"struct","fields":[{"name":"zähler","type":"long","nullable":true,'
        '"metadata":{"delta.identity.highWaterMark":9}},{"name":"x","type":"long","nullable":true,"metadata":{}}]}'
    )
    for nothing in (None, added[:0], added[2:]):
        assert identity_metadata(before, target, nothing) is None


def test_texts_with_a_count_of_rows() -> None:
    texts = ['{"numRecords": 0}', f'{{"numRecords": {2**63 - 1}}}', f'{{"numRecords": {2**63}}}', '{"numRecords": -1}']
    texts += ['{"numRecords": true}', '{"numRecords": 1.0}', "{}", "[]", "{", "[" * 100_000, "7"]
    assert [_has_count(text) for text in [*texts, None]] == [True, True, *[False] * 10]
