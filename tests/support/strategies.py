"""Random schemas, files with rows, statistics and partition values, and predicates over them (hypothesis).

Values are canonical (see ``tableformats.expressions.tree.Literal``). What a file's metadata says is derived here from
its rows, by its own plain code and PyIceberg's transforms, never by the library's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyiceberg.transforms as iceberg_transforms
import pyiceberg.types as iceberg_types
from hypothesis import strategies as st

from tableformats.expressions import tree as ex
from tableformats.expressions.binding import bind
from tableformats.plugin import PartitionField, PartitionSpec
from tableformats.schema import DecimalType, Field, Schema, arrow_type, primitive
from tableformats.schema.transforms import parse_transform

EXACT = Context(prec=80)
_MICROS_A_DAY = 86_400_000_000
_TEXT = st.text(alphabet="aab\x00é\U0001f600\U0010ffff", max_size=4)
# Writers cut bounds of strings to 16 or to 32 characters.
_LONG_TEXT = st.builds(str.__add__, st.sampled_from(["b" * 14, "a" * 15, "a" * 31]), _TEXT)


def long_integers(digits: int) -> st.SearchStrategy[int]:
    """Of any number of digits up to so many, each as likely; ``integers`` seldom gives long ones."""
    texts = st.integers(1, digits).flatmap(lambda n: st.text("0123456789", min_size=n, max_size=n))
    return st.builds(lambda sign, text: sign * int(text), st.sampled_from([1, -1]), texts)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": st.one_of(st.integers(-6, 6), st.sampled_from([-(2**31), 2**31 - 1])),
    "long": st.one_of(st.integers(-6, 6), st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1])),
    "float": st.sampled_from([0.0, -0.0, 1.5, -2.25, math.inf, -math.inf, math.nan, 0.10000000149011612]),
    "double": st.sampled_from([0.0, -0.0, 1.5, -2.25, math.inf, -math.inf, math.nan, math.nan, 0.1, 5e-324]),
    "string": st.one_of(_TEXT, _TEXT, _LONG_TEXT),
    "binary": st.one_of(
        st.binary(max_size=3),
        st.builds(bytes.__add__, st.sampled_from([b"a" * 15, b"\xff" * 15]), st.binary(max_size=3)),
    ),
    "date": st.integers(-800, 800),
    "timestamp": st.integers(-5, 5).flatmap(
        lambda day: st.sampled_from([day * _MICROS_A_DAY + shift for shift in (-1, 0, 1, 3_600_000_000)])
    ),
    "timestamp_ntz": st.integers(-3 * _MICROS_A_DAY, 3 * _MICROS_A_DAY),
    "decimal": st.integers(-500, 500).map(lambda n: Decimal(n).scaleb(-2)),
    "decimal_18": st.one_of(st.integers(-500, 500), st.sampled_from([-(10**17), 10**18 - 1, 10**9])).map(
        lambda n: Decimal(n).scaleb(-2)
    ),
    "decimal_24": st.one_of(st.integers(-50_000, 50_000), st.sampled_from([1 - 10**24, 10**24 - 1, 2**64])).map(
        lambda n: Decimal(n).scaleb(-4)
    ),
    # Lesser ones have no truncated value.
    "decimal_38": st.one_of(
        st.integers(-500, 500), long_integers(38), st.sampled_from([50 - 10**38, 10**38 - 1, 2**63])
    )
    .filter(lambda n: n >= 50 - 10**38)
    .map(lambda n: Decimal(n).scaleb(-10, EXACT)),
}
DECIMALS = {
    "decimal": DecimalType(9, 2),
    "decimal_18": DecimalType(18, 2),
    "decimal_24": DecimalType(24, 4),
    "decimal_38": DecimalType(38, 10),
}
TRANSFORMS = {
    "int": ["identity", "bucket[4]", "truncate[3]"],
    "long": ["identity", "bucket[4]", "truncate[10]"],
    "string": ["identity", "bucket[4]", "truncate[2]"],
    "date": ["identity", "year", "month", "day", "bucket[3]"],
    "timestamp": ["year", "month", "day", "hour", "bucket[3]"],
    "timestamp_ntz": ["day", "hour"],
    "decimal": ["identity", "bucket[4]", "truncate[50]"],
    "decimal_18": ["identity", "bucket[4]", "truncate[50]"],
    "decimal_38": ["identity", "bucket[4]", "truncate[50]"],
    "boolean": ["identity", "void"],
    "double": ["identity"],
    "float": ["identity", "void"],
    "binary": ["identity", "mystery[7]"],
}


def type_of(name: str) -> Any:
    return DECIMALS[name] if name in DECIMALS else primitive(name)


def to_array(values: list[Any], kind: Any) -> pa.Array:
    """Canonical values as an Arrow array of the column's type."""
    target = arrow_type(kind)
    if pa.types.is_date32(target):
        return pa.array(values, pa.int32()).view(target)
    if pa.types.is_timestamp(target):
        return pa.array(values, pa.int64()).view(target)
    return pa.array(values, target)


