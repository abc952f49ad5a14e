"""Small files that stand for much: for each class of them a table, what is done with it, its seconds and its memory.

``python -m tests.fuzz.attacks [NAME ...]`` prints one JSON document a line. Each attack runs in a process of its own,
forked from one that has read sound tables before, so that imports are no part of the figures.
"""

from __future__ import annotations

import contextlib
import gc
import gzip
import io
import json
import os
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import tableformats as tf
from tableformats.limits import FOOTER_ITEMS
from tests.fuzz.targets import iceberg as seeds
from tests.support import delta_log
from tests.support.arrow_schema import parquet_with, schema_message
from tests.support.iceberg_manifests import blocks_of, compress, container, entry, entry_schema, manifest_bytes, record
from tests.support.iceberg_manifests import read_deletes as read_delete_files
from tests.support.iceberg_tables import write_table

Call = Callable[[], object]


@dataclass(frozen=True)
class Attack:
    """``build`` writes a table into a folder and gives the bytes that the attack takes, and the call that reads it."""

    name: str
    file: str
    build: Callable[[Path], tuple[int, Call]]


ATTACKS: dict[str, Attack] = {}
Build = Callable[[Path], tuple[int, Call]]


def attack(file: str) -> Callable[[Build], Build]:
    """Register a function that builds an attack by the kind of ``file``."""

    def register(build: Build) -> Build:
        name = build.__name__
        ATTACKS[name] = Attack(name, file, build)
        return build

    return register


def plan(root: Path, where: str | None = None) -> int:
    return len(tf.open_table(root, relocate=(root / "metadata").is_dir() or None).scan(where).plan())


def read_deletes(root: Path) -> None:
    read_delete_files(tf.open_table(root, relocate=True).scan().plan())


# ---- metadata.json --------------------------------------------------------------------------------------------------


def of_metadata(root: Path, packed: bool = False, tail: str = "", **members: Any) -> tuple[int, Call]:
    path = write_table(root, **members)
    data = (path.read_text()[:-1] + tail + "}").encode()
    path.write_bytes(gzip.compress(data, 9) if packed else data)
    return path.stat().st_size, partial(plan, root)


def of_mapping(root: Path, mapping: list[Any]) -> tuple[int, Call]:
    return of_metadata(root, properties={"schema.name-mapping.default": json.dumps(mapping)})


@attack("metadata.json")
def billions_of_columns_that_were(root: Path) -> tuple[int, Call]:
    return of_metadata(root, **{"last-column-id": 2**31 - 1})


@attack("metadata.json")
def name_mapping_of_many_names(root: Path) -> tuple[int, Call]:
    names = [f"x{i:05}" for i in range(990)]
    return of_mapping(root, [{"names": names, "fields": [{"names": names, "field-id": 1}]}])


@attack("metadata.json")
def name_mapping_of_long_names(root: Path) -> tuple[int, Call]:
    names = [f"{i:04}" for i in range(9999)]
    return of_mapping(root, [{"names": ["p" * 100_000], "fields": [{"names": names, "field-id": 1}]}])


@attack("metadata.json")
def name_mapping_of_many_levels(root: Path) -> tuple[int, Call]:
    node: list[Any] = [{"names": [f"{i:03}" for i in range(30)], "field-id": 1}]
    for level in range(40):
        node = [{"names": [f"{level}-{i:03}" for i in range(30)], "fields": node}]
    return of_mapping(root, node)


@attack("metadata.json")
def name_mapping_of_names_without_ids(root: Path) -> tuple[int, Call]:
    leaf = [{"names": [f"{i:04}" for i in range(999)]}]
    return of_mapping(root, [{"names": [f"{k}{i:03}" for i in range(999)], "fields": leaf} for k in range(20)])


@attack("metadata.json")
def json_lists(root: Path) -> tuple[int, Call]:
    return of_metadata(root, tail=', "x": [' + ",".join(["[]"] * 340_000) + "]")


