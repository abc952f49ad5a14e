"""What an Arrow schema in a Parquet footer becomes in memory."""

from __future__ import annotations

import base64
import struct

import pyarrow as pa
import pytest

from tableformats.columnar.arrow_schemas import schema_cost
from tests.support.arrow_schema import schema_message

FIELDS = [
    pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"}),
    pa.field("at", pa.timestamp("us", "Europe/Berlin")),
    pa.field("kind", pa.dictionary(pa.int32(), pa.string())),
    pa.field("either", pa.sparse_union([pa.field("a", pa.int8()), pa.field("b", pa.decimal128(9, 2))])),
    pa.field("deep", pa.list_(pa.map_(pa.string(), pa.struct([("x", pa.float64())])))),
    pa.field("day", pa.date32()),
]


def cost(schema: pa.Schema) -> int:
    return schema_cost(base64.b64encode(schema.serialize()))


def test_schemas_of_writers_cost_what_they_hold() -> None:
    schema = pa.schema(FIELDS * 20, metadata={"pandas": "{}"})
    names = 20 * sum(len(name) for name in ("id", "PARQUET:field_id", "1", "at", "Europe/Berlin", "kind", "either"))
    assert names < cost(schema) < 500 * 20 * 20
    for longer in (
        schema.append(pa.field("n" * 10_000, pa.int8())),
        schema.append(pa.field("n", pa.timestamp("us", "z" * 10_000))),
        schema.append(pa.field("n", pa.int8(), metadata={"k": "v" * 10_000})),
        schema.with_metadata({"pandas": "{}", "k" * 10_000: "v"}),
    ):
        assert 10_000 < cost(longer) - cost(schema) < 11_000


def test_each_reference_to_a_field_counts() -> None:
    once, often = (base64.b64encode(schema_message("n" * 5000, count)) for count in (1, 1000))
    assert 999 * 5000 < schema_cost(often) - schema_cost(once) < 999 * 5500
    levels = base64.b64encode(schema_message("n" * 5000, 1, levels=10))
    assert 2047 * 5000 < schema_cost(levels) < 2047 * 5500


def test_small_schemas_are_left_to_arrow() -> None:
    assert schema_cost(b"!" * 1024) == 0
    for stored in (b"!" * 1025, b"A" * 1025):
        with pytest.raises(ValueError, match="ARROW:schema is"):
            schema_cost(stored)


def test_messages_of_old_versions() -> None:
    message = pa.schema(FIELDS * 20).serialize().to_pybytes()
    assert schema_cost(base64.b64encode(message[4:])) == schema_cost(base64.b64encode(message)) > 0


def test_damaged_schemas() -> None:
    message = pa.schema(FIELDS * 20).serialize().to_pybytes()
    refused = 0
    for at in range(8, 1500, 17):
        for value in (0, 127, 255):
            damaged = message[:at] + bytes([value]) + message[at + 1 :]
            try:
                assert schema_cost(base64.b64encode(damaged)) >= 0
            except ValueError:
                refused += 1
    assert refused
    with pytest.raises(ValueError, match="cut short"):
        schema_cost(base64.b64encode(message[:1000]))
    with pytest.raises(ValueError, match="cut short"):
        schema_cost(base64.b64encode(struct.pack("<iIi", -1, 2000, -5) + bytes(2000)))


def test_fields_in_too_many_levels() -> None:
    with pytest.raises(ValueError, match="too deeply"):
        schema_cost(base64.b64encode(schema_message("n", 1, levels=200)))


def test_lists_that_overlap_are_not_walked_again_and_again() -> None:
    """Fields whose lists of children lie in each other, each a little shorter, would be walked for minutes."""
    message = bytearray(schema_message("n" * 100, 50_000, levels=1))
    at = message.find(struct.pack("<I", 2), 200_000)  # the children of the first level
    message[at : at + 4] = struct.pack("<I", 2**30)
    with pytest.raises(ValueError, match="overlap"):
        schema_cost(base64.b64encode(message))


def test_how_deep_schemas_may_nest() -> None:
    kind = pa.int8()
    for _ in range(130):
        kind = pa.list_(kind)
    assert cost(pa.schema([("a", kind)])) > 0
    with pytest.raises(ValueError, match="too deeply"):
        cost(pa.schema([("a", pa.list_(kind))]))
