"""Changes of columns, partitioning, order, properties, branches and tags: as PyIceberg makes them, or refused."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_iceberg.files.strict_json import Node
from tableformats_iceberg.metadata.schema import parse_schema
from tableformats_iceberg.metadata.table_metadata import parse_metadata
from tableformats_iceberg.write.create import create_updates
from tableformats_iceberg.write.metadata_change import _is_ancestor, changes_of
from tableformats_iceberg.write.metadata_updates import apply_updates
from tableformats_iceberg.write.requirements import failed_requirement
from tableformats_iceberg.write.schema_change import changed_name_mapping, changed_properties

from tableformats.errors import ConstraintViolationError, SnapshotNotFoundError, UnsupportedFeatureError
from tableformats.plugin import MetadataChange, ReferenceChange
from tableformats.schema import DecimalType, Field, ListType, MapType, Schema, StructType, primitive
from tests.iceberg.test_metadata_updates import START, append

pytest.importorskip("sqlalchemy")
pytest.importorskip("pyiceberg")
from pyiceberg import types as it
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table.metadata import TableMetadataUtil
from pyiceberg.transforms import BucketTransform, TruncateTransform

Json = dict[str, Any]
COLUMNS = pa.schema(
    [
        pa.field("id", pa.int32(), nullable=False),
        ("price", pa.decimal128(9, 2)),
        ("f", pa.float32()),
        ("d", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("point", pa.struct([("x", pa.int32()), ("y", pa.int32())])),
        ("tags", pa.list_(pa.int32())),
        ("m", pa.map_(pa.string(), pa.struct([("v", pa.int32())]))),
    ]
)
LONG = primitive("long")


def table(version: int = 2, partition_by: tuple[str, ...] = (), **properties: str) -> Json:
    given = {"format-version": str(version), **properties}
    updates = create_updates("file:///t", Schema.from_arrow(COLUMNS), partition_by, (), given, with_name_mapping=True)
    return apply_updates(None, updates, now_ms=START)


def schema_of(metadata: Json) -> Schema:
    current = next(s for s in metadata["schemas"] if s["schema-id"] == metadata["current-schema-id"])
    return parse_schema(Node(current, "m"))


def changed(metadata: Json, change: MetadataChange) -> Json:
    requirements, updates = changes_of(metadata, change)
    assert failed_requirement(metadata, requirements) is None
    after = apply_updates(metadata, updates, now_ms=START)
    parse_metadata(json.dumps(after).encode(), "m")
    TableMetadataUtil.parse_obj(json.loads(json.dumps(after)))
    return after


# ---- columns, as a caller makes them --------------------------------------------------------------------------------


def edit(schema: Schema, path: str, change: Callable[[Field], Field | None]) -> Schema:
    """The schema with the field at a dotted path changed; None drops it."""

    def below(fields: tuple[Field, ...], parts: list[str]) -> tuple[Field, ...]:
        out = []
        for f in fields:
            if f.name != parts[0]:
                out.append(f)
            elif len(parts) == 1:
                out += [new] if (new := change(f)) is not None else []
            else:
                out.append(replace(f, type=inner(f.type, parts[1:])))
        return tuple(out)

    def inner(kind: Any, parts: list[str]) -> Any:
        if isinstance(kind, StructType):
            return StructType(below(kind.fields, parts))
        if isinstance(kind, ListType):
            return ListType(below((kind.element,), parts)[0])
        key, value = below((kind.key, kind.value), parts)
        return MapType(key, value)

    return Schema(below(schema.fields, path.split(".")), schema.id)


def typed(kind: Any) -> Callable[[Field], Field]:
    return lambda f: replace(f, type=kind)


def named(name: str) -> Callable[[Field], Field]:
    return lambda f: replace(f, name=name)


def add(schema: Schema, name: str, kind: Any, parent: str | None = None) -> Schema:
    new = Field(0, name, kind)
    if parent is None:
        return Schema((*schema.fields, new), schema.id)
    return edit(schema, parent, lambda f: replace(f, type=StructType((*f.type.fields, new))))


def first(schema: Schema, name: str) -> Schema:
    return Schema(tuple(sorted(schema.fields, key=lambda f: f.name != name)), schema.id)


NESTED = StructType(
    (Field(0, "a", primitive("long")), Field(0, "b", ListType(Field(0, "element", primitive("string")))))
)
THEIRS = it.StructType(
    it.NestedField(91, "a", it.LongType(), required=False),
    it.NestedField(92, "b", it.ListType(93, it.StringType(), False), required=False),
)
CHANGES: list[tuple[str, Callable[[Schema], Schema], Callable[[Any], Any]]] = [
    ("add", lambda s: add(s, "n", LONG), lambda u: u.add_column("n", it.LongType())),
    ("add nested", lambda s: add(s, "n", NESTED), lambda u: u.add_column("n", THEIRS)),
    ("add a member", lambda s: add(s, "z", LONG, "point"), lambda u: u.add_column(("point", "z"), it.LongType())),
    (
        "add in a map",
        lambda s: add(s, "w", LONG, "m.value"),
        lambda u: u.add_column(("m", "value", "w"), it.LongType()),
    ),
    ("drop", lambda s: edit(s, "f", lambda f: None), lambda u: u.delete_column("f")),
    ("drop a member", lambda s: edit(s, "point.y", lambda f: None), lambda u: u.delete_column(("point", "y"))),
    ("rename", lambda s: edit(s, "f", named("g")), lambda u: u.rename_column("f", "g")),
    ("rename a member", lambda s: edit(s, "point.x", named("u")), lambda u: u.rename_column(("point", "x"), "u")),
    ("move", lambda s: first(s, "ts"), lambda u: u.move_first("ts")),
    ("promote", lambda s: edit(s, "id", typed(LONG)), lambda u: u.update_column("id", it.LongType())),
    (
        "promote a float",
        lambda s: edit(s, "f", typed(primitive("double"))),
        lambda u: u.update_column("f", it.DoubleType()),
    ),
    (
        "promote an element",
        lambda s: edit(s, "tags.element", typed(LONG)),
        lambda u: u.update_column(("tags", "element"), it.LongType()),
    ),
    ("optional", lambda s: edit(s, "id", lambda f: replace(f, required=False)), lambda u: u.make_column_optional("id")),
    ("doc", lambda s: edit(s, "id", lambda f: replace(f, doc="x")), lambda u: u.update_column("id", doc="x")),
    (
        "drop and add",
        lambda s: add(edit(s, "f", lambda f: None), "f", LONG),
        lambda u: u.delete_column("f").add_column("f", it.LongType()),
    ),
]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqlCatalog]:
    folder = tmp_path_factory.mktemp("changes")
    found = SqlCatalog("c", uri=f"sqlite:///{folder / 'c.db'}", warehouse=folder.as_uri())
    found.create_namespace("n")
    yield found
    found.close()


def registered(catalog: SqlCatalog, folder: Path, metadata: Json) -> Any:
    path = folder / "00000-x.metadata.json"
    path.write_text(json.dumps({**metadata, "location": folder.as_uri()}))
    (folder / "metadata").mkdir()
    return catalog.register_table(f"n.{folder.name.replace('-', '_')}", path.as_uri())


@pytest.mark.parametrize(("name", "ours", "theirs"), CHANGES, ids=[one[0] for one in CHANGES])
def test_columns_change_as_those_of_pyiceberg(
    catalog: SqlCatalog, tmp_path: Path, name: str, ours: Any, theirs: Any
) -> None:
    metadata = table()
    after = changed(metadata, MetadataChange(schema=ours(schema_of(metadata))))
    found = registered(catalog, tmp_path, metadata)
    with found.update_schema(allow_incompatible_changes=name == "drop and add") as update:
        theirs(update)
    expected = catalog.load_table(found.name()).metadata
    own = TableMetadataUtil.parse_obj(after)
    assert own.schema().as_struct() == expected.schema().as_struct()
    assert (own.last_column_id, own.current_schema_id) == (expected.last_column_id, expected.current_schema_id)
    key = "schema.name-mapping.default"
    theirs_mapped, ours_mapped = (json.loads(m.properties[key]) for m in (expected, own))
    current = {f.field_id for f in own.schema().fields if not f.field_type.is_struct}
    if name != "drop and add":  # of the dropped column's names PyIceberg keeps none
        by_id = [{f["field-id"]: f for f in mapped} for mapped in (ours_mapped, theirs_mapped)]
        assert [by_id[0][i]["names"] for i in current] == [by_id[1][i]["names"] for i in current]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda s: add(s, "ID", LONG), ConstraintViolationError, "already"),
        (lambda s: edit(s, "f", named("id")), ConstraintViolationError, "already"),
        (lambda s: edit(s, "f", lambda f: replace(f, required=True)), ConstraintViolationError, "NOT NULL"),
        (lambda s: Schema((*s.fields, Field(0, "n", LONG, required=True))), ConstraintViolationError, "default"),
        (lambda s: edit(s, "id", typed(primitive("string"))), UnsupportedFeatureError, "does not become"),
        (lambda s: edit(s, "d", typed(primitive("timestamp_ntz"))), UnsupportedFeatureError, "format version 3"),
        (lambda s: edit(s, "point", typed(LONG)), UnsupportedFeatureError, "does not become"),
        (
            lambda s: Schema((*s.fields, replace(s.fields[5].type.fields[0], name="u"))),
            ConstraintViolationError,
            "move",
        ),
        (
            lambda s: edit(s, "point.x", lambda f: None) and edit(s, "point", typed(StructType(()))),
            ConstraintViolationError,
            "without columns",
        ),
        (lambda s: edit(s, "m.key", typed(primitive("binary"))), ConstraintViolationError, "keys of a map"),
        (lambda s: Schema((*s.fields, Field(0, "n", LONG, initial_default=3))), UnsupportedFeatureError, "version 3"),
    ],
)
def test_columns_that_cannot_change_are_refused(change: Any, error: type[Exception], message: str) -> None:
    metadata = table()
    with pytest.raises(error, match=message):
        changes_of(metadata, MetadataChange(schema=change(schema_of(metadata))))


@pytest.mark.parametrize("version", [2, 3])
def test_types_that_a_column_may_become(version: int) -> None:
    names = ("int", "long", "float", "double", "date", "timestamp", "timestamp_ntz", "string", "binary", "boolean")
    decimals = [DecimalType(*parameters) for parameters in ((8, 2), (9, 2), (12, 2), (9, 3))]
    kinds = [*map(primitive, names), *decimals, ListType(Field(0, "element", LONG))]
    kept = Schema(tuple(Field(0, f"c{n}", kind) for n, kind in enumerate(kinds)))
    metadata = apply_updates(
        None, create_updates("file:///t", kept, (), (), {"format-version": str(version)}), now_ms=START
    )
    found = set()
    for number, kind in itertools.product(range(len(kinds)), kinds):
        wanted = edit(schema_of(metadata), f"c{number}", typed(kind))
        try:
            changes_of(metadata, MetadataChange(schema=wanted))
        except UnsupportedFeatureError as error:
            assert error.field == f"c{number}" and "does not become" in error.message
        else:
            found.add((str(kinds[number]), str(kind)))
    allowed = {("int", "bigint"), ("float", "double"), ("decimal(8,2)", "decimal(9,2)")}
    allowed |= {(f"decimal({p},2)", "decimal(12,2)") for p in (8, 9)}
    allowed |= {("date", "timestamp_ntz")} if version > 2 else set()
    assert found == allowed | {(str(kind), str(kind)) for kind in kinds}


def test_version_3_has_defaults_and_more_promotions() -> None:
    metadata = table(3)
    new = Field(0, "n", LONG, required=True, initial_default=3)
    wanted = Schema((*edit(schema_of(metadata), "d", typed(primitive("timestamp_ntz"))).fields, new))
    after = changed(metadata, MetadataChange(schema=wanted))
    found = after["schemas"][-1]["fields"]
    assert (found[3]["type"], found[-1]["initial-default"], found[-1]["write-default"]) == ("timestamp", 3, 3)
    assert schema_of(after).fields[-1].initial_default == 3
    with pytest.raises(ConstraintViolationError, match="does not fit"):
        new = Field(0, "o", primitive("date"), initial_default=dt.timedelta(1))
        changes_of(metadata, MetadataChange(schema=Schema((*schema_of(metadata).fields, new))))
    partitioned = table(3, ("bucket(4, d)",))
    wanted = edit(schema_of(partitioned), "d", typed(primitive("timestamp_ntz")))
    with pytest.raises(ConstraintViolationError, match="partition values"):
        changes_of(partitioned, MetadataChange(schema=wanted))


def test_identifier_columns_stay() -> None:
    metadata = table()
    metadata["schemas"][0]["identifier-field-ids"] = [1]
    for change in (lambda f: None, lambda f: replace(f, required=False)):
        with pytest.raises(ConstraintViolationError, match="identif") as caught:
            changes_of(metadata, MetadataChange(schema=edit(schema_of(metadata), "id", change)))
        assert caught.value.field == "id"


def test_what_names_columns_follows_them() -> None:
    kept = {"write.metadata.metrics.column.f": "full", "write.metadata.metrics.column.point.x": "none"}
    metadata = table(**kept)
    wanted = edit(edit(schema_of(metadata), "f", named("g")), "point.x", lambda f: None)
    after = changed(metadata, MetadataChange(schema=wanted))
    metrics = {k: v for k, v in after["properties"].items() if "metrics" in k}
    assert metrics == {"write.metadata.metrics.column.g": "full"}
    mapping = json.loads(after["properties"]["schema.name-mapping.default"])
    assert mapping[2]["names"] == ["f", "g"]
    again = changed(after, MetadataChange(schema=add(schema_of(after), "f", LONG)))
    mapping = json.loads(again["properties"]["schema.name-mapping.default"])
    assert (mapping[2]["names"], mapping[-1]["names"]) == (["g"], ["f"])


def test_what_a_field_says_beyond_its_name_and_type_is_kept() -> None:
    metadata = table(3)
    metadata["schemas"][0]["fields"][2] |= {"x-own": [1], "write-default": 0.5}
    after = changed(metadata, MetadataChange(schema=edit(schema_of(metadata), "f", named("g"))))
    field = after["schemas"][-1]["fields"][2]
    assert (field["name"], field["x-own"], field["write-default"]) == ("g", [1], 0.5)


def test_the_name_of_a_dropped_column_is_free() -> None:
    metadata = table()
    without = changed(metadata, MetadataChange(schema=edit(schema_of(metadata), "f", lambda f: None)))
    after = changed(without, MetadataChange(schema=add(schema_of(without), "f", LONG)))
    mapping = json.loads(after["properties"]["schema.name-mapping.default"])
    assert [one["field-id"] for one in mapping if "f" in one["names"]] == [after["last-column-id"]]


# ---- partitioning ---------------------------------------------------------------------------------------------------


def theirs_after(catalog: SqlCatalog, folder: Path, metadata: Json, steps: Any) -> Any:
    found = registered(catalog, folder, metadata)
    for step in steps:
        with found.update_spec() as update:
            step(update)
    return catalog.load_table(found.name()).metadata


@pytest.mark.parametrize("version", [1, 2])
def test_specs_change_as_those_of_pyiceberg(catalog: SqlCatalog, tmp_path: Path, version: int) -> None:
    metadata = table(version, ("bucket(4, id)", "days(ts)"))
    del metadata["properties"]["schema.name-mapping.default"]
    after = metadata
    for texts in (["days(ts)", "truncate(10, id)"], ["days(ts)", "truncate(10, id)", "bucket(4, id)"]):
        after = changed(after, MetadataChange(partition_by=texts))

    def one(update: Any) -> None:
        update.remove_field("id_bucket")
        update.add_field("id", TruncateTransform(10), "id_trunc_10")

    def two(update: Any) -> None:
        update.add_field("id", BucketTransform(4), "id_bucket" if version == 2 else "id_bucket_4")

    expected = theirs_after(catalog, tmp_path, metadata, (one, two))
    own = TableMetadataUtil.parse_obj(after)
    assert own.spec().fields == expected.spec().fields
    assert [s.fields for s in own.partition_specs] == [s.fields for s in expected.partition_specs]
    assert own.last_partition_id == expected.last_partition_id


def test_a_partition_field_is_renamed_and_taken_back() -> None:
    metadata = table(2, ("bucket(4, id)",))
    renamed = changed(metadata, MetadataChange(partition_by=["bucket(4, id) as shard"]))
    assert renamed["partition-specs"][1]["fields"][0] == {
        "source-id": 1,
        "field-id": 1000,
        "transform": "bucket[4]",
        "name": "shard",
    }
    none = changed(renamed, MetadataChange(partition_by=[]))
    assert none["partition-specs"][-1] == {"spec-id": 2, "fields": []}
    back = changed(none, MetadataChange(partition_by=["bucket(4, id) as id_bucket"]))
    assert (back["default-spec-id"], len(back["partition-specs"])) == (0, 3)


def test_version_1_makes_dropped_fields_void() -> None:
    metadata = table(1, ("bucket(4, id)", "d"))
    after = changed(metadata, MetadataChange(partition_by=["truncate(5, price) as id_bucket"]))
    assert [(f["field-id"], f["name"], f["transform"]) for f in after["partition-spec"]] == [
        (1000, "id_bucket_1000", "void"),
        (1001, "d", "void"),
        (1002, "id_bucket", "truncate[5]"),
    ]


def test_a_column_and_its_partition_field_go_together() -> None:
    metadata = table(2, ("bucket(4, price)",))
    without = edit(schema_of(metadata), "price", lambda f: None)
    with pytest.raises(ConstraintViolationError, match="remove the field first"):
        changed(metadata, MetadataChange(schema=without))
    after = changed(metadata, MetadataChange(schema=without, partition_by=[]))
    assert after["default-spec-id"] == 1


@pytest.mark.parametrize(
    ("older", "newer", "found"),
    [
        (1, 3, True),
        (2, 2, True),
        (3, 1, False),
        (None, 3, False),
        (3, None, False),
        (None, None, False),
        (1, 9, False),
        (9, 9, True),
        (1, 5, False),
        (5, 4, True),
    ],
)
def test_which_snapshots_descend_from_others(older: int | None, newer: int | None, found: bool) -> None:
    """3 follows 2, which follows 1; 4 and 5 follow each other, which is damage, and no reason not to answer."""
    assert _is_ancestor(older, newer, {1: None, 2: 1, 3: 2, 4: 5, 5: 4}) is found


def test_an_unsorted_order_is_the_order_0() -> None:
    """Also where the table has none yet."""
    metadata = table()
    order = {"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}
    metadata |= {"sort-orders": [{"order-id": 3, "fields": [order]}], "default-sort-order-id": 3}
    _, updates = changes_of(metadata, MetadataChange(sort_by=[]))
    assert updates == [
        {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
    ]
    _, updates = changes_of(metadata, MetadataChange(sort_by=["id"]))
    assert updates == [{"action": "set-default-sort-order", "sort-order-id": 3}]
    _, updates = changes_of(metadata, MetadataChange(sort_by=["id desc"]))
    assert updates[0]["sort-order"]["order-id"] == 4


def test_the_sort_order_changes() -> None:
    metadata = table()
    after = changed(metadata, MetadataChange(sort_by=["id desc", "days(ts)"]))
    assert after["default-sort-order-id"] == 1
    back = changed(after, MetadataChange(sort_by=[]))
    assert (back["default-sort-order-id"], len(back["sort-orders"])) == (0, 2)
    again = changed(back, MetadataChange(sort_by=["id desc", "days(ts)"]))
    assert (again["default-sort-order-id"], len(again["sort-orders"])) == (1, 2)


# ---- properties, versions -------------------------------------------------------------------------------------------


def test_properties_and_versions() -> None:
    metadata = table(1, a="1", b="2")
    after = changed(metadata, MetadataChange(properties={"a": None, "c": "3", "no": None, "format-version": "3"}))
    own = {k: v for k, v in after["properties"].items() if len(k) == 1}
    assert (own, after["format-version"], after["next-row-id"]) == ({"b": "2", "c": "3"}, 3, 0)
    with pytest.raises(ConstraintViolationError, match="no way leads back"):
        changes_of(after, MetadataChange(properties={"format-version": "2"}))


# ---- branches and tags ----------------------------------------------------------------------------------------------


def with_snapshots() -> Json:
    metadata = table()
    for i in (1, 2):
        metadata = apply_updates(metadata, append(metadata, i, START + i), now_ms=START + i)
    return metadata


def test_branches_and_tags() -> None:
    metadata = with_snapshots()
    new = ReferenceChange("branch", 1, must_exist=False, min_versions=3)
    tag = ReferenceChange("tag", must_exist=False, max_age_ms=1000)
    after = changed(metadata, MetadataChange(references={"b": new, "t": tag}))
    assert after["refs"]["b"] == {"type": "branch", "snapshot-id": 1, "min-snapshots-to-keep": 3}
    assert after["refs"]["t"] == {"type": "tag", "snapshot-id": 2, "max-ref-age-ms": 1000}
    moved = changed(
        after,
        MetadataChange(
            references={
                "b": ReferenceChange("branch", 2, must_exist=True),
                "t": ReferenceChange("tag", is_removed=True),
            }
        ),
    )
    assert moved["refs"]["b"] == {"type": "branch", "snapshot-id": 2, "min-snapshots-to-keep": 3}
    assert "t" not in moved["refs"]
    rolled = changed(after, MetadataChange(references={"main": ReferenceChange("branch", 1)}))
    assert rolled["current-snapshot-id"] == 1
    forward = changed(rolled, MetadataChange(references={"main": ReferenceChange("branch", 2, only_forward=True)}))
    assert forward["current-snapshot-id"] == 2
    assert [entry["snapshot-id"] for entry in rolled["snapshot-log"]] == [1, 2, 1]


@pytest.mark.parametrize(
    ("references", "error", "message"),
    [
        ({"b": ReferenceChange("branch", 9)}, SnapshotNotFoundError, "no snapshot 9"),
        ({"main": ReferenceChange("branch", 1, must_exist=False)}, ConstraintViolationError, "already"),
        ({"b": ReferenceChange("branch", 1, must_exist=True)}, SnapshotNotFoundError, "no branch 'b'"),
        ({"main": ReferenceChange("tag", 1)}, ConstraintViolationError, "is a branch"),
        ({"main": ReferenceChange("branch", is_removed=True)}, UnsupportedFeatureError, "main branch"),
        ({"b": ReferenceChange("branch", is_removed=True)}, SnapshotNotFoundError, "no branch 'b'"),
        ({"main": ReferenceChange("tag", is_removed=True)}, ConstraintViolationError, "is a branch"),
        ({"main": ReferenceChange("branch", 1, only_forward=True)}, ConstraintViolationError, "does not descend"),
    ],
)
def test_references_that_do_not_fit_are_refused(references: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        changes_of(with_snapshots(), MetadataChange(references=references))


def test_another_writers_change_of_the_same_is_noticed() -> None:
    metadata = with_snapshots()
    schema = MetadataChange(schema=add(schema_of(metadata), "n", LONG))
    spec = MetadataChange(partition_by=["id"])
    order = MetadataChange(sort_by=["id"])
    branch = MetadataChange(references={"b": ReferenceChange("branch", 1)})
    properties = MetadataChange(properties={"a": "b"})
    every = [schema, spec, order, branch, properties]
    for one in every:
        requirements, _ = changes_of(metadata, one)
        for other in every:
            fails = failed_requirement(changed(metadata, other), requirements) is not None
            assert fails is (one is other and one is not properties), (one, other)


def test_a_name_mapping_follows_the_columns() -> None:
    """A new name is added; the old ones stay, as files may have the column by them, but for those of other columns."""
    inner = {"type": "struct", "fields": [{"id": 4, "name": "y", "required": False, "type": "int"}]}
    of_list = {"type": "list", "element-id": 6, "element-required": False, "element": inner}
    of_map = {"type": "map", "key-id": 8, "key": "int", "value-id": 9, "value": "int", "value-required": False}
    kinds: list[tuple[int, str, Any]] = [(1, "b", "int"), (2, "d", "int"), (3, "s", inner), (5, "l", of_list)]
    kinds.append((7, "m", of_map))
    fields = [{"id": number, "name": name, "required": False, "type": kind} for number, name, kind in kinds]
    mapped = [
        {"field-id": 1, "names": ["a"]},
        {"field-id": 3, "names": ["s"], "fields": [{"field-id": 4, "names": ["x", "y"]}], "of-another": 1},
        {"field-id": 20, "names": ["c", "d"]},
        {"field-id": 21, "names": ["b"]},
        {"names": ["e"]},
        {"field-id": 22},
    ]
    found = json.loads(changed_name_mapping(json.dumps(mapped), {"type": "struct", "fields": fields}))
    assert found == [
        {"field-id": 1, "names": ["a", "b"]},
        {"field-id": 2, "names": ["d"]},
        {"field-id": 3, "names": ["s"], "fields": [{"field-id": 4, "names": ["x", "y"]}], "of-another": 1},
        {
            "field-id": 5,
            "names": ["l"],
            "fields": [{"field-id": 6, "names": ["element"], "fields": [{"field-id": 4, "names": ["y"]}]}],
        },
        {
            "field-id": 7,
            "names": ["m"],
            "fields": [{"field-id": 8, "names": ["key"]}, {"field-id": 9, "names": ["value"]}],
        },
        {"field-id": 20, "names": ["c"]},
        {"names": ["e"]},
    ]
    of_nothing = changed_name_mapping("{}", {"type": "struct", "fields": fields[:1]})
    assert json.loads(of_nothing) == [{"field-id": 1, "names": ["b"]}]


def test_metrics_of_columns_that_are_called_otherwise() -> None:
    prefix = "write.metadata.metrics.column."
    old = Schema((Field(1, "a", LONG), Field(2, "s", StructType((Field(3, "x", LONG),))), Field(4, "gone", LONG)))
    new = {
        "type": "struct",
        "fields": [
            {"id": 1, "name": "a", "type": "long"},
            {"id": 2, "name": "t", "type": {"type": "struct", "fields": [{"id": 3, "name": "y", "type": "long"}]}},
        ],
    }
    told = {f"{prefix}{name}": name for name in ("a", "s.x", "gone", "other")}
    assert changed_properties(told, old, new) == {f"{prefix}s.x": None, f"{prefix}t.y": "s.x", f"{prefix}gone": None}
