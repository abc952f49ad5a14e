"""Mutants of what changes tables: which rows go, which winners are in conflict, what is committed once."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CHANGES = ("write/test_changes.py",)
_CREATE = ("write/test_create.py",)

MUTANTS = (
    Mutant(
        "null-rows-are-deleted",
        "core:Removal.kept_rows",
        "ex.Not(ex.IsTrue(self.removed.scan.filter))",
        "ex.Not(self.removed.scan.filter)",
        "a delete takes rows for which the condition is NULL",
        _CHANGES,
    ),
    Mutant(
        "files-with-some-matching-rows-stay",
        "core:removal_of",
        "np.flatnonzero(matched | (found > 0))",
        "np.flatnonzero(matched)",
        "a delete leaves matching rows in files that metadata do not decide",
        _CHANGES,
    ),
    Mutant(
        "winners-files-are-not-pruned",
        "core:ConflictFinder._may_match",
        "((verdicts != NONE) & live)",
        "((verdicts == NONE) & live)",
        "a winner's rows that were read are no conflict",
        _CHANGES,
    ),
    Mutant(
        "removed-files-are-removed-again",
        "core:ConflictFinder.__call__",
        "if ConflictCheck.TOUCHED in checks and self._is_touched(winner):",
        "if ConflictCheck.TOUCHED not in checks and self._is_touched(winner):",
        "two writers rewrite one file, and its rows are there twice",
        _CHANGES,
    ),
    Mutant(
        "rows-of-winners-do-not-count",
        "core:ConflictFinder._counts_rows",
        "if ConflictCheck.ADDED in self._checks:",
        "if ConflictCheck.ADDED not in self._checks:",
        "under Serializable a blind append that was to be read is no conflict",
        _CHANGES,
    ),
    Mutant(
        "transactions-of-applications-are-repeated",
        "core:already_committed",
        "newest >= application[1]",
        "newest > application[1]",
        "a transaction of an application is committed twice",
        _CHANGES,
    ),
    Mutant(
        "partitions-of-others-are-overwritten",
        "core:files_of_partitions",
        "and key in wanted",
        "and key not in wanted",
        "a dynamic overwrite takes other partitions than those of the rows",
        _CHANGES,
    ),
    Mutant(
        "tables-are-created-over-others",
        "core:create_table",
        'if if_exists == "error":',
        'if if_exists == "never":',
        "a table that is there is taken for a new one",
        _CREATE,
    ),
)
