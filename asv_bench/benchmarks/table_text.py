"""Measurements as Markdown, for docs/measured: all cases, where our time goes, how cost grows, where peers differ."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from .cases import HOWS, Case
from .generate import build
from .planners import OURS, PEERS

MEASURED = Path(__file__).parents[2] / "docs" / "measured"
"""The pages whose tables are written here, each between the marks BEGIN and END."""
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
STAGES = ("metadata", "reconcile", "partitions", "bounds", "deletes", "paths")


class Measured(Protocol):
    """What is needed of :class:`benchmarks.report.Results`."""

    steps: list[tuple[str, str, float, str]]
    profiles: dict[str, dict[str, float]]

    def runs(self, case: Case, name: str) -> list[dict[str, Any]]: ...

    def median(self, case: Case, name: str) -> dict[str, Any] | None: ...


def text(cases: Sequence[Case], results: Measured, machine: str, versions: str) -> str:
    """The tables of docs/measured/planning.md."""
    ours = [case for case in cases if results.median(case, OURS.name)]
    plans = [case for case in ours if case.how == "plan"]
    others = [case for case in ours if case.how != "plan"]
    parts = [
        f"{when(ours, results)}, {machine}. {versions}.",
        markdown(MAIN_HEAD, [main_row(case, results) for case in plans]),
        "Where the planners' answers differ:",
        "\n".join([*dict.fromkeys(remarks(ours, results)), *silent(ours, results)]) or "- nothing to remark",
        "### Second plans, plans after a commit, whole processes",
        "\n".join(f"- {how}: {meaning}" for how, meaning in HOWS.items() if how != "plan"),
        markdown(OTHER_HEAD, [other_row(case, results) for case in others]),
        "### Where our time goes",
        "The stages count the time of all threads. `plan.files` is built later, when it is asked for.",
        markdown(STAGE_HEAD, [stage_row(case, results) for case in plans]),
        "Shares of the threads' working time, by our innermost function:",
        markdown(("case", "functions"), list(profile_rows(plans, results))),
        "### How cost grows with the number of files",
        markdown(SLOPE_HEAD, list(slopes(plans, results))),
    ]
    return "\n\n".join(parts)


def limits_text(results: Measured) -> str:
    """The table of docs/measured/limits.md: what the bytes cost, step by step."""
    return markdown(STEP_HEAD, [[format_, name, seconds(wall), note] for format_, name, wall, note in results.steps])


def document_with(document: str, measured: str) -> str:
    """``document`` with the text between the marks replaced."""
    before, rest = document.split(BEGIN, 1)
    return f"{before}{BEGIN}\n{measured}\n{END}{rest.split(END, 1)[1]}"


def write(page: str, measured: str) -> None:
    """Put ``measured`` between the marks of the page of this name in docs/measured."""
    path = MEASURED / page
    path.write_text(document_with(path.read_text("utf-8"), measured), "utf-8")


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; columns of numbers stand to the right."""
    lines = ["| " + " | ".join(row) + " |" for row in [head, *rows]]
    numbers = [all(row[i][:1] in "–0123456789" for row in rows) for i in range(len(head))]
    rule = "|" + "|".join("--:" if right else "-" for right in numbers) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def when(cases: Sequence[Case], results: Measured) -> str:
    """The days of our measurements, and whether others used the machine meanwhile."""
    runs = [run for case in cases for run in results.runs(case, OURS.name)]
    days = sorted({run["when"][:10] for run in runs}) or [time.strftime("%Y-%m-%d")]
    load = statistics.median([run["load"] for run in runs] or [0.0])
    busy = ""
    if load > (os.cpu_count() or 1) + 1:  # ours are the cores' worth of threads, and one that waits
        busy = f" on a busy machine (load {load:.0f}: the seconds of CPU tell more than those of the clock)"
    return "Measured " + " to ".join(dict.fromkeys([days[0], days[-1]])) + busy


MAIN_HEAD = (
    "case",
    "files kept",
    "ours s",
    "CPU s",
    "peak MiB",
    "limit s",
    "best peer",
    "s",
    "CPU s",
    "peak MiB",
    "faster",
    "in CPU",
    "other peers s",
    "goal s",
    "here s",
    "met",
)


def main_row(case: Case, results: Measured) -> list[str]:
    mine = results.median(case, OURS.name) or {}
    limit = results.median(case, "limit")
    beside = sorted(of_peers(case, results), key=lambda found: found[1]["wall"])
    cells = [
        case.label,
        f"{int(mine['files']):,}",
        seconds(mine["wall"]),
        seconds(mine["cpu"]),
        mib(mine["peak_mib"]),
        seconds(limit["wall"]) if limit else "–",
    ]
    if beside:
        name, best = beside[0]
        cells += [
            name,
            seconds(best["wall"]),
            seconds(best["cpu"]),
            mib(best["peak_mib"]),
            f"{best['wall'] / mine['wall']:.1f}x",
            f"{best['cpu'] / mine['cpu']:.1f}x",
        ]
    else:
        cells += ["–"] * 6
    cells.append(", ".join(f"{name} {seconds(found['wall'])}" for name, found in beside[1:]) or "–")
    here = goal_here(case, results)
    goals = [seconds(goal) if goal else "–" for goal in (case.goal.seconds, here)]
    return [*cells, *goals, verdict(case, results)]


def of_peers(case: Case, results: Measured) -> Iterator[tuple[str, dict[str, Any]]]:
    for peer in PEERS:
        if (found := results.median(case, peer.name)) is not None:
            yield peer.name, found


def goal_here(case: Case, results: Measured) -> float | None:
    """The seconds of the goal on this machine, which its yardstick tells; None where that was not measured."""
    goal, beside = case.goal, case.goal.beside
    if goal.seconds is None or beside is None:
        return None
    found = results.median(replace(case, question=beside.question), beside.planner)
    return None if found is None else goal.seconds * found["wall"] / beside.seconds


