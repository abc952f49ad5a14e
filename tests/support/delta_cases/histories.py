"""Cases of tables that went on: vectors, checkpoints, compactions, widened and renamed columns."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from tests.support.delta_cases.case import CUT, EMOJI, MAX, Case
from tests.support.delta_changes import data_file, id_file, inline_vector, mapped, mapping
from tests.support.delta_log import (
    ADD_FIELDS,
    METADATA_TYPE,
    PROTOCOL,
    UUIDS,
    WITH_VECTORS,
    DeltaLog,
    field,
    metadata,
    portable,
    remove,
    stats,
    vector,
    vector_file,
)
from tests.support.delta_types import features, widened

IDS: dict[str, Callable[[int], bool]] = {
    "id > 4": lambda i: i > 4,
    "id = 3": lambda i: i == 3,
    "id IN (0, 11)": lambda i: i in (0, 11),
    "NOT (id < 7)": lambda i: i >= 7,
}


def of_ids(log: DeltaLog, *ids: int) -> Case:
    """The case whose table has these rows and no column but ``id``."""
    answers = {where: [i for i in ids if matches(i)] for where, matches in IDS.items()}
    return Case(log.root, pa.table({"id": pa.array(ids, pa.int64())}), answers)


def with_vectors(root: Path) -> DeltaLog:
    return DeltaLog(root).start(protocol=WITH_VECTORS)


def last_checkpoint(log: DeltaLog, version: int, **more: Any) -> None:
    log.write("_last_checkpoint", json.dumps({"version": version, "size": 3, **more}).encode())


def start_of(log: DeltaLog) -> list[dict[str, Any]]:
    """Protocol and metadata of version 0, as a checkpoint has them."""
    wanted = {f.name for f in METADATA_TYPE}
    actions = {kind: content for a in log.actions(0) for kind, content in a.items()}
    meta = {k: v for k, v in actions["metaData"].items() if k in wanted}
    return [{"protocol": actions["protocol"]}, {"metaData": meta}]


def inline_vectors(root: Path) -> Case:
    log = with_vectors(root)
    log.commit(
        1,
        id_file(log, "a", range(6), deletionVector=inline_vector(0, 5)),
        id_file(log, "b", range(6, 12), deletionVector=inline_vector(*range(6))),
    )
    return of_ids(log, 1, 2, 3, 4)


def two_vectors_in_one_file(root: Path) -> Case:
    log = with_vectors(root)
    blocks = [portable([0, 1]), portable([5]), portable([2])]
    content, offsets = vector_file(*blocks)
    (root / f"deletion_vector_{UUIDS[0]}.bin").write_bytes(content)
    stored = [
        vector(cardinality=n, size=len(data), offset=offset)
        for n, data, offset in zip((2, 1, 1), blocks, offsets, strict=True)
    ]
    log.commit(
        1,
        id_file(log, "a", range(6), deletionVector=stored[0]),
        id_file(log, "b", range(6, 12), deletionVector=stored[1]),
    )
    gone = {"deletionVector": stored[1]}
    log.commit(2, remove("b", **gone), id_file(log, "b", range(6, 12), deletionVector=stored[2]))
    return of_ids(log, 2, 3, 4, 5, 6, 7, 9, 10, 11)


def vector_by_absolute_path(root: Path) -> Case:
    log = with_vectors(root)
    content, (offset,) = vector_file(portable([3]))
    path = root / "else where %20.bin"
    path.write_bytes(content)
    stored = {
        "storageType": "p",
        "pathOrInlineDv": quote(str(path)),
        "offset": offset,
        "sizeInBytes": len(portable([3])),
        "cardinality": 1,
    }
    log.commit(1, id_file(log, "a", range(6), deletionVector=stored))
    return of_ids(log, 0, 1, 2, 4, 5)


def compaction(root: Path) -> Case:
    log = with_vectors(root)
    log.commit(1, id_file(log, "a", range(4))).commit(2, id_file(log, "b", range(4, 8)))
    log.commit(3, remove("a"), id_file(log, "a", range(4), deletionVector=inline_vector(3)))
    log.commit(4, remove("b"), id_file(log, "c", range(8, 12))).compact(1, 3)
    return of_ids(log, 0, 1, 2, 8, 9, 10, 11)


def re_add_across_a_checkpoint(root: Path) -> Case:
    """The checkpoint knows the file with its first vector; later it is removed, and comes back with another."""
    log = with_vectors(root)
    first = id_file(log, "a", range(6), deletionVector=inline_vector(0))
    log.commit(1, first, id_file(log, "b", [10, 11]))
    log.checkpoint(f"{1:020d}.checkpoint.parquet", *start_of(log), *log.actions(1))
    log.commit(2, remove("a", deletionVector=first["add"]["deletionVector"]))
    log.commit(3, id_file(log, "a", range(6), deletionVector=inline_vector(3, 4)))
    last_checkpoint(log, 1)
    return of_ids(log, 0, 1, 2, 5, 10, 11)


def add_again_with_new_statistics(root: Path) -> Case:
    """The first statistics are wrong and would drop the file: the newest add counts, once."""
    log = DeltaLog(root).start()
    wrong = json.dumps({"numRecords": 4, "minValues": {"id": 90}, "maxValues": {"id": 99}, "nullCount": {"id": 0}})
    log.commit(1, id_file(log, "a", [2, 3, 4, 5], stats=wrong))
    log.checkpoint(f"{1:020d}.checkpoint.parquet", *start_of(log), *log.actions(1))
    log.commit(2, id_file(log, "a", [2, 3, 4, 5], dataChange=False))
    return of_ids(log, 2, 3, 4, 5)


def add_again_with_the_same_vector(root: Path) -> Case:
    """One path and vector, added three times: with wrong statistics, without any, and with those of the live rows."""
    log = with_vectors(root)
    stored = inline_vector(0)
    wrong = json.dumps({"numRecords": 4, "minValues": {"id": 90}, "maxValues": {"id": 99}, "nullCount": {"id": 0}})
    log.commit(1, id_file(log, "a", range(4), deletionVector=stored, stats=wrong))
    log.checkpoint(f"{1:020d}.checkpoint.parquet", *start_of(log), *log.actions(1))
    log.commit(2, id_file(log, "a", range(4), deletionVector=stored, stats=None, dataChange=False))
    live = json.dumps({"numRecords": 4, "minValues": {"id": 1}, "maxValues": {"id": 3}, "tightBounds": True})
    log.commit(3, id_file(log, "a", range(4), deletionVector=stored, stats=live, dataChange=False))
    return of_ids(log, 1, 2, 3)


def empty_checkpoint(root: Path) -> Case:
    """The newest checkpoint has no bytes, and the hint names it."""
    log = DeltaLog(root).start()
    log.commit(1, id_file(log, "a", [1, 3])).commit(2, id_file(log, "b", [5, 7])).commit(3, remove("a"))
    log.checkpoint(f"{1:020d}.checkpoint.parquet", *start_of(log), *log.actions(1))
    log.write(f"{2:020d}.checkpoint.parquet", b"")
    last_checkpoint(log, 2)
    return of_ids(log, 5, 7)


def times_enabled_later(root: Path) -> Case:
    """The clock of the files and that of the commits differ by years; a checkpoint between the two."""
    log = DeltaLog(root).start()
    log.commit(1, id_file(log, "a", [1, 3]), mtime_ms=1_700_000_000_000)
    on = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": "1600000000000",
    }
    log.commit(2, {"commitInfo": {"inCommitTimestamp": 1_600_000_000_000}}, {"metaData": metadata(configuration=on)})
    log.commit(3, {"commitInfo": {"inCommitTimestamp": 1_600_000_000_001}}, id_file(log, "b", [5, 11]))
    return of_ids(log, 1, 3, 5, 11)


def row_tracking_enabled_later(root: Path) -> Case:
    """Files from before get their base in a commit that changes no data; later a row keeps its id in a new file."""
    log = with_vectors(root)
    log.commit(1, id_file(log, "a", [0, 1, 2])).commit(2, id_file(log, "b", [3, 4], deletionVector=inline_vector(1)))
    log.checkpoint(f"{2:020d}.checkpoint.parquet", *start_of(log), *log.actions(1), *log.actions(2))
    log.commit(
        3,
        *(
            {"add": {**log.actions(v)[0]["add"], "baseRowId": base, "defaultRowCommitVersion": 3, "dataChange": False}}
            for v, base in ((1, 10), (2, 0))
        ),
    )
    names = {
        "delta.rowTracking.materializedRowIdColumnName": "_row-id-1",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "_version-1",
    }
    log.commit(4, {"metaData": metadata(configuration={"delta.enableRowTracking": "true", **names})})
    moved = pa.table({"id": [11, 12], "_row-id-1": [11, None], "_version-1": pa.nulls(2, pa.int64())})
    log.commit(
        5,
        remove("a"),
        data_file(log, "c", moved, baseRowId=13, defaultRowCommitVersion=5),
        id_file(log, "a", [0, 1, 2], deletionVector=inline_vector(1), baseRowId=10, defaultRowCommitVersion=3),
    )
    rows = pa.table(
        {
            "id": [0, 2, 3, 11, 12],
            "_metadata.row_id": [10, 12, 0, 11, 14],
            "_metadata.row_commit_version": [3, 3, 3, 5, 5],
        }
    )
    answers = {where: [i for i in (0, 2, 3, 11, 12) if matches(i)] for where, matches in IDS.items()}
    return Case(root, rows, answers, tuple(rows.column_names))


def incomplete_multi_part_checkpoint(root: Path) -> Case:
    log = DeltaLog(root).start()
    log.commit(1, id_file(log, "a", [1, 3])).commit(2, id_file(log, "b", [5, 7]))
    part = "{:020d}.checkpoint.{:010d}.{:010d}.parquet"
    log.checkpoint(part.format(1, 1, 2), *start_of(log)).checkpoint(part.format(1, 2, 2), *log.actions(1))
    log.checkpoint(part.format(2, 1, 3), *start_of(log)).checkpoint(part.format(2, 3, 3), *log.actions(2))
    last_checkpoint(log, 2, parts=3)
    return of_ids(log, 1, 3, 5, 7)


def stale_hint(root: Path) -> Case:
    """The hint names a checkpoint that is gone; commits before the next one are gone, too."""
    log = DeltaLog(root).start()
    log.commit(1, id_file(log, "a", [1, 3])).commit(2, id_file(log, "b", [5, 7])).commit(3, remove("a"))
    log.checkpoint(f"{2:020d}.checkpoint.parquet", *start_of(log), *log.actions(1), *log.actions(2))
    for version in (0, 1):
        (log.directory / f"{version:020d}.json").unlink()
    last_checkpoint(log, 1)
    return of_ids(log, 5, 7)


def v2_beside_classic(root: Path) -> Case:
    log = DeltaLog(root).start(protocol=features("v2Checkpoint"))
    log.commit(1, id_file(log, "a", [1, 3]), id_file(log, "b", [5, 7]))
    log.checkpoint(f"{1:020d}.checkpoint.parquet", *start_of(log), *log.actions(1))
    log.checkpoint("_sidecars/one.parquet", *log.actions(1))
    manifest = [
        {"checkpointMetadata": {"version": 1}},
        *start_of(log),
        {"sidecar": {"path": "one.parquet", "sizeInBytes": 1, "modificationTime": 1}},
    ]
    text = "\n".join(map(json.dumps, manifest))
    log.write(f"{1:020d}.checkpoint.{UUIDS[0]}.json", text.encode())
    log.commit(2, remove("b"), id_file(log, "c", [11]))
    return of_ids(log, 1, 3, 11)


def bounds(column: str, low: int, high: int) -> str:
    """The statistics of two rows, one at each bound."""
    return stats(2, minValues={column: low}, maxValues={column: high}, nullCount={column: 0})


def type_widening(root: Path) -> Case:
    """The file and the statistics of the first version have the old type."""
    log = DeltaLog(root).start(field("id", "long"), field("c", "integer"), protocol=features("typeWidening"))
    old = pa.table({"id": [0, 1], "c": pa.array([-(2**31), 2**31 - 1], pa.int32())})
    new = pa.table({"id": [2, 3], "c": pa.array([2**31, 2**53 + 1], pa.int64())})
    log.commit(1, data_file(log, "old", old, stats=bounds("c", -(2**31), 2**31 - 1)))
    log.commit(2, {"metaData": metadata(field("id", "long"), widened("integer", "long"))})
    log.commit(3, data_file(log, "new", new, stats=bounds("c", 2**31, 2**53 + 1)))
    rows = pa.concat_tables([old, new], promote_options="permissive")
    answers = {"c = 9007199254740993": [3], "c > 2147483647": [2, 3], "c <= 2147483647": [0, 1], "c = -2147483648": [0]}
    return Case(root, rows, answers)


def type_widening_in_a_checkpoint(root: Path) -> Case:
    """The checkpoint parsed its statistics when the column had the old type; so did one with the new type since."""
    log = DeltaLog(root).start(field("id", "long"), field("c", "integer"), protocol=features("typeWidening"))
    old = pa.table({"id": [0, 1], "c": pa.array([-(2**31), 2**31 - 1], pa.int32())})
    log.commit(1, data_file(log, "old", old, stats=bounds("c", -(2**31), 2**31 - 1)))
    log.commit(2, {"metaData": metadata(field("id", "long"), widened("integer", "long"))})
    (first,) = log.actions(1)
    parsed = {"numRecords": 2, "minValues": {"c": -(2**31)}, "maxValues": {"c": 2**31 - 1}, "nullCount": {"c": 0}}
    action = {"add": {**{k: v for k, v in first["add"].items() if k != "stats"}, "stats_parsed": parsed}}
    of = pa.struct([("c", pa.int32())])
    kind = pa.struct(
        [
            ("numRecords", pa.int64()),
            ("minValues", of),
            ("maxValues", of),
            ("nullCount", pa.struct([("c", pa.int64())])),
        ]
    )
    protocol = start_of(log)[0]
    meta = {k: v for k, v in log.actions(2)[0]["metaData"].items() if k in {f.name for f in METADATA_TYPE}}
    log.checkpoint(
        f"{2:020d}.checkpoint.parquet",
        protocol,
        {"metaData": meta},
        action,
        add_type=pa.struct([*ADD_FIELDS, ("stats_parsed", kind)]),
    )
    new = pa.table({"id": [2, 3], "c": pa.array([2**31, 2**53 + 1], pa.int64())})
    log.commit(3, data_file(log, "new", new, stats=bounds("c", 2**31, 2**53 + 1)))
    rows = pa.concat_tables([old, new], promote_options="permissive")
    answers = {
        "c = 9007199254740993": [3],
        "c > 2147483647": [2, 3],
        "c <= 2147483647": [0, 1],
        "c = -2147483648": [0],
        "c < -2147483648": [],
    }
    return Case(root, rows, answers)


def column_mapping(mode: str) -> Callable[[Path], Case]:
    """``old`` is renamed to ``new``, then another column comes to be called ``old``."""

    def build(root: Path) -> Case:
        protocol = {"minReaderVersion": 2, "minWriterVersion": 5}
        first = [mapped("id", "long", 1, "c1"), mapped("old", "long", 2, "c2")]
        log = DeltaLog(root).start(*first, protocol=protocol, configuration=mapping(mode))
        log.commit(1, data_file(log, "a", physical({"c1": [0, 1], "c2": [10, 11]}), stats=bounds("c2", 10, 11)))
        after = [mapped("id", "long", 1, "c1"), mapped("new", "long", 2, "c2"), mapped("old", "long", 3, "c3")]
        log.commit(2, {"metaData": metadata(*after, configuration=mapping(mode))})
        newer = physical({"c1": [2, 3], "c2": [20, 21], "c3": [10, 11]})
        log.commit(3, data_file(log, "b", newer, stats=bounds("c2", 20, 21)))
        old = pa.array([None, None, 10, 11], pa.int64())
        rows = pa.table({"id": [0, 1, 2, 3], "new": [10, 11, 20, 21], "old": old})
        return Case(root, rows, {"old = 10": [2], "new = 10": [0], "old IS NULL": [0, 1], "new > 10": [1, 2, 3]})

    return build


def physical(columns: dict[str, list[int]]) -> pa.Table:
    """A table under its physical names, ``c`` and the field id, with the ids that mode ``id`` finds columns by."""
    fields = [pa.field(name, pa.int64(), metadata={"PARQUET:field_id": name[1:]}) for name in columns]
    return pa.table([pa.array(v, pa.int64()) for v in columns.values()], schema=pa.schema(fields))


NAMES = ["a.b", "sp ace", EMOJI, "Straße", "CamelCase", "tick`s", "a,b;{}()\n\t=", "select", "100%"]


def odd_names(mode: str | None) -> Callable[[Path], Case]:
    """One column for each name; the last is a partition column."""

    def build(root: Path) -> Case:
        names, kinds = ["id", *NAMES], ["long"] * len(NAMES) + ["string"]
        stored = [f"c{i}" for i in range(1, len(names) + 1)] if mode else names
        fields = [
            mapped(n, k, i, s) if mode else field(n, k)
            for i, (n, k, s) in enumerate(zip(names, kinds, stored, strict=True), 1)
        ]
        protocol = {"minReaderVersion": 2, "minWriterVersion": 5} if mode else PROTOCOL
        log = DeltaLog(root).start(
            *fields, partition=(names[-1],), protocol=protocol, configuration=mapping(mode) if mode else None
        )
        for version in range(1, 4):
            row = {name: version * 100 + i for i, name in enumerate(stored[:-1])}
            table = physical({k: [v] for k, v in row.items()}) if mode else pa.table({k: [v] for k, v in row.items()})
            text = json.dumps({"numRecords": 1, "minValues": row, "maxValues": row, "nullCount": dict.fromkeys(row, 0)})
            action = data_file(log, f"f{version}", table, stats=text, partitionValues={stored[-1]: f"v{version}"})
            log.commit(version, action)
        rows = pa.table({n: [v * 100 + i for v in (1, 2, 3)] for i, n in enumerate(names[:-1])})
        rows = rows.append_column(names[-1], pa.array(["v1", "v2", "v3"]))
        answers = {f"`{n.replace('`', '``')}` = {200 + i}": [200] for i, n in enumerate(names[1:-1], 1)}
        answers |= {f"camelCASE > {200 + names.index('CamelCase')}": [300], "`100%` >= 'v2'": [200, 300]}
        return Case(root, rows, answers)

    return build


def written_by_deltalake(root: Path) -> Case:
    """Appends into partitions, a delete, a checkpoint, an overwrite of a partition, rows with every odd value."""
    from deltalake import DeltaTable, write_deltalake

    def some(first: int, last: int) -> pa.Table:
        ids = range(first, last)
        return pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "p": pa.array([["a b", "é/%", None, EMOJI][i % 4] for i in ids]),
                "score": pa.array([[math.nan, math.inf, -math.inf, -0.0, 1.5, None][i % 6] for i in ids], pa.float64()),
                "text": pa.array([[EMOJI * 40, CUT + MAX, "", None][i % 4] for i in ids]),
                "day": pa.array([[dt.date(1, 1, 1), dt.date(1582, 10, 10), dt.date(9999, 12, 31)][i % 3] for i in ids]),
                "big": pa.array([2**53 + i for i in ids], pa.int64()),
                "amount": pa.array([Decimal(f"{i}.0000000001") for i in ids], pa.decimal128(38, 10)),
            }
        )

    write_deltalake(str(root), some(0, 8), partition_by=["p"])
    write_deltalake(str(root), some(8, 16), mode="append")
    table = DeltaTable(str(root))
    table.delete("id = 5")
    table.create_checkpoint()
    write_deltalake(str(root), some(16, 24), mode="append")
    rows = some(0, 24)
    rows = pa.concat_tables([rows.slice(0, 5), rows.slice(6)])
    records = rows.to_pylist()

    def ids(matches: Callable[[dict[str, Any]], bool]) -> list[int]:
        return [r["id"] for r in records if matches(r)]

    nan_or_more = ids(lambda r: r["score"] is not None and (math.isnan(r["score"]) or r["score"] > 1.5))
    return Case(
        root,
        rows,
        {
            "score > 1.5": nan_or_more,
            "score <= 1.5": ids(lambda r: r["score"] is not None and r["score"] <= 1.5),
            "p IS NULL": ids(lambda r: r["p"] is None),
            "p = 'é/%'": ids(lambda r: r["p"] == "é/%"),
            f"text = '{EMOJI * 40}'": ids(lambda r: r["text"] == EMOJI * 40),
            f"text > '{CUT}'": ids(lambda r: r["text"] is not None and r["text"] > CUT),
            "big = 9007199254740993": [1],
            "big > 9007199254741012": [21, 22, 23],
            "day < DATE '1582-10-10'": ids(lambda r: r["id"] % 3 == 0),
            "amount = 3.0000000001": [3],
            "amount > 23": [23],
        },
    )


HISTORIES: list[Callable[[Path], Case]] = [
    inline_vectors,
    two_vectors_in_one_file,
    vector_by_absolute_path,
    compaction,
    re_add_across_a_checkpoint,
    add_again_with_new_statistics,
    add_again_with_the_same_vector,
    empty_checkpoint,
    times_enabled_later,
    row_tracking_enabled_later,
    incomplete_multi_part_checkpoint,
    stale_hint,
    v2_beside_classic,
    type_widening,
    type_widening_in_a_checkpoint,
    written_by_deltalake,
]
