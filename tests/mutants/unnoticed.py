"""Random mutants that nobody can notice, with the reason: they are no part of the score."""

from __future__ import annotations

from tests.mutants.unnoticed_core import IN_CORE
from tests.mutants.unnoticed_delta import IN_DELTA
from tests.mutants.unnoticed_readers import OF_ICEBERG_READERS

TUNED = frozenset(
    (
        "LEAST_TEXTS",
        "MAX_CACHED_BYTES",
        "TARGET_FILES",
        "WHOLE_BYTES",
        "_CALIBRATING_BYTES",
        "_CODED_BYTES",
        "_COMMIT_FILES",
        "_FEW",
        "_FEWEST_CODED",
        "_FEWEST_ROWS",
        "_FEW_ACTIONS",
        "_FEW_BYTES",
        "_FEW_FILES",
        "_FEW_ROWS",
        "_INFLATER_BYTES",
        "_LEAST_SHARE",
        "_LONG_LOG",
        "_LONG_TEXT",
        "_LOOKED_AT",
        "_MANY_BYTES",
        "_MAX_CACHED_TEXTS",
        "_MAX_KEPT_BYTES",
        "_MIN_ROWS_TO_ENCODE",
        "_MOST_DELETES_AHEAD",
        "_MOST_SUMMARIES",
        "_MOST_WHOLE_BYTES",
        "_RUN",
        "_SHARED",
        "_SYNCED_BYTES",
        "_TABLE",
    )
)
"""Numbers that choose between two ways to the same answer: on which side they themselves lie decides the time alone."""
EQUIVALENT: dict[str, str] = {
    **IN_DELTA,
    **OF_ICEBERG_READERS,
    "plugins/iceberg/tableformats_iceberg/write/commit/manifest_merging.py:_packed_from_the_end: 0 -> 1": (
        "the first manifest begins a group, which sets the size again"
    ),
    "tableformats/planning/attribution/verdicts.py:_OneFile.add: 1 -> 2": (
        "of two rows that are judged the verdict of the first is taken"
    ),
    "tableformats/expressions/functions/temporal/datetimes.py:_zone_shift.instant_of: 366 -> 367": (
        "the year that is printed stays between 1 and 9999, and what is taken off is added again"
    ),
    "tableformats/plugin/registry.py:PluginHost.detect: not storage.is_local -> (storage.is_local)": (
        "whether formats look at once decides the time alone"
    ),
    "tableformats/plugin/recognition.py:_described: 1 -> 2": "a fifth table is not named",
    **{
        f"tableformats/schema/transform_values.py:{change}": reason
        for change, reason in {
            "_integers: 0 -> 1": "what stands for NULL is not looked at",
            "_truncated_decimals: unscaled < 0 -> (unscaled <= 0)": "decimals of Arrow have one zero",
            "_unscaled: number >= 0 -> (number > 0)": "0 and its complement take one byte",
            "_unscaled: 0 -> 1": "0 and its complement take one byte",
            "_hashed_texts: 4 -> 5": "no word goes on beyond four more bytes",
            "_hashed_texts: short & (sizes % 4 != 0) -> (short | (sizes % 4 != 0))": (
                "no rest changes nothing, and long texts are hashed anew"
            ),
        }.items()
    },
    **{
        f"tableformats/schema/transforms.py:Transform.{change}": reason
        for change, reason in {
            "_preimage_truncate: 12 -> 13": "both types are wide enough",
            "_preimage_truncate: 12 -> 13 (number 2)": "both types are wide enough",
            "_preimage_truncate: 76 -> 77": "no decimal column has as many digits",
            "_preimage_time: first_us > -limit -> (first_us >= -limit)": "no unit begins there",
            "_preimage_time: end_us < limit -> (end_us <= limit)": "no unit ends there",
            "_preimage_time: 0 -> 1 (number 2)": "what stands for NULL is not looked at",
            "_preimage_time: 0 -> 1 (number 3)": "what stands for NULL is not looked at",
            "_unit_start: 0 -> 1": "what stands for NULL is not looked at",
        }.items()
    },
    **{
        f"tableformats/schema/transforms.py:{change}": reason
        for change, reason in {
            "_as_int64: False -> True": "a copy has the same numbers",
            "_as_int64: 0 -> 1": "what stands for NULL is not looked at",
            "_successor: 0xDFFF -> 57344": "the first character behind the pairs is that one itself",
            "_hash_input: unscaled < 0 -> (unscaled <= 0)": "0 and 1 take one byte",
            "_hash_input: 0 -> 1": "0 and 1 take one byte",
        }.items()
    },
    "tableformats/columnar/arrays.py:repeated: text.size > _SMALL -> (text.size >= _SMALL)": (
        "whether equal arrays share their memory decides the memory alone"
    ),
    "tableformats/schema/transform_values.py:_hashes: 1 -> 2": "NumPy takes any negative length for the unknown one",
    "tableformats/pruning/literal_codes.py:locate: False -> True": "a copy has the same values",
    "tableformats/engines/arrow/row_runs.py:MatchingRows.of_mask: 1 -> 2": (
        "NumPy takes any negative length for the unknown one"
    ),
    **{
        f"tableformats/cli/columns.py:texts_of: types.is_{change}": "the texts are the same, made one by one"
        for change in (
            "string(kind) or types.is_large_string(kind)"
            " -> ((types.is_string(kind)) and (types.is_large_string(kind)))",
            "integer(kind) or types.is_boolean(kind) or types.is_nested(kind)"
            " -> ((types.is_integer(kind)) and (types.is_boolean(kind)) and (types.is_nested(kind)))",
        )
    },
    **{
        f"tableformats/cli/columns.py:_json_column: types.is_{kind}(kind) or types.is_large_{kind}(kind)"
        f" -> ((types.is_{kind}(kind)) and (types.is_large_{kind}(kind)))": "the texts are the same, made one by one"
        for kind in ("list", "string")
    },
    **{
        f"tableformats/expressions/casts.py:_to_decimal: {change}": "no decimal has as many digits on either side"
        for change in (
            "decimal.Decimal(number).adjusted() > 1000 -> (decimal.Decimal(number).adjusted() >= 1000)",
            "decimal.Decimal(number).adjusted() > -1000 -> (decimal.Decimal(number).adjusted() >= -1000)",
            "1000 -> 1001",
            "1000 -> 1001 (number 2)",
        )
    },
    "tableformats/expressions/functions/casting.py:_by_arrow: target in (STRING, BOOLEAN) or is_floating(target)"
    " -> ((target in (STRING, BOOLEAN)) and (is_floating(target)))": "the values are the same, made one by one",
    **{
        f"tableformats/expressions/functions/arithmetic.py:_rounded_number: {change}": (
            "no double has as many digits behind the point"
        )
        for change in ("digits >= 400 -> (digits > 400)", "400 -> 401")
    },
    **{
        f"tableformats/expressions/functions/arithmetic.py:_integers: {change}": "pmod leaves a rest of 0 as it is"
        for change in ("wide < 0 -> (wide <= 0)", "0 -> 1 (number 4)")
    },
    "tableformats/pruning/computed_ranges.py:_keeps_order: values[0] > 0 -> (values[0] >= 0)": (
        "a division by zero fails for the bounds, which are unknown then"
    ),
    "tableformats/pruning/column_pairs.py:unknown_range: ones * np.uint8(NAN_UNCOUNTED * is_floating(column.type))"
    " -> (ones + np.uint8(NAN_UNCOUNTED * is_floating(column.type)))": (
        "a file is kept where no bounds are known, whatever is said of NaN"
    ),
    "tableformats/io/stores/renewing.py:RenewedOptions.__init__: 0 -> 1": "generations are compared with each other",
    "plugins/delta/tableformats_delta/statistics/stats_struct.py:_escaped: 32 -> 33": (
        "a space that is escaped in JSON is a space"
    ),
    "plugins/delta/tableformats_delta/statistics/stats_struct.py:_named: False -> True": (
        "a letter that is escaped in JSON is that letter"
    ),
    "tableformats/pruning/compiled_predicate.py:CompiledPredicate.matches_by_nan_alone: 4 * np.count_nonzero(kept) < n"
    " -> (4 * np.count_nonzero(kept) <= n)": "whether the kept files are taken out first decides the time alone",
    "plugins/iceberg/tableformats_iceberg/avro/container.py:_cuts: 1 -> 2": (
        "into how many parts a file is cut decides the time alone"
    ),
    "tableformats/columnar/arrays.py:_as_integers: classes == {dt.date} -> (classes != {dt.date})": (
        "pyarrow converts dates to the same numbers, in more time"
    ),
    "tableformats/planning/cache/file_columns.py:FileColumns._take_all: batch_rows.key is not None and not are_most"
    " -> ((batch_rows.key is not None) or (not are_most))": "whether files are copied decides the memory alone",
    **{
        f"tableformats/expressions/functions/arithmetic.py:_rounded_type: {change}": (
            "for 0 digits both ways give the same type"
        )
        for change in ("digits < 0 -> (digits <= 0)", "0 -> 1")
    },
    **{
        f"tableformats/expressions/functions/arithmetic.py:_round: {change}": "the values are the same, made one by one"
        for change in ("digits >= 0 -> (digits > 0)", "0 -> 1 (number 4)")
    },
    "plugins/delta/tableformats_delta/write/actions.py:CommitContext.timestamp: 0 -> 1": (
        "the clock is past the first milliseconds of 1970"
    ),
    **{
        f"plugins/iceberg/tableformats_iceberg/changes/row_changes.py:{name}: False -> True": (
            "codes of paths have no nulls, so that nothing is copied"
        )
        for name in ("_compare", "_identities")
    },
    "tableformats/pruning/manifest_filter.py:PredicateManifestFilter._range: "
    "1 - is_null(upper) -> (1 + is_null(upper))": "only the last bit is looked at, which is the same",
    "tableformats/io/stores/file_system.py:FileSystemStore._listed: 0 -> 1 (number 2)": (
        "a nanosecond after 1970 is 1970 in milliseconds"
    ),
    "tableformats/inspect/pictures/plots.py:Plots.timeline: 0 -> 1": (
        "the middle of a minute is moved by a millisecond"
    ),
    "tableformats/engines/arrow/dataset.py:ScanDataset.scanner: set(columns) <= set(scan.schema.names)"
    " -> (set(columns) < set(scan.schema.names))": "without a choice of them, all columns are read",
    "tableformats/planning/attribution/parts.py:_Counter.add_groups: len(self.parts) > 1 -> (len(self.parts) >= 1)": (
        "what a single part skips is what all of them skip"
    ),
    "tableformats/schema/transform_values.py:_truncated_decimals: 0 -> 1": "decimals of Arrow have one zero",
    "tableformats/engines/arrow/writing/data_files.py:FileWriter._flush_greatest: "
    "self._pending_bytes <= self._buffer_bytes // 2 -> (self._pending_bytes < self._buffer_bytes // 2)": (
        "where just half of the buffer is free, a partition more is written early"
    ),
    **{
        f"tableformats/planning/block_pruning.py:_coalesce_requests: {change}": (
            "one slice is asked itself or by its parent, for the same rows"
        )
        for change in ("len(found) > 1 -> (len(found) >= 1)", "1 -> 2")
    },
    "tableformats/io/stores/renewing.py:RenewingStore._store: 0 -> 1": (
        "the store is opened anew for each request, which takes time alone"
    ),
    **{
        f"plugins/delta/tableformats_delta/json/columns.py:_cast_left: {change}": reason
        for change, reason in {
            "True -> False": "no cell is left to be converted one by one",
            "True -> False (number 2)": "no cell is left to be converted one by one",
            "False -> True (number 2)": "Arrow reads every number of JSON",
        }.items()
    },
    **{
        f"plugins/delta/tableformats_delta/json/columns.py:_double: {change}": "a number beyond all doubles is not 0"
        for change in ("number < 0 -> (number <= 0)", "0 -> 1")
    },
    **{
        f"plugins/delta/tableformats_delta/json/values.py:fit_decimal: {change}": (
            "no type has as many digits before the point"
        )
        for change in ("value.adjusted() > 50 -> (value.adjusted() >= 50)", "50 -> 51")
    },
    "plugins/delta/tableformats_delta/maintenance/action_file.py:ActionFile._flush: "
    "(size := table.nbytes) < _KEPT_BYTES -> ((size := table.nbytes) <= _KEPT_BYTES)": (
        "whether a file stays in memory decides the time alone"
    ),
    "plugins/delta/tableformats_delta/write/transaction.py:DeltaTransaction.turn: "
    "self.snapshot is None or not self._storage.is_local -> ((self.snapshot is None) and "
    "(not self._storage.is_local))": "a commit that would lose is written or not, which decides the time alone",
    "plugins/delta/tableformats_delta/write/target.py:_changes_target: 1 -> 2": "any id will do that no column has",
    "plugins/delta/tableformats_delta/snapshot/table_state.py:_files_ahead: segment.checksum.version == segment.version"
    " -> (segment.checksum.version != segment.version)": "which files are read ahead decides the time alone",
    **{
        f"plugins/iceberg/tableformats_iceberg/write/swap.py:_encoded: {change}": "the text is the same when inflated"
        for change in ("6 -> 7", "0 -> 1")
    },
    "plugins/iceberg/tableformats_iceberg/write/swap.py:_encoded: False -> True": (
        "a letter that is escaped in JSON is that letter"
    ),
    "plugins/delta/tableformats_delta/json/reference.py:MemberColumns._decimal: 0 -> 1 (number 2)": (
        "the other half of a value that is NULL"
    ),
    "plugins/iceberg/tableformats_iceberg/manifests/statistics.py:ManifestStatistics.bounds: "
    "counts.null_count < len(counts) -> (counts.null_count <= len(counts))": (
        "counts that are all unknown are as good as none"
    ),
    "plugins/iceberg/tableformats_iceberg/snapshot.py:IcebergSnapshot.attach_deletes: "
    "files.num_rows < sum(m.live_files for m in manifests)"
    " -> (files.num_rows <= sum((m.live_files for m in manifests)))": (
        "deletes of files that are not planned belong to none of those that are"
    ),
    "plugins/iceberg/tableformats_iceberg/snapshot.py:IcebergSnapshot.attach_deletes: "
    "PlannedPaths(files[\"path\"]) if are_few else None -> (None if are_few else PlannedPaths(files['path']))": (
        "deletes of files that are not planned belong to none of those that are"
    ),
    **{
        f"plugins/iceberg/tableformats_iceberg/write/encode/carried_entries.py:_decoded: {change}": (
            "manifests that are read together say what each says alone"
        )
        for change in ("len(reads) > 1 -> (len(reads) >= 1)", "1 -> 2")
    },
    "plugins/iceberg/tableformats_iceberg/write/encode/carried_entries.py:_decoded: "
    "len(reads) > 1 and all(decodes_at_once(r.header) for r in reads)"
    " -> ((len(reads) > 1) or (all((decodes_at_once(r.header) for r in reads))))": (
        "manifests that are read together say what each says alone"
    ),
    "plugins/delta/tableformats_delta/verification/stored_actions.py:_is_of_kind: 0 -> 1": (
        "actions that are not held as columns are judged one by one, in more time"
    ),
    "plugins/iceberg/tableformats_iceberg/manifests/entries.py:read_entries_of_manifests: 0 -> 1 (number 2)": (
        "a length that the list does not say is estimated, for memory alone"
    ),
    **{
        f"plugins/delta/tableformats_delta/log/listing.py:LogListing._covering: {change}": (
            "counts of files are compared with each other"
        )
        for change in ("0 -> 1", "1 -> 2 (number 5)")
    },
    "plugins/delta/tableformats_delta/log/listing.py:LogListing.segment: version < self.oldest"
    " -> (version <= self.oldest)": "no commit is missing of the oldest version",
    "plugins/delta/tableformats_delta/snapshot/table_state.py:_read_all: 2 * commit.file.size"
    " -> (2 + commit.file.size)": "how much memory a cached commit counts for decides the time alone",
    "plugins/delta/tableformats_delta/snapshot/table_state.py:_read_all: 2 -> 3": (
        "how much memory a cached commit counts for decides the time alone"
    ),
    **{
        f"plugins/delta/tableformats_delta/log/commit_buffer.py:CommitBuffer.reserve: {change}": (
            "memory beyond what is needed decides the time alone"
        )
        for change in (
            "first + size + 2 > len(self._bytes) -> (first + size + 2 >= len(self._bytes))",
            "2 -> 3",
            "2 -> 3 (number 2)",
            "2 * len(self._bytes) -> (2 + len(self._bytes))",
            "2 -> 3 (number 3)",
        )
    },
    **{
        f"plugins/iceberg/tableformats_iceberg/avro/container.py:_cuts: {change}": (
            "into which parts a file is cut decides the time alone"
        )
        for change in (
            "(end - begin) // _PART_BYTES -> ((end - begin) * _PART_BYTES)",
            "end - begin -> (end + begin)",
            "len(cuts) < parts - 1 -> (len(cuts) <= parts - 1)",
            "parts - 1 -> (parts + 1)",
            "size < 0 -> (size <= 0)",
            "0 -> 1",
            "offset > end -> (offset >= end)",
            "(end - begin) * (len(cuts) + 1) // parts -> ((end - begin) * (len(cuts) + 1) * parts)",
            "(end - begin) * (len(cuts) + 1) -> (end - begin + (len(cuts) + 1))",
            "end - begin -> (end + begin) (number 2)",
            "len(cuts) + 1 -> (len(cuts) - 1)",
            "1 -> 2 (number 2)",
        )
    },
    **{
        f"plugins/iceberg/tableformats_iceberg/deletes/delete_index.py:_rows_of: {change}": (
            "whether rows are sliced or copied decides the time alone, and NumPy takes any negative length for"
            " the unknown one"
        )
        for change in (
            "1 -> 2",
            "2 * len(rows) < len(chosen) or _RUN * len(ends) > len(rows)"
            " -> ((2 * len(rows) < len(chosen)) and (_RUN * len(ends) > len(rows)))",
            "2 * len(rows) < len(chosen) -> (2 * len(rows) <= len(chosen))",
            "2 * len(rows) -> (2 + len(rows))",
            "2 -> 3 (number 2)",
            "_RUN * len(ends) -> (_RUN + len(ends))",
        )
    },
    **{
        f"plugins/delta/tableformats_delta/verification/plain_statistics.py:_merged: {change}": (
            "what Arrow does not read as one type is looked at text by text"
        )
        for change in (
            "known in (int, float) and type(value) in (int, float)"
            " -> ((known in (int, float)) or (type(value) in (int, float)))",
        )
    },
    "plugins/iceberg/tableformats_iceberg/deletes/delete_index.py:DeleteIndex.pairs: "
    "np.diff(named[0], prepend=-1) > 0 -> (np.diff(named[0], prepend=-1) >= 0)": (
        "the partition of a file is compared once, or several times"
    ),
    "tableformats/expressions/functions/temporal/datetimes.py:_from_count.instant: 80 -> 81": (
        "no decimal has so many digits"
    ),
    "tableformats/expressions/functions/temporal/datetimes.py:_make_timestamp.made: 40 -> 41": (
        "no decimal has so many digits"
    ),
    **{
        f"tableformats/expressions/functions/temporal/datetimes.py:_timestamp_diff.apart: {change}": (
            "the opposite of 0 is 0"
        )
        for change in ("end >= start -> (end > start)", "months >= 0 -> (months > 0)", "0 -> 1 (number 6)")
    },
    **{
        f"tableformats/engines/arrow/values/casts.py:{change}": reason
        for change, reason in {
            "cast_values: 20 -> 21": "no integer has so many digits",
            "_is_small_integer: 32 -> 33": "no integer has so many bits",
        }.items()
    },
    "tableformats/expressions/functions/casting.py:_by_arrow: INTEGER_RANGES[name_of(target)][1] >= "
    "INTEGER_RANGES[name_of(source)][1]"
    " -> (INTEGER_RANGES[name_of(target)][1] > INTEGER_RANGES[name_of(source)][1])": "a cast to the same type is none",
    **{
        f"tableformats/expressions/functions/casting.py:_by_arrow: {change}": "the values are the same, made one by one"
        for change in (
            "target.precision - target.scale >= 19 -> (target.precision - target.scale > 19)",
            "19 -> 20",
            "is_integer(target) or is_floating(target) -> ((is_integer(target)) and (is_floating(target)))",
            "source == STRING -> (source != STRING)",
            "target.precision - target.scale >= source.precision - source.scale"
            " -> (target.precision - target.scale > source.precision - source.scale)",
            "source.precision - source.scale -> (source.precision + source.scale)",
            "target.scale >= source.scale -> (target.scale > source.scale)",
        )
    },
    **{
        f"tableformats/expressions/legacy_text.py:fit_text: {change}": "the side of another text is said again"
        for change in ("1 -> 2", "1 -> 2 (number 2)")
    },
    **{
        f"tableformats/expressions/parse/lexing.py:_Lexer._comment_end: {change}": "levels are counted down from 0"
        for change in (
            """edge[0] == "/*" -> (edge[0] != '/*')""",
            """1 if edge[0] == "/*" else -1 -> (-1 if edge[0] == '/*' else 1)""",
        )
    },
    "tableformats/expressions/parse/arrow.py:_metadata_pairs: 3 -> 4": "the third pointer is the same",
    **{
        f"tableformats/expressions/functions/temporal/datetimes.py:_seconds_towards_zero: {change}": (
            "there is no part of a second in 0"
        )
        for change in ("micros < 0 -> (micros <= 0)", "0 -> 1")
    },
    "tableformats/expressions/functions/arithmetic.py:bounded: precision <= 38 -> (precision < 38)": (
        "of 38 digits none give way"
    ),
    "tableformats/expressions/functions/arithmetic.py:_operator: 0 -> 1": "both operands have one type",
    **{
        f"tableformats/expressions/functions/arithmetic.py:_power.power: {change}": (
            "a greater number has no power that a double holds"
        )
        for change in ("abs(base) < 2**53 -> (abs(base) <= 2 ** 53)", "2 -> 3", "53 -> 54")
    },
    "tableformats/expressions/functions/arithmetic.py:_rounded_number: int(exact) - low -> (int(exact) + low)": (
        "twice the least number is a multiple of how many there are"
    ),
    "tableformats/expressions/functions/arithmetic.py:_decimal_operator.compute: whole - least -> (whole + least)": (
        "twice the least number is a multiple of 2**64"
    ),
    "tableformats/expressions/functions/arithmetic.py:_decimal_value: rest < 0 -> (rest <= 0)": (
        "pmod leaves a rest of 0 as it is"
    ),
    "tableformats/expressions/casts.py:_to_integer: whole - least -> (whole + least)": (
        "twice the least number is a multiple of how many there are"
    ),
    "tableformats/expressions/casts.py:_to_integer: 80 -> 81": "both powers are beyond all integers",
    "tableformats/expressions/rewrites.py:_in: len(found) > 1 -> (len(found) >= 1)": (
        "an OR of one condition is that condition"
    ),
    "tableformats/expressions/rewrites.py:_cast_steps: INTEGER_RANGES[wide.name][1] > INTEGER_RANGES[narrow.name][1]"
    " -> (INTEGER_RANGES[wide.name][1] >= INTEGER_RANGES[narrow.name][1])": "a cast to the same type is none",
    **{
        f"tableformats/expressions/functions/nested.py:_element: {change}": "the position 0 has no element in any case"
        for change in ("position < 0 -> (position <= 0)", "0 -> 1")
    },
    "tableformats/expressions/functions/text.py:_bind_split: 0 -> 1 (number 2)": (
        "no one asks for the id of an element that is computed"
    ),
    "tableformats/expressions/functions/text.py:_is_ascii: 0 -> 1": "without texts both ways give the same nothing",
    "tableformats/expressions/functions/text.py:_pad.padded: 1 -> 2": "what is too much of the filler is cut off",
    **{
        f"plugins/delta/tableformats_delta/checkpoints/checkpoint_files.py:CheckpointFile._open: {change}": (
            "how pages are asked for, and whether texts are decoded as dictionaries, decides the time alone"
        )
        for change in (
            "[*values.values()] or None -> (([*values.values()]) and (None))",
            "not is_local -> (is_local)",
            "_BUFFER_BYTES if is_local else 0 -> (0 if is_local else _BUFFER_BYTES)",
        )
    },
    "plugins/delta/tableformats_delta/changes/change_batches.py:DeltaChanges._group_key: rows.change_type is None"
    " -> (rows.change_type is not None)": "keys are compared with each other",
    **{
        f"plugins/delta/tableformats_delta/snapshot/delta_snapshot.py:DeltaSnapshot.{change}": (
            "what is read ahead and for how much memory a cached list counts decide the time alone"
        )
        for change in (
            "parts: [] if request.read_elsewhere else files -> (files if request.read_elsewhere else [])",
            "parts: len(needed) < thread_count() -> (len(needed) <= thread_count())",
            "checkpoint_files: 1024 * len(files) -> (1024 + len(files))",
            "checkpoint_files: 1024 -> 1025",
            "_read_group: False -> True",
        )
    },
    **{
        f"plugins/iceberg/tableformats_iceberg/write/commit/transaction.py:IcebergTransaction.turn: {change}": (
            "whether writers of one process wait for each other, and store manifests early, decides the time alone"
        )
        for change in (
            "self._staged.current is None -> (self._staged.current is not None)",
            "change.metadata is None -> (change.metadata is not None)",
        )
    },
    "plugins/delta/tableformats_delta/log/file_keys.py:_are_canonical: True -> False": (
        "no path is one that is spelled otherwise"
    ),
    **{
        f"plugins/iceberg/tableformats_iceberg/write/encode/avro_encoding.py:{change}": (
            "all bits above those of an integer are its sign, and no shift by sevens is between 63 and 70"
        )
        for change in ("varint: 63 -> 64", "longs: 63 -> 64", "longs: 64 -> 65")
    },
    "plugins/iceberg/tableformats_iceberg/write/commit/removed_files.py:count_removed: 144 -> 145": (
        "one version has both members, and the others have neither"
    ),
    "plugins/iceberg/tableformats_iceberg/write/encode/carried_entries.py:_carried: 0 -> 1 (number 5)": (
        "an id that is NULL has no value"
    ),
    "plugins/iceberg/tableformats_iceberg/write/encode/manifest_lists.py:_encoded: 0 -> 1 (number 2)": (
        "a number that is NULL has no value"
    ),
    "plugins/iceberg/tableformats_iceberg/write/encode/manifest_lists.py:_booleans: 1 -> 2": (
        "nobody reads an offset behind the last one"
    ),
    "plugins/iceberg/tableformats_iceberg/deletes/delete_index.py:DeleteIndex.attached: "
    "self.files is None or not len(data) -> ((self.files is None) and (not len(data)))": "no pairs use no deletes",
    "plugins/iceberg/tableformats_iceberg/deletes/delete_index.py:DeleteIndex.pairs: 1 -> 2": (
        "the first row is greater than each number below 0"
    ),
    "plugins/iceberg/tableformats_iceberg/deletes/delete_index.py:DeleteIndex._partition_codes: 0 -> 1": (
        "codes are compared with each other"
    ),
    **{
        f"plugins/iceberg/tableformats_iceberg/deletes/delete_index.py:{change}": reason
        for change, reason in {
            "_taken: stop > start -> (stop >= start)": "no rows of a chunk are none of the rows",
            "_taken: False -> True": "the rows are within the chunk",
            "_in_order: 0 -> 1": "rows of files and of deletes are as many",
        }.items()
    },
    "plugins/iceberg/tableformats_iceberg/deletes/delete_index.py:_match: 1 -> 2": (
        "partitions are apart by any number of ranks that is great enough"
    ),
    "plugins/delta/tableformats_delta/maintenance/checksum_writer.py:write_checksum: False -> True (number 4)": (
        "a file that is sure to be there after a crash takes more time alone"
    ),
    **{
        f"plugins/iceberg/tableformats_iceberg/write/{change}": reason
        for change, reason in {
            "encode/added_entries.py:_counts: 0 -> 1": "a count that is NULL has no value",
            "encode/avro_encoding.py:lengthed: 0 -> 1": "a text that is NULL has no length",
            "commit/parquet_properties.py:_level: 0 -> 1": "the level is there, so that there is no need of another",
            "commit/parquet_properties.py:_switched: True -> False": "the switch is there",
            "encode/metrics.py:_successors: data[last[filled]] <= most -> (data[last[filled]] < most)": (
                "the bounds are the same, made one by one"
            ),
            "encode/values.py:_big_endian: 0 -> 1 (number 3)": "what stands for NULL is masked",
            "encode/values.py:_numbers: 0 -> 1": "what stands for NULL is masked",
            "encode/values.py:_fixed_rows: 1 -> 2": "Arrow looks at no offset behind the last row",
            "schema_change.py:SchemaChange._check_promotion: old.precision <= new.precision"
            " -> (old.precision < new.precision)": "decimals of the same digits are the same type, which is no change",
            "encode/values.py:_big_endian: 1 -> 2 (number 2)": "NumPy takes any negative length for the unknown one",
            "commit/snapshot_producer.py:SnapshotProducer._snapshot: 0 -> 1": "version 1 writes no sequence numbers",
            "commit/snapshot_producer.py:SnapshotProducer._snapshot: 0 -> 1 (number 2)": (
                "version 3 has the number, and the others do not use it"
            ),
            "commit/parquet_properties.py:_filters: 1 -> 2": "the number is there",
            "encode/avro_files.py:encoded_blocks: first + _BLOCK_BYTES -> (first - _BLOCK_BYTES)": (
                "marks up to the first record begin the first block"
            ),
        }.items()
    },
}
"""{name of a change: why every answer, error and limit is the same}."""
EQUIVALENT |= IN_CORE
