"""Random mutants of what reads Iceberg tables that nobody can notice, with the reason: a part of ``unnoticed``."""

from __future__ import annotations

OF_ICEBERG_READERS: dict[str, str] = {
    **{
        f"plugins/iceberg/tableformats_iceberg/avro/container.py:{change}": reason
        for change, reason in {
            "_decoder: 0 -> 1": "without a column of which records are left out there is no value of it",
            "_decode_at_once: 1 -> 2": "what is not decoded at once is read block by block, in more time",
            "_compiled: 1 -> 2": "any negative number says that a column is of no list",
            "_compiled: 1 -> 2 (number 2)": "any negative number says that no records are left out",
            **dict.fromkeys(
                (
                    "_decode_parts: not cuts -> (cuts)",
                    "_decode_parts: 1 -> 2",
                    "_decode_parts.decoded: start == header.offset -> (start != header.offset)",
                    "_decode_parts.decoded: limits if is_first else share -> (share if is_first else limits)",
                    "_decode_parts.decoded: len(view) - stop if is_first else 0"
                    " -> (0 if is_first else len(view) - stop)",
                    "_decode_parts.decoded: len(view) - stop -> (len(view) + stop)",
                    "_decode_parts.decoded: 0 -> 1",
                ),
                "into which parts a file is cut, and how much room they have, decides the time alone: what does not"
                " fit is read block by block",
            ),
        }.items()
    },
    **{
        f"plugins/iceberg/tableformats_iceberg/deletes/{change}": reason
        for change, reason in {
            "delete_files.py:_group_by_path: False -> True": "there are no NULLs, so that nothing is copied",
            "delete_files.py:_group_by_path: False -> True (number 2)": "there are no NULLs, so that nothing is copied",
            "delete_files.py:_group_by_path: codes[1:] < codes[:-1] -> (codes[1:] <= codes[:-1])": (
                "rows that are in order are put in the order that they have"
            ),
            "delete_index.py:_taken: 0 -> 1 (number 2)": "nothing is taken, wherever it begins",
            "delete_pruning.py:without_disjoint: 0 -> 1": "there are as many rows of files as of deletes",
            "partition_codes.py:find_in_sorted: 2 -> 3": "the last place of a longer table is empty, too",
            "partition_codes.py:find_in_sorted: 1 -> 2 (number 3)": "any negative number says that there is none",
            "partition_codes.py:_column_codes: 2 -> 3": "codes are below a greater bound, too",
            "partition_codes.py:_column_codes: 1 -> 2 (number 2)": "codes are below a greater bound, too",
            **{
                f"delete_manifests.py:DeleteManifestReader._read_many: {change}": (
                    "manifests have the same entries, alone or in a group"
                )
                for change in ("len(manifests) > 1 -> (len(manifests) >= 1)", "1 -> 2")
            },
        }.items()
    },
    "plugins/iceberg/tableformats_iceberg/deletes/partition_codes.py:row_codes: bound * column_bound"
    " -> (bound + column_bound)": "codes are made smaller one column later, when they are below 2**62 still",
    "plugins/iceberg/tableformats_iceberg/verification/entry_columns.py:_splits: 1 -> 2": (
        "what stands for NULL is negative, and so outside of the file"
    ),
    "plugins/iceberg/tableformats_iceberg/verification/statistics_rules.py:_bounds: lower is None or upper is None"
    " -> ((lower is None) and (upper is None))": "Arrow takes None for a NULL, which is neither above nor below",
    "plugins/iceberg/tableformats_iceberg/metadata/locate.py:_newest: 1 -> 2": (
        "without files there are none of any version"
    ),
    "plugins/iceberg/tableformats_iceberg/manifests/batch_reader.py:_thread_buffer: buffer is None"
    " -> (buffer is not None)": "whether manifests are read into the same memory decides the time alone",
    **{
        f"plugins/iceberg/tableformats_iceberg/manifests/manifest_list.py:{change}": reason
        for change, reason in {
            "ManifestList._numbers: 1 -> 2": "NumPy takes any negative length for the unknown one",
            "ManifestList._numbers: 1 -> 2 (number 2)": "manifests without a spec have no summaries either",
            "_check_repetition: len(paths) > _MOST_REPEATED -> (len(paths) >= _MOST_REPEATED)": (
                "of a hundred paths none stands more often"
            ),
        }.items()
    },
    **{
        f"plugins/iceberg/tableformats_iceberg/manifests/values.py:{change}": reason
        for change, reason in {
            "_gather: 1 -> 2": "NumPy takes any negative length for the unknown one",
            "_read: 0 -> 1": "no rows take the value",
            "_read: np.abs(values.astype(np.float64)) * factor < 2.0**63"
            " -> (np.abs(values.astype(np.float64)) * factor <= 2.0 ** 63)": "no number of days is as long",
            "_numbers.read: 1 -> 2": "no number has two bytes",
        }.items()
    },
    **{
        f"plugins/iceberg/tableformats_iceberg/snapshot.py:IcebergSnapshot.parts: {change}": (
            "how many threads read one manifest decides the time alone"
        )
        for change in (
            "1 if request.read_elsewhere else max(thread_count() // max(len(found), 1), 1)"
            " -> (max(thread_count() // max(len(found), 1), 1) if request.read_elsewhere else 1)",
            "1 -> 2",
            "thread_count() // max(len(found), 1) -> (thread_count() * max(len(found), 1))",
            "1 -> 2 (number 2)",
            "1 -> 2 (number 3)",
        )
    },
    "plugins/iceberg/tableformats_iceberg/files/paths.py:common_prefix: 1 -> 2": "of several paths the first is taken",
}
