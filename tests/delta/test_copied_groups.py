"""Checkpoints that take row groups of an older one as they are say what a checkpoint of the commits alone says."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tableformats_delta.maintenance import action_file, checkpoint_writer, replay
from tableformats_delta.maintenance.copied_groups import CopiedGroups

import tableformats as tf
from tableformats.io.parquet.groups import ParquetFooter

from ..support.delta_log import DeltaLog, add, field, metadata, remove, stats, vector
from ..support.s3_stub import S3Stub
from ..support.verified import assert_clean
from .test_checkpoint_writing import ROWS, SOON, delta_connection, only_checkpoint, rows_by_others

KEY = b"tableformats.checkpoint"
FEATURES = ["deletionVectors", "domainMetadata"]
PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": FEATURES,
}


@pytest.fixture(autouse=True)
def copied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Row groups of few actions; how many of them each checkpoint has copied."""
    monkeypatch.setattr(action_file, "ROW_GROUP_ROWS", 4)
    monkeypatch.setattr(replay, "_BATCH_ROWS", 3)
    found: list[int] = []
    wanted = checkpoint_writer.copied_groups

    def noted(*given: Any) -> CopiedGroups | None:
        groups = wanted(*given)
        found.append(len(groups.numbers) if groups else 0)
        return groups

    monkeypatch.setattr(checkpoint_writer, "copied_groups", noted)
    return found


def path_of(root: Path, version: int) -> Path:
    return root / "_delta_log" / f"{version:020d}.checkpoint.parquet"


def checkpoint(root: Path, **options: Any) -> Path:
    made = tf.open_table(root, format="delta", **options).checkpoint()
    assert made.is_new
    found = Path(made.path)
    assert made.actions == pq.read_metadata(found).num_rows and made.size_bytes == found.stat().st_size
    return found


def actions_of(path: Path) -> list[str]:
    """The actions of a checkpoint, one a row."""
    found = []
    for row in pq.ParquetFile(path).read().to_pylist():
        (action,) = [(name, value) for name, value in row.items() if value is not None]
        found.append(repr(action))
    return sorted(found)


def in_full(root: Path, scratch: Path) -> list[str]:
    """The checkpoint of the commits alone."""
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(root, scratch)
    for file in (scratch / "_delta_log").iterdir():
        if "checkpoint" in file.name or file.suffix == ".crc":
            file.unlink()
    return actions_of(checkpoint(scratch))


def files(first: int, count: int, **more: Any) -> list[dict[str, Any]]:
    return [add(f"f{n}", size=n, stats=stats(n, minValues={"id": n}), **more) for n in range(first, first + count)]


def started(root: Path, count: int = 21, **more: Any) -> DeltaLog:
    """A log with a checkpoint of version 1 in row groups of six files."""
    log = DeltaLog(root).start(field("id", "long"), protocol=PROTOCOL, **more)
    log.commit(1, *files(0, count), {"txn": {"appId": "a", "version": 1}})
    checkpoint(root)
    return log


# ---- random histories ----------------------------------------------------------------------------------------------


