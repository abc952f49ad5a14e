"""Mutants of what polars reads itself, and of its filters."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FRAMES = ("polars/test_lazy_frames.py",)
_PLAIN = ("polars/test_plain_files.py",)
_PREDICATES = ("polars/test_predicates.py",)

MUTANTS = (
    Mutant(
        "old-calendars-are-plain",
        "core:_is_plain",
        "node.calendar is not None or",
        "",
        "polars takes days of the Julian calendar for those of ours",
        _PLAIN,
    ),
    Mutant(
        "members-in-another-order-are-plain",
        "core:_is_plain",
        "[child.name for child in node.children] != [m.field.name for m in source.members]",
        "len(node.children) < len(source.members)",
        "a struct whose members have another order or more members is read as it is stored",
        _PLAIN,
    ),
    Mutant(
        "old-spark-writes-as-a-new-one",
        "core:PlainFiles.layout_of",
        "is_of_old_spark(footer)",
        "False",
        "the calendar of one file is taken for that of all with its schema",
        _PLAIN,
    ),
    Mutant(
        "deleted-rows-are-plain",
        "core:PlainFiles._candidates",
        "np.diff(plan.delete_files.offsets) == 0",
        "np.diff(plan.delete_files.offsets) >= 0",
        "polars gives deleted rows",
        _PLAIN,
    ),
    Mutant(
        "zeros-of-both-signs-are-one-partition",
        "core:_hashable",
        "pa.types.is_floating(value.type) or",
        "",
        "a file of the partition -0.0 gets the constant 0.0 of another",
        _PLAIN,
    ),
    Mutant(
        "rows-before-an-error-come-twice",
        "core:_Reader._by_polars",
        "yield from self._by_arrow(numbers, given)",
        "yield from self._by_arrow(numbers)",
        "where polars refuses a file, rows that it gave before are read again",
        _FRAMES,
    ),
    Mutant(
        "limits-after-the-filter",
        "core:TableSource.__call__",
        "TRUE if predicate is None or limits else",
        "TRUE if predicate is None else",
        "a filter prunes rows that a limit would count",
        _FRAMES,
    ),
    Mutant(
        "half-a-disjunction-prunes",
        "core:_Translation.implied",
        "return _all_joined(Or, [self.implied(c) for c in reversed(inputs)])",
        "return _joined(Or, [f for f in map(self.implied, inputs) if f is not None])",
        "what is not understood of an OR is left out as of an AND",
        (*_PREDICATES, *_FRAMES),
    ),
    Mutant(
        "not-of-a-part-prunes",
        "core:_Translation._of_one",
        "condition = self._exact(child)",
        "condition = self.implied(child)",
        "NOT of a condition that lets more rows pass lets fewer pass",
        (*_PREDICATES, *_FRAMES),
    ),
    Mutant(
        "floats-are-compared-as-floats",
        "core:_comparable",
        'found.cast(pl.Float64) if str(column.type) == "float" else found',
        "found.cast(pl.Float32) if str(column.type) == 'float' else found",
        "0.1 is rounded to a float before floats are compared with it",
        _FRAMES,
    ),
)
