"""Avro data files read with Arrow: every type, fields by id, deletes by position, and damage as typed errors."""

from __future__ import annotations

import datetime as dt
import io
import json
import random
import uuid
from dataclasses import replace
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from tableformats.engines.arrow.files import avro
from tableformats.engines.arrow.files.avro_blocks import AvroBlocks
from tableformats.engines.arrow.files.avro_types import column_of
from tableformats.errors import CorruptMetadataError, LimitExceededError, TableFormatsError, UnsupportedFeatureError
from tableformats.limits import DEFAULT_LIMITS, Limits
from tableformats.schema import DecimalType, Field, FixedType, ListType, MapType, StructType, Type, primitive
from tableformats.table.table import Snapshot
from tests.support.arrow_fakes import FakeFile, snapshot_of

LONG, INT, STRING = primitive("long"), primitive("int"), primitive("string")
UTC = dt.timezone.utc


def avro_field(name: str, field_id: int | None, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind} | ({} if field_id is None else {"field-id": field_id})


def record(*fields: dict[str, Any], name: str = "r") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def write(root: Path, schema: Any, rows: list[Any], name: str = "f.avro", **options: Any) -> str:
    path = root / name
    with path.open("wb") as out:
        fastavro.writer(out, schema, rows, **options)
    return str(path)


def snapshot(root: Path, path: str, rows: int | None, *fields: Field, **file: Any) -> Snapshot:
    return snapshot_of(root, fields, [FakeFile(path, rows, file_format="avro", **file)], by="id")


def optional(kind: Any) -> list[Any]:
    return ["null", kind]


def instant(unit: str, utc: bool) -> dict[str, Any]:
    return {"type": "long", "logicalType": f"timestamp-{unit}", "adjust-to-utc": utc}


def fixed(size: int, **attributes: Any) -> dict[str, Any]:
    return {"type": "fixed", "name": f"fixed_{size}_{len(attributes)}", "size": size, **attributes}


MICROS = 1_700_000_000_123_456
WHEN = dt.datetime(2023, 11, 14, 22, 13, 20, 123456)
U = uuid.UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
# (Avro type, our type, what stands in the file without logical types, the value)
TYPES: list[tuple[Any, Type, Any, Any]] = [
    ("boolean", primitive("boolean"), True, True),
    ("int", INT, -(2**31), -(2**31)),
    ("int", LONG, 7, 7),
    ("long", LONG, -(2**63), -(2**63)),
    ("float", primitive("float"), 1.5, 1.5),
    ("float", primitive("double"), 1.5, 1.5),
    ("double", primitive("double"), 0.1, 0.1),
    ("string", STRING, "é€𝄞", "é€𝄞"),
    ("bytes", primitive("binary"), b"\x00\xff", b"\x00\xff"),
    (fixed(3), FixedType(3), b"abc", b"abc"),
    (fixed(16, logicalType="uuid"), primitive("uuid"), U.bytes, U.bytes),
    ({"type": "int", "logicalType": "date"}, primitive("date"), -1, dt.date(1969, 12, 31)),
    ({"type": "int", "logicalType": "date"}, primitive("timestamp_ntz"), 1, dt.datetime(1970, 1, 2)),
    ({"type": "long", "logicalType": "time-micros"}, primitive("time"), 1, dt.time(0, 0, 0, 1)),
    (instant("micros", False), primitive("timestamp_ntz"), MICROS, WHEN),
    (instant("micros", True), primitive("timestamp"), MICROS, WHEN.replace(tzinfo=UTC)),
    (instant("micros", False), primitive("timestamp_ntz"), -62135596800000000, dt.datetime(1, 1, 1)),
    (instant("millis", True), primitive("timestamp"), 1, dt.datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)),
    (
        fixed(4, logicalType="decimal", precision=9, scale=2),
        DecimalType(9, 2),
        (-12345).to_bytes(4, "big", signed=True),
        Decimal("-123.45"),
    ),
    (
        fixed(4, logicalType="decimal", precision=9, scale=2),
        DecimalType(20, 2),
        (5).to_bytes(4, "big"),
        Decimal("0.05"),
    ),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 0},
        DecimalType(38, 0),
        (10**38 - 1).to_bytes(16, "big"),
        Decimal(10**38 - 1),
    ),
    ({"type": "enum", "name": "e", "symbols": ["a", "b"]}, STRING, "b", "b"),
]


