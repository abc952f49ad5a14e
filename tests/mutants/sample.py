"""``python -m tests.mutants.sample``: random mutants of functions that tests call, and how many are refused.

A mutant changes one place of a Python function of the product: a comparison, a condition, an operator, a number, a
constant. The sample is drawn with ``--seed`` (the date by default), from functions that one of ``--tests`` calls at
least. Each mutant meets the tests that call its function, those about it first: in forks of one process
(:mod:`tests.mutants.forked`), where most are refused within a second. Then come tests that call other functions of the
file, because not every call is seen: what an import, a thread or another process calls, or a cached answer. Those that
are still not refused meet the tests of their area that are not in the record of calls (not with ``--quick``). The score
is the share of mutants that a test refuses. Times are processor times, so that it is the same on a busy machine. A
mutant that nobody can notice (:data:`EQUIVALENT` says why) is left out; so are classes of them (:func:`changes_of`).

``--calls FILE`` keeps which test calls what. A folder of ``--tests`` that is not in the file is run and added to it.
Functions have their names there, so the file stays of use while the code changes. A test that is no more is not asked.
"""

from __future__ import annotations

import argparse
import ast
import datetime as dt
import json
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.mutant import ROOT
from tests.mutants.runner import FALLBACK, NO_ANSWER, Copy, copied_tree
from tests.mutants.unnoticed import EQUIVALENT, TUNED
from tests.support.marks import write_between

SCORE = 0.97
TESTS = (*FALLBACK, "tests/cli")
"""Folders of tests whose functions are changed."""
FIRST, MOST = 40, 400
"""How many tests a mutant meets at first, and then."""
SECONDS = 100.0
"""Longer tests are not asked. A test takes up to ten times as long while its calls are written down."""
_COMPARED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COUNTED: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
}
_AREAS = {"engines": "arrow", "_core": "core"}
"""Folders of tests that are not called as their package."""
_TEXTS = (ast.Raise, ast.JoinedStr, ast.Assert, ast.arguments, ast.AnnAssign)
_SHOWN = {"__repr__", "_repr_html_", "__str__", "__dir__"}

Calls = dict[str, tuple[float, Sequence[Sequence[str]]]]
"""{test: (seconds, functions), and a function is (file, qualified name)}."""
Callers = dict[str, dict[str, set[str]]]
"""{file: {test: names of functions of the file}}."""


@dataclass(frozen=True)
class Change:
    """``before`` at these offsets of a file becomes ``after``, for the ``number``-th time in the function."""

    file: str
    function: str
    start: int
    end: int
    before: str
    after: str
    number: int

    @property
    def name(self) -> str:
        """What a person reads, and :data:`EQUIVALENT` has: it does not change with the lines above."""
        again = f" (number {self.number})" if self.number > 1 else ""
        return f"{self.file}:{self.function}: {' '.join(self.before.split())} -> {' '.join(self.after.split())}{again}"


def changes_of(file: str, text: str) -> Iterator[Change]:
    """Every change of every function of a file."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()
    found: Counter[tuple[str, str, str]] = Counter()

    def place(node: ast.AST) -> tuple[int, int]:
        return (
            starts[node.lineno - 1] + node.col_offset,  # type: ignore[attr-defined]
            starts[node.end_lineno - 1] + node.end_col_offset,  # type: ignore[attr-defined]
        )

    def walk(node: ast.AST, names: tuple[str, ...], own: bool) -> Iterator[Change]:
        for child in ast.iter_child_nodes(node):
            inner, within = names, own
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                inner = (*names, child.name)
                within = own or not isinstance(child, ast.ClassDef)
            if isinstance(child, _TEXTS) or child is getattr(node, "returns", None) or _SHOWN & {*inner}:
                continue  # texts and declarations
            if isinstance(child, ast.keyword) and (child.arg in ("maxsize", "use_threads") or is_assertion(child)):
                continue
            if within:
                for after in replacements(child):
                    start, end = place(child)
                    name, before = ".".join(inner), data[start:end].decode()
                    found[name, before, after] += 1
                    yield Change(file, name, start, end, before, after, found[name, before, after])
            yield from walk(child, inner, within)

    yield from walk(ast.parse(text), (), False)


def is_assertion(node: ast.keyword) -> bool:
    """Whether it is ``strict=True``, which says that sequences of our own have one length."""
    return node.arg == "strict" and isinstance(node.value, ast.Constant) and node.value.value is True


def runs_at_import(text: str, function: str) -> bool:
    """Whether a file's own import calls the function: its live code is then of no more use."""

    def at_import(node: ast.AST) -> Iterator[ast.AST]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for decorator in child.decorator_list:
                    yield from (decorator, *ast.walk(decorator))
            elif not isinstance(child, ast.Lambda):
                yield child
                yield from at_import(child)

    called = {node.id for node in at_import(ast.parse(text)) if isinstance(node, ast.Name)}
    return function.partition(".")[0] in called


