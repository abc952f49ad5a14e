"""Scan plans of Iceberg's Java reference (1.5.2) for generated filters, task by task: files, deletes, residuals.

We may plan fewer files only where we know more than Java 1.5.2: for ``!=`` and NOT IN, which it does not prune by, and
where Spark's rules differ and are stated below. Planning more is allowed only where "unknown is never false" demands
it (NaN may hide above an upper bound).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

import pytest

import tableformats as tf
from tableformats.expressions import tree as ex
from tableformats.planning.tasks import ScanTask
from tests.support.conformance import ROOT, has_data, needs_tables
from tests.support.java_plans import convert, simplified

pytestmark = [needs_tables, pytest.mark.conformance]

FLOATS_WITHOUT_NAN_COUNTS = {"lat", "double_col"}


@lru_cache(maxsize=8)
def opened(table: str, metadata: str) -> tf.Table:
    path = ROOT / "iceberg" / table / "metadata" / metadata
    return tf.open_table(path, format="iceberg", relocate=True)


def kinds_in(filter: Any) -> set[str]:
    if isinstance(filter, bool):
        return set()
    below = [filter[k] for k in ("left", "right", "child") if k in filter]
    return {filter["type"]}.union(*map(kinds_in, below))


def matching_rows(snapshot: tf.Snapshot, predicate: ex.Expression) -> int:
    """Rows that match, with no file pruned: everything is read, then filtered."""
    from tableformats.engines.arrow.filters import keep_matching

    batches = snapshot.scan().to_arrow().combine_chunks().to_batches()
    return sum(keep_matching(snapshot.bind(predicate), batch).num_rows for batch in batches)


def negates(filter: Any) -> bool:
    """Whether Java 1.5.2 keeps files or deletes that the filter rules out: it does not prune by these, and counts
    NULL as a match of NOT STARTS WITH; SQL does not."""
    return bool(kinds_in(filter) & {"not-eq", "not-in", "not", "not-starts-with"})


def excludes_itself(filter: Any) -> bool:
    """Whether two comparisons of one column leave no value, which Java does not look for: a >= 2 AND a < 1."""
    if isinstance(filter, bool) or filter["type"] != "and":
        return False
    left, right = filter["left"], filter["right"]
    if {left["type"], right["type"]} != {"gt-eq", "lt"} or left["term"] != right["term"]:
        return False
    least, limit = (left, right) if left["type"] == "gt-eq" else (right, left)
    try:
        return Decimal(least["value"]) >= Decimal(limit["value"])
    except InvalidOperation:
        return str(least["value"]).encode() >= str(limit["value"]).encode()


@lru_cache(maxsize=1)
def plans() -> list[tuple[dict[str, Any], tf.ScanPlan]]:
    """Java's answers, and ours to the same questions."""
    found = []
    for line in (ROOT / "iceberg" / "java152_plan.jsonl").read_text().splitlines():
        java = json.loads(line)
        if "error" not in java:
            snapshot = opened(java["table"], java["metadata"]).snapshot(java["snapshot_id"])
            found.append((java, snapshot.scan(convert(java["filter"], snapshot.schema)).plan()))
    return found


def test_every_line_is_compared() -> None:
    """Java fails where a filter names a column that only an old snapshot has; we bind by the snapshot's own schema."""
    lines = [json.loads(line) for line in (ROOT / "iceberg" / "java152_plan.jsonl").read_text().splitlines()]
    errors = [java for java in lines if "error" in java]
    assert len(plans()) + len(errors) == len(lines) == 1815
    for java in errors:
        assert "Cannot find field" in java["error"]
        snapshot = opened(java["table"], java["metadata"]).snapshot(java["snapshot_id"])
        predicate = convert(java["filter"], snapshot.schema)
        assert snapshot.scan(predicate).to_arrow().num_rows == matching_rows(snapshot, predicate)


