"""Which part of a filter dropped which files, and why the others were kept.

The parts of a filter are the conditions that its outermost AND joins. :mod:`parts` counts for each of them what it
dropped; :mod:`reasons` says why a part could not drop a file; :mod:`verdicts` says it file by file, with the bounds
that decided. All of them plan again, from cached metadata where the table has a cache, so planning itself pays nothing.
"""

from .parts import Attribution, PartCounts, attribute
from .reasons import Reason
from .verdicts import FileVerdict, PartVerdict, file_verdicts, verdict_of

__all__ = [
    "Attribution",
    "FileVerdict",
    "PartCounts",
    "PartVerdict",
    "Reason",
    "attribute",
    "file_verdicts",
    "verdict_of",
]
