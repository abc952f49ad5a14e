"""Delta for Spark and Iceberg's runtime for Spark as writers of mixed company: each in a process with a JVM of its own.

They need PySpark of the version that :mod:`tests.spark.compare.session` names, Java 17, and Maven for the JARs.
"""

from __future__ import annotations

import json
from typing import Any

from .company_peers import ELSEWHERE, TABLE, Peer
from .model import sql_of
from .tables import Op, plain_rows

__all__ = ["DeltaSpark", "IcebergSpark"]

_CATALOG = "company"
_COLUMNS = "id long, p long, k long"
_CONFLICTS = ("io.delta.exceptions.Concurrent", "DELTA_CONCURRENT", "ValidationException", "CommitFailedException")


class ConflictError(Exception):
    """A writer of the JVM says that it has lost."""


class _OfSpark(Peer):
    """A writer in a session of Spark, which is started when it is warmed up."""

    fails = (ConflictError,)

    @property
    def spark(self) -> Any:
        from ..spark.compare.session import ICEBERG, jar, session

        is_on_s3 = "s3.endpoint" in self.place.catalog
        return session(jar(f"org.apache.iceberg:iceberg-aws-bundle:{ICEBERG}") if is_on_s3 else "")

    def warm_up(self) -> None:
        """Also write another table, because the first write of a session takes many seconds."""
        super().warm_up()
        rows = [{"id": number, "p": 0, "k": number} for number in range(2)]
        for number, kind in enumerate(("append", "overwrite", "delete")):
            where = [["k", "<", 1]] if kind == "delete" else [["p", "=", 0]]
            self.elsewhere(Op(f"warm{number}", kind, {"rows": rows, "where": where}))

    def elsewhere(self, op: Op) -> None:
        """Do an operation upon another table."""
        raise NotImplementedError

    def frame(self, op: Op) -> Any:
        rows = [tuple(row[name] for name in ("id", "p", "k")) for row in op.arguments["rows"]]
        return self.spark.createDataFrame(rows, _COLUMNS)

    def done(self, op: Op) -> dict[str, Any]:
        try:
            return self.answer(op)
        except Exception as error:
            if any(name in str(error) for name in _CONFLICTS) and "CommitStateUnknown" not in str(error):
                raise ConflictError(str(error)[:200]) from None
            raise

    def answer(self, op: Op) -> dict[str, Any]:
        raise NotImplementedError


class DeltaSpark(_OfSpark):
    """delta-spark; what it read stands in its commits."""

    def elsewhere(self, op: Op) -> None:
        self.write(op, f"{self.place.location}-{self.number}")

    def answer(self, op: Op) -> dict[str, Any]:
        path, name = self.place.location, f"delta.`{self.place.location}`"
        if op.kind == "read":
            version = self.spark.sql(f"DESCRIBE HISTORY {name} LIMIT 1").collect()[0]["version"]
            rows = self.spark.read.format("delta").option("versionAsOf", version).load(path)
            return {"read": version, "rows": plain_rows(rows.toArrow())}
        self.write(op, path)
        return {"read": ELSEWHERE, "made": ELSEWHERE}

    def write(self, op: Op, path: str) -> None:
        self.spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", json.dumps({"op": op.id}))
        where = op.arguments.get("where")
        if op.kind == "delete":
            self.spark.sql(f"DELETE FROM delta.`{path}` WHERE {sql_of(where or [])}")
        elif op.kind == "append":
            self.frame(op).write.format("delta").mode("append").save(path)
        else:
            writer = self.frame(op).write.format("delta").mode("overwrite")
            (writer.option("replaceWhere", sql_of(where)) if where else writer).save(path)


class IcebergSpark(_OfSpark):
    """Iceberg's runtime, by the catalog of the table. It says which snapshot it has made, after it has."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._seen: set[int] = set()

    @property
    def spark(self) -> Any:
        found = super().spark
        told = {**self.place.catalog, "cache-enabled": "false"}
        for name, value in told.items():
            found.conf.set(f"spark.sql.catalog.{_CATALOG}.{name}", value)
        found.conf.set(f"spark.sql.catalog.{_CATALOG}", "org.apache.iceberg.spark.SparkCatalog")
        return found

    def elsewhere(self, op: Op) -> None:
        name = f"{_CATALOG}.n.warm{self.number}"
        self.spark.sql(f"CREATE TABLE IF NOT EXISTS {name} ({_COLUMNS}) USING iceberg PARTITIONED BY (p)")
        snapshots = self.spark.sql(f"SELECT snapshot_id FROM {name}.snapshots").collect()
        self.write(op, name, snapshots[-1]["snapshot_id"] if snapshots else 0)

    def answer(self, op: Op) -> dict[str, Any]:
        spark, name = self.spark, f"{_CATALOG}.{TABLE}"
        (ref,) = spark.sql(f"SELECT snapshot_id FROM {name}.refs WHERE name = 'main'").collect()
        read = ref["snapshot_id"]
        if op.kind == "read":
            return {"read": read, "rows": plain_rows(spark.sql(f"SELECT * FROM {name} VERSION AS OF {read}").toArrow())}
        self.write(op, name, read)
        app = spark.sparkContext.applicationId
        own = spark.sql(f"SELECT snapshot_id FROM {name}.snapshots WHERE summary['spark.app.id'] = '{app}'").collect()
        new = {row["snapshot_id"] for row in own} - self._seen
        self._seen |= new
        return {"read": read if op.kind == "overwrite" else None, "made": max(new, default=None)}

    def write(self, op: Op, name: str, read: int) -> None:
        where = op.arguments.get("where")
        if op.kind == "delete":
            self.spark.sql(f"DELETE FROM {name} WHERE {sql_of(where or [])}")
        elif op.kind == "append":
            self.frame(op).writeTo(name).append()
        else:
            from pyspark.sql import functions

            # Without these two an overwrite is not checked against what others have added.
            writer = self.frame(op).writeTo(name).option("isolation-level", "serializable")
            writer.option("validate-from-snapshot-id", str(read)).overwrite(functions.expr(sql_of(where or [])))
