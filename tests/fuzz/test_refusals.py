"""What a table's bytes are refused for: each case, the test that holds it, and tests of what no other place has."""

from __future__ import annotations

import ast
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from tableformats import open_table
from tableformats.errors import CorruptMetadataError
from tableformats.io.compression import INFLATE_ERRORS, inflate_avro
from tests.support.delta_log import DeltaLog
from tests.support.iceberg_manifests import compress

HERE = Path(__file__).parents[1]
AVRO, BITMAP = "iceberg/test_avro.py", "support/bitmaps.py"
VECTORS, BLOBS = "delta/test_deletion_vectors.py", "iceberg/test_deletes.py"
REPLAY, TABLE, STORAGE = "delta/test_replay.py", "iceberg/test_table_metadata.py", "io/test_storage.py"
HERE_TOO = "fuzz/test_refusals.py"

REFUSED: dict[str, list[str]] = {
    "Avro: varint over 10 bytes": [f"{AVRO}::test_varints", f"{AVRO}::a varint of eleven bytes"],
    "Avro: varint truncated": [f"{AVRO}::a truncated varint"],
    "Avro: varint overflowing": [f"{AVRO}::test_varints", f"{AVRO}::an int of 33 bits"],
    "Avro: length negative": [f"{AVRO}::a negative length"],
    "Avro: length past the end": [f"{AVRO}::a length past the end"],
    "Avro: length 2^62": [f"{AVRO}::a length of 2^62"],
    "Avro: block count INT64_MIN": [f"{AVRO}::an array of INT64_MIN items"],
    "Avro: negative block count": [
        f"{AVRO}::test_a_wanted_list_with_a_false_block_size",
        f"{AVRO}::an array block of negative size",
    ],
    "Avro: count above the remaining bytes": [
        f"{AVRO}::an array longer than the bytes",
        f"{AVRO}::test_a_record_count_that_no_byte_backs",
    ],
    "Avro: union index": [f"{AVRO}::a union index past the end", f"{AVRO}::a negative union index"],
    "Avro: enum index": [f"{AVRO}::an enum index past the end"],
    "Avro: negative fixed size": [f"{AVRO}::test_broken_schemas"],
    "Avro: schema recursion and depth": [f"{AVRO}::test_broken_schemas"],
    "Avro: sync marker": [f"{AVRO}::test_false_counts_and_sizes_of_blocks"],
    "Avro: unknown codec": [f"{AVRO}::test_unknown_codec"],
    "Avro: manifest cut at a block boundary": [f"{TABLE}::test_a_manifest_cut_at_a_block_boundary"],
    "Avro: array of 100 million nulls": [f"{AVRO}::test_an_array_of_nulls_costs_nothing"],
    "codecs: bombs": [f"{AVRO}::test_bombs_stop_at_the_limit"],
    "codecs: truncated, trailing bytes": [f"{AVRO}::test_damaged_compressed_blocks"],
    "codecs: false declared size": [f"{HERE_TOO}::test_a_false_declared_size"],
    "roaring: container counts": [f"{BITMAP}::negative container count", f"{BITMAP}::65537 containers"],
    "roaring: runs": [f"{BITMAP}::no runs", f"{BITMAP}::runs overlap", f"{BITMAP}::run overflows"],
    "roaring: order": [
        f"{BITMAP}::containers descend",
        f"{BITMAP}::buckets repeat",
        f"{BITMAP}::array descends",
        f"{BITMAP}::array repeats",
    ],
    "roaring: cardinality": [f"{BITMAP}::bitset has more", f"{BITMAP}::runs have less"],
    "roaring: 2^40 buckets": [f"{BITMAP}::2^40 buckets"],
    "roaring: trailing bytes": [f"{BITMAP}::trailing byte"],
    "vectors: magic, version, size, CRC": [
        f"{VECTORS}::test_every_flipped_bit",
        f"{VECTORS}::test_damaged_bitmaps",
        f"{BLOBS}::test_damaged_vectors",
    ],
    "vectors: cardinality": [f"{VECTORS}::test_descriptor_and_file_disagree", f"{BLOBS}::test_damaged_vectors"],
    "vectors: positions below the record count": [
        f"{VECTORS}::test_positions_past_the_file",
        f"{BLOBS}::test_damaged_vectors",
    ],
    "vectors: inline under 4 bytes, bad Z85": [f"{VECTORS}::test_damaged_inline_text", f"{VECTORS}::test_damaged_uuid"],
    "vectors: offset negative or past the file": [f"{VECTORS}::test_descriptor_and_file_disagree"],
    "Puffin: offset and length": [f"{BLOBS}::test_vector_ranges"],
    "Puffin: blob and manifest disagree": [f"{BLOBS}::test_damaged_vectors"],
    "JSON: depth 100 k": [f"{REPLAY}::test_refused_with_offset", f"{TABLE}::test_malformed_json"],
    "JSON: integers of 5000 digits": [f"{REPLAY}::test_refused_with_offset", f"{TABLE}::test_malformed_json"],
    "JSON: duplicate keys": [
        f"{TABLE}::test_malformed_json",
        "delta/test_json.py::test_a_wanted_member_that_stands_twice",
    ],
    "JSON: NaN and 1e400": [f"{HERE_TOO}::test_commits_that_are_no_json_of_ours", f"{TABLE}::test_malformed_json"],
    "JSON: invalid UTF-8": [f"{REPLAY}::test_refused_with_offset", f"{TABLE}::test_malformed_json"],
    "JSON: lone surrogates, NUL": [
        f"{HERE_TOO}::test_commits_that_are_no_json_of_ours",
        f"{TABLE}::test_json_strings_that_are_no_text",
    ],
    "JSON: torn last line, empty file": [f"{REPLAY}::test_refused_with_offset"],
    "checkpoints: truncated": ["delta/test_damage.py::test_checkpoint_cut_at_every_byte"],
    "checkpoints: missing columns": [f"{REPLAY}::test_add_without_path_is_damage", f"{REPLAY}::test_absent_columns"],
    "checkpoints: wrong types": [f"{REPLAY}::test_columns_of_the_wrong_type"],
    "paths: decoded once, segments": [
        f"{STORAGE}::test_encoded_paths_are_decoded_once",
        f"{STORAGE}::test_a_prefix_is_whole_segments",
    ],
    "paths: climbing, other stores": [f"{STORAGE}::test_other_stores_and_climbing_paths_are_refused"],
    "paths: local files from a remote table": [f"{STORAGE}::test_a_remote_table_cannot_name_local_files"],
    "paths: allow_paths": [f"{STORAGE}::test_allowed_prefixes_are_whole_segments"],
}
"""Case -> ``file::name`` of a test function, or of a case in a table of cases there."""


