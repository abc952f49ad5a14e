"""Tables that Spark writes with Delta's and Iceberg's own JARs, read by us and by Spark, compared row by row.

    pip install 'pyspark~=4.1.0'      # the line of Spark for which both JARs exist
    python -m tests.spark.compare --predicates 5000 --write docs/measured/spark_comparison.md
    python -m tests.spark.compare.files --write docs/measured/files_kept.md

Needs Java 17, Maven and a repository that has the JARs of :mod:`tests.spark.compare.session`. Tables are written once,
into ``~/.cache/tableformats-compare`` (``TABLEFORMATS_COMPARE``).
"""
