"""A plugin of pytest that puts mutants into live functions, each in a fork: ``-p tests.mutants.forked``.

The tests are collected once. A fork gives the function that a mutant changes its new code and runs the tests that call
it, so that nothing is imported anew. A mutant is "killed" if a test fails, or does not answer, that passes without the
mutant and after the same tests. Else it is "open": what an import, a decorator or another process runs is not seen.

``TABLEFORMATS_FORKED`` names a JSON file: a list of {file, function, start, end, after, tests}, whose tests are in the
order in which they are asked. One line of JSON for each goes to the file's name with ``.out``, with the tests that are
``left`` to be asked elsewhere: those that fail in a fork whatever the code is, or all, if the mutant is not seen here.
``TABLEFORMATS_WORKERS`` says how many mutants are judged at once.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutants.clock import Clock

ROOT = Path(__file__).resolve().parents[2]
CHUNK = 40
"""So many tests are run file by file, before the next ones."""
PATIENCE = 60.0
"""Seconds (of :class:`Clock`) that one test may take. Those that took more than a third of it are not asked."""
ENOUGH = 300.0
"""Seconds after which no more forks judge a mutant: what an import calls may let many tests wait, or fail at random."""
LOOK = 0.5
"""Seconds between two looks at its clock."""
ALL_PASS = "all pass"
FAILS = "fails"
FAULT = 3
"""How a fork ends in which no test could be run."""

_steady: set[str] = set()
_unsteady: set[str] = set()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    name = os.environ.get("TABLEFORMATS_FORKED")
    if not name:
        return None
    mutants = list(enumerate(json.loads(Path(name).read_text())))
    items = {item.nodeid: item for item in session.items}
    workers = int(os.environ.get("TABLEFORMATS_WORKERS", "1"))
    children = []
    for worker in range(workers):
        if child := os.fork():
            children.append(child)
            continue
        try:
            place = session.config._tmp_path_factory  # type: ignore[attr-defined]
            place._given_basetemp = place._given_basetemp.with_name(f"tmp{worker}")
            judge_all(mutants[worker::workers], items, f"{name}.out")
        finally:
            os._exit(0)
    for child in children:
        os.waitpid(child, 0)
    return True


def judge_all(mutants: Sequence[tuple[int, dict[str, Any]]], items: dict[str, pytest.Item], name: str) -> None:
    """Write down what becomes of the mutants, which have numbers."""
    for number, mutant in mutants:
        started = time.monotonic()
        outcome, why = judged(mutant, items)
        left = [test for test in mutant["tests"] if test in items and (why != ALL_PASS or test in _unsteady)]
        found = {"outcome": outcome, "why": why, "seconds": round(time.monotonic() - started, 1), "left": left}
        with open(name, "a", encoding="utf-8") as out:
            out.write(json.dumps({"number": number, **found}) + "\n")


def judged(mutant: dict[str, Any], items: dict[str, pytest.Item]) -> tuple[str, str]:
    """("killed", the test) or ("open", why)."""
    asked = [items[test] for test in in_chunks(mutant["tests"]) if test in items and test not in _unsteady]
    why, end = "no test", time.monotonic() + ENOUGH
    while asked:
        if time.monotonic() > end:
            return "open", "no time"
        is_noticed, why = in_a_fork(asked, mutant)
        if not is_noticed:
            break
        at = [item.nodeid for item in asked].index(why)
        if why in _steady or is_steady(asked[: at + 1], mutant):
            _steady.add(why)
            return "killed", why
        asked, why = asked[at + 1 :], ALL_PASS
    return "open", why


def is_steady(items: Sequence[pytest.Item], mutant: dict[str, Any]) -> bool:
    """Whether the last test fails because of the mutant, alone or after the others, and not at random."""
    sound, alone = {**mutant, "after": None}, items[-1:]
    if in_a_fork(alone, sound)[0]:
        _unsteady.add(alone[0].nodeid)
        return False
    if in_a_fork(alone, mutant)[0]:
        return True
    return in_a_fork(items, mutant)[1] == alone[0].nodeid and not in_a_fork(items, sound)[0]


def in_chunks(tests: Sequence[str]) -> Iterator[str]:
    """The tests, of which each :data:`CHUNK` are ordered by file, so that what a file makes is made once."""
    for start in range(0, len(tests), CHUNK):
        chunk = tests[start : start + CHUNK]
        files = list(dict.fromkeys(test.partition("::")[0] for test in chunk))
        yield from sorted(chunk, key=lambda test: files.index(test.partition("::")[0]))


def in_a_fork(items: Sequence[pytest.Item], mutant: dict[str, Any]) -> tuple[bool, str]:
    """(True, the test that fails, does not answer, or ends the process), or (False, why no test does)."""
    receiving, sending = os.pipe()
    child = os.fork()
    if not child:
        status = FAULT
        try:
            os.setsid()
            os.close(receiving)
            silent = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(silent, descriptor)
            os.write(sending, outcome_of(items, mutant, sending).encode())
            status = 0
        except Exception as error:
            os.write(sending, repr(error).replace("\n", " ").encode())
        finally:
            os._exit(status)
    os.close(sending)
    clock, said, began = Clock(child), b"", 0.0
    with os.fdopen(receiving, "rb", buffering=0) as answers:
        while not (done := os.waitpid(child, os.WNOHANG))[0]:
            if select.select([answers], [], [], LOOK)[0]:
                said += answers.read(1 << 16)
                began = -1.0
                time.sleep(0.001)  # what has ended is readable, too
                continue
            spent = clock.spent()
            began = spent if began < 0 else began
            if spent - began > PATIENCE:
                os.killpg(child, signal.SIGKILL)
                done = os.waitpid(child, 0)
                break
        os.set_blocking(receiving, False)  # a process that a test left behind may hold the other end
        said += answers.read() or b""
    *begun, answer = said.decode().split("\n")
    status = os.waitstatus_to_exitcode(done[1])
    if status == 0:
        return answer == FAILS, begun[-1] if answer == FAILS else answer
    return (False, f"exit {status}: {answer}") if status == FAULT or not begun else (True, begun[-1])


def outcome_of(items: Sequence[pytest.Item], mutant: dict[str, Any], begun: int) -> str:
    """:data:`FAILS`, or why no test does. Each test that begins is told to ``begun``."""
    if mutant["after"] is not None and not changed(mutant):
        return "not in live code"
    for item, following in zip(items, [*items[1:], None], strict=True):
        os.write(begun, f"{item.nodeid}\n".encode())
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
            return FAILS
    return ALL_PASS


def changed(mutant: dict[str, Any]) -> bool:
    """Give live functions the mutant's code. False where there is none with other code."""
    path = ROOT / mutant["file"]
    sound = path.read_bytes()
    text = sound[: mutant["start"]] + mutant["after"].encode() + sound[mutant["end"] :]
    home = "tableformats" if mutant["file"].startswith("tableformats/") else "/".join(mutant["file"].split("/")[:2])
    parts = Path(mutant["file"]).relative_to(home if home != "tableformats" else ".").with_suffix("").parts
    importlib.import_module(".".join(parts).removesuffix(".__init__"))
    old, mutated = ([*codes(compile(source, str(path), "exec"))] for source in (sound, text))
    if [code.co_name for code in old] != [code.co_name for code in mutated]:
        return False
    new = {key(before): after for before, after in zip(old, mutated, strict=True) if meaning(before) != meaning(after)}
    found = False
    gc.unfreeze()  # what is frozen is not listed
    for one in gc.get_objects():
        # A dead weak proxy raises when it is asked for its class, as isinstance does.
        if type(one) is FunctionType and one.__code__.co_filename == str(path):
            after = new.get(key(one.__code__))
            if after is not None and len(after.co_freevars) == len(one.__code__.co_freevars):
                one.__code__ = after
                found = True
    return found


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code and the codes in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def meaning(code: CodeType) -> tuple[object, ...]:
    """What the code does, and the codes in it, wherever its text stands."""
    constants = [meaning(one) if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def key(code: CodeType) -> tuple[object, ...]:
    """Which code of a file it is."""
    return code.co_firstlineno, code.co_name, code.co_code, code.co_varnames
