"""Random rows and random bound predicates over one schema that has every type: shared by property tests."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from tableformats.expressions import (
    And,
    BoundColumn,
    Comparison,
    Constant,
    Expression,
    Holds,
    In,
    IsNaN,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    Reference,
    StartsWith,
)
from tableformats.expressions.binding import bind
from tableformats.schema import (
    INTEGER_RANGES,
    DecimalType,
    Field,
    FixedType,
    Schema,
    StructType,
    Type,
    arrow_type,
    primitive,
)

_TYPES: dict[str, Type] = {
    "tiny": primitive("byte"),
    "small": primitive("short"),
    "i": primitive("int"),
    "big": primitive("long"),
    "j": primitive("long"),
    "f": primitive("float"),
    "d": primitive("double"),
    "e": primitive("double"),
    "price": DecimalType(5, 2),
    "wide": DecimalType(38, 10),
    "huge": DecimalType(38, 0),
    "flag": primitive("boolean"),
    "s": primitive("string"),
    "end": primitive("string"),
    "bin": primitive("binary"),
    "fix": FixedType(3),
    "u": primitive("uuid"),
    "day": primitive("date"),
    "ts": primitive("timestamp"),
    "ntz": primitive("timestamp_ntz"),
    "nanos": primitive("timestamp_ns"),
    "clock": primitive("time"),
}
_MEMBERS = (Field(101, "x", primitive("int")), Field(102, "a.b `c", primitive("double")))
SCHEMA = Schema(
    (
        *(Field(i, name, kind) for i, (name, kind) in enumerate(_TYPES.items(), 1)),
        Field(100, "st", StructType(_MEMBERS)),
        Field(103, "Straße", primitive("string")),
    )
)
COLUMNS = [BoundColumn(path) for path in SCHEMA.leaves()]

_TEXT = st.text(st.sampled_from("ab%_\\'\n\"`é\U0001f600\ue000"), max_size=4)
_DOUBLES = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.5, 0.1, math.nan, math.inf, -math.inf, 5e-324, 2.0**53, 1e300]), st.floats()
)
_STRUCT_FLOAT = struct.Struct("f")


def _as_float32(value: float) -> float:
    try:
        return float(_STRUCT_FLOAT.unpack(_STRUCT_FLOAT.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def edges(kind: Type) -> list[Any]:
    """The values of a type at which comparisons go wrong, and NULL."""
    if isinstance(kind, DecimalType):
        greatest = Decimal((0, (9,) * kind.precision, -kind.scale))
        return [None, greatest, greatest.copy_negate(), *(Decimal((0, (n,), -kind.scale)) for n in (0, 1, 2))]
    if isinstance(kind, FixedType):
        return [None, b"\0" * kind.length, b"a" * kind.length, b"\xff" * kind.length]
    name = str(getattr(kind, "name", kind))
    low, high = INTEGER_RANGES["int"] if name == "date" else INTEGER_RANGES.get(name, INTEGER_RANGES["long"])
    day = 86_400_000_000
    known: dict[str, list[Any]] = {
        "boolean": [False, True],
        "string": ["", "a", "ab", "a\nb", "A", "é", "\ue000", "\U0001f600", "%", "\\"],
        "binary": [b"", b"\0", b"a", b"\xff"],
        "uuid": [b"\0" * 16, b"\x7f" * 16, b"\x80" * 16],
        "float": [math.nan, -0.0, 0.0, _as_float32(0.1), -math.inf, math.inf, 1.0],
        "double": [math.nan, -0.0, 0.0, 0.1, -math.inf, math.inf, 1.0, 5e-324, 2.0**53],
        "time": [0, 1, day - 1],
        "timestamp": [low, -day - 1, -day, -1, 0, 1, day, high],
        "timestamp_ntz": [low, -day, -1, 0, 1, day, high],
    }
    return [None, *known.get(name, [low, -1, 0, 1, high])]


def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.one_of(st.sampled_from([low, high, 0, 1, -1 if low < 0 else 2]), st.integers(low, high))


def values(kind: Type) -> st.SearchStrategy[Any]:
    """Canonical values of a type; a small pool, so that equal ones meet, and the edges."""
    if isinstance(kind, DecimalType):
        limit = 10**kind.precision - 1
        return _integers(-limit, limit).map(
            lambda n: Decimal((int(n < 0), Decimal(abs(n)).as_tuple().digits, -kind.scale))
        )
    if isinstance(kind, FixedType):
        return st.binary(min_size=kind.length, max_size=kind.length)
    name = str(getattr(kind, "name", kind))
    if name in INTEGER_RANGES:
        return _integers(*INTEGER_RANGES[name])
    if name == "time":
        return _integers(0, 86_400_000_000 - 1)
    if name == "uuid":
        return st.binary(min_size=16, max_size=16)
    simple: dict[str, st.SearchStrategy[Any]] = {
        "boolean": st.booleans(),
        "string": _TEXT,
        "binary": st.binary(max_size=3),
        "double": _DOUBLES,
        "float": _DOUBLES.map(_as_float32),
        "date": _integers(*INTEGER_RANGES["int"]),
    }
    return simple.get(name, _integers(*INTEGER_RANGES["long"]))


def rows() -> st.SearchStrategy[dict[int, Any]]:
    """Rows as :mod:`tests.support.rowmodel` takes them; with key 100 False the struct itself is NULL."""
    columns = {c.id: st.none() | values(c.type) for c in COLUMNS}
    return st.fixed_dictionaries({**columns, 100: st.booleans()}).map(_without_members)


def _without_members(row: dict[int, Any]) -> dict[int, Any]:
    return row if row[100] else {**row, 100: None, 101: None, 102: None}


def to_batch(table: list[dict[int, Any]]) -> pa.RecordBatch:
    """The rows as Arrow, built from the canonical values' own representation."""
    arrays = []
    for field in SCHEMA:
        if field.id == 100:
            children = [_array([row[m.id] for row in table], m.type) for m in _MEMBERS]
            mask = pa.array([row[100] is None for row in table], pa.bool_())
            arrays.append(pa.StructArray.from_arrays(children, [m.name for m in _MEMBERS], mask=mask))
        else:
            arrays.append(_array([row[field.id] for row in table], field.type))
    return pa.RecordBatch.from_arrays(arrays, SCHEMA.names)


