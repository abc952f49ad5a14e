"""Rows of a DataFrame to data files, written by Spark's Python workers: no JAR, classic sessions and Spark Connect.

:mod:`frames` runs the job and collects what was written; :mod:`clustering` brings the rows of a partition together;
:mod:`tasks` is what a worker does, and :mod:`spark_rows` gives Spark's Arrow batches the types of the table.

A task writes files under random names and returns them as rows. Spark takes the rows of one attempt of each task, so
files of attempts that failed, were repeated or lost a race are named by nobody: orphans, which no reader sees.
"""
