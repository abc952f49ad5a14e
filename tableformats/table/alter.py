"""``table.alter``: change what a table is, apart from its rows. Each verb is one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..display import shortened
from ..errors import ConstraintViolationError
from ..expressions import tree as ex
from ..expressions.columns import split_name
from ..plugin.writing.table_change import MetadataChange
from ..schema import Field, Schema, Type
from ..schema.arrow_types import field_of_arrow
from ..schema.editing import (
    Position,
    add_column,
    change_column,
    drop_column,
    find_column,
    move_column,
    type_without_ids,
)
from ..schema.scalar_text import python_value
from ..schema.type_text import parse_type

if TYPE_CHECKING:
    from ..planning.handle import SnapshotHandle
    from ..plugin.writing.transaction import Commit
    from .transactions import Transaction

__all__ = ["Alter"]

_NOTHING = "Nothing was changed"


class _DryRunError(Exception):
    """Leaves a transaction that is not to be committed."""

    def __init__(self, commit: Commit) -> None:
        self.commit = commit


class Alter:
    """Changes of a table's columns, properties and constraints.

    Columns are named as in filters: dots enter structs, backticks keep a dot in a name, and case does not count.
    ``element``, ``key`` and ``value`` lead into lists and maps. Each method commits, and returns the commit. It raises

    - ``UnsupportedFeatureError`` for what the format, or this table, does not allow; ``field`` names what, and the
      message how to allow it,
    - ``ConstraintViolationError`` where there is no such column, or where rows that are there contradict,
    - ``CommitConflictError`` where another writer changed the table's metadata, or added rows that contradict,
    - ``CommitUnknownError`` as :meth:`Table.append`.

    Parameters
    ----------
    begin : callable
        :meth:`Table.transaction`.
    location : str
        Of the table.
    tries : int
        How often the commit is tried where other writers win the race for the next version.
    timeout : float
        Seconds after which no further try is begun.
    dry_run : bool
        Check the change, also against the rows, and commit nothing. The commit that is returned has 0 attempts.

    Examples
    --------
    >>> import tableformats as tf
    >>> table = tf.open_table("events")
    >>> table.alter.add_columns({"note": "string"}).operation
    'ADD COLUMNS'
    """

    def __init__(
        self,
        begin: Callable[..., Transaction],
        location: str,
        tries: int = 100,
        timeout: float = 120.0,
        dry_run: bool = False,
    ) -> None:
        self._begin = begin
        self._location = location
        self._dry_run = dry_run
        self._options: dict[str, Any] = {"tries": tries, "timeout": timeout}

    def __call__(self, *, tries: int = 100, timeout: float = 120.0, dry_run: bool = False) -> Alter:
        """The same with other options: ``table.alter(dry_run=True).drop_columns("a")``."""
        return Alter(self._begin, self._location, tries, timeout, dry_run)

    def __repr__(self) -> str:
        return f"<Alter of {self._location}>"

    # ---- columns ----------------------------------------------------------------------------------------------------

    def add_columns(
        self,
        columns: Any,
        *,
        first: bool = False,
        after: str | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> Commit:
        """Add columns, which are NULL in the rows that are there, or have a default.

        Parameters
        ----------
        columns : mapping of str to type, or pyarrow.Schema
            A type is a text (``"array<struct<a:int>>"``), an Arrow type or a :class:`Type`. A dotted name adds a member
            to a struct.
        first, after : bool, str
            Where they stand among the columns beside them. Default: last.
        defaults : mapping of str to object, optional
            By the names of the columns: what they are in the rows that are there, and in new rows that lack them, where
            the format has such values (Iceberg's format version 3).
        """
        position, wanted = Position(first, after), _with_defaults(_columns_of(columns), defaults or {})

        def edit(schema: Schema) -> Schema:
            place, ordered = position, list(wanted)
            for path, column in reversed(ordered) if first else ordered:
                schema = add_column(schema, path[:-1], column, place)
                place = place if after is None else Position(after=column.name)
            return schema

        return self._change_schema("add_columns", edit, columns=[".".join(path) for path, _ in wanted])

    def rename_column(self, name: str, new_name: str) -> Commit:
        """Give a column another name. ``new_name`` is the name alone, without what it lies in."""
        path = split_name(name)
        return self._change_schema(
            "rename_column",
            lambda schema: change_column(schema, path, lambda f: replace(f, name=new_name)),
            column=name,
            to=new_name,
        )

    def drop_columns(self, *names: str) -> Commit:
        """Drop columns. Their values stay in the files, and are not read again."""

        def edit(schema: Schema) -> Schema:
            for name in names:
                schema = drop_column(schema, split_name(name))
            return schema

        return self._change_schema("drop_columns", edit, columns=list(names))

    def change_type(self, name: str, type: Any) -> Commit:
        """Give a column a wider type, of which all of its values are values.

        Parameters
        ----------
        type : str, pyarrow.DataType or Type
            As in :meth:`add_columns`.
        """
        kind, path = _type_of(type, name), split_name(name)
        return self._change_schema(
            "change_type",
            lambda schema: change_column(schema, path, lambda f: replace(f, type=kind)),
            column=name,
            type=str(kind),
        )

    def set_nullable(self, name: str) -> Commit:
        """Allow NULL in a column."""
        return self._set_required("set_nullable", name, False)

    def set_required(self, name: str) -> Commit:
        """Refuse NULL in a column (NOT NULL). All rows are checked: none of them may have a NULL there."""
        return self._set_required("set_required", name, True)

    def set_comment(self, name: str, comment: str | None) -> Commit:
        """Describe a column; None removes the description."""
        path = split_name(name)
        return self._change_schema(
            "set_comment",
            lambda schema: change_column(schema, path, lambda f: replace(f, doc=comment)),
            column=name,
        )

    def set_default(self, name: str, expression: str | None) -> Commit:
        """What a column is in rows that are written from now on and lack it. Rows that are there stay as they are.

        Parameters
        ----------
        expression : str, optional
            SQL without columns (``"'new'"``, ``"current_date()"``). None: such rows are NULL there again.
        """
        path = split_name(name)

        def make(schema: Schema) -> MetadataChange:
            names = tuple(find_column(schema, path[: n + 1]).name for n in range(len(path)))
            return MetadataChange(defaults={names: expression})

        return self._change("set_default", make, column=name, default=expression)

    def move_column(self, name: str, *, first: bool = False, after: str | None = None) -> Commit:
        """Put a column in another place among those beside it: first, behind ``after``, or else last."""
        path, position = split_name(name), Position(first, after)
        return self._change_schema("move_column", lambda schema: move_column(schema, path, position), column=name)

    # ---- layout -----------------------------------------------------------------------------------------------------

    def set_partitioning(self, *fields: str) -> Commit:
        """Partition files that are written from now on in another way. Files that are there stay as they are.

        Parameters
        ----------
        *fields : str
            All partition fields that the table will have, as of :func:`create_table`; none: it is not partitioned. A
            field that stays keeps its name, unless it is given another one (``"bucket(16, id) as shard"``).
        """
        names = _layout(fields)
        return self._change("set_partitioning", lambda schema: MetadataChange(partition_by=names), partition_by=names)

    def set_sort_order(self, *fields: str) -> Commit:
        """Sort the rows of files that are written from now on: ``"id desc"``, ``"bucket(16, id) nulls last"``."""
        names = _layout(fields)
        return self._change("set_sort_order", lambda schema: MetadataChange(sort_by=names), sort_by=names)

    # ---- properties and constraints ---------------------------------------------------------------------------------

    def set_properties(self, properties: Mapping[str, Any]) -> Commit:
        """Set properties, and enable the features that they need. True and False are written in lower case.

        Raises
        ------
        ValueError
            A property has no such value.
        """
        texts = {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in properties.items()}
        return self._change("set_properties", lambda schema: MetadataChange(properties=texts), properties=texts)

    def unset_properties(self, *names: str) -> Commit:
        """Remove properties. One that the table does not have is no error."""
        gone = dict.fromkeys(names)
        return self._change("unset_properties", lambda schema: MetadataChange(properties=gone), properties=list(names))

    def add_constraint(self, name: str, condition: str) -> Commit:
        """Require a condition to be TRUE for each row. All rows that are there are checked.

        Parameters
        ----------
        name : str
            Case does not count.
        condition : str
            SQL, as in filters.

        Raises
        ------
        InvalidPredicateError
            The condition does not parse, or names no column.
        """
        return self._change(
            "add_constraint",
            lambda schema: MetadataChange(constraints={name: condition}),
            lambda snapshot: ex.Not(ex.IsTrue(snapshot.bind(condition))),
            constraint=name,
            condition=condition,
        )

    def drop_constraint(self, name: str) -> Commit:
        """Drop a constraint."""
        return self._change("drop_constraint", lambda schema: MetadataChange(constraints={name: None}), constraint=name)

    # ---- the commit -------------------------------------------------------------------------------------------------

    def _set_required(self, verb: str, name: str, required: bool) -> Commit:
        path = split_name(name)

        def violation(snapshot: SnapshotHandle) -> ex.Expression | None:
            if not required or find_column(snapshot.schema, path).required:
                return None
            return _null_in(snapshot, path)

        return self._change_schema(
            verb,
            lambda schema: change_column(schema, path, lambda f: replace(f, required=required)),
            violation,
            column=name,
        )

    def _change_schema(
        self,
        verb: str,
        edit: Callable[[Schema], Schema],
        violation: Callable[[SnapshotHandle], ex.Expression | None] | None = None,
        **parameters: object,
    ) -> Commit:
        return self._change(verb, lambda schema: MetadataChange(schema=edit(schema)), violation, **parameters)

    def _change(
        self,
        verb: str,
        make: Callable[[Schema], MetadataChange],
        violation: Callable[[SnapshotHandle], ex.Expression | None] | None = None,
        **parameters: object,
    ) -> Commit:
        """Commit a change of the metadata. No row may fulfil the condition of ``violation``, also none of a winner."""
        isolation = None if violation is None else "serializable"
        try:
            with self._begin(isolation=isolation, **self._options) as transaction:
                snapshot = transaction.snapshot
                assert snapshot is not None, "a table that is open has a version"
                try:
                    metadata = make(snapshot.schema)
                    condition = None if violation is None else violation(snapshot)
                except LookupError as error:
                    raise ConstraintViolationError(
                        str(error.args[0]), path=self._location, field=_field_of(parameters), hint=_NOTHING
                    ) from None
                transaction.alter(metadata, {"verb": verb, **parameters}, condition)
                if condition is not None:
                    self._refuse_rows(_first_row(snapshot, condition), _field_of(parameters))
                if self._dry_run:
                    raise _DryRunError(transaction.unchanged())
        except _DryRunError as done:
            return done.commit
        assert transaction.commit is not None, "the context was left without an error"
        return transaction.commit

    def _refuse_rows(self, row: dict[str, Any] | None, field: str | None) -> None:
        """Refuse a change that a row of the table contradicts."""
        if row is not None:
            text = ", ".join(f"{name} = {shortened(str(value), 60)}" for name, value in list(row.items())[:8])
            raise ConstraintViolationError(
                f"a row of the table contradicts: {text}", path=self._location, field=field, hint=_NOTHING
            )


def _first_row(snapshot: SnapshotHandle, condition: ex.Expression) -> dict[str, Any] | None:
    """A row for which the condition is TRUE."""
    from ..engines.arrow.reader import read_batches
    from ..planning.planner import plan_scan
    from ..planning.request import ScanRequest

    for batch in read_batches(plan_scan(ScanRequest(snapshot, condition, snapshot.schema))):
        if batch.num_rows:
            return {
                name: python_value(values[0]) for name, values in zip(batch.schema.names, batch.columns, strict=True)
            }
    return None


def _field_of(parameters: Mapping[str, object]) -> str | None:
    for name in ("column", "constraint", "columns"):
        found = parameters.get(name)
        if found:
            return found if isinstance(found, str) else ", ".join(map(str, found)) if isinstance(found, list) else None
    return None


def _null_in(snapshot: SnapshotHandle, path: Sequence[str]) -> ex.Expression:
    """The condition that a column is NULL although what it lies in is not."""
    found = snapshot.schema.resolve(path)
    if found is None:
        raise LookupError("members of lists and maps do not become NOT NULL: no filter finds their NULLs")
    columns = [ex.Reference(tuple(f.name for f in found[: n + 1])) for n in range(len(found))]
    above: list[ex.Expression] = [ex.Not(ex.IsNull(column)) for column in columns[:-1]]
    null = ex.IsNull(columns[-1])
    return snapshot.bind(ex.And((*above, null)) if above else null)


def _columns_of(columns: Any) -> list[tuple[tuple[str, ...], Field]]:
    """(path, field with the id 0) of each column."""
    if isinstance(columns, Mapping):
        named = [(split_name(name), kind) for name, kind in columns.items()]
        return [(path, Field(0, path[-1], _type_of(kind, ".".join(path)))) for path, kind in named]
    if hasattr(columns, "names") and hasattr(columns, "field"):
        return [((f.name,), f) for f in map(field_of_arrow, columns)]
    raise TypeError(f"columns are a mapping of names to types, or an Arrow schema, not {type(columns).__name__}")


def _with_defaults(
    columns: list[tuple[tuple[str, ...], Field]], defaults: Mapping[str, Any]
) -> list[tuple[tuple[str, ...], Field]]:
    unknown = set(defaults) - {".".join(path) for path, _ in columns}
    if unknown:
        raise ValueError(f"there is a default of {min(unknown)!r}, which is not added")
    return [(path, replace(f, initial_default=defaults.get(".".join(path)))) for path, f in columns]


def _layout(fields: Sequence[str]) -> list[str]:
    if not all(isinstance(field, str) for field in fields):
        raise TypeError(f"partition and sort fields are texts, not {fields!r}")
    return list(fields)


def _type_of(kind: Any, name: str) -> Type:
    if isinstance(kind, str):
        return parse_type(kind)
    if not isinstance(kind, Type):
        import pyarrow as pa

        if not isinstance(kind, pa.DataType):
            raise TypeError(f"a type is a text, an Arrow type or a Type, not {kind!r}")
        return field_of_arrow(pa.field(name, kind)).type
    return type_without_ids(kind)
