"""What written Delta tables need: rules of rows, identities, column mapping, row ids, changes of metadata."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_RULES = ("write/test_row_rules.py",)
_FEATURES = ("write/test_features.py",)
_ALTER = ("write/test_alter.py",)
_EVOLUTION = ("delta/test_evolution.py",)

MUTANTS = [
    Mutant(
        "null-passes-a-constraint",
        "core/engines/arrow/writing/row_rules:_check",
        "pc.fill_null(holds, False)",
        "pc.fill_null(holds, True)",
        "a row is written for which a constraint is NULL",
        _RULES,
    ),
    Mutant(
        "given-generated-columns-are-believed",
        "core:RuleRunner.apply",
        "(*given, *self._rules.checks)",
        "self._rules.checks",
        "a generated column that rows bring need not equal its expression",
        _RULES,
    ),
    Mutant(
        "identity-starts-at-the-mark",
        "core:IdentityColumn.first_free",
        "// self.step + 1",
        "// self.step",
        "the last number that was given out is given out again",
        _RULES,
    ),
    Mutant(
        "nulls-inside-of-lists-pass",
        "core:check_required",
        "check_required(member, inside, name)",
        "pass",
        "NULL is written inside of a column where the table allows none",
        _RULES,
    ),
    Mutant(
        "high-water-mark-of-the-first-bound",
        "delta:_farthest",
        '"upper" if rule.step > 0 else "lower"',
        '"lower" if rule.step > 0 else "upper"',
        "the high-water mark stays below numbers that were given out",
        _FEATURES,
    ),
    Mutant(
        "partition-values-by-logical-name",
        "delta:_partition_values",
        "[-1].stored_name",
        "[-1].name",
        "readers of a mapped table find no partition values and read NULL",
        _FEATURES,
    ),
    Mutant(
        "row-ids-of-files-overlap",
        "delta:with_row_ids",
        'free += json.loads(action["add"]["stats"])["numRecords"]',
        "free += 1",
        "two rows have one row id",
        _FEATURES,
    ),
    Mutant(
        "changes-of-rewritten-files-alone",
        "core:Removal.deleted",
        "return _rows(self.removed, self.removed.scan.filter)",
        "return _rows(self.removed.take(self.rewritten), self.removed.scan.filter)",
        "the change data feed lacks the rows of files that went as a whole",
        _FEATURES,
    ),
    Mutant(
        "ids-of-dropped-columns-again",
        "delta:_changed_schema",
        "max([greatest_id(properties), *_ids(struct)])",
        "max(_ids(struct))",
        "a new column gets the id of a dropped one, and reads its values in mode id",
        _EVOLUTION,
    ),
    Mutant(
        "legacy-features-lost",
        "delta:with_features",
        "wanted = present | frozenset(",
        "wanted = frozenset(",
        "a raised protocol does not name what the older version stood for",
        _EVOLUTION,
    ),
    Mutant(
        "constraints-do-not-mind-blind-appends",
        "core:Alter._change",
        'None if violation is None else "serializable"',
        "None",
        "a rival's row against a new constraint is committed beside it",
        _ALTER,
    ),
    Mutant(
        "a-winners-transaction-has-a-number",
        "delta:_version_of",
        "if isinstance(version, bool) or not isinstance(version, int):",
        "if int(version) < 0:",
        "a commit ends in a ValueError where another one has a transaction without a number",
        ("delta/test_winners.py",),
    ),
    Mutant(
        "the-greatest-id-is-a-number",
        "delta:greatest_id",
        'found = whole_number(properties.get(GREATEST_ID, "0"))',
        'found = int(properties.get(GREATEST_ID, "0"))',
        "a change of columns ends in a ValueError where the greatest id of a column is no number",
        ("delta/test_damaged_numbers.py",),
    ),
    Mutant(
        "numbers-of-identity-columns-are-finite",
        "delta:number_of",
        "_TOO_MUCH if isinstance(found, (bool, float)) else int(found)",
        "int(found)",
        "a commit ends in an OverflowError where a number of an identity column is infinite",
        ("delta/test_damaged_numbers.py",),
    ),
    Mutant(
        "texts-of-a-commit-are-texts",
        "delta:commit_lines",
        "except UnicodeEncodeError:",
        "except KeyError:",
        "a commit with half a surrogate pair ends in a UnicodeEncodeError",
        ("write/test_texts_that_are_none.py",),
    ),
]
