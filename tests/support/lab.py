"""A table that lives: random operations, and an in-memory model that knows the rows of every version.

The model holds rows as {field id: value} and does to them what an operation means, without any file. A writer
(:mod:`tests.support.lab_delta`, :mod:`tests.support.lab_iceberg`) puts the same operation into the table's metadata
and data files by the format's specification alone. Values are canonical (``tableformats.expressions.tree.Literal``).
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tests.support.strategies import DECIMALS, VALUES, order_key, to_array, type_of

Row = dict[int, Any]
"""Field id to value. A column that was added later is absent."""

ODD_NAMES = ("f", "f", "%41", "x=a%2Fb ", "ü#?&", "a:b+")
"""What names of data files begin with: decoded once too often or too rarely they are other names."""
NO_KEYS = ("float", "double", "binary")
"""Kinds that serve neither as keys of equality deletes nor as partition columns."""


@dataclass(frozen=True)
class Column:
    """A column of the table; rows written before it was added hold ``default``."""

    id: int
    name: str
    kind: str
    default: Any = None
    was: tuple[str, ...] = ()
    """The kinds before promotions, the first one first."""


@dataclass(frozen=True)
class Part:
    """A field of a partition spec."""

    id: int
    source: int
    transform: str

    @property
    def name(self) -> str:
        return f"p{self.id}"


@dataclass
class DataFile:
    """A data file as it was written, and the positions that are deleted by now."""

    path: str
    rows: list[Row]
    columns: tuple[Column, ...]
    spec: int
    partition: tuple[Any, ...]
    sequence: int
    described: dict[int, Described]
    counted: bool
    dead: set[int] = field(default_factory=set)
    size: int = 0

    def live(self) -> list[Row]:
        return [row for i, row in enumerate(self.rows) if i not in self.dead]


@dataclass(frozen=True)
class Described:
    """What a file's metadata says of a column; None is not said."""

    lower: Any = None
    upper: Any = None
    nulls: int | None = None
    nans: int | None = None
    values: int | None = None


@dataclass
class Version:
    """What a reader must find at a version: columns, and the live rows of every file."""

    number: int | str
    columns: tuple[Column, ...]
    files: dict[str, list[Row]]

    @property
    def rows(self) -> list[Row]:
        """The rows with the columns of the version and no other."""
        return [{c.id: row.get(c.id, c.default) for c in self.columns} for live in self.files.values() for row in live]

    def to_arrow(self, rows: Iterable[Row]) -> pa.Table:
        found = list(rows)
        return pa.table({c.name: to_array([row[c.id] for row in found], type_of(c.kind)) for c in self.columns})


