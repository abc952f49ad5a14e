"""Operators without parentheses group as in Spark's own parser."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tableformats.expressions.parse import parse_filter

pytest.importorskip("pyspark")

_VALUES = ["a", "b", "c.d", "1", "-2", "upper(s)", "m['k']", "x[0].y", "CAST(a AS INT)", "a::string", "-b", "~a"]
_OPERATORS = ["+", "-", "*", "/", "%", "DIV", "&", "|", "^", "=", "<", "<=>", "!=", ">="]


@pytest.fixture(scope="module")
def parsed(spark: Any) -> Any:
    """What Spark's parser makes of a text, as text with all parentheses."""
    if not hasattr(spark, "_jvm"):
        pytest.skip("needs a classic session")
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    name = "org.apache.spark.sql.catalyst.parser.CatalystSqlParser$"
    parser = loader.loadClass(name).getField("MODULE$").get(None)
    return lambda text: parser.parseExpression(text).toString()


def test_operators_group_as_in_spark(parsed: Any) -> None:
    chance = random.Random(7)
    for _ in range(300):
        values = [chance.choice(_VALUES) for _ in range(chance.randrange(3, 7))]
        text = values[0] + " + 1"  # a computed value, so that no comparison is turned around
        for value in values[1:]:
            text += f" {chance.choice(_OPERATORS)} {value} + 1"
        if chance.random() < 0.3:
            text = f"NOT {text}"
        assert parsed(str(parse_filter(text))) == parsed(text), text


@pytest.mark.parametrize(
    "text", [r"'it''s'", "'a' 'b'", r"'\ud83d\ude00\ud83d'", r"r'\d''x'", r'"a""\101\%"', r"'\x\'\0'"]
)
def test_strings_are_read_as_in_spark(parsed: Any, text: str) -> None:
    literal = parse_filter(f"a = {text}").right  # type: ignore[union-attr]
    assert literal.value == parsed(text)
