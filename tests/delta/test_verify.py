"""The verifier finds each planted fault, and nothing in the tables that others and we have written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.verification.rules import RULES

import tableformats as tf
from tableformats.cli import main

from ..support.conformance import DeltaCase, delta_cases, needs_tables
from ..support.delta_log import PROTOCOL, DeltaLog, metadata, remove, schema_string, vector
from ..support.golden import GOLDEN
from ..support.verified import assert_clean

FIELD = {"name": "x", "type": "long", "nullable": True, "metadata": {}}
PART = {"name": "p", "type": "integer", "nullable": True, "metadata": {}}
FEATURES = ["appendOnly", "rowTracking", "inCommitTimestamp", "domainMetadata", "deletionVectors"]
WITH_FEATURES = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": FEATURES,
}
LOG = "_delta_log"


class Planted:
    """A sound table of some versions, and ways to damage it."""

    def __init__(self, root: Path, protocol: dict[str, Any] = PROTOCOL, **configuration: str) -> None:
        self.root = root
        self.log = DeltaLog(root)
        self.time = 1_700_000_000_000
        self.next = 0
        self.is_timed = "inCommitTimestamp" in (protocol.get("writerFeatures") or ())
        described = metadata(FIELD, PART, partition=("p",), configuration=configuration)
        self.commit({"protocol": protocol}, {"metaData": described})
        for n in range(3):
            self.commit(self.file(f"f{n}", [n, n + 10]))

    def file(self, name: str, values: list[int | None], **more: Any) -> dict[str, Any]:
        """The add action of a new data file."""
        path = self.root / name
        pq.write_table(pa.table({"x": pa.array(values, pa.int64())}), path)
        known = [value for value in values if value is not None]
        stats = {
            "numRecords": len(values),
            "minValues": {"x": min(known)},
            "maxValues": {"x": max(known)},
            "nullCount": {"x": len(values) - len(known)},
        }
        action = {"path": name, "partitionValues": {"p": "1"}, "size": path.stat().st_size, "modificationTime": 1}
        return {"add": {**action, "dataChange": True, "stats": json.dumps(stats), **more}}

    def commit(self, *actions: dict[str, Any], time: int | None = None) -> None:
        self.time += 1
        info = {"timestamp": 1, **({"inCommitTimestamp": time or self.time} if self.is_timed else {})}
        self.log.commit(self.next, {"commitInfo": info}, *actions)
        self.next += 1

    def edit(self, version: int, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
        path = self.log.directory / f"{version:020d}.json"
        actions = change([json.loads(line) for line in path.read_text().splitlines()])
        path.write_text("".join(json.dumps(action) + "\n" for action in actions))

    def of_add(self, version: int, **changes: Any) -> None:
        """Change fields of the add of a version; None removes one."""

        def change(actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
            for action in actions:
                if "add" in action:
                    action["add"] = {k: v for k, v in {**action["add"], **changes}.items() if v is not None}
            return actions

        self.edit(version, change)

    def stats(self, version: int, **changes: Any) -> None:
        path = self.log.directory / f"{version:020d}.json"
        (add,) = [a["add"] for line in path.read_text().splitlines() if "add" in (a := json.loads(line))]
        self.of_add(version, stats=json.dumps({**json.loads(add["stats"]), **changes}))

    def rules(self, version: int | None = None, deep: bool = False) -> set[str]:
        return set(tf.open_table(self.root, format="delta").verify(version, deep).rules)


def write_crc(planted: Planted, **changes: Any) -> None:
    sizes = [path.stat().st_size for path in planted.root.glob("f*")]
    described = metadata(FIELD, PART, partition=("p",))
    content = {
        "tableSizeBytes": sum(sizes),
        "numFiles": len(sizes),
        "numMetadata": 1,
        "numProtocol": 1,
        "protocol": PROTOCOL,
        "metadata": described,
        **changes,
    }
    planted.log.write(f"{3:020d}.crc", json.dumps(content).encode())


def copy_of(name: str, at: str) -> Callable[[Planted], None]:
    return lambda planted: planted.commit(planted.file(at, [1]), json.loads(json.dumps(planted.file(name, [1]))))


def with_protocol(**changes: Any) -> Callable[[Planted], None]:
    return lambda planted: planted.commit({"protocol": {**PROTOCOL, **changes}})


def checkpointed(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Callable[[Planted], None]:
    """A checkpoint of the last version, with other rows."""

    def plant(planted: Planted) -> None:
        tf.open_table(planted.root, format="delta").checkpoint()
        (path,) = planted.log.directory.glob("*.checkpoint.parquet")
        table = pq.read_table(path)
        pq.write_table(pa.Table.from_pylist(change(table.to_pylist()), table.schema), path)

    return plant


def truncate(planted: Planted) -> None:
    path = planted.log.directory / f"{3:020d}.json"
    path.write_bytes(path.read_bytes()[:-20])


def duplicate(name: str, **more: Any) -> Callable[[Planted], None]:
    return lambda planted: planted.commit(planted.file(name, [1]), planted.file(name, [1], **more))


def compacted(planted: Planted) -> None:
    lines = [planted.file("f1", [1, 11]), planted.file("other", [1])]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    planted.log.write(f"{1:020d}.{2:020d}.compacted.json", text.encode())


FAULTS: dict[str, tuple[str, Callable[[Planted], Any]]] = {
    # of those that the research planted
    "version gap": ("version-gap", lambda p: (p.log.directory / f"{2:020d}.json").unlink()),
    "feature lists without 3/7": ("feature-lists", with_protocol(readerFeatures=[], writerFeatures=["appendOnly"])),
    "3/7 without lists": ("feature-lists", with_protocol(minReaderVersion=3, minWriterVersion=7)),
    "reader feature missing in writerFeatures": (
        "reader-feature-for-writers",
        with_protocol(minReaderVersion=3, minWriterVersion=7, readerFeatures=["deletionVectors"], writerFeatures=[]),
    ),
    "reader feature in writerFeatures alone": (
        "reader-feature-for-writers",
        with_protocol(minReaderVersion=3, minWriterVersion=7, readerFeatures=[], writerFeatures=["deletionVectors"]),
    ),
    "add without dataChange": ("missing-data-change", lambda p: p.of_add(2, dataChange=None)),
    "torn last line": ("damaged-file", truncate),
    "dangling hint": ("dangling-hint", lambda p: p.log.write("_last_checkpoint", b'{"version": 2, "size": 1}')),
    "wrong checksum of the hint": (
        "hint-checksum",
        lambda p: p.log.write("_last_checkpoint", b'{"version": 2, "size": 1, "checksum": "0"}'),
    ),
    "wrong size": ("file-size", lambda p: p.of_add(2, size=1)),
    "extra partition key": ("partition-keys", lambda p: p.of_add(2, partitionValues={"p": "1", "q": "2"})),
    "missing partition value": ("partition-keys", lambda p: p.of_add(2, partitionValues={})),
    "partition value of another type": ("partition-value", lambda p: p.of_add(2, partitionValues={"p": "one"})),
    "duplicate add in one commit": ("duplicate-action", duplicate("g")),
    "duplicate add with another vector": ("duplicate-action", duplicate("g", deletionVector=vector())),
    "add and remove of one path": ("add-and-remove", lambda p: p.commit(p.file("g", [1]), remove("g"))),
    "remove of an unknown file": ("remove-of-unknown-file", lambda p: p.commit(remove("nowhere"))),
    "two metaData in one commit": (
        "two-metadata",
        lambda p: p.edit(0, lambda actions: [*actions, actions[-1]]),
    ),
    "two protocols in one commit": ("two-protocols", lambda p: p.edit(0, lambda actions: [*actions, actions[1]])),
    "wrong crc": ("checksum-file", lambda p: write_crc(p, numFiles=9)),
    "wrong crc of bytes": ("checksum-file", lambda p: write_crc(p, tableSizeBytes=9)),
    "crc with a transaction of nobody": (
        "checksum-file",
        lambda p: write_crc(p, setTransactions=[{"appId": "x", "version": 1}]),
    ),
    "empty commit": ("empty-commit", lambda p: p.log.write(f"{p.next:020d}.json", b"")),
    # others
    "a data file is gone": ("file-missing", lambda p: (p.root / "f1").unlink()),
    "no size": ("missing-field", lambda p: p.of_add(2, size=None)),
    "a size that is text": ("missing-field", lambda p: p.of_add(2, size="10")),
    "statistics that are no JSON": ("statistics", lambda p: p.of_add(2, stats="{")),
    "more NULLs than rows": ("statistics", lambda p: p.stats(2, nullCount={"x": 3})),
    "bounds in the wrong order": ("statistics", lambda p: p.stats(2, minValues={"x": 12})),
    "a space in a path": ("path", lambda p: p.of_add(2, path="f 1")),
    "half an escape in a path": ("path", lambda p: p.of_add(2, path="f%1")),
    "a path in another store": ("path", lambda p: p.of_add(2, path="s3://bucket/f1")),
    "two actions in a line": (
        "one-action-a-line",
        lambda p: p.commit({**p.file("g", [1]), "txn": {"appId": "x", "version": 1}}),
    ),
    "a sidecar in a commit": ("known-place", lambda p: p.commit({"sidecar": {"path": "x"}})),
    "a transaction twice": (
        "two-transactions",
        lambda p: p.commit(*[{"txn": {"appId": "x", "version": n}} for n in (1, 2)]),
    ),
    "a domain twice": (
        "two-domains",
        lambda p: p.commit(*[{"domainMetadata": {"domain": "d", "configuration": c, "removed": False}} for c in "ab"]),
    ),
    "a domain without a flag": (
        "missing-field",
        lambda p: p.commit({"domainMetadata": {"domain": "d", "configuration": ""}}),
    ),
    "change data with the flag": (
        "change-data-flag",
        lambda p: p.commit({"cdc": {"path": "c", "partitionValues": {}, "size": 1, "dataChange": True}}),
    ),
    "no metadata": ("no-metadata", lambda p: p.edit(0, lambda actions: actions[:-1])),
    "no protocol": ("no-protocol", lambda p: p.edit(0, lambda actions: [actions[0], actions[2]])),
    "a schema that is none": (
        "schema",
        lambda p: p.commit({"metaData": {**metadata(FIELD), "schemaString": schema_string(FIELD) + "{"}}),
    ),
    "a checkpoint without a file": (
        "checkpoint-state",
        checkpointed(lambda rows: [row for row in rows if not row["add"] or row["add"]["path"] != "f1"]),
    ),
    "a checkpoint without a protocol": (
        "checkpoint-contents",
        checkpointed(lambda rows: [row for row in rows if not row["protocol"]]),
    ),
    "a checkpoint with a file twice": (
        "duplicate-action",
        checkpointed(lambda rows: [*rows, *(row for row in rows if row["add"] and row["add"]["path"] == "f1")]),
    ),
    "a compaction of other commits": ("compaction-state", compacted),
}


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
    assert rule in {one.rule for one in found}, [(one.rule, one.what) for one in found]
    assert all(one.source and one.what for one in found)


TIMED = {"delta.enableInCommitTimestamps": "true", "delta.appendOnly": "true"}


def tracked(planted: Planted, name: str, base: int, rows: int, mark: int, **more: Any) -> None:
    domain = {"domain": "delta.rowTracking", "configuration": json.dumps({"rowIdHighWaterMark": mark})}
    add = planted.file(name, [1] * rows, baseRowId=base, defaultRowCommitVersion=planted.next, **more)
    planted.commit(add, {"domainMetadata": {**domain, "removed": False}})


def feature_table(root: Path) -> Planted:
    planted = Planted(root, {**PROTOCOL, "minReaderVersion": 1}, **{})
    planted.commit({"protocol": WITH_FEATURES})
    planted.is_timed = True
    planted.commit({"metaData": metadata(FIELD, PART, partition=("p",), configuration=TIMED)})
    tracked(planted, "g0", 0, 2, 1)
    tracked(planted, "g1", 2, 2, 3)
    return planted


@pytest.mark.parametrize(
    ("rule", "plant"),
    [
        ("append-only", lambda p: p.commit(remove("f0"))),
        ("in-commit-timestamp", lambda p: p.commit(time=p.time)),
        ("row-ids", lambda p: p.commit(p.file("h", [1]))),
        ("row-ids", lambda p: tracked(p, "h", 3, 2, 4)),
        ("row-ids", lambda p: tracked(p, "h", 4, 2, 4)),
        (
            "statistics",
            lambda p: tracked(p, "h", 4, 1, 4, deletionVector=vector(), stats="{}"),
        ),
        ("deletion-vector", lambda p: tracked(p, "h", 4, 1, 4, deletionVector=vector(cardinality=2))),
    ],
)
def test_features(rule: str, plant: Callable[[Planted], Any], tmp_path: Path) -> None:
    planted = feature_table(tmp_path / "t")
    assert planted.rules() == set()
    plant(planted)
    assert rule in planted.rules()


def test_the_time_of_a_checksum_file(tmp_path: Path) -> None:
    planted = feature_table(tmp_path / "t")
    sizes = [path.stat().st_size for path in planted.root.glob("[fg]*")]
    described = metadata(FIELD, PART, partition=("p",), configuration=TIMED)
    content = {"tableSizeBytes": sum(sizes), "numFiles": len(sizes), "protocol": WITH_FEATURES, "metadata": described}
    last = planted.next - 1
    [time] = [a["commitInfo"]["inCommitTimestamp"] for a in planted.log.actions(last) if "commitInfo" in a]
    for told, rules in ((time, set()), (time + 1, {"checksum-file"}), (None, set())):
        whole = {**content, "numMetadata": 1, "numProtocol": 1, "inCommitTimestampOpt": told}
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
