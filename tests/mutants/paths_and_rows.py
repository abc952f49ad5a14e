"""Mutants of paths that share a prefix, of tables with a relative location, and of tuples and times in filters."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_STORAGE = ("io/test_storage.py",)
_RELATIVE = ("test_relative_location.py",)

MUTANTS = (
    Mutant(
        "shared-prefix-beside-a-longer-move",
        "core:PathPolicy.quick_check",
        "longest = not self._moves or len(self._moves[0][0]) < len(normalize(old))",
        "longest = True",
        "the prefix of all paths decides, though a longer move is for some of them",
        _STORAGE,
    ),
    Mutant(
        "relative-prefix-beside-moves",
        "core:PathPolicy.quick_check",
        'return True, None if self._moves else SharedPrefix("", self.join(""))',
        'return True, SharedPrefix("", self.join(""))',
        "relative paths are below the root, though some were moved",
        _STORAGE,
    ),
    Mutant(
        "hosts-are-folders",
        "core:common_move",
        'if "://" in path or is_on_another_host(path)',
        'if "://" in path',
        "a location that names a host moves every absolute path",
        _RELATIVE,
    ),
    Mutant(
        "other-manifests-are-read",
        "iceberg:check_against_list",
        "if is_other and is_counted and live != manifest.live_files:",
        "if False:",
        "a longer manifest with other files is the one that the list names",
        ("test_table_metadata.py",),
    ),
    Mutant(
        "tuples-compare-as-members",
        "core:_is_before",
        "return Or((And((none_left, Not(none_right))), less))",
        "return less",
        "NULL is not the least member of a tuple",
        ("test_row_values.py",),
    ),
    Mutant(
        "offset-at-local-time",
        "core:offset_at",
        "is_local=False",
        "is_local=True",
        "the offset of a zone is that of the same local time",
        ("test_zone_shifts.py",),
    ),
)
