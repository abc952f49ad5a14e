"""Random mutants of the Delta plugin that nobody can notice: a part of :data:`.unnoticed.EQUIVALENT`."""

from __future__ import annotations

_CHANGES: dict[str, str] = {
    "checkpoints/row_group_reader.py:_GroupStatistics.parsed: False -> True": "each place is one of the piece",
    **{
        f"maintenance/replay.py:{change}": ("how much is read at once, and ahead, decides the time alone")
        for change in (
            "Replay._commits: _RUN_BYTES // _RUN_FILES -> (_RUN_BYTES * _RUN_FILES)",
            "Replay._commits: 1 -> 2",
            "Replay._of_parquet: 2 -> 3",
            "_ahead: ahead(items, count) if size > _FEW_BYTES else items"
            " -> (items if size > _FEW_BYTES else ahead(items, count))",
        )
    },
    **{
        f"maintenance/after_commit.py:{change}": ("how much memory what is cached counts for decides the time alone")
        for change in (
            "keep_up: 2 * file.size -> (2 + file.size)",
            "keep_up: 2 -> 3",
            "keep_up: 4096 -> 4097",
            "_checkpoint: 64 -> 65",
        )
    },
    **{
        place: "a cache of one byte keeps nothing"
        for place in (
            "maintenance/cleanup.py:_unused_sidecars: 0 -> 1 (number 3)",
            "maintenance/kept_files.py:_of_checkpoints: 0 -> 1",
            "verification/checkpoint_contents.py:CheckpointContents.read: 0 -> 1",
        )
    },
    **{
        f"schema/generated_columns.py:{change}": "no part of a time is below 0"
        for change in (
            "_Parts.ranges: 1 -> 2",
            "_Formatted.ranges: 1 -> 2",
            "_Formatted.ranges: 1 -> 2 (number 2)",
        )
    },
    **{
        f"schema/generated_columns.py:{change}": "what is not known has no bounds"
        for change in ("_micros: 0 -> 1", "_civil: 1 -> 2 (number 4)")
    },
    **{
        f"schema/{change}": reason
        for change, reason in {
            "partition_values.py:_texts_of: 0 -> 1": "what stands in the place of a key that is NULL names nothing",
            "partition_values.py:_texts_of: 1 -> 2": "whether texts are taken as they are decides the time alone",
            "schema_string.py:_with_all_ids: 0 -> 1": "a mapped schema without ids has no fields",
        }.items()
    },
    **{
        f"write/transaction.py:DeltaTransaction.turn: {change}": "when writers take turns decides the time alone"
        for change in (
            "64 -> 65",
            "local_turn(self._storage.join(LOG_DIRECTORY)) if is_shared else nullcontext()"
            " -> (nullcontext() if is_shared else local_turn(self._storage.join(LOG_DIRECTORY)))",
        )
    },
    **{
        f"snapshot/table_state.py:_runs: {change}": "how many commits are read at once decides the time alone"
        for change in (
            "\"opened\" if are_local else \"requested\" -> ('requested' if are_local else 'opened')",
            '_RUN_BYTES // _RUN_FILES["opened" if are_local else "requested"]'
            " -> (_RUN_BYTES * _RUN_FILES['opened' if are_local else 'requested'])",
        )
    },
    **{
        f"table.py:DeltaTable.newest_after: {change}": "from which version the log is followed decides the time alone"
        for change in (
            "older is None -> (older is not None)",
            "self._head if older is None else older -> (older if older is None else self._head)",
        )
    },
    "snapshot/table_state.py:_commits: len(segment.commits) - len(older.commits)"
    " -> (len(segment.commits) + len(older.commits))": "what an older state has is found by its files, too",
    "table.py:DeltaTable._counted: 0 -> 1": "to list the log again takes more time alone",
    "json/columns.py:JsonTable.__init__: 0 -> 1": "only decimals have a scale that is looked at",
    **{
        f"log/commit_lines.py:_Actions.{change}": reason
        for change, reason in {
            "of: start < stop -> (start <= stop)": "no rows of all are no rows",
            "_map: rows * len(codes) + codes -> (rows * len(codes) - codes)": "each pair has a number still",
            "_map: np.diff(offsets) > 1 -> (np.diff(offsets) >= 1)": "of one name none is another",
            "_ends_its_line: 0 -> 1": "an action that is not sound is not used, whatever is behind it",
            "_ends_its_line: ends + 1 -> (ends - 1)": "to read a commit action by action takes more time alone",
        }.items()
    },
    **{
        f"log/commit_buffer.py:CommitBuffer.{change}": "how much memory an empty buffer has decides the time alone"
        for change in ("__init__: 1 -> 2", "clear: 1 -> 2")
    },
    **{
        f"log/commits.py:_of_lines: {change}": "to read a commit action by action takes more time alone"
        for change in (
            "offset and text.startswith(BYTE_ORDER_MARK) -> ((offset) or (text.startswith(BYTE_ORDER_MARK)))",
            "lines.adds.num_rows + lines.removes.num_rows -> (lines.adds.num_rows - lines.removes.num_rows)",
        )
    },
    "log/next_commits.py:keep_own_checkpoint: 256 -> 257": "how much memory is counted for it decides the time alone",
    "log/commits.py:_of_lines: 1 -> 2": "any number but 0 says that there is an action",
    "write/texts.py:_json_bound: False -> True": "a letter that is escaped in JSON is that letter",
    "write/transaction.py:DeltaTransaction.after_commit: 0 -> 1": "no line of a commit of one's own is in an error",
    **{
        f"verification/{change}": "what is looked at one by one decides the time alone"
        for change in (
            "file_rules.py:_are_plainly_right: 2 -> 3",
            "file_rules.py:_are_plainly_right: 63 -> 64",
            "file_rules.py:_are_plainly_right: least <= greatest -> (least < greatest)",
            "plain_statistics.py:_read: 0 -> 1",
            "plain_statistics.py:_read: 1 -> 2",
            "checkpoint_contents.py:CheckpointContents.read: 0 -> 1 (number 2)",
            "log_rules.py:checkpoint_violations: len(keys[kind]) < len(every) -> (len(keys[kind]) <= len(every))",
        )
    },
    **{
        f"checkpoints/row_group_reader.py:{change}": "what is read ahead takes time alone"
        for change in (
            "ForwardCursor.__init__: ahead(batches, _PIECES_AHEAD) if decode_ahead else batches"
            " -> (batches if decode_ahead else ahead(batches, _PIECES_AHEAD))",
            "RowGroupReader.batches: ahead(batches, 1) if self._decode_ahead else batches"
            " -> (batches if self._decode_ahead else ahead(batches, 1))",
            "RowGroupReader.batches: 1 -> 2",
            "_GroupStatistics._pieces: 0 -> 1",
        )
    },
}
"""{name of a change below the plugin's folder: why every answer, error and limit is the same}."""
IN_DELTA = {f"plugins/delta/tableformats_delta/{change}": reason for change, reason in _CHANGES.items()}