def without_logical(kind: Any) -> Any:
    return {k: v for k, v in kind.items() if k != "logicalType"} if isinstance(kind, dict) else kind


def relabelled(path: str, schema: Any) -> None:
    """Put another schema of the same length into the header: fastavro writes raw values without logical types."""
    data = Path(path).read_bytes()
    header = fastavro.reader(io.BytesIO(data)).metadata
    blocks = data[data.index(header["avro.schema"].encode()) :]
    sync = data[-16:]
    text = json.dumps(schema).encode()
    head = b"Obj\x01" + avro._number(1) + avro._number(11) + b"avro.schema" + avro._number(len(text)) + text + b"\x00"
    Path(path).write_bytes(head + sync + blocks[blocks.index(sync) + 16 :])


@pytest.mark.parametrize(("kind", "ours", "raw", "value"), TYPES, ids=lambda v: str(v)[:30])
def test_types(tmp_path: Path, kind: Any, ours: Type, raw: Any, value: Any) -> None:
    path = write(tmp_path, record(avro_field("x", 1, optional(without_logical(kind)))), [{"x": raw}, {"x": None}])
    relabelled(path, record(avro_field("x", 1, optional(kind))))
    found = snapshot(tmp_path, path, 2, Field(1, "c", ours)).scan().to_arrow()
    found.validate(full=True)
    assert found.to_pylist() == [{"c": value}, {"c": None}]
    path = write(tmp_path, record(avro_field("x", 1, without_logical(kind))), [{"x": raw}])
    relabelled(path, record(avro_field("x", 1, kind)))
    assert snapshot(tmp_path, path, 1, Field(1, "c", ours, required=True)).scan().to_arrow().to_pylist() == [
        {"c": value}
    ]


@pytest.mark.parametrize(("name", "utc"), [("timestamp_ns", True), ("timestamp_ntz_ns", False)])
def test_nanoseconds(tmp_path: Path, name: str, utc: bool) -> None:
    path = write(tmp_path, record(avro_field("x", 1, "long")), [{"x": 2**62 + 1}])
    relabelled(path, record(avro_field("x", 1, instant("nanos", utc))))
    found = snapshot(tmp_path, path, 1, Field(1, "c", primitive(name))).scan().to_arrow()
    assert found["c"].cast(pa.int64()).to_pylist() == [2**62 + 1]


PAIR = record(avro_field("key", 7, "int"), avro_field("value", 8, optional("string")), name="k7_v8")
NESTED = record(
    avro_field("id", 1, "long"),
    avro_field("s", 2, optional(record(avro_field("a", 3, optional("int")), avro_field("b", 4, "string"), name="s"))),
    avro_field("l", 5, optional({"type": "array", "items": optional("long"), "element-id": 6})),
    avro_field("m", 9, optional({"type": "array", "logicalType": "map", "items": PAIR})),
    avro_field("n", 10, {"type": "map", "values": "long", "key-id": 11, "value-id": 12}),
)
NESTED_FIELDS = [
    Field(10, "names", MapType(Field(11, "key", STRING, True), Field(12, "value", LONG, True))),
    Field(1, "number", LONG, required=True),
    Field(2, "s", StructType((Field(4, "bb", STRING), Field(3, "aa", LONG), Field(20, "new", INT, initial_default=5)))),
    Field(5, "l", ListType(Field(6, "element", LONG))),
    Field(9, "m", MapType(Field(7, "key", LONG, True), Field(8, "value", STRING))),
]
NESTED_ROWS = [
    {"id": 1, "s": {"a": 1, "b": "x"}, "l": [1, None], "m": [{"key": 1, "value": "y"}], "n": {"k": 9}},
    {"id": 2, "s": None, "l": None, "m": None, "n": {}},
    {
        "id": 3,
        "s": {"a": None, "b": ""},
        "l": [],
        "m": [{"key": 2, "value": None}, {"key": 3, "value": "z"}],
        "n": {"a": 1, "b": 2},
    },
]


