"""Rewriting a Delta log without changing the table changes no row, filtered or not.

Statistics dropped, checkpoints of every form, compactions, actions in another order, a copy elsewhere, no cache: one
after the other, over random histories with data files. What single rewritings do to the state of a log, action by
action, is held by ``test_compaction.py`` and ``test_replay.py``.
"""

from __future__ import annotations

import json
import math
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tableformats import open_table
from tests.support import delta_log as delta_support
from tests.support import rowmodel
from tests.support.delta_changes import inline_vector
from tests.support.delta_log import METADATA_TYPE, DeltaLog, add, reconciled, remove
from tests.support.examples import examples

Row = tuple[int, int | None, str | None, float | None]
"""id, x, s, f."""

READS = ["deletionVectors", "v2Checkpoint"]
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": READS, "writerFeatures": READS}
SCHEMA = pa.schema([("id", pa.int64()), ("x", pa.int64()), ("s", pa.string()), ("f", pa.float64())])
KINDS = {"id": "long", "x": "long", "s": "string", "f": "double", "p": "string"}
FIELDS = [delta_support.field(name, kind) for name, kind in KINDS.items()]
LONG = "z" * 31
X = st.sampled_from([None, -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1])
S = st.sampled_from(
    [None, "", "a", "é", "\U0001f600", LONG, LONG + "a", LONG + "a\ufffd", LONG + "a\U0001f600\U0010ffff"]
)
F = st.sampled_from([None, 0.5, -1.5, math.nan, math.inf, -math.inf, -0.0])
P = st.sampled_from([None, "a", "b c", "\U0001f600"])

LEAVES = st.sampled_from(
    [
        "id > 5",
        "id = 3",
        "id IN (1, 4, 9)",
        "x = 9007199254740993",
        "x < 9007199254740993",
        "x >= 1",
        "x IS NULL",
        "NOT (x > 0)",
        "s LIKE 'z%'",
        f"s > '{LONG}a'",
        f"s = '{LONG}a\U0001f600\U0010ffff'",
        "s < 'a'",
        "s IS NOT NULL",
        "f > 0.5",
        "f >= 1e308",
        "f <= -1.5",
        "isnan(f)",
        "f = 0.0",
        "f <> 0.5",
    ]
)
PARTED = st.sampled_from(["p = 'a'", "p IS NULL", "p > 'b'", "p <=> NULL", "p IN ('b c', '\U0001f600')"])


@dataclass
class File:
    """A data file of the model: its rows, its partition, which positions are deleted, its add while it is live."""

    path: str
    rows: list[Row]
    part: str | None
    deleted: set[int] = field(default_factory=set)
    add: dict[str, Any] | None = None

    def live(self) -> list[tuple[Any, ...]]:
        return [] if self.add is None else [(*r, self.part) for i, r in enumerate(self.rows) if i not in self.deleted]


