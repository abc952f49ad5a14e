"""Mutants of what explains a plan: which part of a filter dropped which files, and why it kept the others."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_COUNTS = ("planning/test_attribution.py",)

MUTANTS = (
    Mutant(
        "shared-drops-are-alone",
        "core:_Counter._count",
        "by_how_many == 1",
        "by_how_many >= 1",
        "what several parts of a filter drop counts as dropped by each of them alone",
        _COUNTS,
    ),
    Mutant(
        "files-dropped-together-are-planned",
        "core:_Counter._count",
        "n - by_any - together",
        "n - by_any",
        "files that only several parts together drop count as planned",
        _COUNTS,
    ),
    Mutant(
        "bounds-of-dropped-partitions-explain",
        "core:_pruned",
        "early, is_early=True",
        "early, is_early=False",
        "a part is said to keep files that partition values had dropped before their bounds were read",
        _COUNTS,
    ),
    Mutant(
        "explained-masks-are-overwritten",
        "core:CompiledPredicate._evaluate",
        "masks[id(node)].copy()",
        "masks[id(node)]",
        "what a leaf says of a file is read after AND and OR have written over it",
        _COUNTS,
    ),
    Mutant(
        "manifests-of-deletes-are-explained",
        "core:_Planner._read_ahead",
        "files_of_deletes(self.request)",
        "files_of_deletes(self.request_for_parts)",
        "in a store, manifests of deletes count among the manifests that a part of the filter skips",
        ("io/test_request_chains.py",),
    ),
    Mutant(
        "every-undecided-bound-is-wide",
        "core:Widths.wide",
        ">= _SHARE * range_",
        ">= 0",
        "bounds that allow matching rows are called wide, however narrow",
        _COUNTS,
    ),
)