def neighbours(kind: str, value: Any) -> list[Any]:
    """A value, the next ones of its type below and above it, and what writers make of it where they cut a bound."""
    if kind == "boolean":
        return [value, not value]
    if kind in ("float", "double"):
        real = np.float32 if kind == "float" else np.float64
        return [value, *(float(np.nextafter(real(value), real(to))) for to in (-math.inf, math.inf))]
    if kind in DECIMALS:
        least, precision = Decimal(1).scaleb(-DECIMALS[kind].scale), DECIMALS[kind].precision
        near = value, EXACT.subtract(value, least), EXACT.add(value, least)
        return [v for v in near if len(v.as_tuple().digits) <= precision]
    if kind == "string":
        return [value, value + "\x00", value[:-1], value[:32], value[:16], value[:16] + "\U0010ffff"]
    if kind == "binary":
        return [value, value + b"\x00", value[:-1]]
    cut = [value // 1000 * 1000, value // 1000 * 1000 + 999] if kind.startswith("timestamp") else []
    half = 2**31 if kind in ("int", "date") else 2**63
    return [value, *(v for v in (value - 1, value + 1, *cut) if -half <= v < half)]


@dataclass
class ModelFile:
    """The rows of a file ({field id: value}), and what its metadata tells of them; absent is unknown."""

    rows: list[dict[int, Any]]
    record_count: int | None = None
    lower: dict[int, Any] = field(default_factory=dict)
    upper: dict[int, Any] = field(default_factory=dict)
    null_count: dict[int, int] = field(default_factory=dict)
    nan_count: dict[int, int] = field(default_factory=dict)
    value_count: dict[int, int] = field(default_factory=dict)
    partition: dict[int, Any] = field(default_factory=dict)


@dataclass
class ModelTable:
    schema: Schema
    kinds: dict[int, str]
    spec: PartitionSpec
    files: list[ModelFile]


def order_key(value: Any) -> Any:
    """Spark's order as a sort key."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


_ICEBERG = {
    "int": iceberg_types.IntegerType(),
    "long": iceberg_types.LongType(),
    "string": iceberg_types.StringType(),
    "date": iceberg_types.DateType(),
    "timestamp": iceberg_types.TimestamptzType(),
    "timestamp_ntz": iceberg_types.TimestampType(),
    "decimal": iceberg_types.DecimalType(9, 2),
    "decimal_18": iceberg_types.DecimalType(18, 2),
    "decimal_38": iceberg_types.DecimalType(38, 10),
}


def partition_value(transform: str, kind: str, value: Any) -> Any:
    """What PyIceberg's transform gives for a value; unknown transforms give something of their own."""
    if transform == "identity" or value is None:
        return value
    if transform in ("void", "mystery[7]"):
        return None if transform == "void" else b"?"
    result = iceberg_transforms.parse_transform(transform).transform(_ICEBERG[kind])(value)
    if transform.startswith("truncate") and kind in ("int", "long"):
        # The reference computes in the type's own width and wraps below its least value.
        half = 2**31 if kind == "int" else 2**63
        return (result + half) % (2 * half) - half
    return result


@st.composite
def model_tables(draw: st.DrawFn, names: Sequence[str] = ()) -> ModelTable:
    """With columns of these kinds; without ``names`` of any."""
    names = names or draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=3))
    kinds = dict(enumerate(names, start=1))
    schema = Schema(tuple(Field(i, f"c{i}", type_of(kind)) for i, kind in kinds.items()))
    partition_fields = []
    for i, kind in kinds.items():
        if kind in TRANSFORMS and draw(st.booleans()):
            transform = parse_transform(draw(st.sampled_from(TRANSFORMS[kind])))
            result = transform.result_type(type_of(kind))
            partition_fields.append(PartitionField(1000 + i, f"p{i}", i, transform, result))
    spec = PartitionSpec(0, tuple(partition_fields))
    files = draw(st.lists(model_files(kinds, spec), min_size=1, max_size=5))
    return ModelTable(schema, kinds, spec, files)


