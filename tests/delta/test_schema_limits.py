"""How large the schema of a ``metaData`` action may be: its fields, their dotted names, and what they cost."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_delta.schema.schema_string import parse_schema

import tableformats as tf
from tests.support.delta_log import field, schema_string

MIB = 1 << 20


@pytest.mark.parametrize(
    ("objects", "lists", "stored", "is_allowed"),
    [
        (582, 9, 0, True),
        (582, 10, 0, False),
        (583, 1, 0, False),
        (582, 10, 2 * MIB, True),
        (1165, 1, 2 * MIB, True),
        (1111, 2, 2_000_000, True),
        (1111, 2, 1_999_999, False),
    ],
)
def test_how_much_a_schema_may_cost(objects: int, lists: int, stored: int, is_allowed: bool) -> None:
    """A field costs 1800 bytes, and a list 100. A byte of the file may become one."""
    text = schema_string(field("x" + "{" * (objects - 3) + "[" * (lists - 1), "long"))
    assert (text.count("{"), text.count("[")) == (objects, lists)
    limits = tf.Limits(expansion=1)
    if is_allowed:
        assert len(parse_schema(text, "none", "/log", limits, stored).fields) == 1
    else:
        with pytest.raises(tf.LimitExceededError) as caught:
            parse_schema(text, "none", "/log", limits, stored)
        assert (caught.value.limit, caught.value.field) == ("expansion", "metaData.schemaString")


@pytest.mark.parametrize(("padding", "stored"), [(MIB, 0), (0, 2 * MIB)])
def test_how_long_dotted_names_may_be(padding: int, stored: int) -> None:
    """By the bytes of the text, or by those of the file that holds it."""
    inner = {"type": "struct", "fields": [field("x" * 9, "long") for _ in range(1)]}
    text, limits = schema_string(field("y" * (MIB // 16), inner)), tf.Limits(expansion=1)
    assert len(parse_schema(text + " " * padding, "none", "/log", limits, stored).fields) == 1
    with pytest.raises(tf.LimitExceededError, match="characters of dotted names"):
        parse_schema(text, "none", "/log", limits)


MOST = MIB // 8
"""Characters of dotted names, of 8 bytes each, that a short text may have."""


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "struct", "fields": [field("b", "long")]},
        {"type": "struct", "fields": [field("b", {"type": "struct", "fields": [field("c", "long")]})]},
    ],
    ids=["two levels", "three levels"],
)
def test_characters_of_dotted_names(kind: Any) -> None:
    """``a.b`` has 3, and ``a.b.c`` has 5."""
    characters = len("a") + len("a.b") + (len("a.b.c") if isinstance(kind["fields"][0]["type"], dict) else 0)
    limits = tf.Limits(expansion=1)
    most = "x" * (MOST - characters)
    assert len(parse_schema(schema_string(field("a", kind), field(most, "long")), "none", "/log", limits).fields) == 2
    with pytest.raises(tf.LimitExceededError, match=f"{MOST + 1} characters of dotted names"):
        parse_schema(schema_string(field("a", kind), field(most + "x", "long")), "none", "/log", limits)


def test_how_many_fields_there_may_be() -> None:
    """At every level."""
    fields = [field("a", {"type": "struct", "fields": [field("b", "long")]}), field("c", "long")]
    assert len(parse_schema(schema_string(*fields), "none", "/log", tf.Limits(fields=3)).fields) == 2
    with pytest.raises(tf.LimitExceededError, match="3 fields or more of the schema") as caught:
        parse_schema(schema_string(*fields), "none", "/log", tf.Limits(fields=2))
    assert (caught.value.limit, caught.value.field) == ("fields", "metaData.schemaString")
