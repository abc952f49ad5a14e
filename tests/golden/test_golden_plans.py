"""The golden tables planned by Iceberg 1.10 in Java (``java_plans.json``): combined tasks, residuals, bin packing."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tableformats as tf
from tableformats.expressions import tree as ex
from tableformats.planning.splits import _pack, _Part
from tests.support.java_plans import convert, simplified

FOLDER = Path(__file__).parent
JAVA: dict[str, Any] = json.loads((FOLDER / "java_plans.json").read_text())
_KINDS = {
    "equal": "eq",
    "notEqual": "not-eq",
    "lessThan": "lt",
    "lessThanOrEqual": "lt-eq",
    "greaterThan": "gt",
    "greaterThanOrEqual": "gt-eq",
    "startsWith": "starts-with",
    "notStartsWith": "not-starts-with",
    "isNull": "is-null",
    "notNull": "not-null",
}


def opened(name: str) -> tf.Table:
    return tf.open_table(FOLDER / "tables_jvm" / name / "table", relocate=True)


def as_json(filter: list[Any]) -> dict[str, Any]:
    """A filter as it was written down, in Iceberg's expression JSON."""
    kind, *arguments = filter
    if kind in ("and", "or"):
        return {"type": kind, "left": as_json(arguments[0]), "right": as_json(arguments[1])}
    return {"type": _KINDS[kind], **dict(zip(("term", "value"), arguments, strict=False))}


@pytest.mark.parametrize("name", JAVA["splits"])
def test_combined_tasks(name: str) -> None:
    """The same files and ends in the same groups; where Java's first part of a file begins at its first row group, ours
    begins at its first byte."""
    plan = opened(name).scan().plan()
    names = [os.path.basename(path) for path in plan.file_uris()]
    # Java plans manifests in the order of their hashes.
    plan = plan.take(np.array([names.index(file) for file in JAVA["order"][name]]))
    parts: Counter[str] = Counter()
    for (target, cost, lookback), theirs in JAVA["splits"][name]:
        ours = [
            [(os.path.basename(task.path), task.start, task.start + task.length) for task in group]
            for group in plan.splits(target, cost, lookback)
        ]
        offsets = {(file, start) for group in theirs for file, start, _ in group}
        assert len(ours) == len(theirs)
        for group, other in zip(ours, theirs, strict=True):
            wanted = [
                (file, 0 if start == min(o for f, o in offsets if f == file) else start, start + length)
                for file, start, length in other
            ]
            assert group == wanted
        parts["whole" if len(offsets) == len(plan) else "cut"] += 1
    assert parts["whole"]


def test_some_files_were_cut() -> None:
    most = max(len(group) for answers in JAVA["splits"].values() for _, groups in answers for group in groups)
    files = {name: len(opened(name).scan().plan()) for name in JAVA["splits"]}
    assert most > 3
    assert any(len(groups) > files[name] for name, answers in JAVA["splits"].items() for _, groups in answers)


@pytest.mark.parametrize("name", [name for name, answers in JAVA["residuals"].items() if answers])
def test_residuals(name: str) -> None:
    table, outcomes = opened(name), Counter[str]()
    for filter, theirs in JAVA["residuals"][name]:
        schema = table.snapshot().schema
        scan = table.scan(convert(as_json(filter), schema))
        for task in scan.plan().tasks():
            java = simplified(table.snapshot().bind(convert(theirs[os.path.basename(task.path)], schema)))
            own = simplified(task.residual)
            outcomes["shorter"] += java not in (ex.TRUE, simplified(scan.filter))
            outcomes["TRUE by bounds"] += own != java
            assert own in (java, ex.TRUE), (filter, task.path)
    assert outcomes["shorter"] >= 2


@pytest.mark.parametrize("case", range(len(JAVA["packing"])))
def test_bin_packing(case: int) -> None:
    target, lookback, weights, groups = JAVA["packing"][case]
    parts = [_Part(0, 0, 0, weight) for weight in weights]
    assert [[part.weight for part in group] for group in _pack(parts, target, lookback)] == groups