@st.composite
def model_files(draw: st.DrawFn, kinds: dict[int, str], spec: PartitionSpec) -> ModelFile:
    columns = {i: st.one_of(st.none(), VALUES[kind], VALUES[kind]) for i, kind in kinds.items()}
    rows = draw(st.lists(st.fixed_dictionaries(columns), max_size=4))
    if rows:
        first = rows[0]
        sources = {f.source_id: str(f.transform) for f in spec.fields}
        # A file holds one partition: keep the rows that agree with the first.
        same = [
            r
            for r in rows
            if all(
                repr(partition_value(t, kinds[i], r[i])) == repr(partition_value(t, kinds[i], first[i]))
                for i, t in sources.items()
            )
        ]
        partition = {
            f.id: partition_value(sources[f.source_id], kinds[f.source_id], first[f.source_id]) for f in spec.fields
        }
        file = ModelFile(same, partition=partition)
    else:
        file = ModelFile([], partition=dict.fromkeys(f.id for f in spec.fields))
    if draw(st.booleans()):
        file.record_count = len(file.rows)
    for i in kinds:
        _describe(draw, file, i)
    return file


def _describe(draw: st.DrawFn, file: ModelFile, i: int) -> None:
    """Statistics of one column: any may be missing, and the lower bound may be smaller than every value."""
    values = [r[i] for r in file.rows]
    present = sorted((v for v in values if v is not None and not _is_nan(v)), key=order_key)
    told = draw(st.sets(st.sampled_from(["lower", "upper", "null", "nan", "value"])))
    if draw(st.booleans()):
        told |= {"lower", "upper", "null"}
    if present and "lower" in told:
        file.lower[i] = draw(st.sampled_from([present[0], _shorter(present[0])]))
    if present and "upper" in told:
        file.upper[i] = present[-1]
    if "null" in told:
        file.null_count[i] = sum(v is None for v in values)
    if "nan" in told:
        file.nan_count[i] = sum(_is_nan(v) for v in values)
    if "value" in told:
        file.value_count[i] = len(values)


def _shorter(value: Any) -> Any:
    return value[:1] if isinstance(value, (str, bytes)) else value


@st.composite
def predicates(draw: st.DrawFn, table: ModelTable, depth: int = 3) -> ex.Expression:
    """A predicate over references; literals come from values in the files, their neighbours, and the types' edges."""
    columns = {
        f"c{i}": (kind, [r[i] for f in table.files for r in f.rows if r[i] is not None])
        for i, kind in table.kinds.items()
    }
    return draw(predicates_over(columns, depth))


