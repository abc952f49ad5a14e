"""Random manifests, and a check of how they are decoded against fastavro."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st
from tableformats_iceberg.avro.container import Want, read_columns
from tableformats_iceberg.manifests.entries import _wants
from tableformats_iceberg.manifests.manifest_list import _WANTS as LIST_WANTS

from tableformats.plugin import PartitionField, PartitionSpec
from tableformats.schema import primitive
from tableformats.schema.transforms import parse_transform
from tests.support.iceberg_manifests import assert_same, entry, fastavro_records, find, recompress


def spec_of(schema: Any) -> PartitionSpec:
    """A spec of every partition field that a manifest's Avro schema names."""
    _, file = find(schema, Want(2, ("data_file",)))
    _, partition = find(file, Want(102, ("partition",)))
    identity, binary = parse_transform("identity"), primitive("binary")
    fields = [PartitionField(f["field-id"], f["name"], 0, identity, binary) for f in partition["fields"]]
    return PartitionSpec(0, tuple(fields))


def map_keys(records: list[Any]) -> list[int]:
    found: set[int] = set()
    for item in records:
        for value in item["data_file"].values():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                found.update(pair["key"] for pair in value)
    return sorted(found)


def check_against_oracle(
    data: bytes, path: str = "x", codec: str | None = None, threads: int = 1, without: int | None = None
) -> int:
    """Compare the decoder with fastavro; with ``codec``, the decoder reads the same records in that codec. Those of the
    status ``without`` are left out."""
    schema, records = fastavro_records(data)
    if find(schema, LIST_WANTS[0])[0] == "manifest_path":
        wants, keys = LIST_WANTS, []
    else:
        wants, keys = _wants(spec_of(schema), 1), map_keys(records)
    drop = None
    if without is not None:
        drop = ((0,), without)
        records = [r for r in records if r["status"] != without]
    data = data if codec is None else recompress(data, codec)
    columns = read_columns(data, wants, keys, path, drop=drop, threads=threads)
    assert columns.rows == len(records)
    assert_same(columns, schema, records, wants, keys)
    return len(records)


INT32, INT64 = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)


def maps(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pairs = st.lists(st.tuples(INT32, values), max_size=4, unique_by=lambda p: p[0])
    return st.none() | pairs.map(lambda found: [{"key": k, "value": v} for k, v in found])


PARTITION_TYPES: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("int", INT32),
    ("long", INT64),
    ("string", st.text(max_size=20)),
    ("boolean", st.booleans()),
    ("bytes", st.binary(max_size=20)),
    ("double", st.floats(allow_nan=False)),
    ("float", st.floats(width=32, allow_nan=False)),
    ({"type": "fixed", "name": "f16", "size": 16}, st.binary(min_size=16, max_size=16)),
]


@st.composite
def manifests(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[tuple[str, int, Any]]]:
    kinds = draw(st.lists(st.sampled_from(PARTITION_TYPES), max_size=3, unique_by=lambda k: str(k[0])))
    partition = [(f"p{i}", 1000 + i, kind) for i, (kind, _) in enumerate(kinds)]
    values = st.fixed_dictionaries({f"p{i}": st.none() | s for i, (_, s) in enumerate(kinds)})
    file = st.fixed_dictionaries(
        {
            "file_path": st.text(max_size=30),
            "content": st.integers(0, 2),
            "partition": values,
            "record_count": INT64,
            "file_size_in_bytes": INT64,
            "file_format": st.sampled_from(["PARQUET", "avro"]),
            "lower_bounds": maps(st.binary(max_size=8)),
            "upper_bounds": maps(st.binary(max_size=8)),
            "value_counts": maps(INT64),
            "null_value_counts": maps(INT64),
            "nan_value_counts": maps(INT64),
            "equality_ids": st.none() | st.lists(INT32, max_size=4),
            "split_offsets": st.none() | st.lists(INT64, max_size=4),
            "first_row_id": st.none() | INT64,
            "referenced_data_file": st.none() | st.text(max_size=10),
        }
    )
    entries = st.fixed_dictionaries(
        {"status": INT32, "snapshot_id": st.none() | INT64, "sequence_number": st.none() | INT64, "data_file": file}
    )
    return draw(st.lists(entries, max_size=6)), partition


LAST = (Want(1, ("a",)),)


def _counts(source: random.Random, n: int, bits: int) -> list[dict[str, int]]:
    return [{"key": k, "value": source.getrandbits(bits) - source.getrandbits(bits)} for k in range(1, n + 1)]


def _bounds(source: random.Random, sizes: list[int]) -> list[dict[str, Any]]:
    return [{"key": k, "value": source.randbytes(size)} for k, size in enumerate(sizes, 1)]


def similar_entries(source: random.Random, n: int) -> list[dict[str, Any]]:
    """Entries that resemble the one before, until they do not."""
    found = []
    columns, bits, sizes = 8, 20, [8, 8, 2, 4]
    for i in range(n):
        if source.random() < 0.1:
            columns, bits = source.choice([0, 1, 8, 31, 32, 40]), source.choice([1, 6, 7, 20, 55, 56, 62])
            sizes = [source.choice([0, 1, 8, 16, 63, 64, 65, 200]) for _ in range(source.randrange(20))]
        found.append(
            entry(
                "f" * source.choice([3, 3, 3, 70]),
                records=i,
                content=1,
                column_sizes=_counts(source, columns, bits),
                value_counts=_counts(source, columns, bits),
                null_value_counts=source.choice([None, _counts(source, columns, 1)]),
                lower_bounds=_bounds(source, sizes),
                upper_bounds=_bounds(source, sizes),
                split_offsets=[source.getrandbits(bits) for _ in range(source.choice([1, 1, 1, 30]))],
            )
        )
    return found
