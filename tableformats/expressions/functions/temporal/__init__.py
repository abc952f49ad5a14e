"""Functions of dates, timestamps and intervals.

``calendars.py`` computes with years, months and days over NumPy arrays, ``patterns.py`` reads and prints by a pattern,
``datetimes.py`` has the functions, and ``instants.py`` the operators ``+`` and ``-``.
"""
