"""Elements of lists and maps and members of structs, of arrays that do not begin at their buffers' starts too."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest

from tableformats.errors import InvalidPredicateError
from tests.support.expressions import answers, bound

LISTS = [[10, 20, 30], [None, 20], [], None, [30], [20, 20]]
MAPS = [{"a": 1, "b": None}, {}, None, {"b": 2}, {"c": 3, "a": 4}, {"a": None}]
ROWS = {
    "list": pa.array(LISTS, pa.list_(pa.int32())),
    "map": pa.array([None if m is None else [*m.items()] for m in MAPS], pa.map_(pa.string(), pa.int64())),
    "i": pa.array([1, 2, 1, 1, -1, None], pa.int32()),
    "x": pa.array([20, 10, 20, 20, None, 20], pa.int32()),
    "k": pa.array(["a", "a", "a", "b", None, "b"]),
    "struct": pa.array(
        [{"A": 1, "b": {"c": "x"}}, None, {"A": None, "b": None}, {"A": 4, "b": {"c": None}}, {"A": 5}, {"A": 6}],
        pa.struct([("A", pa.int16()), ("b", pa.struct([("c", pa.string())]))]),
    ),
}
OUTSIDE = "! the position is outside of the list"
ZERO = "! the position 0; the first element has the position 1"


def shifted(rows: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """The same rows as slices of longer arrays."""
    return {name: pa.concat_arrays([column[3:5], column, column[:1]])[2:-1] for name, column in rows.items()}


def check(call: str, kind: str, ansi: list[Any], legacy: list[Any] | None = None) -> None:
    for rows in (ROWS, shifted(ROWS)):
        assert answers(call, rows) == (kind, ansi)
        assert answers(call, rows, ansi=False) == (kind, ansi if legacy is None else legacy)


@pytest.mark.parametrize(
    ("call", "ansi", "legacy"),
    [
        ("list[0]", [10, None, OUTSIDE, None, 30, 20], [10, None, None, None, 30, 20]),
        ("list[1]", [20, 20, OUTSIDE, None, OUTSIDE, 20], [20, 20, None, None, None, 20]),
        ("list[2]", [30, OUTSIDE, OUTSIDE, None, OUTSIDE, OUTSIDE], [30, None, None, None, None, None]),
        ("list[-1]", [OUTSIDE, OUTSIDE, OUTSIDE, None, OUTSIDE, OUTSIDE], [None] * 6),
        ("list[i]", [20, OUTSIDE, OUTSIDE, None, OUTSIDE, None], [20, None, None, None, None, None]),
        ("get(list, 0)", [10, None, None, None, 30, 20], None),
        ("get(list, 3)", [None] * 6, None),
        ("get(list, -1)", [None] * 6, None),
        ("element_at(list, 1)", [10, None, OUTSIDE, None, 30, 20], [10, None, None, None, 30, 20]),
        ("element_at(list, 3)", [30, OUTSIDE, OUTSIDE, None, OUTSIDE, OUTSIDE], [30, None, None, None, None, None]),
        ("element_at(list, -1)", [30, 20, OUTSIDE, None, 30, 20], [30, 20, None, None, 30, 20]),
        ("element_at(list, -2)", [20, None, OUTSIDE, None, OUTSIDE, 20], [20, None, None, None, None, 20]),
        ("element_at(list, -3)", [10, OUTSIDE, OUTSIDE, None, OUTSIDE, OUTSIDE], [10, None, None, None, None, None]),
        ("element_at(list, 0)", [ZERO, ZERO, ZERO, None, ZERO, ZERO], None),
        ("try_element_at(list, 0)", [ZERO, ZERO, ZERO, None, ZERO, ZERO], None),
        ("try_element_at(list, 2)", [20, 20, None, None, None, 20], None),
        ("element_at(list, i)", [10, 20, OUTSIDE, None, 30, None], [10, 20, None, None, 30, None]),
    ],
)
def test_elements_of_lists(call: str, ansi: list[Any], legacy: list[Any] | None) -> None:
    check(call, "int", ansi, legacy)


@pytest.mark.parametrize(
    ("call", "values"),
    [
        ("map['a']", [1, None, None, None, 4, None]),
        ("element_at(map, 'b')", [None, None, None, 2, None, None]),
        ("try_element_at(map, 'c')", [None, None, None, None, 3, None]),
        ("map[k]", [1, None, None, 2, None, None]),
    ],
)
def test_values_of_maps(call: str, values: list[Any]) -> None:
    check(call, "bigint", values)


@pytest.mark.parametrize(
    ("call", "kind", "ansi", "legacy"),
    [
        ("size(list)", "int", [3, 2, 0, None, 1, 2], [3, 2, 0, -1, 1, 2]),
        ("cardinality(list)", "int", [3, 2, 0, None, 1, 2], [3, 2, 0, -1, 1, 2]),
        ("size(map)", "int", [2, 0, None, 1, 2, 1], [2, 0, -1, 1, 2, 1]),
        ("array_size(list)", "int", [3, 2, 0, None, 1, 2], None),
        ("size(NULL)", "int", [None] * 6, [-1] * 6),
        ("array_size(NULL)", "int", [None] * 6, None),
        ("array_contains(list, 20)", "boolean", [True, True, False, None, False, True], None),
        ("array_contains(list, 30)", "boolean", [True, None, False, None, True, False], None),
        ("array_contains(list, x)", "boolean", [True, None, False, None, None, True], None),
        ("array_position(list, 20)", "bigint", [2, 2, 0, None, 0, 1], None),
        ("array_position(list, x)", "bigint", [2, 0, 0, None, None, 1], None),
        ("map_contains_key(map, 'a')", "boolean", [True, False, None, False, True, True], None),
        ("map_contains_key(map, k)", "boolean", [True, False, None, True, None, False], None),
    ],
)
def test_what_lists_and_maps_have(call: str, kind: str, ansi: list[Any], legacy: list[Any] | None) -> None:
    check(call, kind, ansi, legacy)


def test_keys_and_values() -> None:
    keys = [None if m is None else [*m] for m in MAPS]
    values = [None if m is None else [*m.values()] for m in MAPS]
    for rows in (ROWS, shifted(ROWS)):
        assert answers("map_keys(map)", rows)[1] == keys
        assert answers("map_values(map)", rows)[1] == values
        assert answers("map_keys(map)[1]", rows, ansi=False) == ("string", ["b", None, None, None, "a", None])


def test_members() -> None:
    for rows in (ROWS, shifted(ROWS)):
        assert answers("struct.a + CAST(0 AS SMALLINT)", rows) == ("smallint", [1, None, None, 4, 5, 6])
        assert answers("struct.B.C", rows) == ("string", ["x", None, None, None, None, None])
        assert answers("upper(struct['b']['c'])", rows) == ("string", ["X", None, None, None, None, None])
    pairs = pa.array([[{"a": 1}, {"a": None}], [], None, [None]], pa.list_(pa.struct([("a", pa.int8())])))
    assert answers("get(p, 0).a", {"p": pairs}) == ("tinyint", [1, None, None, None])
    assert answers("get(p, 1)['A']", {"p": pairs}) == ("tinyint", [None, None, None, None])


def test_values_that_are_stored_in_other_types() -> None:
    """Nested columns have the types of their file."""
    moment = dt.datetime(2024, 2, 29, 12)
    micros = (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    lists = pa.array([[moment], []], pa.list_(pa.timestamp("ms")))
    maps = pa.array([[("a", moment)], []], pa.map_(pa.large_string(), pa.timestamp("s")))
    rows = {"l": lists, "m": maps, "nested": pa.array([[[1, 2]], [[3]]])}
    assert answers("get(l, 0)", rows) == ("timestamp_ntz", [micros, None])
    assert answers("m['a']", rows) == ("timestamp_ntz", [micros, None])
    assert answers("array_contains(l, TIMESTAMP_NTZ'2024-02-29 12:00:00')", rows)[1] == [True, False]
    assert answers("nested[0][0]", rows)[1] == [1, 3]
    assert answers("size(nested[0])", rows)[1] == [2, 1]
    structs = pa.array(
        [[{"t": moment, "l": [1]}], []], pa.list_(pa.struct([("t", pa.timestamp("ms")), ("l", pa.list_(pa.int8()))]))
    )
    assert answers("get(s, 0).t", {"s": structs}) == ("timestamp_ntz", [micros, None])
    assert answers("size(get(s, 0).l)", {"s": structs})[1] == [1, None]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("1", None),
        ("CAST(1 AS TINYINT)", None),
        ("'1'", None),
        ("1L", "CAST the key AS INT."),
        ("1D", "CAST the key AS INT."),
        ("l", "Cast them"),
    ],
)
def test_keys_that_are_numbers(key: str, said: str | None) -> None:
    rows = {
        "m": pa.array([[(1, "a"), (2, "b")], [(2, "c")]], pa.map_(pa.int32(), pa.string())),
        "l": pa.array([[1], [2]], pa.list_(pa.int32())),
    }
    if said is None:
        assert answers(f"m[{key}]", rows) == ("string", ["a", None])
    else:
        with pytest.raises(InvalidPredicateError) as caught:
            answers(f"m[{key}]", rows)
        assert "the keys are int" in str(caught.value) and str(caught.value.hint).startswith(said)


def test_a_later_value_of_one_key_does_not_count() -> None:
    """As in Spark, which takes the first one of a map that was written with a key twice."""
    twice = pa.array([[("a", 1), ("a", 2)], [("b", 3), ("a", 4)]], pa.map_(pa.string(), pa.int32()))
    assert answers("m['a']", {"m": twice})[1] == [1, 4]
    lists = pa.array([[1, 2, 2], [2]], pa.list_(pa.int32()))
    assert answers("array_position(l, 2)", {"l": lists})[1] == [2, 1]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("list['a']", "the position in a list is an integer"),
        ("list[1.5D]", "the position in a list is an integer"),
        ("get(map, 'a')", "Name a list or a map"),
        ("element_at(struct, 'a')", "Name a list or a map"),
        ("element_at(i, 1)", "Name a list or a map"),
        ("map[1.5D]", "the keys are string"),
        ("map[list]", "the keys are string"),
        ("struct['z']", "there is no member 'z'"),
        ("struct[k]", "Name a member of a struct"),
        ("size(k)", "Name a list or a map; a text has a length"),
        ("size(struct)", "Name a list or a map; a text has a length"),
        ("array_size(map)", "Name a list or a map"),
        ("array_contains(map, 'a')", "takes no"),
        ("array_contains(list, '20')", "CAST the value AS INT"),
        ("array_contains(list, 20L)", "CAST the value AS INT"),
        ("map_contains_key(list, 1)", "takes no"),
        ("map_keys(list)", "takes no"),
        ("map_values(struct)", "takes no"),
    ],
)
def test_calls_that_do_not_fit(call: str, said: str) -> None:
    with pytest.raises(InvalidPredicateError) as caught:
        bound(call, pa.schema({name: column.type for name, column in ROWS.items()}))
    assert said in str(caught.value)
