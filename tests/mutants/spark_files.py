"""Mutants of the files that Spark's optimiser drops before it plans a query."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ROWS = ("spark/test_explain.py::test_the_rows_of_queries_whose_files_are_dropped",)
_FAILURES = ("spark/test_explain.py::test_a_condition_that_fails_for_the_values_of_a_file_is_not_false",)

MUTANTS = (
    Mutant(
        "spark-drops-files-by-the-first-ones-values",
        "core:PlannedFiles.narrowed",
        "mayMatch(conditions, values[i])",
        "mayMatch(conditions, values[0])",
        "all files of a relation have the first one's partition values",
        _ROWS,
    ),
    Mutant(
        "spark-drops-files-it-cannot-judge",
        "core:PlannedFiles.mayMatch",
        "return true",
        "return false",
        "a condition that fails for a file's values is false there",
        _FAILURES,
    ),
    Mutant(
        "spark-rows-of-files-left-all-match",
        "core:PrunedFiles.narrowed",
        "condition == null ? child : new Filter(condition, child)",
        "child",
        "all rows of the files that a condition leaves match it",
        _ROWS,
    ),
)
