"""The verifier finds each planted fault, and nothing in the tables that others and we have written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.verification.rules import RULES

import tableformats as tf
from tableformats.cli import main

from ..support.conformance import DeltaCase, delta_cases, needs_tables
from ..support.delta_log import PROTOCOL, metadata, remove
from ..support.golden import GOLDEN
from ..support.verified import assert_clean, told
from .planted import (
    FAULTS,
    FEATURE_FAULTS,
    FIELD,
    LOG,
    PART,
    PINNED,
    TIMED,
    WITH_FEATURES,
    Planted,
    feature_table,
)

PINNED_WORDS = json.loads(PINNED.read_text("utf-8"))


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults(name: str, tmp_path: Path) -> None:
    rule, plant = FAULTS[name]
    planted = Planted(tmp_path / "t")
    assert planted.rules() == set()
    plant(planted)
    try:
        table = tf.open_table(planted.root, format="delta")
        found = list(table._opened.verify())
    except tf.TableFormatsError as error:
        pytest.fail(f"the verifier gave up: {error}")
    assert rule in {one.rule for one in found} and told(found, planted.root) == PINNED_WORDS[name]
    assert all(one.source and one.what for one in found)


@pytest.mark.parametrize("name", FEATURE_FAULTS)
def test_features(name: str, tmp_path: Path) -> None:
    rule, plant = FEATURE_FAULTS[name]
    planted = feature_table(tmp_path / "t")
    assert planted.rules() == set()
    plant(planted)
    assert rule in planted.rules() and planted.told() == PINNED_WORDS[name]


def test_the_time_of_a_checksum_file(tmp_path: Path) -> None:
    planted = feature_table(tmp_path / "t")
    sizes = [path.stat().st_size for path in planted.root.glob("[fg]*")]
    described = metadata(FIELD, PART, partition=("p",), configuration=TIMED)
    content = {"tableSizeBytes": sum(sizes), "numFiles": len(sizes), "protocol": WITH_FEATURES, "metadata": described}
    last = planted.next - 1
    [time] = [a["commitInfo"]["inCommitTimestamp"] for a in planted.log.actions(last) if "commitInfo" in a]
    for said, rules in ((time, set()), (time + 1, {"checksum-file"}), (None, set())):
        whole = {**content, "numMetadata": 1, "numProtocol": 1, "inCommitTimestampOpt": said}
        planted.log.write(f"{last:020d}.crc", json.dumps(whole).encode())
        assert planted.rules() == rules


def test_the_first_row_id_needs_a_high_water_mark(tmp_path: Path) -> None:
    planted = Planted(tmp_path / "t", {**PROTOCOL, "minReaderVersion": 1})
    planted.commit({"protocol": WITH_FEATURES})
    planted.commit(planted.file("h", [1], baseRowId=0, defaultRowCommitVersion=planted.next))
    assert planted.rules() == {"row-ids"}


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("record-count", {"numRecords": 3}),
        ("bounds", {"maxValues": {"x": 10}}),
        ("bounds", {"minValues": {"x": 2}}),
        ("null-count", {"nullCount": {"x": 2}}),
    ],
)
def test_statistics_against_rows(rule: str, change: dict[str, Any], tmp_path: Path) -> None:
    planted = Planted(tmp_path / "t")
    assert planted.rules(deep=True) == set()
    planted.stats(2, **change)
    assert rule not in planted.rules()
    assert rule in planted.rules(deep=True)


def test_nulls_against_rows(tmp_path: Path) -> None:
    planted = Planted(tmp_path / "t")
    planted.commit(planted.file("g", [None, 1]))
    assert planted.rules(deep=True) == set()
    planted.stats(4, nullCount={"x": 0})
    assert planted.rules(deep=True) == {"null-count"}


def test_a_damaged_data_file(tmp_path: Path) -> None:
    planted = Planted(tmp_path / "t")
    path = planted.root / "f1"
    path.write_bytes(bytes(path.stat().st_size))
    assert planted.rules() == set() and planted.rules(deep=True) == {"unreadable-file"}


def test_one_version(tmp_path: Path) -> None:
    planted = Planted(tmp_path / "t")
    planted.of_add(2, dataChange=None)
    assert planted.rules(2) == {"missing-data-change"} and planted.rules(3) == planted.rules(1) == set()
    with pytest.raises(tf.SnapshotNotFoundError):
        planted.rules(9)


def test_one_version_is_judged_by_what_was_before(tmp_path: Path) -> None:
    unknown = {"remove-of-unknown-file"}
    planted = Planted(tmp_path / "t")
    planted.commit(remove("nowhere"))
    assert planted.rules(4) == unknown
    table = tf.open_table(planted.root, format="delta")
    table.checkpoint(3)
    planted.commit(remove("f0"), planted.file("g", [1]))
    planted.commit(remove("f0"))
    table.checkpoint(6)
    assert [planted.rules(version) for version in (3, 4, 5, 6)] == [set(), unknown, set(), unknown]
    planted.of_add(1, dataChange=None)
    assert planted.rules() == {*unknown, "missing-data-change"}
    for version in (0, 3):
        (planted.log.directory / f"{version:020d}.json").unlink()
    assert [planted.rules(version) for version in (3, 4, 5, 6)] == [set(), unknown, set(), unknown]
    assert planted.rules() == {*unknown, "version-gap"}, "version 1 cannot be read any more"


def test_from_a_checkpoint(tmp_path: Path) -> None:
    """Of a table whose first commits are gone, the checkpoint says what was there."""
    planted = Planted(tmp_path / "t")
    tf.open_table(planted.root, format="delta").checkpoint()
    for version in range(3):
        (planted.log.directory / f"{version:020d}.json").unlink()
    planted.commit(remove("f0"), planted.file("g", [1]))
    assert_clean(planted.root, format="delta")
    planted.commit(remove("f0"))
    assert planted.rules() == {"remove-of-unknown-file"}


def test_as_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    planted = Planted(tmp_path / "t")
    assert main(["verify", str(planted.root), "--deep"]) == 0
    assert "No rule is broken" in capsys.readouterr().out
    planted.of_add(2, dataChange=None)
    found = tf.open_table(planted.root, format="delta").verify()
    table = found.to_arrow()
    assert table.column_names == ["rule", "path", "version", "what", "source"] and table.num_rows == 1
    assert "missing-data-change" in repr(found) and "missing-data-change" in found._repr_html_()
    with pytest.raises(AssertionError, match="missing-data-change"):
        assert_clean(planted.root, format="delta")
    assert main(["verify", str(planted.root)]) == 3
    assert "missing-data-change" in capsys.readouterr().out
    assert main(["verify", str(planted.root), "--json"]) == 3
    (row,) = json.loads(capsys.readouterr().out)["violations"]
    assert row["version"] == 2 and row["source"] == 'Delta PROTOCOL.md, "Add File and Remove File"'


def test_a_log_may_claim_any_version(tmp_path: Path) -> None:
    """Only versions that have a file are looked at."""
    planted = Planted(tmp_path / "t")
    (planted.log.directory / f"{2:020d}.json").rename(planted.log.directory / f"{10**18:020d}.json")
    assert "version-gap" in {one.rule for one in tf.open_table(planted.root).verify()}


# ---- tables of others ----------------------------------------------------------------------------------------------

# Of conformance tables, what their writers left: damage that they are there to show, and logs made by hand.
KNOWN = {
    "delta-rs-err-logs/table_b": {"version-gap"},
    "delta-rs-err-logs/table_g": {"version-gap"},
    "duckdb-delta/null_constraints_lists/delta_lake": {"damaged-file", "no-metadata"},
    "kernel-rs-golden/corrupted-last-checkpoint-kernel/delta": {"damaged-file"},
    "kernel-rs-golden/deltalog-commit-info/delta": {"missing-field"},
    "kernel-rs-golden/update-deleted-directory/delta": {"missing-field"},
}


@needs_tables
@pytest.mark.parametrize("case", delta_cases(), ids=str)
def test_conformance_tables(case: DeltaCase) -> None:
    """Tables that the reference reads break no rule, but for what is known. Data files are not kept for all."""
    if case.must_fail or not (case.path / LOG).is_dir():
        pytest.skip("the reference refuses it, too")
    try:
        table = tf.open_table(case.path, format="delta")
        found = [one for one in table._opened.verify(deep=True) if one.rule != "file-missing"]
    except tf.TableFormatsError as error:
        pytest.skip(f"refused: {error}")
    assert {one.rule for one in found} <= KNOWN.get(case.name, set()), [(one.rule, one.what) for one in found]


@pytest.mark.parametrize("folder", sorted(path.parent for path in GOLDEN.rglob(LOG)), ids=lambda path: path.parent.name)
def test_golden_tables(folder: Path) -> None:
    """Tables of delta-spark and of delta-rs, their rows included; one has days that Python's dates do not reach."""
    assert_clean(folder, format="delta")


def test_every_rule_has_a_section() -> None:
    assert all(name == name.lower() and " " not in name and section for name, section in RULES.items())


def test_ours(tmp_path: Path) -> None:
    """A checkpoint that we write, upon a table of delta-rs."""
    deltalake = pytest.importorskip("deltalake")
    rows = pa.table({"x": [1, 2, None], "p": ["a", "b", None]})
    for _ in range(3):
        deltalake.write_deltalake(tmp_path / "t", rows, mode="append", partition_by="p")
    tf.open_table(tmp_path / "t", format="delta").checkpoint()
    assert_clean(tmp_path / "t", format="delta")
    shutil.rmtree(tmp_path / "t" / "p=a")
    assert set(tf.open_table(tmp_path / "t", format="delta").verify().rules) == {"file-missing"}
