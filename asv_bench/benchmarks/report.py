"""The table of docs/performance.md, measured: ``python -m benchmarks.report --write`` in ``asv_bench``.

Every measurement is a process of its own; rounds go through the planners in turn, so that what disturbs one disturbs
all, and medians are given. What takes long is measured once; what is known to take very long comes last, as far as
``--minutes`` reach. Results are kept: the next call measures only what is missing, or what has another version by now
(``--fresh`` forgets them). A machine that runs out of memory stops the measurement that did it, and only that.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from . import limits, table_text, worker
from .cases import MILLION, Case, cases
from .generate import GENERATOR, tables_folder
from .planners import OURS, PEERS, Planner, version

DOCUMENT = Path(__file__).parents[2] / "docs" / "performance.md"
RUNS = 5
LONG_SECONDS = (2.0, 8.0)
"""From the first on, a measurement is made three times; from the second on, once."""
STOP_SECONDS = 400
KEEP_FREE = 1.5e9
"""Bytes of memory that a measurement must leave to the machine."""

VERY_LONG = (
    ("duckdb", "delta", "P4"), ("duckdb", "delta", "P5"), ("pyiceberg", "iceberg", "P2"), ("duckdb", "iceberg", "P2"),
    ("duckdb", "delta", "P0"), ("pyiceberg", "iceberg", "P0"), ("pyiceberg", "iceberg", "P5"),
    ("pyiceberg", "iceberg", "P4"), ("pyiceberg", "iceberg", "P3"), ("duckdb", "iceberg", "P0"),
    ("duckdb", "iceberg", "P1"), ("duckdb", "iceberg", "P3"), ("duckdb", "iceberg", "P4"), ("duckdb", "iceberg", "P5"),
)  # fmt: skip
"""Who takes half a minute or more for a million files: measured last, in this order."""


def fingerprint(planner: Planner) -> str:
    """What a measurement depends on besides its case and the machine: the code, or the versions of a peer."""
    if planner is OURS:
        return f"{GENERATOR} {_digest(_our_files())}"
    if planner is limits.LIMIT:
        here = Path(__file__).parent
        return f"{GENERATOR} {_digest([here / 'limits.py', here / 'limits.c'])}"
    return " ".join([str(GENERATOR), *(f"{name} {version(name)}" for name in planner.needs)])


def _our_files() -> list[Path]:
    import tableformats_delta
    import tableformats_iceberg

    import tableformats

    folders = [Path(package.__path__[0]) for package in (tableformats, tableformats_delta, tableformats_iceberg)]
    return sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".so", ".pyd"))


def _digest(paths: Sequence[Path]) -> str:
    digest = hashlib.sha1()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


class Results:
    """Measurements by case and planner, kept as lines of JSON; another fingerprint makes them void.

    steps : table, step, seconds and size, of :mod:`benchmarks.steps`
    profiles : by key of a case, shares of our functions, of :mod:`benchmarks.sampling`

    A line has ``case``, ``planner``, ``fingerprint``, ``when``, and either what the worker says or ``error``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.steps: list[tuple[str, str, float, str]] = []
        self.profiles: dict[str, dict[str, float]] = {}
        self._runs: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._fingerprints = {planner.name: fingerprint(planner) for planner in (OURS, limits.LIMIT, *PEERS)}
        for line in path.read_text().splitlines() if path.exists() else []:
            run = json.loads(line)
            if run["fingerprint"] != self._fingerprints[run["planner"]]:
                continue
            if "steps" in run:
                self.steps = run["steps"]
            elif "profile" in run:
                self.profiles[run["case"]] = run["profile"]
            else:
                self._runs.setdefault((run["case"], run["planner"]), []).append(run)

    def add(self, case: Case, planner: Planner, run: dict[str, Any]) -> None:
        run = {"case": case.key, "planner": planner.name, "when": time.strftime("%Y-%m-%d %H:%M:%S"), **run}
        self._runs.setdefault((case.key, planner.name), []).append(run)
        self._keep(run)

    def add_steps(self, steps: list[tuple[str, str, float, str]]) -> None:
        """What :mod:`benchmarks.steps` measured."""
        self.steps = steps
        self._keep({"planner": "limit", "steps": steps})

    def add_profile(self, case: Case, profile: dict[str, float]) -> None:
        """What :mod:`benchmarks.sampling` saw of ours."""
        self.profiles[case.key] = profile
        self._keep({"case": case.key, "planner": OURS.name, "profile": profile})

    def _keep(self, line: dict[str, Any]) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps({"fingerprint": self._fingerprints[line["planner"]], **line}) + "\n")

    def runs(self, case: Case, name: str) -> list[dict[str, Any]]:
        return self._runs.get((case.key, name), [])

    def wants(self, case: Case, planner: Planner, runs: int) -> bool:
        """Whether another run is due."""
        done = self.runs(case, planner.name)
        if not done:
            return True
        if "error" in done[0] or case.how in ("again", "commit"):  # these are medians already
            return False
        longest = max(run["wall"] for run in done)
        few = sum(longest >= seconds for seconds in LONG_SECONDS)
        return len(done) < (runs, min(runs, 3), 1)[few]

    def median(self, case: Case, name: str) -> dict[str, Any] | None:
        """The median of each number over the runs that ended well; None where there is none."""
        runs = [run for run in self.runs(case, name) if "error" not in run]
        if not runs:
            return None
        names = {k for run in runs for k, v in run.items() if isinstance(v, int | float) and not isinstance(v, bool)}
        found: dict[str, Any] = {k: statistics.median(r[k] for r in runs if r.get(k) is not None) for k in names}
        stages = [run["stages"] for run in runs if "stages" in run]
        if stages:
            found["stages"] = {k: statistics.median(s.get(k, 0.0) for s in stages) for k in stages[0]}
        return {**found, "runs": len(runs)}


