"""Mutants of what is written to Iceberg tables: entries, bounds, lists, validation."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_APPEND = ("commits/test_append.py",)
_CARRIED = ("commits/test_carried.py",)
_ENCODING = ("commits/test_encoding.py",)
_RACES = ("commits/test_races.py",)
_PROGRAM = ("test_iceberg_writes.py",)
_OTHERS = ("commits/test_deletes_of_others.py",)

MUTANTS = (
    Mutant(
        "rewritten-files-have-the-deletes-of-the-filter",
        "core:_planned",
        ", every_delete=True",
        "",
        "rows that equality deletes of others deleted come back when their file is written again",
        _OTHERS,
    ),
    Mutant(
        "row-ids-are-given-twice",
        "iceberg:_with_first_row_ids",
        "next_row_id + _rows_without_id(row)",
        "next_row_id",
        "all new manifests get the same first row id",
        _APPEND,
    ),
    Mutant(
        "carried-entries-are-added",
        "iceberg:_carried",
        "status=np.full(raw.rows, EXISTING, np.int64)",
        "status=np.full(raw.rows, ADDED, np.int64)",
        "entries of other manifests are added again",
        _CARRIED,
    ),
    Mutant(
        "carried-entries-inherit",
        "iceberg:_carried",
        "sequence_number=inherited_sequence_numbers(raw, inherited, status, path)",
        "sequence_number=np.full(raw.rows, -1, np.int64)",
        "entries that are carried over inherit the new sequence number, so older deletes spare their rows",
        _CARRIED,
    ),
    Mutant(
        "cut-upper-bounds-are-not-rounded-up",
        "iceberg:_cut_upper",
        "pc.if_else(is_long, _successors(_cut_lower(values, length), is_text), values)",
        "_cut_lower(values, length)",
        "an upper bound is the first characters of the greatest value",
        _ENCODING,
    ),
    Mutant(
        "bounds-of-zero-have-one-sign",
        "iceberg:bound_bytes",
        "-0.0 if is_lower else 0.0",
        "0.0 if is_lower else -0.0",
        "-0.0 lies below its file's lower bound",
        _ENCODING,
    ),
    Mutant(
        "partition-summaries-know-no-null",
        "iceberg:_summary",
        "bool(values.null_count), False",
        "False, False",
        "a filter for NULL skips the manifest",
        _APPEND,
    ),
    Mutant(
        "uncounted-manifests-are-empty",
        "iceberg:counted",
        "return row._replace(**found)",
        "return row._replace(**dict.fromkeys(found, 0))",
        "a manifest whose list does not count its files has none in the next list",
        _PROGRAM,
    ),
    Mutant(
        "deletes-of-the-oldest-files-are-dropped",
        "iceberg:FileRemoval._is_dangling",
        "sequence < least_sequence_number",
        "sequence <= least_sequence_number",
        "deletes as old as the oldest file are taken for dangling",
        _OTHERS,
    ),
    Mutant(
        "a-deleted-name-is-free",
        "iceberg:DirectorySwap._is_overtaken",
        "return max(numbers, default=version) > version",
        "return False",
        "a commit takes the name of a metadata file that newer ones have deleted, and is lost",
        _RACES,
    ),
    Mutant(
        "added-rows-are-no-conflict",
        "iceberg:LEVELS",
        "frozenset({ConflictCheck.TOUCHED, ConflictCheck.ADDED})",
        "frozenset({ConflictCheck.TOUCHED})",
        "a delete under serializable isolation spares rows that another writer added",
        _RACES,
    ),
    Mutant(
        "any-snapshot-is-an-ancestor",
        "iceberg:snapshots_between",
        "if not is_whole:",
        "if False:",
        "a commit goes on from a snapshot that was rolled back",
        _RACES,
    ),
    Mutant(
        "cut-upper-bounds-are-not-raised",
        "iceberg:_successors",
        "octets[last[filled]] += 1",
        "octets[last[filled]] += 0",
        "a cut upper bound is not raised",
        _ENCODING,
    ),
    Mutant(
        "directories-of-properties-may-climb",
        "iceberg:IcebergTransaction._check_directories",
        "found = self._files.locate(path or metadata.location)",
        'found = path if path and ".." in path else self._files.locate(path or metadata.location)',
        "files go to a directory that leads out of the table with .., and the table cannot be read any more",
        _APPEND,
    ),
    Mutant(
        "a-schema-is-taken-for-an-object",
        "iceberg:_wrong_field",
        'isinstance(one, Mapping) and one.get("type") == "struct" and _is_type(one)',
        '_is_type(one) and one.get("type") == "struct"',
        "a commit ends in an AttributeError where a field that readers pass over is no object",
        ("test_json_form.py",),
    ),
    Mutant(
        "a-number-of-buckets-has-few-digits",
        "iceberg:_arguments",
        "(whole_number(numbers[0]) or 0)",
        "int(numbers[0])",
        "a number of buckets of thousands of digits ends in a ValueError of Python",
        ("test_partition_texts.py",),
    ),
)
