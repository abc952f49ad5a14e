"""A sound Delta table, and the faults that are planted in it; ``python -m tests.delta.planted`` pins the words."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import tableformats as tf

from ..support.delta_log import PROTOCOL, DeltaLog, metadata, remove, schema_string, vector
from ..support.verified import told

PINNED = Path(__file__).with_name("planted_outcomes.json")
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

    def told(self) -> list[str]:
        """What is wrong, in words."""
        return told(tf.open_table(self.root, format="delta")._opened.verify(), self.root)

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


def alone(plant: Callable[[Planted], None]) -> Callable[[Planted], None]:
    """A checkpoint without the commits before it."""

    def planting(planted: Planted) -> None:
        plant(planted)
        for path in planted.log.directory.glob("*[0-9].json"):
            path.unlink()

    return planting


def truncate(planted: Planted) -> None:
    path = planted.log.directory / f"{3:020d}.json"
    path.write_bytes(path.read_bytes()[:-20])


def duplicate(name: str, **more: Any) -> Callable[[Planted], None]:
    return lambda planted: planted.commit(planted.file(name, [1]), planted.file(name, [1], **more))


def compacted(planted: Planted) -> None:
    lines = [planted.file("f1", [1, 11]), planted.file("other", [1])]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    planted.log.write(f"{1:020d}.{2:020d}.compacted.json", text.encode())


def compacted_with(planted: Planted, *more: dict[str, Any]) -> None:
    """A compaction of versions 3 and 4, of which the last removes what the one before adds, and f0."""
    planted.commit(remove("f2"), remove("f0"))
    text = "".join(json.dumps(line) + "\n" for line in (remove("f2"), *more))
    planted.log.write(f"{3:020d}.{4:020d}.compacted.json", text.encode())


def with_add(rows: list[dict[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    """Rows of a checkpoint with other members of the action that adds f1."""
    for row in rows:
        if row["add"] and row["add"]["path"] == "f1":
            row["add"].update(fields)
    return rows


def with_vector_in(rows: list[dict[str, Any]], **members: Any) -> list[dict[str, Any]]:
    return with_add(rows, deletionVector={**vector(cardinality=1), **members})


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
    "a compaction of other removes": ("compaction-state", lambda p: compacted_with(p, remove("f1"))),
    "a compaction without a remove": ("compaction-state", compacted_with),
    "a vector without a size in a checkpoint": (
        "missing-field",
        checkpointed(lambda rows: with_vector_in(rows, sizeInBytes=None)),
    ),
    "a vector of more than the rows in a checkpoint": (
        "deletion-vector",
        alone(checkpointed(lambda rows: with_vector_in(rows, cardinality=3))),
    ),
    "an empty path in a checkpoint": ("path", checkpointed(lambda rows: with_add(rows, path=""))),
    "no size in a checkpoint": ("missing-field", checkpointed(lambda rows: with_add(rows, size=None))),
    "statistics that are no JSON in a checkpoint": (
        "statistics",
        alone(checkpointed(lambda rows: with_add(rows, stats="{"))),
    ),
    "another partition value in a checkpoint": (
        "partition-value",
        alone(checkpointed(lambda rows: with_add(rows, partitionValues=[("p", "one")]))),
    ),
    "a checkpoint that removes what it adds": (
        "add-and-remove",
        checkpointed(lambda rows: [*rows, {"remove": {"path": "f1", "dataChange": False}}]),
    ),
    "a checkpoint with two protocols": (
        "checkpoint-contents",
        checkpointed(lambda rows: [*rows, *(row for row in rows if row["protocol"])]),
    ),
    "a line that is no object": ("one-action-a-line", lambda p: p.log.write(f"{p.next:020d}.json", b"[1]\n{}\n")),
    "an action that is no object": ("one-action-a-line", lambda p: p.commit({"txn": 7})),  # type: ignore[dict-item]
    "a file that comes back with a vector": (
        "duplicate-action",
        lambda p: p.commit(p.file("f1", [1, 11], deletionVector=vector(cardinality=1))),
    ),
    "a commit that is cleaned away": ("version-gap", lambda p: (p.log.directory / f"{1:020d}.json").unlink()),
    "two rows of a vector are one too many": (
        "deletion-vector",
        lambda p: p.commit(remove("f1"), p.file("f1", [1, 11], deletionVector=vector(cardinality=3))),
    ),
}


TIMED = {"delta.enableInCommitTimestamps": "true", "delta.appendOnly": "true"}


def domain_of(text: str) -> dict[str, Any]:
    return {"domain": "delta.rowTracking", "configuration": text, "removed": False}


def tracked(planted: Planted, name: str, base: int, rows: int, mark: int, **more: Any) -> None:
    domain = domain_of(json.dumps({"rowIdHighWaterMark": mark}))
    add = planted.file(name, [1] * rows, baseRowId=base, defaultRowCommitVersion=planted.next, **more)
    planted.commit(add, {"domainMetadata": domain})


def feature_table(root: Path) -> Planted:
    planted = Planted(root, {**PROTOCOL, "minReaderVersion": 1}, **{})
    planted.commit({"protocol": WITH_FEATURES})
    planted.is_timed = True
    planted.commit({"metaData": metadata(FIELD, PART, partition=("p",), configuration=TIMED)})
    tracked(planted, "g0", 0, 2, 1)
    tracked(planted, "g1", 2, 2, 3)
    return planted


FEATURE_FAULTS: dict[str, tuple[str, Callable[[Planted], Any]]] = {
    "a remove of what stays": ("append-only", lambda p: p.commit(remove("f0"))),
    "a time that does not grow": ("in-commit-timestamp", lambda p: p.commit(time=p.time)),
    "no time": ("in-commit-timestamp", lambda p: p.log.commit(p.next, {"commitInfo": {"timestamp": 1}})),
    "a time that is none": (
        "in-commit-timestamp",
        lambda p: p.log.commit(p.next, {"commitInfo": {"inCommitTimestamp": True}}),
    ),
    "a time behind other actions": (
        "in-commit-timestamp",
        lambda p: p.log.commit(
            p.next, {"txn": {"appId": "x", "version": 1}}, {"commitInfo": {"inCommitTimestamp": p.time + 1}}
        ),
    ),
    "a version of row ids is missing": (
        "row-ids",
        lambda p: p.commit(p.file("h", [1], baseRowId=4)),
    ),
    "no mark of row ids": (
        "row-ids",
        lambda p: p.commit(
            {"domainMetadata": domain_of("{")}, p.file("h", [1], baseRowId=4, defaultRowCommitVersion=8)
        ),
    ),
    "row ids within those of another file": ("row-ids", lambda p: tracked(p, "h", 1, 1, 4)),
    "no row ids": ("row-ids", lambda p: p.commit(p.file("h", [1]))),
    "row ids that are taken": ("row-ids", lambda p: tracked(p, "h", 3, 2, 4)),
    "row ids above the mark": ("row-ids", lambda p: tracked(p, "h", 4, 2, 4)),
    "a vector without a count of rows": (
        "statistics",
        lambda p: tracked(p, "h", 4, 1, 4, deletionVector=vector(), stats="{}"),
    ),
    "a vector of more than the rows": (
        "deletion-vector",
        lambda p: tracked(p, "h", 4, 1, 4, deletionVector=vector(cardinality=2)),
    ),
}


def main() -> None:
    found: dict[str, list[str]] = {}
    for made, faults in ((Planted, FAULTS), (feature_table, FEATURE_FAULTS)):
        for name, (_, plant) in faults.items():
            with tempfile.TemporaryDirectory() as folder:
                planted = made(Path(folder) / "t")
                plant(planted)
                found[name] = planted.told()
    PINNED.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