def verdict(case: Case, results: Measured) -> str:
    """Whether it is met: "yes", or each part of the goal that is missed; "–" without a goal."""
    mine, goal = results.median(case, OURS.name) or {}, case.goal
    missed = []
    if goal.seconds is not None:
        most = max(goal.seconds, goal_here(case, results) or 0.0)
        if mine["wall"] > most:
            missed.append(f"{mine['wall'] / most:.2f}x the goal's time")
    if goal.memory_mib is not None and mine["peak_mib"] > goal.memory_mib:
        missed.append(f"{mib(mine['peak_mib'])} of {goal.memory_mib} MiB")
    for factors, measure, word in ((goal.factors, "wall", ""), (goal.cpu_factors, "cpu", " CPU")):
        for name, found in of_peers(case, results):
            factor = found[measure] / mine[measure] if measure in mine and measure in found else None
            if factor is not None and name in factors and factor < factors[name]:
                missed.append(f"{factor:.1f}x of {name}{word}, not {factors[name]:.1f}x")
    if goal == type(goal)():
        return "–"
    return "no: " + "; ".join(missed) if missed else "yes"


OTHER_HEAD = ("case", "how", "ours s", "peers s", "goal s", "met")


def other_row(case: Case, results: Measured) -> list[str]:
    mine = results.median(case, OURS.name) or {}
    peers = ", ".join(f"{name} {seconds(found['wall'])}" for name, found in of_peers(case, results))
    goal = seconds(case.goal.seconds) if case.goal.seconds else "–"
    return [case.label, case.how, seconds(mine["wall"]), peers or "–", goal, verdict(case, results)]


STAGE_HEAD = (
    "case",
    *(f"{stage} ms" for stage in STAGES),
    "all ms",
    "CPU / wall",
    "`plan.files` ms",
    "MiB loaded",
    "MiB for the plan",
)


def stage_row(case: Case, results: Measured) -> list[str]:
    mine = results.median(case, OURS.name) or {}
    stages = [f"{1000 * mine['stages'].get(stage, 0.0):.1f}" for stage in STAGES]
    return [
        case.label,
        *stages,
        f"{1000 * mine['wall']:.1f}",
        f"{mine['cpu'] / mine['wall']:.1f}",
        f"{1000 * mine['files_wall']:.1f}",
        mib(mine["loaded_mib"]),
        mib(mine["peak_mib"] - mine["loaded_mib"]),
    ]


def profile_rows(plans: Sequence[Case], results: Measured) -> Iterator[list[str]]:
    for case in plans:
        profile = results.profiles.get(case.key, {})
        if profile:
            yield [case.label, ", ".join(f"`{name}` {share:.0%}" for name, share in profile.items() if share >= 0.02)]


STEP_HEAD = ("table", "step, one thread", "s", "of")

SLOPE_HEAD = ("table and question", "files", "ours s", "µs a file", "peak MiB")


def slopes(plans: Sequence[Case], results: Measured) -> Iterator[list[str]]:
    """The same question to tables that differ in nothing but their files."""
    families: dict[str, list[Case]] = {}
    for case in plans:
        family = f"{case.spec.name.replace(str(case.spec.files), 'n', 1)}, {case.question}"
        families.setdefault(family, []).append(case)
    for family, members in families.items():
        if len(members) > 1:
            for case in sorted(members, key=lambda c: c.spec.files):
                mine = results.median(case, OURS.name) or {}
                each = 1e6 * mine["wall"] / case.spec.files
                yield [family, f"{case.spec.files:,}", seconds(mine["wall"]), f"{each:.2f}", mib(mine["peak_mib"])]


def remarks(cases: Sequence[Case], results: Measured) -> Iterator[str]:
    """Where a peer keeps other files than the truth, or does not plan."""
    for case in cases:
        truth = build(case.spec)
        for peer in PEERS:
            for run in results.runs(case, peer.name):
                if "error" in run:
                    yield f"- {case.label}: {peer.name}: {run['error']}"
                elif run.get("files") not in (None, truth.survivors[case.question]):
                    kept, needed = int(run["files"]), truth.survivors[case.question]
                    yield f"- {case.label}: {peer.name} keeps {kept:,} files, {needed:,} can match"


def silent(cases: Sequence[Case], results: Measured) -> Iterator[str]:
    """Whose answers do not say how many files are kept."""
    for peer in PEERS:
        runs = {case.label: results.runs(case, peer.name) for case in cases if case.how == "plan"}
        labels = [label for label, own in runs.items() if any(r.get("files", 0) is None for r in own)]
        if labels:
            yield f"- {peer.name} does not say how many files it keeps: {'; '.join(labels)}"


def wrong(cases: Sequence[Case], results: Measured) -> list[str]:
    """Where we fail, or our plan is not the truth."""
    found = []
    for case in cases:
        truth = build(case.spec)
        for run in results.runs(case, OURS.name):
            if "error" in run:
                found.append(f"{case.label}: {run['error']}")
            elif "files" in run:
                kept = run["files"], run["with_deletes"]
                expected = truth.survivors[case.question], truth.with_deletes[case.question]
                if kept != expected:
                    found.append(f"{case.label}: {kept} (files, with deletes), not {expected}")
    return list(dict.fromkeys(found))


def seconds(value: float) -> str:
    """Two or three digits that count."""
    return (
        f"{value:.0f}"
        if value >= 100
        else f"{value:.1f}"
        if value >= 10
        else (f"{value:.2f}" if value >= 1 else f"{value:.3f}" if value >= 0.01 else f"{value:.4f}")
    )


def mib(value: float) -> str:
    return f"{value:,.0f}"