@dataclass
class History:
    """A log as it grows, and the files that the model knows of it."""

    log: DeltaLog
    partitioned: bool
    files: list[File] = field(default_factory=list)
    versions: int = 0
    ids: int = 0

    def append(self, values: list[tuple[Any, ...]], part: str | None, described: bool) -> None:
        self.ids += len(values)
        found = [(self.ids - len(values) + i, *v) for i, v in enumerate(values)]
        file = File(f"f{len(self.files)}", found, part if self.partitioned else None)
        pq.write_table(
            pa.Table.from_pylist([dict(zip(SCHEMA.names, r, strict=True)) for r in found], SCHEMA),
            self.log.root / file.path,
        )
        self.files.append(file)
        self.commit(self.added(file, described))

    def added(self, file: File, described: bool) -> dict[str, Any]:
        more: dict[str, Any] = {"partitionValues": {"p": file.part} if self.partitioned else {}}
        if described:
            more["stats"] = json.dumps(statistics(file.rows, tight=not file.deleted))
        if file.deleted:
            more["deletionVector"] = inline_vector(*sorted(file.deleted))
        file.add = add(file.path, **more)["add"]
        return {"add": file.add}

    def removed(self, file: File) -> dict[str, Any]:
        assert file.add is not None
        kept = {k: file.add[k] for k in ("deletionVector",) if k in file.add}
        file.add = None
        return remove(file.path, **kept)

    def change(self, kind: str, number: int, described: bool) -> None:
        """One more commit that touches file ``number``, if the change fits it."""
        if not self.files:
            return
        file = self.files[number % len(self.files)]
        if kind == "remove" and file.add is not None:
            self.commit(self.removed(file))
        elif kind == "delete" and file.add is not None and len(file.deleted) < len(file.rows):
            gone = self.removed(file)
            file.deleted.add(min(set(range(len(file.rows))) - file.deleted))
            self.commit(gone, self.added(file, described))
        elif kind == "restore" and file.add is None:
            file.deleted = set(range(len(file.rows))[: number % 2])
            self.commit(self.added(file, described))
        elif kind == "restate" and file.add is not None:
            self.commit(self.added(file, described))

    def commit(self, *actions: dict[str, Any]) -> None:
        self.versions += 1
        self.log.commit(self.versions, *actions)

    def rows(self) -> list[tuple[Any, ...]]:
        return [row for file in self.files for row in file.live()]


def statistics(rows: list[Row], tight: bool) -> dict[str, Any]:
    """As writers make them: strings cut after 32 characters, NaN passed over, no bounds where all is NULL."""
    found: dict[str, Any] = {"numRecords": len(rows), "minValues": {}, "maxValues": {}, "nullCount": {}}
    found["tightBounds"] = tight
    for name, column in zip(SCHEMA.names, zip(*rows, strict=True), strict=True):
        values: list[Any] = [v for v in column if v is not None and v == v]
        found["nullCount"][name] = sum(v is None for v in column)
        if name == "s" and values:
            low, high = (f(values, key=str.encode) for f in (min, max))
            found["minValues"][name] = low[:32]
            found["maxValues"][name] = high if len(high) <= 32 else high[:32] + "\U0010ffff"
        elif values and not any(map(math.isinf, values)):
            found["minValues"][name], found["maxValues"][name] = min(values), max(values)
    return found


@st.composite
def histories(draw: st.DrawFn) -> Callable[[Path], History]:
    """Builds a random history at a path; which one is fixed before."""
    partitioned = draw(st.booleans())
    appends = st.tuples(st.just("append"), st.lists(st.tuples(X, S, F), min_size=1, max_size=4), P, st.booleans())
    changes = st.tuples(
        st.sampled_from(["remove", "delete", "delete", "restore", "restate"]),
        st.integers(0, 7),
        st.none(),
        st.booleans(),
    )
    steps: list[Any] = draw(st.lists(appends, min_size=1, max_size=3))
    steps = [*steps, *draw(st.lists(appends | changes, max_size=9))]

    def build(root: Path) -> History:
        log = DeltaLog(root)
        log.start(*FIELDS[: 5 if partitioned else 4], protocol=PROTOCOL, partition=("p",) if partitioned else ())
        history = History(log, partitioned)
        for kind, content, part, described in steps:
            if kind == "append":
                history.append(content, part, described)
            else:
                history.change(kind, content, described)
        return history

    return build


# ---- rewritings -----------------------------------------------------------------------------------------------------


def without_statistics(log: DeltaLog, last: int, chance: random.Random) -> None:
    for version in range(last + 1):
        actions = log.actions(version)
        for action in actions:
            action.get("add", {}).pop("stats", None)
        log.commit(version, *actions)


def permuted(log: DeltaLog, last: int, chance: random.Random) -> None:
    for version in range(last + 1):
        actions = log.actions(version)
        chance.shuffle(actions)
        log.commit(version, *actions)


def compacted(log: DeltaLog, last: int, chance: random.Random) -> None:
    log.compact(*sorted(chance.sample(range(last + 1), 2)))


