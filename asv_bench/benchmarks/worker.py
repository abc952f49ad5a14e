"""One measurement in a process of its own: ``python -m benchmarks.worker FILES CASE PLANNER`` prints it as JSON; with
``--profile``, of ours, the shares of functions instead of seconds.

``wall`` and ``cpu`` are seconds (CPU: of all threads), ``peak_mib`` the most memory the process ever had, imports
included; ``loaded_mib`` what it had before. The first plan after loading is measured, so nothing is cached but the
system's files; a plan of a small table before it loads what libraries load late.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from .cases import Case, cases
from .generate import Table, build
from .memory import peak_mib
from .planners import OURS, PEERS, Planner, sql

# What the planners do not need themselves is imported where it is used: it would count as their memory.

ROUNDS = 7
"""Plans that are measured in one process where caches are meant to be warm."""


def planner_of(name: str) -> Planner:
    if name == "limit":
        from .limits import LIMIT

        return LIMIT
    return next(p for p in (OURS, *PEERS) if p.name == name)


def measure(case: Case, planner: Planner) -> dict[str, Any]:
    table = build(case.spec)
    if planner is not OURS:
        planner.prepare(build(case.warm_up), case.question)()
        call = planner.prepare(table, case.question)
        loaded = peak_mib()
        found, wall, cpu = timed(call)
        return {"files": found, "wall": wall, "cpu": cpu, "loaded_mib": loaded, "peak_mib": peak_mib()}
    if case.how == "plan":
        return first_plan(case, table)
    from statistics import median

    from .warm import seconds_after_commit

    seconds = {"again": again, "next process": from_directory, "commit": seconds_after_commit}[case.how]
    return {"wall": median(seconds(table, case.question, ROUNDS)), "peak_mib": peak_mib()}


def first_plan(case: Case, table: Table) -> dict[str, Any]:
    """Ours, with the time of each stage, and of building ``plan.files`` afterwards."""
    import tableformats as tf

    OURS.prepare(build(case.warm_up), case.question)()
    text = sql(table.predicate(case.question))
    loaded = peak_mib()
    plan, wall, cpu = timed(lambda: tf.open_table(table.entry).scan(text).plan())
    peak = peak_mib()
    _, files_wall, _ = timed(lambda: plan.files)
    return {
        "files": len(plan),
        "with_deletes": plan.report.files_with_deletes,
        "wall": wall,
        "cpu": cpu,
        "loaded_mib": loaded,
        "peak_mib": peak,
        "files_wall": files_wall,
        "stages": plan.report.seconds,
    }


def profile(case: Case) -> dict[str, Any]:
    """Where the time of our first plan goes."""
    from .sampling import shares

    OURS.prepare(build(case.warm_up), case.question)()
    return {"profile": shares(OURS.prepare(build(case.spec), case.question))}


def again(table: Table, question: str, rounds: int) -> list[float]:
    """Seconds of further plans of a snapshot that was planned once."""
    import tableformats as tf

    scan = tf.open_table(table.entry).snapshot().scan(sql(table.predicate(question)))
    scan.plan()
    return [timed(scan.plan)[1] for _ in range(rounds)]


def from_directory(table: Table, question: str, rounds: int) -> list[float]:
    """Seconds of plans that have nothing but a directory of what was decoded before."""
    import tempfile

    import tableformats as tf

    text = sql(table.predicate(question))

    def plan() -> int:
        return len(tf.open_table(table.entry, cache=tf.MetadataCache(directory=folder)).scan(text).plan())

    with tempfile.TemporaryDirectory() as folder:
        plan()
        return [timed(plan)[1] for _ in range(rounds)]


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it returns, and its seconds of wall and of CPU."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = call()
    return found, time.perf_counter() - wall, time.process_time() - cpu


SCRIPTS = {
    "tableformats": "import tableformats as tf; print(len(tf.open_table({entry!r}).scan({text!r}).plan()))",
    "deltalake": "from deltalake import DeltaTable\n"
    "print(len(DeltaTable({entry!r}).file_uris(file_pruning_predicate={text!r})))",
    "polars": "import polars as pl\nprint(pl.scan_{format}({entry!r}).filter(pl.sql_expr({text!r})).explain())",
    "pyiceberg": "from pyiceberg.table import StaticTable\n"
    "print(len(list(StaticTable.from_metadata({entry!r}).scan({text!r}).plan_files())))",
}
"""What a user types; for whole processes."""


def script(case: Case, planner: Planner) -> str:
    table = build(case.spec)
    predicate = table.predicate(case.question)
    text: Any = sql(predicate)
    if case.how == "tuples":
        text = [[(term.column, term.op, term.value) for term in terms] for terms in predicate]
    return SCRIPTS[planner.name].format(entry=table.entry, text=text, format=case.spec.format)


def main() -> None:
    files, key, planner, *options = sys.argv[1:]
    case = next(c for c in cases(int(files)) if c.key == key)
    try:
        result = profile(case) if options == ["--profile"] else measure(case, planner_of(planner))
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
