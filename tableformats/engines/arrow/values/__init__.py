"""Values of data files as the table's types have them.

:mod:`casts` converts a column to the type that the table gives it now, or fails: no value is ever changed on the way.
:mod:`calendars` converts dates and timestamps that old versions of Spark stored in the Julian calendar.
:mod:`variant_shredding` assembles shredded variants.
"""
