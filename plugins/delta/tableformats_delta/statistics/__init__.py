"""File statistics: the text ``add.stats`` or the struct ``stats_parsed`` as typed bounds and counts.

This room decodes statistics for the columns that a predicate names and for no other. It promises bounds that no live
row of the file exceeds: bounds are widened where writers truncate them, and whatever cannot be trusted is unknown. Data
flows from texts and structs, through raw columns, to :class:`tableformats.plugin.Bounds`. The room does not know where
the texts are stored; it imports ``json`` alone.
"""
