"""``scan.diagnose()``: what would make one query read fewer or better files, each piece of advice with its evidence.

The evidence is counted from metadata: what each part of the filter could not drop (:mod:`planning.attribution`), how
the files overlap in its columns (:mod:`clustering`), which partitions and how small the planned files are. There is no
advice where nothing can be gained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..display import ShownList, grid, page
from ..planning.attribution import Reason, attribute
from .clustering import clusterings_of
from .detail import partition_columns
from .file_ranges import columns_of_filter, ranged_files
from .health import SMALL_BYTES, compacted_count, is_small
from .text import bytes_text, count_text, counted, percent_text

if TYPE_CHECKING:
    import pyarrow as pa

    from ..expressions import BoundColumn
    from ..planning.attribution import Attribution
    from ..planning.plan import FilePlan
    from .clustering import ColumnClustering

__all__ = ["Advice", "Diagnosis", "diagnose"]

_SHARE = 0.1
"""Of the planned files, the share from which advice about them is worth a sentence."""


@dataclass(frozen=True)
class Advice:
    """One thing that would help a query.

    Attributes
    ----------
    kind : str
        ``no statistics``, ``overlap``, ``partitioning``, ``expression``, ``nan``, ``small files`` or ``deletes``.
    evidence : str
        What the metadata show, with figures.
    advice : str
        What to do about it.
    files : int
        How many planned files it is about.
    """

    kind: str
    evidence: str
    advice: str
    files: int

    def __repr__(self) -> str:
        return f"Advice({self.kind}: {self.evidence} -> {self.advice})"

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return asdict(self)


class Diagnosis(ShownList[Advice]):
    """Advice about one query, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        rows = [(a.kind, a.evidence, a.advice) for a in self]
        return page("Diagnosis", "" if rows else "nothing to gain", grid(["what", "evidence", "advice"], rows))


def diagnose(
    plan: FilePlan, attribution: Attribution | None = None, clusterings: Mapping[str, ColumnClustering] | None = None
) -> Diagnosis:
    """Advice about the query of ``plan``. No data file is opened.

    Its ``attribution``, and the ``clusterings`` by the names of all columns of its filter, may be known already.

    Raises
    ------
    CorruptMetadataError, UnsupportedFeatureError
        As the metadata is read.

    Notes
    -----
    Cost: about that of two plans, and of the bounds of the filter's columns in all files.
    """
    if not len(plan):
        return Diagnosis()
    attribution = attribution or attribute(plan)
    by_filter = [
        *_statistics(attribution),
        *_expressions(plan, attribution),
        *_overlaps(plan, attribution, clusterings),
    ]
    return Diagnosis([*by_filter, *_partitioning(plan), *_files(plan)])


def _statistics(attribution: Attribution) -> Iterator[Advice]:
    for part in attribution.parts:
        without = part.kept.get(Reason.NO_STATISTICS, 0)
        if without:
            columns = ", ".join(part.kept_by.get(Reason.NO_STATISTICS, part.columns))
            evidence = f"{_of_files(without, attribution.files)} have no statistics for {columns}"
            advice = f"let the writer collect statistics for {columns}, then rewrite these files"
            yield Advice("no statistics", evidence, advice, without)
        for_nan = part.kept.get(Reason.NAN, 0)
        if for_nan:
            columns = ", ".join(part.kept_by.get(Reason.NAN, part.columns))
            evidence = f"{_of_files(for_nan, attribution.files)} are kept because {columns} may hold a NaN"
            yield Advice("nan", evidence, f'if {columns} has no NaN, plan with scan(..., nan="absent")', for_nan)


def _expressions(plan: FilePlan, attribution: Attribution) -> Iterator[Advice]:
    partitioned = dict(zip(_partition_sources(plan), partition_columns(plan.snapshot), strict=False))
    for part in attribution.parts:
        kept = part.kept.get(Reason.CANNOT_PRUNE, 0) + part.kept.get(Reason.MIXED_OR, 0)
        if not kept:
            continue
        almost = [partitioned[name] for name in part.columns if name in partitioned]
        evidence = f"no metadata decides {part.filter}, which keeps {_of_files(kept, attribution.files)}"
        if almost:
            evidence += f", though the table is partitioned by {', '.join(almost)}"
            names = ", ".join(name for name in part.columns if name in partitioned)
            advice = f"compare {names} itself with constants (=, <, BETWEEN, IN), so that partitions are dropped"
            yield Advice("partitioning", evidence, advice, kept)
        else:
            advice = "add a comparison of a column with a constant that holds for the same rows"
            yield Advice("expression", evidence, advice, kept)


