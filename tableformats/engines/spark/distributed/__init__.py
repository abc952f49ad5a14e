"""Planning on the executors of a Spark session.

:class:`executors.Executors` sends bins of metadata parts to executors, which decode and prune them with the same code
as a plan in one process; only surviving files come back. :mod:`transport` packs a scan and its parts without
credentials.
"""