def is_tuned(node: ast.Compare) -> bool:
    """Whether something is less or greater than one of :data:`TUNED`."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) and not TUNED.isdisjoint(names)


def replacements(node: ast.AST) -> Iterator[str]:
    """Sources that may stand in the place of an expression."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARED and not is_tuned(node):
        yield f"({ast.unparse(ast.Compare(node.left, [_COMPARED[type(node.ops[0])]()], node.comparators))})"
    elif isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        yield f"({word.join(f'({ast.unparse(value)})' for value in node.values)})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.BinOp) and type(node.op) in _COUNTED:
        yield f"({ast.unparse(ast.BinOp(node.left, _COUNTED[type(node.op)](), node.right))})"
    elif isinstance(node, ast.IfExp):
        yield f"({ast.unparse(ast.IfExp(node.test, node.orelse, node.body))})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield repr(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield repr(node.value + 1)


def sampled(calls: Calls, count: int, seed: int, root: Path) -> list[Change]:
    """``count`` changes below ``root``, drawn from all of the functions that a test calls."""
    called = {(file, name) for _, functions in calls.values() for file, name in functions}
    found: list[Change] = []
    for file in sorted({file for file, _ in called if (root / file).exists()}):
        found += [c for c in changes_of(file, (root / file).read_text()) if (file, c.function) in called]
    return random.Random(seed).sample(found, min(count, len(found)))


def callers_of(calls: Calls) -> Callers:
    """Which tests call a file, and which functions of it."""
    found: Callers = defaultdict(lambda: defaultdict(set))
    for test, (_, functions) in calls.items():
        for file, name in functions:
            found[file][test].add(name)
    return found


def tests_of(change: Change, calls: Calls, callers: Callers) -> list[str]:
    """The tests that call the function, and then others that call its file.

    Of each kind those that call the fewest functions, which are about this one, in turn with the quickest of each file,
    then the second ones, and so on.
    """
    found: dict[tuple[bool, str], list[tuple[float, str]]] = defaultdict(list)
    for test, functions in callers[change.file].items():
        if (seconds := calls[test][0]) <= SECONDS:
            found[change.function not in functions, test.partition("::")[0]].append((seconds, test))
    ranks = [(other, rank, *one) for (other, _), tests in found.items() for rank, one in enumerate(sorted(tests))]
    quickest = [(other, test) for other, *_, test in sorted(ranks)]
    narrowest = sorted(quickest, key=lambda one: (one[0], len(calls[one[1]][1]), calls[one[1]][0]))
    ordered = dict.fromkeys(one for both in zip(narrowest, quickest, strict=True) for one in both)
    return [test for _, test in sorted(ordered, key=lambda one: one[0])]


def area_of(file: str, unknown: Sequence[str] = (), root: Path = ROOT) -> list[str]:
    """Tests about a file of the product: those of its folders that are ``unknown``, and damaged tables and attacks."""
    home, name = file.split("/")[:2]
    folders, files = [_AREAS.get(name, name), "table"], ["attacks"]
    if home == "plugins":
        folders, files = [name, "write"], [f"{name}_damage", "write_damage", "attacks"]
    named = [f"tests/fuzz/test_{one}.py" for one in files]
    return [
        *(test for test in unknown if test.startswith(tuple(f"tests/{one}/" for one in folders))),
        *(one for one in named if (root / one).exists()),
    ]


