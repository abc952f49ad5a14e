"""Random mutants: what is changed, what is left out, and how forks of a process judge them."""

from __future__ import annotations

import ast
import os
import sys
import time
import weakref
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tableformats.columnar import arrays
from tableformats.expressions.functions.temporal import calendars
from tests.mutants import clock, forked, sample
from tests.mutants.sample import Change, changes_of, replacements

SOURCE = """
@lru_cache(maxsize=64)
def f(a, b=1):
    for x, y in zip(a, b, strict=True):
        if x < 2 and not y:
            raise ValueError(f"{x + 1}")
    return g(a, strict=False, use_threads=False)
"""


def test_texts_assertions_sizes_of_caches_and_threads_are_left_out() -> None:
    found = [(change.function, change.before, change.after) for change in changes_of("m.py", SOURCE)]
    assert found == [
        ("f", "x < 2 and not y", "((x < 2) or (not y))"),
        ("f", "x < 2", "(x <= 2)"),
        ("f", "2", "3"),
        ("f", "not y", "(y)"),
        ("f", "False", "True"),
    ]


def test_functions_that_an_import_calls_are_told() -> None:
    text = "@deco(1)\ndef f(): return later()\nTABLE = {n: made(n) for n in range(3)}\nclass C:\n    x = own()\n"
    found = [name for name in ("deco", "made", "own", "later", "f") if sample.runs_at_import(text, name)]
    assert found == ["deco", "made", "own"]


def test_on_which_side_a_tuned_number_lies_is_left_out() -> None:
    texts = ("len(a) <= _FEW", "2 * WHOLE_BYTES > size", "a < _FEWER", "a == _FEW")
    found = [[*replacements(ast.parse(text, mode="eval").body)] for text in texts]
    assert found == [[], [], ["(a <= _FEWER)"], ["(a != _FEW)"]]


@pytest.mark.parametrize(
    ("source", "mutant"),
    [
        ("a | (b == c)", "(a & (b == c))"),
        ("(a - b) - (c - d)", "(a - b + (c - d))"),
        ("a + b * c", "(a - b * c)"),
        ("(a == b) != c", "((a == b) == c)"),
        ("a if b else (c if d else e)", "((c if d else e) if b else a)"),
    ],
)
def test_operands_stay_together(source: str, mutant: str) -> None:
    assert [*replacements(ast.parse(source, mode="eval").body)] == [mutant]


def test_tests_that_call_the_function_come_before_others_of_its_file() -> None:
    """Those that call little else first, in turn with the quickest of each file."""
    calls = {
        "tests/a.py::slow": (2.0, [("m.py", "f")]),
        "tests/a.py::quick": (1.0, [("m.py", "f"), ("m.py", "g")]),
        "tests/b.py::other": (0.5, [("m.py", "g")]),
        "tests/b.py::own": (3.0, [("m.py", "f")]),
        "tests/b.py::long": (999.0, [("m.py", "f")]),
        "tests/c.py::elsewhere": (0.1, [("n.py", "f")]),
    }
    change = Change("m.py", "f", 0, 1, "1", "2", 1)
    found = sample.tests_of(change, calls, sample.callers_of(calls))
    assert found == ["tests/a.py::slow", "tests/a.py::quick", "tests/b.py::own", "tests/b.py::other"]


def item_of(name: str, passes: Callable[[], object]) -> Any:
    return SimpleNamespace(nodeid=f"tests/test_x.py::{name}", passes=passes)


@pytest.mark.thread_unsafe
@pytest.mark.skipif(sys.platform == "win32", reason="forks need POSIX")
@pytest.mark.parametrize(
    ("tests", "outcome"),
    [
        ({"sound": lambda: True, "leap": lambda: calendars.is_leap(2024)}, ("killed", "tests/test_x.py::leap")),
        ({"century": lambda: not calendars.is_leap(2100)}, ("open", "all pass")),
        ({"wrong": lambda: False}, ("open", "all pass")),
        ({"wrong": lambda: False, "leap": lambda: calendars.is_leap(2024)}, ("killed", "tests/test_x.py::leap")),
        ({"crash": lambda: calendars.is_leap(2024) or os._exit(9)}, ("killed", "tests/test_x.py::crash")),
        ({}, ("open", "no test")),
    ],
)
def test_forks_judge_mutants(
    tests: dict[str, Callable[[], object]], outcome: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forked, "runtestprotocol", lambda item, **_: [SimpleNamespace(failed=not item.passes())])
    monkeypatch.setattr(forked, "_unsteady", set())
    file = "tableformats/expressions/functions/temporal/calendars.py"
    changes = changes_of(file, (forked.ROOT / file).read_text())
    change = next(c for c in changes if c.function == "is_leap" and c.before == "year % 4 == 0")
    mutant = {"file": file, "start": change.start, "end": change.end, "after": change.after}
    items = {item.nodeid: item for item in (item_of(*one) for one in tests.items())}
    assert forked.judged({**mutant, "tests": [*items]}, items) == outcome
    assert calendars.is_leap(2024), "this process has the sound code"


@pytest.mark.thread_unsafe
@pytest.mark.skipif(sys.platform == "win32", reason="forks need POSIX")
def test_a_test_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "runtestprotocol", lambda item, **_: [SimpleNamespace(failed=not item.passes())])
    monkeypatch.setattr(forked, "PATIENCE", 0.2)
    monkeypatch.setattr(forked, "LOOK", 0.1)
    items = [item_of("quick", lambda: True), item_of("late", lambda: time.sleep(99))]
    assert forked.in_a_fork(items, {"after": None}) == (True, "tests/test_x.py::late")


