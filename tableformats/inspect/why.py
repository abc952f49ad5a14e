"""Sentences for people: what the parts of a filter dropped, why they kept files, and what to do about it.

Each reason has one sentence, and one line of advice where the table or the filter can be changed. Values and names come
from the table, so they are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..display import shortened
from ..planning.attribution import Reason
from .text import count_text, counted, location_text, printable

if TYPE_CHECKING:
    from ..planning.attribution import Attribution, FileVerdict, PartCounts
    from ..planning.attribution.verdicts import KnownRange

__all__ = ["ADVICE", "REASONS", "part_lines", "part_rows", "verdict_lines"]

REASONS = {
    Reason.ALL_ROWS_MATCH: "every row matches",
    Reason.WITHIN_BOUNDS: "the bounds of {columns} allow matching rows",
    Reason.WIDE_BOUNDS: "the bounds of {columns} are wide: half of its range or more",
    Reason.NULLS_AND_VALUES: "{columns} may hold NULLs and values",
    Reason.CUT_BOUNDS: "the bounds of {columns} are cut, or one is missing",
    Reason.NAN: "only a NaN in {columns} could match, and nobody counted NaNs",
    Reason.NO_STATISTICS: "no statistics for {columns}",
    Reason.CANNOT_PRUNE: "no metadata decides such a condition",
    Reason.MIXED_OR: "one alternative of the OR cannot prune, so the others cannot either",
}
ADVICE = {
    Reason.WITHIN_BOUNDS: "narrow bounds drop more: sort or cluster the table by {columns}",
    Reason.WIDE_BOUNDS: "each of these files has values from all over: rewrite them sorted or clustered by {columns}",
    Reason.CUT_BOUNDS: "let the writer keep longer bounds for {columns}, or filter by a column of short values",
    Reason.NAN: 'if {columns} has no NaN, plan with scan(..., nan="absent")',
    Reason.NO_STATISTICS: "let the writer collect statistics for {columns}, then rewrite these files",
    Reason.CANNOT_PRUNE: "add a comparison of a column with a constant (=, <, IN, LIKE 'prefix%')",
    Reason.MIXED_OR: "write the filter as two scans, or add a comparison that holds for both alternatives",
}
_INDENT = " " * 8


def part_lines(attribution: Attribution) -> Iterator[str]:
    """What each part of a filter dropped, and why it kept the other files, as indented lines."""
    for part in attribution.parts:
        yield f"  {printable(part.filter)}"
        yield from (f"{_INDENT}{line}" for line in _lines_of(part, attribution))
    if attribution.dropped_together:
        together = counted(attribution.dropped_together, "file")
        yield f"  {together} dropped by several parts together, by none of them alone"


def part_rows(attribution: Attribution) -> Iterator[tuple[str, str, str, str]]:
    """What :func:`part_lines` says, as rows: the part, what it dropped, why it kept others, what to do about it.

    A part of a filter has a row for each reason; the first two texts stand in the first of them.
    """
    for part in attribution.parts:
        head = (shortened(part.filter, 200), f"{count_text(part.dropped)} of {count_text(attribution.files)}")
        for count, why, advice in [*_kept(part)] or [(0, "", "")]:
            yield (*head, f"{count_text(count)}: {why}" if count else "", advice)
            head = ("", "")
        if part.not_compared:
            yield (*head, f"{count_text(part.not_compared)} not compared: other parts dropped them first", "")


def _kept(part: PartCounts) -> Iterator[tuple[int, str, str]]:
    """How many files a part kept for each reason, the reason and the advice as sentences."""
    for reason, count in sorted(part.kept.items(), key=lambda item: (-item[1], item[0])):
        columns = printable(", ".join(part.kept_by.get(reason, part.columns)))
        yield count, REASONS[reason].format(columns=columns), ADVICE.get(reason, "").format(columns=columns)


def _lines_of(part: PartCounts, attribution: Attribution) -> Iterator[str]:
    if part.groups_dropped:
        groups = f"{count_text(part.groups_dropped)} of {count_text(attribution.groups)} {attribution.group_name}"
        yield f"skips {groups}"
    alone = part.dropped_alone if len(attribution.parts) > 1 else 0
    drops = f"drops {count_text(part.dropped)} of {counted(attribution.files, 'file')}"
    yield drops + (f", {'all' if alone == part.dropped else count_text(alone)} of them alone" if alone else "")
    for count, why, advice in _kept(part):
        yield f"keeps {count_text(count)}: {why}"
        if advice:
            yield f"  -> {advice}"
    if part.not_compared:
        yield f"not compared: {count_text(part.not_compared)} that other parts dropped first"


def verdict_lines(found: FileVerdict) -> Iterator[str]:
    """The verdict for one file, and for each part of the filter what the metadata say, as lines."""
    yield f"File     {location_text(found.path)}"
    yield f"Verdict  {found.verdict}"
    for part in found.parts:
        columns = printable(", ".join(dict.fromkeys(known.column for known in part.known)) or "its columns")
        why = "drops the file" if part.reason is None else f"keeps it: {REASONS[part.reason].format(columns=columns)}"
        yield ""
        yield f"  {printable(part.filter)}"
        yield f"{_INDENT}{why}"
        yield from (f"{_INDENT}{_range_text(known)}" for known in part.known)


def _range_text(known: KnownRange) -> str:
    """``bounds of amount: 1.5 to 40.0, may be NULL``"""
    if known.lower is None and known.upper is None:
        values = "unknown" if not known.may_be_null or known.source == "bounds" else "NULL"
    elif known.lower == known.upper:
        values = _value(known.lower)
    else:
        values = f"{_value(known.lower)} to {_value(known.upper)}"
    flags = [text for text, may in (("NULL", known.may_be_null), ("NaN", known.may_be_nan)) if may and values != text]
    return f"{known.source} of {printable(known.column)}: {values}" + (
        f", may be {' or '.join(flags)}" if flags else ""
    )


def _value(value: Any) -> str:
    return "unknown" if value is None else printable(repr(value) if isinstance(value, (str, bytes)) else str(value))
