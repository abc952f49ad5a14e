"""Texts of types, each with one part changed, and what is made of them.

``python -m tests.schema.type_cases`` writes it to ``type_outcomes.json``: read what has changed there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tableformats.schema.type_text import parse_type
from tableformats.schema.types import ListType, MapType, StructType, Type
from tests.support import leaves

PINNED = Path(__file__).with_name("type_outcomes.json")
TEXTS = [
    *(
        "int",
        " Bigint ",
        "REAL",
        "timestamptz",
        "timestamp_ltz",
        "unknown",
        "void",
        "strin",
        "",
        "int int",
        "int,",
        ">",
    ),
    *(
        "decimal",
        "dec(5)",
        "numeric[7,2]",
        "decimal(0,0)",
        "decimal(1,1)",
        "decimal(1,2)",
        "decimal(38,38)",
        "decimal(39)",
    ),
    *(
        "decimal(1,2,3)",
        "decimal()",
        "decimal(",
        "decimal(9",
        "decimal(9]",
        "decimal(-1)",
        "decimal(a)",
        "decimal(\u0663)",
    ),
    *("fixed", "fixed[0]", "fixed[1]", "fixed(16)", "fixed[1,2]", "fixed[999999999]", "fixed[1000000000]", "fixed[01]"),
    *("array", "array<int>", "list<array<int>>", "array<int,int>", "array<>", "array<int", "array int"),
    *("map<int,string>", "map<int>", "map<int,int,int>", "map<map<int,int>,array<struct<a:int>>>"),
    *(
        "struct<>",
        "struct<a:int>",
        "struct<a int>",
        "struct<`a``b`: decimal(9,2) NOT NULL, c array<date>>",
        "struct<a:>",
    ),
    *(
        "struct<a:int not>",
        "struct<a:int not null not null>",
        "struct<not:int null>",
        "struct<a:struct<b:int not null> not null>",
    ),
    *("int$", "int#" + "x" * 300, "`int`", "int [", "struct<a:int>:", "char(3)", "varchar(3)"),
]
PARTS = re.compile(r"\w+|[^\w\s]")
OTHERS = ["", ",", "<", ">", "(", ")", ":", "7", "int", "struct", "array", "map", "decimal", "fixed", "null"]


def outcome(text: str) -> str:
    try:
        found = parse_type(text)
        return f"{found!r}{''.join(' ' + name for name in required(found))}"
    except ValueError as error:
        return f"ValueError: {error}"


def required(kind: Type) -> Iterator[str]:
    """The members that must have a value."""
    members = kind.fields if isinstance(kind, StructType) else ()
    members += (kind.element,) if isinstance(kind, ListType) else ()
    members += (kind.key, kind.value) if isinstance(kind, MapType) else ()
    for member in members:
        yield from ([f"{member.name} is required"] if member.required else [])
        yield from required(member.type)


def changed(text: str) -> Iterator[str]:
    """The text with each part in turn replaced or twice."""
    for found in PARTS.finditer(text):
        before, after = text[: found.start()], text[found.end() :]
        yield from (f"{before} {other} {after}" for other in (*OTHERS, found[0] * 2, f"{found[0]} {found[0]}"))


def outcomes() -> dict[str, dict[str, str]]:
    """{text: {what it is: a digest of what its changes are}}."""
    return {text: {outcome(text): leaves.digest([outcome(one) for one in changed(text)])} for text in TEXTS}


def nested() -> dict[str, dict[str, str]]:
    """How deep lists, maps and structs may nest: the levels that are a type."""
    forms = {"array<": ">", "map<int,": ">", "struct<a:": ">"}
    found = {}
    for left, right in forms.items():
        kinds = Counter(outcome(left * n + "int" + right * n).partition(":")[0][:10] for n in range(98, 104))
        found[left] = {kind: str(count) for kind, count in kinds.items()}
    return found


def main() -> None:
    leaves.write(PINNED, {"texts": outcomes(), "nested": nested()})


if __name__ == "__main__":
    main()
