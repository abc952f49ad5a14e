"""Plan to rows with Spark: a plan's files as a DataFrame, without JARs and without changing the session's settings.

:mod:`session` chooses between two paths. :mod:`native` talks to the driver's JVM (classic sessions); :mod:`portable`
does not (Spark Connect, serverless). Both implement :mod:`relations`, and :mod:`dataframe` builds the DataFrame of a
plan on it: :mod:`branches` groups the files that are read alike, :mod:`columns` finds the names and types to read them
under, :mod:`deletes` removes deleted rows, :mod:`filters` translates what pruning leaves undecided, :mod:`row_counts`
answers ``count(*)`` from metadata, and :mod:`pushdown` brings Catalyst's filters into our pruning. :mod:`distributed`
plans on the executors instead of in this process.

A DataFrame has exactly the rows that :mod:`tableformats.engines.arrow` gives for the same plan. What Spark would read
wrongly is refused by name.
"""
