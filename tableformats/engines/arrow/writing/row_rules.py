"""Apply a table's rules to batches of new rows: fill what is computed, then check every row.

In order: defaults of columns that the rows lack, numbers of identity columns, generated columns, NOT NULL at every
depth, lengths of texts, values of generated columns that the rows have, conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ....columnar.arrays import pad_strings
from ....display import shortened
from ....errors import ConstraintViolationError, InvalidPredicateError
from ....expressions import BoundColumn, columns_of, evaluation
from ....plugin.writing.row_rules import ComputedColumn, IdentityColumn, RowCheck, RowRules, missing_default
from ....schema import Field, ListType, Schema, StructType

__all__ = ["RuleRunner", "check_lengths", "check_required"]

_LONG_RANGE = (-(2**63), 2**63 - 1)


class RuleRunner:
    """Applies the rules of one table to batches that have the same columns.

    Parameters
    ----------
    schema : Schema
        The columns of the table.
    rules : RowRules
    given : collection of str
        The names of the columns that the rows bring. The others are filled.
    lane, lanes : int
        Of ``lanes`` writers at once, this is number ``lane``: each gives out identity numbers of its own.

    Raises
    ------
    ConstraintViolationError
        The rows bring numbers of an identity column that does not take them; or lack a column whose default cannot be
        computed.
    """

    def __init__(self, schema: Schema, rules: RowRules, given: Collection[str], lane: int = 0, lanes: int = 1) -> None:
        self._schema = schema
        self._rules = rules
        self._given = frozenset(given)
        for default in rules.defaults:
            if default.value is None and default.column.name not in self._given:
                raise missing_default(default)
        for identity in rules.identities:
            if identity.column.name in self._given and not identity.allow_explicit:
                raise ConstraintViolationError(
                    "the table gives out the numbers of the column itself", field=identity.column.name
                )
        self._given_out = {i.column.name: lane for i in rules.identities}
        self._lanes = lanes

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with all computed columns; ``batch`` has NULL for what the rows lack.

        Raises
        ------
        ConstraintViolationError
            A row breaks a rule. ``field`` names it, and the message has a row that breaks it.
        """
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        for default in self._missing(self._rules.defaults):
            columns[default.column.name] = _computed(default, columns, batch.num_rows)
        for identity in self._rules.identities:
            if identity.column.name not in self._given:
                columns[identity.column.name] = self._numbers(identity, batch.num_rows)
        generated = {g.column.name: _computed(g, columns, batch.num_rows) for g in self._missing(self._rules.generated)}
        columns.update(generated)
        for field in self._schema.fields:
            check_required(columns[field.name], field)
            check_lengths(columns[field.name], (field.name,), self._rules.longest or {})
        given = [g.check for g in self._rules.generated if g.check is not None and g.column.name in self._given]
        for check in (*given, *self._rules.checks):
            _check(check, columns, batch.num_rows)
        return pa.RecordBatch.from_arrays([columns[name] for name in batch.schema.names], schema=batch.schema)

    def _missing(self, rules: Iterable[ComputedColumn]) -> list[ComputedColumn]:
        return [rule for rule in rules if rule.column.name not in self._given]

    def _numbers(self, identity: IdentityColumn, count: int) -> pa.Array:
        """The next numbers of this lane."""
        name = identity.column.name
        done = self._given_out[name]
        first, step = identity.first_free() + done * identity.step, identity.step * self._lanes
        self._given_out[name] = done + count * self._lanes
        last = first + max(count - 1, 0) * step
        if not all(_LONG_RANGE[0] <= number <= _LONG_RANGE[1] for number in (first, last)):
            raise ConstraintViolationError("the numbers of the identity column are used up", field=name)
        return pa.array(np.arange(count, dtype=np.int64) * step + first, pa.int64())