def _overlaps(
    plan: FilePlan, attribution: Attribution, clusterings: Mapping[str, ColumnClustering] | None
) -> Iterator[Advice]:
    """For columns whose bounds could not drop files: in how many files a value may be."""
    kept: dict[str, int] = {}
    for part in attribution.parts:
        for reason in (Reason.WITHIN_BOUNDS, Reason.WIDE_BOUNDS):
            for name in part.kept_by.get(reason, ()):
                kept[name] = max(kept.get(name, 0), part.kept[reason])
    partitioned = _partition_sources(plan)
    columns: list[BoundColumn] = [c for c in columns_of_filter(plan.scan.filter) if str(c) in kept]
    if clusterings is None:
        found = clusterings_of(ranged_files(plan.snapshot, columns), columns) if columns else []
        clusterings = {one.column: one for one in found}
    for name in map(str, columns):
        one = clusterings[name]
        n = len(one.depths)
        is_gain = kept[name] >= _SHARE * attribution.files
        if one.average_depth <= max(2.0, _SHARE * n) or name in partitioned or not is_gain:
            continue
        evidence = (
            f"a value of {name} may be in up to {_of_files(one.max_depth, n)}, {one.average_depth:,.1f} on average, "
            f"so its bounds kept {count_text(kept[name])}"
        )
        yield Advice("overlap", evidence, f"sort or cluster the table by {name} when files are rewritten", kept[name])


def _partitioning(plan: FilePlan) -> Iterator[Advice]:
    """Partition columns that the filter does not name, where the planned files are in several of their partitions."""
    named = {column.id for column in columns_of_filter(plan.scan.filter)}
    fields = [f for f in plan.snapshot.partition_fields if f.transform.name not in ("void", "unknown", "bucket")]
    if not named or any(f.source_id in named for f in fields):
        return
    for f, text in zip(plan.snapshot.partition_fields, partition_columns(plan.snapshot), strict=True):
        if f not in fields or plan.snapshot.schema.find_id(f.source_id) is None:
            continue
        values = _distinct_partitions(plan.survivors, f.id)
        if values > 1:
            evidence = f"{counted(len(plan), 'planned file')} are in {count_text(values)} partitions of {text}"
            advice = f"add a condition on {text} to the filter, if you know which values the rows have"
            yield Advice("partitioning", evidence, advice, len(plan))


def _distinct_partitions(files: pa.Table, field_id: int) -> int:
    from ..columnar import compute as pc

    partition = files["partition"].combine_chunks()
    index = partition.type.get_field_index(str(field_id))
    return 0 if index < 0 else int(pc.count_distinct(partition.field(index), mode="all").as_py())


def _files(plan: FilePlan) -> Iterator[Advice]:
    files, n = plan.survivors, len(plan)
    small = int(is_small(files).sum())
    after = compacted_count(files)
    if small and after < n * (1 - _SHARE):
        evidence = f"{_of_files(small, n)} that are planned have less than {bytes_text(SMALL_BYTES)}"
        yield Advice("small files", evidence, f"compact: {counted(after, 'file')} would do", small)
    deletes = plan.report.files_with_deletes
    if deletes and deletes >= _SHARE * n:
        evidence = f"{_of_files(deletes, n)} that are planned have deletes, which every reader merges"
        yield Advice("deletes", evidence, "rewrite these files without the deleted rows", deletes)


def _partition_sources(plan: FilePlan) -> list[str]:
    """The source columns of the partition fields, as a filter names them; empty where one was dropped."""
    from ..expressions import BoundColumn

    schema, fields = plan.snapshot.schema, plan.snapshot.partition_fields
    known = (schema.find_id(f.source_id) is not None for f in fields)
    return [str(BoundColumn(schema.path_of(f.source_id))) if ok else "" for f, ok in zip(fields, known, strict=True)]


def _of_files(part: int, whole: int) -> str:
    return f"{count_text(part)} of {counted(whole, 'file')} ({percent_text(part, whole)})"
