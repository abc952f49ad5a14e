"""Mutants of where Iceberg's writers put files, of the order of rows, of turns, and of what the verifier compares."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_LAYOUT = ("iceberg/commits/test_layout_of_files.py",)

MUTANTS = (
    Mutant(
        "nulls-of-an-order-are-last",
        "core:sorted_rows",
        'order.append((f"n{number}", "descending" if column.nulls_first else "ascending"))',
        'order.append((f"n{number}", "ascending"))',
        "files say that they are in an order in which they are not",
        _LAYOUT,
    ),
    Mutant(
        "hash-of-other-bits",
        "iceberg:hashed_path",
        "bits[8:12], bits[12:]",
        "bits[8:11], bits[11:]",
        "files are not where the reference implementation puts them",
        _LAYOUT,
    ),
    Mutant(
        "properties-choose-any-directory",
        "iceberg:IcebergTransaction._check_directories",
        "if not any(",
        "if allowed and not any(",
        "a table of another makes us write anywhere",
        ("iceberg/commits/test_append.py",),
    ),
    Mutant(
        "totals-are-not-verified",
        "iceberg:_named_counts",
        "elif number != real:",
        "elif number < real:",
        "a summary that counts too much passes the verifier",
        ("iceberg/test_verify.py",),
    ),
    Mutant(
        "a-waiting-commit-is-not-moved",
        "core:_tried",
        "if is_overtaken or attempt > 1:",
        "if attempt > 1:",
        "each commit that waited for another loses its first try",
        ("runtime/test_turns.py",),
    ),
    Mutant(
        "split-offsets-may-repeat",
        "iceberg:_splits",
        "items[1:] <= items[:-1]",
        "items[1:] < items[:-1]",
        "a split offset that is there twice passes the verifier",
        ("iceberg/test_verify.py",),
    ),
)
