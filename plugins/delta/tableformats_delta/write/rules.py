"""What a Delta table asks of new rows, as :class:`tableformats.plugin.RowRules`.

Source: Delta PROTOCOL.md, "Column Invariants", "CHECK Constraints", "Generated Columns", "Default Columns", "Identity
Columns"; Spark, ``CharVarcharUtils``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tableformats.plugin import (
    CorruptMetadataError,
    Field,
    IdentityColumn,
    RowCheck,
    RowRules,
    Schema,
    UnsupportedFeatureError,
    column_default,
    generated_column,
    row_check,
)

from ..schema.char_types import CHAR_TYPE, longest_texts
from ..schema.schema_string import GENERATION_EXPRESSION

__all__ = [
    "CONSTRAINT_PREFIX",
    "HIGH_WATER_MARK",
    "IDENTITY_STEP",
    "check_defaults",
    "constraint_check",
    "number_of",
    "row_rules",
]

CONSTRAINT_PREFIX = "delta.constraints."
HIGH_WATER_MARK = "delta.identity.highWaterMark"
"""The key of a field's metadata that holds the last number that was given out."""
_TOO_MUCH = 2**63
IDENTITY_STEP = "delta.identity.step"
_START, _EXPLICIT = "delta.identity.start", "delta.identity.allowExplicitInsert"
_DEFAULT = "CURRENT_DEFAULT"
_INVARIANTS = "delta.invariants"
_HINT = "Nothing was written; write the table with Spark"


def row_rules(schema: Schema, properties: Mapping[str, str], path: str) -> RowRules:
    """The rules of a table.

    Raises
    ------
    UnsupportedFeatureError
        An expression cannot be evaluated exactly, or is where the protocol knows none. ``field`` names the constraint
        or the column.
    CorruptMetadataError
        The metadata of an identity column is none.
    """
    checks = [constraint_check(name, sql, schema, path) for name, sql in properties.items() if _is_constraint(name)]
    checks += list(_invariants(schema, path))
    defaults, generated, identities = [], [], []
    for f in schema.fields:
        if GENERATION_EXPRESSION in f.metadata:
            sql = str(f.metadata[GENERATION_EXPRESSION])
            generated.append(generated_column(f, f.name, sql, schema, path))
        elif _START in f.metadata or IDENTITY_STEP in f.metadata:
            identities.append(_identity(f, path))
        elif _DEFAULT in f.metadata:
            defaults.append(column_default(f, str(f.metadata[_DEFAULT]), schema))
    for name, f in _nested(schema):
        for key in (GENERATION_EXPRESSION, _START):
            if key in f.metadata:
                raise UnsupportedFeatureError(f"a nested column has {key}", path=path, field=name, hint=_HINT)
    return RowRules(tuple(checks), tuple(defaults), tuple(generated), tuple(identities), _longest(schema, path))


def constraint_check(key: str, sql: str, schema: Schema, path: str) -> RowCheck:
    """The check of a constraint by its property. Raises UnsupportedFeatureError if it cannot be evaluated."""
    return row_check(f"the constraint {key.removeprefix(CONSTRAINT_PREFIX)!r}", key, sql, schema, path)


def check_defaults(rules: RowRules, changed: Iterable[tuple[str, ...]], path: str) -> None:
    """Refuse changed defaults, by the names of their columns, that are not computed. Raises UnsupportedFeatureError."""
    names = {name[0] for name in changed}
    for default in rules.defaults:
        if default.refusal and default.column.name in names:
            raise UnsupportedFeatureError(
                f"the default of the column is not computed: {default.refusal}",
                path=path,
                field=default.column.name,
                hint="Nothing was changed",
            )


def _is_constraint(name: str) -> bool:
    return name.startswith(CONSTRAINT_PREFIX)


def _invariants(schema: Schema, path: str) -> Iterator[RowCheck]:
    columns = [(f.name, f) for f in schema.fields] + list(_nested(schema))
    for name, f in columns:
        if _INVARIANTS not in f.metadata:
            continue
        try:
            sql = json.loads(f.metadata[_INVARIANTS])["expression"]["expression"]
        except (ValueError, TypeError, KeyError, RecursionError):
            sql = None
        if not isinstance(sql, str):
            raise UnsupportedFeatureError(
                "the invariant of a column is no expression", path=path, field=name, hint=_HINT
            )
        yield row_check(f"the invariant of the column {name!r}", name, sql, schema, path)


def _identity(f: Field, path: str) -> IdentityColumn:
    start, step, high_water = (
        number_of(f.metadata, key, f.name, path) for key in (_START, IDENTITY_STEP, HIGH_WATER_MARK)
    )
    if start is None or not step:
        raise CorruptMetadataError("an identity column has no start, or no step but 0", path=path, field=f.name)
    if str(f.type) != "bigint":
        raise UnsupportedFeatureError(f"an identity column has the type {f.type}", path=path, field=f.name, hint=_HINT)
    explicit = f.metadata.get(_EXPLICIT)
    return IdentityColumn(f, start, step, high_water, explicit is True or str(explicit).lower() == "true")


def number_of(metadata: Mapping[str, Any], key: str, column: str, path: str) -> int | None:
    """A number in the metadata of a column; None where it is not there. Raises CorruptMetadataError."""
    found = metadata.get(key)
    if found is None:
        return None
    try:
        number = _TOO_MUCH if isinstance(found, (bool, float)) else int(found)
    except (TypeError, ValueError):
        number = _TOO_MUCH
    if not -_TOO_MUCH <= number < _TOO_MUCH:
        raise CorruptMetadataError(f"{key} is no 64 bit integer", path=path, field=column)
    return number


def _nested(schema: Schema) -> Iterator[tuple[str, Field]]:
    """Dotted name and field of all that lies in the columns."""

    def below(fields: tuple[Field, ...], above: str) -> Iterator[tuple[str, Field]]:
        for f in fields:
            yield f"{above}.{f.name}", f
            yield from below(f.type.members, f"{above}.{f.name}")

    for f in schema.fields:
        yield from below(f.type.members, f.name)


def _longest(schema: Schema, path: str) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    for name, f in [(f.name, f) for f in schema.fields] + list(_nested(schema)):
        if f.char_length is not None:
            found[tuple(name.split("."))] = f.char_length
        text: Any = f.metadata.get(CHAR_TYPE)
        if text is None:
            continue
        lengths = longest_texts(f, name, path) if isinstance(text, str) else None
        if lengths is None:
            raise UnsupportedFeatureError(
                "the type with CHAR or VARCHAR does not describe the column", path=path, field=name, hint=_HINT
            )
        found.update({(*name.split("."), *inner): length for inner, length in lengths.items()})
    return found