def test_nested_fields_by_id(tmp_path: Path) -> None:
    path = write(tmp_path, NESTED, NESTED_ROWS)
    found = snapshot(tmp_path, path, 3, *NESTED_FIELDS).scan().to_arrow()
    found.validate(full=True)
    assert found.to_pylist() == [
        {"names": [("k", 9)], "number": 1, "s": {"bb": "x", "aa": 1, "new": 5}, "l": [1, None], "m": [(1, "y")]},
        {"names": [], "number": 2, "s": None, "l": None, "m": None},
        {
            "names": [("a", 1), ("b", 2)],
            "number": 3,
            "s": {"bb": "", "aa": None, "new": 5},
            "l": [],
            "m": [(2, None), (3, "z")],
        },
    ]
    only = snapshot(tmp_path, path, 3, *NESTED_FIELDS).scan("s.aa = 1", columns=["l"]).to_arrow()
    assert only.to_pylist() == [{"l": [1, None]}]


def test_names_defined_once_and_used_again(tmp_path: Path) -> None:
    point = record(avro_field("x", 2, "int"), name="space.point")
    schema = record(avro_field("a", 1, point), avro_field("b", 3, optional("space.point"))) | {"namespace": "other"}
    path = write(tmp_path, schema, [{"a": {"x": 1}, "b": {"x": 2}}, {"a": {"x": 3}, "b": None}])
    inner = StructType((Field(2, "x", INT),))
    found = snapshot(tmp_path, path, 2, Field(1, "a", inner), Field(3, "b", inner)).scan().to_arrow()
    assert found.to_pylist() == [{"a": {"x": 1}, "b": {"x": 2}}, {"a": {"x": 3}, "b": None}]


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard"])
def test_codecs_blocks_and_positions(tmp_path: Path, codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": i, "text": "x" * (i % 7)} for i in range(5000)]
    schema = record(avro_field("id", 1, "long"), avro_field("text", 2, "string"))
    plain = write(tmp_path, schema, rows, sync_interval=1000)
    path = plain if codec in ("null", "deflate") else str(tmp_path / "g.avro")
    if codec in ("null", "deflate"):
        write(tmp_path, schema, rows, sync_interval=1000, codec=codec)
    else:
        Path(path).write_bytes(recompressed(Path(plain).read_bytes(), codec))
    monkeypatch.setattr(avro, "MAX_ROWS", 700)
    fields = Field(1, "id", LONG), Field(2, "text", STRING)
    deleted = [0, 699, 700, 4999]
    scan = snapshot(tmp_path, path, 5000, *fields, positions=deleted).scan(columns=["id", "text"])
    batches = list(scan.to_arrow_batch_reader())
    assert len(batches) == 8 and max(b.num_rows for b in batches) <= 700
    assert pa.Table.from_batches(batches).to_pylist() == [r for r in rows if r["id"] not in deleted]
    assert scan.where("id >= 4990").count() == 9
    assert snapshot(tmp_path, path, 5000, *fields, positions=deleted).scan(columns=[]).to_arrow().num_rows == 4996


def recompressed(data: bytes, codec: str) -> bytes:
    from tests.support.iceberg_manifests import recompress

    return recompress(data, codec)


class TestDamage:
    def one(self, root: Path, data: bytes, rows: int | None = None, limits: Limits = DEFAULT_LIMITS) -> Any:
        (root / "d.avro").write_bytes(data)
        found = snapshot(root, str(root / "d.avro"), rows, *NESTED_FIELDS)
        found.storage.limits = limits
        return found.scan().to_arrow()

    def good(self, root: Path) -> bytes:
        return Path(write(root, NESTED, NESTED_ROWS * 20, sync_interval=200)).read_bytes()

    def test_every_cut_is_one_typed_error(self, tmp_path: Path) -> None:
        data = self.good(tmp_path)
        ends = set()
        for end in range(0, len(data), 7):
            try:
                ends.add(self.one(tmp_path, data[:end]).num_rows)
            except CorruptMetadataError as error:
                assert error.path == str(tmp_path / "d.avro") and error.hint
        # Behind a sync marker a cut file is a whole one: only the metadata's count tells.
        assert all(n < 60 for n in ends)

    def test_flipped_bytes_are_typed_errors_or_other_values(self, tmp_path: Path) -> None:
        data, chance = self.good(tmp_path), random.Random(4)
        for _ in range(400):
            damaged = bytearray(data)
            for _ in range(chance.randint(1, 4)):
                damaged[chance.randrange(len(data))] = chance.randrange(256)
            try:
                self.one(tmp_path, bytes(damaged)).validate(full=True)
            except TableFormatsError as error:
                assert error.path == str(tmp_path / "d.avro") and error.hint

    def test_memory_that_cannot_be_had(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def block_reader(_: Any) -> None:
            raise MemoryError

        data = self.good(tmp_path)
        monkeypatch.setattr(fastavro, "block_reader", block_reader)
        with pytest.raises(MemoryError):
            self.one(tmp_path, data)

    @pytest.mark.parametrize(
        "schema",
        [
            b"",
            b"{",
            b"7",
            b'"int"',
            b'{"type":"record","name":"r"}',
            b'{"type":"record","name":"r","fields":[7]}',
            b'{"type":"record","name":"r","fields":[{"name":"x","type":"r"}]}',
            b'{"type":"record","name":"r","fields":[{"name":"x","type":"nothing"}]}',
            b'{"type":"record","name":"r","fields":[{"name":"x","type":{"type":"fixed","name":"f","size":-1}}]}',
            b"[" * 100_000,
        ],
        ids=lambda s: str(s[:60]),
    )
    def test_damaged_schemas(self, tmp_path: Path, schema: bytes) -> None:
        head = b"Obj\x01" + avro._number(1) + avro._number(11) + b"avro.schema" + avro._number(len(schema)) + schema
        # A type within itself nests without end.
        expected = LimitExceededError if b'"type":"r"}]' in schema else CorruptMetadataError
        with pytest.raises(expected) as caught:
            self.one(tmp_path, head + b"\x00" + bytes(16))
        assert isinstance(caught.value, TableFormatsError) and caught.value.path and caught.value.hint

    def test_schema_that_multiplies(self, tmp_path: Path) -> None:
        fields = [avro_field("a0", None, record(avro_field("x", None, "int"), name="n0"))]
        for i in range(1, 40):
            inner = record(*(avro_field(f"b{j}", None, f"n{i - 1}") for j in range(8)), name=f"n{i}")
            fields.append(avro_field(f"a{i}", None, inner))
        text = json.dumps(record(*fields)).encode()
        head = b"Obj\x01" + avro._number(1) + avro._number(11) + b"avro.schema" + avro._number(len(text)) + text
        with pytest.raises(LimitExceededError, match=r"51201 types or more .* the limit expansion of 200"):
            self.one(tmp_path, head + b"\x00" + bytes(16))
        with pytest.raises(LimitExceededError, match="the limit fields of 20000"):
            self.one(tmp_path, head + b"\x00" + bytes(16), limits=replace(DEFAULT_LIMITS, fields=20_000))

    def test_types_by_the_bytes_of_a_schema(self) -> None:
        """A schema of two MiB may have twice as many types as one of one MiB, or of less."""
        schema = record(avro_field("a", None, "int"), avro_field("b", None, "int"))
        limits = replace(DEFAULT_LIMITS, expansion=1)
        few = {**schema, "fields": [avro_field(f"a{i}", None, "int") for i in range(255)]}
        many = {**schema, "fields": [avro_field(f"a{i}", None, "int") for i in range(256)]}
        for stored in (0, 1 << 20):
            assert len(column_of(few, "p", limits, stored).members) == 255
            with pytest.raises(LimitExceededError, match="257 types or more"):
                column_of(many, "p", limits, stored)
        assert len(column_of(many, "p", limits, 2 << 20).members) == 256

    @pytest.mark.parametrize(
        ("kind", "feature"),
        [
            (["int", "string"], "unions of several types"),
            ({"type": "array", "items": "null"}, "without bytes"),
            ({"type": "bytes", "logicalType": "decimal", "precision": 39}, "decimals of 39 digits"),
            ("null", "a value"),
        ],
    )
    def test_what_is_not_read_is_named(self, tmp_path: Path, kind: Any, feature: str) -> None:
        text = json.dumps(record(avro_field("x", 1, kind))).encode()
        head = b"Obj\x01" + avro._number(1) + avro._number(11) + b"avro.schema" + avro._number(len(text)) + text
        with pytest.raises(UnsupportedFeatureError, match=feature):
            self.one(tmp_path, head + b"\x00" + bytes(16))

    @pytest.mark.parametrize("symbols", [None, "ab", [1], ["a", None]])
    def test_enums_without_symbols(self, tmp_path: Path, symbols: Any) -> None:
        kind = {"type": "enum", "name": "e", "symbols": symbols}
        text = json.dumps(record(avro_field("x", 1, kind))).encode()
        head = b"Obj\x01" + avro._number(1) + avro._number(11) + b"avro.schema" + avro._number(len(text)) + text
        with pytest.raises(CorruptMetadataError, match="an enum has no symbols"):
            self.one(tmp_path, head + b"\x00" + bytes(16))

    def test_keys_of_maps_that_are_null(self, tmp_path: Path) -> None:
        pair = record(avro_field("key", 2, optional("string")), avro_field("value", 3, "int"), name="p")
        kind = {"type": "array", "items": pair, "logicalType": "map"}
        path = write(tmp_path, record(avro_field("m", 1, kind)), [{"m": [{"key": None, "value": 5}]}])
        fields = Field(2, "key", STRING, True), Field(3, "value", INT)
        with pytest.raises(CorruptMetadataError, match="a key of a map is NULL"):
            snapshot(tmp_path, path, 1, Field(1, "m", MapType(*fields))).scan().to_arrow()

    def test_inflating_without_end(self, tmp_path: Path) -> None:
        schema = record(avro_field("id", 1, "long"), avro_field("b", 30, "bytes"))
        rows = [{"id": 1, "b": bytes(20_000)}]
        plain = Path(write(tmp_path, schema, rows)).read_bytes()
        for codec in ("deflate", "snappy", "zstandard"):
            with pytest.raises(LimitExceededError, match="inflated_bytes"):
                self.one(tmp_path, recompressed(plain, codec), limits=Limits(inflated_bytes=10_000))

    def test_values_that_the_schema_does_not_allow(self, tmp_path: Path) -> None:
        path = write(tmp_path, record(avro_field("x", 1, "bytes")), [{"x": b"\xff"}])
        relabelled(path, record(avro_field("x", 1, "string")))
        with pytest.raises(CorruptMetadataError, match="does not allow"):
            snapshot(tmp_path, path, 1, Field(1, "c", STRING)).scan().to_arrow()
        decimal = {"type": "bytes", "logicalType": "decimal", "precision": 2}
        path = write(tmp_path, record(avro_field("x", 1, "bytes")), [{"x": b"\x64"}])
        relabelled(path, record(avro_field("x", 1, decimal)))
        with pytest.raises(CorruptMetadataError, match="more than 2 digits"):
            snapshot(tmp_path, path, 1, Field(1, "c", DecimalType(2, 0))).scan().to_arrow()

    @pytest.mark.parametrize(
        ("precision", "number", "is_read"),
        [
            (2, 99, True),
            (2, 100, False),
            (2, -99, True),
            (2, -100, False),
            (38, 10**38 - 1, True),
            (38, 10**38, False),
            (38, 1 - 10**38, True),
            (1, 0, True),
        ],
    )
    def test_decimals_have_no_more_digits(self, tmp_path: Path, precision: int, number: int, is_read: bool) -> None:
        stored = number.to_bytes(17, "big", signed=True)
        path = write(tmp_path, record(avro_field("x", 1, "bytes")), [{"x": stored}, {"x": b"\x01"}])
        kind = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 1}
        relabelled(path, record(avro_field("x", 1, kind)))
        scan = snapshot(tmp_path, path, 2, Field(1, "c", DecimalType(precision, 1))).scan()
        if not is_read:
            with pytest.raises(CorruptMetadataError, match=f"more than {precision} digits"):
                scan.to_arrow()
            return
        assert [value.scaleb(1, Context(prec=99)) for value in scan.to_arrow()["c"].to_pylist()] == [number, 1]

    @pytest.mark.parametrize(
        ("precision", "scale", "refused"),
        [(1, 0, ""), (1, 1, ""), (38, 38, ""), (1, 2, "no precision"), (0, 0, "0 digits"), (2, -1, "no precision")],
    )
    def test_digits_of_decimals(self, tmp_path: Path, precision: int, scale: int, refused: str) -> None:
        path = write(tmp_path, record(avro_field("x", 1, "bytes")), [{"x": b"\x01"}])
        kind = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        relabelled(path, record(avro_field("x", 1, kind)))
        scan = snapshot(tmp_path, path, 1, Field(1, "c", DecimalType(max(precision, 1), max(scale, 0)))).scan()
        if refused:
            with pytest.raises(TableFormatsError, match=refused):
                scan.to_arrow()
        else:
            assert scan.to_arrow()["c"].to_pylist() == [Decimal((0, (1,), -scale))]

    def test_files_without_ids_are_refused_by_name(self, tmp_path: Path) -> None:
        path = write(tmp_path, record(avro_field("x", None, "int")), [{"x": 1}])
        with pytest.raises(UnsupportedFeatureError) as caught:
            snapshot(tmp_path, path, 1, Field(1, "x", INT)).scan().to_arrow()
        assert caught.value.field == "data files without field ids"


def test_headers_of_any_length(tmp_path: Path) -> None:
    """The first read takes 64 KiB, and a longer header is read again."""
    schema = record(avro_field("a", 1, "long"))
    for length in (0, 65_000, 70_000, 600_000):
        path = write(tmp_path, schema, [{"a": 7}], metadata={"note": "x" * length})
        assert AvroBlocks(pa.OSFile(path), path).num_rows == 1
        data = Path(path).read_bytes()
        for kept in (5, length + 60):
            with pytest.raises(CorruptMetadataError, match="cut short"):
                AvroBlocks(pa.BufferReader(data[:kept]), path)
    empty = Path(write(tmp_path, schema, [], "empty.avro"))
    assert AvroBlocks(pa.OSFile(str(empty)), "f").num_rows == 0
    with pytest.raises(CorruptMetadataError, match="cut short"):
        AvroBlocks(pa.BufferReader(empty.read_bytes()[:-1]), "f")
    with pytest.raises(LimitExceededError):
        AvroBlocks(pa.OSFile(path), path, Limits(metadata_bytes=(1 << 16) - 1))
    with pytest.raises(LimitExceededError):
        AvroBlocks(pa.OSFile(path), path, Limits(metadata_bytes=1 << 18))
    assert AvroBlocks(pa.OSFile(path), path, Limits(metadata_bytes=1 << 16 << 3)).num_rows == 1
    with pytest.raises(CorruptMetadataError, match="does not begin"):
        AvroBlocks(pa.BufferReader(b"Obj\x02" + data[4:]), path)


@pytest.mark.parametrize(
    ("kind", "depth"),
    [
        ("int", 2),
        ({"type": "int"}, 2),
        ({"type": {"type": "int"}}, 3),
        (optional("int"), 3),
        ({"type": "array", "items": "int"}, 3),
        ({"type": "map", "values": "int"}, 3),
        ({"type": "map", "values": {"type": "map", "values": "int"}}, 4),
        (record(avro_field("b", 2, "int"), name="s"), 3),
    ],
    ids=str,
)
def test_the_deepest_schema_is_taken(kind: Any, depth: int) -> None:
    """The record of the file is level 0, and the items of its list are level 2."""
    schema = record(avro_field("a", 1, {"type": "array", "items": kind}))
    column_of(schema, "f", Limits(nesting=depth))
    with pytest.raises(LimitExceededError) as caught:
        column_of(schema, "f", Limits(nesting=depth - 1))
    assert (caught.value.limit, caught.value.path) == ("nesting", "f")


def test_a_name_is_a_level_above_its_type() -> None:
    schema = record(avro_field("a", 1, fixed(4)), avro_field("b", 2, "fixed_4_0"))
    column_of(schema, "f", Limits(nesting=2))
    with pytest.raises(LimitExceededError):
        column_of(schema, "f", Limits(nesting=1))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "00"),
        (1, "02"),
        (63, "7e"),
        (64, "8001"),
        (65, "8201"),
        (8191, "fe7f"),
        (8192, "808001"),
        (2**31, "8080808010"),
    ],
)
def test_numbers_take_seven_bits_of_a_byte(value: int, text: str) -> None:
    assert avro._number(value).hex() == text


