"""Names that users of other libraries type first: an AttributeError says what the same thing is called here.

Nothing is added to an object. The names are those of deltalake, PyIceberg, polars and Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["HABITS", "WithHabits"]

_ROWS = {
    "to_pyarrow_table": ".to_arrow()",
    "toPandas": ".to_pandas()",
    "toArrow": ".to_arrow()",
    "collect": ".to_polars()",
    "take": ".head(n)",
    "show": ".head()",
}
_SCANS = {
    "limit": ".head(n)",
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
    "update_schema": ".alter",
    "update_spec": ".alter",
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
}
HABITS: dict[str, dict[str, str]] = {
    "tableformats": {
        **dict.fromkeys(("DeltaTable", "StaticTable", "read_table", "load_table"), "tf.open_table(location)"),
        **dict.fromkeys(("read_delta", "read_iceberg"), "tf.open_table(location).to_polars()"),
        **dict.fromkeys(("scan_delta", "scan_iceberg"), "tf.open_table(location).to_polars(lazy=True)"),
        "load_catalog": "tf.open_table(identifier, catalog=...), or tf.list_tables(catalog)",
        "write_deltalake": 'tf.write_table(data, location, format="delta")',
        "write_iceberg": 'tf.write_table(data, location, format="iceberg")',
        "Catalog": "tf.open_table(identifier, catalog=...)",
    },
    "Table": {**_ROWS, **_SCANS, **_PYICEBERG, **_DELTALAKE},
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
                    text = f"{type(self).__name__} has no attribute {name!r}: use {instead}"
                    raise AttributeError(text, name=name, obj=self)
            return object.__getattribute__(self, name)  # raises what was raised, also that of a property
