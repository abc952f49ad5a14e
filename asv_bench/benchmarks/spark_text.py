"""Measurements of :mod:`benchmarks.spark` as Markdown, each with the goal that it has to meet."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from .table_text import markdown

CLEAN_GOAL, DELETES_GOAL = 1.05, 1.5
"""Times of ``spark.read.parquet`` over the same files, for queries that read columns."""
FIRST_JOB_GOAL, HAND_OVER_GOAL = 1.0, 3.0
"""Seconds."""


def text(measured: Mapping[str, Any]) -> str:
    """All parts; ``measured`` is what :func:`benchmarks.spark.measure` gives."""
    parts = [
        f"Measured {measured['when']}, {measured['machine']}, load {measured['load'][0]:.1f} before and "
        f"{measured['load'][1]:.1f} after. {measured['versions']}. {measured['rounds']} rounds.",
        f"**Scans**, {measured['rows']:,} rows in {measured['files']} files, {measured['cores']} threads, a session "
        "without JARs. *make*: the DataFrame, *run*: the query, *in CPU*: the ratio of processor seconds instead of "
        "the clock's.",
        _scans(measured["scans"]),
        *_beside(measured["beside"], measured["jars"]),
        "**The first query over many files**, seconds from the end of planning, a session without JARs. *cold*: the "
        "process has read no table, but ran one small query of Spark's own; *warm*: it has read one small table.",
        markdown(FIRST_HEAD, first_rows(measured["first"])),
        f"**Planning**, {measured['many']:,} files, nothing cached, a session "
        f"{'with the' if measured['jars'] else 'without'} JARs: seconds from the location to the query's tasks; "
        f"{measured['plan rounds']} rounds.",
        markdown(PLAN_HEAD, plan_rows(measured["plans"])),
        f"**Planning on executors**, {measured['shared files']:,} files of which a thousandth is left, nothing "
        "cached, a session without JARs: seconds from the location to the plan, by `plan()` and by "
        "`plan(engine=spark)`.",
        markdown(SHARED_HEAD, [shared_row(shared) for shared in measured["shared"]]),
        measured["peers"],
    ]
    return "\n\n".join(part for part in parts if part)


def _beside(scans: Sequence[Mapping[str, Any]], jars: Sequence[str]) -> list[str]:
    if not scans:
        return []
    return [f"**The same scans beside the peers**, a session with their JARs ({', '.join(jars)}).", _scans(scans)]


def _scans(scans: Sequence[Mapping[str, Any]]) -> str:
    return markdown(SCAN_HEAD, [scan_row(scan, scans) for scan in scans])


SCAN_HEAD = (
    "query",
    "table",
    "reader",
    "tasks",
    "make s",
    "run s",
    "of spark.read.parquet",
    "in CPU",
    "all s",
    "goal",
    "met",
)


def scan_row(scan: Mapping[str, Any], scans: Sequence[Mapping[str, Any]]) -> list[str]:
    make, run = _median(scan["make"]), _median(scan["run"])
    ratio, cpu = _median(scan["wall_ratio"]), _median(scan["cpu_ratio"])
    goal, met = scan_goal(scan, scans)
    tasks = "–" if scan["counts"] else str(scan["tasks"])
    return [
        scan["query"],
        _table(scan),
        scan["reader"],
        tasks,
        _seconds(make),
        _seconds(run),
        f"{ratio:.2f}x",
        f"{cpu:.2f}x",
        _seconds(make + run),
        goal,
        met,
    ]


def scan_goal(scan: Mapping[str, Any], scans: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Ours alone have one: a total not above the peer's, and where no peer is, a ratio if columns are read."""
    if not scan["ours"]:
        return "–", "–"
    peers = [
        s
        for s in scans
        if (s["query"], s["format"], s["deletes"]) == (scan["query"], scan["format"], scan["deletes"]) and not s["ours"]
    ]
    if peers:
        slower = {p["reader"]: _median([o / t for o, t in zip(_totals(scan), _totals(p), strict=True)]) for p in peers}
        misses = [f"{ratio:.2f}x of {name}" for name, ratio in slower.items() if ratio > 1]
        return "no slower in all", "no: " + ", ".join(misses) if misses else "yes"
    if scan["counts"]:
        return "–", "–"
    limit, ratio = DELETES_GOAL if scan["deletes"] else CLEAN_GOAL, _median(scan["wall_ratio"])
    return f"{limit}x", "yes" if ratio <= limit else f"no: {ratio:.2f}x"


def _totals(scan: Mapping[str, Any]) -> list[float]:
    return [make + run for make, run in zip(scan["make"], scan["run"], strict=True)]


def _table(scan: Mapping[str, Any]) -> str:
    table = scan["format"] or "the files"
    return f"{table}, 1 % deleted" if scan["deletes"] else table


FIRST_HEAD = ("what", "seconds", "goal", "met")


def first_rows(first: Sequence[Mapping[str, float]]) -> list[list[str]]:
    """``first``: one mapping a process; see :func:`benchmarks.spark.first_query`."""
    middle = {
        kind: {
            name: _median([run[name] for run in first if bool(run["warm"]) == (kind == "warm")]) for name in first[0]
        }
        for kind in ("cold", "warm")
    }
    listing = int(max(run["listing jobs"] for run in first))
    rows = []
    for kind, values in middle.items():
        many = f"{values['many files']:,.0f} files, `count(id)`, {kind}"
        rows.append([f"{many}: the DataFrame", _seconds(values["frame"]), "–", "–"])
        rows.append(_with_goal(f"{many}: its job starts", values["job"], FIRST_JOB_GOAL))
    rows.append(["jobs that list files", str(listing), "0", "no" if listing else "yes"])
    for name in ("delta", "iceberg"):
        files = f"{middle['warm'][f'{name} files']:,.0f} files, {name}"
        rows.append(_with_goal(f"{files}: handed over", middle["warm"][f"{name} frame"], HAND_OVER_GOAL))
        rows.append([f"{files}: then, to the query's tasks", _seconds(middle["warm"][f"{name} query"]), "–", "–"])
    return rows


def _with_goal(what: str, value: float, goal: float) -> list[str]:
    return [what, _seconds(value), f"{goal:.1f}", "yes" if value <= goal else "no"]


PLAN_HEAD = ("table", "question", "reader", "seconds", "faster than", "goal", "met")


def plan_rows(plans: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    rows = []
    for plan in plans:
        peers = (
            [p for p in plans if not p["ours"] and (p["format"], p["question"]) == (plan["format"], plan["question"])]
            if plan["ours"]
            else []
        )
        ratios = {
            p["reader"]: _median([t / o for t, o in zip(p["seconds"], plan["seconds"], strict=True)]) for p in peers
        }
        rows.append(
            [
                plan["format"],
                plan["question"],
                plan["reader"],
                _seconds(_median(plan["seconds"])),
                ", ".join(f"{name} {ratio:.1f}x" for name, ratio in ratios.items()) or "–",
                "faster" if peers else "–",
                ("yes" if min(ratios.values()) > 1 else "no") if peers else "–",
            ]
        )
    return rows


SHARED_HEAD = ("table", "planned by", "seconds", "files left")


def shared_row(shared: Mapping[str, Any]) -> list[str]:
    return [shared["format"], f"the {shared['place']}", _seconds(_median(shared["seconds"])), f"{shared['files']:,}"]


def missed(document: str) -> list[str]:
    """The lines of tables whose goal is missed."""
    return [line for line in document.splitlines() if line.startswith("|") and line.split("|")[-2].strip()[:2] == "no"]


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _seconds(value: float) -> str:
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}"
