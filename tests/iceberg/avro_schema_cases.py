"""Avro schemas of which one value is damaged: the program that decodes manifests, and the columns of data files.

``python -m tests.iceberg.avro_schema_cases`` writes both to ``avro_schema_outcomes.json``: read what has changed there.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tableformats_iceberg.avro.decode_program import MAX_DEPTH, MAX_WORDS, Want, compile_program

import tableformats as tf
from tableformats.engines.arrow.files.avro_types import AvroColumn, column_of
from tableformats.errors import TableFormatsError
from tests.support import leaves

PINNED = Path(__file__).with_name("avro_schema_outcomes.json")


def record(name: str, *fields: Any, **more: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields), **more}


def member(name: str, kind: Any, field_id: int | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **({} if field_id is None else {"field-id": field_id}), **more}


PAIR = record("pair", member("key", "int", 21), member("value", ["null", "bytes"], 22))
KIND: dict[str, Any] = {"type": "enum", "name": "kind", "namespace": "n", "symbols": ["a", "b"]}
CODE: dict[str, Any] = {"type": "fixed", "name": "code", "size": 4}
MANIFEST = record(
    "entry",
    member("status", "int", 0),
    member("id", ["null", "long"], 1),
    member("kind", KIND, 2),
    member("again", "n.kind", 3),
    member("number", ["int", "null", {"type": "int", "logicalType": "date"}], 4),
    member("path", "string", 5),
    member("key", ["bytes", "null"], 6),
    member("code", CODE, 7),
    member("file", record("file", member("size", "long", 11), member("skipped", ["null", "code", "double"], 12)), 8),
    member("bounds", ["null", {"type": "array", "logicalType": "map", "items": PAIR}], 9),
    member("offsets", {"type": "array", "items": "long", "element-id": 31}, 10),
    member("fields", {"type": "array", "items": record("summary", member("null", "boolean", 41))}, 13),
    member("others", {"type": "map", "values": "float"}),
    member("more", {"type": "array", "items": "double"}),
    namespace="top",
)
WANTS = (
    Want(0, ("status",)),
    Want(1, ("id",)),
    Want(2, ("kind",)),
    Want(3, ("again",)),
    Want(4, ("number",)),
    Want(5, ("path",), "text"),
    Want(6, ("key",), "bytes"),
    Want(7, ("code", "old"), "bytes", raw=True),
    Want(8, ("file",), "any", "record", (Want(11, ("size",)), Want(99, ("gone",)))),
    Want(9, ("bounds",), "any", "map", (Want(21, ("key",)), Want(22, ("value",), "bytes"))),
    Want(10, ("offsets",), "int", "list"),
    Want(13, ("fields",), "any", "list", (Want(41, ("null",)),)),
    Want(98, ("none",), "any", "none", raw=True),
)
UNNAMED = {**MANIFEST, "fields": [{k: v for k, v in f.items() if k != "field-id"} for f in MANIFEST["fields"]]}
DAMAGES = {"removed", "null", "true", "-1", "0", "1.5", "text", "[]", "{}", "+1", "longer", "twice", "reversed"}

ROWS = record(
    "row",
    member("bool", "boolean", 1),
    member("int", "int", 2),
    member("day", {"type": "int", "logicalType": "date"}, 3),
    member("time", {"type": "long", "logicalType": "time-micros"}, 4),
    member("at", ["null", {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}], 5),
    member("local", {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False}, 6),
    member("price", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, 7),
    member("cents", {"type": "fixed", "name": "cents", "size": 4, "logicalType": "decimal", "precision": 9}, 8),
    member("code", {**CODE, "namespace": "n"}, 9),
    member("again", "n.code", 10),
    member("kind", KIND, 11),
    member("text", "string", 12),
    member("point", record("point", member("x", "double", 14), member("y", "float", 15)), 13),
    member("list", ["null", {"type": "array", "items": ["null", "long"], "element-id": 17}], 16),
    member("map", {"type": "map", "values": "long", "key-id": 19, "value-id": 20}, 18),
    member("pairs", {"type": "array", "logicalType": "map", "items": PAIR}, 21),
    namespace="top",
)
TYPES: list[Any] = [
    *("null", "boolean", "int", "long", "float", "double", "bytes", "string", "unknown"),
    *(KIND, CODE, {**CODE, "size": 0}, record("r", member("a", "int")), record("r")),
    *({"type": "array", "items": one} for one in ("int", "null", record("e", member("a", "long")), record("e"))),
    {"type": "map", "values": "long"},
    *([], ["int"], ["null", "int"], ["int", "null"], ["null", "null"], ["null", "int", "long"], ["null", ["int"]]),
    *([["null", "int"], "long"], ["null", "string", "bytes"], ["null", "int", "int"], [KIND, "n.kind", "null"]),
    {"type": {"type": "int"}, "logicalType": "date"},
    {"type": ["null", "int"]},
    {"type": "error", "name": "e", "fields": [member("a", "int")]},
    *({"type": {"type": "array", "items": PAIR}, "logicalType": kind} for kind in ("map", "list")),
    *(
        {"type": "array", "logicalType": "map", "items": record("kv", *members)}
        for members in (
            [member("key", "int"), member("value", "int")],
            [member("value", ["null", "long"]), member("key", "long")],
            [member("key", "int"), member("value", CODE)],
            [member("key", "string"), member("value", "bytes")],
            [member("key", "int"), member("value", "string"), member("more", "double")],
            [member("key", ["int", "null"]), member("value", ["null", "bytes", "long"])],
            [member("key", "int"), member("value", ["null", ["bytes"]])],
            [member("key", "int")],
        )
    ),
]
LOGICAL = ("date", "time-millis", "time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos", "uuid")
DATA_TYPES: list[Any] = [
    *TYPES,
    *({"type": kind, "logicalType": name} for kind in ("int", "long", "string") for name in (*LOGICAL, "decimal")),
    *({"type": "long", "logicalType": name, "adjust-to-utc": one} for name in LOGICAL for one in (True, False, "x")),
    *({**CODE, "size": 16, "logicalType": name} for name in ("uuid", "decimal", "duration")),
    *(
        {**one, "logicalType": "decimal", "precision": precision, "scale": scale}
        for one in ({"type": "bytes"}, CODE)
        for precision, scale in ((0, 0), (1, 0), (1, 1), (1, 2), (9, -1), (38, 38), (39, 0), (9, None), ("9", 0))
    ),
    *({**CODE, "size": size} for size in (0, 1, -1, (1 << 30) - 1, 1 << 30, True, "4", None)),
]
KINDS = [(kind, shape) for kind in ("int", "bytes", "text", "any") for shape in ("value", "list", "none")]


def told(make: Callable[[], object]) -> str:
    try:
        return leaves.digest(make())
    except TableFormatsError as error:
        return f"{type(error).__name__}: {error}"


def program(schema: Any, wants: tuple[Want, ...] = WANTS, keys: int = 2) -> str:
    """What a program decodes, as text."""

    def make() -> object:
        made = compile_program(schema, wants, keys, "p")
        columns = [(one.path, one.parent, one.avro, one.holds) for one in made.columns]
        return made.words, columns, made.maps, made.min_size

    return told(make)


def tree(column: AvroColumn) -> object:
    fields = [(f.name, str(f.type), f.nullable, f.metadata) for f in column.type] if column.type.num_fields else []
    return column.decoding_schema, str(column.type), column.min_size, fields


def columns(schema: Any, limits: tf.Limits | None = None) -> str:
    return told(lambda: [tree(column_of(schema, "p", limits or tf.Limits()))])


def of_wants() -> dict[str, dict[str, str]]:
    """{Avro type: {what becomes of it: how it was asked for}}."""
    members = (Want(1, ("a",)),)
    pair = (Want(21, ("key",)), Want(22, ("value",), "bytes"))
    numbers = (Want(21, ("key",)), Want(22, ("value",)))
    asked = {f"{kind} {shape}": Want(7, ("x",), kind, shape) for kind, shape in KINDS}
    asked["record"] = Want(7, ("x",), "any", "record", members)
    asked["list of records"] = Want(7, ("x",), "any", "list", members)
    asked["map"], asked["map of numbers"] = (Want(7, ("x",), "any", "map", one) for one in (pair, numbers))
    asked["raw"] = Want(7, ("x",), "any", "none", raw=True)
    found: dict[str, dict[str, str]] = {}
    for (number, kind), (name, want) in itertools.product(enumerate(TYPES), asked.items()):
        schema = record("top", member("n", KIND), member("x", kind))
        one = found.setdefault(f"{number} {leaves.digest(kind)}", {})
        outcome = " | ".join(program(schema, (want,), keys) for keys in (0, 2))
        one[outcome] = f"{one[outcome]}, {name}" if outcome in one else name
    return found


def of_types() -> dict[str, dict[str, str]]:
    return {
        f"{n} {leaves.digest(kind)}": {columns(record("r", member("x", kind))): ""} for n, kind in enumerate(DATA_TYPES)
    }


def nested(depth: int) -> Any:
    kind: Any = "int"
    for _ in range(depth):
        kind = {"type": "array", "items": kind}
    return record("top", member("x", kind, 7))


def of_sizes() -> dict[str, dict[str, str]]:
    """The deepest and the largest schemas that are taken, and the next ones."""
    found = {}
    for depth in range(MAX_DEPTH - 3, MAX_DEPTH + 2):
        found[f"depth {depth}"] = {program(nested(depth), ()): ""}
        found[f"columns {depth}"] = {columns(nested(depth), tf.Limits(nesting=MAX_DEPTH)): ""}
    for count in range(MAX_WORDS - 2, MAX_WORDS + 2):
        found[f"words {count}"] = {program(record("top", *[member("x", "int")] * count), ()): ""}
    for count in range(8, 13):
        schema = record("top", *(member(f"x{n}", "int") for n in range(count)))
        found[f"fields {count}"] = {columns(schema, tf.Limits(fields=10)): ""}
    return found


def outcomes(share: leaves.Share = (0, 1)) -> dict[str, dict[str, dict[str, str]]]:
    return {
        "manifest": leaves.outcomes(MANIFEST, program, DAMAGES, share),
        "manifest without ids": leaves.outcomes(UNNAMED, program, {"longer", "removed"}, share),
        "rows": leaves.outcomes(ROWS, columns, DAMAGES, share),
    }


def tables() -> dict[str, dict[str, dict[str, str]]]:
    return {"wants": of_wants(), "types": of_types(), "sizes": of_sizes()}


def main() -> None:
    leaves.write(PINNED, {**outcomes(), **tables()})


if __name__ == "__main__":
    main()
