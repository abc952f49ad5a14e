"""Manifest lists as they are read: each number of a row, what rows may leave out, and the summaries of partitions."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pytest
from tableformats_iceberg.manifests.manifest_list import (
    DATA,
    DELETES,
    Manifest,
    ManifestList,
    manifest_list_of_paths,
    parse_manifest_list,
)

from tableformats.errors import CorruptMetadataError, LimitExceededError, UnsupportedFeatureError
from tableformats.limits import Limits
from tableformats.plugin import (
    Decision,
    ManifestFilter,
    PartitionField,
    PartitionSpec,
    SnapshotSelector,
    parse_transform,
    primitive,
)
from tableformats.plugin.report import ScanReport
from tableformats.pruning.compiled_predicate import NONE, SOME
from tests.support.iceberg_manifests import SYNC, entry, manifest_bytes, record
from tests.support.iceberg_tables import SUMMARY, open_table, table_with

OPTIONAL = {"content": "int", "sequence_number": "long", "min_sequence_number": "long", "added_snapshot_id": "long"}
FIELDS = [
    ("manifest_path", 500, ["null", "string"]),
    ("manifest_length", 501, ["null", "long"]),
    ("partition_spec_id", 502, ["null", "int"]),
    ("content", 517, ["null", "int"]),
    ("sequence_number", 515, ["null", "long"]),
    ("min_sequence_number", 516, ["null", "long"]),
    ("added_snapshot_id", 503, ["null", "long"]),
    ("added_files_count", 504, ["null", "int"]),
    ("existing_files_count", 505, ["null", "int"]),
    ("deleted_files_count", 506, ["null", "int"]),
    ("added_rows_count", 512, ["null", "long"]),
    ("existing_rows_count", 513, ["null", "long"]),
    ("deleted_rows_count", 514, ["null", "long"]),
    ("key_metadata", 519, ["null", "bytes"]),
    ("first_row_id", 520, ["null", "long"]),
    ("partitions", 507, ["null", {"type": "array", "items": SUMMARY, "element-id": 508}]),
]
WHOLE = {
    "manifest_path": "a",
    "manifest_length": 11,
    "partition_spec_id": 2,
    "content": 1,
    "sequence_number": 3,
    "min_sequence_number": 4,
    "added_snapshot_id": 5,
    "added_files_count": 6,
    "existing_files_count": 7,
    "deleted_files_count": 8,
    "added_rows_count": 9,
    "existing_rows_count": 10,
    "deleted_rows_count": 12,
    "first_row_id": 13,
}
LEAST = {"manifest_path": "b", "manifest_length": 0, "partition_spec_id": 0}


def encoded(*rows: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    schema = fastavro.parse_schema(record(*FIELDS, name="manifest_file"))
    fastavro.writer(out, schema, rows, codec="null", sync_marker=SYNC)
    return out.getvalue()


def parsed(*rows: dict[str, Any], limits: Limits | None = None) -> ManifestList:
    return parse_manifest_list(encoded(*rows), "l", limits or Limits())


def test_rows() -> None:
    data = encoded(WHOLE, LEAST)
    found = parse_manifest_list(data, "l")
    assert found.manifests == [
        Manifest("a", 11, 2, DELETES, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13),
        Manifest("b", 0, 0, DATA, 0, 0, None, -1, -1, -1, -1, -1, -1, None),
    ]
    assert found.size_bytes == len(data)


def test_manifests_that_the_metadata_names_itself() -> None:
    found = manifest_list_of_paths(["a", "b"])
    unknown = (-1, None, DATA, 0, 0, None, -1, -1, -1, -1, -1, -1, None)
    assert found.manifests == [Manifest("a", *unknown), Manifest("b", *unknown)]
    assert found.columns is None and found.size_bytes == 0


@pytest.mark.parametrize(
    ("name", "value", "words", "field"),
    [
        ("manifest_path", None, "a required field is missing or null", "manifest_path"),
        ("manifest_length", None, "a required field is missing or null", "manifest_length"),
        ("partition_spec_id", None, "a required field is missing or null", "partition_spec_id"),
        ("content", 2, "a manifest has content 2", "content"),
        ("content", -1, "a manifest has content -1", "content"),
        ("manifest_length", -1, "a negative length, sequence number or count", None),
        ("sequence_number", -1, "a negative length, sequence number or count", None),
        *((name, -2, "a negative length, sequence number or count", None) for name in WHOLE if name.endswith("_count")),
    ],
)
def test_rows_that_are_none(name: str, value: Any, words: str, field: str | None) -> None:
    with pytest.raises(CorruptMetadataError, match=words) as caught:
        parsed(LEAST, {**WHOLE, name: value})
    assert (caught.value.field, caught.value.path) == (field, "l")


def test_encrypted_manifests() -> None:
    with pytest.raises(UnsupportedFeatureError, match="the manifests are encrypted") as caught:
        parsed(LEAST, {**WHOLE, "key_metadata": b""})
    assert caught.value.field == "key_metadata"


def test_a_manifest_may_stand_a_hundred_times() -> None:
    same, other = [LEAST] * 100, {**LEAST, "manifest_path": "other"}
    assert len(parsed(*same).manifests) == 100 and len(parsed(*same, other).manifests) == 101
    with pytest.raises(CorruptMetadataError, match="the list names one manifest 101 times") as caught:
        parsed(*same, LEAST)
    assert caught.value.field == "manifest_path"


def test_how_many_manifests_a_small_list_may_have() -> None:
    """Each counts for 2 KiB, and 1 MiB may be made of the list."""
    rows = [{**LEAST, "manifest_path": f"m{i}"} for i in range(513)]
    limits = Limits(expansion=1)
    assert len(parsed(*rows[:512], limits=limits).manifests) == 512
    with pytest.raises(LimitExceededError, match="513 manifests of a manifest list") as caught:
        parsed(*rows, limits=limits)
    assert (caught.value.limit, caught.value.path) == ("expansion", "l")


# ---- partition summaries --------------------------------------------------------------------------------------------

IDENTITY = parse_transform("identity")
SPEC = PartitionSpec(
    0,
    (
        PartitionField(1000, "p", 1, IDENTITY, primitive("int")),
        PartitionField(1001, "q", 2, IDENTITY, primitive("string")),
    ),
)


def number(value: int) -> bytes:
    return value.to_bytes(4, "little")


def summary(low: bytes | None, high: bytes | None, null: bool = False, nan: bool | None = None) -> dict[str, Any]:
    return {"contains_null": null, "contains_nan": nan, "lower_bound": low, "upper_bound": high}


def listed(name: str, *summaries: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**LEAST, "manifest_path": name, "partitions": list(summaries), "existing_files_count": 1, **more}


CUT = "aé".encode()[:-1]
MANIFESTS = [
    listed("whole", summary(number(1), number(2), True), summary(b"b", b"c", nan=True)),
    listed("unbounded", summary(None, None), summary(None, None, True)),
    listed("half", summary(number(3), None), summary(b"d", b"e")),
    listed("cut below", summary(number(4), number(5)), summary(CUT, b"f")),
    listed("cut above", summary(number(6), number(7)), summary(b"a", CUT)),
    listed("too few", summary(number(8), number(9))),
    listed("of another spec", summary(number(8), number(9)), summary(b"a", b"a"), partition_spec_id=3),
]


def test_summaries_of_several_fields() -> None:
    found = parsed(*MANIFESTS).summaries(np.arange(6), SPEC)
    assert found is not None and found.rows.tolist() == [0, 1, 2, 3, 4]
    assert found.sound.tolist() == [True, True, False, True, False]
    assert {i: found.lower[i].to_pylist() for i in found.lower} == {
        1000: [1, None, 3, 4, 6],
        1001: ["b", None, "d", "a", "a"],
    }
    assert {i: found.upper[i].to_pylist() for i in found.upper} == {
        1000: [2, None, None, 5, 7],
        1001: ["c", None, "e", "f", None],
    }
    assert {i: found.contains_null[i].to_pylist() for i in found.contains_null} == {
        1000: [True, False, False, False, False],
        1001: [False, True, False, False, False],
    }
    assert {i: found.contains_nan[i].to_pylist() for i in found.contains_nan} == {
        1000: [None] * 5,
        1001: [True, None, None, None, None],
    }


def test_lists_without_summaries() -> None:
    found = parsed(*MANIFESTS)
    assert found.summaries(np.arange(1), PartitionSpec(0, ())) is None
    assert manifest_list_of_paths(["a"]).summaries(np.arange(1), SPEC) is None


def test_summaries_are_decoded_once() -> None:
    found = parsed(*MANIFESTS)
    first = found.summaries(np.arange(2), SPEC)
    assert found.summaries(np.arange(2), SPEC) is first and found.summaries(np.arange(3), SPEC) is not first


class Filter(ManifestFilter):
    """Says of manifests what it was told to say."""

    def __init__(self, verdicts: Sequence[int], undecided: dict[int, Sequence[bool]]) -> None:
        self.decision = Decision(
            np.array(verdicts, np.uint8), {column: np.array(flags, bool) for column, flags in undecided.items()}
        )

    def decide(self, *asked: Any, **more: Any) -> Decision:
        return self.decision


def test_what_a_filter_keeps_and_which_columns_it_does_not_need() -> None:
    """Of summaries that prove nothing, and of manifests without summaries, it needs all columns."""
    verdicts = [SOME, NONE, NONE, SOME, SOME]
    undecided = {5: [True, True, False, False, False], 6: [False, False, False, True, False]}
    found, report = parsed(*MANIFESTS), ScanReport()
    kept = found.select_with_columns(DATA, {0: SPEC}, Filter(verdicts, undecided), report)
    assert {manifest.path: set(columns) for manifest, columns in kept} == {
        "whole": {6},
        "half": set(),
        "cut below": {5},
        "cut above": set(),
        "too few": set(),
        "of another spec": set(),
    }
    assert (report.manifests_total, report.manifests_skipped) == (7, 1)


@pytest.mark.parametrize(("added_by", "files", "rows"), [(None, 5, 50), (7, 2, 20)])
def test_files_of_manifests_that_a_filter_skips(added_by: int | None, files: int, rows: int) -> None:
    """Of the changes of one snapshot, only those are counted that it added."""
    counts = {"added_files_count": 2, "existing_files_count": 3, "added_rows_count": 20, "existing_rows_count": 30}
    one = listed("a", summary(None, None), summary(None, None), added_snapshot_id=7, **counts)
    report = ScanReport()
    assert parsed(one).select(DATA, {0: SPEC}, Filter([NONE], {}), report, added_by) == []
    assert (report.manifests_skipped, report.files_total, report.rows_listed) == (1, files, rows)


# ---- the manifests of a table ---------------------------------------------------------------------------------------


def test_entries_are_kept_with_the_columns_that_were_asked_for(tmp_path: Path) -> None:
    bound = [{"key": i, "value": number(i)} for i in (1, 2)]
    data = manifest_bytes([entry("a", lower_bounds=bound)])
    snapshot = open_table(table_with(tmp_path, (data, {})), relocate=True).snapshot(SnapshotSelector())
    source, (manifest,) = snapshot.manifests, snapshot.manifest_list.manifests
    assert not source.is_cached(manifest)
    report = ScanReport()
    first = source.entries(manifest, [1], report)
    assert source.is_cached(manifest) and source.entries(manifest, [1]) is source.entries(manifest, []) is first
    both = source.entries(manifest, [1, 2], report)
    assert both is not first and source.entries(manifest, [2]) is both
    assert (report.metadata_files_read, report.metadata_bytes_read) == (2, 2 * len(data))
    found, counted = source.counted_entries(manifest, [3])
    assert found is not both and counted.metadata_files_read == 1