@cache
def names_in(file: str) -> set[str]:
    """The test functions of a file, and the texts in it."""
    tree = ast.parse((HERE / file).read_text())
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return functions | {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


@pytest.mark.parametrize("case", REFUSED)
def test_every_case_has_a_test(case: str) -> None:
    for test in REFUSED[case]:
        file, _, name = test.partition("::")
        assert name in names_in(file), test


@pytest.mark.parametrize("codec", ["snappy", "zstandard"])
def test_a_false_declared_size(codec: str) -> None:
    """Snappy's size is a bound, and must be what comes out; that of a zstandard frame is believed by nobody."""
    plain = bytes(range(256)) * 40
    data = compress(plain, codec)
    assert inflate_avro(codec, data, len(plain)) == plain
    if codec == "snappy":
        assert data[:2] == b"\x80\x50"
        for declared in (b"\x00", b"\xff\x4f", b"\x81\x50", b"\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff"):
            assert_refused(codec, declared + data[2:], 1 << 20)
        return
    width, is_single = {1: 2, 2: 4, 3: 8}[data[4] >> 6], data[4] >> 5 & 1  # RFC 8878, 3.1.1.1.1
    at = 6 - is_single
    for size in (0, 1, 255, 2 ** (8 * width) - 1):
        assert_refused(codec, data[:at] + size.to_bytes(width, "little") + data[at + width :], 1 << 20)


def assert_refused(codec: str, data: bytes, limit: int) -> None:
    with suppress(*INFLATE_ERRORS):
        assert inflate_avro(codec, data, limit) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"add":{"path":"a","size":NaN,"partitionValues":{}}}',
        '{"add":{"path":"a","size":1e400,"partitionValues":{}}}',
        '{"add":{"path":"a","size":Infinity,"partitionValues":{}}}',
        r'{"add":{"path":"a\u0000","size":1,"partitionValues":{}}}',
        r'{"add":{"path":"a\ud800","size":1,"partitionValues":{}}}',
        r'{"add":{"path":"a","size":1,"partitionValues":{"p":"\udc00"}}}',
        '{"add":{"path":"a\0b","size":1}}',
    ],
)
def test_commits_that_are_no_json_of_ours(tmp_path: Path, text: str) -> None:
    log = DeltaLog(tmp_path / "t").start()
    log.write(f"{1:020d}.json", text.encode())
    with pytest.raises(CorruptMetadataError) as caught:
        open_table(log.root).scan().plan()
    assert caught.value.path == str(log.directory / f"{1:020d}.json")
