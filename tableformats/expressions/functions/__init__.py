"""The functions of predicates, by their names in Spark SQL.

``signatures.py`` lists the names and how many arguments each takes. ``intervals.py`` has the types of intervals. The
other modules say, for a group of functions each, which types they take and give (``coercion.py`` has what they share),
and compute them over Arrow arrays, exactly as Spark does.
"""
