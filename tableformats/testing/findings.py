"""How the kit says what is wrong: where, what it found, and what it wanted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["Findings", "expect", "expect_error", "sample"]

_MOST_SHOWN = 10


class Findings:
    """The mistakes that one test found.

    Parameters
    ----------
    promise : str
        What the contract says, as a sentence.
    """

    def __init__(self, promise: str) -> None:
        self.promise = promise
        self._lines: list[str] = []

    def add(self, where: str, found: object, wanted: object) -> None:
        """Note one mistake; ``found`` and ``wanted`` are texts, or values to be shown by their repr."""
        line = f"{where}: found {_shown(found)}, wanted {_shown(wanted)}"
        if line not in self._lines:
            self._lines.append(line)

    def __bool__(self) -> bool:
        """Whether there is a mistake."""
        return bool(self._lines)

    def equal(self, where: str, found: object, wanted: object) -> None:
        """Note a mistake where the two differ."""
        if found != wanted:
            self.add(where, repr(found), repr(wanted))

    def same_items(self, where: str, found: Sequence[Any], wanted: Sequence[Any]) -> None:
        """Note a mistake where the two have other items, or have one more often. The order does not count."""
        there, expected = Counter(found), Counter(wanted)
        missing, extra = expected - there, there - expected
        if missing or extra:
            self.add(where, f"{len(found)}", f"{len(wanted)} (missing: {_few(missing)}; not wanted: {_few(extra)})")

    def check(self) -> None:
        """Raise AssertionError where there is a mistake; the message lists the first ten."""
        if self._lines:
            shown = [f"  {line}" for line in self._lines[:_MOST_SHOWN]]
            left = len(self._lines) - len(shown)
            more = [f"  and {left} more"] if left else []
            raise AssertionError("\n".join([f"{self.promise}, but:", *shown, *more]))


def expect(where: str, found: object, wanted: object) -> None:
    """Raise AssertionError unless the two are equal."""
    if found != wanted:
        raise AssertionError(f"{where}: found {found!r}, wanted {wanted!r}")


def expect_error(where: str, call: Callable[[], Any], *kinds: type[Exception]) -> Exception:
    """The error that ``call`` raises.

    Raises
    ------
    AssertionError
        It raises none, or one of another type.
    """
    wanted = " or ".join(kind.__name__ for kind in kinds)
    try:
        found = call()
    except kinds as error:
        return error
    except Exception as error:
        raise AssertionError(f"{where}: found {type(error).__name__}: {error}, wanted {wanted}") from error
    raise AssertionError(f"{where}: found {found!r}, wanted {wanted}")


def sample(items: Sequence[Any], most: int) -> list[Any]:
    """At most ``most`` of the items, evenly spread, with the first and the last; always the same ones."""
    if len(items) <= most:
        return list(items)
    return [items[i * (len(items) - 1) // (most - 1)] for i in range(most)]


def _few(items: Counter[Any]) -> str:
    """The first three of some items."""
    texts = [f"{item} ({times} times)" if times > 1 else str(item) for item, times in items.items()]
    return ", ".join(texts[:3]) + (f" and {len(texts) - 3} more" if len(texts) > 3 else "") or "nothing"


def _shown(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
