"""Measurements, kept between calls for as long as what was measured is the same."""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import limits
from .cases import Case
from .generate import GENERATOR
from .planners import OURS, PEERS, Planner, version

METHOD = 4
"""Measurements of another number were made in another way, and are not comparable."""
RUNS_OF_PEERS = 3
LONG_SECONDS = (4.0, 8.0)
"""From the first on, two measurements are enough; from the second on, one."""


def fingerprint(planner: Planner) -> str:
    """What a measurement depends on besides its case and the machine: the code, or the versions of a peer."""
    if planner is OURS:
        what = _digest(_our_files())
    elif planner is limits.LIMIT:
        here = Path(__file__).parent
        what = _digest([here / "limits.py", here / "limits.c"])
    else:
        what = " ".join(f"{name} {version(name)}" for name in planner.needs)
    return f"{GENERATOR}.{METHOD} {what}"


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
        run = {
            "case": case.key,
            "planner": planner.name,
            "when": time.strftime("%Y-%m-%d %H:%M:%S"),
            "load": os.getloadavg()[0],
            **run,
        }
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
        """Whether there should be another run, if there may be ``runs``."""
        done = self.runs(case, planner.name)
        if not done:
            return True
        if "error" in done[0] or case.how in ("again", "commit", "next process"):  # these are medians already
            return False
        most = runs if planner is OURS else min(runs, RUNS_OF_PEERS)
        longest = max(run["wall"] for run in done)
        return len(done) < (most, min(most, 2), 1)[sum(longest >= seconds for seconds in LONG_SECONDS)]

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
