"""A small run of the comparison with Spark on tables of its own writers, where their JARs are to be had.

``TABLEFORMATS_COMPARE_PREDICATES`` says how many predicates; without it the test skips, for it writes thirty tables.
"""

from __future__ import annotations

import os

import pytest

from tests.spark.compare.session import Unavailable

NUMBER = int(os.environ.get("TABLEFORMATS_COMPARE_PREDICATES", 0))


@pytest.mark.skipif(not NUMBER, reason="set TABLEFORMATS_COMPARE_PREDICATES=500; needs Java, Maven and PySpark 4.1")
def test_spark_and_we_find_the_same_rows() -> None:
    from tests.spark.compare.__main__ import run

    try:
        outcomes = run(seed=1, predicates=NUMBER)
    except Unavailable as error:
        pytest.skip(str(error))
    assert sum(outcome.compared for outcome in outcomes) > NUMBER // 3
    assert [difference for outcome in outcomes for difference in outcome.differences] == []