@attack("metadata.json")
def json_fields(root: Path) -> tuple[int, Call]:
    fields = [{"id": i + 1, "name": str(i), "type": "int", "required": False} for i in range(15_000)]
    return of_metadata(root, schemas=[{"type": "struct", "schema-id": 0, "fields": fields}])


def of_long_names(root: Path, length: int, leaves: int) -> tuple[int, Call]:
    fields = [{"id": 10 + i, "name": f"{i:x}", "type": "int", "required": False} for i in range(leaves)]
    group = {"id": 1, "name": "n" * length, "required": False, "type": {"type": "struct", "fields": fields}}
    size, _ = of_metadata(root, schemas=[{"type": "struct", "schema-id": 0, "fields": [group]}])
    return size, lambda: tf.open_table(root, relocate=True).inspect.data_files()


@attack("metadata.json")
def schema_of_long_names(root: Path) -> tuple[int, Call]:
    return of_long_names(root, 400_000, 6000)


@attack("metadata.json")
def schema_of_long_names_within_the_limits(root: Path) -> tuple[int, Call]:
    return of_long_names(root, 4000, 6000)


@attack("metadata.json, gzip")
def gzip_lists(root: Path) -> tuple[int, Call]:
    return of_metadata(root, True, ', "x": [' + ",".join(["[]"] * 20_000_000) + "]")


@attack("metadata.json, gzip")
def gzip_lists_within_the_limits(root: Path) -> tuple[int, Call]:
    return of_metadata(root, True, ', "x": [' + ",".join(["[]"] * 1_350_000) + "]")


@attack("metadata.json, gzip")
def gzip_spaces(root: Path) -> tuple[int, Call]:
    return of_metadata(root, True, " " * (300 << 20))


@attack("metadata.json, gzip")
def gzip_wide_characters(root: Path) -> tuple[int, Call]:
    return of_metadata(root, True, ', "x": "\U0001f600' + "x" * (90 << 20) + '"')


# ---- _last_checkpoint -----------------------------------------------------------------------------------------------


def of_hint(root: Path, text: str) -> tuple[int, Call]:
    log = delta_log.DeltaLog(root).start().write("_last_checkpoint", text.encode())
    return len(text), lambda: tf.open_table(log.root).inspect.log()


@attack("_last_checkpoint")
def hint_of_a_long_key(root: Path) -> tuple[int, Call]:
    return of_hint(root, f'{{"version":0,"{"k" * 200_000}":[{",".join("1" * 100_000)}]}}')


@attack("_last_checkpoint")
def hint_of_many_levels(root: Path) -> tuple[int, Call]:
    text = f"[{','.join('1' * 5000)}]"
    for _ in range(300):
        text = f'{{"{"k" * 900}":{text}}}'
    return of_hint(root, text)


# ---- manifest lists and manifests -----------------------------------------------------------------------------------


def of_files(root: Path, **files: bytes) -> tuple[int, Call]:
    """The table of the fuzz targets with some of its files replaced."""
    lengths = (len(files.get("manifest", seeds.data_manifest())), len(seeds.delete_manifest()))
    stored = {
        "metadata/v1.metadata.json": seeds.metadata_json(),
        seeds.LIST: files.get("list", seeds.manifest_list(True, lengths)),
        seeds.MANIFEST: files.get("manifest", seeds.data_manifest()),
        seeds.DELETES: seeds.delete_manifest(),
        seeds.DELETE_FILE: files.get("delete", seeds.position_deletes()),
        "data/v": seeds.blob([1, 4]),
    }
    for name, data in stored.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    call = partial(read_deletes, root) if "delete" in files else partial(plan, root)
    return sum(map(len, files.values())), call


def bomb(codec: str, size: int) -> bytes:
    return container(entry_schema(seeds.PARTITION), [(1, compress(bytes(size), codec))], codec)


@attack("manifest")
def deflate_bomb(root: Path) -> tuple[int, Call]:
    return of_files(root, manifest=bomb("deflate", 300 << 20))


@attack("manifest")
def zstandard_bomb(root: Path) -> tuple[int, Call]:
    return of_files(root, manifest=bomb("zstandard", 300 << 20))