def test_a_mutant_that_takes_too_long_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test fails at random: without an end, all would be asked."""
    seconds, asked = count(step=100), []

    def in_a_fork(items: list[Any], mutant: dict[str, Any]) -> tuple[bool, str]:
        asked.append(items[0].nodeid)
        return True, asked[-1]

    monkeypatch.setattr(forked, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr(forked, "in_a_fork", in_a_fork)
    monkeypatch.setattr(forked, "is_steady", lambda *_: False)
    monkeypatch.setattr(forked, "_unsteady", set())
    items = {item.nodeid: item for item in (item_of(f"test{number}", bool) for number in range(9))}
    assert forked.judged({"tests": [*items], "after": "2"}, items) == ("open", "no time")
    assert asked == [*items][:3]


@pytest.mark.parametrize(
    ("fails", "outcome"),
    [
        (lambda sound, names, _: not sound and names == ["good"], ("killed", "tests/test_x.py::good")),
        (lambda sound, names, _: not sound and len(names) == 2, ("killed", "tests/test_x.py::good")),
        (lambda sound, names, _: len(names) == 2, ("open", "all pass")),
        (lambda sound, names, _: "good" in names, ("open", "all pass")),
        (lambda sound, names, number: number == 0, ("open", "all pass")),
    ],
    ids=["alone", "after another test", "without the mutant, too, after another test", "always", "once"],
)
def test_a_test_notices_if_it_fails_again_and_not_without_the_mutant(
    fails: Callable[[bool, list[str], int], bool], outcome: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = count()

    def in_a_fork(items: list[Any], mutant: dict[str, Any]) -> tuple[bool, str]:
        sound, names, number = mutant["after"] is None, [one.nodeid.rpartition("::")[2] for one in items], next(asked)
        if fails(sound, names, number) or (number == 0 and not sound):
            return True, items[-1].nodeid
        return False, "all pass"

    monkeypatch.setattr(forked, "in_a_fork", in_a_fork)
    monkeypatch.setattr(forked, "_steady", set())
    monkeypatch.setattr(forked, "_unsteady", set())
    items = {item.nodeid: item for item in (item_of(name, bool) for name in ("other", "good"))}
    assert forked.judged({"tests": [*items], "after": "2"}, items) == outcome


@pytest.mark.parametrize(
    ("ran", "waited", "spent"),
    [(100, 0, 10.0), (500, 5, 5.0), (0, 0, 10.0), (0, 9, 1.0), (300, 0, 10.0), (1500, 20, 15.0)],
    ids=["running", "half of the time", "asleep", "hardly ever", "sleeping, too", "several threads"],
)
def test_seconds_without_a_processor_do_not_count(
    ran: int, waited: int, spent: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of 10 seconds in which a process ``ran`` (in hundredths) and ``waited`` for a processor."""
    now = [100.0, 100.0 + 10]
    monkeypatch.setattr(clock, "PROC", tmp_path)
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: now.pop(0)))
    monkeypatch.setattr(os, "sysconf", {"SC_CLK_TCK": 100}.__getitem__, raising=False)

    def tell(number: int, session: int, ran: int, waited: int) -> None:
        process = tmp_path / str(number)
        (process / "task" / "1").mkdir(parents=True, exist_ok=True)
        (process / "stat").write_text(f"{number} (a) b) S 1 1 {session} 0 0 0 0 0 0 0 {ran} 0 0 0 20")
        (process / "task" / "1" / "schedstat").write_text(f"{ran * 10**7} {waited * 10**9} 7")

    tell(7, 7, 300, 3)
    started = clock.Clock(7)
    tell(7, 7, 300 + ran, 3 + waited)
    tell(8, 8, 1000, 100)  # of another session
    assert started.spent() == pytest.approx(spent)


@pytest.mark.thread_unsafe
@pytest.mark.skipif(sys.platform == "win32", reason="forks need POSIX")
def test_code_within_a_function_is_changed_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forked, "runtestprotocol", lambda item, **_: [SimpleNamespace(failed=not item.passes())])
    file = "tableformats/columnar/arrays.py"
    changes = changes_of(file, (forked.ROOT / file).read_text())
    change = next(c for c in changes if c.function == "binaries" and c.before == "value is not None")
    item = item_of("binaries", lambda: arrays.binaries([b"ab", None]).to_pylist() == [b"ab", None])
    dead = weakref.proxy(set())  # another test may leave one behind: asked for its class, it raises
    mutant = {"file": file, "start": change.start, "end": change.end, "after": change.after}
    assert forked.judged({**mutant, "tests": [item.nodeid]}, {item.nodeid: item}) == ("killed", item.nodeid)
    del dead


@pytest.mark.thread_unsafe
@pytest.mark.skipif(sys.platform == "win32", reason="forks need POSIX")
def test_why_no_test_could_be_run_is_told() -> None:
    mutant = {"file": "tableformats/nowhere.py", "start": 0, "end": 1, "after": "2"}
    noticed, why = forked.in_a_fork([item_of("good", bool)], mutant)
    assert not noticed and why.startswith("exit 3: FileNotFoundError")


def test_the_same_code_is_no_mutant() -> None:
    file = "tableformats/expressions/functions/temporal/calendars.py"
    place = (forked.ROOT / file).read_text().encode().index(b"719_468")
    same = {"file": file, "start": place, "end": place + 7, "after": "719468"}
    assert not forked.changed(same)
