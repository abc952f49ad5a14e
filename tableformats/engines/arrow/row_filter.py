"""The filter of a scan over rows of data files that store their columns alike.

A column whose texts are codes of a dictionary is tested once for each text of the dictionary, and each row takes the
answer for its code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
from pyarrow import types

from ...dataclass import dataclass
from ...expressions import tree as ex
from ...runtime.concurrency import cached_property
from ...schema import Field, StructType, arrow_type
from .files.column_tree import FileNode, Selection
from .filters import evaluate
from .projection import Projection, Resolver

__all__ = ["RowFilter"]

_FEWEST_ROWS_A_TEXT = 2
"""Where fewer rows share a text of the dictionary, all rows are tested."""


@dataclass(frozen=True, eq=False)
class _TextCondition:
    """A condition on one column of texts at the top, as the file stores it."""

    condition: ex.Expression
    node: FileNode
    projection: Projection
    selection: Selection

    def of_codes(self, values: pa.Array) -> pa.BooleanArray | None:
        """The truth value for each of ``values``. None: they are no codes, or of too many texts."""
        if not types.is_dictionary(values.type) or values.type.value_type != self.node.type:
            return None
        texts, codes = values.dictionary, values.indices
        if len(texts) * _FEWEST_ROWS_A_TEXT > len(codes):
            return None
        if codes.null_count:
            codes = codes.fill_null(len(texts))
            texts = pa.concat_arrays([texts, pa.nulls(1, texts.type)])
        rows = pa.StructArray.from_arrays([texts], names=[self.node.name])
        return evaluate(self.condition, self.projection.read(rows, self.selection)).take(codes)


class RowFilter:
    """Evaluates a predicate for rows of files with the same columns; on several threads.

    Parameters
    ----------
    predicate : Expression
        Bound to ``fields``.
    fields : sequence of Field
        The columns of the table.
    resolver : Resolver
        Of the files.
    """

    def __init__(self, predicate: ex.Expression, fields: Sequence[Field], resolver: Resolver) -> None:
        self._predicate, self._fields, self._resolver = predicate, fields, resolver
        self.projection = resolver.project(_fields_of([predicate], fields))
        """The columns that the predicate names; of structs only the members that it names."""
        self._others: dict[frozenset[ex.Expression], Projection] = {}

    def matches(self, rows: pa.StructArray, selection: Selection) -> pa.BooleanArray:
        """TRUE, FALSE or NULL for each row of ``selection``. Raises as reading a plan does."""
        known = {}
        for one in self._text_conditions:
            found = one.of_codes(rows.field(selection.position(one.node)))
            if found is not None:
                known[one.condition] = found
        projection = self._without(frozenset(known)) if known else self.projection
        return evaluate(self._predicate, projection.read(rows, selection), known)

    @cached_property
    def _text_conditions(self) -> list[_TextCondition]:
        root, found = self._resolver.root, []
        for condition in dict.fromkeys(_leaves(self._predicate)):
            columns = ex.columns_of(condition)
            if isinstance(condition, ex.Holds) or len(columns) != 1:
                continue
            (column,) = columns
            assert isinstance(column, ex.BoundColumn)
            if len(column.path) > 1 or column.type.is_nested:
                continue
            projection = self._resolver.project(column.path)
            selection = Selection(root, projection.leaves)
            nodes = selection.columns(root)
            # Texts that have to be converted may end in an error, which only rows that are there may raise.
            if len(nodes) == 1 and nodes[0].type in (pa.string(), pa.binary()):
                if nodes[0].type == arrow_type(column.type):
                    found.append(_TextCondition(condition, nodes[0], projection, selection))
        return found

    def _without(self, known: frozenset[ex.Expression]) -> Projection:
        """The columns of all other conditions."""
        if known not in self._others:
            left = [leaf for leaf in _leaves(self._predicate) if leaf not in known]
            self._others[known] = self._resolver.project(_fields_of(left, self._fields))
        return self._others[known]


def _leaves(predicate: ex.Expression) -> Iterator[ex.Expression]:
    """The conditions below AND, OR, NOT and IS TRUE."""
    if isinstance(predicate, (ex.And, ex.Or)):
        for child in predicate.children:
            yield from _leaves(child)
    elif isinstance(predicate, (ex.Not, ex.IsTrue)):
        yield from _leaves(predicate.child)
    else:
        yield predicate


def _fields_of(predicates: Iterable[ex.Expression], fields: Sequence[Field]) -> list[Field]:
    """The columns that predicates name; of structs only the members that they name."""
    columns = (column for predicate in predicates for column in ex.columns_of(predicate))
    return _narrowed(fields, {c.path[-1].id for c in columns if isinstance(c, ex.BoundColumn)})


def _narrowed(fields: Iterable[Field], ids: set[int]) -> list[Field]:
    """The fields with one of these ids, whole, and the structs above them without their other members."""
    found = []
    for f in fields:
        if f.id in ids:
            found.append(f)
        elif isinstance(f.type, StructType):
            members = _narrowed(f.type.fields, ids)
            if members:
                found.append(replace(f, type=StructType(tuple(members))))
    return found
