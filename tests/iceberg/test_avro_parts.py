"""A manifest of which threads decode a part each reads as one thread reads it, whatever is in it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tableformats_iceberg import snapshot
from tableformats_iceberg.avro import container as avro
from tableformats_iceberg.avro.container import read_columns, read_header
from tableformats_iceberg.manifests.entries import _wants

from tableformats.errors import TableFormatsError
from tableformats.io import compression as inflate
from tableformats.limits import Limits
from tableformats.plugin import ReadRequest, SnapshotSelector
from tableformats.plugin.report import ScanReport
from tests.support.examples import examples
from tests.support.iceberg_avro import LAST, check_against_oracle, manifests, similar_entries, spec_of
from tests.support.iceberg_manifests import blocks_of, container, entry, entry_schema, manifest_bytes, record, varint
from tests.support.iceberg_tables import open_table, table_with

DELETED = 2


@pytest.fixture(autouse=True, scope="module")
def small_parts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(avro, "_PART_BYTES", 1)
        yield


@settings(max_examples=examples(150), deadline=None)
@given(manifests(), st.sampled_from([1, 100]), st.sampled_from(["null", "deflate"]), st.integers(2, 5), st.booleans())
def test_generated_manifests_as_fastavro_reads_them(
    made: Any, interval: int, codec: str, threads: int, drops: bool
) -> None:
    records, partition = made
    if drops:
        records = [{**r, "status": abs(r["status"]) % 3} for r in records]
    data = manifest_bytes(records, partition, sync_interval=interval)
    check_against_oracle(data, codec=codec, threads=threads, without=DELETED if drops else None)


@pytest.mark.parametrize("codec", ["null", "deflate"])
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_parts_are_decoded_at_once(threads: int, codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if codec == "null" or inflate.libdeflate() is not None:
        monkeypatch.setattr(avro, "_decode_blocks", None)
    entries = similar_entries(random.Random(threads), 200)
    for number, one in enumerate(entries):
        one["status"] = number // 10 % 3
    data = manifest_bytes(entries, sync_interval=5_000)
    assert len(avro._cuts(data, read_header(data, "x"), threads)) == threads - 1
    assert check_against_oracle(data, codec=codec, threads=threads, without=DELETED) == 140
    assert check_against_oracle(data, codec=codec, threads=threads) == 200


def test_parts_are_of_about_one_size_and_end_where_blocks_do(monkeypatch: pytest.MonkeyPatch) -> None:
    data = container(record(("a", 1, "long")), [(100, varint(1) * 100)] * 40)
    header = read_header(data, "x")
    size = (len(data) - header.offset) // 40
    for parts in range(1, 45):
        cuts = avro._cuts(data, header, parts)
        assert len(cuts) == min(parts, 40) - 1
        for number, cut in enumerate(cuts, 1):
            place = (cut - header.offset) / size
            assert place == int(place) and 0 <= place - 40 * number / min(parts, 40) < 1
    monkeypatch.setattr(avro, "_PART_BYTES", (len(data) - header.offset) // 2)
    assert [len(avro._cuts(data, header, parts)) for parts in (1, 2, 3, 9)] == [0, 1, 1, 1]


@pytest.mark.parametrize("codec", ["null", "deflate"])
def test_damage_is_refused_as_one_thread_refuses_it(codec: str) -> None:
    entries = [entry("a", value_counts=[{"key": 1, "value": n}], split_offsets=[4] * n) for n in range(4)]
    data = manifest_bytes(entries, sync_interval=1, codec=codec)
    start = read_header(data, "x").offset
    assert len(blocks_of(data)) == 4
    refused = 0
    for position in range(start, len(data)):
        for mask in (0x01, 0x80):
            damaged = bytearray(data)
            damaged[position] ^= mask
            alone, shared = _outcome(bytes(damaged)), _outcome(bytes(damaged), threads=3)
            assert alone == shared, position
            refused += isinstance(alone[0], type)
    for size in range(start, len(data)):
        assert _outcome(data[:size]) == _outcome(data[:size], threads=3), size
    assert refused > (len(data) - start) // 2


def _outcome(data: bytes, **options: Any) -> tuple[Any, ...]:
    wants = _wants(spec_of(entry_schema()), 1)
    try:
        columns = read_columns(data, wants, [1], "x", **options)
    except TableFormatsError as error:
        return type(error), str(error), error.path, error.offset
    found = [*columns._columns.values(), *(c for held in columns._maps.values() for c in held.values())]
    arrays = [array for c in found for array in (c.numbers, c.offsets, c.data, c.known)]
    values = [None if array is None else array.tolist() for array in arrays]
    return columns.rows, values, [(c.width, c.flaws) for c in found]


@pytest.mark.parametrize(
    "limits",
    [{"entries": n} for n in (19, 20, 21)]
    + [{"decoded_bytes": n} for n in (1000, 2000, 5000, 10_000, 20_000, 50_000, 1 << 20)],
)
def test_limits_are_those_of_the_file(limits: dict[str, int]) -> None:
    data = manifest_bytes([entry("f" * 100, split_offsets=[4] * (n % 7)) for n in range(20)], sync_interval=1)
    expected = _outcome(data, limits=Limits(**limits))
    for threads in (2, 5):
        assert _outcome(data, limits=Limits(**limits), threads=threads) == expected


@pytest.mark.parametrize("paths", [["a", "bb"], ["bb", "bb", "a"], ["a", "b", "c"], ["a", "b", "c\0"], ["\0", "b"]])
def test_what_is_known_of_all_values_is_known_of_all_parts(paths: list[str]) -> None:
    """Whether they have one size, and whether all are text."""
    data = manifest_bytes([entry(path) for path in paths], sync_interval=1)
    for threads in (2, 3):
        assert _outcome(data, threads=threads) == _outcome(data)


def test_blocks_of_very_different_sizes() -> None:
    """Nearly all records are in one part, which so has more than its share."""
    data = container(record(("a", 1, "long")), [(5000, varint(9) * 5000), *[(1, varint(7))] * 3])
    for entries in (5003, 6000):
        assert read_columns(data, LAST, [], "x", threads=4, limits=Limits(entries=entries)).rows == 5003


@pytest.mark.parametrize(("n_manifests", "expected"), [(1, 8), (2, 4), (3, 2), (5, 1), (9, 1)])
def test_few_manifests_have_more_threads(
    n_manifests: int, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "thread_count", lambda: 8)
    manifests = [(manifest_bytes([entry(f"{i}-{n}") for n in range(5)]), {}) for i in range(n_manifests)]
    table = open_table(table_with(tmp_path, *manifests), relocate=True).snapshot(SnapshotSelector())
    seen, real = [], avro._decode_parts

    def noted(*arguments: Any) -> Any:
        seen.append(arguments[-1])
        return real(*arguments)

    for elsewhere in (False, True):
        parts = list(table.parts(ReadRequest((), ScanReport(), read_elsewhere=elsewhere)))
        with monkeypatch.context() as patch:
            patch.setattr(avro, "_decode_parts", noted)
            assert [batch.files.num_rows for part in parts for batch in part.read(ScanReport())] == [5] * n_manifests
        assert seen == [1 if elsewhere else expected] * n_manifests
        seen.clear()