class History:
    """A log whose files come, go, come back, and get deletion vectors."""

    def __init__(self, root: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.log = DeltaLog(root).start(field("id", "long"), protocol=PROTOCOL)
        self.live: dict[str, dict[str, Any]] = {}
        self.gone: list[str] = []
        self.version = 0
        self.columns = 1
        self.known = 0

    def commit(self) -> None:
        self.version += 1
        kinds: list[Callable[[], list[dict[str, Any]]]] = [self.adds] * 6
        kinds += [self.removes, self.vectors, self.others, self.again, self.removes_of_late]
        kinds += [self.metadata] * (self.version % 7 == 0)
        self.log.commit(self.version, *(action for kind in self.random.sample(kinds, 3) for action in kind()))

    def adds(self) -> list[dict[str, Any]]:
        first, self.known = self.known, self.known + self.random.randrange(7)
        return [self.add(f"f{n}") for n in range(first, self.known)]

    def add(self, name: str, **more: Any) -> dict[str, Any]:
        n = self.random.randrange(1, 1000)
        bounds = {"minValues": {"id": n}, "maxValues": {"id": 2 * n}, "nullCount": {"id": 0}}
        action = add(name, size=n, modificationTime=self.version, stats=stats(n, **bounds), **more)
        self.live[name] = action["add"]
        return action

    def removes(self) -> list[dict[str, Any]]:
        return self.removed(list(self.live), 2)

    def removes_of_late(self) -> list[dict[str, Any]]:
        return self.removed(list(self.live)[-8:], 4)

    def removed(self, names: list[str], most: int) -> list[dict[str, Any]]:
        chosen = [name for name in self.random.sample(names, min(most, len(names))) if self.here(name)]
        self.gone += chosen
        return [self.tombstone(self.live.pop(name), self.random.choice([SOON, 1])) for name in chosen]

    def tombstone(self, action: dict[str, Any], time: int) -> dict[str, Any]:
        more = {"deletionVector": action["deletionVector"]} if "deletionVector" in action else {}
        return remove(action["path"], deletionTimestamp=time, size=action["size"], **more)

    def here(self, name: str) -> bool:
        """Whether a file is of an older version: one commit does not name it twice."""
        return self.live[name]["modificationTime"] < self.version

    def vectors(self) -> list[dict[str, Any]]:
        names = [name for name in self.live if self.here(name)]
        if not names:
            return []
        name = self.random.choice(names)
        old = self.live[name]
        number = self.random.randrange(8)
        if old.get("deletionVector") == vector(number):
            return []
        return [self.tombstone(old, SOON), self.add(name, deletionVector=vector(number))]

    def again(self) -> list[dict[str, Any]]:
        name = self.random.choice(self.gone) if self.gone else "f0"
        return [self.add(name)] if name not in self.live else []

    def others(self) -> list[dict[str, Any]]:
        text = str(self.version)
        app, domain = (self.random.choice("abc") for _ in range(2))
        return [
            {"txn": {"appId": app, "version": self.version}},
            {"domainMetadata": {"domain": domain, "configuration": text, "removed": self.random.random() < 0.3}},
        ]

    def metadata(self) -> list[dict[str, Any]]:
        self.columns += self.random.randrange(2)
        names = ["id", *(f"c{n}" for n in range(1, self.columns))]
        wanted = {"delta.checkpoint.writeStatsAsStruct": self.random.choice(["true", "false"])}
        return [{"metaData": metadata(*(field(name, "long") for name in names), configuration=wanted)}]


def test_random_histories(tmp_path: Path, copied: list[int]) -> None:
    shares = []
    for seed in range(3):
        root = tmp_path / f"t{seed}"
        history = History(root, seed)
        for _ in range(10):
            history.commit()
            del copied[:]
            path = checkpoint(root)
            shares.append(copied[0])
            wanted = in_full(root, tmp_path / "scratch")
            assert actions_of(path) == wanted, (seed, history.version)
            assert len(history.live) == sum(text.startswith("('add'") for text in wanted)
    assert sum(share > 0 for share in shares) > 10 and max(shares) > 3, shares


# ---- what is copied, and what is not -------------------------------------------------------------------------------


def test_row_groups_are_copied(tmp_path: Path, copied: list[int]) -> None:
    """Byte for byte, where no file of theirs is named by a newer commit; the others are written anew."""
    log = started(tmp_path / "t")
    log.commit(2, *files(100, 9), remove("f7", deletionTimestamp=SOON, size=7))
    log.commit(3, {"txn": {"appId": "a", "version": 2}})
    new = checkpoint(log.root)
    assert copied == [0, 2]
    old = path_of(log.root, 1)
    groups = [groups_of(path) for path in (old, new)]
    assert len(set(groups[0]) & set(groups[1])) == 2 and groups[1][:2] == [groups[0][0], groups[0][2]]
    assert actions_of(new) == in_full(log.root, tmp_path / "full")
    hint = json.loads((new.parent / "_last_checkpoint").read_text())
    assert (hint["size"], hint["numOfAddFiles"]) == (pq.read_metadata(new).num_rows, 29)
    checksum = json.loads((new.parent / f"{3:020d}.crc").read_text())
    assert checksum["numFiles"] == 29 and checksum["tableSizeBytes"] == sum(range(21)) - 7 + sum(range(100, 109))
    # And each bound of the footer is that of its row group.
    table, footer = pq.read_table(new), pq.read_metadata(new)
    start = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        rows = table.slice(start, group.num_rows)
        start += group.num_rows
        assert rows.equals(pq.ParquetFile(new).read_row_group(number))
        places = {group.column(i).path_in_schema: group.column(i) for i in range(group.num_columns)}
        sizes = [row["size"] for row in rows["add"].to_pylist() if row]
        if sizes:
            found = places["add.size"].statistics
            assert (found.min, found.max, found.null_count) == (min(sizes), max(sizes), len(rows) - len(sizes))


def groups_of(path: Path) -> list[bytes]:
    data = path.read_bytes()
    return [data[group.start : group.start + group.size] for group in ParquetFooter.of_file(data).groups]


def test_row_groups_stay_large(tmp_path: Path) -> None:
    """After many small commits each row group but the last one still has as many actions as were wanted."""
    log = started(tmp_path / "t", 30)
    for version in range(2, 14):
        log.commit(version, *files(100 * version, 2), remove(f"f{2 * version}", deletionTimestamp=SOON))
        path = checkpoint(log.root)
    footer = pq.read_metadata(path)
    assert (
        footer.num_row_groups > 8 and min(footer.row_group(i).num_rows for i in range(footer.num_row_groups - 1)) >= 4
    )


def test_tombstones_expire(tmp_path: Path, copied: list[int]) -> None:
    log = started(tmp_path / "t")
    log.commit(2, *(remove(f"gone{n}", deletionTimestamp=SOON) for n in range(9)))
    checkpoint(log.root)
    change = metadata(field("id", "long"), configuration={"delta.deletedFileRetentionDuration": "interval 9000 weeks"})
    log.commit(3, {"metaData": change}, *(remove(f"more{n}", deletionTimestamp=2) for n in range(9)))
    checkpoint(log.root)
    log.commit(4, {"metaData": metadata(field("id", "long"))})
    path = checkpoint(log.root)
    assert copied == [0, 3, 3, 3]
    assert actions_of(path) == in_full(log.root, tmp_path / "full")
    assert sum(text.startswith("('remove'") for text in actions_of(path)) == 9


@pytest.mark.parametrize("configuration", [{"delta.checkpoint.writeStatsAsStruct": "true"}, {"more": "x"}])
def test_another_layout(configuration: dict[str, str], tmp_path: Path, copied: list[int]) -> None:
    log = started(tmp_path / "t")
    log.commit(2, {"metaData": metadata(field("id", "long"), configuration=configuration)})
    path = checkpoint(log.root)
    assert copied == [0, 0 if "more" not in configuration else 3]
    assert actions_of(path) == in_full(log.root, tmp_path / "full")


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_another_time_zone(zone: str, tmp_path: Path, copied: list[int]) -> None:
    """Partition values without a zone are read in that of the table's options."""
    log = DeltaLog(tmp_path / "t").start(
        field("id", "long"),
        field("t", "timestamp"),
        partition=("t",),
        configuration={"delta.checkpoint.writeStatsAsStruct": "true"},
    )
    log.commit(1, *files(0, 21, partitionValues={"t": "2024-01-01 00:00:00"}))
    checkpoint(log.root, format_options={"partition_time_zone": "Europe/Berlin"})
    log.commit(2, add("more", partitionValues={"t": "2024-01-01 00:00:00"}))
    rows = pq.read_table(checkpoint(log.root, format_options={"partition_time_zone": zone}))["add"].to_pylist()
    hours = {row["partitionValues_parsed"]["t"].hour for row in rows if row}
    assert hours == {23 if zone == "Europe/Berlin" else 5} and copied == [0, 3 if zone == "Europe/Berlin" else 0]


def test_most_row_groups_have_changed(tmp_path: Path, copied: list[int]) -> None:
    """Then the others are not looked at."""
    log = started(tmp_path / "t", 60)
    log.commit(2, *(remove(f"f{n}", deletionTimestamp=SOON) for n in range(0, 48, 3)))
    path = checkpoint(log.root)
    assert copied == [0, 0] and actions_of(path) == in_full(log.root, tmp_path / "full")


def test_a_file_of_another_writer(tmp_path: Path, copied: list[int]) -> None:
    """pyarrow keeps the note of a file that it reads and writes, which is of other bytes then."""
    log = started(tmp_path / "t")
    old = path_of(log.root, 1)
    rows = pq.read_table(old)
    assert KEY in rows.schema.metadata
    pq.write_table(rows, old, row_group_size=6)
    log.commit(2, add("more"))
    path = checkpoint(log.root)
    assert copied == [0, 0] and actions_of(path) == in_full(log.root, tmp_path / "full")


def test_damage(tmp_path: Path, copied: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """A flipped byte anywhere: what decoding all of it gives, or one typed error."""
    log = started(tmp_path / "t")
    old, chance = path_of(log.root, 1), random.Random(1)
    log.commit(2, add("more"))
    whole = old.read_bytes()
    groups, wanted = ParquetFooter.of_file(whole).groups, checkpoint_writer.copied_groups
    adds = groups[-2].start + groups[-2].size
    outcomes = {"error": 0, "copied": 0, "in full": 0}
    for place in [*chance.sample(range(4, adds), 10), *chance.sample(range(groups[-1].start, len(whole)), 50)]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        old.write_bytes(damaged)
        del copied[:]
        found = outcome(log.root)
        if place < adds:
            assert isinstance(found, tf.CorruptMetadataError) and found.path == str(old), place
        if isinstance(found, list):
            monkeypatch.setattr(checkpoint_writer, "copied_groups", lambda *_: None)
            assert outcome(log.root) == found
            monkeypatch.setattr(checkpoint_writer, "copied_groups", wanted)
        outcomes["error" if not isinstance(found, list) else "copied" if copied[-1] else "in full"] += 1
    assert min(outcomes.values()) > 2, outcomes


def outcome(root: Path) -> list[str] | tf.TableFormatsError:
    try:
        path = checkpoint(root)
    except tf.TableFormatsError as error:
        return error
    found = actions_of(path)
    path.unlink()
    return found


def test_a_file_that_is_cut_off(tmp_path: Path) -> None:
    """Its end is there, and says that there is more."""
    log = started(tmp_path / "t")
    old = path_of(log.root, 1)
    whole = old.read_bytes()
    log.commit(2, add("more"))
    old.write_bytes(whole[:4] + whole[600:])
    with pytest.raises(tf.CorruptMetadataError):
        checkpoint(log.root)
    assert not path_of(log.root, 2).exists()


def test_on_a_store(tmp_path: Path, copied: list[int]) -> None:
    log = started(tmp_path / "t")
    log.commit(2, *files(50, 3), remove("f1", deletionTimestamp=SOON))
    wanted = in_full(log.root, tmp_path / "full")
    del copied[:]
    with S3Stub() as stub:
        for file in log.directory.iterdir():
            stub.put(f"t/_delta_log/{file.name}", file.read_bytes())
        made = tf.open_table("s3://bucket/t", format="delta", storage_options=stub.options).checkpoint()
        found = tmp_path / "found.parquet"
        found.write_bytes(stub.objects[f"t/_delta_log/{2:020d}.checkpoint.parquet"][0])
    assert made.is_new and copied == [2] and actions_of(found) == wanted


# ---- other readers -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("struct", ["false", "true"])
def test_read_by_others(struct: str, tmp_path: Path, copied: list[int]) -> None:
    pytest.importorskip("deltalake")
    root = tmp_path / "t"
    properties = {"delta.checkpoint.writeStatsAsStruct": struct, "delta.checkpointInterval": "1000"}
    table = tf.create_table(root, ROWS.schema, format="delta", partition_by="p", properties=properties)
    once = ROWS.slice(1, 1).set_column(ROWS.num_columns - 1, "p", [["once"]])
    for rows in (once, *[ROWS] * 5):
        table.append(rows)
    table.checkpoint()
    table.append(ROWS)
    table.delete("p = 'once'")
    table.append(ROWS.slice(1))
    wanted = rows_by_others(root)
    made = table.checkpoint()
    only_checkpoint(root, made.version)
    assert copied[-1] >= 1, copied
    found = rows_by_others(root)
    assert found == wanted and len({repr(rows) for rows in found.values()}) == 1
    assert "duckdb" in found or delta_connection() is None
    assert_clean(root)