def reason(case: Case, planner: Planner) -> str | None:
    """Why this planner is not asked."""
    if case.how in ("again", "commit") and planner is not OURS:
        return "only ours keeps metadata between plans"
    if case.how == "process" and planner.name not in worker.SCRIPTS:
        return "not asked"
    if planner is limits.LIMIT:
        return limits.missing(case.question)
    return planner.missing(case.spec.format)


def run_worker(case: Case, planner: Planner, files: int, *options: str) -> dict[str, Any]:
    """One measurement, or ``{"error": why}``."""
    if case.how == "process":
        command = [sys.executable, "-c", worker.script(case, planner)]
    else:
        command = [sys.executable, "-m", "benchmarks.worker", str(files), case.key, planner.name, *options]
    start = time.perf_counter()
    # Files, because a pipe that is not read while we watch the memory would fill up.
    with open(os.devnull) as nothing, _scratch() as out, _scratch() as err:
        process = subprocess.Popen(command, cwd=Path(__file__).parents[1], stdin=nothing, stdout=out, stderr=err)
        why = _watch(process, start)
        wall = time.perf_counter() - start
        if process.returncode and why is None:
            err.seek(0)
            lines = err.read().decode(errors="replace").strip().splitlines()
            why = lines[-1][:300] if lines else f"exit code {process.returncode}"
        out.seek(0)
        text = out.read().decode()
    if why is not None:
        return {"error": why}
    return {"wall": wall} if case.how == "process" else dict(json.loads(text.splitlines()[-1]))


def _scratch() -> Any:
    import tempfile

    return tempfile.TemporaryFile()


def _watch(process: subprocess.Popen[bytes], start: float) -> str | None:
    """Wait for the end; kill the process where it takes too long or too much, and say so."""
    while True:
        try:
            process.wait(0.25 if time.perf_counter() - start > 2 else 0.002)
            return None
        except subprocess.TimeoutExpired:
            why = None
            if time.perf_counter() - start > STOP_SECONDS:
                why = f"stopped after {STOP_SECONDS} s"
            elif available_memory() < KEEP_FREE:
                why = "stopped: out of memory"
            if why is not None:
                process.kill()
                process.wait()
                return why


def available_memory() -> float:
    """Bytes that processes can still get; endless where the system does not say."""
    info = Path("/proc/meminfo")
    if not info.exists():
        return float("inf")
    line = next(line for line in info.read_text().splitlines() if line.startswith("MemAvailable"))
    return int(line.split()[1]) * 1024


