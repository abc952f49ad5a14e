"""``lazy_pattern``: a regular expression that is compiled when it is first used.

To compile one takes a tenth of a millisecond and more. The package has a hundred of them at the heads of its modules,
and a process that plans one small table uses ten.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

__all__ = ["lazy_pattern"]


def lazy_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What ``re.compile(text, flags)`` gives, for its methods and attributes. Functions of ``re`` do not take it.

    >>> digits = lazy_pattern("[0-9]+")
    >>> digits.findall("a1b23")
    ['1', '23']
    """
    return cast("re.Pattern[AnyStr]", _LazyPattern(text, flags))


class _LazyPattern:
    def __init__(self, text: Any, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, value)  # it is looked up once
        return value