def _computed(rule: ComputedColumn, columns: dict[str, pa.Array], length: int) -> pa.Array:
    assert rule.value is not None
    try:
        found = evaluation.evaluate_value(rule.value, _lookup(columns), length)
    except InvalidPredicateError as error:
        raise ConstraintViolationError(f"{rule.sql} is not computed: {error.message}", field=rule.column.name) from None
    wanted = columns[rule.column.name].type
    return pa.nulls(length, wanted) if pa.types.is_null(found.type) else found.cast(wanted)


def _check(check: RowCheck, columns: dict[str, pa.Array], length: int) -> None:
    try:
        holds = evaluation.evaluate(check.condition, _lookup(columns), length)
    except InvalidPredicateError as error:
        raise ConstraintViolationError(
            f"{check.name} ({check.sql}) cannot be evaluated: {error.message}", field=check.field
        ) from None
    broken = np.flatnonzero(~pc.fill_null(holds, False).to_numpy(zero_copy_only=False))
    if not len(broken):
        return
    named = {c.path[0].name for c in columns_of(check.condition) if isinstance(c, BoundColumn)}
    raise ConstraintViolationError(
        f"a row breaks {check.name} ({check.sql}){_row_text(columns, named, int(broken[0]))}", field=check.field
    )


def _row_text(columns: dict[str, pa.Array], names: Iterable[str], row: int) -> str:
    try:
        values = [f"{name} = {shortened(str(columns[name][row].as_py()), 60)}" for name in sorted(names)]
    except (ValueError, OverflowError):  # years that Python does not have
        return ""
    return f": {', '.join(values)}" if values else ""


def _lookup(columns: dict[str, pa.Array]) -> Callable[[BoundColumn], pa.Array]:
    def values(column: BoundColumn) -> pa.Array:
        found = columns[column.path[0].name]
        for field in column.path[1:]:
            found = pc.struct_field(found, [found.type.get_field_index(field.name)])
        return pad_strings(found, column.padded_length) if column.padded_length else found

    return values


def check_required(values: pa.Array, field: Field, above: str = "") -> None:
    """Refuse NULL where ``field``, or what is inside of it, is required. A NULL around it is none of its own.

    Raises ConstraintViolationError.
    """
    name = f"{above}.{field.name}" if above else field.name
    if field.required and values.null_count:
        raise ConstraintViolationError("NULL is not allowed in the column", field=name)
    if not _requires(field.type.members):
        return
    present = values.take(pc.indices_nonzero(values.is_valid()))
    for member, inside in zip(_members(present, field), field.type.members, strict=True):
        check_required(member, inside, name)


def _requires(fields: Iterable[Field]) -> bool:
    return any(f.required or _requires(f.type.members) for f in fields)


def _members(present: pa.Array, field: Field) -> list[pa.Array]:
    """The values of the members of a nested array that has no NULL and starts at its first value."""
    if isinstance(field.type, StructType):
        return [present.field(i) for i in range(present.type.num_fields)]
    if isinstance(field.type, ListType):
        return [present.flatten()]
    return [present.keys, present.items]


def check_lengths(values: pa.Array, path: tuple[str, ...], longest: Mapping[tuple[str, ...], int]) -> None:
    """Refuse texts of more characters than ``longest`` says for their path. Raises ConstraintViolationError."""
    if not any(known[: len(path)] == path for known in longest):
        return
    most = longest.get(path)
    if most is not None:
        found = pc.max(pc.utf8_length(values)).as_py()
        if found is not None and found > most:
            raise ConstraintViolationError(
                f"a text of {found} characters is longer than the {most} that the column takes", field=".".join(path)
            )
    kind = values.type
    if not pa.types.is_nested(kind):
        return
    present = values.take(pc.indices_nonzero(values.is_valid()))
    if pa.types.is_struct(kind):
        inside = [(kind.field(i).name, present.field(i)) for i in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        inside = [("key", present.keys), ("value", present.items)]
    else:
        inside = [("element", present.flatten())]
    for name, member in inside:
        check_lengths(member, (*path, name), longest)