@attack("manifest")
def many_bombs(root: Path) -> tuple[int, Call]:
    block = 1, compress(bytes(90 << 20), "zstandard")
    return of_files(root, manifest=container(entry_schema(seeds.PARTITION), [block] * 300, "zstandard"))


def repeated(count: int, codec: str) -> bytes:
    """A manifest of one entry that stands in it ``count`` times."""
    made = manifest_bytes([entry("/table/data/1.parquet", partition={"p": 1}, sequence_number=1)], seeds.PARTITION)
    ((_, plain),) = blocks_of(made)
    return container(entry_schema(seeds.PARTITION), [(count, compress(plain * count, codec))], codec)


@attack("manifest")
def entries_in_deflate(root: Path) -> tuple[int, Call]:
    return of_files(root, manifest=repeated(4_000_000, "deflate"))


@attack("manifest")
def entries_within_the_limits(root: Path) -> tuple[int, Call]:
    return of_files(root, manifest=repeated(800_000, "zstandard"))


@attack("manifest")
def empty_blocks(root: Path) -> tuple[int, Call]:
    return of_files(root, manifest=container(entry_schema(seeds.PARTITION), [(0, b"")] * 55_000))


@attack("manifest")
def avro_schema_of_many_fields(root: Path) -> tuple[int, Call]:
    schema = record(*((f"f{i}", None, "int") for i in range(25_000)))
    return of_files(root, manifest=container(schema, []))


@attack("manifest")
def avro_schema_that_doubles(root: Path) -> tuple[int, Call]:
    fields = [{"name": "a", "type": {"type": "record", "name": "r0", "fields": [{"name": "x", "type": "int"}]}}]
    for i in range(1, 28):
        members = [{"name": name, "type": f"r{i - 1}"} for name in "xy"]
        fields.append({"name": f"a{i}", "type": {"type": "record", "name": f"r{i}", "fields": members}})
    return of_files(root, manifest=container({"type": "record", "name": "r", "fields": fields}, []))


def listed(count: int) -> bytes:
    ((_, plain),) = blocks_of(seeds.manifest_list(False))
    return container(seeds.LIST_SCHEMA, [(count, compress(plain * count, "deflate"))], "deflate")


@attack("manifest list")
def one_manifest_two_million_times(root: Path) -> tuple[int, Call]:
    return of_files(root, list=listed(2_000_000))


@attack("manifest list")
def one_manifest_a_hundred_thousand_times(root: Path) -> tuple[int, Call]:
    return of_files(root, list=listed(100_000))


# ---- delete files ---------------------------------------------------------------------------------------------------


@attack("position deletes, Parquet")
def deletes_of_one_row(root: Path) -> tuple[int, Call]:
    size = 30_000_000
    paths = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), size), ["/table/data/2.parquet"])
    table = pa.table({"file_path": paths, "pos": pa.repeat(pa.scalar(0, pa.int64()), size)})
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd")
    return of_files(root, delete=out.getvalue())


# ---- commits --------------------------------------------------------------------------------------------------------


def of_commit(root: Path, *actions: Any, text: str = "") -> tuple[int, Call]:
    data = ("".join(json.dumps(action) + "\n" for action in actions) + text).encode()
    delta_log.DeltaLog(root).start().write(f"{1:020d}.json", data)
    return len(data), partial(plan, root, "id > 3")


def schema_action(schema: str) -> dict[str, Any]:
    return {"metaData": {**delta_log.metadata(), "schemaString": schema}}


@attack("commit")
def commit_of_fields(root: Path) -> tuple[int, Call]:
    fields = [{"name": "id", "type": "long"}, *({"name": str(i), "type": "long"} for i in range(25_000))]
    return of_commit(root, schema_action(json.dumps({"type": "struct", "fields": fields})))


