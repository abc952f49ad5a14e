"""What a new ``metaData`` action takes over from the one before."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_delta.evolution.metadata_change import _ids, _options

from tableformats.errors import CorruptMetadataError

ID = "delta.columnMapping.id"


@pytest.mark.parametrize(
    ("stored", "options"),
    [
        (None, {}),
        ({}, {}),
        ([], {}),
        ({"a": "1", "b": None}, {"a": "1", "b": None}),
        ([("a", "1"), ("b", "2")], {"a": "1", "b": "2"}),
        ([["a", "1"]], {"a": "1"}),
    ],
)
def test_options_of_the_format(stored: Any, options: dict[str, Any]) -> None:
    """A checkpoint has them as pairs."""
    assert _options(stored) == options


@pytest.mark.parametrize(
    ("stored", "said"),
    [
        ("ab", "the options of the table's format are no map"),
        (7, "the options of the table's format are no map"),
        (["ab"], "the options of the table's format are no map"),
        ([["a"]], "the options of the table's format are no map"),
        ([["a", "1"], ["a", "1", "2"]], "the options of the table's format are no map"),
        ([{"a": 1, "b": 2}], "the options of the table's format are no map"),
        ([["a", "1"], [None, "1"]], "an option of the table's format has no name"),
        ({1: "1"}, "an option of the table's format has no name"),
    ],
)
def test_options_that_are_none(stored: Any, said: str) -> None:
    with pytest.raises(CorruptMetadataError, match=said) as caught:
        _options(stored)
    assert caught.value.field == "metaData.format.options"


def test_ids_of_columns() -> None:
    """Those of members, too; columns without metadata, and ids that are no numbers, are passed over."""
    inner = {"type": "struct", "fields": [{"name": "x", "type": "long", "metadata": {ID: 7}}]}
    fields = [
        {"name": "a", "type": "long", "metadata": {ID: 3}},
        {"name": "b", "type": "long"},
        {"name": "c", "type": "long", "metadata": None},
        {"name": "d", "type": "long", "metadata": {"comment": "4"}},
        {"name": "e", "type": "long", "metadata": {ID: "5"}},
        {"name": "f", "type": inner, "metadata": {ID: 6}},
        {"name": "g", "type": {"type": "array", "elementType": inner, "containsNull": True}},
    ]
    assert sorted(_ids({"type": "struct", "fields": fields})) == [3, 6, 7, 7]
