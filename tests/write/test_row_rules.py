"""Rules of new rows: conditions, computed columns, identities, NOT NULL and lengths at every depth."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tableformats as tf
from tableformats.engines.arrow.writing.row_rules import RuleRunner, check_lengths, check_required
from tableformats.engines.arrow.writing.stored_columns import stored_schema, stored_table
from tableformats.plugin import (
    DecimalType,
    Field,
    ListType,
    MapType,
    Schema,
    StructType,
    WriteTarget,
    arrow_type,
    number_fields,
    primitive,
)
from tableformats.plugin.writing.row_rules import (
    IdentityColumn,
    RowRules,
    column_default,
    generated_column,
    names_in,
    row_check,
)
from tableformats.schema.arrow_types import nullable_type
from tests.support.examples import examples

INT, LONG, TEXT, DOUBLE = (primitive(name) for name in ("int", "long", "string", "double"))


def schema_of(**kinds: Any) -> Schema:
    return Schema(number_fields(Field(0, name, kind) for name, kind in kinds.items()))


SCHEMA = schema_of(a=INT, b=DOUBLE, s=TEXT, d=primitive("date"), t=primitive("timestamp"))


def batch(**columns: Any) -> pa.RecordBatch:
    """A batch of SCHEMA, with NULL for the columns that are not given."""
    length = len(next(iter(columns.values())))
    arrays = [pa.array(columns.get(f.name, [None] * length), arrow_type(f.type)) for f in SCHEMA.fields]
    return pa.RecordBatch.from_arrays(arrays, names=SCHEMA.names)


def run(rules: RowRules, **columns: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = RuleRunner(SCHEMA, rules, list(columns)).apply(batch(**columns)).to_pylist()
    return found


@pytest.mark.parametrize(
    ("sql", "passes", "breaks"),
    [
        ("a > 3", {"a": [4]}, {"a": [4, 3]}),
        ("a > 3", {"a": [4]}, {"a": [None]}),
        ("a > 3 OR a IS NULL", {"a": [None]}, {"a": [3]}),
        ("b > 1", {"b": [float("nan")]}, {"b": [1.0]}),
        ("length(s) <= 3", {"s": ["äöü"]}, {"s": ["abcd"]}),
        ("s LIKE 'a%' AND a IN (1, 2)", {"s": ["ab"], "a": [2]}, {"s": ["ab"], "a": [3]}),
        ("year(d) >= 2020", {"d": [18262]}, {"d": [18261]}),
        ("true", {"a": [None]}, None),
        ("NULL", None, {"a": [1]}),
    ],
)
def test_a_condition_passes_only_if_true(sql: str, passes: Any, breaks: Any) -> None:
    rules = RowRules((row_check("the constraint 'c'", "c", sql, SCHEMA, "t"),))
    rules = pickle.loads(pickle.dumps(rules))
    if passes is not None:
        assert len(run(rules, **passes)) == 1
    if breaks is not None:
        with pytest.raises(tf.ConstraintViolationError, match="constraint 'c'") as caught:
            run(rules, **breaks)
        assert caught.value.field == "c"


def test_the_error_shows_the_row() -> None:
    rules = RowRules((row_check("the constraint 'c'", "c", "a < b", SCHEMA, "t"),))
    with pytest.raises(tf.ConstraintViolationError, match=r"a = 7, b = 6\.5"):
        run(rules, a=[1, 7], b=[2.0, 6.5])


def test_a_condition_that_cannot_be_computed_for_a_row_fails() -> None:
    rules = RowRules((row_check("the constraint 'c'", "c", "10 / a > 1", SCHEMA, "t"),))
    assert run(rules, a=[5])
    with pytest.raises(tf.ConstraintViolationError, match="zero"):
        run(rules, a=[5, 0])


@pytest.mark.parametrize("sql", ["rand() > 0.5", "nothing > 1", "a", "a >", "exists(array(1), x -> x > 1)", "sha1(b)"])
def test_what_cannot_be_evaluated_is_refused_by_name(sql: str) -> None:
    with pytest.raises(tf.UnsupportedFeatureError, match="constraint 'c'") as caught:
        row_check("the constraint 'c'", "delta.constraints.c", sql, SCHEMA, "t")
    assert caught.value.field == "delta.constraints.c"
    with pytest.raises(tf.UnsupportedFeatureError):
        generated_column(SCHEMA.fields[3], "d", sql if sql != "a" else "rand()", SCHEMA, "t")


def test_generated_columns_are_computed_or_checked() -> None:
    rules = RowRules(generated=(generated_column(SCHEMA.fields[3], "d", "CAST(t AS DATE)", SCHEMA, "t"),))
    day = 86_400_000_000
    computed = run(rules, t=[day, None, day - 1])
    assert [str(row["d"]) for row in computed] == ["1970-01-02", "None", "1970-01-01"]
    assert run(rules, t=[day, None], d=[1, None])
    for wrong in ([0, None], [1, 1], [None, None]):
        with pytest.raises(tf.ConstraintViolationError, match="generated column 'd'") as caught:
            run(rules, t=[day, None], d=wrong)
        assert caught.value.field == "d"


def test_a_generated_value_that_does_not_fit_is_an_error() -> None:
    rules = RowRules(generated=(generated_column(SCHEMA.fields[0], "a", "CAST(b AS BIGINT) * 2", SCHEMA, "t"),))
    assert run(rules, b=[4.0])[0]["a"] == 8
    with pytest.raises(tf.ConstraintViolationError, match="CAST") as caught:
        run(rules, b=[2.0**40])
    assert caught.value.field == "a"


def test_defaults_fill_missing_columns_alone_and_generated_columns_see_them() -> None:
    rules = RowRules(
        defaults=(column_default(SCHEMA.fields[0], "5", SCHEMA), column_default(SCHEMA.fields[2], "NULL", SCHEMA)),
        generated=(generated_column(SCHEMA.fields[1], "b", "a + 0.5", SCHEMA, "t"),),
    )
    assert run(rules, s=["x", None]) == [
        {"a": 5, "b": 5.5, "s": "x", "d": None, "t": None},
        {"a": 5, "b": 5.5, "s": None, "d": None, "t": None},
    ]
    assert [row["a"] for row in run(rules, a=[None, 1])] == [None, 1], "an explicit NULL stays"
    assert run(rules, d=[1])[0]["s"] is None


@pytest.mark.parametrize("sql", ["uuid()", "b", "array(1)", "'x'"])
def test_a_default_is_refused_only_where_rows_need_it(sql: str) -> None:
    rules = RowRules(defaults=(column_default(SCHEMA.fields[0], sql, SCHEMA),))
    assert run(rules, a=[1])[0]["a"] == 1
    with pytest.raises(tf.ConstraintViolationError, match="default") as caught:
        run(rules, s=["x"])
    assert caught.value.field == "a"


@given(
    start=st.integers(-50, 50),
    step=st.integers(-7, 7).filter(bool),
    high=st.none() | st.integers(-100, 100),
    sizes=st.lists(st.integers(0, 4), max_size=4),
    lanes=st.integers(1, 3),
)
@settings(max_examples=examples(60), deadline=None)
def test_identity_numbers_are_new_and_on_the_grid(
    start: int, step: int, high: int | None, sizes: list[int], lanes: int
) -> None:
    schema = schema_of(i=LONG, x=INT)
    identity = IdentityColumn(schema.fields[0], start, step, high, False)
    found: list[int] = []
    for lane in range(lanes):
        runner = RuleRunner(schema, RowRules(identities=(identity,)), ["x"], lane, lanes)
        for size in sizes:
            rows = pa.RecordBatch.from_arrays([pa.nulls(size, pa.int64()), pa.nulls(size, pa.int32())], ["i", "x"])
            found += runner.apply(rows).column("i").to_pylist()
    assert len(set(found)) == len(found) == lanes * sum(sizes)
    for number in found:
        assert (number - start) % step == 0 and (number - start) // step >= 0
        assert high is None or (number - high) * step > 0


@pytest.mark.parametrize(
    ("start", "step", "high", "first"),
    [
        (5, 3, None, 5),
        (5, 3, 5, 8),
        (5, 3, 4, 5),
        (5, 3, 6, 8),
        (5, 3, 8, 11),
        (5, -3, 5, 2),
        (5, -3, 6, 5),
        (5, -3, 1, -1),
    ],
)
def test_the_first_number_that_is_free(start: int, step: int, high: int | None, first: int) -> None:
    column = schema_of(i=LONG).fields[0]
    assert IdentityColumn(column, start, step, high, False).first_free() == first


@pytest.mark.parametrize("sql", ["coalesce(x, 7)", "x + 1", "if(x > 1, x, 7)"])
def test_generated_columns_of_constants_and_columns(sql: str) -> None:
    schema = schema_of(i=LONG, x=INT)
    assert generated_column(schema.fields[0], "i", sql, schema, "p").value is not None


def test_identity_numbers_end_and_explicit_ones() -> None:
    schema = schema_of(i=LONG)
    one = pa.RecordBatch.from_arrays([pa.nulls(2, pa.int64())], ["i"])
    last = RowRules(identities=(IdentityColumn(schema.fields[0], 1, 1, 2**63 - 2, False),))
    with pytest.raises(tf.ConstraintViolationError, match="used up"):
        RuleRunner(schema, last, []).apply(one)
    with pytest.raises(tf.ConstraintViolationError, match="itself") as caught:
        RuleRunner(schema, last, ["i"])
    assert caught.value.field == "i"
    free = RowRules(identities=(IdentityColumn(schema.fields[0], 1, 1, None, True),))
    given = pa.RecordBatch.from_arrays([pa.array([7, None], pa.int64())], ["i"])
    assert RuleRunner(schema, free, ["i"]).apply(given).column("i").to_pylist() == [7, None]


@pytest.mark.parametrize(("start", "step", "limit"), [(1, 1, 2**63 - 1), (-1, -1, -(2**63)), (1, 2, 2**63 - 1)])
def test_the_last_identity_number_is_given_out(start: int, step: int, limit: int) -> None:
    schema = schema_of(i=LONG)
    for before in range(4):
        identity = IdentityColumn(schema.fields[0], start, step, limit - before * step, False)
        for count in range(1, before + 2):
            rows = pa.RecordBatch.from_arrays([pa.nulls(count, pa.int64())], ["i"])
            runner = RuleRunner(schema, RowRules(identities=(identity,)), [])
            if count > before:
                with pytest.raises(tf.ConstraintViolationError, match="used up"):
                    runner.apply(rows)
                continue
            numbers = [limit - (before - n) * step for n in range(1, count + 1)]
            assert runner.apply(rows).column("i").to_pylist() == numbers


def test_generated_columns_without_a_condition_are_not_looked_at() -> None:
    """Only those that rows bring are compared with what they should be."""
    computed = generated_column(SCHEMA.fields[0], "a", "CAST(b AS INT)", SCHEMA, "t")
    unchecked = replace(computed, check=None)
    assert run(RowRules(generated=(unchecked,)), a=[7], b=[1.0])[0]["a"] == 7
    assert run(RowRules(generated=(computed,)), a=[1], b=[1.0])[0]["a"] == 1
    with pytest.raises(tf.ConstraintViolationError):
        run(RowRules(generated=(computed,)), a=[7], b=[1.0])
    with pytest.raises(tf.ConstraintViolationError, match="is not computed"):
        run(RowRules(generated=(computed,)), b=[1e10])


def test_a_condition_of_members() -> None:
    schema = schema_of(p=StructType((Field(0, "q", StructType((Field(0, "x", INT), Field(0, "y", INT)))),)))
    rules = RowRules((row_check("the constraint 'c'", "c", "p.q.y > 1", schema, "t"),))
    kind = arrow_type(schema.fields[0].type)
    for y, holds in ((2, True), (1, False)):
        rows = pa.RecordBatch.from_arrays([pa.array([{"q": {"x": 5 - 5 * holds, "y": y}}], kind)], ["p"])
        runner = RuleRunner(schema, rules, ["p"])
        if holds:
            assert runner.apply(rows).equals(rows)
        else:
            with pytest.raises(tf.ConstraintViolationError, match="constraint 'c'"):
                runner.apply(rows)


def required(name: str, kind: Any) -> Field:
    return Field(0, name, kind, required=True)


DEEP = Field(
    0,
    "c",
    StructType(
        (
            required("x", INT),
            Field(0, "l", ListType(required("element", StructType((required("y", TEXT),))))),
            Field(0, "m", MapType(required("key", TEXT), required("value", INT))),
        )
    ),
)


@pytest.mark.parametrize(
    ("row", "broken"),
    [
        (None, None),
        ({"x": 1, "l": None, "m": None}, None),
        ({"x": 1, "l": [], "m": []}, None),
        ({"x": 1, "l": [{"y": "a"}], "m": [("k", 1)]}, None),
        ({"x": None, "l": None, "m": None}, "c.x"),
        ({"x": 1, "l": [None], "m": None}, "c.l.element"),
        ({"x": 1, "l": [{"y": None}], "m": None}, "c.l.element.y"),
        ({"x": 1, "l": None, "m": [("k", None)]}, "c.m.value"),
    ],
)
@pytest.mark.parametrize("before", [0, 2])
def test_null_is_found_at_every_depth(row: Any, broken: str | None, before: int) -> None:
    values = pa.array([{"x": None, "l": None, "m": None}] * before + [None, row], arrow_type(DEEP.type))[before:]
    if broken is None:
        return check_required(values, DEEP)
    with pytest.raises(tf.ConstraintViolationError) as caught:
        check_required(values, DEEP)
    assert caught.value.field == broken


def test_null_inside_of_what_is_null_does_not_count() -> None:
    hidden = pa.StructArray.from_arrays([pa.array([None, 1], pa.int32())], names=["x"], mask=pa.array([True, False]))
    check_required(hidden, Field(0, "c", StructType((required("x", INT),))))


def test_lengths_are_of_characters_at_every_depth() -> None:
    kind = arrow_type(StructType((Field(0, "l", ListType(Field(0, "element", TEXT))),)))
    values = pa.array([{"l": ["äöü", None]}, None], kind)
    check_lengths(values, ("c",), {("c", "l", "element"): 3})
    with pytest.raises(tf.ConstraintViolationError, match="3 characters") as caught:
        check_lengths(values, ("c",), {("c", "l", "element"): 2})
    assert caught.value.field == "c.l.element"


def test_words_of_expressions() -> None:
    assert names_in(["a + `B c` > 'x'", "`d``e`"]) >= {"a", "b c", "d`e"}


@pytest.mark.parametrize(
    "kind",
    [
        *(primitive(name) for name in ("int", "double", "string", "binary", "date", "timestamp", "boolean")),
        DecimalType(10, 2),
        StructType((required("z", INT), Field(0, "n", TEXT))),
        ListType(required("element", INT)),
        MapType(required("key", TEXT), required("value", INT)),
    ],
)
def test_what_is_required_inside_of_a_null_struct_is_stored(kind: Any, tmp_path: Path) -> None:
    target = WriteTarget(Schema(number_fields([Field(0, "c", StructType((required("x", kind), Field(0, "y", INT))))])))
    stored = stored_schema(target)
    rows = pa.table({"c": pa.nulls(3, nullable_type(target.schema.fields[0].type))})
    for table in (rows, rows.slice(1)):
        pq.write_table(stored_table(table, stored), tmp_path / "file")
        found = pq.read_table(tmp_path / "file")
        assert found.to_pylist() == [{"c": None}] * table.num_rows
        assert not found.schema.field("c").type.field(0).nullable
