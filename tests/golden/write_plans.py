"""Writes how Iceberg's Java reference plans the golden tables: combined tasks, residuals, and random bin packing.

    python -m tests.golden.write_plans tests/golden/java_plans.json

Needs what :mod:`tests.golden.write_jvm` needs. The tables are put back to where they were written, for their metadata
names places below ``/tmp/golden``.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.golden.write_jvm import JARS, SCRATCH, session

TABLES = Path(__file__).parent / "tables_jvm"
OPTIONS = [(300, 0, 10), (1500, 0, 10), (4000, 300, 2), (4000, 1500, 1), (128 << 20, 4 << 20, 10)]
"""Target size, open cost, lookback."""
FILTERS = {
    "iceberg-evolution": [
        ("equal", "id", 5),
        ("greaterThan", "id", 6),
        ("startsWith", "title", "b-n"),
        ("startsWith", "title", "b-name-1"),
        ("notStartsWith", "title", "b-n"),
        ("lessThan", "title", "c"),
        ("lessThanOrEqual", "title", "c-n"),
        ("isNull", "ts"),
        ("notNull", "ts"),
        ("greaterThanOrEqual", "ts", "2024-01-01T00:00:00+00:00"),
        ("lessThan", "ts", "2024-01-08T00:00:00+00:00"),
    ],
    "iceberg-position-deletes": [("equal", "id", 13), ("notEqual", "id", 13), ("greaterThan", "id", 20)],
}
COMBINED = [("and", 0, 1), ("or", 0, 1), ("or", 1, 2), ("and", 1, 2)]


def main(target: Path) -> None:
    # One thread: manifests come in the order of Java's hashes, which the answers hold.
    os.environ["JAVA_TOOL_OPTIONS"] = "-Diceberg.scan.plan-in-worker-pool=false"
    spark = session()
    jvm = spark._jvm
    shutil.rmtree(SCRATCH, ignore_errors=True)
    tables = jvm.org.apache.iceberg.hadoop.HadoopTables(spark._jsc.hadoopConfiguration())
    order, splits, residuals = {}, {}, {}
    for folder in sorted(TABLES.glob("iceberg-*")):
        shutil.copytree(folder / "table", SCRATCH / folder.name)
        table = tables.load(str(SCRATCH / folder.name))
        files = listed(jvm, table.newScan().planFiles())
        order[folder.name] = [Path(task.file().location()).name for task in files]
        splits[folder.name] = [[list(o), groups_of(jvm, table, *o)] for o in OPTIONS]
        residuals[folder.name] = [[f, residuals_of(jvm, table, f)] for f in filters_of(folder.name)]
    answers = {"writer": JARS[2], "order": order, "splits": splits, "residuals": residuals, "packing": packing(jvm)}
    target.write_text(json.dumps(answers, separators=(",", ":")) + "\n")


def filters_of(name: str) -> list[Any]:
    leaves = FILTERS.get(name, [])
    return [*leaves, *([kind, leaves[a], leaves[b]] for kind, a, b in COMBINED if b < len(leaves))]


def listed(jvm: Any, iterable: Any) -> Any:
    return jvm.org.apache.iceberg.relocated.com.google.common.collect.Lists.newArrayList(iterable)


def groups_of(jvm: Any, table: Any, target: int, cost: int, lookback: int) -> list[list[Any]]:
    scan = table.newScan().option("read.split.target-size", str(target))
    scan = scan.option("read.split.open-file-cost", str(cost)).option("read.split.planning-lookback", str(lookback))
    groups = []
    for group in listed(jvm, scan.planTasks()):
        parts = listed(jvm, group.files())
        groups.append([[Path(t.file().location()).name, t.start(), t.length()] for t in parts])
    return groups


def residuals_of(jvm: Any, table: Any, filter: Any) -> dict[str, Any]:
    scan = table.newScan().filter(expression(jvm, filter))
    parser = jvm.org.apache.iceberg.expressions.ExpressionParser
    tasks = listed(jvm, scan.planFiles())
    return {Path(t.file().location()).name: json.loads(parser.toJson(t.residual())) for t in tasks}


def expression(jvm: Any, filter: Any) -> Any:
    expressions = jvm.org.apache.iceberg.expressions.Expressions
    if filter[0] in ("and", "or"):
        left, right = (expression(jvm, f) for f in filter[1:])
        return getattr(expressions, filter[0])(left, right)
    return getattr(expressions, filter[0])(*filter[1:])


def packing(jvm: Any) -> list[list[Any]]:
    """Random weights, packed with the largest bin first, as plans are."""
    chance, found = random.Random(7), []
    identity = jvm.java.util.function.Function.identity()
    for _ in range(60):
        target, lookback = chance.randint(10, 100), chance.randint(1, 12)
        weights = [chance.randint(1, 60) for _ in range(chance.randint(1, 40))]
        items = jvm.java.util.ArrayList()
        for weight in weights:
            items.add(weight << 32)  # so that it is a Long
        packer = getattr(jvm.org.apache.iceberg.util, "BinPacking$ListPacker")(target << 32, lookback, True)
        groups = [[weight >> 32 for weight in group] for group in packer.pack(items, identity)]
        found.append([target, lookback, weights, groups])
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
