"""The verifier's rules for manifests: headers, entries and statistics, in manifests that are made by hand."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import fastavro
import pytest
from tableformats_iceberg.verification import entry_rules
from tableformats_iceberg.verification.entry_columns import doubtful_entries
from tableformats_iceberg.verification.manifest_file import TableFacts, read_manifest

import tableformats as tf
from tests.support.iceberg_manifests import entry, entry_schema, manifest_bytes
from tests.support.iceberg_tables import parse, table_with

Json = dict[str, Any]
UUID = "f79c3e09-677c-4bbd-a479-3f349cb785e7"
DEEP = "[" * 100_000
BY = [{"source-id": 1, "field-id": 1000, "name": "p", "transform": "identity"}]


def headers(content: str | None = "data", spec: Any = (), **more: str | None) -> dict[str, str]:
    found = {
        "schema": json.dumps({"type": "struct", "fields": []}),
        "partition-spec": json.dumps(list(spec)),
        "partition-spec-id": "0",
        "format-version": "2",
        "content": content,
        **{name.replace("_", "-"): value for name, value in more.items()},
    }
    return {name: value for name, value in found.items() if value is not None}


def words(
    folder: Path,
    *entries: Json,
    version: int = 2,
    content: int = 0,
    spec: Any = (),
    header: Any = None,
    orders: Any = (),
    **table: Any,
) -> list[str]:
    """What the verifier says of a manifest, of which the table has one."""
    kinds = [(f["name"], f["field-id"], "int") for f in spec]
    told = headers(("data", "deletes")[content], spec, format_version=str(version)) if header is None else header
    data = manifest_bytes([{"snapshot_id": 7, **one} for one in entries], kinds, version, metadata=told)
    specs: Json = {"sort-orders": list(orders)} if orders else {}
    specs |= {"partition-specs": [{"spec-id": 0, "fields": list(spec)}], "last-partition-id": 1000}
    known = {"table-uuid": UUID, "format-version": max(version, 2), "next-row-id": 10, **specs, **table}
    made = table_with(folder, (data, {"content": content}), **known)
    doubtful: list[bool] = []

    def looking(*given: Any) -> Any:
        marks = doubtful_entries(*given)
        doubtful.extend(marks.tolist())
        return marks

    with patch.object(entry_rules, "doubtful_entries", looking):
        found = [v for v in tf.open_table(made, relocate=True)._opened.verify() if str(v.path).endswith("m0.avro")]
    if content == 0:
        wrong = [v for v in found if v.rule not in ("manifest-header", "metrics") and "no value within" not in v.what]
        paths = [one["data_file"]["file_path"] for one in entries]
        expected = [any(f"'{path}'" in v.what for v in wrong) for path in paths]
        assert doubtful == expected, "what is sound by the columns is not looked at"
    return [f"{one.rule}: {one.what}" for one in found]


def one(**more: Any) -> Json:
    return {**entry("f", sequence_number=5, **more), "file_sequence_number": 5}


ORDERS = [{"order-id": 3, "fields": [{"source-id": 1, "direction": "asc", "null-order": "nulls-first"}]}]


@pytest.mark.parametrize(
    ("found", "what"),
    [
        (one(), []),
        (one(records=0), []),
        (one(records=0, file_size_in_bytes=0, split_offsets=[]), ["data-file: 'f' has 0 rows and 0 bytes"]),
        (
            one(records=-1),
            [
                *(f"metrics: field {n} of 'f' has nan values, nan NULL, nan NaN, of -1 rows" for n in (1, 2)),
                "data-file: 'f' has -1 rows and 100 bytes",
            ],
        ),
        (one(file_size_in_bytes=1), []),
        (one(file_size_in_bytes=0), ["data-file: 'f' has 10 rows and 0 bytes"]),
        (one(split_offsets=[0, 99]), []),
        (one(split_offsets=[0, 100]), ["data-file: split offsets of 'f' lie outside of its 100 bytes: [0, 100]"]),
        (one(split_offsets=[-1, 4]), ["data-file: split offsets of 'f' lie outside of its 100 bytes: [-1, 4]"]),
        (one(split_offsets=[4, 9, 9]), ["data-file: split offsets of 'f' are not ascending: [4, 9, 9]"]),
        (one(sort_order_id=3), []),
        (one(sort_order_id=0), []),
        (one(sort_order_id=4), ["data-file: 'f' has sort order 4, which the table lacks"]),
        (one(file_format="PUFFIN"), ["data-file: 'f' has the format 'PUFFIN'"]),
        (one(file_format="orc"), []),
        *((one(file_format=name), []) for name in ("AVRO", "avro", "ORC", "parquet")),
        (one(split_offsets=[]), []),
        (one(split_offsets=[7]), []),
        (one(equality_ids=[]), []),
        (one(first_row_id=1), ["row-lineage: 'f' has a first_row_id"]),
        (one(referenced_data_file="x"), ["delete-file: 'f' references a data file, and has no position deletes"]),
        (one(content_offset=0), ["delete-file: 'f' references a data file, and has no position deletes"]),
        (one(content_size_in_bytes=0), ["delete-file: 'f' references a data file, and has no position deletes"]),
        (one(equality_ids=[1]), ["delete-file: 'f' has equality_ids, and no equality deletes"]),
        (one(content=1), ["data-file: 'f' has content 1 in a manifest of data"]),
        ({**one(), "status": 3}, ["status: 'f' has status 3"]),
        ({**one(), "status": -1}, ["status: 'f' has status -1"]),
        ({**one(), "sequence_number": None}, []),
        ({**one(), "sequence_number": -1}, ["sequence-number: 'f' has a negative sequence number"]),
        ({**one(), "file_sequence_number": -1}, ["sequence-number: 'f' has a negative sequence number"]),
        ({**one(), "sequence_number": 0, "file_sequence_number": 0}, []),
        ({**one(), "status": 2}, []),
        ({**one(), "status": 0}, []),
        (
            {**one(), "status": 2, "sequence_number": None},
            ["sequence-number: 'f' is not ADDED, and has no sequence numbers of its own"],
        ),
        (
            {**one(), "status": 0, "file_sequence_number": None},
            ["sequence-number: 'f' is not ADDED, and has no sequence numbers of its own"],
        ),
    ],
)
def test_entries_of_data(tmp_path: Path, found: Json, what: list[str]) -> None:
    assert words(tmp_path, found, orders=ORDERS) == what


def test_split_offsets_of_several_entries(tmp_path: Path) -> None:
    found = []
    for path, offsets in {"f": [4, 9], "g": [4], "h": [9, 4], "i": None, "j": [2, 3]}.items():
        found.append({**entry(path, sequence_number=5, split_offsets=offsets), "file_sequence_number": 5})
    assert words(tmp_path, *found) == ["data-file: split offsets of 'h' are not ascending: [9, 4]"]


def test_entries_of_version_1(tmp_path: Path) -> None:
    first = headers(format_version="1", content=None)
    found = [entry("f"), {**entry("g"), "snapshot_id": None}, {**entry("h"), "status": 3}]
    assert words(tmp_path, *found, version=1, header=first) == [
        "status: 'g' has no snapshot_id",
        "status: 'h' has status 3",
    ]


def deletes(**more: Any) -> Json:
    return one(**{"content": 1, **more})


VECTOR = {"file_format": "PUFFIN", "referenced_data_file": "x", "content_offset": 4, "content_size_in_bytes": 40}


@pytest.mark.parametrize(
    ("version", "found", "what"),
    [
        (2, deletes(), []),
        (2, deletes(file_size_in_bytes=1, records=0, split_offsets=[0]), []),
        (2, {**deletes(), "sequence_number": 0, "file_sequence_number": 0}, []),
        (2, deletes(sort_order_id=0), []),
        (2, deletes(sort_order_id=3), ["data-file: position deletes 'f' have a sort order"]),
        (2, deletes(content=2, equality_ids=[1, 2], sort_order_id=3), []),
        (2, deletes(content=2), ["delete-file: equality deletes 'f' have no equality_ids"]),
        (2, deletes(content=2, equality_ids=[]), ["delete-file: equality deletes 'f' have no equality_ids"]),
        (
            2,
            deletes(content=2, equality_ids=[1, 9]),
            ["delete-file: equality deletes 'f' have the field 9, which no schema has"],
        ),
        (2, deletes(content=0), ["data-file: 'f' has content 0 in a manifest of deletes"]),
        (2, deletes(referenced_data_file="x"), []),
        (2, deletes(**VECTOR), ["deletion-vector: 'f' is in a manifest of version 2"]),
        (3, deletes(**VECTOR), []),
        (3, deletes(**{**VECTOR, "content_size_in_bytes": 96}), []),
        (
            3,
            deletes(**{**VECTOR, "content_size_in_bytes": 97}),
            ["deletion-vector: 'f' has 100 bytes, and the vector lies outside of them"],
        ),
        (3, deletes(**{**VECTOR, "content_offset": 0}), []),
        (
            3,
            deletes(**{**VECTOR, "content_offset": -1}),
            ["deletion-vector: 'f' has 100 bytes, and the vector lies outside of them"],
        ),
        *(
            (3, deletes(**{**VECTOR, name: None}), ["deletion-vector: 'f' lacks its data file, offset or size"])
            for name in ("referenced_data_file", "content_offset", "content_size_in_bytes")
        ),
        (3, deletes(**VECTOR, records=0), ["deletion-vector: 'f' deletes no row"]),
        (3, {**deletes(**VECTOR, records=0), "status": 2}, []),
        (3, deletes(), ["delete-file: position deletes 'f' were added in version 3"]),
        (3, {**deletes(), "status": 0}, []),
        (3, deletes(content=2, equality_ids=[1], first_row_id=1), ["row-lineage: 'f' has a first_row_id"]),
    ],
)
def test_entries_of_deletes(tmp_path: Path, version: int, found: Json, what: list[str]) -> None:
    assert words(tmp_path, found, version=version, content=1, orders=ORDERS) == what


def test_what_is_sound_of_a_file_that_is_not(tmp_path: Path) -> None:
    found = one(first_row_id=1, file_size_in_bytes=0, partition={"p": 0})
    assert words(tmp_path, found, version=3, spec=of_transform("bucket[4]")) == [
        "data-file: 'f' has 10 rows and 0 bytes"
    ]


@pytest.mark.parametrize("name", ["referenced_data_file", "content_offset", "content_size_in_bytes"])
def test_data_of_version_3_that_names_a_vector(tmp_path: Path, name: str) -> None:
    assert words(tmp_path, one(**{name: VECTOR[name]}), version=3) == [
        "delete-file: 'f' references a data file, and has no position deletes"
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("status", "status"),
        ("file_path", "file_path"),
        ("file_format", "file_format"),
        ("record_count", "record_count"),
        ("file_size_in_bytes", "file_size"),
    ],
)
def test_members_that_an_entry_must_have(name: str, said: str) -> None:
    schema, found = entry_schema(), one()
    for fields, values in ((schema["fields"], found), (schema["fields"][-1]["type"]["fields"], found["data_file"])):
        fields[:] = [{**f, "type": ["null", f["type"]]} if f["name"] == name else f for f in fields]
        values |= dict.fromkeys({name} & {*values})
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema), [found])
    files: Any = SimpleNamespace(
        read=lambda path, kind: (out.getvalue(), path), storage=SimpleNamespace(limits=tf.Limits())
    )
    row: Any = SimpleNamespace(path="m", spec_id=0, length=len(out.getvalue()))
    with pytest.raises(tf.CorruptMetadataError) as caught:
        read_manifest(files, row, TableFacts(parse(), frozenset(), {}))
    assert (caught.value.path, caught.value.field) == ("m", said)


def test_row_ids_in_version_3(tmp_path: Path) -> None:
    found = one(first_row_id=1)
    assert words(tmp_path, found, version=3) == []


@pytest.mark.parametrize(
    ("header", "what"),
    [
        (headers(), []),
        (headers(schema=None), ["schema is missing"]),
        (headers(partition_spec=None), ["partition-spec is missing"]),
        (headers(partition_spec_id=None), ["partition-spec-id is missing"]),
        (headers(format_version=None, partition_spec_id=None, content=None), []),
        (headers(None), ["content is missing"]),
        (headers("deletes"), ["content is 'deletes', the list says 'data'"]),
        (headers(format_version="3"), ["format-version is 3, the table's is lower"]),
        (headers(partition_spec="{"), ["partition-spec is no JSON"]),
        (headers(partition_spec="null"), []),
        (headers(partition_spec="[1]"), ["partition-spec is no list of fields"]),
        (headers(partition_spec="{}"), ["partition-spec is no list of fields"]),
        (headers(spec=BY), ["partition-spec [(1000, 1, 'identity')] is not spec 0 of the table: []"]),
        (headers(schema_id="-1"), []),
        (headers(schema_id="x"), ["schema-id is 'x'"]),
        (headers(schema="{"), ["schema is no JSON"]),
        pytest.param(headers(schema=DEEP), ["schema is no JSON"], id="deep schema"),
        pytest.param(headers(partition_spec=DEEP), ["partition-spec is no JSON"], id="deep spec"),
        (headers(schema="{}"), []),
        (headers(schema="[]"), ["schema is no schema"]),
        (headers(schema='{"fields": 1}'), ["schema is no schema"]),
    ],
)
def test_headers(tmp_path: Path, header: dict[str, str], what: list[str]) -> None:
    found = one()
    assert words(tmp_path, found, header=header) == [f"manifest-header: {said}" for said in what]


@pytest.mark.parametrize(
    ("stored", "is_same"),
    [
        (BY, True),
        ([{"name": "p"}], False),
        ([{"name": "p", "transform": "identity"}], True),
        ([{**BY[0], "transform": "void"}], True),
        ([{**BY[0], "transform": "day"}], False),
        ([{**BY[0], "field-id": 1001}], False),
        ([{**BY[0], "source-id": 2}], False),
        ([*BY, *BY], False),
    ],
)
def test_specs_of_headers(tmp_path: Path, stored: list[Json], is_same: bool) -> None:
    found = one(partition={"p": 1})
    said = words(tmp_path, found, spec=BY, header=headers(partition_spec=json.dumps(stored)))
    assert [text.partition(" is not")[0].partition(" [")[0] for text in said] == (
        [] if is_same else ["manifest-header: partition-spec"]
    )


def pairs(values: dict[int, Any]) -> list[Json]:
    return [{"key": key, "value": value} for key, value in values.items()]


def long(value: int) -> bytes:
    return struct.pack("<q", value)


NAN, HALF = struct.pack("<d", float("nan")), struct.pack("<d", 0.5)


@pytest.mark.parametrize(
    ("file", "what"),
    [
        ({"value_counts": pairs({1: 10}), "null_value_counts": pairs({1: 10})}, []),
        (
            {"value_counts": pairs({1: 9})},
            ["field 1 of 'f' has 9 values, nan NULL, nan NaN, of 10 rows"],
        ),
        (
            {"null_value_counts": pairs({1: 6}), "nan_value_counts": pairs({1: 5})},
            ["field 1 of 'f' has nan values, 6 NULL, 5 NaN, of 10 rows"],
        ),
        ({"null_value_counts": pairs({1: 5}), "nan_value_counts": pairs({1: 5})}, []),
        (
            {"value_counts": pairs({2: 10}), "null_value_counts": pairs({2: 11})},
            ["field 2 of 'f' has 10 values, 11 NULL, nan NaN, of 10 rows"],
        ),
        ({"value_counts": pairs({4: 3})}, []),
        ({"null_value_counts": pairs({4: 31})}, []),
        ({"lower_bounds": pairs({1: long(3)}), "upper_bounds": pairs({1: long(3)})}, []),
        (
            {"lower_bounds": pairs({1: long(3)}), "upper_bounds": pairs({1: long(2)})},
            ["the lower bound of field 1 of 'f' is above the upper"],
        ),
        ({"lower_bounds": pairs({1: long(3)})}, []),
        ({"lower_bounds": pairs({5: HALF})}, []),
        ({"lower_bounds": pairs({5: NAN})}, ["a bound of field 5 of 'f' is NaN"]),
        ({"upper_bounds": pairs({5: NAN})}, ["a bound of field 5 of 'f' is NaN"]),
        ({"upper_bounds": pairs({5: NAN[4:]})}, ["a bound of field 5 of 'f' is NaN"]),  # from when it was a float
        ({"upper_bounds": pairs({5: bytes(4)})}, []),
        ({"upper_bounds": pairs({1: NAN})}, []),
    ],
)
def test_statistics(tmp_path: Path, file: Json, what: list[str]) -> None:
    of_list = {"type": "list", "element-id": 4, "element": "long", "element-required": False}
    kinds = {1: "long", 2: "long", 3: of_list, 5: "double"}
    fields = [{"id": at, "name": f"c{at}", "required": False, "type": kind} for at, kind in kinds.items()]
    schemas = [{"type": "struct", "schema-id": 0, "fields": fields}]
    found = one(**file)
    said = words(tmp_path, found, schemas=schemas, **{"last-column-id": 5})
    assert said == [f"metrics: {text}" for text in what]


def of_transform(name: str) -> list[Json]:
    return [{**BY[0], "transform": name}]


@pytest.mark.parametrize(
    ("transform", "value", "what"),
    [
        ("identity", 3, []),
        ("identity", 5, []),
        ("identity", 2, ["'f': 'p' is 2, and no value within the bounds has it"]),
        ("identity", 6, ["'f': 'p' is 6, and no value within the bounds has it"]),
        ("truncate[4]", 0, []),
        ("truncate[4]", 8, ["'f': 'p' is 8, and no value within the bounds has it"]),
        ("void", None, []),
        ("void", 1, ["'f': 'p' is void, and has 1"]),
        ("bucket[4]", 0, []),
        ("bucket[4]", 3, []),
        ("bucket[4]", None, []),
        ("bucket[4]", 4, ["'f': 'p' is 4, of 4 buckets"]),
        ("bucket[4]", -1, ["'f': 'p' is -1, of 4 buckets"]),
    ],
)
def test_partitions(tmp_path: Path, transform: str, value: int | None, what: list[str]) -> None:
    bounds = {"lower_bounds": pairs({1: struct.pack("<i", 3)}), "upper_bounds": pairs({1: struct.pack("<i", 5)})}
    fields = [{"id": 1, "name": "a", "required": False, "type": "int"}]
    schemas = [{"type": "struct", "schema-id": 0, "fields": fields}]
    found = one(partition={"p": value}, **bounds)
    said = words(tmp_path, found, spec=of_transform(transform), schemas=schemas)
    assert said == [f"partition-tuple: {text}" for text in what]
