"""Binding keeps what was written: names, exact comparisons, three-valued logic."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import operator
import uuid
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tableformats.expressions import (
    FALSE,
    TRUE,
    And,
    Comparison,
    Constant,
    Expression,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Reference,
    StartsWith,
    col,
    walk,
)
from tableformats.expressions.binding import MAX_DEPTH, bind
from tableformats.expressions.parse import parse_filter
from tableformats.expressions.simplify import simplify
from tableformats.schema import (
    DecimalType,
    Field,
    FixedType,
    ListType,
    MapType,
    Schema,
    StructType,
    number_fields,
    primitive,
)
from tests.support import predicates, rowmodel
from tests.support.examples import examples

SCHEMA = predicates.SCHEMA
OPERATORS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "<=>": operator.eq,
}
NULL = Constant(None)


def text_of(expression: Expression) -> str:
    return str(bind(expression, SCHEMA))


numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(-1000, 1000),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.decimals(-1000, 1000, places=3),
)


@settings(max_examples=examples(500))
@given(
    st.sampled_from(["tiny", "i", "big", "price", "wide", "huge"]), st.sampled_from(list(OPERATORS)), numbers, st.data()
)
def test_integers_and_decimals_compare_exactly(name, op, number, data):
    column = next(c for c in predicates.COLUMNS if str(c) == name)
    near = st.just(number) if isinstance(number, int) else st.nothing()
    value = data.draw(
        predicates.values(column.type) | near.filter(lambda v: str(column.type) == "bigint" and abs(v) < 2**63)
    )
    expression = bind(Comparison(op, Reference((name,)), Literal(number)), SCHEMA)
    is_decimal = isinstance(column.type, DecimalType)
    meant = Fraction(repr(number)) if isinstance(number, float) and is_decimal else Fraction(number)
    assert rowmodel.evaluate(expression, {column.id: value}) is OPERATORS[op](Fraction(value), meant)
    assert rowmodel.evaluate(expression, {column.id: None}) is (False if op == "<=>" else None)


@settings(max_examples=examples(300))
@given(predicates.bound())
def test_bound_literals_are_values_of_their_columns(expression):
    for node in walk(expression):
        literals = getattr(node, "literals", ()) or (getattr(node, "right", None),)
        for literal in literals:
            if isinstance(literal, Literal):
                assert literal.type == node.column.type
                if isinstance(literal.type, DecimalType):
                    assert literal.value.as_tuple().exponent == -literal.type.scale
                    assert len(literal.value.as_tuple().digits) <= literal.type.precision


@settings(max_examples=examples(300))
@given(predicates.bound())
def test_binding_again_changes_nothing(expression):
    assert bind(expression, SCHEMA) == expression


@settings(max_examples=examples(300))
@given(predicates.written(), predicates.rows())
def test_simplifying_keeps_the_truth_value(expression, row):
    plain = simplify(expression)
    assert rowmodel.evaluate(bind(expression, SCHEMA), row) == rowmodel.evaluate(bind(plain, SCHEMA), row)
    inner = [node for node in walk(plain) if node is not plain]
    assert not any(node in (TRUE, FALSE) for node in inner)
    assert not any(isinstance(node, Not) and isinstance(node.child, (Not, Constant)) for node in walk(plain))


@pytest.mark.parametrize("op", list(OPERATORS))
@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["i", "big", "price", "huge"])
def test_numbers_beyond_all_numbers_keep_nulls_null(name, special, op):
    column = next(c for c in predicates.COLUMNS if str(c) == name)
    order = -1 if special > 0 or math.isnan(special) else 1
    expression = Comparison(op, Reference((name,)), Literal(special))
    for negated in (False, True):
        bound = bind(Not(expression) if negated else expression, SCHEMA)
        zero = Decimal(0) if isinstance(column.type, DecimalType) else 0
        assert rowmodel.evaluate(bound, {column.id: zero}) is (OPERATORS[op](order, 0) != negated)
        assert rowmodel.evaluate(bound, {column.id: None}) is (negated if op == "<=>" else None)


@pytest.mark.parametrize(
    ("expression", "bound"),
    [
        (col("I") == 1, "i = 1"),
        (col("ST.X") == 1, "st.x = 1"),
        (col("i") < 1.5, "i <= 1"),
        (col("i") == 1.5, "i <= 1 AND i > 1"),
        (col("i") != 1.5, "i <= 1 OR i > 1"),
        (col("i").eq_null_safe(1.5), "FALSE"),
        (col("tiny") < 1000, "tiny <= 127"),
        (col("i") == "12", "i = 12"),
        (col("d") == "nan", "d = CAST('NaN' AS DOUBLE)"),
        (col("d") == -0.0, "d = 0.0"),
        (col("d") == Decimal("0.1"), "d = 0.1"),
        (col("f") == 10**400, "f < CAST('Infinity' AS DOUBLE) AND f >= CAST('Infinity' AS DOUBLE)"),
        (col("price") == 1.1, "price = 1.10"),
        (col("price") > Decimal("1.005"), "price > 1.00"),
        (col("price") > 1000, "price > 999.99"),
        (col("price") > Decimal("1e999999"), "price > 999.99"),
        (col("flag") == "Yes", "flag = TRUE"),
        (col("s") == "a", "s = 'a'"),
        (col("bin") == b"a", "bin = X'61'"),
        (col("fix") > b"a", "fix >= X'610000'"),
        (col("fix") > b"abcd", "fix > X'616263'"),
        (col("fix") == b"abcd", "fix <= X'616263' AND fix > X'616263'"),
        (col("u") == "00000000-0000-0000-0000-0000000000ff", "u = X'000000000000000000000000000000FF'"),
        (col("u") == uuid.UUID(int=255), "u = X'000000000000000000000000000000FF'"),
        (col("day") == dt.date(2024, 1, 31), "day = DATE '2024-01-31'"),
        (col("day") == "2024-1-31", "day = DATE '2024-01-31'"),
        (col("day") > dt.datetime(2024, 1, 1, 10), "day > DATE '2024-01-01'"),
        (col("day") >= dt.datetime(2024, 1, 1), "day >= DATE '2024-01-01'"),
        (col("day") < dt.datetime(1969, 12, 31, 10), "day <= DATE '1969-12-31'"),
        (col("ts") == dt.date(2024, 1, 31), "ts = TIMESTAMP '2024-01-31 00:00:00Z'"),
        (
            col("ts") == dt.datetime(2024, 1, 31, 2, tzinfo=dt.timezone(dt.timedelta(hours=2))),
            "ts = TIMESTAMP '2024-01-31 00:00:00Z'",
        ),
        (col("ts") == "2024-01-31T00:00:00.1234567", "ts = TIMESTAMP '2024-01-31 00:00:00.123456Z'"),
        (col("ntz") == dt.datetime(2024, 1, 31), "ntz = TIMESTAMP_NTZ '2024-01-31 00:00:00'"),
        (col("nanos") == "2024-01-31 00:00:00.123456789", "nanos = TIMESTAMP '2024-01-31 00:00:00.123456789Z'"),
        (col("nanos") < dt.date(9999, 1, 1), "nanos <= TIMESTAMP '2262-04-11 23:47:16.854775807Z'"),
        (col("clock") == dt.time(1, 2, 3), "clock = TIME '01:02:03'"),
        (col("clock") == "1:02", "clock = TIME '01:02:00'"),
        (Comparison("=", Reference(("i",)), Literal(None)), "NULL"),
        (~Comparison("=", Reference(("i",)), Literal(None)), "NULL"),
        (col("i").eq_null_safe(None), "i IS NULL"),
        (col("i").isin([1, 2, 1]), "i IN (1, 2)"),
        (col("i").isin([1, None, 2.5]), "i = 1 OR NULL"),
        (col("i").isin([2.5]), "i <= 2 AND i > 2"),
        (col("i").isin([None]), "NULL"),
        (col("i").isin([]), "FALSE"),
        (col("d").isin([math.nan, -0.0, 0.0, float("nan")]), "d IN (CAST('NaN' AS DOUBLE), 0.0)"),
        (col("i").is_nan(), "FALSE"),
        (col("s").like("ab"), "s = 'ab'"),
        (col("s").like("a\\%b"), "s = 'a%b'"),
        (col("s").like("a\\_%%"), "startswith(s, 'a_')"),
        (col("s").like("%"), "startswith(s, '')"),
        (col("s").like("_%"), "s LIKE '_%'"),
        (col("i") < col("price"), "i < price"),
        (col("st").is_null(), "st IS NULL"),
        ((col("i") == 1) & (col("i") == 1), "i = 1"),
    ],
)
def test_literals_become_values_of_the_column(expression, bound):
    assert text_of(expression) == bound


@pytest.mark.parametrize(
    ("expression", "types"),
    [
        (col("i") == "x", "int"),
        (col("i") == "1.5", "int"),
        (col("i") == True, "boolean.*int"),  # noqa: E712
        (col("day") == 1, "number.*date"),
        (col("day") == "soon", "string.*date"),
        (col("flag") == 1, "number.*boolean"),
        (col("bin") == 1, "number.*binary"),
        (col("u") == "a", "uuid"),
        (col("u") == b"a", "uuid"),
        (col("ts") == 1.0, "timestamp"),
        (col("clock") == dt.date(2024, 1, 1), "date.*time"),
        (col("i") == object(), "object"),
        (col("day") == col("i"), "date and int"),
        (col("st") == 1, "struct<.*IS NULL"),
        (col("s") == "\ud800", "surrogate"),
        (col("ntz") == "2024-01-01 00:00:00 Nowhere/X", "timestamp_ntz"),
        (col("s").like("a\\"), "escape"),
    ],
)
def test_what_does_not_compare_is_refused_by_type(expression, types):
    with pytest.raises(InvalidPredicateError, match=types):
        bind(expression, SCHEMA)


def test_units_of_time_do_not_mix_between_columns():
    with pytest.raises(UnsupportedFeatureError):
        bind(col("ts") == col("nanos"), SCHEMA)


def test_refusals_name_the_column_and_the_way_out():
    with pytest.raises(InvalidPredicateError) as refusal:
        bind(col("day") == "soon", SCHEMA)
    assert refusal.value.field == "day" and "DATE '" in str(refusal.value)


def test_unknown_columns_list_near_names():
    schema = Schema(number_fields([Field(0, "event_time", primitive("date")), Field(0, "Id", primitive("int"))]))
    with pytest.raises(InvalidPredicateError, match="Did you mean event_time") as refusal:
        bind(col("evnt_time") == 1, schema)
    assert refusal.value.field == "evnt_time"
    with pytest.raises(InvalidPredicateError, match="The columns are: event_time, Id"):
        bind(col("zzz") == 1, schema)
    with pytest.raises(InvalidPredicateError, match="Id"):
        bind(col("id") == 1, schema, case_sensitive=True)


def test_names_that_differ_in_case_need_their_spelling():
    member = StructType((Field(0, "X", primitive("int")), Field(0, "x", primitive("int"))))
    schema = Schema(
        number_fields([Field(0, "a", primitive("int")), Field(0, "A", primitive("int")), Field(0, "st", member)])
    )
    assert str(bind(col("A") == 1, schema)) == "A = 1"
    wide = Schema(number_fields([Field(0, "aB", primitive("int")), Field(0, "Ab", primitive("int"))]))
    with pytest.raises(InvalidPredicateError, match=r"ambiguous.*aB or Ab"):
        bind(col("ab") == 1, wide)
    inner = Schema((Field(1, "st", StructType(wide.fields)),))
    with pytest.raises(InvalidPredicateError, match=r"ambiguous.*aB or Ab"):
        bind(col("st.ab") == 1, inner)
    assert str(bind(col("st.x") == 1, schema)) == "st.x = 1"


def test_a_dot_in_a_name_is_not_a_path():
    schema = Schema((Field(1, "a.b", primitive("int")),))
    with pytest.raises(InvalidPredicateError):
        bind(col("a.b") == 1, schema)
    assert str(bind(col("`a.b`") == 1, schema)) == "`a.b` = 1"


def test_lists_are_not_entered():
    element = Field(2, "element", StructType((Field(3, "x", primitive("int")),)))
    pairs = MapType(Field(5, "key", primitive("string"), True), Field(6, "value", primitive("int")))
    schema = Schema((Field(1, "items", ListType(element)), Field(4, "tags", pairs)))
    for name in ("items.x", "items.element.x"):
        with pytest.raises(InvalidPredicateError, match="lists and maps"):
            bind(col(name) == 1, schema)
    with pytest.raises(InvalidPredicateError, match="array<"):
        bind(col("items") == 1, schema)
    assert isinstance(bind(col("tags").is_null(), schema), IsNull)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("tags.plan IS NULL", "tags['plan'] IS NULL"),
        ("tags.plan = 'x'", "(tags['plan'] = 'x')"),
        ("s = tags.plan", "(s = tags['plan'])"),
        ("tags.a = tags.b", "(tags['a'] = tags['b'])"),
        ("tags.plan <=> s", "(tags['plan'] <=> s)"),
        ("tags.plan IN ('a', 'b')", "tags['plan'] IN ('a', 'b')"),
        ("tags.plan LIKE 'a%'", "like(tags['plan'], 'a%')"),
        ("startswith(tags.plan, 'a')", "startswith(tags['plan'], 'a')"),
        ("isnan(n.x)", "isnan(n['x'])"),
        ("n.x > 1", "(n['x'] > 1.0D)"),
        ("i > n.x", "(CAST(i AS DOUBLE) > n['x'])"),
        ("i = s", "(CAST(i AS BIGINT) = CAST(s AS BIGINT))"),
        ("s = s", "s = s"),
        ("i > 1", "i > 1"),
        ("tags IS NULL", "tags IS NULL"),
    ],
)
def test_elements_of_maps_are_named_like_members(text, bound):
    """They are evaluated on rows, as conditions of other types are."""

    def map_of(first, kind):
        return MapType(Field(first, "key", primitive("string"), True), Field(first + 1, "value", primitive(kind)))

    columns = {"tags": map_of(11, "string"), "s": primitive("string"), "i": primitive("int"), "n": map_of(21, "double")}
    schema = Schema(tuple(Field(i, name, kind) for i, (name, kind) in enumerate(columns.items(), 1)))
    assert str(bind(parse_filter(text), schema)) == bound


def test_a_void_column_is_always_null():
    schema = Schema((Field(1, "v", primitive("unknown")), Field(2, "i", primitive("int"))))
    for expression in (col("v") == 1, col("v").isin([1, 2]), col("v").like("a%"), col("i") < col("v")):
        assert bind(expression, schema) == NULL
    assert bind(col("v").eq_null_safe(1), schema) == FALSE
    assert str(bind(col("v").eq_null_safe(col("i")), schema)) == "i IS NULL"


def test_simplify_is_three_valued():
    one = bind(col("i") == 1, SCHEMA)
    assert simplify(And((one, NULL))) == And((one, NULL))
    assert simplify(And((one, NULL, FALSE))) == FALSE
    assert simplify(Or((one, NULL, TRUE))) == TRUE
    assert simplify(Not(NULL)) == NULL
    assert simplify(Not(Not(one))) == one
    assert simplify(And((And((one, TRUE)), Or((FALSE, one))))) == one
    assert simplify(And((NULL, NULL))) == NULL and simplify(And(())) == TRUE and simplify(Or(())) == FALSE


def test_depth_is_bounded():
    deep: Expression = IsNull(Reference(("i",)))
    for _ in range(MAX_DEPTH - 1):
        deep = Not(deep)
    bind(deep, SCHEMA)
    for levels in (1, 10_000):
        for _ in range(levels):
            deep = Not(deep)
        with pytest.raises(InvalidPredicateError, match="nests deeper"):
            bind(deep, SCHEMA)


def test_numbers_are_seconds_and_no_days():
    bind(parse_filter("to_timestamp(i) > TIMESTAMP '2024-01-01 00:00:00'"), SCHEMA)
    with pytest.raises(InvalidPredicateError, match=r"takes no values of type int"):
        bind(parse_filter("to_date(i) = DATE '2024-01-01'"), SCHEMA)


def test_values_of_numpy_and_pandas_mean_what_they_hold():
    import numpy as np
    import pandas as pd

    for value in (np.int8(5), np.int64(5), np.uint64(5), np.float32(5)):
        assert text_of(col("i") == value) == "i = 5"
    assert text_of(col("f") == np.float32(0.1)) == "f = 0.10000000149011612"
    assert text_of(col("flag") == np.bool_(True)) == "flag = TRUE"
    assert text_of(col("s") == np.str_("a")) == "s = 'a'"
    for moment in (np.datetime64("2024-01-31T00:00:00"), pd.Timestamp("2024-01-31")):
        assert text_of(col("ntz") == moment) == "ntz = TIMESTAMP_NTZ '2024-01-31 00:00:00'"
    fine = pd.Timestamp("2024-01-31 00:00:00.000000001", tz="UTC")
    assert text_of(col("nanos") == fine) == "nanos = TIMESTAMP '2024-01-31 00:00:00.000000001Z'"
    assert text_of(col("ts") <= fine) == "ts <= TIMESTAMP '2024-01-31 00:00:00Z'"
    for missing in (pd.NaT, np.datetime64("NaT")):
        assert text_of(col("ts") == missing) == "NULL"
    with pytest.raises(InvalidPredicateError, match="NAType"):
        bind(col("i") == pd.NA, SCHEMA)


def test_decimal_specials_are_doubles():
    assert text_of(col("d") == decimal.Decimal("NaN")) == text_of(col("d") == decimal.Decimal("sNaN"))
    assert text_of(col("price") < decimal.Decimal("Infinity")) == "price <= 999.99"


def test_fixed_values_compare_like_padded_bytes():
    column = next(c for c in predicates.COLUMNS if str(c) == "fix")
    assert isinstance(column.type, FixedType)
    for literal in (b"", b"a", b"ab\x00", b"abc", b"abcd", b"\xff\xff\xff\xff"):
        for op, python in OPERATORS.items():
            bound = bind(Comparison(op, Reference(("fix",)), Literal(literal)), SCHEMA)
            for value in (b"\x00\x00\x00", b"a\x00\x00", b"ab\x00", b"abc", b"abd", b"\xff\xff\xff"):
                assert rowmodel.evaluate(bound, {column.id: value}) is python(value, literal), (value, op, literal)


def test_like_and_startswith_bind_to_what_they_are():
    assert isinstance(bind(col("s").like("a_"), SCHEMA), Like)
    assert isinstance(bind(col("s").startswith("a%"), SCHEMA), StartsWith)


def test_texts_without_their_zone_are_compared_with_local_times():
    """As Spark casts texts to TIMESTAMP_NTZ, with ANSI and without."""
    for text in ("2024-01-01 12:00:00Z", "2024-01-01 12:00:00+01:00", "2024-01-01T12:00:00 Europe/Berlin"):
        for ansi in (True, False):
            assert bind(col("ntz") < text, SCHEMA, ansi=ansi) == bind(col("ntz") < "2024-01-01 12:00:00", SCHEMA)
    assert bind(col("ts") < "2024-01-01 12:00:00+01:00", SCHEMA) == bind(col("ts") < "2024-01-01 11:00:00", SCHEMA)


def test_numbers_are_truth_values_without_ansi():
    flag = col("flag")
    for one in (1, 1.0):
        assert bind(flag == one, SCHEMA, ansi=False) == bind(flag == True, SCHEMA)  # noqa: E712
        assert bind(flag != one, SCHEMA, ansi=False) == bind(flag != True, SCHEMA)  # noqa: E712
    assert bind(flag == 0, SCHEMA, ansi=False) == bind(flag == False, SCHEMA)  # noqa: E712
    for refused in (flag > 0, flag.isin([1]), flag == dt.date(1970, 1, 2)):
        with pytest.raises(InvalidPredicateError, match="boolean"):
            bind(refused, SCHEMA, ansi=False)