def of_long_fields(root: Path, length: int, leaves: int) -> tuple[int, Call]:
    members = {"type": "struct", "fields": [delta_log.field(f"{i:x}", "long") for i in range(leaves)]}
    size, _ = of_commit(root, schema_action(delta_log.schema_string(delta_log.field("n" * length, members))))
    return size, lambda: tf.open_table(root).snapshot().schema.near_names("id")


@attack("commit")
def commit_of_long_names(root: Path) -> tuple[int, Call]:
    return of_long_fields(root, 400_000, 6000)


@attack("commit")
def commit_of_long_names_within_the_limits(root: Path) -> tuple[int, Call]:
    return of_long_fields(root, 4000, 6000)


@attack("commit")
def commit_of_json_lists(root: Path) -> tuple[int, Call]:
    lists = ",".join(["[]"] * 330_000)
    schema = f'{{"type":"struct","x":[{lists}],"fields":[{{"name":"id","type":"long"}}]}}'
    return of_commit(root, schema_action(schema))


@attack("commit")
def commit_of_actions_that_nobody_knows(root: Path) -> tuple[int, Call]:
    return of_commit(root, text='{"x":{}}\n' * 110_000)


@attack("commit")
def commit_of_short_adds(root: Path) -> tuple[int, Call]:
    line = '{"add":{"path":"%d","size":1,"partitionValues":{}}}\n'
    return of_commit(root, text="".join(line % i for i in range(19_000)))


@attack("commit")
def commit_of_partition_values(root: Path) -> tuple[int, Call]:
    values = ",".join(f'"{i}":""' for i in range(80_000))
    return of_commit(root, text=f'{{"add":{{"path":"a","size":1,"partitionValues":{{{values}}}}}}}\n')


@attack("checksum file")
def checksum_of_json_lists(root: Path) -> tuple[int, Call]:
    data = '{"numFiles":0,"tableSizeBytes":0,"x":[' + ",".join(["[]"] * 340_000) + "]}"
    delta_log.DeltaLog(root).start().write(f"{0:020d}.crc", data.encode())
    return len(data), partial(plan, root)


# ---- checkpoints ----------------------------------------------------------------------------------------------------


def of_checkpoint(root: Path, adds: int = 1, where: str | None = None, **metadata: Any) -> tuple[int, Call]:
    """A checkpoint of ``adds`` equal add actions, in zstandard."""
    log, head = delta_log.DeltaLog(root), delta_log.first_actions()
    head[1]["metaData"].update(metadata)
    kinds = {"add": delta_log.ADD, "protocol": delta_log.PROTOCOL_TYPE, "metaData": delta_log.METADATA_TYPE}
    rows = [pa.Table.from_pylist(list(part), pa.schema(list(kinds.items()))) for part in (head, [delta_log.add("a")])]
    path = log.directory / f"{0:020d}.checkpoint.parquet"
    repeats = rows[1].combine_chunks().take(pa.repeat(pa.scalar(0), adds))
    pq.write_table(pa.concat_tables([rows[0], repeats]).combine_chunks(), path, compression="zstd")
    return path.stat().st_size, partial(plan, root, where)


@attack("checkpoint")
def checkpoint_of_equal_adds(root: Path) -> tuple[int, Call]:
    return of_checkpoint(root, 1_000_000)


@attack("checkpoint")
def checkpoint_with_a_schema_of_spaces(root: Path) -> tuple[int, Call]:
    return of_checkpoint(root, schemaString='{"type":"struct","fields":[]}' + " " * (300 << 20))


@attack("checkpoint")
def checkpoint_with_a_schema_of_lists(root: Path) -> tuple[int, Call]:
    lists = ",".join(["[]"] * 20_000_000)
    return of_checkpoint(root, schemaString=f'{{"type":"struct","x":[{lists}],"fields":[]}}')


@attack("checkpoint")
def checkpoint_with_many_fields(root: Path) -> tuple[int, Call]:
    fields = [{"name": f"c{i}", "type": "long"} for i in range(300_000)]
    return of_checkpoint(root, schemaString=json.dumps({"type": "struct", "fields": fields}))


