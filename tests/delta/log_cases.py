"""A Delta log with every action, and what is made of it when a value of an action is damaged.

``python -m tests.delta.log_cases`` writes it to ``log_outcomes.json``: read what has changed there.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tableformats as tf
from tableformats.errors import TableFormatsError
from tests.support import leaves
from tests.support.delta_log import field, vector

PINNED = Path(__file__).with_name("log_outcomes.json")
FEATURES = ["deletionVectors", "columnMapping", "domainMetadata", "appendOnly", "rowTracking", "inCommitTimestamp"]
ID, NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"
DAMAGES = {"removed", "null", "-1", "text", "+1", "2**63", "{}"}
FILTER = "(x >= 10 AND p = 1) OR (x < 26 AND p = 2)"
HIGHEST = json.dumps({"rowIdHighWaterMark": 11})
TIME = 1_700_000_000_000
SHOWN = ["history", "transactions", "domains", "tombstones"]


def column(i: int, name: str, kind: Any) -> dict[str, Any]:
    return field(name, kind, {ID: i, NAME: f"c{i}"})


def added(n: int, **more: Any) -> dict[str, Any]:
    statistics = {
        "numRecords": 4,
        "minValues": {"c1": 10 * n},
        "maxValues": {"c1": 10 * n + 5},
        "nullCount": {"c1": 0},
        "tightBounds": True,
    }
    action = {"path": f"f{n}.parquet", "partitionValues": {"c2": str(n)}, "size": 100, "modificationTime": TIME}
    lineage = {"baseRowId": 4 * n, "defaultRowCommitVersion": 1, "clusteringProvider": "liquid"}
    return {"add": {**action, "dataChange": True, "stats": statistics, "tags": {"k": "v"}, **lineage, **more}}


LOG: list[list[dict[str, Any]]] = [
    [
        {"commitInfo": {"timestamp": TIME, "inCommitTimestamp": TIME, "operation": "CREATE TABLE"}},
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": FEATURES[:2],
                "writerFeatures": FEATURES,
            }
        },
        {
            "metaData": {
                "id": "t",
                "name": "orders",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": {
                    "type": "struct",
                    "fields": [
                        column(1, "x", "long"),
                        column(2, "p", "integer"),
                        column(
                            3,
                            "s",
                            {
                                "type": "struct",
                                "fields": [
                                    column(4, "t", {"type": "array", "elementType": "date", "containsNull": True})
                                ],
                            },
                        ),
                    ],
                },
                "partitionColumns": ["p"],
                "configuration": {
                    "delta.columnMapping.mode": "name",
                    "delta.columnMapping.maxColumnId": "4",
                    "delta.enableDeletionVectors": "true",
                    "delta.enableInCommitTimestamps": "true",
                },
                "createdTime": TIME,
            }
        },
    ],
    [
        {
            "commitInfo": {
                "timestamp": TIME + 1,
                "inCommitTimestamp": TIME + 1,
                "operation": "WRITE",
                "isBlindAppend": True,
                "userId": "7",
                "userName": "me",
                "operationParameters": {"mode": "Append", "partitionBy": "[]"},
                "job": {"jobId": "1"},
                "notebook": {"notebookId": "2"},
                "clusterId": "c",
                "readVersion": 0,
                "isolationLevel": "Serializable",
                "operationMetrics": {"numOutputRows": "8", "numFiles": 2},
                "userMetadata": "note",
                "engineInfo": "engine",
                "txnId": "t1",
            }
        },
        {"txn": {"appId": "app", "version": 3, "lastUpdated": TIME}},
        {"domainMetadata": {"domain": "delta.rowTracking", "configuration": HIGHEST, "removed": False}},
        added(1, deletionVector={**vector(0), "maxRowIndex": 3}),
        {"add": {**added(2)["add"], "tags": None, "baseRowId": 8}},
    ],
    [
        {
            "commitInfo": {
                "timestamp": TIME + 2,
                "inCommitTimestamp": TIME + 2,
                "operation": "DELETE",
                "operationMetrics": {"numDeletedRows": "1", "numOutputRows": "3"},
            }
        },
        {
            "remove": {
                "path": "f1.parquet",
                "deletionTimestamp": TIME,
                "dataChange": True,
                "extendedFileMetadata": True,
                "partitionValues": {"c2": "1"},
                "size": 100,
                "deletionVector": {**vector(0), "maxRowIndex": 3},
            }
        },
        {"cdc": {"path": "_change_data/c.parquet", "partitionValues": {"c2": "1"}, "size": 50, "dataChange": False}},
    ],
]


def text_of(commit: list[dict[str, Any]]) -> str:
    """The lines of a commit; the schema and statistics are texts there."""
    lines = []
    for action in commit:
        if isinstance(action, dict):
            for name, inner in (("metaData", "schemaString"), ("add", "stats")):
                given = action.get(name)
                if isinstance(given, dict) and isinstance(given.get(inner), dict):
                    action = {name: {**given, inner: json.dumps(given[inner])}}
        lines.append(json.dumps(action))
    return "".join(line + "\n" for line in lines)


class Log:
    """The log in a folder."""

    def __init__(self, root: Path) -> None:
        self.root, self._folder = root, root / "_delta_log"
        self._folder.mkdir()
        for version, commit in enumerate(LOG):
            self._write(version, commit)

    def _write(self, version: int, commit: list[dict[str, Any]]) -> None:
        (self._folder / f"{version:020}.json").write_text(text_of(commit))

    def outcomes(self, version: int, share: leaves.Share = (0, 1)) -> dict[str, dict[str, str]]:
        """What is made of the log for every damage of a commit, or of a share of its values."""

        def outcome_of(commit: list[dict[str, Any]]) -> str:
            self._write(version, commit)
            return self.outcome(version)

        try:
            return leaves.outcomes(LOG[version], outcome_of, DAMAGES, share)
        finally:
            self._write(version, LOG[version])

    def outcome(self, version: int = 1) -> str:
        """What a plan holds, or its error; and what the verifier says. The plan is of ``version``; 0 has none."""
        try:
            table = tf.open_table(self.root, format="delta", cache=False)
            snapshot = table.snapshot()
            about: list[Any] = [snapshot.schema, snapshot.properties, snapshot.partition_fields]
            plan = table.scan(FILTER, version=version).plan().files.to_pylist() if version else []
            names = [Path(file.pop("path")).name for file in plan]
            found = f"{names} {leaves.digest(repr([about, plan]).replace(str(self.root), 'ROOT'))}"
        except TableFormatsError as error:
            found = f"{type(error).__name__}: {str(error).partition('). ')[0]})"
        else:
            found += "".join(f" {self._shown(table, name)}" for name in SHOWN)
        violations = "; ".join(self._violations()) or "sound"
        return f"{found} {violations}".replace(str(self.root), "ROOT")

    def _shown(self, table: tf.Table, name: str) -> str:
        """A digest of a metadata table; of the history without its times: those of files are not ours."""
        try:
            rows = getattr(table.inspect, name)().to_pylist()
            rows = [{key: value for key, value in row.items() if key != "timestamp"} for row in rows]
        except TableFormatsError as error:
            return f"{type(error).__name__}: {str(error).partition('). ')[0]})"
        return leaves.digest(rows)

    def _violations(self) -> Iterator[str]:
        try:
            for one in tf.open_table(self.root, format="delta", cache=False)._opened.verify():
                if one.rule != "file-missing":
                    yield f"{one.rule} at {one.version} {Path(one.path or '').name[-8:]}: {one.what}"
        except TableFormatsError as error:
            yield f"{type(error).__name__}"


@contextmanager
def a_log() -> Iterator[Log]:
    with tempfile.TemporaryDirectory() as folder:
        yield Log(Path(folder))


def main() -> None:
    with a_log() as log:
        leaves.write(PINNED, {f"version {version}": log.outcomes(version) for version in range(len(LOG))})


if __name__ == "__main__":
    main()
