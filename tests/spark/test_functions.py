"""Functions of filters as Spark columns have Spark's own answers, whatever the session's time zone and ANSI setting.

The answers are those of tests/golden/function_answers.json, which Spark gave in UTC.
"""

from __future__ import annotations

from typing import Any

import pytest

from tableformats.engines.spark.filters import value_column
from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tableformats.expressions import Function
from tableformats.expressions.functions.coercion import type_of
from tableformats.schema import primitive
from tests.expressions.functions.test_answers import ANSWERS, value_of
from tests.support import function_cases

STRING = primitive("string")
KNOWN = {"timestamp_micros(l)": "the day of the least timestamp begins before it, and does not fit a timestamp"}
"""What differs, and why."""
REFUSED = {"timestampdiff(MONTH", "timestampdiff(YEAR"}
"""Beginnings of what Spark's columns cannot say."""


@pytest.fixture(scope="module")
def rows(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    function_cases.make_view(spark, tmp_path_factory.mktemp("functions"))
    return spark.table("function_rows")


@pytest.mark.parametrize("session_ansi", ["true", "false"])
def test_columns_have_the_answers_of_spark(rows: Any, settings: Any, session_ansi: str) -> None:
    settings(
        {
            "spark.sql.ansi.enabled": session_ansi,
            "spark.sql.session.timeZone": "America/Los_Angeles",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        }
    )
    wrong = {text: found for text in ANSWERS if text not in KNOWN and (found := _difference(rows, text)) is not None}
    assert not wrong, "\n".join(f"{text}: {found}" for text, found in wrong.items())


def _difference(rows: Any, text: str) -> str | None:
    """What is different for an expression. None: nothing."""
    answers = ANSWERS[text]["ansi"]
    if answers is False:
        return None
    try:
        value = value_of(text, True)
    except InvalidPredicateError:
        return None
    kind = type_of(value)
    try:
        if str(kind) == "binary":
            column = value_column(Function("hex", (value,), STRING))
        else:
            column = value_column(value if kind == STRING else Function("cast", (value,), STRING))
    except UnsupportedFeatureError as error:
        return None if any(text.startswith(start) for start in REFUSED) else str(error)
    good = [row for row, answer in enumerate(answers) if answer is not False]
    bad = [row for row, answer in enumerate(answers) if answer is False]
    try:
        found = {row: answer for row, answer in rows.where(rows.row.isin(good)).select("row", column).collect()}
    except Exception as error:
        return str(error).split("\n")[0][:200]
    differs = {row: (answers[row], found[row]) for row in good if answers[row] != found[row]}
    if differs:
        return f"row: (Spark's, ours): {differs}"
    return f"no error of row {bad[0]}" if bad and not _fails(rows, column, bad[0]) else None


def _fails(rows: Any, column: Any, row: int) -> bool:
    try:
        rows.where(rows.row == row).select(column).collect()
    except Exception:
        return True
    return False
