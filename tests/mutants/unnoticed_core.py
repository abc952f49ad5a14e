"""Random mutants of the package ``tableformats`` that nobody can notice: more of :data:`EQUIVALENT`."""

from __future__ import annotations

IN_CORE: dict[str, str] = {
    **{
        f"tableformats/engines/arrow/writing/data_files.py:FileWriter.{change}": (
            "on how many threads files are made, and one byte of a buffer, decide the time alone"
        )
        for change in (
            "__init__: 0 -> 1",
            "__init__: self._bytes_a_file >= self._buffer_bytes // 2 -> (self._bytes_a_file > self._buffer_bytes // 2)",
            "__init__: self._buffer_bytes // 2 -> (self._buffer_bytes * 2)",
            "__init__: 2 -> 3",
            "__init__: scheme_of(self._root) is None -> (scheme_of(self._root) is not None)",
            "__init__: _LOCAL_WRITES if is_local else storage.store_of(self._root).concurrency.large"
            " -> (storage.store_of(self._root).concurrency.large if is_local else _LOCAL_WRITES)",
            "_make_room: self._pending_bytes > self._buffer_bytes -> (self._pending_bytes >= self._buffer_bytes)",
            "_make_room: self._buffer_bytes + self._buffer_bytes // _CHUNKS"
            " -> (self._buffer_bytes - self._buffer_bytes // _CHUNKS)",
            "_write: True -> False",
        )
    },
    "tableformats/engines/arrow/writing/data_files.py:FileWriter._in_chunks: 1 -> 2 (number 2)": "rows have bytes",
    "tableformats/engines/arrow/writing/file_statistics.py:_float_bounds: 0 -> 1 (number 3)": (
        "there are both bounds or none"
    ),
    "tableformats/engines/arrow/writing/parquet_files.py:ParquetLayout._row_groups: 1 -> 2": (
        "a single row is a row group in any case"
    ),
    "tableformats/engines/arrow/writing/parquet_files.py:_filter: 32 -> 33": "it is rounded down to a power of two",
    "tableformats/engines/arrow/writing/rows.py:_cast: not types.is_nested(kind) -> (types.is_nested(kind))": (
        "a cast to the same type is none, and members are named when they are stored"
    ),
    "tableformats/engines/arrow/writing/rows.py:_cast: 200 -> 201": "a long text of Arrow is cut somewhere",
    **{
        f"tableformats/engines/arrow/writing/rows.py:_kind: {change}": "names of kinds are compared with each other"
        for change in (
            '"timestamp" if kind.tz is not None else "timestamp_ntz"'
            " -> ('timestamp_ntz' if kind.tz is not None else 'timestamp')",
            "kind.tz is not None -> (kind.tz is None)",
        )
    },
    "tableformats/engines/arrow/writing/stored_columns.py:stored_table: True -> False": (
        "a file takes names and ids of members from its schema"
    ),
    **{
        f"tableformats/engines/arrow/writing/stored_columns.py:_zero: {change}": "nobody sees the value behind a NULL"
        for change in ("0 -> 1", "0 -> 1 (number 2)", "False -> True", "0 -> 1 (number 3)")
    },
    **{
        f"tableformats/io/local_writes.py:{change}": "how often a file is brought to the disk decides the time alone"
        for change in (
            "creating_local: 1 -> 2",
            "_SyncedFile.__init__: 0 -> 1",
            "_SyncedFile.write: self._unsynced >= _SYNCED_BYTES and all(sync.done() for sync in self._syncs)"
            " -> ((self._unsynced >= _SYNCED_BYTES) or (all((sync.done() for sync in self._syncs))))",
            "_SyncedFile._begin_sync: 0 -> 1",
        )
    },
    "tableformats/io/local_writes.py:_new_file: 0 -> 1": "O_WRONLY, which is set, is 1",
    **{
        f"tableformats/io/compression.py:{change}": "how, and in how many steps, it is done decides the time alone"
        for change in (
            "_zstandard: 1 -> 2",
            "_zstandard: 20 -> 21",
            "_zstandard: limit + 1 - total -> (limit + 1 + total)",
            "_zstandard: 1 -> 2 (number 2)",
            "_deflate: 1 -> 2",
            "_snappy: True -> False",
            "compress_avro: 2 -> 3",
            "compress_avro: True -> False",
            "compress_avro: True -> False (number 2)",
        )
    },
    "tableformats/io/paths.py:authority_of: 1 -> 2": "what is behind the first slash does not count",
    "tableformats/io/compression.py:libdeflate: 0 -> 1": "a function has an address",
    "tableformats/io/local_reads.py:local_stats: isinstance(found, FileNotFoundError) and directory not in directories"
    " -> ((isinstance(found, FileNotFoundError)) or (directory not in directories))": (
        "a directory that is there is looked at once more, which takes time alone"
    ),
    "tableformats/io/path_policy.py:PathPolicy.quick_check: len(self._moves[0][0]) < len(normalize(old))"
    " -> (len(self._moves[0][0]) <= len(normalize(old)))": "a prefix within another is two letters longer",
    "tableformats/io/orc_tail.py:OrcTail.__init__: 0 -> 1 (number 4)": "no bytes are the same wherever they are",
    "tableformats/io/orc_tail.py:OrcTail.column_problem: 0 -> 1": "neither type is one of times",
    **{
        f"tableformats/io/storage.py:Storage.{change}": reason
        for change, reason in {
            "store_of: 3 -> 4": "the first three parts are the same",
            "store_of: 3 -> 4 (number 2)": "the first three parts are the same",
            "_get: 0 -> 1 (number 2)": "a length that is not given is not below 0",
            "open_immutable: 0 -> 1": "a file of a single byte is read by one request in any case",
            "reading_ahead: 1 -> 2": "how many bytes a listing has is not known",
        }.items()
    },
    **{
        f"tableformats/io/stores/{change}": reason
        for change, reason in {
            "addresses.py:address_with_credentials: 1 -> 2": "the URL of a host has one such mark",
            """answers.py:prepare: "asyncio" not in sys.modules -> ('asyncio' in sys.modules)""": (
                "when it is imported decides the time alone"
            ),
            "remote_file.py:_pieces: stop <= last -> (stop < last)": "a range within another adds nothing",
            "remote_file.py:RemoteFile._piece_with: first < stop -> (first <= stop)": "it adds no bytes",
            "renewing.py:RenewedOptions._take: 0 -> 1 (number 2)": "a fifth of a millisecond",
        }.items()
    },
    **{
        f"tableformats/io/parquet/bloom_filters.py:xxh64: 8 -> 9{number}": "bits above the 64 of a number are cut off"
        for number in (" (number 3)", " (number 5)")
    },
    "tableformats/io/local_reads.py:files_below: False -> True (number 3)": "what is a file itself is no link",
    "tableformats/io/parquet/bloom_filters.py:BloomFilter.may_hold: 4 -> 5": "the bits above those are not looked at",
    **{
        f"tableformats/engines/arrow/files/page_reads.py:{change}": (
            "how many rows a window has, and whether pages are looked for, decide time and memory alone"
        )
        for change in (
            "PageReader._windows: last + page.rows if last + page.rows - start < 2 * window else start + window"
            " -> (start + window if last + page.rows - start < 2 * window else last + page.rows)",
            "PageReader._windows: last + page.rows - start < 2 * window -> (last + page.rows - start <= 2 * window)",
            "PageReader._windows: last + page.rows - start -> (last + page.rows + start)",
            "PageReader._windows: last + page.rows -> (last - page.rows)",
            "PageReader._windows: 2 * window -> (2 + window)",
            "PageReader._windows: 2 -> 3",
            "PageReader._window_rows: 1 -> 2",
            "PageReader._window_rows: 1 -> 2 (number 2)",
            "_are_everywhere: _PARTS + 1 -> (_PARTS - 1)",
            "_are_everywhere: 1 -> 2",
            "_are_everywhere: hold_rows(edges, runs).mean() > _MOST_READ"
            " -> (hold_rows(edges, runs).mean() >= _MOST_READ)",
        )
    },
    "tableformats/io/parquet/pages.py:PageFooter.column: 0 -> 1": "no page begins within the mark of the file",
    "tableformats/io/parquet/pages.py:PageFooter.column: 0 -> 1 (number 4)": (
        "whether a store is asked for a filter of unknown size decides the time alone"
    ),
    "tableformats/io/parquet/pages.py:_checked: max(offsets.max(), sizes.max()) > stop"
    " -> (max(offsets.max(), sizes.max()) >= stop)": "such a page ends behind its chunk, which is refused next",
    "tableformats/io/parquet/page_files.py:file_of_pages: 0 -> 1": "nobody reads where a chunk's metadata are",
    "tableformats/io/parquet/pages.py:_items: 0 -> 1": "a list that is missing has no type",
    **{
        f"tableformats/table/changes_snapshot.py:ChangesSnapshot._matching: 0 -> 1 (number {number})": (
            "a task has a number and a part of a file: this one has no others beside it, and reads the file to its end"
        )
        for number in (2, 5, 6)
    },
    "tableformats/cache/directory.py:CacheDirectory._evict: now - status.st_mtime > _ABANDONED_SECONDS"
    " -> (now - status.st_mtime >= _ABANDONED_SECONDS)": "no file was left for exactly so long",
    "tableformats/inspect/pictures/plots.py:Plots.clustering: 2 -> 3": "the end of a step is a power of two",
    **{
        f"tableformats/io/parquet/{change}": "a field that is absent has no kind, and 1 is none that is asked for"
        for change in (
            "fixed_width.py:_stored_unit: 0 -> 1",
            "fixed_width.py:_stored_unit: 0 -> 1 (number 2)",
            "pages.py:_items: 0 -> 1",
            "dictionaries.py:_number: 0 -> 1",
        )
    },
    "tableformats/io/storage.py:Storage.reading_ahead: 0 -> 1": "a file of one byte is asked for by its end",
    "tableformats/catalog/swaps/aws_answers.py:attempted: 0 -> 1": "no answer has a status as small",
    "tableformats/runtime/turns.py:_lock_file: 32 -> 33": "any name of a lock will do that all processes have",
    "tableformats/runtime/boundary.py:boundary.__exit__: 300 -> 301": "a long text of an exception is cut somewhere",
    "tableformats/table/upkeep_verbs.py:_row_violations: 1 -> 2": "a further column is read, and not looked at",
    "tableformats/write/commit_loop.py:keep_up: 2 -> 3": "a warning names one of our own lines, whichever it is",
    "tableformats/table/changes_snapshot.py:ChangesSnapshot.__init__: 2 -> 3": "ids of partitionings need only differ",
    **{
        f"tableformats/runtime/io_threads.py:{kind}.join: 1 -> 2": "when it looks again decides the time alone"
        for kind in ("_Pool", "Unfinished")
    },
    "tableformats/runtime/io_threads.py:ReadAhead.take: 0 -> 1": "an answer that is not there has no byte",
    **{
        f"tableformats/pruning/{change}": reason
        for change, reason in {
            'column_ranges.py:Range.outcomes: matching.domain == "float64" and self.may_nan.any()'
            " -> ((matching.domain == 'float64') or (self.may_nan.any()))": "columns of other types have no NaN",
            "combined_codes.py:_reduced: 1 -> 2": "in the last place but one is no gap",
            "computed_conditions.py:_distinct_tuples: 1 -> 2": "of constants the same is found twice",
            "literal_codes.py:codes_matching_nan: 1 -> 2 (number 2)": "no value is beyond NaN",
            "relations.py:_has_numbers: 1 - (_is_nan(range_.lower) & _is_nan(range_.upper))"
            " -> (1 + (_is_nan(range_.lower) & _is_nan(range_.upper)))": "the last bit alone is looked at",
            "value_ranges.py:to_mask: 1 - _flags(to_numpy(pc.fill_null(lower, FALSE)))"
            " -> (1 + _flags(to_numpy(pc.fill_null(lower, FALSE))))": "the last bit alone is looked at",
            "replaced_text.py:widened_extremes: 0x7F -> 128": "no character of UTF-8 has 128 for its greatest byte",
            "replaced_text.py:_greatest_byte: 0 -> 1": "no byte of ASCII is looked for",
            "replaced_text.py:_greatest_byte: 0 -> 1 (number 3)": "no byte of ASCII is looked for",
            "leaves.py:_combined: 0 -> 1": "all members have one column, and are two at least",
            "compiled_predicate.py:CompiledPredicate.matches_by_nan_alone: 4 * np.count_nonzero(kept)"
            " -> (4 + np.count_nonzero(kept))": "whether the kept files are taken out first decides the time alone",
            "compiled_predicate.py:CompiledPredicate.matches_by_nan_alone: kept & (ranges[i].may_nan == NAN_UNCOUNTED)"
            " -> (kept | (ranges[i].may_nan == NAN_UNCOUNTED))": "what follows finds no such file either, in more time",
            "compiled_predicate.py:CompiledPredicate.matches_by_nan_alone: 4 -> 5": (
                "whether the kept files are taken out first decides the time alone"
            ),
        }.items()
    },
    "tableformats/cli/writing.py:_columns: 0 -> 1": "fields get their ids afterwards",
    **{
        f"tableformats/cli/demo.py:{change}": reason
        for change, reason in {
            "_write_delta: 0 -> 1": "the first appends have one schema",
            "_write_iceberg: 0 -> 1": "the first appends have one schema",
            "expected_rows: 0 -> 1": "neither amount is above 40",
        }.items()
    },
    "tableformats/engines/arrow/counting.py:count: live >= 0 -> (live > 0)": "a file without rows adds none",
    "tableformats/cli/output.py:_json_text: False -> True (number 2)": "numbers that JSON lacks are texts by then",
    **{
        f"tableformats/engines/arrow/values/calendars.py:_numbers: {change}": reason
        for change, reason in {
            "0 -> 1": "what stands for NULL is not looked at",
            "False -> True": "a copy has the same numbers",
        }.items()
    },
    **{
        f"tableformats/engines/arrow/statistics_checks.py:check_files: {change}": (
            "how many files are looked at together decides the time alone"
        )
        for change in (
            "is_local or deep -> ((is_local) and (deep))",
            "thread_count() if is_local or deep else _STORE_THREADS"
            " -> (_STORE_THREADS if is_local or deep else thread_count())",
        )
    },
    "tableformats/engines/arrow/counting.py:_add_unknown: total >= limit -> (total > limit)": (
        "what is beyond the limit is cut off"
    ),
    "tableformats/engines/arrow/deletes.py:DeleteLoader._field: 1 -> 2": "neither number is the id of a column",
    **{
        f"tableformats/engines/arrow/key_sets.py:_is_integer: {change}": "other keys are matched in more time"
        for change in ("32 -> 33", "64 -> 65")
    },
    **{
        f"tableformats/cli/layout.py:{change}": "what is as wide as its place is left as it is in both ways"
        for change in (
            "column_lines: _total(widths) > width -> (_total(widths) >= width)",
            "column_lines: max(size) > own -> (max(size) >= own)",
            "_shortened_paths: size <= width -> (size < width)",
        )
    },
    **{
        f"tableformats/cli/demo.py:{change}": "no row of the demo has such an amount"
        for change in (
            "expected_rows: (row[\"amount\"] or 0) > 40 -> ((row['amount'] or 0) >= 40)",
            "expected_rows: 40 -> 41",
            "_by_deltalake: pc.field(\"amount\") > 40 -> (pc.field('amount') >= 40)",
            "_by_deltalake: 40 -> 41",
        )
    },
    "tableformats/cli/layout.py:_shortened_paths: 0 -> 1": "where none is wide, none is cut",
    **{
        f"tableformats/engines/arrow/key_sets.py:_integers: {change}": "there are no NULLs, and values are read alone"
        for change in ("False -> True", "False -> True (number 2)")
    },
    **{
        f"tableformats/engines/arrow/key_sets.py:IntegerSet.__init__: {change}": (
            "how many slots there are decides the time alone"
        )
        for change in (
            "64 -> 65",
            "1 -> 2",
            "1 -> 2 (number 2)",
        )
    },
    "tableformats/engines/arrow/metadata_columns.py:MetadataReader.__init__: 1 -> 2": (
        "columns that are found by name have any negative ids"
    ),
    "tableformats/engines/arrow/files/column_tree.py:file_tree.grow: depth > limits.nesting"
    " -> (depth >= limits.nesting)": "what is within the limit passes its check, too",
    "tableformats/engines/arrow/files/page_reads.py:PageReader._chunks: not leaves or num_rows < _FEWEST_ROWS or"
    " not self._is_worth_request(group, new_leaves) -> ((not leaves) and (num_rows < _FEWEST_ROWS) and"
    " (not self._is_worth_request(group, new_leaves)))": "whether pages are looked for decides the time alone",
    "tableformats/engines/arrow/files/page_reads.py:PageReader._chunks: 0 -> 1": (
        "whether a column of one page is looked at again decides the time alone"
    ),
    "tableformats/engines/arrow/files/page_reads.py:PageReader._is_worth_request: size >= FEWEST_REMOTE_BYTES"
    " -> (size > FEWEST_REMOTE_BYTES)": "whether a request pays decides the time alone",
    "tableformats/engines/arrow/files/parquet.py:ParquetFile.part_rows: part.weight > _MOST_BUFFERED"
    " -> (part.weight >= _MOST_BUFFERED)": "in which pieces just so many bytes are read decides the memory alone",
    "tableformats/engines/polars/predicates.py:_joined: len(parts) > 1 -> (len(parts) >= 1)": (
        "AND or OR of one condition is that condition"
    ),
    **{
        f"tableformats/engines/arrow/files/sought_values.py:{change}": "whether it is read decides the time alone"
        for change in (
            "_is_worth_request: chunks.metadata.row_group(group).total_byte_size >= FEWEST_REMOTE_BYTES"
            " -> (chunks.metadata.row_group(group).total_byte_size > FEWEST_REMOTE_BYTES)",
            "_is_out_of_dictionary: place[1] > _MOST_DICTIONARY -> (place[1] >= _MOST_DICTIONARY)",
        )
    },
    "tableformats/engines/arrow/file_rows.py:FileRows._live: 0 -> 1": (
        "whether a deleted row is left out of what is copied, or dropped afterwards, decides the time alone"
    ),
    "tableformats/engines/arrow/files/parquet.py:ParquetFile._batch_rows: 0 -> 1": "one row makes one batch",
    **{
        f"tableformats/runtime/streams.py:_Merge.{change}": reason
        for change, reason in {
            "take: first.is_running and not first.is_begun -> ((first.is_running) or (not first.is_begun))": (
                "the first one has begun or is about to, and what has begun is left to its thread"
            ),
            "_run: True -> False": "who closes the stream ends each part that is left",
        }.items()
    },
    "tableformats/engines/arrow/projection.py:Resolver.project: 1 -> 2": "neither number is the id of a column",
    "tableformats/engines/arrow/projection.py:_is_plain: 1 -> 2": "a map has one field of values",
    "tableformats/planning/block_pruning.py:_statistics: batch.stop - batch.start -> (batch.stop + batch.start)": (
        "all rows of a batch are its rows one by one"
    ),
    "tableformats/planning/block_pruning.py:block_ranges: known[f].pack() if block.is_cached else known[f]"
    " -> (known[f] if block.is_cached else known[f].pack())": "how bounds are stored decides the memory alone",
    **{
        f"tableformats/columnar/arrays.py:{change}": reason
        for change, reason in {
            "to_numpy: 7 -> 8": "bits behind the last one are not looked at",
            "text_buffers: 0 -> 1": "no text lies in data that is missing",
            "array_of: limits.min <= min(whole) -> (limits.min < min(whole))": "Arrow makes the same array",
            "array_of: max(whole) <= limits.max -> (max(whole) < limits.max)": "Arrow makes the same array",
        }.items()
    },
    **{
        f"tableformats/columnar/dropped_rows.py:{change}": reason
        for change, reason in {
            "_bytes: 0 -> 1": "no text lies in data that is missing",
            "_Drop.column: False -> True": "codes that are sound stay so",
            "without_rows: len(dropped) > _MOST * len(rows) -> (len(dropped) >= _MOST * len(rows))": (
                "both ways give the same rows"
            ),
        }.items()
    },
    "tableformats/engines/spark/hadoop_paths.py:hadoop_authorities: 3 -> 4": (
        "what follows the third slash is not looked at"
    ),
    "tableformats/planning/block_pruning.py:_pruned: 0 -> 1 (number 3)": "where no files are left, nobody asks of them",
    "tableformats/planning/block_pruning.py:_pruned: masks or {} -> ((masks) and ({}))": (
        "what is not kept is evaluated again"
    ),
    """tableformats/planning/blocks.py:_kind: "record_count" in batch.files.schema.names"""
    """ -> ('record_count' not in batch.files.schema.names)""": "kinds are compared with each other",
    **{
        f"tableformats/planning/cache/block_cache.py:BlockCache.bind_snapshot: {change}": (
            "how much memory what is cached counts for decides the time alone"
        )
        for change in ("256 -> 257", "64 -> 65")
    },
    **{
        f"tableformats/planning/cache/block_cache.py:BlockCache.bind_snapshot: {change}": (
            "there is no entry below more commits than there are, and which keys name the others decides nothing"
        )
        for change in ("1 -> 2", "1 -> 2 (number 2)")
    },
    **{
        f"tableformats/planning/cache/disk_cache.py:_StoredPart.of: {change}": (
            "how much is looked at first decides the time alone"
        )
        for change in ("1 -> 2", "20 -> 21", "1 << 20 -> (1 >> 20)")
    },
    "tableformats/planning/cache/file_columns.py:CachedFiles.copied: 2 -> 3": (
        "whether files are copied decides the memory alone"
    ),
    **{
        f"tableformats/planning/planner.py:_Planner.{change}": reason
        for change, reason in {
            "_read: 2 -> 3": "no part has so many batches",
            "_read: 63 -> 64": "no part has so many batches",
            "_files_of: _FEW_FILES * len(taken) -> (_FEW_FILES + len(taken))": (
                "in how many chunks files are decides the memory alone"
            ),
            "_files_of: 2 * len(rows) -> (2 + len(rows))": "whether files are copied decides the memory alone",
            "_read_ahead: self.storage.is_local or self.reader is not None or self.disk_cache.is_enabled"
            " -> ((self.storage.is_local) and (self.reader is not None) and (self.disk_cache.is_enabled))": (
                "what is read ahead decides the time alone"
            ),
        }.items()
    },
}
