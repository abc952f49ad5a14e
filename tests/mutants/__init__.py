"""Seeded mutants: known causes of wrong answers, each put into a copy of the code, which the tests must then refuse.

The other modules of this folder list them; ``python -m tests.mutants`` runs them. A mutant names a definition and
replaces tokens that stand there exactly once. So the list follows code that moves or is formatted anew, and fails
loudly when the code itself changes.
"""

from __future__ import annotations

from tests.mutants.mutant import Mutant


def every() -> list[Mutant]:
    """All mutants, in the order of the table in docs/measured/mutants.md."""
    from tests.mutants import (
        attribution,
        catalogs,
        core_bytes,
        core_predicates,
        core_pruning,
        core_rows,
        core_stores,
        delta_files,
        delta_log,
        delta_replacement,
        delta_upkeep,
        delta_writing,
        few_values,
        histories,
        iceberg_commits,
        iceberg_deletes,
        iceberg_metadata,
        iceberg_places,
        iceberg_writes,
        lazy_frames,
        orphans,
        paths_and_rows,
        refusals,
        row_groups,
        spark_files,
        writing,
        written_files,
    )

    core = (core_pruning, core_predicates, core_rows, core_stores, attribution, catalogs, core_bytes, row_groups)
    delta = (delta_log, delta_writing, delta_files, delta_upkeep, delta_replacement)
    iceberg = (iceberg_deletes, iceberg_metadata, iceberg_writes, iceberg_commits, iceberg_places)
    others = (writing, orphans, written_files, paths_and_rows, histories, refusals, spark_files, lazy_frames)
    lists = (*core, *delta, few_values, *iceberg, *others)
    return [mutant for module in lists for mutant in module.MUTANTS]


__all__ = ["Mutant", "every"]
