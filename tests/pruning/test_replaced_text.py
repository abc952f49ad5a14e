"""Strings that are not UTF-8: writers put U+FFFD into their bounds, and engines compare their bytes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st

from tableformats.expressions import Expression, Literal
from tableformats.expressions import tree as ex
from tableformats.expressions.binding import bind
from tableformats.expressions.parse import parse_filter
from tableformats.plugin import Bounds, PartitionField, PartitionSpec
from tableformats.pruning.compiled_predicate import ALL, NONE, SOME, CompiledPredicate
from tableformats.pruning.manifest_filter import PredicateManifestFilter
from tableformats.pruning.replaced_text import widened_extremes, widened_texts
from tableformats.schema import Field, Schema, primitive
from tableformats.schema.transforms import parse_transform

SCHEMA = Schema((Field(1, "x", primitive("string")),))
X = ex.BoundColumn(SCHEMA.fields)
NO_SPEC = PartitionSpec(0, ())


def written(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def verdicts(predicate: Expression, bounds: list[tuple[str | None, str | None]]) -> list[int]:
    n = len(bounds)
    lower, upper = (pa.array(side, pa.string()) for side in zip(*bounds, strict=True))
    known = Bounds({1: lower}, {1: upper}, {1: pa.array([0] * n)}, {}, {1: pa.array([2] * n)})
    partition = pa.array([{}] * n, pa.struct([]))
    return CompiledPredicate(predicate).verdicts(NO_SPEC, partition, known, pa.array([2] * n)).tolist()


def parsed(text: str) -> Expression:
    found = parse_filter(text)
    assert found is not None
    return bind(found, SCHEMA)


@pytest.mark.parametrize(
    ("condition", "low", "high", "expected"),
    [
        ("x = 'a\ufffd'", b"a\xff", b"a\xff", SOME),  # as if both bounds were the literal
        ("x != 'a\ufffd'", b"a\xff", b"a\xff", SOME),
        ("x IN ('a\ufffd', 'z')", b"a\x80", b"a\x80", SOME),
        ("x < 'ab'", b"a\x80", b"b", NONE),  # what is not UTF-8 begins with a byte above ASCII
        ("x IN ('a', 'a~')", b"a\x80", b"a\xff", NONE),
        ("x = 'a\x7f'", b"a\x80", b"a\xff", SOME),  # the widened bound itself
        ("x < 'a\u00e9'", b"a\x80", b"a\x80", SOME),
        ("x >= 'a\U0001f600'", b"a", b"a\xff", SOME),  # greater than U+FFFD is
        ("x BETWEEN 'a\U0001f600' AND 'b'", b"a", b"a\xff", SOME),
        ("startswith(x, 'a\ufffd')", b"a\xff", b"a\xff", SOME),
        ("x LIKE 'a\ufffd%'", b"a\xff", b"a\xff", SOME),
        ("startswith(x, 'a')", b"a\x80", b"a\xff", SOME),
        ("startswith(x, 'b')", b"a\x80", b"a\xff", SOME),  # 'b' itself cannot be excluded by the widened bound
        ("startswith(x, 'ba')", b"a\x80", b"a\xff", NONE),
        ("x > 'b'", b"a\x80", b"a\xff", NONE),
        ("x >= 'a'", b"a\x80", b"a\xff", ALL),
        ("x < 'a'", b"a\x80", b"a\xff", NONE),
        ("x = '\U0001f600'", b"\x80", b"\xff", SOME),  # nothing is sure
        ("x > 'e'", b"d\xc3\xa9\x80", b"d\xc3\xa9\x80", NONE),  # the successor is that of d
        ("x > 'd\u00ff'", b"d\xc3\xa9\x80", b"d\xc3\xa9\x80", SOME),
    ],
)
def test_what_is_decided_beside_bytes_that_are_not_utf_8(condition, low, high, expected):
    assert verdicts(parsed(condition), [(written(low), written(high))]) == [expected]


def test_only_suspect_bounds_are_widened():
    lower = pa.array(["a", "b\ufffdc", None, "\ufffd", "é", "\ufffe", "a"])
    upper = pa.array(["b\ufffd", "c", "x\x7f\ufffd", None, "é\ufffdz", "\U0001f600", "abc\ufffd"])
    low, high = widened_texts(lower.slice(0), upper.slice(0))
    assert low.to_pylist() == ["a", "b\x7f", None, "\x7f", "é", "\ufffe", "a"]
    assert high.to_pylist() == ["c", "c", "y", None, None, "\U0001f600", "abd"]
    low, high = widened_texts(lower.slice(1, 2), upper.slice(1, 2))
    assert (low.to_pylist(), high.to_pylist()) == (["b\x7f", None], ["c", "y"])
    plain = pa.array(["a", None, "ü", "字"])
    assert widened_texts(plain, plain) == (plain, plain)
    assert widened_texts(plain, plain)[0] is plain, "nothing is copied"


RAW = st.lists(st.sampled_from([b"a", b"b", b"\x7f", b"\x80", b"\xff", b"\xc3\xa9", "\U0001f600".encode()]), max_size=3)
TEXT = st.text(st.sampled_from("ab\x7fé\ufffd\U0001f600"), max_size=3)


def truth(node: Any, value: bytes) -> bool:
    if isinstance(node, ex.StartsWith):
        return value.startswith(node.prefix.encode())
    if isinstance(node, ex.In):
        return value in [literal.value.encode() for literal in node.literals]
    other = node.right.value.encode()
    return {
        "=": value == other,
        "<=>": value == other,
        "!=": value != other,
        "<": value < other,
        "<=": value <= other,
        ">": value > other,
        ">=": value >= other,
    }[node.op]


LEAVES = st.one_of(
    st.builds(lambda op, text: ex.Comparison(op, X, Literal(text, X.type)), st.sampled_from(ex.COMPARISONS), TEXT),
    st.builds(lambda texts: ex.In(X, tuple(Literal(t, X.type) for t in texts)), st.lists(TEXT, min_size=1, max_size=3)),
    st.builds(lambda prefix: ex.StartsWith(X, prefix), TEXT),
)


@given(LEAVES, st.lists(RAW.map(b"".join), min_size=1, max_size=3))
def test_no_file_of_any_bytes_is_dropped(leaf, values):
    (verdict,) = verdicts(bind(leaf, SCHEMA), [(written(min(values)), written(max(values)))])
    found = [truth(leaf, value) for value in values]
    assert verdict != NONE or not any(found)
    assert verdict != ALL or all(found)
    event(f"verdict {verdict}")


@given(LEAVES, st.lists(RAW.map(b"".join), min_size=1, max_size=3), st.integers(1, 2))
@example(ex.Comparison("<", X, Literal("a\u00e9")), [b"a\x80"], 2)  # less than the truncated value that was written
def test_no_truncated_partition_of_any_bytes_is_dropped(leaf, values, width):
    """Iceberg truncates what it decoded, and manifests have bounds of such values."""
    field = PartitionField(1000, "p", 1, parse_transform(f"truncate[{width}]"), primitive("string"))
    spec = PartitionSpec(0, (field,))
    cut = [written(value)[:width] for value in values]
    program = CompiledPredicate(bind(leaf, SCHEMA))
    tuples = pa.StructArray.from_arrays([pa.array(cut)], ["1000"])
    for verdict, value in zip(program.decide(program.range_sources(spec, tuples)).verdicts, values, strict=True):
        assert verdict != NONE or not truth(leaf, value)
        assert verdict != ALL or truth(leaf, value)
    # Summaries are in the order of the partition values, which are what was written.
    sides = [{1000: pa.array([side(cut, key=str.encode)])} for side in (min, max)]
    flags = {1000: pa.array([False])}
    decision = PredicateManifestFilter(program, {0: spec}).decide(0, *sides, flags, flags)
    assert decision.keep[0] or not any(truth(leaf, value) for value in values)


@given(LEAVES, st.lists(st.lists(RAW.map(b"".join), min_size=1, max_size=2), min_size=1, max_size=3))
@example(ex.Comparison("<", X, Literal("aé")), [[b"a\x80"], ["aé".encode()]])  # less than the least text
@example(ex.Comparison(">", X, Literal("a\U0001f600")), [[b"a\xff"], ["a\U0001f600".encode()]])  # greater than all
def test_no_group_of_files_of_any_bytes_is_dropped(leaf, files):
    """The footers of checkpoints have extremes of the files' bounds, in the order of what was written."""
    low = min((written(min(values)) for values in files), key=str.encode)
    high = max((written(max(values)) for values in files), key=str.encode)
    bounds = Bounds({1: pa.array([low])}, {1: pa.array([high])}, {1: pa.array([0])})
    decision = PredicateManifestFilter(CompiledPredicate(bind(leaf, SCHEMA)), {0: NO_SPEC}).decide(
        0, {}, {}, {}, {}, bounds
    )
    assert decision.keep[0] or not any(truth(leaf, value) for values in files for value in values)


def test_extremes_are_cut_where_a_replacement_may_hide():
    lower = pa.array(["ab", "aéb", None, "\ufffd", "z\x7f"])
    upper = pa.array(["aé", "b\U0001f600", None, "é\ufffd", "z\uffff"])
    low, high = widened_extremes(lower, upper)
    assert low.to_pylist() == ["ab", "a\x7f", None, "\x7f", "z\x7f"]
    assert high.to_pylist() == ["aé", "c", None, None, "{"]
    plain = pa.array(["a", None])
    assert widened_extremes(plain, plain) == (plain, plain)
