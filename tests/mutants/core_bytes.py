"""Mutants of what a table's bytes may do: be no file, become gigabytes, raise foreign exceptions, move a cursor."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ATTACKS = ("fuzz/test_attacks.py",)
_BOUNDARY = ("runtime/test_boundary.py",)
_LIMITS = ("table/test_limits.py",)
_LOCAL = ("io/test_local_reads.py",)
_NAMES = ("cli/test_hostile_names.py",)
_SECRETS = ("io/test_credentials_in_locations.py",)
_TEXTS = ("iceberg/test_hostile_texts.py",)

MUTANTS = (
    Mutant(
        "anything-is-opened",
        "core:open_local",
        "if not stat.S_ISREG(mode):",
        "if False:",
        "a pipe is opened and waited for",
        _LOCAL,
    ),
    Mutant(
        "foreign-exceptions-pass",
        "core:passes_boundary",
        "not isinstance(error, Exception) or isinstance(error, _PASSING)",
        "True",
        "what a library raises over damaged bytes reaches callers",
        _BOUNDARY,
    ),
    Mutant(
        "no-memory-is-damage",
        "core:is_fault_of_machine",
        "claimed is None or 0 <= int(claimed.group(1)) < _MOST_CLAIMED",
        "False",
        "memory that cannot be had is taken for a damaged file",
        _BOUNDARY,
    ),
    Mutant(
        "iterators-are-not-guarded",
        "core/runtime/boundary:_guarded",
        'if hasattr(found, "__next__")',
        "if False",
        "a batch that is read later raises what its library raises",
        _BOUNDARY,
    ),
    Mutant(
        "touching-runs-are-refused",
        "core:bitmap_of",
        "except ValueError:",
        "except KeyError:",
        "a deletion vector whose runs touch is not read",
        ("core/test_bitmap.py", "delta/test_deletion_vectors.py"),
    ),
    Mutant(
        "small-files-become-anything",
        "core:Limits._bound",
        "return min(getattr(self, name), self.budget(stored) // _WEIGHTS.get(name, 1))",
        "return getattr(self, name)",
        "a manifest of a few bytes becomes millions of entries",
        (*_LIMITS, *_ATTACKS),
    ),
    Mutant(
        "names-are-not-charged",
        "iceberg:_NameCollector._charge",
        "self._left -= _NAME_BYTES * count + 2 * characters",
        "pass",
        "a name mapping multiplies prefixes by names",
        _ATTACKS,
    ),
    Mutant(
        "paths-need-not-be-text",
        "iceberg:_member",
        ".validate(full=True)",
        ".validate()",
        "a position delete of a path that is no UTF-8 ends in UnicodeDecodeError",
        _TEXTS,
    ),
    Mutant(
        "json-is-shown-as-it-is",
        "core:_escaped",
        'if text.replace("\\n", "").isprintable():',
        "if True:",
        "a column's name turns the text of a terminal around",
        _NAMES,
    ),
    Mutant(
        "passwords-end-at-a-slash",
        "core/redaction:_split",
        'elif "@" in path and ":" in authority and not _PORT.match(authority):',
        "elif False:",
        "a key of S3 that holds a slash is shown",
        _SECRETS,
    ),
    Mutant(
        "every-footer-is-sound",
        "core:RowGroups.__init__",
        "None if has_sound_chunks(footer) else _chunks(footer, metadata, path)",
        "None",
        "a data file whose footer contradicts itself ends the process",
        ("arrow/test_reader.py",),
    ),
    Mutant(
        "every-footer-of-a-checkpoint-is-sound",
        "delta:CheckpointFile.struct_arrays",
        "if self._has_sound_chunks():",
        "if True:",
        "a checkpoint whose footer contradicts itself ends the process",
        ("delta/test_damage.py",),
    ),
    Mutant(
        "pages-are-free",
        "core:check_pages",
        "if left < 0:",
        "if False:",
        "a checkpoint of a few kilobytes inflates to gigabytes",
        _ATTACKS,
    ),
    # ---- ranges of joined blocks ------------------------------------------------------------------------------------
    Mutant(
        "joined-ranges-have-no-nan",
        "core:Range.concat",
        "return Range(lower, upper, flags[0], flags[1], flags[2])",
        "return Range(lower, upper, flags[0], flags[1], np.zeros_like(flags[2]))",
        "the second plan of a checkpoint with commits on top finds no NaN",
        ("delta/test_joined_nan.py",),
    ),
    Mutant(
        "joined-ranges-have-no-null",
        "core:Range.concat",
        "return Range(lower, upper, flags[0], flags[1], flags[2])",
        "return Range(lower, upper, flags[0], np.zeros_like(flags[1]), flags[2])",
        "the second plan of a checkpoint with commits on top finds no NULL",
        ("delta/test_joined_nan.py",),
    ),
    Mutant(
        "footer-names-are-free",
        "core:check_footer",
        "if cost > limits.budget(size):",
        "if False:",
        "a footer of some hundred kilobytes becomes gigabytes of dotted names",
        ("io/test_parquet_footers.py",),
    ),
    Mutant(
        "arrow-schemas-are-free",
        "core:check_footer",
        "sum(map(schema_cost, arrow_schemas_of(footer)))",
        "0",
        "an Arrow schema in a footer becomes gigabytes of fields that its references repeat",
        ("delta/test_changes_damage.py",),
    ),
    Mutant(
        "references-to-a-field-count-once",
        "core:_Schema._list",
        "sum(self._field(each, depth) for each in self._references(table, member))",
        "sum(self._field(each, depth) for each in set(self._references(table, member)))",
        "a field to which many references lead is counted as one",
        ("columnar/test_arrow_schemas.py",),
    ),
    Mutant(
        "names-of-fields-are-free",
        "core:Limits.check_dotted_names",
        "if characters * _NAME_COPIES > self.budget(stored):",
        "if False:",
        "a long name of a struct is copied for each of its fields",
        ("table/test_limits.py",),
    ),
    Mutant(
        "any-inflater-will-do",
        "core:libdeflate",
        "return functions if inflates_as_libdeflate(functions) else None",
        "return functions",
        "functions of another package's wheel are called that no longer do what they did",
        ("io/test_libdeflate.py",),
    ),
)