@st.composite
def predicates_over(draw: st.DrawFn, columns: dict[str, tuple[str, list[Any]]], depth: int = 3) -> ex.Expression:
    """A predicate over columns {name: (kind, values that are stored)}."""
    if depth and draw(st.booleans()):
        node = draw(st.sampled_from([ex.And, ex.Or, ex.Not]))
        if node is ex.Not:
            return ex.Not(draw(predicates_over(columns, depth - 1)))
        return node(tuple(draw(predicates_over(columns, depth - 1)) for _ in range(draw(st.integers(2, 3)))))
    name = draw(st.sampled_from(sorted(columns)))
    kind, stored = columns[name]
    near = st.sampled_from(stored).flatmap(lambda v: st.sampled_from(neighbours(kind, v))) if stored else VALUES[kind]
    values = st.one_of(VALUES[kind], near, near)
    literal = values.map(lambda v: ex.Literal(v, type_of(kind)))
    column = ex.Reference((name,))
    shapes = ["compare", "compare", "compare", "in", "null", "columns"]
    shapes += {"string": ["prefix", "like", "like"], "float": ["nan", "nan"], "double": ["nan", "nan"]}.get(kind, [])
    shape = draw(st.sampled_from(shapes))
    if shape == "in":
        return ex.In(column, tuple(draw(st.lists(literal, min_size=1, max_size=4))))
    if shape == "null":
        return ex.IsNull(column)
    if shape == "nan":
        return ex.IsNaN(column)
    if shape == "prefix":
        return ex.StartsWith(column, draw(_TEXT))
    if shape == "like":
        return ex.Like(column, draw(st.text(alphabet="ab", max_size=2)) + draw(st.sampled_from(["%", "_%", "%b", ""])))
    if shape == "columns":
        others = [n for n, (k, _) in sorted(columns.items()) if family(k) == family(kind)]
        return ex.Comparison(
            draw(st.sampled_from(ex.COMPARISONS)), column, ex.Reference((draw(st.sampled_from(others)),))
        )
    return ex.Comparison(draw(st.sampled_from(ex.COMPARISONS)), column, draw(literal))


def family(kind: str) -> str:
    """The group of kinds that compare with each other."""
    if kind in ("int", "long", "float", "double") or kind in DECIMALS:
        return "number"
    return "instant" if kind in ("date", "timestamp", "timestamp_ntz") else kind


@st.composite
def tables_and_predicates(draw: st.DrawFn) -> tuple[ModelTable, ex.Expression]:
    table = draw(model_tables())
    return table, _with_tests_for_true(draw, bind(draw(predicates(table)), table.schema))


def _with_tests_for_true(draw: st.DrawFn, node: ex.Expression) -> ex.Expression:
    """A bound predicate, some of whose parts are tested for being TRUE."""
    if isinstance(node, (ex.And, ex.Or)):
        node = type(node)(tuple(_with_tests_for_true(draw, child) for child in node.children))
    elif isinstance(node, ex.Not):
        node = ex.Not(_with_tests_for_true(draw, node.child))
    return ex.IsTrue(node) if draw(st.integers(0, 7)) == 0 else node


@st.composite
def tables_of_pairs(draw: st.DrawFn) -> tuple[ModelTable, ex.Expression]:
    """Tables with two columns that compare, and one comparison of these."""
    left = draw(st.sampled_from(sorted(VALUES)))
    right = draw(st.sampled_from([kind for kind in sorted(VALUES) if family(kind) == family(left)]))
    table = draw(model_tables((left, right)))
    names = draw(st.sampled_from([("c1", "c2"), ("c2", "c1"), ("c1", "c2"), ("c2", "c1"), ("c1", "c1")]))
    pair = [ex.Reference((name,)) for name in names]
    written = ex.Comparison(draw(st.sampled_from(ex.COMPARISONS)), pair[0], pair[1])
    return table, bind(ex.Not(written) if draw(st.booleans()) else written, table.schema)


def partition_array(table: ModelTable) -> pa.StructArray:
    columns = [to_array([f.partition[p.id] for f in table.files], p.type) for p in table.spec.fields]
    fields = [pa.field(str(p.id), arrow_type(p.type)) for p in table.spec.fields]
    if not fields:
        return pa.array([{}] * len(table.files), pa.struct([]))
    return pa.StructArray.from_arrays(columns, fields=fields)
