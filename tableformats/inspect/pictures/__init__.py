"""Pictures of a table and of a plan: with matplotlib, and as one HTML page.

:mod:`figures` counts what they show, in columns. :mod:`plots` draws it with matplotlib: ``table.plot`` and
``plan.plot()``. :mod:`report` is the page that ``tableformats report`` writes; it needs no matplotlib, no script and
no network.
"""
