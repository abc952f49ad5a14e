"""Names that users of other libraries type first: an AttributeError says what the same thing is called here.

Nothing is added to an object. The names are those of deltalake, PyIceberg, polars, DuckDB and Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["HABITS", "NOT_HERE", "WithHabits"]

_ROWS = {
    **dict.fromkeys(("read", "load", "read_all", "to_table", "to_arrow_table", "arrow"), ".to_arrow()"),
    **dict.fromkeys(("to_df", "df", "as_pandas"), ".to_pandas()"),
    **dict.fromkeys(("pl", "sort", "sql", "unique"), ".to_polars()"),
    **dict.fromkeys(("group_by", "groupby", "groupBy", "agg", "join", "with_columns"), ".to_polars(lazy=True)"),
    **dict.fromkeys(("to_pylist", "to_dicts", "rows", "iter_rows", "to_list"), ".to_arrow().to_pylist()"),
    **dict.fromkeys(("height", "num_rows", "row_count", "shape", "size"), ".count()"),
    **dict.fromkeys(("dtypes", "collect_schema", "printSchema", "types"), ".schema"),
    "num_columns": ".schema.names",
    "width": ".schema.names",
    "to_numpy": ".to_pandas().to_numpy()",
    "to_ray": ".to_arrow()",
    "to_daft": ".to_arrow()",
    "to_batches": ".to_arrow().to_batches()",
    "to_pyarrow_table": ".to_arrow()",
    "toPandas": ".to_pandas()",
    "toArrow": ".to_arrow()",
    "collect": ".to_polars()",
    "take": ".head(n)",
    "show": ".head()",
}
_SCANS = {
    **dict.fromkeys(("limit", "first", "sample", "slice", "preview", "peek"), ".head(n)"),
    **dict.fromkeys(("info", "describe", "summary", "stats", "estimated_size"), ".detail()"),
    **dict.fromkeys(("query", "filters"), ".scan(filter)"),
    **dict.fromkeys(("list_files", "data_files", "input_files", "inputFiles"), ".plan().file_uris()"),
    "num_files": ".detail()",
    "to_reader": ".scan().to_arrow_batch_reader()",
    "tail": ".to_polars()",
    "why": ".plan(filter).why(file)",
    "statistics": ".clustering()",
    "to_arrow_batch_reader": ".scan().to_arrow_batch_reader()",
    "to_arrow_dataset": ".scan().to_arrow_dataset()",
    "to_duckdb": ".scan().to_duckdb(name)",
    "to_pyarrow_dataset": ".scan().to_arrow_dataset()",
    "to_spark": ".scan().to_spark(spark)",
    "lazy": ".to_polars(lazy=True)",
    "filter": ".scan(filter)",
    "where": ".scan(filter)",
    "select": ".scan(columns=[...])",
    "plan_files": ".plan()",
    "file_uris": ".plan().file_uris()",
    "files": ".plan().files",
    "explain": ".plan().explain()",
    "diagnose": ".scan(filter).diagnose()",
    "columns": ".schema.names",
    **dict.fromkeys(("createOrReplaceTempView", "createTempView"), "tf.spark.view(spark, name, location)"),
    "glimpse": ".head(n)",
    "toDF": ".scan().to_spark(spark)",
}
_PYICEBERG = {
    "current_snapshot": ".snapshot()",
    "snapshots": ".inspect.snapshots()",
    "snapshot_by_id": ".snapshot(version)",
    "snapshot_by_name": ".snapshot(branch=...) or .snapshot(tag=...)",
    "snapshot_as_of_timestamp": ".snapshot(timestamp=...)",
    "refs": ".inspect.refs()",
    "spec": ".snapshot().partition_fields",
    **dict.fromkeys(("update_schema", "update_spec", "update_sort_order"), ".alter"),
    **dict.fromkeys(("set_properties", "remove_properties"), ".alter.set_properties({...})"),
    **dict.fromkeys(("branches", "tags"), ".inspect.refs()"),
    **dict.fromkeys(("schemas", "specs", "sort_order", "sort_orders"), ".snapshot(version)"),
    "name_mapping": ".snapshot().properties",
    "last_sequence_number": ".inspect.snapshots()",
    "rollback": ".restore(version)",
    "rollback_to_snapshot": ".restore(version)",
    "manage_snapshots": ".create_branch(...), .create_tag(...), .restore(...)",
    "dynamic_partition_overwrite": '.overwrite(data, where="dynamic")',
    "format_version": ".detail().features",
    "name": ".location",
    "metadata_location": ".inspect.metadata_log_entries()",
}
_DELTALAKE = {
    "version": ".snapshot().version",
    "timestamp": ".snapshot().timestamp",
    "load_as_version": ".snapshot(version)",
    "load_cdf": ".changes(starting_version, ending_version)",
    "metadata": ".detail()",
    "properties": ".snapshot().properties",
    "protocol": ".detail().features",
    "table_uri": ".location",
    "partitions": ".inspect.partitions()",
    "partition_fields": ".snapshot().partition_fields",
    "get_add_actions": ".inspect.files()",
    "create_checkpoint": ".checkpoint()",
    "cleanup_metadata": ".checkpoint()",
    "update_incremental": ".refresh()",
    "is_deltatable": ".format",
    **dict.fromkeys(("table_config", "configuration"), ".snapshot().properties"),
    **dict.fromkeys(("uri", "url", "path", "root"), ".location"),
    **dict.fromkeys(("restoreToVersion", "restoreToTimestamp"), ".restore(version)"),
    **dict.fromkeys(("reload", "load_with_datetime", "as_of", "at", "at_version"), ".snapshot(version)"),
    **dict.fromkeys(("write", "insert", "save", "write_delta", "write_deltalake"), ".append(data)"),
    **dict.fromkeys(("set_table_properties", "unset_properties"), ".alter.set_properties({...})"),
    "add_columns": ".alter.add_columns({...})",
    "add_constraint": ".alter.add_constraint(name, condition)",
    "drop_constraint": ".alter.drop_constraint(name)",
    "rename": ".alter.rename_column(name, new_name)",
    "drop": ".alter.drop_columns(name)",
    "description": ".detail()",
    "compact_logs": ".compact_log(first, last)",
    "partition_columns": ".snapshot().partition_fields",
    "deletion_vectors": '.plan().files["deletes"]',
    "transaction_version": ".inspect.transactions()",
    "repair": ".verify()",
    "validate": ".verify()",
    "remove": ".delete(where)",
    "truncate": '.delete("true")',
}
_CHANGES = dict.fromkeys(
    ("update", "merge", "upsert", "mergeInto", "replace"), ".transaction() with .delete(where) and .append(rows)"
)
_OTHERS = "other writers of the table, such as Spark, can do it"
NOT_HERE: dict[str, dict[str, str]] = {
    "Table": {
        **dict.fromkeys(
            ("optimize", "compact", "z_order", "zorder", "cluster", "rewrite_data_files", "rewrite_manifests"),
            f"files are not rewritten here; .health() says whether that would help, and {_OTHERS}",
        ),
        **dict.fromkeys(
            ("vacuum", "expire_snapshots", "remove_orphan_files", "delete_orphan_files", "maintenance"),
            f"old files are not removed here; .orphan_files() lists those that nothing names, and {_OTHERS}",
        ),
        **dict.fromkeys(("add_files", "generate", "clone", "convert"), f"there is no such verb here; {_OTHERS}"),
    },
}
"""Class -> name of another library -> why there is nothing to call instead."""
HABITS: dict[str, dict[str, str]] = {
    "tableformats": {
        **dict.fromkeys(
            ("DeltaTable", "StaticTable", "read_table", "load_table", "open", "load", "table", "from_metadata"),
            "tf.open_table(location)",
        ),
        **dict.fromkeys(("read", "read_arrow", "read_parquet"), "tf.open_table(location).to_arrow()"),
        **dict.fromkeys(("scan", "scan_table", "scan_parquet"), "tf.open_table(location).scan(filter)"),
        **dict.fromkeys(("write", "save", "append"), "tf.write_table(data, location)"),
        **dict.fromkeys(("connect", "list"), "tf.list_tables(catalog)"),
        "read_pandas": "tf.open_table(location).to_pandas()",
        "is_deltatable": "tf.open_table(location).format",
        "lit": "tf.col(name) > 1: values need no function",
        **dict.fromkeys(("read_delta", "read_iceberg"), "tf.open_table(location).to_polars()"),
        **dict.fromkeys(("scan_delta", "scan_iceberg"), "tf.open_table(location).to_polars(lazy=True)"),
        "load_catalog": "tf.open_table(identifier, catalog=...), or tf.list_tables(catalog)",
        "write_deltalake": 'tf.write_table(data, location, format="delta")',
        "write_iceberg": 'tf.write_table(data, location, format="iceberg")',
        "Catalog": "tf.open_table(identifier, catalog=...)",
    },
    "Table": {**_ROWS, **_SCANS, **_PYICEBERG, **_DELTALAKE, **_CHANGES},
    "Snapshot": {
        **_ROWS,
        **_SCANS,
        "snapshot_id": ".version",
        "timestamp_ms": ".timestamp",
        "inspect": ".table.inspect",
        "history": ".table.history()",
        "changes": ".table.changes(starting_version, ending_version)",
    },
    "Scan": {
        **_ROWS,
        "head": ".snapshot.scan(..., limit=n).to_arrow()",
        "take": ".snapshot.scan(..., limit=n).to_arrow()",
        "show": ".snapshot.scan(..., limit=n).to_arrow()",
        "lazy": ".to_polars(lazy=True)",
        "files": ".plan().files",
        "tasks": ".plan().tasks()",
        "explain": ".plan().explain()",
        "use_ref": "table.scan(..., branch=...) or table.scan(..., tag=...)",
        "projection": ".schema",
        "columns": ".schema.names",
        "to_pyarrow_dataset": ".to_arrow_dataset()",
    },
    "ScanPlan": {
        "to_pandas": ".to_arrow().to_pandas()",
        "to_polars": ".scan.to_polars()",
        "to_spark": ".scan.to_spark(spark)",
        "count": ".scan.count()",
        "to_duckdb": ".scan.to_duckdb(name)",
        "plan_files": ".tasks()",
        "filter": ".scan.filter",
    },
}
"""Class, or the package -> name of another library -> what to call instead."""


class WithHabits:
    """Names in an AttributeError what :data:`HABITS` has for a missing name."""

    if not TYPE_CHECKING:  # a type checker shall find that the name is missing

        def __getattr__(self, name: str) -> Any:
            for kind in type(self).__mro__:
                if (instead := HABITS.get(kind.__name__, {}).get(name)) is not None:
                    advice = f"use {instead}"
                elif (advice := NOT_HERE.get(kind.__name__, {}).get(name, "")) == "":
                    continue
                text = f"{type(self).__name__} has no attribute {name!r}: {advice}"
                raise AttributeError(text, name=name, obj=self)
            return object.__getattribute__(self, name)  # raises what was raised, also that of a property