def in_forks(
    changes: Sequence[Change], calls: Calls, callers: Callers, copy: Copy, workers: int
) -> list[list[str] | None]:
    """What :mod:`tests.mutants.forked` says of each. None: it is killed. Else the tests that are still to be asked."""
    asked: list[dict[str, Any]] = []
    for change in changes:
        tests = tests_of(change, calls, callers)[:MOST]
        place = {"file": change.file, "start": change.start, "end": change.end, "after": change.after}
        asked.append({**place, "tests": tests})
    plan = copy.root / "forked.json"
    plan.write_text(json.dumps(asked))
    out = plan.with_name("forked.json.out")
    out.unlink(missing_ok=True)
    files = sorted({test.partition("::")[0] for one in asked for test in one["tests"]})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.forked", "-p", "no:cacheprovider"]
    environment = {**copy.environment, "TABLEFORMATS_FORKED": str(plan), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["TABLEFORMATS_WORKERS"] = str(workers)
    place_of_files = f"--basetemp={copy.root / 'tmp'}"  # each fork begins with an empty one
    subprocess.run(
        [*command, place_of_files, "-m", "not spark", *files],
        cwd=copy.root,
        env=environment,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    said = {number: one["tests"] for number, one in enumerate(asked)}
    for line in out.read_text().splitlines() if out.exists() else []:
        one = json.loads(line)
        change = changes[one["number"]]
        if one["outcome"] == "killed":
            said[one["number"]] = None
        elif not runs_at_import((copy.root / change.file).read_text(), change.function):
            said[one["number"]] = one["left"]
    return [*said.values()]


def outcome_of(change: Change, tests: Sequence[str], area: Sequence[str], copy: Copy) -> str:
    """ "killed" or "survived"; a mutant under which no test can run is killed."""
    for group in (tests[:FIRST], tests[FIRST:], area):
        asked = list(group)
        while asked:  # no names would ask for all tests
            with copy.changed(change.file, change.start, change.end, change.after):
                outcome, why = copy.test(asked)
            if outcome == "survived" or why == NO_ANSWER:  # there were many tests
                break
            failing = why.partition("[")[0]
            if outcome == "broken" or copy.test([failing])[0] == "survived":
                return "killed"
            asked = [one for one in asked if one.partition("[")[0] != failing]  # it fails without the mutant, too
            if asked and asked[0] in area:
                asked.append(f"--deselect={failing}")
    return "survived"


def recorded(copy: Copy, tests: Sequence[str]) -> Calls:
    """Run ``tests`` once in the copy and see which functions each calls."""
    target = copy.root / "calls.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.calls", "-p", "no:cacheprovider"]
    environment = {**copy.environment, "TABLEFORMATS_CALLS": str(target), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(
        [*command, "-m", "not spark", *tests], cwd=copy.root, env=environment, stdout=subprocess.DEVNULL, check=False
    )
    return json.loads(target.read_text())  # type: ignore[no-any-return]


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.mutants.sample", description=__doc__)
    options.add_argument("--count", type=int, default=200)
    options.add_argument("--seed", type=int, default=int(dt.date.today().strftime("%Y%m%d")))
    options.add_argument("--tests", nargs="*", default=TESTS)
    options.add_argument("--calls", type=Path, help="which test calls what: read from this file, or written to it")
    options.add_argument("--workers", type=int, default=1, help="how many mutants are judged at once")
    options.add_argument("--quick", action="store_true", help="ask no tests that are not in the record of calls")
    options.add_argument("--write", type=Path, help="put the score between the marks of this file")
    given = options.parse_args()
    killed, survivors = 0, []
    with copied_tree() as copy:
        known = given.calls is not None and given.calls.exists()
        calls = json.loads(given.calls.read_text()) if known else {}
        for folder in given.tests:
            if not any(test.startswith(folder) for test in calls):
                calls.update(recorded(copy, [folder]))
                if given.calls is not None:
                    given.calls.write_text(json.dumps(calls))
        unknown: list[str] = []
        present: set[str] = set()
        if not given.quick:
            present = copy.collected(given.tests)
            calls = {test: found for test, found in calls.items() if test in present}
            unknown = sorted(present - {*calls})
        calls = {test: found for test, found in calls.items() if (copy.root / test.partition("::")[0]).exists()}
        if not calls:
            raise SystemExit(f"no test ran: {' '.join(given.tests)}")
        drawn = sampled(calls, given.count, given.seed, copy.root)
        changes = [change for change in drawn if change.name not in EQUIVALENT]
        left_out = len(drawn) - len(changes)
        callers = callers_of(calls)
        for change, left in zip(changes, in_forks(changes, calls, callers, copy, given.workers), strict=True):
            at_import = runs_at_import((copy.root / change.file).read_text(), change.function)
            # What an import calls, no test is seen to call: all tests of the area are asked.
            area = [] if given.quick else area_of(change.file, sorted(present) if at_import else unknown)
            outcome = "killed" if left is None else outcome_of(change, left, area, copy)
            killed += outcome == "killed"
            print(f"{outcome:9} {change.name}", flush=True)
            if outcome == "survived":
                survivors.append(change.name)
    score = killed / max(killed + len(survivors), 1)
    text = f"seed {given.seed}: {killed} of {killed + len(survivors)} killed ({score:.1%}), {left_out} left out"
    print(text)
    if given.write is not None:
        folders = ", ".join(f"`{name}`" for name in given.tests)
        names = "".join(f"\n- `{name}`" for name in survivors)
        write_between(given.write, "sample", f"Tests of {folders}; {text}.\n{names and 'Not killed:'}{names}")
    if score < SCORE:
        raise SystemExit(f"less than {SCORE:.0%}; not killed: " + "; ".join(survivors))


if __name__ == "__main__":
    main()
