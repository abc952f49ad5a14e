"""What takes too long for each change; docs/measured/histories.md has the figures.

    python -m tests.histories run --histories 2000 --steps 200000   # interleaved writers of both formats
    python -m tests.histories pairs                                 # each pair of operations, by hand-written tables
    python -m tests.histories triples                               # each three operations, by the same tables
    python -m tests.histories faults                                # each request of each operation, in every way
    python -m tests.histories proxied                               # each answer of an S3 server, in every way
    python -m tests.histories killed                                # writers that are killed at each change and request
    python -m tests.histories peers                                 # known bugs, staged for peers and for us
    python -m tests.histories peers-jars                            # the same for delta-spark and Iceberg's runtime
    python -m tests.histories elsewhere --histories 200             # judged by porcupine too; needs Go
    python -m tests.histories company --seconds 60                  # beside deltalake and PyIceberg, on one table
    python -m tests.histories jars --seconds 120                    # beside delta-spark and Iceberg's runtime

``--write docs/measured/histories.md`` writes the figures there.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from ..support.marks import write_between
from . import failing_catalog, failing_http
from .company import COMPANIES, OF_THE_JVM, Company, kept
from .elsewhere import damaged, exported, history_of, verdicts
from .failing import FaultFoundError, all_cases
from .failing_catalog import SQL
from .interleaving import CASES
from .killing import VERBS, killed_locally, killed_on_s3
from .pairs import TABLES, cells, outcome
from .pairs import triples as all_triples
from .peers import CASES as PEER_CASES
from .peers import Case, outcomes, right
from .peers_jvm import DELTA_SPARK, version_of_jar
from .peers_jvm_iceberg import ICEBERG_RUNTIME
from .tasks import fail, interleave, race

JAR_CASES: Mapping[str, Case] = {**DELTA_SPARK, **ICEBERG_RUNTIME}


def runs(histories: int, steps: int, jobs: int, first: int) -> tuple[str, list[str]]:
    """The table of interleaved histories, at least so many with so many steps in all, and the violations."""
    counts: Counter[str] = Counter()
    violations: list[str] = []
    with multiprocessing.get_context("forkserver").Pool(jobs) as pool:
        while counts["histories"] < histories or counts["steps"] < steps:
            tasks = [(*case, first + seed) for seed in range(20) for case in CASES]
            first += 20
            for found, wrong in pool.imap_unordered(interleave, tasks, 4):
                counts.update(found)
                violations += wrong
            print(f"{counts['histories']} histories, {counts['steps']} steps, {len(violations)} violations", flush=True)
    lines = ["| format, isolation | histories | steps | committed or read | conflicts |", "|-|-|-|-|-|"]
    for format, level in CASES:
        name = f"{format}, {level}"
        found = [counts[f"{name}: {what}"] for what in ("histories", "steps", "ok", "fail")]
        lines.append(f"| {name} | " + " | ".join(f"{n:,}" for n in found) + " |")
    told = f"{counts['histories']:,} histories, {counts['steps']:,} steps, {len(violations)} violations."
    return "\n".join([told, "", *lines]), violations


def faults(jobs: int) -> tuple[str, list[str]]:
    """The table of faults, and the violations."""
    counts: Counter[str] = Counter()
    violations: list[str] = []
    with multiprocessing.get_context("forkserver").Pool(jobs) as pool:
        for found, wrong in pool.imap_unordered(fail, chain(all_cases(), failing_catalog.cases()), 16):
            counts.update(found)
            violations += wrong
    lines = [
        "| format | faults | the operation succeeded | failed, outcome unknown to the caller | refused |",
        "|-|-|-|-|-|",
    ]
    for format in (formats := ("delta", "iceberg", SQL)):
        found = [counts[format], *(counts[f"{format}: {outcome}"] for outcome in ("ok", "unknown", "fail"))]
        lines.append(f"| {format} | " + " | ".join(f"{n:,}" for n in found) + " |")
    total = sum(counts[format] for format in formats)
    return "\n".join([f"{total:,} faults, {len(violations)} did harm.", "", *lines]), violations


def proxied() -> tuple[str, list[str]]:
    """The table of answers that went wrong on their way, and the violations."""
    counts: Counter[str] = Counter()
    violations: list[str] = []
    with failing_http.serving():
        for format, name, number, fault in failing_http.cases():
            counts[format] += 1
            try:
                counts[f"{format}: {failing_http.judge(format, name, number, fault)}"] += 1
            except FaultFoundError as error:
                violations.append(str(error))
            if sum(counts[format] for format in ("delta", "iceberg")) % 100 == 0:
                print(dict(counts), len(violations), flush=True)
    lines = ["| format | faults | the operation succeeded | failed, outcome unknown to the caller | refused |"]
    lines.append("|-|-|-|-|-|")
    for format in ("delta", "iceberg"):
        found = [counts[format], *(counts[f"{format}: {outcome}"] for outcome in ("ok", "unknown", "fail"))]
        lines.append(f"| {format} | " + " | ".join(f"{n:,}" for n in found) + " |")
    total = counts["delta"] + counts["iceberg"]
    return "\n".join([f"{total:,} faults, {len(violations)} did harm.", "", *lines]), violations


def killed() -> tuple[str, list[str]]:
    """The table of killed writers, and the violations. Each is killed one change later, until one comes to its end."""
    places = itertools.product(("delta", "iceberg"), ("disk", "disk, torn", "S3"))
    counts: Counter[str] = Counter()
    violations: list[str] = []
    for format, where, name in ((*place, name) for place in places for name in VERBS[place[0]]):
        found, wrong = _killed((format, where, name))
        counts.update(found)
        violations += wrong
        print(format, where, name, dict(found), len(violations), flush=True)
    lines = ["| format | store | killed writers | files that nothing names, all listed as orphans |", "|-|-|-|-|"]
    for key in dict.fromkeys(key.rpartition(" | ")[0] for key in counts):
        lines.append(f"| {key} | {counts[f'{key} | killed']:,} | {counts[f'{key} | orphans']:,} |")
    total = sum(n for key, n in counts.items() if key.endswith("killed"))
    return "\n".join([f"{total:,} writers were killed, {len(violations)} violations.", "", *lines]), violations


def _killed(case: tuple[str, str, str]) -> tuple[Counter[str], list[str]]:
    format, where, name = case
    counts: Counter[str] = Counter()
    violations: list[str] = []
    number, was_killed, key = 0, True, f"{format} | {where}"
    while was_killed:
        if where == "S3":
            was_killed, found, orphans = killed_on_s3(format, name, number)
        else:
            was_killed, found, orphans = killed_locally(format, name, number, where != "disk")
        counts[f"{key} | killed"] += was_killed
        counts[f"{key} | orphans"] += orphans * was_killed
        violations += [f"{key}, {name}, {number}: {what}" for what in found]
        number += 1
    return counts, violations


def peers(cases: Iterable[Case], version_of: Callable[[str], str]) -> tuple[str, list[str]]:
    """The table of known bugs, and those that we have."""
    lines, wrong = ["| fault | peer | the peer | tableformats |", "|-|-|-|-|"], []
    for what, peer, theirs, ours in outcomes(cases):
        lines.append(f"| {what} | {peer} {version_of(peer)} | {theirs} | {ours} |")
        wrong += [] if right(ours) else [f"{what}: {ours}"]
    return "\n".join(lines), wrong


def company(companies: Mapping[str, Company], seconds: float, only: str | None) -> tuple[str, list[str]]:
    """The table of mixed companies, each of which writes for some seconds, and the violations.

    Those of a company that is not safe are counted, and are none of ours.
    """
    lines = [
        "| writers of one table | store | committed or read | conflicts | other errors | versions | violations |",
        "|-|-|-|-|-|-|-|",
    ]
    wrong: list[str] = []
    notes: list[str] = []
    for name, members in companies.items():
        if only is not None and only not in name:
            continue
        found = kept(members, seconds)
        if not members.unsafe:
            wrong += [f"{name}: {what}" for what in found.violations]
        elif found.violations:
            notes += ["", f"{name}: {members.unsafe}. The first violation: {found.violations[0]}."]
        writers = dict.fromkeys(members.writers)
        cells = [" / ".join(f"{found.counts[w, end]:,}" for w in writers) for end in ("ok", "fail", "unknown")]
        told = ", ".join(f"{members.writers.count(w)} x {w}" for w in writers)
        counted = f"{found.versions:,} | {len(found.violations):,}"
        lines.append(f"| {told} | {members.store} | {' | '.join(cells)} | {counted} |")
        print(lines[-1], len(wrong), flush=True)
    return "\n".join([f"{seconds:g} seconds each.", "", *lines, *notes]), wrong


def elsewhere(histories: int, first: int) -> tuple[str, list[str]]:
    """What porcupine says of histories, and of the same with a lost write."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for begin in range(first, first + histories // 2, 25):
        seeds = range(begin, min(begin + 25, first + histories // 2))
        cases = [(format, seed) for format in ("delta", "iceberg") for seed in seeds]
        made = [history_of(*case) for case in cases]
        with tempfile.TemporaryDirectory() as folder:
            whole = verdicts([exported(history) for history in made], Path(folder))
            lost = verdicts([damaged(history) for history in made], Path(folder))
        for case, history, verdict, other in zip(cases, made, whole, lost, strict=True):
            counts.update({"histories": 1, "operations": len(history.operations)})
            counts.update([f"whole: {verdict}", f"lost: {other}"])
            wrong += [] if (verdict, other) == ("ok", "illegal") else [f"{case}: {verdict}, {other}"]
        print(dict(counts), flush=True)
    text = (
        f"{counts['histories']:,} histories with {counts['operations']:,} operations: porcupine explains "
        f"{counts['whole: ok']:,}, and refuses {counts['lost: illegal']:,} of the same with a write that is lost."
    )
    return text, wrong


def pairs(jobs: int) -> tuple[str, list[str]]:
    """How many pairs of operations were tried, and those that end in another way than the tables say."""
    lines, wrong = ["| format, isolation | pairs | conflicts |", "|-|-|-|"], []
    with multiprocessing.get_context("forkserver").Pool(jobs) as pool:
        for format, level in TABLES:
            told = cells(format, level)
            for found in pool.imap_unordered(race, [(format, level, *cell) for cell in told], 4):
                wrong += found
            conflicts = sum(wanted == "X" for *_, wanted in told)
            lines.append(f"| {format}, {level} | {len(told)} | {conflicts} |")
            print(lines[-1], len(wrong), flush=True)
    return "\n".join([f"{len(wrong)} of the pairs end in another way.", "", *lines]), wrong


def triples(each: int) -> tuple[str, list[str]]:
    """How many triples were tried, one of ``each``, and those that end in another way than the tables of pairs say."""
    lines, wrong = ["| format, isolation | triples | committed | conflicts |", "|-|-|-|-|"], []
    for format, level in TABLES:
        counts: Counter[str] = Counter()
        told = list(all_triples(format, level))[::each]
        for names, wanted in told:
            found, violations = outcome(format, level, *names)
            counts.update(found)
            if violations or any(end not in ends for end, ends in zip(found, wanted, strict=True)):
                wrong.append(f"{format}, {level}: {names} end with {found}, not {wanted}: {violations}")
        lines.append(f"| {format}, {level} | {len(told):,} | {counts['.']:,} | {counts['X']:,} |")
        print(lines[-1], len(wrong), flush=True)
    return "\n".join([f"{len(wrong)} of the triples end in another way.", "", *lines]), wrong


def main(arguments: Sequence[str] | None = None) -> int:
    commands: dict[str, Callable[[], tuple[str, list[str]]]] = {
        "run": lambda: runs(given.histories, given.steps, given.jobs, given.first),
        "pairs": lambda: pairs(given.jobs),
        "triples": lambda: triples(given.each),
        "faults": lambda: faults(given.jobs),
        "proxied": proxied,
        "killed": killed,
        "peers": lambda: peers(PEER_CASES.values(), lambda peer: version(peer.lower())),
        "peers-jars": lambda: peers(JAR_CASES.values(), version_of_jar),
        "company": lambda: company(COMPANIES, given.seconds, given.only),
        "jars": lambda: company(OF_THE_JVM, given.seconds, given.only),
        "elsewhere": lambda: elsewhere(given.histories, given.first),
    }
    parser = argparse.ArgumentParser(prog="python -m tests.histories", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=tuple(commands))
    parser.add_argument("--histories", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--each", type=int, default=1, help="one of so many triples")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each company")
    parser.add_argument("--only", help="companies with this in their names")
    parser.add_argument("--write", type=Path)
    given = parser.parse_args(arguments)
    text, violations = commands[given.what]()
    print(text)
    print(*violations[:50], sep="\n")
    if given.write is not None and not violations:
        write_between(given.write, given.what, text)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
