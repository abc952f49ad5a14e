"""Files that we keep beside those that other planners keep, for the same tables and predicates.

    python -m tests.spark.compare.files --write docs/measured/files_kept.md

Predicates are such that each planner's SQL takes: comparisons of columns with constants, IN, BETWEEN, LIKE and NULL
tests, alone and combined. A planner that drops a file with a matching row is wrong there; its count is not compared.

Where we keep more, the reason is looked for: what the planner takes for a proof, and a table on which it loses rows by
the same proof (:mod:`tests.spark.compare.proofs`).
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import tableformats as tf

from .oracle import Oracle
from .planners import PLANNERS, Kept, NotAsked, Plan
from .proofs import Proof, losses, proof_of, table_of
from .session import JARS, Unavailable, session
from .tables import CASES, Case, write_all

CONSTANTS = {
    **{name: ["0", "25", "42", "8589934592", "9007199254740992"] for name in ("rid", "l")},
    "i": ["0", "1", "5", "25", "26", "100", "-1"],
    "e": ["0.00", "25.00", "25.25", "-100.50"],
    "x": ["0.0", "1.5", "25.0", "-2.5", "1e308"],
    "s": ["'a'", "'ab'", "'b'", "'25'", "'zz'", "''", "'x y'", "'true'", "'é'"],
    "d": ["DATE '2024-03-01'", "DATE '1970-01-01'", "DATE '2023-12-31'", "DATE '2024-03-15'"],
    "t": ["TIMESTAMP '2024-03-01 00:00:00+00:00'", "TIMESTAMP '1970-01-01 00:00:00+00:00'"],
}


@dataclass
class Beside:
    """One planner beside us, over the predicates that it took."""

    asked: int = 0
    ours: int = 0
    theirs: int = 0
    equal: int = 0
    fewer: int = 0
    wrong: list[str] = field(default_factory=list)
    more: list[tuple[str, Proof]] = field(default_factory=list)
    not_asked: Counter[str] = field(default_factory=Counter)


Found = dict[str, dict[str, Beside]]


def predicates(case: Case, seed: int, number: int) -> list[str]:
    chance = random.Random(f"{seed}-{case.name}-files")
    usable = [name for name in CONSTANTS if case.columns().get(name)]
    if case.name == "delta-evolved":
        usable.remove("i")  # each planner names its own type of a widened column's constant
    return [_predicate(chance, usable) for _ in range(number)]


def _predicate(chance: random.Random, names: list[str]) -> str:
    if chance.random() < 0.35:
        return f"({_leaf(chance, names)}) {chance.choice(('AND', 'OR'))} ({_leaf(chance, names)})"
    return _leaf(chance, names)


def _leaf(chance: random.Random, names: list[str]) -> str:
    name = chance.choice(names)
    one, two = chance.choice(CONSTANTS[name]), chance.choice(CONSTANTS[name])
    shape = chance.random()
    if name == "s" and shape < 0.15:
        return f"s LIKE '{chance.choice(('a%', 'ab%', 'z%', '2%'))}'"
    if shape < 0.6:
        return f"{name} {chance.choice(('=', '=', '<', '>', '<=', '>=', '<>'))} {one}"
    if shape < 0.75:
        return f"{name} {chance.choice(('', '', 'NOT '))}IN ({one}, {two})"
    if shape < 0.85:
        return f"{name} BETWEEN {one} AND {two}"
    return f"{name} IS {chance.choice(('', 'NOT '))}NULL"


def compare(case: Case, seed: int, number: int) -> dict[str, Beside]:
    texts = predicates(case, seed, number)
    oracle = Oracle(session, case)
    answers, file_of = oracle.answers(texts), oracle.file_of
    oracle.close()  # what Spark holds in memory, it does not plan
    snapshot = tf.open_table(case.folder).snapshot()
    found = {}
    for name, start in PLANNERS.items():
        beside = found[name] = Beside()
        try:
            plan = start(case)
        except NotAsked as error:
            beside.not_asked[str(error)] += 1
            continue
        for text, answer in zip(texts, answers, strict=True):
            if answer.rows is not None:
                needed = frozenset(file_of[rid] for rid in answer.rows)
                _judge(beside, plan, snapshot, text, needed)
    return found


def _judge(beside: Beside, plan: Plan, snapshot: tf.Snapshot, text: str, needed: frozenset[str]) -> None:
    ours = len(snapshot.scan(text).plan())
    try:
        theirs = plan(text)
    except NotAsked as error:
        beside.not_asked[str(error)] += 1
        return
    beside.asked += 1
    if _loses(theirs, needed):
        beside.wrong.append(text)
        return
    beside.ours += ours
    beside.theirs += theirs.number
    beside.equal += ours == theirs.number
    beside.fewer += ours < theirs.number
    if ours > theirs.number:
        beside.more.append((f"{text}: {ours}, not {theirs.number}", proof_of(snapshot, text, theirs.number)))


def _loses(kept: Kept, needed: frozenset[str]) -> bool:
    """Whether a file with a matching row is missing. Names are compared without their encoding of paths."""
    return kept.number < len(needed) or (kept.names is not None and not needed <= kept.names)


def text(found: Found, seed: int, number: int) -> str:
    lines = [
        "# Files kept",
        "",
        "`python -m tests.spark.compare.files` writes this page: the files that planners keep, for the same tables and",
        f"predicates ({number} a table, seed {seed}). Only predicates that a planner takes are counted beside it, and",
        "only those for which it keeps all files with matching rows.",
        "",
        f"Tables by {', '.join(f'`{jar}`' for jar in JARS if 'spark' in jar)}.",
        "",
        "| Planner | Predicates | Our files | Its files | Equal | We keep fewer | We keep more | It is wrong |",
        "|-|-|-|-|-|-|-|-|",
    ]
    for name in PLANNERS:
        every = [by[name] for by in found.values()]
        sums = [sum(getattr(b, part) for b in every) for part in ("asked", "ours", "theirs", "equal", "fewer")]
        more, wrong = sum(len(b.more) for b in every), sum(len(b.wrong) for b in every)
        lines.append("| " + " | ".join(map(str, [name, *sums, more, wrong])) + " |")
    lines += ["", "## Tables", "", "Our files / its files, over the predicates that it takes.", ""]
    lines += ["| Table | " + " | ".join(PLANNERS) + " |", "|-|" + "-|" * len(PLANNERS)]
    for table, by in found.items():
        cells = [f"{b.ours} / {b.theirs}" if b.asked else "" for b in by.values()]
        lines.append(f"| {table} | " + " | ".join(cells) + " |")
    wrong = [(n, t, line) for t, by in found.items() for n, b in by.items() for line in b.wrong]
    if wrong:
        lines += ["", "## It is wrong", "", "| Planner | Table | Predicate |", "|-|-|-|"]
        lines += [f"| {n} | {t} | `{line}` |" for n, t, line in wrong]
    more = [(n, t, *line) for t, by in found.items() for n, b in by.items() for line in b.more]
    if more:
        lines += [
            "",
            "## We keep more",
            "",
            "What the planner takes for a proof there is none, as the next table shows.",
        ]
        lines += ["| Planner | Table | Predicate | It takes for a proof |", "|-|-|-|-|"]
        lines += [f"| {n} | {t} | `{line}` | {proof.value} |" for n, t, line, proof in more]
        lines += ["", *table_of(losses({(n, proof) for n, _, _, proof in more}))]
    reasons: Counter[tuple[str, str]] = Counter()
    for by in found.values():
        for name, beside in by.items():
            reasons.update({(name, why): n for why, n in beside.not_asked.items() if not why.startswith("reads ")})
    if reasons:
        lines += ["", "## Not asked", "", "| Planner | Reason | Times |", "|-|-|-|"]
        lines += [f"| {name} | {why.replace('|', '/')} | {n} |" for (name, why), n in reasons.most_common()]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.spark.compare.files", description=__doc__)
    parser.add_argument("--predicates", type=int, default=25, help="of each table")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--table", action="append", help="these tables alone")
    parser.add_argument("--write", type=Path, help="the file for the figures")
    chosen = parser.parse_args()
    try:
        write_all(session)
        cases = [case for case in CASES if not chosen.table or case.name in chosen.table]
        found: Found = {}
        for case in cases:
            found[case.name] = compare(case, chosen.seed, chosen.predicates)
            print(case.name, {n: (b.asked, len(b.more), len(b.wrong)) for n, b in found[case.name].items()}, flush=True)
    except Unavailable as error:
        sys.exit(str(error))
    page = text(found, chosen.seed, chosen.predicates)
    print(page)
    if chosen.write:
        chosen.write.write_text(page)
    return int(any(proof is Proof.NONE for by in found.values() for b in by.values() for _, proof in b.more))


if __name__ == "__main__":
    sys.exit(main())
