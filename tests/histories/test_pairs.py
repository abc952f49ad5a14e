"""Each pair of operations against the tables of what must be a conflict, and writers that hypothesis steps."""

from __future__ import annotations

import itertools
import os
import zlib
from collections import Counter
from contextlib import ExitStack
from typing import ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import tableformats as tf

from .checker import check
from .failing import FIRST, PROPERTIES, without_waiting
from .history import History, Recorder
from .pairs import TABLES, cells, outcome, triples
from .stepping import Stepper
from .tables import SCHEMA, MemoryTable
from .workers import ALL, Worker, makers_of

EVERY = 47
"""The plain run looks at one of so many cells of each outcome, and at fewer triples; ``python -m tests.histories
pairs`` and ``triples`` at all."""


@pytest.mark.parametrize(("format", "level"), TABLES)
def test_pairs(format: str, level: str) -> None:
    wrong = []
    seen: Counter[str] = Counter()
    for first, second, wanted in cells(format, level):
        number = seen[wanted]
        seen[wanted] += 1
        if (number + number // 17) % EVERY == 0:
            found, violations = outcome(format, level, first, second)
            if found != [wanted, "."] or violations:
                wrong.append((first, second, wanted, found, violations))
    assert wrong == []


@pytest.mark.parametrize(("first", "second"), [("V", "A0"), ("V", "bA"), ("A0", "V"), ("D0", "V")])
def test_restore_beside_others(first: str, second: str) -> None:
    told = {(one, two): wanted for one, two, wanted in cells("iceberg", "snapshot")}
    assert outcome("iceberg", "snapshot", first, second) == ([told[first, second], "."], [])


@pytest.mark.parametrize(("format", "level"), TABLES)
def test_triples(format: str, level: str) -> None:
    wrong, step = [], 240 if format == "delta" else 1400
    for names, wanted in itertools.islice(triples(format, level), zlib.crc32(level.encode()) % 200, None, step):
        found, violations = outcome(format, level, *names)
        if violations or any(end not in ends for end, ends in zip(found, wanted, strict=True)):
            wrong.append((names, wanted, found, violations))
    assert wrong == []


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_of_two_that_create_a_table_one_makes_it(format: str) -> None:
    stepper, errors = Stepper(), []
    with MemoryTable.made(format, wrap=stepper.wrap, create=False) as table:

        def create() -> None:
            try:
                tf.create_table(table.location, SCHEMA, format=format, partition_by="p")
            except tf.TableExistsError as error:
                errors.append(error)

        numbers = [stepper.begin(create) for _ in range(2)]
        while stepper.unfinished:
            for number in numbers:
                stepper.step(number)
        assert len(errors) == 1 and len(table.ledger().entries) == 1 and table.ledger().violations == []


class Writers(RuleBasedStateMachine):
    """Up to three writers; hypothesis says who begins what, and who goes on for how many requests."""

    format: ClassVar[str]
    level: ClassVar[str]

    @initialize()
    def start(self) -> None:
        self.stack = ExitStack()
        self.recorder, self.stepper, self.begun = Recorder(), Stepper(), 0
        made = MemoryTable.made(self.format, FIRST, wrap=self.stepper.wrap, **PROPERTIES[self.format])
        self.table = self.stack.enter_context(made)
        self.stack.enter_context(without_waiting())

    @precondition(lambda self: len(self.stepper.unfinished) < 3 and self.begun < 6)
    @rule(kind=st.sampled_from(sorted(set(ALL))), seed=st.integers(0, 99))
    def begin(self, kind: str, seed: int) -> None:
        self.begun += 1
        worker = Worker(self.begun, self.table.location, self.format, self.level, self.recorder, seed, (kind,))
        self.stepper.begin(worker.step)

    @rule(which=st.integers(0, 2), count=st.integers(1, 20))
    def go_on(self, which: int, count: int) -> None:
        unfinished = self.stepper.unfinished
        for _ in range(count if unfinished else 0):
            self.stepper.step(unfinished[which % len(unfinished)])

    @invariant()
    def files_are_right(self) -> None:
        if getattr(self, "table", None) is not None:
            self.table.makers.update(makers_of(self.recorder.events))
            assert self.table.ledger().violations == []

    def teardown(self) -> None:
        if getattr(self, "table", None) is None:
            return
        try:
            self.stepper.finish()
            self.table.makers.update(makers_of(self.recorder.events))
            history = History.of(self.format, self.level, self.table.initial, self.recorder.events)
            assert check(history, self.table.ledger()) == []
        finally:
            self.stack.close()


class DeltaWriters(Writers):
    format, level = "delta", "write-serializable"


class IcebergWriters(Writers):
    format, level = "iceberg", "serializable"


# These take minutes, and are of the nightly run: TF_MACHINES=1 python -m pytest tests/histories/test_pairs.py
if os.environ.get("TF_MACHINES"):
    TestDeltaWriters = DeltaWriters.TestCase
    TestIcebergWriters = IcebergWriters.TestCase
    TestDeltaWriters.settings = TestIcebergWriters.settings = settings(stateful_step_count=20, deadline=None)