def _array(column: list[Any], kind: Type) -> pa.Array:
    storage = {"date": pa.int32(), "time": pa.int64()}.get(str(kind), pa.int64())
    if str(kind) == "date" or str(kind).startswith("time"):
        return pa.array(column, storage).cast(arrow_type(kind))
    return pa.array(column, arrow_type(kind))


@st.composite
def _leaves(draw: st.DrawFn) -> Expression:
    column = draw(st.sampled_from(COLUMNS))
    op = draw(st.sampled_from(["=", "<=>", "!=", "<", "<=", ">", ">="]))
    literals = values(column.type).map(lambda value: Literal(value, column.type))
    choices = [
        literals.map(lambda literal: Comparison(op, column, literal)),
        st.lists(literals, min_size=1, max_size=4).map(lambda listed: In(column, tuple(listed))),
        st.sampled_from([IsNull(column), IsNull(Reference(("st",))), Constant(None), Constant(True)]),
        st.sampled_from([other for other in COLUMNS if comparable(column, other)]).map(
            lambda other: Comparison(op, column, other)
        ),
    ]
    if str(column.type) in ("float", "double"):
        choices.append(st.just(IsNaN(column)))
    if str(column.type) == "string":
        patterns = st.lists(st.sampled_from(["%", "_", "\\%", "\\\\", "\\_", "a", "b", "\n", "é"]), max_size=5)
        choices += [
            _TEXT.map(lambda text: StartsWith(column, text)),
            patterns.map(lambda parts: Like(column, "".join(parts))),
        ]
    return draw(st.one_of(choices))


def comparable(a: BoundColumn, b: BoundColumn) -> bool:
    """Whether binding lets the two columns meet as they are, with no cast of one of them."""
    try:
        bound = bind(Comparison("=", a, b), SCHEMA)
    except (ValueError, NotImplementedError):
        return False
    return not isinstance(bound, Holds)


def written() -> st.SearchStrategy[Expression]:
    """Predicates before binding."""
    return st.recursive(
        _leaves(),
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
        ),
        max_leaves=6,
    )


def bound() -> st.SearchStrategy[Expression]:
    """Bound predicates over :data:`SCHEMA`."""
    return written().map(lambda expression: bind(expression, SCHEMA))
