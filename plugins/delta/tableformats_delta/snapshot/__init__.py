"""One version of a table: its protocol and metadata, its files as metadata parts, and its metadata tables.

This room joins commits and checkpoint. It promises that a snapshot does not change after it is made, and that its
parts come newest first, so that the core can reconcile them by file key. Data flows from a
:class:`~tableformats_delta.log.listing.LogSegment` to batches of files for planning. The room imports every room below
it; only ``changes`` and the table stand above.
"""