def classic(log: DeltaLog, last: int, chance: random.Random) -> None:
    at, actions = state(log, last, chance)
    if chance.random() < 0.5:
        log.checkpoint(f"{at:020d}.checkpoint.parquet", *actions)
    else:
        for part, half in enumerate((actions[::2], actions[1::2]), 1):
            log.checkpoint(f"{at:020d}.checkpoint.{part:010d}.{2:010d}.parquet", *half)


def v2(log: DeltaLog, last: int, chance: random.Random) -> None:
    at, actions = state(log, last, chance)
    files = [a for a in actions if "add" in a]
    manifest = [a for a in actions if "add" not in a]
    for i, some in enumerate((files[::2], files[1::2])):
        log.checkpoint(f"_sidecars/{at}-{i}.parquet", *some)
        manifest.append({"sidecar": {"path": f"{at}-{i}.parquet", "sizeInBytes": 1, "modificationTime": 1}})
    name = f"{at:020d}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5."
    if chance.random() < 0.5:
        text = "\n".join(map(json.dumps, [{"checkpointMetadata": {"version": at}}, *manifest]))
        log.write(name + "json", text.encode())
    else:
        log.checkpoint(name + "parquet", *manifest)


def copied(log: DeltaLog, last: int, chance: random.Random) -> None:
    target = log.root.parent / f"{log.root.name} ü%20"
    shutil.copytree(log.root, target)
    shutil.rmtree(log.root)
    log.root, log.directory = target, target / "_delta_log"


def state(log: DeltaLog, last: int, chance: random.Random) -> tuple[int, list[dict[str, Any]]]:
    """A version, and the actions of a checkpoint of it."""
    at = chance.randrange(last + 1)
    wanted = {f.name for f in METADATA_TYPE}
    actions = [a for a in reconciled([log.actions(v) for v in range(at + 1)]) if "remove" not in a]
    return at, [
        {"metaData": {k: v for k, v in a["metaData"].items() if k in wanted}} if "metaData" in a else a for a in actions
    ]


REWRITINGS = st.lists(
    st.sampled_from([without_statistics, permuted, compacted, classic, v2, copied]), min_size=1, max_size=4, unique=True
)


# ---- properties -----------------------------------------------------------------------------------------------------


def canonical(found: list[tuple[Any, ...]]) -> list[str]:
    """Rows that compare: NaN is itself, and -0.0 is not 0.0."""
    return sorted(map(repr, found))


def read(log: DeltaLog, where: str | None, cache: bool = True) -> list[str]:
    scan = open_table(log.root, cache=cache).scan(where)
    found = canonical([tuple(row.values()) for row in scan.to_arrow().to_pylist()])
    assert scan.count() == len(found)
    return found


def matching(log: DeltaLog, rows: list[tuple[Any, ...]], where: str) -> list[str]:
    """What the row model makes of a filter."""
    snapshot = open_table(log.root).snapshot()
    predicate = snapshot.bind(where)
    ids = [f.id for f in snapshot.schema]
    return canonical([r for r in rows if rowmodel.is_kept(predicate, dict(zip(ids, r, strict=False)))])


def negated(where: str, yes: bool) -> str:
    return f"NOT ({where})" if yes else where


@settings(max_examples=examples(40))
@given(
    histories(),
    REWRITINGS,
    st.lists(LEAVES, min_size=1, max_size=3),
    PARTED,
    st.sampled_from([" OR ", " AND "]),
    st.booleans(),
    st.integers(0, 99),
)
def test_rewritings_change_no_row(
    build: Callable[[Path], History],
    rewritings: list[Any],
    leaves: list[str],
    parted: str,
    junction: str,
    no: bool,
    seed: int,
) -> None:
    with TemporaryDirectory() as directory:
        history = build(Path(directory) / "t")
        log, chance = history.log, random.Random(seed)
        width = 5 if history.partitioned else 4
        rows = [row[:width] for row in history.rows()]
        filters = [negated(junction.join([*leaves, *([parted] if history.partitioned else [])]), no), *leaves]
        expected = {where: matching(log, rows, where) for where in filters}
        for rewrite in [None, *rewritings]:
            if rewrite is not None:
                rewrite(log, history.versions, chance)
            assert read(log, None) == read(log, None, cache=False) == canonical(rows), rewrite
            for where in filters:
                assert read(log, where) == read(log, where, cache=False) == expected[where], (rewrite, where)


