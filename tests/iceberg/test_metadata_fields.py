"""What the fields of a metadata file must be, which may be left out, and what stands for those that are."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
import zstandard
from tableformats_iceberg.files.strict_json import Node
from tableformats_iceberg.metadata.table_metadata import _plain, metadata_of, parse_metadata

from tableformats.errors import CorruptMetadataError, LimitExceededError, UnsupportedFeatureError
from tableformats.limits import Limits
from tableformats.plugin import Field, PartitionField, Transform, parse_transform, primitive
from tests.support.iceberg_tables import FIELDS, SECOND, metadata_json, parse, snapshot_json

TOO_GREAT = 2**31


def schema_json(number: int | None, *fields: dict[str, Any]) -> dict[str, Any]:
    found = {"type": "struct", "fields": list(fields)}
    return found if number is None else {**found, "schema-id": number}


def column(number: int, name: str, kind: Any = "int") -> dict[str, Any]:
    return {"id": number, "name": name, "required": False, "type": kind}


def spec_json(number: int, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"spec-id": number, "fields": list(fields)}


def partition(source: int, transform: str = "identity", name: str = "p", number: int | None = 1000) -> dict[str, Any]:
    found = {"source-id": source, "name": name, "transform": transform}
    return found if number is None else {**found, "field-id": number}


# ---- numbers --------------------------------------------------------------------------------------------------------


def with_numbers(number: int) -> list[tuple[str, dict[str, Any]]]:
    """A metadata file for each field of 32 bits, which has ``number`` there."""
    return [
        ("format-version", {"format-version": number}),
        *(
            (key, {key: number})
            for key in (
                "last-column-id",
                "last-partition-id",
                "default-sort-order-id",
                "current-schema-id",
                "default-spec-id",
            )
        ),
        ("schemas[0].schema-id", {"schemas": [schema_json(number, *FIELDS)]}),
        ("partition-specs[0].spec-id", {"partition-specs": [spec_json(number)]}),
        ("partition-specs[0].fields[0].source-id", {"partition-specs": [spec_json(0, partition(number))]}),
        ("partition-specs[0].fields[0].field-id", {"partition-specs": [spec_json(0, partition(1, number=number))]}),
        ("snapshots[0].schema-id", {"snapshots": [snapshot_json(1, 1, **{"schema-id": number})]}),
    ]


@pytest.mark.parametrize(("field", "changes"), with_numbers(TOO_GREAT), ids=lambda v: v if isinstance(v, str) else "")
def test_numbers_of_more_than_32_bits(field: str, changes: dict[str, Any]) -> None:
    with pytest.raises(CorruptMetadataError, match=r"2147483648 does not fit into 32 bits") as caught:
        parse(**changes)
    assert caught.value.field == field


@pytest.mark.parametrize("field", ["last-column-id", "current-schema-id", "default-spec-id"])
def test_numbers_of_version_1(field: str) -> None:
    with pytest.raises(CorruptMetadataError, match=r"2147483648 does not fit into 32 bits") as caught:
        parse(**{"format-version": 1, field: TOO_GREAT})
    assert caught.value.field == field


@pytest.mark.parametrize(
    "changes",
    [
        {"last-column-id": TOO_GREAT - 1},
        {"last-partition-id": TOO_GREAT - 1},
        {"default-sort-order-id": TOO_GREAT - 1},
        {"partition-specs": [spec_json(0, partition(TOO_GREAT - 1, number=TOO_GREAT - 1))]},
        {"schemas": [schema_json(0, *FIELDS), schema_json(TOO_GREAT - 1, *FIELDS)]},
        {"snapshots": [snapshot_json(1, 1, **{"schema-id": TOO_GREAT - 1})]},
        {"last-sequence-number": 2**63 - 1},
    ],
)
def test_the_greatest_numbers(changes: dict[str, Any]) -> None:
    parse(**changes)


@pytest.mark.parametrize(
    ("version", "field"),
    [
        *(
            (version, field)
            for version in (2, 3)
            for field in (
                "table-uuid",
                "last-sequence-number",
                "last-column-id",
                "last-partition-id",
                "default-sort-order-id",
                "current-schema-id",
                "default-spec-id",
                "schemas",
                "partition-specs",
                "sort-orders",
            )
        ),
        (3, "next-row-id"),
    ],
)
def test_fields_that_later_versions_must_have(version: int, field: str) -> None:
    changes = {"format-version": version, **({"next-row-id": 0} if version == 3 else {})}
    parse(**changes)
    with pytest.raises(CorruptMetadataError, match="a required field is missing") as caught:
        parse(**{**changes, field: None})
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("version", "message"), [(4, "the table has Iceberg format version 4"), (0, "there is no format version 0")]
)
def test_format_versions(version: int, message: str) -> None:
    with pytest.raises((UnsupportedFeatureError, CorruptMetadataError)) as caught:
        parse(**{"format-version": version})
    assert message in str(caught.value) and caught.value.field == "format-version"
    if version == 4:
        assert caught.value.hint == "Versions 1 to 3 are read"


# ---- the content of the file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstandard"])
def test_a_compressed_file(pack: Any) -> None:
    plain = json.dumps(metadata_json()).encode()
    data = pack(plain)
    found = parse_metadata(data, "m")
    assert (found.location, found.size_bytes) == ("/old/t", len(data))
    with pytest.raises(CorruptMetadataError, match="does not inflate") as caught:
        parse_metadata(data[:-5], "m")
    assert (caught.value.offset, caught.value.path) == (0, "m")
    with pytest.raises(LimitExceededError) as limited:
        parse_metadata(data, "m", Limits(inflated_bytes=len(plain) - 1))
    assert (limited.value.limit, limited.value.path) == ("inflated_bytes", "m")
    assert parse_metadata(data, "m", Limits(inflated_bytes=len(plain))).location == "/old/t"


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstandard"])
def test_a_file_is_inflated_by_its_first_bytes(pack: Any) -> None:
    """Two of gzip, and four of zstandard."""
    data = pack(b"{}")
    assert _plain(data, "m", Limits()) == b"{}"
    first = 2 if data[:2] == b"\x1f\x8b" else 4
    for size in (first, len(data) - 1):
        with pytest.raises(CorruptMetadataError, match="does not inflate") as caught:
            _plain(data[:size], "m", Limits())
        assert (caught.value.offset, caught.value.path) == (0, "m")
    assert _plain(data[: first - 1], "m", Limits()) == data[: first - 1]


def test_an_empty_file() -> None:
    with pytest.raises(CorruptMetadataError, match="the metadata file is empty") as caught:
        parse_metadata(b"", "m")
    assert caught.value.offset == 0


@pytest.mark.parametrize(
    ("stored", "location"), [("/t/", "/t"), ("/t//", "/t"), ("/", "/"), ("", "/"), ("s3://b/", "s3://b")]
)
def test_locations(stored: str, location: str) -> None:
    assert parse(location=stored).location == location


@pytest.mark.parametrize(
    ("changes", "is_encrypted"),
    [
        ({"snapshots": [snapshot_json(1, 1)]}, False),
        ({"snapshots": [snapshot_json(1, 1, **{"key-id": None})]}, False),
        ({"snapshots": [snapshot_json(1, 1), snapshot_json(2, 2, **{"key-id": "k"})]}, True),
        ({"snapshots": [snapshot_json(1, 1, **{"key-id": "k"})]}, True),
        ({"encryption-keys": []}, False),
        ({"encryption-keys": [{"key-id": "k"}]}, True),
        ({"snapshots": [snapshot_json(1, 1)], "encryption-keys": [{"key-id": "k"}]}, True),
    ],
)
def test_which_tables_are_encrypted(changes: dict[str, Any], is_encrypted: bool) -> None:
    if not is_encrypted:
        parse(**changes)
        return
    with pytest.raises(UnsupportedFeatureError, match="the table is encrypted") as caught:
        parse(**changes)
    assert caught.value.field == "encryption-keys"


@pytest.mark.parametrize("snapshots", [[5], [None], "x"])
def test_snapshots_that_are_no_objects(snapshots: Any) -> None:
    with pytest.raises(CorruptMetadataError, match="is expected here"):
        parse(snapshots=snapshots)


# ---- schemas --------------------------------------------------------------------------------------------------------

OLD = {"format-version": 1, "table-uuid": None, "last-sequence-number": None, "current-schema-id": None}
"""Version 1 needs none of these."""


@pytest.mark.parametrize(
    ("changes", "ids", "current", "columns"),
    [
        ({"schemas": None, "schema": schema_json(None, *FIELDS)}, [0], 0, 2),
        ({"schemas": None, "schema": schema_json(4, *SECOND)}, [4], 4, 3),
        ({"schemas": [], "schema": schema_json(None, *SECOND)}, [0], 0, 3),
        ({"schemas": [schema_json(None, *SECOND)], "current-schema-id": 0}, [0], 0, 3),
        # Without an id the single schema is the current one; of two of one id that of the list is taken.
        ({"schemas": [schema_json(1, *FIELDS)], "schema": schema_json(2, *SECOND)}, [1, 2], 2, 3),
        ({"schemas": [schema_json(1, *FIELDS)], "schema": schema_json(1, *SECOND)}, [1], 1, 2),
        ({"schemas": [schema_json(0, *FIELDS)], "schema": schema_json(None, *SECOND)}, [0], 0, 2),
        # With an id nobody looks at the single one.
        ({"schemas": [schema_json(1, *FIELDS)], "current-schema-id": 1, "schema": 5}, [1], 1, 2),
    ],
)
def test_schemas_of_version_1(changes: dict[str, Any], ids: list[int], current: int, columns: int) -> None:
    found = parse(**{**OLD, **changes})
    assert (sorted(found.schemas), found.current_schema_id, len(found.schema)) == (ids, current, columns)


@pytest.mark.parametrize(
    ("ids", "of_snapshots", "knows_all"),
    [
        ([0], [], True),
        ([0], [0], True),
        ([0, 1], [0, 1], True),
        ([1], [], False),
        ([0, 2], [], False),
        ([0], [1], False),
        ([0], [None], False),
        ([0, 2], [2], False),
    ],
)
def test_whether_all_schemas_are_there(ids: list[int], of_snapshots: list[int | None], knows_all: bool) -> None:
    snapshots = [snapshot_json(n, n, **{"schema-id": i}) for n, i in enumerate(of_snapshots, 1)]
    found = parse(schemas=[schema_json(i, *FIELDS) for i in ids], snapshots=snapshots, **{"current-schema-id": ids[0]})
    assert found.knows_all_schemas is knows_all


@pytest.mark.parametrize(
    ("ids", "last", "nothing"),
    [([], 0, True), ([1], 1, True), ([1], 2, False), ([2], 1, False), ([2], 2, False), ([2, 1], 2, True)],
)
def test_whether_columns_are_missing(ids: list[int], last: int, nothing: bool) -> None:
    found = parse(schemas=[schema_json(0, *(column(i, f"c{i}") for i in ids))], **{"last-column-id": last})
    assert found.dropped_nothing_from(found.schema) is nothing


def test_a_column_is_that_of_the_current_schema_or_else_of_the_newest() -> None:
    schemas = [
        schema_json(0, column(1, "a0"), column(2, "b0"), column(3, "c0")),
        schema_json(1, column(1, "a1")),
        schema_json(2, column(1, "a2"), column(2, "b2")),
    ]
    found = parse(schemas=schemas, **{"current-schema-id": 1})
    fields = [found.find_field(i) for i in (1, 2, 3, 4)]
    assert fields[:3] == [Field(i, name, primitive("int"), False) for i, name in ((1, "a1"), (2, "b2"), (3, "c0"))]
    assert fields[3] is None


# ---- partition specs ------------------------------------------------------------------------------------------------


def test_a_single_spec_of_version_1() -> None:
    single = [partition(1, number=None), partition(2, "bucket[4]", "q", None), partition(1, "void", "r", 7)]
    found = parse(**{**OLD, "current-schema-id": 0, "partition-specs": None, "partition-spec": single})
    ids = [f.id for f in found.specs[0].fields]
    assert (list(found.specs), found.specs[0].id, ids) == ([0], 0, [1000, 1001, 7])


@pytest.mark.parametrize(
    ("version", "changes", "field", "words"),
    [
        (1, {"partition-specs": None}, "partition-spec", "a required field is missing"),
        (1, {"partition-specs": []}, "partition-spec", "a required field is missing"),
        (2, {"partition-specs": []}, "partition-specs", "the list of partition specs is empty"),
        (2, {"default-spec-id": 1}, "default-spec-id", "the partition spec 1 is not listed"),
        (1, {"default-spec-id": 1}, "default-spec-id", "the partition spec 1 is not listed"),
    ],
)
def test_specs_that_are_missing(version: int, changes: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(CorruptMetadataError, match=words) as caught:
        parse(**{"format-version": version, **changes})
    assert caught.value.field == field


def test_the_default_spec_of_version_1_is_the_newest() -> None:
    specs = [spec_json(i) for i in (1, 3, 2)]
    assert (
        parse(**{**OLD, "current-schema-id": 0, "partition-specs": specs, "default-spec-id": None}).default_spec_id == 3
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ([partition(1), partition(2, name="q")], "a partition spec uses a field id twice"),
        ([{"name": "p", "transform": "void", "source-ids": []}], "a partition field has no source column"),
        ([{"name": "p", "transform": "void", "source-ids": ["1"]}], "a partition field has no source column"),
        ([{"name": "p", "transform": "void", "source-ids": [1, "2"]}], "a partition field has no source column"),
        ([{"name": "p", "transform": "void"}], "a partition field has no source column"),
    ],
)
def test_specs_that_are_none(fields: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(CorruptMetadataError, match=words):
        parse(**{"partition-specs": [spec_json(0, *fields)]})


def test_source_columns_of_a_partition_field() -> None:
    """``source-id`` counts before ``source-ids``; a transform of several columns is unknown."""
    both = {**partition(1), "source-ids": [2]}
    several = {"name": "q", "transform": "identity", "source-ids": [2, 1], "field-id": 1001}
    found = parse(**{"partition-specs": [spec_json(0, both, several)]}).specs[0].fields
    assert found == (
        PartitionField(1000, "p", 1, parse_transform("identity"), primitive("int")),
        PartitionField(1001, "q", 2, Transform("unknown", text="identity"), primitive("string")),
    )


def test_the_type_of_partition_values_whose_column_was_dropped() -> None:
    """It is that of the newest schema that has the column; of none, they stay bytes."""
    schemas = [
        schema_json(0, column(1, "a"), column(2, "b", "long"), column(3, "c", "date")),
        schema_json(1, column(1, "a", "long")),
        schema_json(2, column(1, "a", "double"), column(2, "b", "string")),
    ]
    fields = [partition(i, name=f"p{i}", number=999 + i) for i in (1, 2, 3, 4)]
    day = partition(9, "day", "d", 1010)
    found = parse(schemas=schemas, **{"current-schema-id": 1, "partition-specs": [spec_json(0, *fields, day)]})
    assert [str(f.type) for f in found.specs[0].fields] == ["bigint", "string", "date", "binary", "date"]


def test_a_partition_field_that_became_void_keeps_its_type() -> None:
    specs = [
        spec_json(0, partition(2, "bucket[4]"), partition(1, "void", "v", 1005)),
        spec_json(1, partition(2, "void"), partition(1, "identity", "q", 1001)),
        spec_json(2, partition(2, "void")),
    ]
    found = parse(**{"partition-specs": specs})
    assert [[str(f.type) for f in found.specs[i].fields] for i in (0, 1, 2)] == [
        ["int", "int"],
        ["int", "int"],
        ["int"],
    ]
    assert [f.transform.name for f in found.specs[1].fields] == ["void", "identity"]


@pytest.mark.parametrize(
    ("kind", "is_nested"),
    [
        ({"type": "struct", "fields": [column(4, "x")]}, True),
        ({"type": "list", "element-id": 4, "element": "int", "element-required": True}, True),
        (
            {"type": "map", "key-id": 4, "key": "int", "value-id": 5, "value": "int", "value-required": True},
            True,
        ),
        ("binary", False),
    ],
)
def test_partitions_by_nested_columns(kind: Any, is_nested: bool) -> None:
    schemas = [schema_json(0, column(3, "n", kind))]

    def type_of(transform: str) -> str:
        found = parse(schemas=schemas, **{"partition-specs": [spec_json(0, partition(3, transform))]})
        return str(found.specs[0].fields[0].type)

    assert type_of("void") == type_of("zorder") == "binary"
    if is_nested:
        with pytest.raises(CorruptMetadataError, match="cannot be partitioned by a column of the type") as caught:
            type_of("identity")
        assert caught.value.field == "partition-specs[0].fields[0]"
    else:
        assert type_of("identity") == "binary"


# ---- snapshots, references and logs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "more", "sequence_number"),
    [(1, {"sequence-number": 5}, 0), (2, {"sequence-number": 5}, 5), (2, {"sequence-number": None}, 0)],
)
def test_sequence_numbers_of_snapshots(version: int, more: dict[str, Any], sequence_number: int) -> None:
    found = parse(**{"format-version": version, "snapshots": [snapshot_json(1, 1, **more)]})
    assert found.snapshots[1].sequence_number == sequence_number


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"manifests": [5]}, "snapshots[0].manifests[0]"),
        ({"manifests": "x"}, "snapshots[0].manifests"),
        ({"manifest-list": None}, "snapshots[0].manifest-list"),
        ({"manifest-list": 5}, "snapshots[0].manifest-list"),
    ],
)
def test_snapshots_without_manifests(more: dict[str, Any], field: str) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        parse(snapshots=[snapshot_json(1, 1, **more)])
    assert caught.value.field == field


def test_a_snapshot_that_names_manifests_itself() -> None:
    named = snapshot_json(1, 1, **{"manifest-list": None, "manifests": ["a", "b"]})
    found = parse(snapshots=[named, snapshot_json(2, 2, manifests=[])]).snapshots
    assert [(s.manifest_list, s.manifests) for s in found.values()] == [
        (None, ("a", "b")),
        ("/old/t/metadata/snap-2.avro", ()),
    ]


@pytest.mark.parametrize(
    ("current", "refs", "expected"),
    [
        (None, None, {}),
        (-1, None, {}),
        (1, None, {"main": (1, "branch")}),
        (1, {}, {"main": (1, "branch")}),
        (1, {"x": (2, "tag")}, {"x": (2, "tag"), "main": (1, "branch")}),
        (1, {"main": (2, "branch")}, {"main": (2, "branch")}),
        (None, {"x": (2, "branch")}, {"x": (2, "branch")}),
    ],
)
def test_references(current: int | None, refs: dict[str, tuple[int, str]] | None, expected: dict[str, Any]) -> None:
    named = {name: {"snapshot-id": number, "type": kind} for name, (number, kind) in (refs or {}).items()}
    found = parse(
        snapshots=[snapshot_json(1, 1), snapshot_json(2, 2)],
        refs=None if refs is None else named,
        **{"current-snapshot-id": current},
    )
    assert {name: (ref.snapshot_id, ref.type) for name, ref in found.refs.items()} == expected
    assert found.current_snapshot_id == (current if current == 1 else None)


def test_ancestors_end_where_a_parent_is_not_listed_or_comes_again() -> None:
    parents = {1: None, 2: 1, 3: 9, 4: 3, 5: 6, 6: 5}
    found = parse(snapshots=[snapshot_json(i, i, **{"parent-snapshot-id": p}) for i, p in parents.items()])
    ids = {start: [s.id for s in found.ancestors(start)] for start in (2, 4, 5, 9, None)}
    assert ids == {2: [2, 1], 4: [4, 3], 5: [5, 6], 9: [], None: []}


# ---- what a later file says anew ------------------------------------------------------------------------------------


def test_snapshots_of_the_file_before_are_taken_from_it() -> None:
    snapshots = [snapshot_json(number, number) for number in (1, 2, 3)]
    before = metadata_json(snapshots=snapshots[:2])
    earlier = metadata_of(before, "m")
    found = metadata_of(metadata_json(snapshots=snapshots), "m", earlier=(before, earlier)).snapshots
    assert found[1] is earlier.snapshots[1] and found[2] is earlier.snapshots[2] and list(found) == [1, 2, 3]


def test_an_upgraded_table_has_other_snapshots_than_the_file_before() -> None:
    """Sequence numbers, which version 1 does not have, count from version 2 on."""
    before = {**metadata_json(snapshots=[snapshot_json(1, 1)]), "format-version": 1}
    after = metadata_json(snapshots=[snapshot_json(1, 1)])
    found = metadata_of(after, "m", earlier=(before, metadata_of(before, "m")))
    assert (found.snapshots[1].sequence_number, found) == (1, metadata_of(after, "m"))


@pytest.mark.parametrize("key", ["snapshots", "snapshot-log"])
@pytest.mark.parametrize("value", [{}, "x", 5])
def test_lists_that_became_none(key: str, value: Any) -> None:
    before = metadata_json()
    with pytest.raises(CorruptMetadataError, match="a JSON array is expected here") as caught:
        metadata_of({**before, key: value}, "m", earlier=(before, metadata_of(before, "m")))
    assert caught.value.field == key


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"timestamp-ms": True, "metadata-file": "a"}, "metadata-log[0].timestamp-ms"),
        ({"timestamp-ms": 1.0, "metadata-file": "a"}, "metadata-log[0].timestamp-ms"),
        ({"timestamp-ms": [], "metadata-file": "a"}, "metadata-log[0].timestamp-ms"),
        ({"timestamp-ms": 1, "metadata-file": []}, "metadata-log[0].metadata-file"),
        ({"timestamp-ms": 10**15, "metadata-file": "a"}, "metadata-log[0].timestamp-ms"),
    ],
)
def test_entries_of_the_metadata_log_that_are_none(entry: dict[str, Any], field: str) -> None:
    before = metadata_json(**{"metadata-log": [{"timestamp-ms": 1, "metadata-file": "a"}]})
    after = {**before, "metadata-log": [entry]}
    with pytest.raises(CorruptMetadataError) as caught:
        metadata_of(after, "m", earlier=(before, metadata_of(before, "m")))
    assert caught.value.field == field


def test_a_metadata_log_that_another_file_continues() -> None:
    log = [{"timestamp-ms": at, "metadata-file": name} for at, name in ((2, "b"), (1, "a"), (3, "c"))]
    before, after = (metadata_json(**{"metadata-log": log[:n]}) for n in (2, 3))
    found = metadata_of(after, "m", earlier=(before, metadata_of(before, "m")))
    assert found.metadata_log == ((1, "a"), (2, "b"), (3, "c"))


def test_a_node_is_named_by_the_way_to_it() -> None:
    node = Node({"a": {"b": 1}}, "m")
    with pytest.raises(CorruptMetadataError) as caught:
        node.child("a").text("b")
    assert (caught.value.field, caught.value.path) == ("a.b", "m")
