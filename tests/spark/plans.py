"""What Spark did: the file scans of an executed query."""

from __future__ import annotations

from typing import Any


def files_read(frame: Any) -> int:
    """How many files the query's scans took after all pruning, dynamic pruning included. Runs the query."""
    execution = frame._jdf.queryExecution()
    # The metrics of one and the same plan: collect() of the DataFrame would plan a query of its own.
    execution.executedPlan().executeCollect()
    return sum(_metric(scan, "numFiles") for scan in _scans(execution.executedPlan()))


def _metric(scan: Any, name: str) -> int:
    return int(scan.metrics().apply(name).value())


def _scans(plan: Any) -> list[Any]:
    name = plan.getClass().getSimpleName()
    if name == "FileSourceScanExec":
        return [plan]
    if name == "AdaptiveSparkPlanExec":
        return _scans(plan.finalPhysicalPlan())
    if name.endswith("QueryStageExec"):
        return _scans(plan.plan())
    if name == "InMemoryTableScanExec":
        return _scans(plan.relation().cachedPlan())
    children = plan.children()
    return [scan for i in range(children.size()) for scan in _scans(children.apply(i))]
