"""What the verifier takes a table's snapshots for: their versions, their columns, and errors in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tableformats_iceberg.verification.verify import _leaves, _said, _Verification

import tableformats as tf
from tests.support.iceberg_tables import FIELDS, parse


@pytest.mark.parametrize(
    ("format_version", "sequence_number", "first_row_id", "found"),
    [
        (1, 0, None, 1),
        (2, 0, None, 1),
        (3, 0, None, 1),
        (2, 4, None, 2),
        (3, 4, None, 2),
        (3, 4, 0, 3),
        (3, 4, 9, 3),
    ],
)
def test_the_least_version_of_a_snapshot(
    format_version: int, sequence_number: int, first_row_id: int | None, found: int
) -> None:
    """Snapshots of version 1 have no sequence number, those of version 3 have row ids."""
    table: Any = SimpleNamespace(_metadata=SimpleNamespace(format_version=format_version))
    snapshot: Any = SimpleNamespace(sequence_number=sequence_number, first_row_id=first_row_id)
    assert _Verification._version_of(table, snapshot) == found


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (tf.PathNotAllowedError("it is elsewhere", path="p", hint="Open it there"), "it is elsewhere. Open it there"),
        (tf.PathNotAllowedError("it is elsewhere", path="p"), "it is elsewhere"),
        (tf.CorruptMetadataError("it is damaged", path="p", hint="Restore it"), "it is damaged"),
    ],
)
def test_errors_in_words(error: tf.TableFormatsError, words: str) -> None:
    assert _said(error) == words


def test_columns_are_as_the_newest_schema_has_them() -> None:
    """Also those that only older schemas have; of structs the members, of lists nothing."""
    element = {"type": "list", "element-id": 6, "element": "int", "element-required": False}
    member = {"type": "struct", "fields": [{"id": 8, "name": "m", "required": False, "type": "int"}]}
    newest = [
        {"id": 1, "name": "z", "required": True, "type": "long"},
        {"id": 5, "name": "l", "required": False, "type": element},
        {"id": 7, "name": "s", "required": False, "type": member},
    ]
    other = [{"id": 2, "name": "y", "required": False, "type": "string"}]
    schemas = [
        {"type": "struct", "schema-id": number, "fields": fields}
        for number, fields in ((1, newest), (0, FIELDS), (2, other))
    ]
    found = _leaves(parse(schemas=schemas, **{"current-schema-id": 1, "last-column-id": 8}))
    assert {number: f.name for number, f in found.items()} == {1: "z", 2: "y", 8: "m"}
