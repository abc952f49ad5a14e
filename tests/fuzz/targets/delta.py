"""What is read of a Delta log: a target for each kind of file, and for the texts inside of them."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tableformats_delta.deletes import z85
from tableformats_delta.deletes.deletion_vectors import read_deletion_vector
from tableformats_delta.log.actions import parse_actions
from tableformats_delta.log.checksums import read_checksum
from tableformats_delta.log.commits import read_commits
from tableformats_delta.log.file_actions import file_rows
from tableformats_delta.log.last_checkpoint import review_hint
from tableformats_delta.log.listing import list_log
from tableformats_delta.log.names import LAST_CHECKPOINT
from tableformats_delta.schema.partition_values import parse_partition_values
from tableformats_delta.schema.schema_string import parse_schema
from tableformats_delta.table import DeltaTable

from tableformats.errors import InvalidPredicateError
from tableformats.expressions import Expression
from tableformats.expressions.parse import parse_filter
from tableformats.plugin import ReadRequest
from tableformats.plugin.report import ScanReport
from tableformats.schema import Field, Type
from tableformats.table.table import Table
from tests.fuzz.targets.base import Finding, Memory, Target, attempt, nothing_kept
from tests.fuzz.targets.mutators import delta_vector_file, parquet_footer
from tests.support.delta_log import UUIDS, add, field, metadata, native, portable, remove, stats, vector, vector_file

__all__ = ["DELTA_TARGETS"]

GOLDEN = Path(__file__).parents[2] / "golden"
COMMIT, CHECKPOINT = "_delta_log/{:020d}.json", "_delta_log/{:020d}.checkpoint.parquet"
FEATURES = ["deletionVectors", "v2Checkpoint"]
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": FEATURES, "writerFeatures": FEATURES}
COLUMNS = [
    field("c", "long"),
    field("s", "string"),
    field("d", "decimal(9,2)"),
    field("t", "timestamp"),
    field("n", {"type": "struct", "fields": [field("x", "double")]}),
    field("p", "integer"),
]
VECTOR = portable([1, 4])
FILTER = "c BETWEEN 1 AND 5 OR s >= 'm' OR d < 3 OR n.x > 0.5 OR p = 2 OR t > TIMESTAMP'2020-01-01'"


def lines(*actions: Mapping[str, Any]) -> bytes:
    return "".join(json.dumps(action) + "\n" for action in actions).encode()


@cache
def condition() -> Expression | None:
    return parse_filter(FILTER)


FIRST = lines({"protocol": PROTOCOL}, {"metaData": metadata(*COLUMNS, partition=("p",))})


def read_all(files: Mapping[str, bytes]) -> None:
    """Plan over a table with these files, and look at everything that a plan looks at lazily."""
    storage = Memory({f"deletion_vector_{UUIDS[0]}.bin": vector_file(VECTOR)[0], **files})
    table = Table(DeltaTable(storage, nothing_kept()), storage, nothing_kept())
    try:
        plan = table.scan(condition()).plan()
    except InvalidPredicateError:  # of a column that is no more
        plan = table.scan().plan()
    snapshot = plan.scan.snapshot.format_snapshot
    for task in plan.tasks():
        snapshot.deleted_positions(task.stored_path, task.record_count, task.deletes)
    columns = tuple(path[-1] for path in snapshot.schema.leaves())
    for batch in snapshot.read(ReadRequest(columns, ScanReport())):
        assert batch.statistics is not None
        batch.statistics.bounds(columns, None)
        batch.statistics.record_counts(np.arange(batch.files.num_rows))


# ---- files of the log -----------------------------------------------------------------------------------------------


def commit(data: bytes) -> None:
    files = {COMMIT.format(0): FIRST, COMMIT.format(1): data}
    storage = Memory(files)
    (found,) = read_commits(storage, [list_log(storage).commits[1]])
    actions = parse_actions(data, found.file.path)
    for kind, rows, plain in (("add", found.adds, actions.adds), ("remove", found.removes, actions.removes)):
        if rows != file_rows(plain, kind, found.file.path):
            raise Finding(f"the {kind} actions differ between the two ways to read a commit")
    read_all(files)


def described(path: str = "a", **more: Any) -> dict[str, Any]:
    text = stats(
        6,
        minValues={"c": 1, "s": "a", "d": 1.5, "n": {"x": 0.1}},
        maxValues={"c": 9, "s": "z", "d": 99.25},
        nullCount={"c": 0, "n": {"x": 1}},
        tightBounds=True,
    )
    return add(path, partitionValues={"p": "2"}, stats=text, **more)


def commit_seeds() -> dict[str, bytes]:
    stored, data = vector(0, cardinality=2, size=len(VECTOR)), portable([1])
    inline = {"storageType": "i", "pathOrInlineDv": inline_text(data), "sizeInBytes": len(data), "cardinality": 1}
    found = {
        "add": lines({"commitInfo": {"operation": "WRITE", "timestamp": 7}}, described(), described("b%20c")),
        "vectors": lines(described(deletionVector=stored), described("b", deletionVector=inline)),
        "remove": lines(described(), remove("a", deletionVector=stored), {"txn": {"appId": "x", "version": 1}}),
        "metadata": lines({"metaData": metadata(*COLUMNS[:3])}, {"protocol": PROTOCOL}),
        "domain": lines({"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}}, remove("é")),
        "escapes": lines(described()).replace(b'"path"', b'"p\\u0061th"').replace(b'"a"', b'"\\ud83d\\ude00"'),
        "pretty": json.dumps(described(), indent=1).encode(),
        "empty": b"",
        "torn": lines(described())[:-9],
    }
    for path in sorted(GOLDEN.glob("tables_jvm/delta-change-feed/table/_delta_log/*.json"))[:4]:
        found[f"spark-{path.stem.lstrip('0') or '0'}"] = path.read_bytes()
    return found


def checkpoint(data: bytes) -> None:
    read_all({CHECKPOINT.format(0): data, COMMIT.format(1): lines(described())})


def checkpoint_seeds() -> dict[str, bytes]:
    import io

    import pyarrow.parquet as pq

    from tests.fuzz.checkpoint_types import KINDS

    rows = [{"protocol": PROTOCOL}, {"metaData": metadata(*COLUMNS, partition=("p",))}, described(), described("b")]
    found = {}
    for name, options in {
        "plain": {"write_statistics": False, "use_dictionary": False},
        "whole": {"row_group_size": 2},
        "zstd": {"compression": "zstd"},
    }.items():
        kinds = {kind: KINDS[kind] for kind in ("add", "protocol", "metaData")}
        listed = [{k: {f.name: v.get(f.name) for f in KINDS[k]} for k, v in row.items()} for row in rows]
        out = io.BytesIO()
        pq.write_table(
            pa.Table.from_pylist(listed, pa.schema(list(kinds.items()))),
            out,
            store_schema=False,
            **{"compression": "none", **options},
        )
        found[name] = out.getvalue()
    return found


def hint(data: bytes) -> None:
    storage = Memory({COMMIT.format(0): FIRST, f"_delta_log/{LAST_CHECKPOINT}": data})
    version, finding = review_hint(storage, list_log(storage))
    if not isinstance(finding, str) or not isinstance(version, (int, type(None))):
        raise Finding(f"the hint is found to be {finding!r}")


def hint_seeds() -> dict[str, bytes]:
    found = {path.parts[-4]: path.read_bytes() for path in sorted(GOLDEN.glob("*/delta-*/table/_delta_log/_last*"))}
    return {**found, "small": b'{"version":0,"size":4,"sizeInBytes":99,"checksum":"d2"}'}


def checksum(data: bytes) -> None:
    files = {COMMIT.format(0): FIRST, f"_delta_log/{0:020d}.crc": data}
    storage = Memory(files)
    for file in list_log(storage).checksums.values():  # none where it is empty
        attempt(partial(read_checksum, storage, file))
    read_all(files)


def checksum_seeds() -> dict[str, bytes]:
    content = {
        "tableSizeBytes": 0,
        "numFiles": 0,
        "numMetadata": 1,
        "numProtocol": 1,
        "protocol": PROTOCOL,
        "metadata": metadata(*COLUMNS, partition=("p",)),
        "inCommitTimestampOpt": 5,
    }
    found = sorted(GOLDEN.glob("tables_jvm/delta-type-widening/table/_delta_log/*.crc"))[:2]
    return {"own": json.dumps(content).encode(), **{f"spark-{i}": path.read_bytes() for i, path in enumerate(found)}}


# ---- what stands in them --------------------------------------------------------------------------------------------


def statistics(data: bytes) -> None:
    """The text of one add, whatever it is; JSON around it is sound."""
    action = described()
    action["add"]["stats"] = data.decode(errors="replace")
    read_all({COMMIT.format(0): FIRST, COMMIT.format(1): lines(action, described("b"))})


def statistics_seeds() -> dict[str, bytes]:
    whole = json.loads(described()["add"]["stats"])
    odd = {
        "numRecords": 3.0,
        "minValues": {"t": "2020-01-01T00:00:00.000Z", "c": "1", "d": 1e2, "s": None},
        "maxValues": {"c": 2**63, "n": {"x": "NaN"}},
        "nullCount": {"c": -1},
    }
    return {
        "own": json.dumps(whole).encode(),
        "odd": json.dumps(odd).encode(),
        "empty": b"{}",
        "numbers": b'{"numRecords":1e400,"minValues":{"n":{"x":NaN},"c":00}}',
    }


def schema(data: bytes) -> None:
    for mode in ("none", "name", "id"):
        attempt(partial(parse_schema, data.decode(errors="surrogateescape"), mode, "a commit"))


def schema_seeds() -> dict[str, bytes]:
    nested = field(
        "m",
        {
            "type": "map",
            "keyType": "string",
            "valueContainsNull": True,
            "valueType": {"type": "array", "elementType": "decimal(38,18)", "containsNull": False},
        },
    )
    mapped = field("é", "date", {"delta.columnMapping.id": 4, "delta.columnMapping.physicalName": "col-4"})
    return {
        "own": json.dumps({"type": "struct", "fields": [*COLUMNS, nested]}).encode(),
        "mapped": json.dumps({"type": "struct", "fields": [mapped]}).encode(),
    }


def vector_in_file(data: bytes) -> None:
    """The declared cardinality is that of the seeds, or what is found; the positions are those that pyroaring has."""
    for cardinality in (2, 5):
        stored = {"path": "v.bin", "inline": None, "offset": 1, "size_bytes": len(data) - 9, "cardinality": cardinality}
        attempt(partial(check_positions, Memory({"v.bin": data}), stored))


def vector_inline(data: bytes) -> None:
    """A size, a cardinality, then the text."""
    size, cardinality = struct.unpack("<hh", data[:4].ljust(4, b"\0"))
    stored = {
        "path": None,
        "inline": data[4:].decode(errors="surrogateescape"),
        "offset": None,
        "size_bytes": size,
        "cardinality": cardinality,
    }
    check_positions(Memory({}), stored)


def check_positions(storage: Memory, stored: Mapping[str, Any]) -> None:
    """What pyroaring makes of the bitmap is what was declared, and found by our own reader."""
    positions = read_deletion_vector(storage, stored, 2**33)
    if len(positions) != stored["cardinality"] or positions.max() >= 2**33:
        raise Finding(f"{len(positions)} positions where {stored['cardinality']} are declared")


def vector_seeds() -> dict[str, bytes]:
    found = {
        f"{kind.__name__}-{len(rows)}": vector_file(kind(rows))[0]
        for kind in (portable, native)
        for rows in ([1, 4], [0, 3, 7, 65_536, 2**32 + 5])
    }
    return {**found, "runs": vector_file(portable(list(range(5))))[0]}


def inline_seeds() -> dict[str, bytes]:
    found = {}
    for kind in (portable, native):
        data = kind([1, 4])
        found[kind.__name__] = struct.pack("<hh", len(data), 2) + inline_text(data).encode()
    return found


def inline_text(data: bytes) -> str:
    return z85.encode(data + bytes(-len(data) % 4))


PARTITION_TYPES = (
    "boolean",
    "integer",
    "long",
    "float",
    "double",
    "date",
    "timestamp",
    "timestamp_ntz",
    "string",
    "binary",
    "decimal(9,2)",
)


def partition_value(data: bytes) -> None:
    texts = pa.array([data.decode(errors="replace"), None])
    for kind in partition_types():
        attempt(partial(parse_partition_values, texts, Field(1, "p", kind)))


@cache
def partition_types() -> list[Type]:
    columns = [field(f"p{i}", name) for i, name in enumerate(PARTITION_TYPES)]
    return [f.type for f in parse_schema(json.dumps({"type": "struct", "fields": columns}), "none", "").fields]


def partition_seeds() -> dict[str, bytes]:
    values = (
        "true",
        "-7",
        "9223372036854775807",
        "1.5e-3",
        "NaN",
        "2020-02-29",
        "2020-01-01 00:00:00.123456",
        "2020-01-01T00:00:00.000000Z",
        "+12345-01-01",
        "é",
        "12.30",
        "\\u0001",
    )
    return {f"{i}": value.encode() for i, value in enumerate(values)}


DELTA_TARGETS = (
    Target("delta_commit", commit, commit_seeds),
    Target("delta_checkpoint", checkpoint, checkpoint_seeds, parquet_footer),
    Target("delta_last_checkpoint", hint, hint_seeds),
    Target("delta_checksum", checksum, checksum_seeds),
    Target("delta_statistics", statistics, statistics_seeds),
    Target("delta_schema", schema, schema_seeds),
    Target("delta_vector_file", vector_in_file, vector_seeds, delta_vector_file),
    Target("delta_vector_inline", vector_inline, inline_seeds),
    Target("delta_partition_value", partition_value, partition_seeds),
)
