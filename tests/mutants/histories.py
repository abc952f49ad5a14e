"""Mutants of what histories, faults and races of writers found."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_RACE = ("iceberg/commits/test_races.py::test_an_application_commits_a_number_once_in_a_race",)
_PEERS = ("histories/test_peers.py::test_we_are_right",)
_UPKEEP = "delta/test_upkeep.py::"

_SEVERAL = "catalog/test_transactions.py"

MUTANTS = (
    Mutant(
        "winners-have-no-applications",
        "iceberg:committed_since",
        "applications=applications_of(snapshot),",
        "",
        "a transaction of an application is committed twice where two tries of it race",
        _RACE,
    ),
    Mutant(
        "unknown-times-are-old",
        "delta:_first_kept",
        "if not all(file.mtime_ms > 0 for file in listing.commits.values()):",
        "if not all(file.mtime_ms >= 0 for file in listing.commits.values()):",
        "a log whose store tells no times is cleaned as if it were of 1970",
        (_UPKEEP + "test_a_store_that_does_not_tell_times_keeps_its_log",),
    ),
    Mutant(
        "copied-rows-are-added",
        "delta:_count",
        "return max(0, count - (copied or 0))",
        "return count",
        "history says that an overwrite of a few rows added all rows of their files",
        ("cli/test_layout.py::test_history_of_deletes_that_copy_rows",),
    ),
    Mutant(
        "views-are-put-as-they-are",
        "core:ObstoreStore.put",
        'memoryview(data).cast("B")',
        "data",
        "no checkpoint is ever written to an object store",
        (_UPKEEP + "test_checkpoints_are_written_to_object_stores",),
    ),
    Mutant(
        "what-exists-is-a-rivals",
        "core:_read_back",
        "return PutOutcome.WON if found == data else PutOutcome.LOST",
        "return PutOutcome.LOST",
        "a commit whose answer was lost is taken for that of a rival, and made again",
        _PEERS,
    ),
    Mutant(
        "files-go-after-any-error",
        "core:Transaction._finish",
        "if error.committed is False:",
        "if True:",
        "after an unknown outcome the files of a commit that landed are deleted",
        ("write/test_append.py::test_an_unknown_outcome_keeps_the_files_that_the_commit_may_name",),
    ),
    Mutant(
        "no-winner-is-in-conflict",
        "core:moved_change",
        "if reason is not None:",
        "if reason is None and False:",
        "no winner is ever in conflict with a commit",
        ("histories/test_pairs.py::test_pairs",),
    ),
    Mutant(
        "references-move-from-anywhere",
        "iceberg:_Changes._change_reference",
        'self._requirements.append({"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": snapshot_id})',
        "",
        "a restore undoes what another writer committed after it was begun",
        ("histories/test_pairs.py::test_restore_beside_others",),
    ),
    Mutant(
        "failed-commit-is-not-rolled-back",
        "core:swap",
        "return _rolled_back(driven)",
        "return PutOutcome.UNKNOWN",
        "the look-up after a failed commit of a database reads what was not committed, so a lost write is acknowledged",
        ("iceberg/test_swap.py::test_a_sql_catalog_whose_database_is_locked_at_the_commit",),
    ),
    Mutant(
        "one-table-is-not-checked",
        "core:commit_several",
        '"requirements": asked,',
        '"requirements": asked if name == tables[0][0] else (),',
        "a commit of several tables lands although another writer was faster at one of them",
        (f"{_SEVERAL}::test_each_table_is_to_be_what_was_read",),
    ),
    Mutant(
        "unknown-of-several-tables-is-lost",
        "core:_settled",
        "if not holding and PutOutcome.LOST in found:",
        "if not holding:",
        "a commit of several tables that may still land is made again",
        (f"{_SEVERAL}::test_an_outcome_that_nobody_knows_keeps_all_files",),
    ),
    Mutant(
        "half-of-several-tables-is-whole",
        "core:_settled",
        "if len(holding) == len(members):",
        "if holding:",
        "a commit that is in one table of several is said to be made",
        (f"{_SEVERAL}::test_a_commit_that_is_not_whole",),
    ),
    Mutant(
        "created-and-said-not-to-be",
        "core:_Place.opened_after_commit",
        "error.committed = True",
        "error.committed = False",
        "an error after a table was created says that nothing was committed",
        (f"{_SEVERAL}::test_an_error_after_the_commit_says_so",),
    ),
)
