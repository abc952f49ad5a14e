"""Functions of filters as Spark columns have Spark's own answers, whatever the session's time zone and ANSI setting.

The answers are those of tests/golden/function_answers.json, which Spark gave in UTC.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tableformats.engines.spark.filters import value_column
from tableformats.errors import InvalidPredicateError, UnsupportedFeatureError
from tableformats.expressions import Function, Holds, Value
from tableformats.expressions.binding import bound_value
from tableformats.expressions.functions.coercion import type_of
from tableformats.expressions.parse import parse_filter
from tableformats.schema import Schema, primitive
from tests.expressions.functions.test_answers import ANSWERS, value_of
from tests.support import function_cases
from tests.support.examples import EVERY

STRING = primitive("string")
KNOWN = {"timestamp_micros(l)": "the day of the least timestamp begins before it, and does not fit a timestamp"}
"""What differs, and why."""
BATCH = 40
REFUSED = {"timestampdiff(MONTH", "timestampdiff(YEAR"}
"""Beginnings of what Spark's columns cannot say."""


@pytest.fixture(scope="module")
def rows(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    function_cases.make_view(spark, tmp_path_factory.mktemp("functions"))
    return spark.table("function_rows")


@pytest.mark.parametrize(
    ("mode", "session_ansi"),
    [
        ("ansi", "false"),
        pytest.param("legacy", "true", marks=pytest.mark.nightly),
        pytest.param("ansi", "true", marks=pytest.mark.nightly),
        pytest.param("legacy", "false", marks=pytest.mark.nightly),
    ],
)
def test_columns_have_the_answers_of_spark(rows: Any, settings: Any, session_ansi: str, mode: str) -> None:
    settings(
        {
            "spark.sql.ansi.enabled": session_ansi,
            "spark.sql.session.timeZone": "America/Los_Angeles",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        }
    )
    asked = [_Asked(text, mode) for text in ANSWERS if text not in KNOWN]
    found: dict[str, str] = {}
    for first in range(0, len(asked), BATCH):
        _compare(rows, [one for one in asked[first : first + BATCH] if one.column is not None], found)
    found |= {one.text: one.refused for one in asked if one.refused}
    assert not found, "\n".join(f"{text}: {what}" for text, what in found.items())


class _Asked:
    """An expression as a column, with Spark's stored answers."""

    def __init__(self, text: str, mode: str) -> None:
        self.text, self.column, self.refused = text, None, ""
        self.answers = ANSWERS[text][mode]
        if self.answers is False:
            return
        ansi = mode == "ansi"
        try:
            value = value_of(text, ansi)
            kind = type_of(value)
            if str(kind) == "binary":
                value = Function("hex", (value,), STRING)
            elif kind != STRING:
                value = Function("cast", (value,), STRING, ansi)
            self.column = value_column(value)
        except InvalidPredicateError:
            return
        except UnsupportedFeatureError as error:
            self.refused = "" if any(text.startswith(start) for start in REFUSED) else str(error)
            return
        self.good = [row for row, answer in enumerate(self.answers) if answer is not False]
        self.bad = [row for row, answer in enumerate(self.answers) if answer is False]


def _compare(rows: Any, asked: list[_Asked], wrong: dict[str, str]) -> None:
    """All at once; if one of them fails, each half. That a row is an error takes a query of its own, so that for each
    change only some are looked at."""
    from pyspark.sql import functions as F

    columns = [F.when(rows.row.isin(one.good), one.column).alias(f"c{i}") for i, one in enumerate(asked)]
    try:
        found = rows.select("row", *columns).collect()
    except Exception as error:
        if len(asked) == 1:
            wrong[asked[0].text] = str(error).split("\n")[0][:200]
        else:
            _compare(rows, asked[: len(asked) // 2], wrong)
            _compare(rows, asked[len(asked) // 2 :], wrong)
        return
    for i, one in enumerate(asked):
        ours = {row["row"]: row[f"c{i}"] for row in found}
        differs = {row: (one.answers[row], ours[row]) for row in one.good if one.answers[row] != ours[row]}
        if differs:
            wrong[one.text] = f"row: (Spark's, ours): {differs}"
        elif one.bad and (EVERY or len(one.text) % 4 == 1) and not _fails(rows, one.column, one.bad[0]):
            wrong[one.text] = f"no error of row {one.bad[0]}"


def _fails(rows: Any, column: Any, row: int) -> bool:
    try:
        rows.where(rows.row == row).select(column).collect()
    except Exception:
        return True
    return False


def test_times_that_the_zone_of_a_session_lacks_are_read_and_printed(spark: Any, settings: Any) -> None:
    """Clocks of Los Angeles went from 02:00 to 03:00, those of Sao Paulo at midnight, and both ran by the sun once."""
    texts = ["2024-03-10 02:30:15", "2018-11-04 00:10:00", "1883-11-18 12:05:00", "0001-01-01 00:00:00"]
    months = "months_between(t, TIMESTAMP'2024-02-10 00:00:00')"
    schema = Schema.from_arrow(pa.schema([("t", pa.timestamp("us", "UTC")), ("s", pa.string())]))
    settings({"spark.sql.session.timeZone": "UTC"})
    given = spark.createDataFrame([(text,) for text in texts], "s STRING")
    rows = given.selectExpr("CAST(s AS TIMESTAMP) AS t", "s").localCheckpoint()
    words = ["Mar 10 at 02h30", "Nov 4 at 00h10", "Nov 18 at 12h05", "Jan 1 at 00h00"]
    asked = {
        "date_format(t, 'yyyy-MM-dd HH:mm:ss')": texts,
        "date_format(t, \"MMM d 'at' HH'h'mm\")": words,
        "CAST(t AS STRING)": texts,
        "CAST(try_to_timestamp(s, 'yyyy-MM-dd HH:mm:ss') AS STRING)": texts,
        months: [row[0] for row in rows.selectExpr(months).collect()],
    }
    for zone in ("America/Los_Angeles", "America/Sao_Paulo"):
        settings({"spark.sql.session.timeZone": zone})
        columns = [value_column(bound_value(_parsed(text), schema)) for text in asked]
        found = list(zip(*rows.select(*columns).collect(), strict=True))
        assert {text: list(column) for text, column in zip(asked, found, strict=True)} == asked, zone


def _parsed(text: str) -> Value:
    parsed = parse_filter(f"coalesce({text}, NULL) IS NULL")
    assert isinstance(parsed, Holds)
    (given,) = parsed.value.arguments
    assert isinstance(given, Function)
    return given.arguments[0]
