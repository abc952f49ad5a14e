"""JSON texts that are refused, and the memory that the values of others are counted for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tableformats_iceberg.files.strict_json import Node, object_cost, parse_json

from tableformats.errors import CorruptMetadataError, LimitExceededError
from tableformats.limits import Limits


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("", 0),
        ("1", 2),
        ('{"a": [1, 2]}', 2 * 13 + 184 + 100 + 40 + 40 + 2 * 25),
        ('{"é": 1}', 5 * 9 + 184 + 40 + 2 * 25),
        ("[[], []]", 2 * 8 + 3 * 100 + 40),
    ],
)
def test_memory_of_values(text: str, cost: int) -> None:
    """Copies of the text, and bytes for each brace, bracket, comma, colon and quote."""
    assert object_cost(text.encode()) == cost


def test_memory_of_values_is_limited() -> None:
    """1 MiB may be made of a small text, and more of a small file from which a text was inflated only by its size."""
    longest = ((1 << 20) - 2 * 25) // 2 - 2
    text, longer = (b'"' + b"x" * count + b'"' for count in (longest, longest + 1))
    limits = Limits(expansion=1)
    assert len(parse_json(text, "m", limits)) == longest
    with pytest.raises(LimitExceededError) as caught:
        parse_json(longer, "m", limits)
    assert (caught.value.limit, caught.value.path) == ("expansion", "m")
    assert f"about {(1 << 20) + 2} bytes of JSON values from {longest + 3} bytes" in str(caught.value)
    assert len(parse_json(longer, "m", limits, stored=(1 << 20) + 2)) == longest + 1
    with pytest.raises(LimitExceededError):
        parse_json(longer, "m", limits, stored=(1 << 20) + 1)


@pytest.mark.parametrize(
    ("data", "message", "offset"),
    [
        (b'{"b": 2, "a": 1, "a": 3}', "the JSON is malformed: the key 'a' stands twice in one object", None),
        (b'[1, "\xff"]', "the JSON is not UTF-8", 5),
        ('["é", x]'.encode(), "the JSON is malformed: Expecting value", 7),
        (b"[NaN]", "the JSON is malformed: NaN is no JSON number", None),
        (b"[-Infinity]", "the JSON is malformed: -Infinity is no JSON number", None),
        (b"[1e400]", "the JSON is malformed: a number is too large", None),
        (b"[-1e400]", "the JSON is malformed: a number is too large", None),
        (b"[" * 100_000, "the JSON is malformed: nested too deeply", None),
        (b'["\\u0000"]', "the JSON is malformed: a string holds NUL", None),
        ('["é\\u0000"]'.encode(), "the JSON is malformed: a string holds NUL or a lone surrogate", None),
        (b'["\\ud800"]', "the JSON is malformed: a string holds NUL or a lone surrogate", None),
        (b'["\\udfff"]', "the JSON is malformed: a string holds NUL or a lone surrogate", None),
    ],
    ids=range(12),
)
def test_texts_that_are_refused(data: bytes, message: str, offset: int | None) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        parse_json(data, "m")
    assert (caught.value.message, caught.value.offset, caught.value.path) == (message, offset, "m")


def test_a_long_reason_is_cut() -> None:
    key = "\1" * 101
    text = "{%s: 1, %s: 2}" % ((json.dumps(key),) * 2)
    whole = f"the key {key[:100]!r} stands twice in one object"
    with pytest.raises(CorruptMetadataError) as caught:
        parse_json(text.encode(), "m")
    assert len(whole) > 200 and caught.value.message == f"the JSON is malformed: {whole[:200]}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1.5, "b": [true, null, "\\u00e9"]}', {"a": 1.5, "b": [True, None, "é"]}),
        ('\ufeff{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        ("1e308", 1e308),
        ('"\\ud7ff\\ue000"', "\ud7ff\ue000"),
        ("{}", {}),
    ],
)
def test_texts_that_are_read(text: str, value: Any) -> None:
    assert parse_json(text.encode(), "m") == value


# ---- members --------------------------------------------------------------------------------------------------------

VALUES = {"n": 7, "t": "x", "b": True, "f": False, "l": [1, {"k": 2}], "o": {"k": 1.5, "z": None}, "none": None}
NODE = Node(VALUES, "m")


def test_members() -> None:
    assert (NODE.integer("n"), NODE.text("t"), NODE.boolean("b"), NODE.boolean("f", True)) == (7, "x", True, False)
    assert (NODE.optional_integer("n"), NODE.optional_text("t")) == (7, "x")
    assert [item.value for item in NODE.items("l")] == [1, {"k": 2}]
    assert [(item.value, item.field) for item in NODE.items("l", 1)] == [({"k": 2}, "l[1]")]
    assert NODE.texts("o") == {"k": "1.5"} and "n" in NODE


@pytest.mark.parametrize("key", ["none", "absent"])
def test_members_that_are_absent(key: str) -> None:
    assert NODE.optional_integer(key) is NODE.optional_text(key) is None
    assert (NODE.boolean(key), NODE.boolean(key, True), NODE.texts(key), [*NODE.items(key)]) == (False, True, {}, [])
    assert key not in NODE
    for required in (NODE.child, NODE.integer, NODE.text):
        with pytest.raises(CorruptMetadataError, match="a required field is missing") as caught:
            required(key)
        assert caught.value.field == key


@pytest.mark.parametrize(
    ("read", "key", "words"),
    [
        (NODE.integer, "t", "an integer is expected here"),
        (NODE.integer, "b", "an integer is expected here"),
        (NODE.text, "n", "a string is expected here"),
        (NODE.boolean, "n", "a boolean is expected here"),
        (NODE.texts, "l", "a JSON object is expected here"),
        (lambda key: [*NODE.items(key)], "o", "a JSON array is expected here"),
        (lambda key: NODE.child(key).text("x"), "l", "a JSON object is expected here"),
    ],
)
def test_members_of_another_type(read: Any, key: str, words: str) -> None:
    with pytest.raises(CorruptMetadataError, match=words) as caught:
        read(key)
    assert (caught.value.field, caught.value.path) == (key, "m")
    with pytest.raises(CorruptMetadataError) as unnamed:
        Node([], "m").text("t")
    assert unnamed.value.field is None