def measure(
    chosen: Sequence[Case], planners: Sequence[Planner], results: Results, files: int, runs: int, minutes: float
) -> None:
    """Fill ``results``; what is very long only until the time is over."""
    for case in chosen:
        say(f"table {case.spec.name}")
        for spec in (case.spec, case.warm_up):
            code = f"from benchmarks.generate import *; build({spec!r}).warm()"
            subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=True)
    start = time.monotonic()
    asked = [(case, [p for p in planners if reason(case, p) is None]) for case in chosen]
    for number, (case, able) in enumerate(asked, 1):
        quick = [p for p in able if rank(case, p, files) is None]
        for _ in range(runs):
            for planner in quick:
                if results.wants(case, planner, runs):
                    say(f"{number}/{len(asked)} {case.label}: {planner.name}")
                    results.add(case, planner, run_worker(case, planner, files))
    for case in chosen:
        if case.how == "plan" and case.key not in results.profiles:
            say(f"profile of {case.label}")
            results.add_profile(case, run_worker(case, OURS, files, "--profile").get("profile", {}))
    if not results.steps and limits.missing(limits.QUESTIONS[0]) is None:
        say("what the bytes cost")
        command = [sys.executable, "-m", "benchmarks.steps", str(files)]
        done = subprocess.run(command, cwd=Path(__file__).parents[1], check=True, stdout=subprocess.PIPE)
        results.add_steps(json.loads(done.stdout)["steps"])
    slow = [(rank(case, p, files), case, p) for case, able in asked for p in able if results.wants(case, p, runs)]
    for _, case, planner in sorted((entry for entry in slow if entry[0] is not None), key=lambda entry: entry[0] or 0):
        if time.monotonic() - start > 60 * minutes:
            say(f"left out, the time is over: {case.label}, {planner.name}", keep=True)
        else:
            say(f"{case.label}: {planner.name}, which takes long")
            results.add(case, planner, run_worker(case, planner, files))
    say(f"measured in {(time.monotonic() - start) / 60:.1f} minutes", keep=True)


def rank(case: Case, planner: Planner, files: int) -> int | None:
    """The place in VERY_LONG, for tables of full size."""
    name = (planner.name, case.spec.format, case.question)
    return VERY_LONG.index(name) if case.spec.files == files and name in VERY_LONG else None


def say(text: str, keep: bool = False) -> None:
    """Progress on standard error: one line that changes, at a terminal."""
    if sys.stderr.isatty() and not keep:
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{text[:width]:<{width}}", end="", file=sys.stderr, flush=True)
    else:
        print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def machine() -> str:
    """What it was measured on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        model = names[0] if names else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{os.cpu_count()} cores ({model}), {memory:.0f} GB, {platform.system()} {platform.release()}"


def versions() -> str:
    """Of Python and of all that plans."""
    names = dict.fromkeys(["tableformats", "pyarrow", "numpy", "deflate", *(n for p in PEERS for n in p.needs)])
    found = [f"{name} {version(name) or '(not installed)'}" for name in names]
    return ", ".join([f"Python {platform.python_version()}", *found])


def document_with(text: str, measured: str) -> str:
    """``text`` with what stands between its two marks replaced."""
    begin, end = table_text.BEGIN, table_text.END
    before, rest = text.split(begin, 1)
    return f"{before}{begin}\n{measured}\n{end}{rest.split(end, 1)[1]}"


def some(all_of_them: Sequence[Any], wanted: str | None, name: Callable[[Any], str]) -> Iterator[Any]:
    """Those whose name contains one of the comma-separated words."""
    words = [word.strip().lower() for word in wanted.split(",")] if wanted else [""]
    return (one for one in all_of_them if any(word in name(one).lower() for word in words))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=MILLION, help="of the large tables; goals go with a million")
    parser.add_argument("--cases", help="words of their labels, separated by commas, for example 'Iceberg, P1'")
    parser.add_argument("--peers", help="names, separated by commas; 'none' asks ours and the limits alone")
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--minutes", type=float, default=10.0, help="after which nothing very long begins")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--no-measure", action="store_true", help="print what is there")
    parser.add_argument("--write", action="store_true", help=f"put the table into {DOCUMENT.name}")
    arguments = parser.parse_args()

    path = tables_folder() / f"results-{arguments.files}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    if arguments.fresh:
        path.unlink(missing_ok=True)
    results = Results(path)
    everything = cases(arguments.files)
    if not arguments.no_measure:
        peers = some(PEERS, arguments.peers, lambda p: p.name)
        chosen = list(some(everything, arguments.cases, lambda c: c.label))
        measure(chosen, [OURS, limits.LIMIT, *peers], results, arguments.files, arguments.runs, arguments.minutes)
    text = table_text.text(everything, results, machine(), versions())
    print(text)
    if arguments.write:
        DOCUMENT.write_text(document_with(DOCUMENT.read_text(), text))
    wrong = table_text.wrong(everything, results)
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