def of_types(name: str, *types: Any, **more: str) -> dict[str, Any]:
    fields = [{"name": f"x{i}", "type": kind} for i, kind in enumerate(types)]
    return {"type": "record", "name": name, "fields": fields, **more}


PAIR = {"type": "fixed", "name": "pair", "size": 2}


@pytest.mark.parametrize(
    ("schema", "is_known"),
    [
        (of_types("r", PAIR, "pair"), True),
        (of_types("r", PAIR, "a.pair", namespace="a"), True),
        (of_types("r", PAIR, "pair", namespace="a"), True),
        (of_types("r", PAIR, "b.pair", namespace="a"), False),
        (of_types("a.r", PAIR, "a.pair"), True),
        (of_types("a.r", PAIR, "a.pair", namespace="b"), True),  # the name's own namespace
        (of_types("a.r", PAIR, "b.pair", namespace="b"), False),
        (of_types("r", PAIR | {"name": "b.pair"}, "b.pair"), True),
        (of_types("r", PAIR | {"name": "b.pair"}, "pair"), False),
        (of_types("r", PAIR | {"namespace": "b"}, "b.pair"), True),
        (of_types("r", of_types("b.in", PAIR, "pair"), "b.pair"), True),
        (of_types("r", of_types("b.in", PAIR), "pair"), False),
        (of_types("a.r", of_types("in", PAIR), "a.in"), True),
        (of_types("a.b.r", PAIR, "a.b.pair"), True),
    ],
)
def test_names_of_types_are_found_in_namespaces(schema: dict[str, Any], is_known: bool) -> None:
    if is_known:
        last = column_of(schema, "p").type[1].type
        assert last == (pa.binary(2) if schema["fields"][1]["type"] != "a.in" else pa.struct([("x0", pa.binary(2))]))
    else:
        with pytest.raises(CorruptMetadataError, match="is no type"):
            column_of(schema, "p")


@pytest.mark.parametrize(("size", "is_size"), [(1, True), (2**30 - 1, True), (2**30, False), (0, False), ("2", False)])
def test_sizes_of_fixed_types(size: Any, is_size: bool) -> None:
    schema = of_types("r", PAIR | {"size": size})
    if is_size:
        assert column_of(schema, "p").min_size == size
    else:
        with pytest.raises(CorruptMetadataError, match="a fixed type has no size"):
            column_of(schema, "p")
