"""Properties of Iceberg tables that writers obey, with values of every kind, and what is made of each.

``python -m tests.iceberg.property_cases`` writes it to ``property_outcomes.json``: {property: {outcome: values}}. Read
what has changed there.
"""

from __future__ import annotations

from pathlib import Path

from tableformats_iceberg.write import properties as common
from tableformats_iceberg.write.commit import parquet_properties as parquet

from tableformats.errors import TableFormatsError
from tableformats.schema import Field, ListType, Schema, StructType, primitive
from tests.support import leaves

PINNED = Path(__file__).with_name("property_outcomes.json")
POINT = StructType((Field(3, "x", primitive("double")), Field(4, "is", primitive("boolean"))))
SCHEMA = Schema(
    (
        Field(1, "id", primitive("long")),
        Field(2, "point", POINT),
        Field(5, "tags", ListType(Field(6, "element", primitive("string")))),
    )
)
NUMBERS = [
    0,
    1,
    2,
    9,
    10,
    11,
    12,
    22,
    23,
    -1,
    131_072,
    -131_072,
    -131_073,
    2**31 - 1,
    2**31,
    2**63 - 1,
    2**63,
    -(2**63),
]
VALUES = [
    *map(str, NUMBERS),
    *(
        "+5",
        "007",
        "0.5",
        "1.0",
        ".01",
        "1e-3",
        "1e-1000",
        "0.0",
        "5e0",
        "TRUE",
        "false",
        "zstd",
        "GZIP",
        "V2",
        "x",
        "",
    ),
    *("9" * 20, "0" * 19 + "1", "\u0661"),
]
CODECS = ("zstd", "gzip", "brotli", "snappy", "uncompressed", None)
COLUMNS = ("id", "point.x", "point.is", "tags.element", "tags", "none")


def named(names: object) -> list[str]:
    return [one.name for one in vars(names).values() if isinstance(one, (common.Flag, common.Number, common.Choice))]


def of_common(properties: dict[str, str]) -> str:
    return repr([one.of(properties) for one in common._COMMON])


def of_parquet(properties: dict[str, str]) -> str:
    return repr(parquet.parquet_options(SCHEMA, properties))


def outcome(properties: dict[str, str]) -> str:
    """What differs from a table without properties, or the error."""
    found = []
    for of in (of_common, of_parquet):
        try:
            text, plain = of(properties), of({})
        except TableFormatsError as error:
            found.append(f"{type(error).__name__}: {error}")
            continue
        pairs = zip(text.split(", "), plain.split(", "), strict=False)
        found += [one for one, other in pairs if one != other] or []
    return "; ".join(found) or "nothing"


def outcomes() -> dict[str, dict[str, str]]:
    asked: list[tuple[str, dict[str, str]]] = [(name, {}) for name in [*named(common), *named(parquet)]]
    for codec in CODECS:
        asked.append((parquet._LEVEL, {} if codec is None else {parquet.CODEC.name: codec}))
    for prefix in parquet._OF_COLUMNS:
        asked += [(f"{prefix}{column}", {}) for column in COLUMNS]
    for prefix in (parquet._FILTER_RATES, parquet._FILTER_VALUES):
        asked.append((f"{prefix}id", {f"{parquet._FILTERS}id": "true"}))
    found: dict[str, dict[str, list[str]]] = {}
    for name, more in asked:
        for value in VALUES:
            text = outcome({**more, name: value}).replace(repr(value), "VALUE")
            found.setdefault(f"{name} {sorted(more.values())}", {}).setdefault(text, []).append(value)
    return {name: {text: ", ".join(values) for text, values in one.items()} for name, one in found.items()}


def main() -> None:
    leaves.write(PINNED, {"properties": outcomes()})


if __name__ == "__main__":
    main()
