"""The checker itself: a history that cannot be explained is found, a damaged one is refused."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .checker import check
from .history import DamagedHistoryError, History, Recorder, merged
from .ledger import Entry, Ledger
from .model import rows_of

Row = dict[str, int]


def row(number: int, p: int = 0, k: int = 0) -> Row:
    return {"id": number, "p": p, "k": k}


class Story:
    """A history that is told, each event one nanosecond after the other, and its ledger."""

    def __init__(self, level: str = "serializable", *first: Row) -> None:
        clock = itertools.count(1)
        self.level, self.recorder = level, Recorder(lambda: next(clock))
        self.ledger = Ledger("delta", [Entry(0, None, rows_of(first))])

    def begin(self, op: str, kind: str, process: int = 1, **arguments: Any) -> None:
        self.recorder.invoke(process, op, kind, **arguments)

    def end(self, op: str, process: int = 1, **answer: Any) -> None:
        self.recorder.ok(process, op, **answer)

    def did(self, op: str, kind: str, arguments: dict[str, Any], process: int = 1, **answer: Any) -> None:
        self.begin(op, kind, process, **arguments)
        self.end(op, process, **answer)

    def version(self, maker: str | None, *rows: Row, **more: Any) -> None:
        self.ledger.entries.append(Entry(len(self.ledger.entries), maker, rows_of(rows), **more))

    def history(self) -> History:
        return History.of("delta", self.level, 1, self.recorder.events)

    def violations(self) -> list[str]:
        return check(self.history(), self.ledger)


def appended(story: Story, op: str = "a", new: int = 1, read: int = 0, **answer: Any) -> None:
    story.did(op, "append", {"rows": [row(new)]}, **{"read": read, "made": read + 1, **answer})


def fine() -> Story:
    story = Story()
    appended(story)
    story.version("a", row(1))
    return story


def test_what_is_as_it_should_be() -> None:
    story = fine()
    story.did("r", "read", {}, read=1, rows=[row(1)])
    story.did("d", "delete", {"where": [["p", "=", 0]]}, read=1, made=2)
    story.version("d")
    batches = [{"first": 0, "last": 2, "inserted": [row(1)], "deleted": [row(1)]}]
    story.did("s", "stream", {}, batches=batches, looked=7)
    assert story.violations() == []


def lost() -> Story:
    story = Story()
    appended(story)
    return story


def twice() -> Story:
    story = fine()
    story.version("a", row(1), row(1))
    return story


def failed_and_there() -> Story:
    story = Story()
    story.begin("a", "append", rows=[row(1)])
    story.recorder.fail(1, "a", "conflict")
    story.version("a", row(1))
    return story


def nobody() -> Story:
    story = fine()
    story.version("x", row(1))
    return story


def resurrected() -> Story:
    """A delete, and then an append whose version has the deleted row again."""
    story = Story("serializable", row(1))
    story.did("d", "delete", {"where": [["id", "=", 1]]}, read=0, made=1)
    story.version("d")
    appended(story, new=2, read=1)
    story.version("a", row(1), row(2))
    return story


def lost_update() -> Story:
    """Two overwrites of all rows upon one version: the rows of both are there."""
    story = Story()
    for name, new in (("a", 1), ("b", 2)):
        story.begin(name, "overwrite", new, rows=[row(new)], where=[])
    for name, new in (("a", 1), ("b", 2)):
        story.end(name, new, read=0, made=new)
    story.version("a", row(1))
    story.version("b", row(1), row(2))
    return story


def wrong_read() -> Story:
    story = fine()
    story.did("r", "read", {}, read=1, rows=[])
    return story


def stale_read() -> Story:
    story = fine()
    story.did("r", "read", {}, read=0, rows=[])
    return story


def read_before_it_was_begun() -> Story:
    story = Story()
    story.did("r", "read", {}, read=1, rows=[row(1)])
    appended(story)
    story.version("a", row(1))
    return story


def order_of_time() -> Story:
    story = Story()
    appended(story, "a", 1, made=2)
    appended(story, "b", 2, made=1)
    story.version("b", row(2))
    story.version("a", row(1), row(2))
    return story


def nothing_to_do() -> Story:
    story = Story("serializable", row(1))
    story.did("d", "delete", {"where": [["id", "=", 1]]}, read=0, made=None)
    return story


def once(story: Story, op: str, made: int | None) -> None:
    story.did(op, "append_once", {"rows": [row(1)], "application": "x", "number": 3}, read=0, made=made)


def application_twice() -> Story:
    story = Story()
    once(story, "a", 1)
    once(story, "b", 2)
    story.version("a", row(1), applications={"x": 3})
    story.version("b", row(1), row(1), applications={"x": 3})
    return story


def application_never() -> Story:
    story = Story()
    once(story, "a", None)
    return story


def application_forgotten() -> Story:
    story = Story()
    once(story, "a", 1)
    story.version("a", row(1), applications={"x": 3})
    appended(story, "b", 2, read=1)
    story.version("b", row(1), row(2))
    return story


def stream_of(*batches: tuple[int, int, list[Row]]) -> Callable[[], Story]:
    def told() -> Story:
        story = Story()
        for number in (1, 2):
            appended(story, f"a{number}", number, read=number - 1)
            story.version(f"a{number}", *(row(n) for n in range(1, number + 1)))
        answer = [{"first": f, "last": last, "inserted": rows, "deleted": []} for f, last, rows in batches]
        story.did("s", "stream", {}, batches=answer, looked=5)
        return story

    return told


WRONG: list[tuple[Callable[[], Story], str]] = [
    (lost, "lost"),
    (twice, "made 2 versions"),
    (failed_and_there, "failed, and made"),
    (nobody, "nobody"),
    (resurrected, "not what append"),
    (lost_update, "not what overwrite"),
    (wrong_read, "read other rows"),
    (stale_read, "older version"),
    (read_before_it_was_begun, "had not begun"),
    (order_of_time, "comes before it"),
    (nothing_to_do, "nothing to do"),
    (application_twice, "is in 2 versions"),
    (application_never, "in no version"),
    (application_forgotten, "forgot"),
    (stream_of((0, 1, [row(1)]), (1, 2, [row(2)])), "a version twice"),
    (stream_of((0, 0, []), (2, 2, [row(2)])), "or none"),
    (stream_of((0, 2, [row(1)])), "do not give"),
    (stream_of((0, 2, [row(1), row(2), row(2)])), "do not give"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_what_cannot_be_explained_is_found(number: int) -> None:
    told, words = WRONG[number]
    assert any(words in what for what in told().violations()), told().violations()


def overlapping(level: str, hidden: bool) -> list[str]:
    """A delete of p = 0 that read version 0; a blind append of such a row came first, and stays."""
    story = Story(level, row(1))
    story.begin("d", "delete", 2, where=[["p", "=", 0]])
    appended(story, new=2)
    story.version("a", row(1), row(2))
    story.end("d", 2, read=0, made=2)
    story.version("d", *([row(2)] if hidden else []))
    return story.violations()


@pytest.mark.parametrize(
    ("level", "hidden", "is_fine"),
    [
        ("serializable", True, False),
        ("serializable", False, True),
        ("write-serializable", True, True),
        ("write-serializable", False, True),
        ("snapshot", True, True),
    ],
)
def test_levels(level: str, hidden: bool, is_fine: bool) -> None:
    assert (overlapping(level, hidden) == []) is is_fine


def test_under_write_serializable_only_blind_appends_may_seem_later() -> None:
    story = Story("write-serializable", row(1))
    story.begin("d", "delete", 2, where=[["p", "=", 0]])
    story.did("o", "overwrite", {"rows": [row(2)], "where": [["id", "=", 1]]}, read=0, made=1)
    story.version("o", row(2))
    story.end("d", 2, read=0, made=2)
    story.version("d", row(2))
    assert story.violations()


def test_under_snapshot_isolation_two_do_not_change_the_same_row() -> None:
    story = Story("snapshot", row(1))
    for process, name in enumerate(("a", "b"), 1):
        story.begin(name, "overwrite", process, rows=[row(process + 1)], where=[])
    story.end("a", 1, read=0, made=1)
    story.end("b", 2, read=0, made=2)
    story.version("a", row(2))
    story.version("b", row(2), row(3))
    assert story.violations() and "not what overwrite b" in story.violations()[0]


@pytest.mark.parametrize("landed", [False, True])
def test_an_unknown_operation_happened_once_or_never(landed: bool) -> None:
    story = Story()
    story.begin("a", "append", rows=[row(1)])
    story.recorder.unknown(1, "a", "no answer")
    if landed:
        story.version("a", row(1))
    assert story.violations() == []
    if landed:
        story.version("a", row(1), row(1))
        assert story.violations()


# ---- damage ---------------------------------------------------------------------------------------------------------


def test_text_and_back() -> None:
    history = fine().history()
    assert History.from_text(history.to_text()) == history


def test_every_cut_and_every_changed_line_is_refused() -> None:
    text = fine().history().to_text()
    for cut in range(len(text)):
        with pytest.raises(DamagedHistoryError):
            History.from_text(text[:cut])
    lines = text.splitlines(keepends=True)
    for number in range(len(lines)):
        for damaged in (lines[:number] + lines[number + 1 :], [*lines[:number], lines[number], *lines[number:]]):
            with pytest.raises(DamagedHistoryError):
                History.from_text("".join(damaged))
    with pytest.raises(DamagedHistoryError):
        History.from_text(text.replace('"made": 1', '"made": 2'))


EVENTS = fine().recorder.events


@pytest.mark.parametrize(
    ("number", "change"),
    [
        (0, {"type": "began"}),
        (0, {"kind": "truncate"}),
        (0, {"arguments": {}}),
        (0, {"arguments": {"rows": 7}}),
        (0, {"arguments": {"rows": [], "where": []}}),
        (0, {"process": "1"}),
        (0, {"time": None}),
        (0, {"time": 9}),
        (1, {"op": "b"}),
        (1, {"process": 2}),
        (1, {"type": "invoke"}),
        (1, {"made": ...}),
    ],
)
def test_events_that_make_no_history_are_refused(number: int, change: dict[str, Any]) -> None:
    events = [dict(event) for event in json.loads(json.dumps(EVENTS))]
    events[number].update(change)
    events[number] = {name: value for name, value in events[number].items() if value is not ...}
    with pytest.raises(DamagedHistoryError):
        History.of("delta", "serializable", 1, events)


def every_kind() -> Story:
    """A history in which each event and each value counts."""
    story = Story("serializable", row(1), row(2, p=1))
    appended(story, new=3, read=0)
    story.version("a", row(1), row(2, p=1), row(3))
    story.did("d", "delete", {"where": [["p", "=", 0]]}, read=1, made=2)
    story.version("d", row(2, p=1))
    story.did("o", "append_once", {"rows": [row(4)], "application": "x", "number": 3}, read=2, made=3)
    story.version("o", row(2, p=1), row(4), applications={"x": 3})
    story.did("r", "read", {}, read=3, rows=[row(2, p=1), row(4)])
    changes = [([row(1), row(2, p=1)], []), ([row(3)], []), ([], [row(1), row(3)]), ([row(4)], [])]
    batches = [{"first": n, "last": n, "inserted": i, "deleted": d} for n, (i, d) in enumerate(changes)]
    story.did("s", "stream", {}, batches=batches, looked=9)
    return story


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value within a value."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*at, key)
        yield from places(inner, (*at, key))


def test_no_damage_is_judged_as_fine() -> None:
    story = every_kind()
    assert story.violations() == []
    text, passed = json.dumps(story.recorder.events), []
    for way, new in itertools.product(places(json.loads(text)), (..., None, True, -7, 99, 1.0, "x", [], {}, [[7]])):
        events = json.loads(text)
        inner = events
        for key in way[:-1]:
            inner = inner[key]
        if new is ...:
            del inner[way[-1]]
        elif repr(inner[way[-1]]) == repr(new):
            continue
        else:
            inner[way[-1]] = new
        try:
            if not check(History.of("delta", "serializable", 1, events), story.ledger):
                passed.append((way, new))
        except DamagedHistoryError:
            continue
    # A write need not say what it read. The first event may be earlier, the last one later.
    assert {way[1:] for way, _ in passed} == {("read",), ("time",)}
    assert {(way, new) for way, new in passed if way[1:] == ("time",)} == {((0, "time"), -7), ((9, "time"), 99)}
    assert {new for way, new in passed if way[1:] == ("read",)} <= {..., None}


@pytest.mark.parametrize(
    ("format", "level", "initial", "words"),
    [
        ("iceberg", "serializable", 1, "of a table of iceberg"),
        ("delta", "serializable", 2, "was there at the beginning"),
        ("delta", "serializable", 7, "at the beginning, and has 4"),
    ],
)
def test_a_history_of_another_table_is_found(format: str, level: str, initial: int, words: str) -> None:
    story = every_kind()
    found = check(History.of(format, level, initial, story.recorder.events), story.ledger)
    assert any(words in what for what in found), found


def test_a_ledger_with_a_gap_is_found() -> None:
    story = Story()
    appended(story, made=2)
    story.ledger.entries.append(Entry(2, "a", rows_of([row(1)])))
    assert any("not contiguous" in what for what in story.violations())


def test_iceberg_has_no_write_serializable() -> None:
    with pytest.raises(DamagedHistoryError):
        History.of("iceberg", "write-serializable", 0, [])


def test_a_history_without_an_end_is_refused_unless_its_workers_are_known_to_be_gone() -> None:
    events = EVENTS[:1]
    with pytest.raises(DamagedHistoryError, match="how a ended"):
        History.of("delta", "serializable", 1, merged([events]))
    (op,) = History.of("delta", "serializable", 1, merged([events], ended=50)).operations
    assert (op.outcome, op.returned) == ("unknown", 50)


@pytest.mark.parametrize(("rows", "read"), [(None, 1), ([row(1)], None), ({"id": 1}, 1)])
def test_a_read_says_what_it_read(rows: Any, read: Any) -> None:
    story = fine()
    story.did("r", "read", {}, **({} if rows is None else {"rows": rows}), read=read)
    with pytest.raises(DamagedHistoryError):
        story.history()
