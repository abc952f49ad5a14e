"""Look at tables: metadata tables, what a plan does, what differs between versions, and what makes a table slow.

:mod:`tables` is ``table.inspect``. :mod:`explain` is the text of ``plan.explain()``. :mod:`diff` compares two snapshots
and :mod:`health` gives figures with advice. :mod:`files` lists all files of a snapshot for them. :mod:`text` formats
figures and untrusted strings for people; the command (:mod:`tableformats.cli`) uses it too.

:mod:`detail`, :mod:`clustering` and :mod:`diagnose` say what a table is, how its files overlap and what would help one
query; :mod:`file_ranges` gives them the ranges of columns in every file.

:mod:`verification`, :mod:`statistics_check` and :mod:`statistics_progress` are what ``table.verify()`` and
``table.verify_stats()`` give; the data files are read by :mod:`tableformats.engines.arrow`.

Only metadata is read here, never a data file.
"""
