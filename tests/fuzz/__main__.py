"""The fuzzers' command: ``python -m tests.fuzz run avro --runs 1000000``; see docs/fuzzing.md.

Everything goes to ``build/fuzz``: programs, what the fuzzers grow out of the corpus, findings, logs, and the number of
executions of every run (``runs.jsonl``), by libFuzzer's own count.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from functools import partial
from pathlib import Path

from tests.fuzz.corpus import ALL_TARGETS, FOLDER, write_seeds
from tests.fuzz.kernels import DICTIONARIES, HERE, KERNELS, build_fuzzer
from tests.fuzz.minimise import fails_in_child, fails_in_program, smaller_file
from tests.fuzz.targets import TARGETS, run, warm
from tests.support.marks import write_between

ROOT = Path(__file__).parents[2]
WORK = ROOT / "build" / "fuzz"
LARGEST = {"roaring": 300, "delta_checkpoint": 12_000, "iceberg_manifest": 8000, "iceberg_delete_manifest": 8000}
"""Bytes of the inputs that a target is given, where the usual 2000 waste time or are too few."""


def command_of(target: str) -> list[str]:
    if target in KERNELS:
        found = [str(build_fuzzer(target, WORK / "programs"))]
        return [*found, *(f"-dict={HERE / name}" for kernel, name in DICTIONARIES.items() if kernel == target)]
    return [sys.executable, "-m", "tests.fuzz.engine", target]


def corpora(target: str) -> list[str]:
    """Where inputs are grown, and what they grow from."""
    grown = WORK / "grown" / target
    grown.mkdir(parents=True, exist_ok=True)
    return [str(grown), str(FOLDER / target)]


def fuzz(target: str, runs: int, seconds: int, largest: int) -> bool:
    """Run one target; whether it found nothing."""
    findings, log = WORK / "findings", WORK / "logs" / f"{target}.log"
    for folder in (findings, log.parent):
        folder.mkdir(parents=True, exist_ok=True)
    limits = [f"-runs={runs}", f"-max_total_time={seconds}", f"-max_len={largest or LARGEST.get(target, 2000)}"]
    options = ["-timeout=20", "-rss_limit_mb=3000", "-print_final_stats=1", f"-artifact_prefix={findings}/{target}-"]
    environment = {"ASAN_OPTIONS": "quarantine_size_mb=8", **os.environ}
    started = time.time()
    with log.open("wb") as out:
        command = [*command_of(target), *limits, *options, *corpora(target)]
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT, env=environment)
    text = log.read_text(errors="replace")
    counts = re.findall(r"^(?:stat::number_of_executed_units: +|Done |#)(\d+)", text, re.MULTILINE)
    figure = {
        "target": target,
        "executions": max(map(int, counts), default=0),
        "seconds": round(time.time() - started),
        "sound": done.returncode == 0,
        "commit": commit(),
    }
    with (WORK / "runs.jsonl").open("a") as runs_file:
        runs_file.write(json.dumps(figure) + "\n")
    print(f"{target}: {figure['executions']:,} executions in {figure['seconds']} s", flush=True)
    if done.returncode:
        for found in sorted(findings.glob(f"{target}-*")):
            if found.suffix != ".min" and found.stat().st_mtime >= started:
                print(f"minimised: {minimise(target, found)}", flush=True)
        print("".join(text.splitlines(keepends=True)[-40:]), f"see {log} and {findings}", flush=True)
    return done.returncode == 0


def minimise(target: str, finding: Path) -> Path:
    """A smaller input that fails too, in a file beside the finding."""
    if target in KERNELS:
        fails = fails_in_program(command_of(target))
    else:
        warm(TARGETS[target])
        fails = fails_in_child(partial(run, TARGETS[target]))
    return smaller_file(finding, fails)


def commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT)
    return found.stdout.strip()


def figures() -> str:
    """What all runs together did, as a table."""
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for line in (WORK / "runs.jsonl").read_text().splitlines():
        run = json.loads(line)
        for i, value in enumerate((run["executions"], run["seconds"], not run["sound"])):
            totals[run["target"]][i] += value
    lines = ["| target | executions | seconds | runs that ended early |", "|-|-:|-:|-:|"]
    for name, row in (*sorted(totals.items()), ("all", [sum(column) for column in zip(*totals.values(), strict=True)])):
        lines.append(f"| {name} | {row[0]:,} | {row[1]:,} | {row[2]} |")
    return "\n".join(lines)


def attacks(names: list[str]) -> str:
    """What the attacks of :mod:`tests.fuzz.attacks` cost, as a table."""
    lines = ["| attack | file | KiB | outcome | seconds | peak, MiB |", "|-|-|-:|-|-:|-:|"]
    command = [sys.executable, "-m", "tests.fuzz.attacks", *names]
    for one in map(json.loads, subprocess.check_output(command, text=True, cwd=ROOT).splitlines()):
        cells = (f"`{one['name']}`", one["file"], one["bytes"] >> 10, one["outcome"], one["seconds"], one["peak"] >> 20)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("what", choices=["list", "run", "minimise", "seeds", "figures", "attacks"])
    parser.add_argument("targets", nargs="*", help="none: all; after minimise a target and files")
    parser.add_argument("--runs", type=int, default=-1, help="executions of each target")
    parser.add_argument("--seconds", type=int, default=0, help="time of each target")
    parser.add_argument("--largest", type=int, default=0, help="bytes of an input at most")
    parser.add_argument("--write", type=Path, help="put the figures between the marks of this file")
    asked = parser.parse_args()
    if asked.what == "minimise":
        target, *findings = asked.targets
        for found in findings:
            print(minimise(target, Path(found)))
        return
    targets = asked.targets or ALL_TARGETS
    if asked.what == "list":
        print("\n".join(ALL_TARGETS))
    elif asked.what == "run":
        if asked.runs < 0 and not asked.seconds:
            parser.error("say --runs or --seconds")
        sys.exit(0 if all([fuzz(target, asked.runs, asked.seconds, asked.largest) for target in targets]) else 1)
    elif asked.what == "figures":
        print(figures())
        if asked.write is not None:
            write_between(asked.write, "executions", figures())
    elif asked.what == "attacks":
        shown = attacks(asked.targets)
        print(shown)
        if asked.write is not None:
            write_between(asked.write, "attacks", shown)
    else:
        for target in targets:
            write_seeds(target)


if __name__ == "__main__":
    main()