def test_plans_agree_with_java() -> None:
    outcomes: Counter[str] = Counter()
    unexplained = []
    for java, plan in plans():
        if excludes_itself(java["filter"]):
            assert len(plan) == 0, java["filter"]
            outcomes["nothing can match"] += 1
            continue
        if "tasks" not in java:
            # Of the greatest tables only totals are kept.
            assert (len(plan), plan.report.rows_planned) == (java["n_files"], java["records"]), java["filter"]
            outcomes["equal in number"] += 1
            continue
        ours = Counter(os.path.basename(path) for path in plan.file_uris())
        theirs = Counter(task[0] for task in java["tasks"])
        kinds = kinds_in(java["filter"])
        if ours == theirs:
            outcomes["equal"] += 1
        elif not ours - theirs and negates(java["filter"]):
            outcomes["fewer files"] += 1
            whole = plan.snapshot.scan().plan()
            if has_data(whole):
                scanned = matching_rows(plan.snapshot, plan.scan.filter)
                assert plan.scan.to_arrow().num_rows == scanned, java["filter"]
                outcomes["fewer files, rows compared"] += 1
        elif not theirs - ours and kinds <= {"gt"} and java["filter"]["term"] in FLOATS_WITHOUT_NAN_COUNTS:
            outcomes["more files: a NaN may hide"] += 1
        else:
            unexplained.append((java["table"], java["filter"], sorted(ours - theirs), sorted(theirs - ours)))
    print(dict(outcomes))
    assert not unexplained
    assert outcomes["equal in number"] == 94
    assert outcomes["nothing can match"] == 20
    assert outcomes["equal"] > 1600
    assert outcomes["fewer files, rows compared"] > 10


def test_deletes_are_attached_as_java_attaches_them() -> None:
    """Java leaves out those that the bounds of keys or of deleted rows rule out, and so do we."""
    outcomes: Counter[str] = Counter()
    for java, plan in plans():
        theirs = {name: sorted(deletes) for name, deletes, _ in java.get("tasks", ())}
        for task in plan.tasks() if any(theirs.values()) else ():
            name = os.path.basename(task.path)
            ours = sorted(os.path.basename(path) for path in task.deletes["path"].to_pylist())
            equal = ours == theirs.get(name)
            assert equal or (set(ours) < set(theirs[name]) and negates(java["filter"])), (java["table"], name)
            outcomes["equal" if equal else "fewer"] += bool(theirs[name])
        report = plan.report
        read = report.delete_manifests_total - report.delete_manifests_skipped
        assert read <= java["scanned_delete_manifests"]
    assert outcomes["equal"] > 200
    assert outcomes["fewer"] == 1


def test_residuals_mean_what_those_of_java_mean() -> None:
    """The same tree for every file, but for the order of IN lists and for NULL tests of required columns, which Java
    leaves standing. Java's are made from partition values alone, ours are TRUE where bounds too prove that all rows
    match."""
    outcomes: Counter[str] = Counter()
    for java, plan in plans():
        trees: dict[str, ex.Expression] = {}  # many files share a residual
        for task, theirs in residuals_beside(java, plan):
            text = json.dumps(theirs)
            if text not in trees:
                trees[text] = simplified(plan.snapshot.bind(convert(theirs, plan.snapshot.schema)))
            java_tree = trees[text]
            if task.residual == java_tree or simplified(task.residual) == java_tree:
                outcomes["TRUE in both" if java_tree == ex.TRUE else "the same tree"] += 1
            else:
                assert task.residual == ex.TRUE, (java["table"], str(task.residual), str(java_tree))
                outcomes["TRUE by bounds"] += 1
    print(dict(outcomes))
    assert outcomes["TRUE in both"] > 1000
    assert outcomes["the same tree"] > 5000


def residuals_beside(java: dict[str, Any], plan: tf.ScanPlan) -> list[tuple[ScanTask, Any]]:
    """Our tasks, and Java's residuals of their files; of the greatest tables each residual is kept once."""
    tasks = list(plan.tasks())
    if "tasks" in java:
        known = {name: residual for name, _, residual in java["tasks"]}
        return [(t, known[name]) for t in tasks if (name := os.path.basename(t.path)) in known]
    assert excludes_itself(java["filter"]) or list(java["residuals"].values()) == [len(tasks)][: len(tasks)]
    return [(t, json.loads(text)) for text in java["residuals"] for t in tasks]


def test_groups_of_splits_are_as_many_as_those_of_java() -> None:
    compared = 0
    for java, plan in plans():
        if "planTasks_groups" in java:
            groups = plan.splits()
            assert len(groups) == java["planTasks_groups"]
            assert max(sum(task.length for task in group) for group in groups) == java["planTasks_max_bytes"]
            assert sum(task.length for group in groups for task in group) == plan.report.bytes_planned
            compared += 1
    assert compared == 3
