"""How the files of an Iceberg table are written: what its metadata says, decision by decision, and what is refused."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from tableformats_iceberg.write.commit.target import (
    check_properties,
    check_writable,
    data_base,
    hashed_path,
    sort_order_of,
    target_of,
)

import tableformats as tf
from tableformats.plugin import SortColumn, parse_transform
from tests.support.iceberg_tables import FIELDS, metadata_json, parse


def member(number: int, name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"id": number, "name": name, "required": False, "type": kind, **more}


NESTED = [
    *FIELDS,
    member(3, "s", {"type": "struct", "fields": [member(4, "x", "long")]}),
    member(5, "l", {"type": "list", "element-id": 6, "element": "int", "element-required": False}),
    member(
        7,
        "m",
        {"type": "map", "key-id": 8, "key": "string", "value-id": 9, "value": "int", "value-required": False},
    ),
    member(
        10,
        "ls",
        {
            "type": "list",
            "element-id": 11,
            "element-required": False,
            "element": {"type": "struct", "fields": [member(12, "y", "int")]},
        },
    ),
]


def schemas(fields: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "struct", "schema-id": 0, "fields": fields}]


def target(version: int = 2, **changes: Any) -> Any:
    given = {"format-version": version, **changes}
    if version == 3:
        given = {"next-row-id": 0, **given}
    return target_of(parse(**given), metadata_json(**given), "/t")


def order_field(source: int, transform: str = "identity", direction: str = "asc", nulls: str = "first") -> Any:
    return {"source-id": source, "transform": transform, "direction": direction, "null-order": f"nulls-{nulls}"}


@pytest.mark.parametrize(
    ("fields", "columns"),
    [
        ([], ()),
        ([order_field(1)], (SortColumn(1, False, True),)),
        ([order_field(2, direction="desc", nulls="last")], (SortColumn(2, True, False),)),
        (
            [order_field(1, direction="desc"), order_field(2, nulls="last")],
            (SortColumn(1, True, True), SortColumn(2, False, False)),
        ),
        ([order_field(1, "bucket[4]")], (SortColumn(1, False, True, parse_transform("bucket[4]")),)),
        ([order_field(4)], (SortColumn(4, False, True),)),
        # A column that is gone, that has no order, or that is there several times a row; a transform of the future.
        ([order_field(1), order_field(99)], ()),
        ([order_field(3)], ()),
        ([order_field(5)], ()),
        ([order_field(6)], ()),
        ([order_field(8)], ()),
        ([order_field(12)], ()),
        ([order_field(1, "zorder")], ()),
    ],
)
def test_sort_orders(fields: list[Any], columns: tuple[SortColumn, ...]) -> None:
    orders = [{"order-id": 0, "fields": []}, {"order-id": 3, "fields": fields}, {"order-id": 4, "fields": []}]
    given = {"schemas": schemas(NESTED), "last-column-id": 12, "sort-orders": orders, "default-sort-order-id": 3}
    assert sort_order_of(metadata_json(**given), parse(**given).schema) == columns
    assert target(**given).sort_by == columns
    assert sort_order_of({"sort-orders": orders}, parse(**given).schema) == ()


def test_tables_without_sort_orders() -> None:
    assert sort_order_of({}, parse().schema) == ()
    assert sort_order_of({"sort-orders": [{"order-id": 1, "fields": [order_field(1)]}]}, parse().schema) == ()
    assert sort_order_of({"default-sort-order-id": 7, "sort-orders": []}, parse().schema) == ()


@pytest.mark.parametrize(
    ("path", "base", "directory", "context"),
    [
        (None, "/old/t", "data", ""),
        ("/old/t/files/", "/old/t", "files", ""),
        ("/old/t/a/b", "/old/t", "a/b", ""),
        ("/old/t2", "/old/t2", "", ""),
        ("/old", "/old", "", "old/t"),
        ("s3://b/shared", "s3://b/shared", "", "old/t"),
    ],
)
def test_places(path: str | None, base: str, directory: str, context: str) -> None:
    properties = {} if path is None else {"write.data.path": path}
    metadata = parse(properties=properties)
    assert data_base(metadata) == base
    found = target(properties=properties)
    assert (found.root, found.directory, found.place) == ("/t", directory, None)
    hashed = target(properties={**properties, "write.object-storage.enabled": "true"}).place
    flat = {"write.object-storage.enabled": "true", "write.object-storage.partitioned-paths": "false"}
    assert isinstance(hashed, partial) and hashed.keywords == {"context": context, "in_directories": True}
    assert hashed("x") == hashed_path("x", context, True)
    assert target(properties={**properties, **flat}).place("x") == hashed_path("x", context, False)


@pytest.mark.parametrize(
    "location", ["s3://bucket/db/t/", "s3://bucket/db/t", "file:/warehouse/db/t", "/a/b/c/db/t", "s3://db/t"]
)
def test_names_of_tables_that_share_a_directory(location: str) -> None:
    properties = {"write.data.path": "s3://other", "write.object-storage.enabled": "true"}
    assert target(location=location, properties=properties).place.keywords["context"] == "db/t"


@pytest.mark.parametrize(
    ("properties", "rows", "size"),
    [
        ({}, 1 << 20, None),
        ({"write.parquet.row-group-size-bytes": "10000"}, 64 << 20, 10_000),
        ({"write.parquet.row-group-limit": "77"}, 77, None),
        ({"write.parquet.row-group-limit": "77", "write.parquet.row-group-size-bytes": "10000"}, 77, 10_000),
    ],
)
def test_row_groups(properties: dict[str, str], rows: int, size: int | None) -> None:
    """A limit of bytes leaves the rows free, unless they have a limit of their own."""
    found = target(properties=properties)
    assert (found.row_group_rows, found.parquet.row_group_bytes) == (rows, size)


def test_defaults_of_new_rows() -> None:
    """Of the columns of the schema, not of their members; NULL is no default."""
    fields = [
        FIELDS[0],
        {**FIELDS[1], "write-default": "x"},
        member(3, "n", "long", **{"write-default": None}),
        member(4, "zero", "long", **{"write-default": 0}),
    ]
    given = {"schemas": schemas(fields), "last-column-id": 4}
    columns = target(3, **given).rules.defaults
    assert [computed.column.name for computed in columns] == ["b", "zero"]
    assert target(3, schemas=schemas(FIELDS)).rules.defaults == ()


@pytest.mark.parametrize(
    ("version", "name", "columns"),
    [
        (2, "b", []),
        (3, "b", ["_row_id", "_last_updated_sequence_number"]),
        (3, "_ROW_ID", []),
        (3, "_last_updated_sequence_number", []),
    ],
)
def test_columns_of_rows_that_stay_the_same(version: int, name: str, columns: list[str]) -> None:
    found = target(version, schemas=schemas([FIELDS[0], {**FIELDS[1], "name": name}]))
    assert [f.name for f in found.carried] == columns


def test_what_is_the_same_for_every_table() -> None:
    found = target()
    assert found.partition_columns_in_files and found.with_field_ids and (found.spec_id, found.partitioning) == (0, ())
    assert found.bounded == frozenset({1, 2})


# ---- what is refused ------------------------------------------------------------------------------------------------


def refused(fields: list[dict[str, Any]] = FIELDS, version: int = 2, **changes: Any) -> tf.UnsupportedFeatureError:
    given = {"format-version": version, "schemas": schemas(fields), "last-column-id": 12, "next-row-id": 0, **changes}
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        check_writable(parse(**given), metadata_json(**given))
    return caught.value


def test_a_plain_table_is_writable() -> None:
    check_writable(parse(), metadata_json())
    for name in ("parquet", "PARQUET"):
        check_writable(parse(properties={"write.format.default": name}), metadata_json())


@pytest.mark.parametrize(
    ("properties", "field"),
    [
        ({"write.format.default": "ORC"}, "write.format.default"),
        ({"write.location-provider.impl": ""}, "write.location-provider.impl"),
        ({"write.object-storage.path": "/x"}, "write.object-storage.path"),
        ({"write.folder-storage.path": "/x"}, "write.folder-storage.path"),
        ({"write.distribution-mode": "sideways"}, "write.distribution-mode"),
    ],
)
def test_properties_that_are_not_honoured(properties: dict[str, str], field: str) -> None:
    error = refused(properties=properties)
    assert (error.field, error.path) == (field, "m" if field != "write.distribution-mode" else None)
    hint = "Set write.data.path instead" if field.endswith("storage.path") else None
    assert hint is None or error.hint == hint


def test_long_names_of_formats_are_cut() -> None:
    assert repr("x" * 50) in str(refused(properties={"write.format.default": "x" * 51}))


def spec(source: int, transform: str) -> list[dict[str, Any]]:
    return [{"spec-id": 0, "fields": [{"source-id": source, "field-id": 1000, "name": "p", "transform": transform}]}]


def test_partition_fields() -> None:
    assert refused(**{"partition-specs": spec(1, "zorder")}).field == "partition-specs"
    old = [{"type": "struct", "schema-id": 1, "fields": [*FIELDS, member(3, "c", "int")]}]
    gone = refused(**{"partition-specs": spec(3, "identity"), "schemas": [*schemas(FIELDS), *old]})
    assert (gone.field, gone.hint) == ("partition-specs", "Remove the partition field from the spec")
    given = {"partition-specs": spec(3, "void"), "schemas": [*schemas(FIELDS), *old]}
    check_writable(parse(**given), metadata_json(**given))
    given = {"partition-specs": spec(1, "identity")}
    check_writable(parse(**given), metadata_json(**given))


X = member(20, "x", "int", **{"initial-default": 1, "write-default": 1})
NO_DEFAULT = member(20, "x", "int", **{"write-default": None})


def holding(place: str, inner: dict[str, Any]) -> Any:
    struct = {"type": "struct", "fields": [inner]}
    if place == "list":
        return {"type": "list", "element-id": 21, "element-required": False, "element": struct}
    if place == "list of lists":
        return {"type": "list", "element-id": 22, "element-required": False, "element": holding("list", inner)}
    if place in ("key", "value"):
        of = {"key": "string", "value": "string", place: struct}
        return {"type": "map", "key-id": 23, "value-id": 24, "value-required": False, **of}
    if place == "deep":
        return {"type": "struct", "fields": [member(25, "s", struct)]}
    return struct


@pytest.mark.parametrize("place", ["struct", "deep", "list", "list of lists", "key", "value"])
def test_defaults_of_members(place: str) -> None:
    """Columns have theirs; members of columns are never filled in."""
    error = refused([*FIELDS, member(3, "c", holding(place, X))], 3, **{"last-column-id": 25})
    assert (error.field, error.hint) == ("write-default", "Write it with Spark") and "'x'" in str(error)
    for fields in ([*FIELDS, X], [*FIELDS, member(3, "c", holding(place, NO_DEFAULT))]):
        given = {"format-version": 3, "schemas": schemas(fields), "last-column-id": 25, "next-row-id": 0}
        check_writable(parse(**given), metadata_json(**given))


@pytest.mark.parametrize(
    "name",
    [
        "write.target-file-size-bytes",
        "write.parquet.compression-codec",
        "write.manifest.compression-codec",
        "write.distribution-mode",
        "write.delete.isolation-level",
        "write.parquet.page-size-bytes",
        "write.metadata.metrics.default",
    ],
)
def test_each_kind_of_property_is_checked(name: str) -> None:
    with pytest.raises(tf.UnsupportedFeatureError) as caught:
        check_properties({name: "sideways"})
    assert caught.value.field == name
    check_properties({})
