"""Whether a history and the ledger of its table can be explained by one order of the operations.

The ledger says in which order versions were made and which rows each has; it is read from the table's files, not from
what the library says of them. The model says what each operation does. Levels:

- serializable: each version has the rows of the one before it with its operation applied.
- write-serializable (Delta's default): the same, or its operation did not see the rows of blind appends that came
  between the version that it read and its own, as if these had come later.
- snapshot: each version has what its operation changed of the version that it read, and nobody else changed the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from .history import History, Operation
from .ledger import Ledger
from .model import Rows, applied, is_blind, rows_of

__all__ = ["check"]


def check(history: History, ledger: Ledger, levels: Mapping[int, str] | None = None) -> list[str]:
    """What is wrong, in words; nothing where the history is explained.

    ``levels``: of processes that promise another level than that of the history.
    """
    return [*ledger.violations, *_Check(history, ledger, levels or {}).violations()]


class _Check:
    def __init__(self, history: History, ledger: Ledger, levels: Mapping[int, str]) -> None:
        self._history, self._levels, self._format = history, levels, ledger.format
        self._entries = ledger.entries
        self._by_id = {op.id: op for op in history.operations}
        self._places: dict[int, list[int]] = {}
        for place, entry in enumerate(self._entries):
            self._places.setdefault(entry.version, []).append(place)
        self._made: dict[str, list[int]] = {}
        for place, entry in enumerate(self._entries):
            if entry.maker is not None:
                self._made.setdefault(entry.maker, []).append(place)

    def violations(self) -> Iterator[str]:
        yield from self._begin()
        yield from self._winners()
        yield from self._states()
        yield from self._answers()
        yield from self._applications()
        yield from self._real_time()

    def _begin(self) -> Iterator[str]:
        """The history is one of this table: of its format, from the version on where the operations begin."""
        if self._history.format != self._format:
            yield f"the history is of a table of {self._history.format}, and the ledger of one of {self._format}"
        if self._history.initial > len(self._entries):
            yield f"the table had {self._history.initial} versions at the beginning, and has {len(self._entries)}"
        for entry in self._entries[: self._history.initial]:
            if entry.maker in self._by_id:
                yield f"{entry.maker} made version {entry.version}, which was there at the beginning"
        versions = [entry.version for entry in self._entries]
        first = versions[0] if versions else 0
        if self._format == "delta" and versions != list(range(first, first + len(versions))):
            yield f"versions are not contiguous: {versions}"

    # ---- who made what ----------------------------------------------------------------------------------------------

    def _winners(self) -> Iterator[str]:
        """Each version has one maker that may have made it, and each operation made as many versions as it says."""
        for place, entry in enumerate(self._entries):
            if place < self._history.initial:
                continue
            op = self._by_id.get(entry.maker or "")
            if op is None or not op.is_write:
                yield f"nobody in the history made version {entry.version} (it says {entry.maker!r})"
            elif op.outcome == "fail":
                yield f"{op.id} failed, and made version {entry.version}"
        for op in self._history.operations:
            places = self._made.get(op.id, [])
            if len(places) > 1:
                yield f"{op.id} made {len(places)} versions"
            if op.outcome != "ok" or not op.is_write:
                continue
            if op.made is None:
                if places:
                    yield f"{op.id} says that it made nothing, and made a version"
            elif not places:
                yield f"{op.id} says that it made version {op.made}, which is lost"
            elif self._entries[places[0]].version != op.made:
                yield f"{op.id} says that it made version {op.made}, and made {self._entries[places[0]].version}"
            if op.read is not None and not self._read_places(op, (places or [len(self._entries)])[0]):
                yield f"{op.id} says that it read version {op.read}, which was not there before it"

    # ---- rows -------------------------------------------------------------------------------------------------------

    def _states(self) -> Iterator[str]:
        """Each version is what its operation makes of the version before it, under the level."""
        for place, entry in enumerate(self._entries):
            op = self._by_id.get(entry.maker or "")
            if op is None or not op.is_write:
                continue
            before: Rows = Counter() if place == 0 else self._entries[place - 1].rows
            if not any(entry.rows == rows for rows in self._allowed(op, place, before)):
                missing, more = applied(op, before) - entry.rows, entry.rows - applied(op, before)
                yield (
                    f"version {entry.version} is not what {op.kind} {op.id} makes of the version before it: "
                    f"missing {dict(missing)}, too many {dict(more)}"
                )

    def _allowed(self, op: Operation, place: int, before: Rows) -> Iterator[Rows]:
        yield applied(op, before)
        level = self._levels.get(op.process, self._history.level)
        if level == "serializable" or (op.read is None and not self._may_be_unread(op)):
            return
        for read in self._read_places(op, place):
            if level == "snapshot":
                own = self._entries[read].rows
                gone, new = own - applied(op, own), applied(op, own) - own
                if not gone - before:  # nobody else changed what it changes
                    yield before - gone + new
            else:
                hidden = self._blindly_added(read, place)
                yield applied(op, before - hidden) + (before & hidden)

    def _may_be_unread(self, op: Operation) -> bool:
        """An operation of which no answer came does not say what it read."""
        return op.outcome == "unknown"

    def _read_places(self, op: Operation, place: int) -> list[int]:
        if op.read is not None:
            return [p for p in self._places.get(op.read, []) if p < place][-1:]
        return list(range(place))

    def _blindly_added(self, read: int, place: int) -> Rows:
        found: Rows = Counter()
        for between in range(read + 1, place):
            maker = self._by_id.get(self._entries[between].maker or "")
            if maker is not None and is_blind(maker):
                found += self._entries[between].rows - self._entries[between - 1].rows
        return found

    # ---- what readers were told -------------------------------------------------------------------------------------

    def _answers(self) -> Iterator[str]:
        for op in self._history.operations:
            if op.outcome != "ok":
                continue
            if op.kind == "read":
                yield from self._read_answer(op)
            elif op.kind == "stream":
                yield from self._stream_answer(op)
            elif op.is_write and op.made is None:
                yield from self._nothing_to_do(op)

    def _read_answer(self, op: Operation) -> Iterator[str]:
        """ConsistentRead: a read of a version gives the rows that this version has."""
        places = self._places.get(op.read)
        if not places:
            yield f"ConsistentRead: {op.id} read version {op.read}, which is not there"
        elif op.rows is not None and rows_of(op.rows) != self._entries[places[0]].rows:
            expected, found = self._entries[places[0]].rows, rows_of(op.rows)
            yield (
                f"ConsistentRead: {op.id} read other rows than version {op.read} has: "
                f"missing {dict(expected - found)}, too many {dict(found - expected)}"
            )

    def _stream_answer(self, op: Operation) -> Iterator[str]:
        """The batches follow each other without gap or overlap, and each brings what its versions changed, once."""
        at = next((place for place, entry in enumerate(self._entries) if entry.version != -1), 0) - 1
        for batch in op.batches:
            # Versions without a snapshot of their own have the same id.
            first = self._places.get(batch["first"], [None])[0]
            last = self._places.get(batch["last"], [None])[-1]
            if first is None or last is None or first > last:
                yield f"{op.id} got the versions {batch['first']} to {batch['last']}, which are not there"
                return
            if first != at + 1:
                yield f"{op.id} got place {first} after place {at}: a version twice, or none"
            at = last
            before: Rows = Counter() if first == 0 else self._entries[first - 1].rows
            inserted, deleted = rows_of(batch["inserted"]), rows_of(batch["deleted"])
            if Counter({**before}) + inserted != self._entries[last].rows + deleted:
                yield f"{op.id}: the changes of versions {batch['first']} to {batch['last']} do not give their rows"
        for other in self._history.operations:
            place = self._place_of_answer(other)
            if place is not None and place > at and other.returned < op.looked:
                yield f"{op.id} did not get what {other.id} had read or made before"

    def _nothing_to_do(self, op: Operation) -> Iterator[str]:
        """An operation that made nothing had nothing to do, at some moment of its time."""
        if op.kind == "append_once":
            name, number = op.arguments["application"], op.arguments["number"]
            if not any(entry.applications.get(name, number - 1) >= number for entry in self._entries):
                yield f"{op.id} says that {name} {number} is committed, and no version has it"
            return
        places = self._read_places(op, len(self._entries)) if op.read is not None else range(len(self._entries))
        if not any(applied(op, self._entries[place].rows) == self._entries[place].rows for place in places):
            yield f"{op.id} says that there was nothing to do, and there was"

    # ---- exactly once -----------------------------------------------------------------------------------------------

    def _applications(self) -> Iterator[str]:
        """A transaction of an application is in one version, if anybody says that it is, and never in two."""
        tried: dict[tuple[str, int], list[Operation]] = {}
        for op in self._history.operations:
            if op.kind == "append_once":
                tried.setdefault((op.arguments["application"], op.arguments["number"]), []).append(op)
        for (name, number), ops in tried.items():
            made = [place for op in ops for place in self._made.get(op.id, [])]
            for place in made:
                if (entry := self._entries[place]).applications.get(name) != number:
                    yield f"version {entry.version} does not say that it is transaction {number} of {name}"
            if len(made) > 1:
                yield f"transaction {number} of {name} is in {len(made)} versions"
            later = any(entry.applications.get(name, number) > number for entry in self._entries)
            if not made and not later and any(op.outcome == "ok" for op in ops):
                yield f"transaction {number} of {name} is in no version, and was acknowledged"
        for before, after in zip(self._entries, self._entries[1:], strict=False):
            for name, number in before.applications.items():
                if after.applications.get(name, number - 1) < number:
                    yield f"version {after.version} forgot transaction {number} of {name}"

    # ---- real time --------------------------------------------------------------------------------------------------

    def _real_time(self) -> Iterator[str]:
        """What ended before something else began comes before it; nothing sees what was not begun."""
        lowest: list[tuple[int, int, str]] = []  # (returned, place, id) of what was seen or made
        for op in self._history.operations:
            seen = self._place_of_answer(op)
            if seen is not None:
                lowest.append((op.returned, seen, op.id))
        for op in self._history.operations:
            if op.outcome == "fail":
                continue
            for place in self._made.get(op.id, []):
                for returned, earlier, name in lowest:
                    if returned < op.invoked and earlier > place:
                        yield f"{op.id} began after {name} had ended, and comes before it"
            if op.kind == "read" and op.outcome == "ok" and op.read in self._places:
                yield from self._read_in_time(op, lowest)

    def _read_in_time(self, op: Operation, seen: list[tuple[int, int, str]]) -> Iterator[str]:
        places = self._places[op.read]
        for returned, earlier, name in seen:
            if returned < op.invoked and earlier > places[-1]:
                yield f"{op.id} began after {name} had ended, and read the older version {op.read}"
        maker = self._by_id.get(self._entries[places[0]].maker or "")
        if maker is not None and maker.invoked > op.returned:
            yield f"{op.id} read what {maker.id} had not begun to write"

    def _place_of_answer(self, op: Operation) -> int | None:
        """The place of the ledger that an answer proves to have been there."""
        if op.outcome != "ok":
            return None
        if op.kind == "read":
            return self._places.get(op.read, [None])[0]
        made = self._made.get(op.id)
        return made[0] if made else None