class Lab(ABC):
    """The model. ``operations`` are names of methods; each draws what it needs and commits once."""

    kinds: Sequence[str]
    operations: Sequence[str]
    wider: Mapping[str, Sequence[str]] = {"int": ("long",), "float": ("double",)}
    """What a kind may be promoted to."""
    defaults = False
    """New columns may bring a value for the rows that were there before."""
    odd_names: Sequence[str] = ODD_NAMES

    def __init__(self, root: Path, draw: Callable[[Any], Any]) -> None:
        self.root = root
        self.draw = draw
        self.chance = random.Random(draw(st.integers(0, 999)))
        self.columns: tuple[Column, ...] = ()
        self.specs: list[tuple[Part, ...]] = []
        self.files: list[DataFile] = []
        self.versions: list[Version] = []
        self.names = 0
        self.next_id = 1
        for _ in range(draw(st.integers(1, 3))):
            self.columns += (self._new_column(),)
        self.create()

    def run(self) -> None:
        """One to nine operations, the first of which is an append."""
        self.append()
        for name in self.draw(st.lists(st.sampled_from(self.operations), max_size=8)):
            getattr(self, name)()

    # ---- what the writers do ------------------------------------------------------------------------------------

    @abstractmethod
    def create(self) -> None:
        """Settle the first spec (``self.specs``), and whatever the format needs before the first commit."""

    @abstractmethod
    def commit(self, added: Sequence[DataFile] = (), removed: Sequence[DataFile] = ()) -> int | str:
        """Write a version in which files came and went (``self.files`` is settled already); its name."""

    @abstractmethod
    def commit_schema(self) -> int | str:
        """Write ``self.columns``; the version that has them."""

    def partition_of(self, row: Row) -> tuple[Any, ...]:
        """The partition values of a row under the newest spec."""
        raise NotImplementedError

    def normal(self, row: Row) -> Row:
        """The row as the format can hold it."""
        return row

    # ---- operations that every format has -----------------------------------------------------------------------

    def append(self) -> None:
        self.change(self.draw(st.lists(self.some_row(), min_size=1, max_size=6)), [])

    def rewrite(self) -> None:
        """Copy-on-write: a file is replaced by one that lacks some of its rows and has a new one."""
        for file in self.some_files(1):
            kept = [row for row in self.complete(file.live()) if self.chance.random() < 0.7]
            self.change([*kept, self.draw(self.some_row())], [file])

    def remove(self) -> None:
        for file in self.some_files(1):
            self.change([], [file])

    def compact(self) -> None:
        """All live rows are written anew, as they are seen now."""
        chosen = self.some_files(3)
        self.change(self.complete(row for file in chosen for row in file.live()), chosen)

    def add_column(self) -> None:
        self.columns += (self._new_column(later=bool(self.versions)),)
        self._settle(self.commit_schema())

    def rename(self) -> None:
        i = self.draw(st.integers(0, len(self.columns) - 1))
        self._replace(i, replace(self.columns[i], name=self._new_name()))

    def drop_and_add_again(self) -> None:
        """A column goes, and another with its name comes: its old values must stay unseen. One column always stays."""
        sources = {p.source for spec in self.specs for p in spec}
        droppable = [c for c in self.columns if c.id not in sources]
        if len(droppable) > 1:
            gone = self.draw(st.sampled_from(droppable))
            self.columns = tuple(c for c in self.columns if c is not gone)
            if self.draw(st.booleans()):
                self.columns += (replace(self._new_column(later=True), name=gone.name),)
            self._settle(self.commit_schema())

    def promote(self) -> None:
        """A column gets a wider kind, and what it holds is of that kind from now on."""
        choices = [
            (i, kind)
            for i, c in enumerate(self.columns)
            for kind in self.wider.get(c.kind, ())
            if self.may_promote(c, kind)
        ]
        if choices:
            i, kind = self.draw(st.sampled_from(choices))
            column = self.columns[i]
            for file in self.files:
                file.rows = [
                    {j: widened(v, column.kind, kind) if j == column.id else v for j, v in row.items()}
                    for row in file.rows
                ]
            default = widened(column.default, column.kind, kind)
            self._replace(i, replace(column, kind=kind, default=default, was=(*column.was, column.kind)))

    def may_promote(self, column: Column, kind: str) -> bool:
        return True

    # ---- their parts --------------------------------------------------------------------------------------------

    def change(self, rows: Sequence[Row], removed: Sequence[DataFile], sequence: int | None = None) -> None:
        """One commit: the rows in new files, one per partition, and files that go."""
        groups: dict[str, list[Row]] = {}
        for row in map(self.normal, rows):
            groups.setdefault(repr(self.partition_of(row)), []).append(row)
        added = [self._file(group, sequence) for group in groups.values()]
        self.files = [f for f in self.files if f not in removed] + added
        self._settle(self.commit(added, removed))

    def complete(self, rows: Iterable[Row]) -> list[Row]:
        """Rows as a reader sees them now: with every column, and none that was dropped."""
        return [{c.id: row.get(c.id, c.default) for c in self.columns} for row in rows]

    def some_files(self, most: int) -> list[DataFile]:
        if not self.files:
            return []
        chosen = self.draw(st.sets(st.integers(0, len(self.files) - 1), min_size=1, max_size=most))
        return [self.files[i] for i in sorted(chosen)]

    def some_row(self) -> st.SearchStrategy[Row]:
        return st.fixed_dictionaries({c.id: st.none() | _earlier(c) | VALUES[c.kind] for c in self.columns})

    def delete_rows(self, file: DataFile) -> list[int]:
        """Mark one or two live positions of a file as deleted; those marked."""
        alive = sorted(set(range(len(file.rows))) - file.dead)
        chosen = self.draw(st.sets(st.sampled_from(alive), min_size=1, max_size=2)) if alive else ()
        file.dead |= set(chosen)
        return sorted(chosen)

    def settle(self, number: int | str) -> None:
        self._settle(number)

    def _settle(self, number: int | str) -> None:
        files = {f.path: self.complete(f.live()) for f in self.files}
        self.versions.append(Version(number, self.columns, files))

    def _replace(self, i: int, column: Column) -> None:
        self.columns = (*self.columns[:i], column, *self.columns[i + 1 :])
        self._settle(self.commit_schema())

    def _new_name(self) -> str:
        self.names += 1
        return self.draw(st.sampled_from(["c", "a b.", "É`", "_x/"])) + str(self.names)

    def _new_column(self, later: bool = False) -> Column:
        kind = self.draw(st.sampled_from(sorted(self.kinds)))
        self.next_id += 1
        default = self.draw(st.none() | VALUES[kind].filter(_may_be_default)) if later and self.defaults else None
        return Column(self.next_id - 1, self._new_name(), kind, default)

    def _file(self, rows: list[Row], sequence: int | None) -> DataFile:
        number = sum(len(v.files) for v in self.versions) + self.chance.randrange(10**9)
        described = {c.id: self._describe([row[c.id] for row in rows]) for c in self.columns}
        newest, start = len(self.versions) + 1, self.chance.choice(self.odd_names)
        return DataFile(
            f"{start}{number}.parquet",
            rows,
            self.columns,
            len(self.specs) - 1,
            self.partition_of(rows[0]),
            newest if sequence is None else sequence,
            described,
            self.chance.random() < 0.8,
        )

    def _describe(self, values: list[Any]) -> Described:
        """Each statistic of a column may be missing; what is there is true."""
        present = sorted((v for v in values if v is not None and v == v), key=order_key)
        complete = self.chance.random() < 0.6
        names = ("lower", "upper", "nulls", "nans", "values")
        told = {name for name in names if complete or self.chance.random() < 0.5}
        return Described(
            present[0] if present and "lower" in told else None,
            present[-1] if present and "upper" in told else None,
            sum(v is None for v in values) if "nulls" in told else None,
            sum(v is not None and v != v for v in values) if "nans" in told else None,
            len(values) if "values" in told else None,
        )


def widened(value: Any, kind: str, wider: str) -> Any:
    """A value of a kind as one of a wider kind. Sources: Delta PROTOCOL.md, "Type Widening"; Iceberg spec, "Schema
    Evolution"."""
    if value is None or kind == wider:
        return value
    if kind == "date":
        return value * 86_400_000_000
    return Decimal(value) if wider in DECIMALS else float(value) if wider == "double" else value


def _earlier(column: Column) -> st.SearchStrategy[Any]:
    """A value that the column could have before it was first promoted."""
    kind = (*column.was, column.kind)[0]
    return VALUES[kind].map(lambda v: widened(v, kind, column.kind))


def _may_be_default(value: Any) -> bool:
    """JSON has no word for numbers that are not finite; texts of the metadata that hold a NUL are refused."""
    return math.isfinite(value) if isinstance(value, float) else not isinstance(value, str) or "\0" not in value


__all__ = ["NO_KEYS", "Column", "DataFile", "Described", "Lab", "Part", "Row", "Version"]
