"""Row-level deletes with Spark.

:mod:`positions` turns deletion vectors and position deletes into bits that each row is tested against.
:mod:`equality` turns equality deletes into broadcast anti-joins.
"""