@settings(max_examples=examples(80))
@given(histories(), st.lists(LEAVES, min_size=1, max_size=4), st.booleans())
def test_statistics_drop_no_file_with_a_matching_row(
    build: Callable[[Path], History], leaves: list[str], no: bool
) -> None:
    """Of the files that a plan without statistics keeps, those dropped with them hold no row that matches."""
    with TemporaryDirectory() as directory:
        history = build(Path(directory) / "t")
        wheres = [negated(leaf, no) for leaf in leaves]
        described = [set(planned(history.log, where)) for where in wheres]
        without_statistics(history.log, history.versions, random.Random())
        for where, kept in zip(wheres, described, strict=True):
            bare = set(planned(history.log, where))
            assert kept <= bare
            dropped = [f for f in history.files if f.path in bare - kept]
            assert matching(history.log, [row for f in dropped for row in f.live()], where) == []
            event(f"dropped: {min(len(dropped), 1)}")


def planned(log: DeltaLog, where: str) -> list[str]:
    return [Path(uri).name for uri in open_table(log.root).scan(where).plan().file_uris()]


def four_files(root: Path) -> DeltaLog:
    history = History(DeltaLog(root).start(*FIELDS[:4], protocol=PROTOCOL), partitioned=False)
    for i in range(4):
        history.append([(i, "a", 0.5)], None, described=True)
    return history.log


def test_the_rewritings_are_seen(tmp_path: Path) -> None:
    """Each of them leaves a log that is read in another way, so that the properties above are about something."""
    log = four_files(tmp_path / "t")
    assert planned(log, "x = 2") == ["f2"]
    without_statistics(log, 4, random.Random(0))
    assert len(planned(log, "x = 2")) == 4
    compacted(log, 4, random.Random(0))
    assert len(log.snapshot().segment.commits) < 5
    for i, rewrite in enumerate([classic, v2] * 4):
        log = four_files(tmp_path / str(i))
        rewrite(log, 4, random.Random(i))
        assert log.snapshot().segment.checkpoint is not None
        assert log.paths() == ["f0", "f1", "f2", "f3"]


EVENTS: list[tuple[str, int]] = [
    ("append", 0),
    ("append", 1),
    ("delete", 0),
    ("append", 2),
    ("remove", 1),
    ("delete", 0),
    ("restate", 2),
    ("append", 3),
    ("restore", 1),
    ("remove", 3),
    ("delete", 2),
    ("remove", 0),
]


@pytest.mark.parametrize("rewrite", [without_statistics, permuted, compacted, classic, v2, copied])
@pytest.mark.parametrize("seed", range(6))
def test_one_history_that_has_everything(tmp_path: Path, rewrite: Any, seed: int) -> None:
    """Files that are removed, come back, and lose rows again and again: what random histories may miss."""
    log = DeltaLog(tmp_path / "t").start(*FIELDS[:4], protocol=PROTOCOL)
    history = History(log, partitioned=False)
    for kind, number in EVENTS:
        if kind == "append":
            history.append([(number, "a", 0.5), (number + 10, "é", None), (None, None, math.nan)], None, described=True)
        else:
            history.change(kind, number, described=True)
    rewrite(log, history.versions, random.Random(seed))
    assert read(log, None) == canonical([row[:4] for row in history.rows()])
    for where in ("x = 12", "x IS NULL", "s = 'é'", "NOT (x > 5)", "f > 0.5"):
        assert read(log, where) == matching(log, [row[:4] for row in history.rows()], where), where
