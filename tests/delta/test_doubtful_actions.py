"""Which actions of a checkpoint the rules for one action have to look at: each that may break one, and no other."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.verification.column_rules import (
    doubtful_adds,
    doubtful_fields,
    doubtful_partitions,
    doubtful_texts,
)
from tableformats_delta.verification.plain_statistics import LEAST_TEXTS
from tableformats_delta.verification.stored_actions import StoredActions

from tableformats.plugin import Field, PrimitiveType

MAP = pa.map_(pa.string(), pa.string())
ADD: dict[str, pa.DataType] = {
    "path": pa.string(),
    "partitionValues": MAP,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
}
VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
SOUND = {"path": "a", "partitionValues": [], "size": 1, "modificationTime": 2}
OF_VECTOR = {"storageType": "u", "pathOrInlineDv": "x", "offset": None, "sizeInBytes": 1, "cardinality": 1}


def stored(kind: str, rows: list[dict[str, Any]], **types: pa.DataType) -> StoredActions:
    return StoredActions(kind, pa.array(rows, pa.struct(list(types.items()))))


@pytest.mark.parametrize(
    ("change", "is_doubtful"),
    [
        ({}, False),
        *(({name: None}, True) for name in SOUND),
        ({"path": ""}, True),
        *(({"path": path}, True) for path in ("a b", "a\x00", "a\x7f", 'a"', "a<", "a{", "a|", "a\\", "a^", "a`")),
        *(({"path": path}, True) for path in ("%", "a%", "a%2", "%2g", "%g2", "%2%20")),
        *(({"path": path}, False) for path in ("%20", "a%2Fb", "a%aF", "ä", "a=b/c!d", "a%20%20")),
        ({"deletionVector": OF_VECTOR}, False),
        *(({"deletionVector": {**OF_VECTOR, name: None}}, name != "offset") for name in OF_VECTOR),
    ],
)
def test_fields_of_adds(change: dict[str, Any], is_doubtful: bool) -> None:
    rows = [SOUND, {**SOUND, **change}, SOUND]
    assert doubtful_fields(stored("add", rows, **ADD, deletionVector=VECTOR)).tolist() == [False, is_doubtful, False]
    if "deletionVector" not in change:
        assert doubtful_fields(stored("add", rows, **ADD)).tolist() == [False, is_doubtful, False]


@pytest.mark.parametrize("name", ADD)
def test_columns_that_a_checkpoint_lacks(name: str) -> None:
    types = {other: kind for other, kind in ADD.items() if other != name}
    rows = [{other: value for other, value in SOUND.items() if other != name}] * 2
    assert doubtful_fields(stored("add", rows, **types)).tolist() == [True, True]


def test_fields_of_removes() -> None:
    """They have to have a path alone."""
    found = doubtful_fields(stored("remove", [{"path": "a"}, {"path": None}, {"path": " "}], path=pa.string()))
    assert found.tolist() == [False, True, True]
    rows = [{"path": "a", "size": None}, {"path": "b", "size": 1}]
    assert doubtful_fields(stored("remove", rows, path=pa.string(), size=pa.int64())).tolist() == [False, False]


def test_vectors_without_a_column() -> None:
    kind = pa.struct([field for field in VECTOR if field.name != "cardinality"])
    some = {name: value for name, value in OF_VECTOR.items() if name != "cardinality"}
    rows = [{**SOUND, "deletionVector": some}, SOUND]
    assert doubtful_fields(stored("add", rows, **ADD, deletionVector=kind)).tolist() == [True, False]
    assert doubtful_texts(stored("add", rows, **ADD, deletionVector=kind)).tolist() == [True, False]


STATS = '{"numRecords":10}'


@pytest.mark.parametrize(
    ("text", "deleted", "is_doubtful"),
    [
        (STATS, None, False),
        (None, None, False),
        (STATS, 10, False),
        (STATS, 11, True),
        (None, 1, True),
        ("{", None, True),
        ('{"numRecords":-1}', None, True),
    ],
)
def test_statistics_of_a_checkpoint(text: str | None, deleted: int | None, is_doubtful: bool) -> None:
    own = {} if deleted is None else {"deletionVector": {**OF_VECTOR, "cardinality": deleted}}
    rows = [{**SOUND, "stats": STATS} for _ in range(LEAST_TEXTS)] + [{**SOUND, "stats": text, **own}]
    expected = [False] * LEAST_TEXTS + [is_doubtful]
    assert doubtful_texts(stored("add", rows, **ADD, stats=pa.string(), deletionVector=VECTOR)).tolist() == expected
    if deleted is None:
        assert doubtful_texts(stored("add", rows, **ADD, stats=pa.string())).tolist() == expected


def test_vectors_without_a_count_of_rows() -> None:
    rows: list[dict[str, Any]] = [{**SOUND, "stats": STATS} for _ in range(LEAST_TEXTS)]
    rows.append({**SOUND, "stats": STATS, "deletionVector": {**OF_VECTOR, "cardinality": None}})
    found = doubtful_texts(stored("add", rows, **ADD, stats=pa.string(), deletionVector=VECTOR))
    assert found.tolist() == [False] * LEAST_TEXTS + [True]


def test_checkpoints_without_statistics() -> None:
    assert doubtful_texts(stored("add", [SOUND, SOUND], **ADD)).tolist() == [False, False]
    rows: list[dict[str, Any]] = [SOUND, {**SOUND, "deletionVector": OF_VECTOR}]
    assert doubtful_texts(stored("add", rows, **ADD, deletionVector=VECTOR)).tolist() == [False, True]


def test_adds_of_commits() -> None:
    """A few are all looked at."""
    few: list[dict[str, Any]] = [{"stats": STATS}] * (LEAST_TEXTS - 1)
    assert doubtful_adds(few) == few
    wrong, with_vector = {"stats": "{"}, {"stats": STATS, "deletionVector": {}}
    many: list[dict[str, Any]] = [*few, {"stats": STATS}]
    assert doubtful_adds(many) == []
    assert doubtful_adds([wrong, *many, with_vector, {}]) == [wrong, with_vector]
    for odd in (7, "\ud800"):
        assert doubtful_adds([*many, {"stats": odd}]) == [*many, {"stats": odd}]


COLUMNS = [Field(1, "p", PrimitiveType("int")), Field(2, "q", PrimitiveType("string"), physical_name="col-q")]


@pytest.mark.parametrize(
    ("values", "doubtful"),
    [
        ([[("p", "1"), ("col-q", "x")]] * 3, [False] * 3),
        ([[("col-q", "x"), ("p", None)], [("col-q", None), ("p", "7")]], [False, False]),
        ([[("p", "1"), ("col-q", "x")], [("p", "one"), ("col-q", "y")]], [False, True]),
        ([[("p", "1"), ("col-q", "x")], [("col-q", "x"), ("p", "1")]], [False, True]),
        ([[("p", "1"), ("col-q", "x")], [("p", "1"), ("q", "x")]], [False, True]),
        # Of another number of keys, all are looked at, as where one has none at all.
        ([[("p", "1"), ("col-q", "x")], [("p", "1")]], [True, True]),
        ([[("p", "1")], [("p", "1")]], [True, True]),
        ([[("p", "1"), ("col-q", "x"), ("r", "")]] * 2, [True, True]),
        ([[("p", "1"), ("r", "x")]] * 2, [True, True]),
        ([[("p", "1"), ("p", "1")]] * 2, [True, True]),
        ([[("p", "1"), ("col-q", "x")], None], [True, True]),
        ([], []),
    ],
)
def test_partition_values(values: list[Any], doubtful: list[bool]) -> None:
    rows = [{**SOUND, "partitionValues": one} for one in values]
    assert doubtful_partitions(stored("add", rows, **ADD), COLUMNS).tolist() == doubtful
    padded = [{**SOUND, "partitionValues": [("x", "y")]}, *rows]
    inner = stored("add", padded, **ADD)
    sliced = StoredActions("add", inner.values.slice(1))
    assert doubtful_partitions(sliced, COLUMNS).tolist() == doubtful


def test_tables_without_partitions() -> None:
    rows = [{**SOUND, "partitionValues": []}] * 2
    assert doubtful_partitions(stored("add", rows, **ADD), []).tolist() == [False, False]
    some: list[dict[str, Any]] = [SOUND, {**SOUND, "partitionValues": [("p", "1")]}]
    assert doubtful_partitions(stored("add", some, **ADD), []).tolist() == [True, True]
    types = {name: kind for name, kind in ADD.items() if name != "partitionValues"}
    assert doubtful_partitions(stored("add", [{"path": "a"}], **types), []).tolist() == [True]
