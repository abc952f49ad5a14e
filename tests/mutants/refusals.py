"""Mutants of refusals: input that no writer makes, and that passes where nobody looks."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_SCHEMAS = ("iceberg/test_refused_schemas.py",)
_AVRO = ("arrow/test_avro.py",)

MUTANTS = (
    Mutant(
        "required-fields-may-be-null",
        "iceberg:AvroColumns.required",
        "if column.null_count:",
        "if False:",
        "a null in a required field of a manifest entry is read as a value",
        ("iceberg/test_null_fields.py",),
    ),
    Mutant(
        "values-of-bounds-are-of-any-type",
        "iceberg:_Compiler.map_member",
        "if not is_key and holds != _held(member):",
        "if False:",
        "numbers where a manifest has bounds, and bytes where it has counts, are not refused",
        _SCHEMAS,
    ),
    Mutant(
        "keys-of-bounds-are-of-any-type",
        "iceberg:_Compiler.map_member",
        'elif kind in ("bytes", "string") and not is_key:',
        'elif kind in ("bytes", "string"):',
        "texts are read as keys of a map of bounds",
        _SCHEMAS,
    ),
    Mutant(
        "maps-of-nulls-are-no-maps",
        "iceberg:_Compiler.map",
        "self.maps[here] = _held(value)",
        "pass",
        "KeyError for a manifest whose bounds are all null by their type",
        ("iceberg/test_avro.py", "iceberg/test_avro_schema_outcomes.py"),
    ),
    Mutant(
        "logical-types-are-texts",
        "core:_logical_type",
        "if not isinstance(logical, str):",
        "if False:",
        "TypeError for an Avro data file whose logical type is a list",
        ("iceberg/test_avro_schema_outcomes.py",),
    ),
    Mutant(
        "arrays-of-nothing-are-read",
        "iceberg:_Compiler.body",
        "if size == 0 and want is not None:",
        "if False:",
        "a few bytes of a manifest claim an array of any length",
        _SCHEMAS,
    ),
    Mutant(
        "lists-of-nothing-are-read",
        "core:_Reader._array",
        "if not element.min_size:",
        "if False:",
        "a few bytes of an Avro data file claim a list of any length",
        _AVRO,
    ),
    Mutant(
        "what-arrow-lacks-is-damage",
        "core:typed_errors",
        "except pa.ArrowNotImplementedError as error:",
        "except ZeroDivisionError as error:",
        "a file that Arrow cannot open yet is called damaged",
        ("arrow/test_reader.py",),
    ),
    Mutant(
        "map-keys-may-be-null",
        "core:_Map.array",
        'raise ValueError("a key of a map is NULL")',
        'entries[0] = pa.array([key or "" for key in entries[0].to_pylist()], entries[0].type)',
        "a NULL key of a map is given as another key",
        _AVRO,
    ),
    Mutant(
        "enums-need-no-symbols",
        "iceberg:_Compiler.symbols",
        "if not isinstance(symbols, list) or not symbols:",
        "if not isinstance(symbols, list):",
        "an enum without symbols has values",
        _SCHEMAS,
    ),
    Mutant(
        "symbols-of-enums-are-anything",
        "core:_Reader._enum",
        "if not isinstance(symbols, list) or not all(isinstance(s, str) for s in symbols):",
        "if False:",
        "an enum of an Avro data file has symbols that are no texts",
        _AVRO,
    ),
    Mutant(
        "no-partition-is-no-row",
        "iceberg:_partition",
        "raw.rows, [None]",
        "0, [None]",
        "entries of an unpartitioned table have no partition",
        _SCHEMAS,
    ),
    Mutant(
        "tuples-of-lists-are-conditions",
        "core:_is_condition",
        "and not isinstance(item[0], list)",
        "",
        "a tuple of lists is taken for one condition",
        ("expressions/test_tuples.py",),
    ),
    Mutant(
        "transactions-without-a-limit",
        "delta:_all",
        'storage.limits.check("entries", len(found), f"{action} actions of a file of the log", path=file.path)',
        "pass",
        "any number of transactions of one commit is listed",
        ("delta/test_transactions_limits.py",),
    ),
)
