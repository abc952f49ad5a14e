"""What a format says of rules of its specification that a table breaks; see :meth:`FormatTable.verify`."""

from __future__ import annotations

from ..dataclass import dataclass

__all__ = ["Violation"]


@dataclass(frozen=True)
class Violation:
    """A rule that a table breaks.

    Attributes
    ----------
    rule : str
        The name of the rule, of lower case words with hyphens; one rule has one name.
    what : str
        What is wrong, in one line.
    source : str
        The document and the section that demand it.
    path : str or None
        The file of the metadata, or the data file, that is concerned.
    version : int or None
        The version that is concerned.
    """

    rule: str
    what: str
    source: str
    path: str | None = None
    version: int | None = None
