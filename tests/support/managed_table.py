"""A Delta table whose commits a catalog decides (``catalogManaged``), on the disk and in a stub of Unity Catalog."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import tableformats as tf
from tests.support.delta_log import DeltaLog, add, stats
from tests.support.unity_stub import UnityStub

__all__ = ["NAME", "OTHER_UUID", "PROTOCOL", "UUID", "Managed"]

NAME = "main.sales.managed"
PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["catalogManaged", "vacuumProtocolCheck"],
    "writerFeatures": ["catalogManaged", "vacuumProtocolCheck", "inCommitTimestamp"],
}
UUID = "7d17ac10-5cc3-401b-bd1a-9c82dd2ea032"
OTHER_UUID = "b91807ba-fe18-488c-a15e-c4807dbd2174"


class Managed:
    """A table with the commits 0 and 1 published, and what the catalog knows of it. Version v adds one row, v."""

    def __init__(self, unity: UnityStub, root: Path, name: str = NAME) -> None:
        self.unity, self.log = unity, DeltaLog(root)
        self.id = unity.manage(name, root.as_uri())
        first = {"commitInfo": {"inCommitTimestamp": 1_700_000_000_000, "txnId": "0"}}
        self.log.commit(0, first)
        configuration = {"delta.enableInCommitTimestamps": "true"}
        self.log.start(protocol=PROTOCOL, configuration=configuration)
        self.log.commit(0, first, *self.log.actions(0))
        self.publish(1)
        self.accept(1)

    def actions(self, version: int, file: str = "") -> list[dict[str, Any]]:
        name = file or f"{version}.parquet"
        path = self.log.root / name
        pq.write_table(pa.table({"id": pa.array([version], pa.int64())}), path)
        info = {"commitInfo": {"inCommitTimestamp": 1_700_000_000_000 + version, "txnId": str(version)}}
        return [info, add(name, size=path.stat().st_size, stats=stats(1))]

    def publish(self, version: int, file: str = "") -> None:
        self.log.commit(version, *self.actions(version, file))

    def stage(self, version: int, uuid: str = UUID, file: str = "") -> str:
        """A staged commit that nobody has accepted; its file's name."""
        name = f"{version:020d}.{uuid}.json"
        published = self.log.directory / f"{version:020d}.json"
        before = published.read_bytes() if published.exists() else None
        self.log.commit(version, *self.actions(version, file))
        target = self.log.directory / "_staged_commits" / name
        target.parent.mkdir(exist_ok=True)
        published.rename(target)
        if before is not None:
            published.write_bytes(before)
        return name

    def accept(self, version: int, name: str | None = None) -> None:
        """The catalog accepts a version, and holds the staged commit ``name``."""
        self.unity.latest[self.id] = version
        if name is not None:
            path = self.log.directory / "_staged_commits" / name
            self.unity.commits[self.id][version] = {
                "version": version,
                "timestamp": 1_700_000_000_000 + version,
                "file_name": name,
                "file_size": path.stat().st_size if path.exists() else 10,
                "file_modification_timestamp": 1_700_000_000_000,
            }

    def open(self, **options: Any) -> tf.Table:
        return tf.open_table(NAME, catalog=self.unity.properties(), **options)

    def ids(self) -> list[int]:
        return sorted(self.open().scan().to_arrow()["id"].to_pylist())
