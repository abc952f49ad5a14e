"""Random programs of alterations and writes of a column-mapped table give the rows of an independent model."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import tableformats as tf

from ..support.delta_log import field
from .test_append import local_table
from .test_features import theirs

NAMES = ["a", "b", "c d", "E"]
TYPES = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "double": pa.float64()}
WIDER = {"int": ("bigint", "double")}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(NAMES), st.sampled_from(sorted(TYPES))),
        st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
        st.tuples(st.just("drop"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("widen"), st.sampled_from(NAMES), st.integers(0, 1)),
        st.tuples(st.just("move"), st.sampled_from(NAMES), st.booleans()),
        st.tuples(st.just("append"), st.integers(0, 2), st.none()),
        st.tuples(st.just("delete"), st.integers(0, 5), st.none()),
    ),
    max_size=9,
)


class Model:
    """The columns, with their types, and the rows as dictionaries."""

    def __init__(self) -> None:
        self.columns: dict[str, str] = {"id": "bigint"}
        self.rows: list[dict[str, Any]] = []

    def value(self, name: str, number: int) -> Any:
        kind = self.columns[name]
        return f"{name}{number}" if kind == "string" else number + 0.5 if kind == "double" else number

    def new_rows(self, count: int) -> list[dict[str, Any]]:
        first = max((row["id"] for row in self.rows), default=0) + 1
        return [{name: self.value(name, first + n) for name in self.columns} for n in range(count)]

    def expected(self) -> list[dict[str, Any]]:
        return sorted(({name: row.get(name) for name in self.columns} for row in self.rows), key=lambda row: row["id"])


def step(table: tf.Table, model: Model, kind: str, one: Any, other: Any) -> None:
    """One step on both, where the model says that it can be done."""
    if kind == "append":
        rows = model.new_rows(one)
        schema = pa.schema([(name, TYPES[text]) for name, text in model.columns.items()])
        table.append(pa.Table.from_pylist(rows, schema=schema))
        model.rows += rows
    elif kind == "delete":
        table.delete(f"id = {one}")
        model.rows = [row for row in model.rows if row["id"] != one]
    elif kind == "add" and one not in model.columns:
        table.alter.add_columns({f"`{one}`": other})
        model.columns[one] = other
    elif kind == "rename" and one in model.columns and other not in model.columns:
        table.alter.rename_column(f"`{one}`", other)
        model.columns = {other if name == one else name: text for name, text in model.columns.items()}
        model.rows = [{other if name == one else name: value for name, value in row.items()} for row in model.rows]
    elif kind == "drop" and one in model.columns:
        table.alter.drop_columns(f"`{one}`")
        del model.columns[one]
        model.rows = [{name: value for name, value in row.items() if name != one} for row in model.rows]
    elif kind == "widen" and one in model.columns and model.columns[one] in WIDER:
        table.alter.set_properties({"delta.enableTypeWidening": "true"})
        model.columns[one] = WIDER[model.columns[one]][other]
        table.alter.change_type(f"`{one}`", model.columns[one])
    elif kind == "move" and one in model.columns:
        table.alter.move_column(f"`{one}`", first=other)
        moved = {one: model.columns.pop(one)}
        model.columns = {**moved, **model.columns} if other else {**model.columns, **moved}


@given(steps=STEPS)
@settings(max_examples=12, deadline=None)
def test_programs(steps: list[tuple[str, Any, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = local_table(Path(folder), field("id", "long"))
        table.alter.set_properties({"delta.columnMapping.mode": "name"})
        model, versions = Model(), []
        for kind, one, other in steps:
            step(table, model, kind, one, other)
            versions.append((table.snapshot().version, model.expected()))
        for version, expected in versions:
            found = table.scan(version=version).to_arrow()
            assert sorted(found.to_pylist(), key=lambda row: row["id"]) == expected
        assert not table.verify(deep=True)
        for name in model.columns:
            for row in model.expected():
                if isinstance(row[name], str):
                    assert table.count(f"`{name}` = '{row[name]}'") == 1
        if model.rows and "delta.enableTypeWidening" not in table.snapshot().properties:  # which deltalake lacks
            assert sorted(theirs(Path(folder)), key=lambda row: row["id"]) == model.expected()
