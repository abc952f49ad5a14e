"""What Spark did: the file scans of an executed query."""

from __future__ import annotations

from typing import Any


def files_read(frame: Any) -> int:
    """How many files the query's scans took after all pruning, dynamic pruning included. Runs the query."""
    execution = frame._jdf.queryExecution()
    # The metrics of one and the same plan: collect() of the DataFrame would plan a query of its own.
    execution.executedPlan().executeCollect()
    return sum(_metric(scan, "numFiles") for scan in scans(execution.executedPlan()))


def paths_read(frame: Any) -> tuple[set[str], int]:
    """(names of the files that the query's scans read after all pruning, the query's rows). Runs the query."""
    execution = frame._jdf.queryExecution()
    count = len(execution.executedPlan().executeCollect())
    found = set()
    for scan in scans(execution.executedPlan()):
        groups = scan.inputRDD().filePartitions()
        for i in range(groups.size()):
            found |= {file.urlEncodedPath().rsplit("/", 1)[-1] for file in groups.apply(i).files()}
    return found, count


def _metric(scan: Any, name: str) -> int:
    return int(scan.metrics().apply(name).value())


def scans(plan: Any) -> list[Any]:
    name = plan.getClass().getSimpleName()
    if name == "FileSourceScanExec":
        return [plan]
    if name == "AdaptiveSparkPlanExec":
        return scans(plan.finalPhysicalPlan())
    if name.endswith("QueryStageExec"):
        return scans(plan.plan())
    if name == "InMemoryTableScanExec":
        return scans(plan.relation().cachedPlan())
    children = plan.children()
    return [scan for i in range(children.size()) for scan in scans(children.apply(i))]
