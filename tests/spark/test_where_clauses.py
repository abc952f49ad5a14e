"""The stored answers to the WHERE clauses of users are those of the Spark that is installed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
import pytest

from tests.spark.support.where_answers import ANSWERS, answers


@pytest.mark.skipif(pyspark.__version__ < "4", reason="the clauses are written for Spark 4")
def test_answers_are_those_of_spark(spark: Any, tmp_path: Path, settings: Callable[[dict[str, str]], None]) -> None:
    settings({"spark.sql.session.timeZone": "UTC", "spark.sql.ansi.enabled": "true"})
    assert answers(spark, tmp_path) == json.loads(ANSWERS.read_text())