@attack("position deletes, Parquet")
def deletes_with_a_path_of_spaces(root: Path) -> tuple[int, Call]:
    table = pa.table({"file_path": [" " * (300 << 20)], "pos": [1]})
    out = io.BytesIO()
    pq.write_table(table, out, compression="zstd", use_dictionary=False)
    return of_files(root, delete=out.getvalue())


# ---- Parquet footers ------------------------------------------------------------------------------------------------


def number(value: int) -> bytes:
    """A zig-zag varint, as Thrift's compact protocol has them."""
    value <<= 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def structs(items: bytes, count: int) -> bytes:
    """A list of ``count`` equal structs."""
    return b"\xfc" + unsigned(count) + items * count


def unsigned(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def long_names(levels: int, length: int, leaves: int) -> bytes:
    """A footer of groups in groups with names of that length, and columns in the innermost."""

    def group(name: str, children: int) -> bytes:
        return b"\x35\x00\x18" + unsigned(len(name)) + name.encode() + b"\x15" + number(children) + b"\x00"

    elements = [b"\x48\x00\x15" + number(1) + b"\x00"]
    elements += [group("n" * length, leaves if level == levels - 1 else 1) for level in range(levels)]
    for i in range(leaves):
        name = f"{i:x}".encode()
        elements.append(b"\x15\x02\x25\x00\x18" + unsigned(len(name)) + name + b"\x00")
    return b"\x15\x02\x19\xfc" + unsigned(len(elements)) + b"".join(elements) + b"\x16\x00\x19\x0c\x00"


LONG_NAMES = {
    "long_names": (1, 500_000, 20_000),
    "long_names_of_many_levels": (60, 8000, 1000),
    "long_names_within_the_limits": (1, 15_000, 2300),
    "long_names_of_many_levels_within_the_limits": (60, 500, 106),
}
"""Levels, length of a name, and columns."""
ARROW_SCHEMAS = {
    "arrow_schema_of_long_names": (300_000, 100_000, 0),
    "arrow_schema_of_many_levels": (600_000, 1, 19),
    "arrow_schema_within_the_limits": (100_000, 1990, 0),
}
"""Length of the name, references to one field, and levels of two references each."""
SMALLEST = ("groups", "chunks", "schema", "schema_within_the_limits", "pairs", "pairs_of_arrow_schemas")
ONE_COLUMN = b"\x19\x2c\x48\x01r\x15\x02\x00\x15\x02\x25\x00\x18\x01c\x00"


def footer(kind: str) -> bytes:
    """A footer in less than 1 MiB that holds as many of the smallest ``kind`` as fit."""
    end = b"\x16\x00\x19\x0c"  # no rows, no row groups
    if kind in LONG_NAMES:
        return long_names(*LONG_NAMES[kind])
    if kind == "groups":
        return b"\x15\x02" + ONE_COLUMN + b"\x16\x00\x19" + structs(b"\x19\x0c\x16\x00\x16\x00\x00", 140_000) + b"\x00"
    if kind == "chunks":
        group = b"\x19" + structs(b"\x26\x00\x00", 340_000) + b"\x16\x00\x16\x00\x00"
        return b"\x15\x02" + ONE_COLUMN + b"\x16\x00\x19\x1c" + group + b"\x00"
    if kind in ("schema", "schema_within_the_limits"):
        leaf, count = b"\x15\x02\x25\x00\x18\x00\x00", 140_000 if kind == "schema" else FOOTER_ITEMS - 1
        root = b"\x48\x00\x15" + number(count) + b"\x00"
        elements = structs(leaf, count + 1)
        head = len(elements) - len(leaf) * (count + 1)
        return b"\x15\x02\x19" + elements[:head] + root + leaf * count + end + b"\x00"
    pair = b"\x18\x00\x00" if kind == "pairs" else b"\x18\x0cARROW:schema\x00"
    return b"\x15\x02" + ONE_COLUMN + end + b"\x19" + structs(pair, 990_000 // len(pair)) + b"\x00"


def parquet_file(kind: str) -> bytes:
    if kind in ARROW_SCHEMAS:
        length, count, levels = ARROW_SCHEMAS[kind]
        return parquet_with(schema_message("n" * length, count, levels))
    data = footer(kind)
    return b"PAR1" + data + struct.pack("<I", len(data)) + b"PAR1"


def in_data_file(root: Path, kind: str) -> tuple[int, Call]:
    data = parquet_file(kind)
    log = delta_log.DeltaLog(root).start(delta_log.field("c", "integer"))
    log.commit(1, delta_log.add("a.parquet", size=len(data)))
    (root / "a.parquet").write_bytes(data)
    return len(data), lambda: tf.open_table(root).scan().to_arrow()


def in_checkpoint(root: Path, kind: str) -> tuple[int, Call]:
    data = parquet_file(kind)
    delta_log.DeltaLog(root).write(f"{0:020d}.checkpoint.parquet", data)
    return len(data), partial(plan, root)


def in_delete_file(root: Path, kind: str) -> tuple[int, Call]:
    return of_files(root, delete=parquet_file(kind))


PLACES = {"data file": in_data_file, "checkpoint": in_checkpoint, "position deletes, Parquet": in_delete_file}
for place, build in PLACES.items():
    for kind in (
        "groups",
        "chunks",
        "schema",
        "schema_within_the_limits",
        "pairs",
        "pairs_of_arrow_schemas",
        *LONG_NAMES,
        *ARROW_SCHEMAS,
    ):
        name = f"footer_of_{kind}_in_{build.__name__.removeprefix('in_')}"
        ATTACKS[name] = Attack(name, place, partial(build, kind=kind))


# ---- running them ---------------------------------------------------------------------------------------------------


def memory(name: str) -> int:
    """A figure of this process in bytes (Linux): VmRSS, VmHWM."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    return 0


@cache
def warm() -> None:
    """Import everything, and read sound tables."""
    with tempfile.TemporaryDirectory() as folder:
        for i, build in enumerate((of_metadata, of_files, partial(of_files, delete=seeds.position_deletes()))):
            (root := Path(folder, str(i))).mkdir()
            build(root)[1]()
        log = delta_log.DeltaLog(Path(folder, "log")).start(delta_log.field("id", "long"))
        pq.write_table(pa.table({"id": [1]}), log.root / "a")
        log.commit(1, delta_log.add("a"))
        tf.open_table(log.root).scan("id > 0").to_arrow()
        tf.open_table(log.root).inspect.log()


def measured(one: Attack) -> dict[str, Any]:
    """Run an attack here. ``outcome``: "answer", or the name of the error; ``ours``: it is no foreign exception."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "t")
        root.mkdir()
        size, call = one.build(root)
        gc.collect()
        pa.default_memory_pool().release_unused()
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        before, started = memory("VmRSS"), time.process_time()
        outcome, ours = "answer", True
        try:
            call()
        except Exception as error:
            outcome, ours = type(error).__name__, isinstance(error, tf.TableFormatsError)
        seconds, peak = time.process_time() - started, memory("VmHWM") - before
    found = {"name": one.name, "file": one.file, "bytes": size, "outcome": outcome, "ours": ours}
    return {**found, "seconds": round(seconds, 3), "peak": max(peak, 0)}


def all_measured(names: list[str]) -> Iterator[str]:
    """The figures of each attack as a line of JSON, each from a process of its own."""
    warm()
    gc.freeze()  # the collections of the children need not look at what was imported
    for name in names or ATTACKS:
        source, target = os.pipe()
        child = os.fork()
        if not child:
            status = 1
            try:
                os.write(target, json.dumps(measured(ATTACKS[name])).encode())
                status = 0
            finally:
                os._exit(status)
        os.close(target)
        with os.fdopen(source) as lines:
            yield lines.read() or json.dumps({"name": name, "outcome": "crash", "ours": False, "seconds": 0, "peak": 0})
        os.waitpid(child, 0)


if __name__ == "__main__":
    for line in all_measured(sys.argv[1:]):
        print(line, flush=True)
