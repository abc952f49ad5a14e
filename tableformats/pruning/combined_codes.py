"""Combine leaves of one column: ``a > 5 AND a < 9`` and ``a IN (1, 7) AND a > 5`` are each evaluated as one leaf.

Two leaves that are evaluated apart may both be possible in a file where no value satisfies both of them: by a value
each, or by NaN for one leaf and by a number for the other. Over the literals of all leaves, each leaf matches some
intervals of codes. AND matches the codes that all leaves match, OR those that any of them matches. All of this is done
once for a predicate, not for each file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .literal_codes import MatchingCodes, ascending

__all__ = ["combined_codes"]

Member = tuple[MatchingCodes, bool]
"""The codes of a leaf, and whether it stands below a NOT."""


def combined_codes(members: Sequence[Member], of_all: bool) -> MatchingCodes:
    """The codes for which all ``members`` are TRUE (``of_all``), or any of them is. All have one domain.

    Cost: O(k log k) for k literals of all members.
    """
    domain = members[0][0].domain
    literals = ascending({literal for codes, _ in members for literal in codes.literals})
    top = 2 * len(literals)
    place = {_key(literal): i for i, literal in enumerate(literals)}
    changes = np.zeros(top + 2, np.int64)  # where the number of members that match changes
    for codes, negated in members:
        if negated:
            changes[0] += 1
            changes[top + 1] -= 1
        for first, last in _intervals(codes, place, top):
            changes[first] += -1 if negated else 1
            changes[last + 1] += 1 if negated else -1
    matching = np.cumsum(changes[:-1])
    accepted = matching == len(members) if of_all else matching > 0
    if domain in ("int64", "decimal") and not (accepted & ~_empty_gaps(literals)).any():
        accepted[:] = False
    return _reduced(domain, literals, accepted)


def _key(literal: Any) -> Any:
    return literal if literal == literal else "NaN"


def _intervals(codes: MatchingCodes, place: dict[Any, int], top: int) -> Iterator[tuple[int, int]]:
    """The matching codes of a leaf as intervals of codes of all literals, which ``place`` numbers."""
    at = [place[_key(literal)] for literal in codes.literals]
    if codes.odd_only:
        yield from ((2 * i + 1, 2 * i + 1) for i in at)
    elif codes.accepted is not None:
        yield from (_widened(code, code, at, top) for code, matches in enumerate(codes.accepted) if matches)
    elif codes.first <= codes.last:
        yield _widened(codes.first, codes.last, at, top)


def _widened(first: int, last: int, at: Sequence[int], top: int) -> tuple[int, int]:
    """Codes of a leaf as codes of all literals, among which its own stand ``at`` these places.

    An even code is the gap behind a literal, which other literals may divide.
    """
    lowest = 2 * at[first // 2] + 1 if first % 2 else 2 * at[first // 2 - 1] + 2 if first else 0
    highest = 2 * at[last // 2] + 1 if last % 2 else 2 * at[last // 2] if last // 2 < len(at) else top
    return lowest, highest


def _empty_gaps(literals: Sequence[int]) -> np.ndarray:
    """bool[2k + 1]: the codes of gaps between neighbouring integers, which hold no value."""
    empty = np.zeros(2 * len(literals) + 1, bool)
    for i, (low, high) in enumerate(zip(literals, literals[1:], strict=False), 1):
        empty[2 * i] = high - low == 1
    return empty


def _reduced(domain: str, literals: Sequence[Any], accepted: np.ndarray) -> MatchingCodes:
    """The codes without the literals at which ``accepted`` (bool[2k + 1], by code) does not change."""
    below, at, above = accepted[:-1:2], accepted[1::2], accepted[2::2]
    needed = np.flatnonzero((below != at) | (at != above)).tolist()
    codes = np.concatenate([accepted[:1], np.stack([at[needed], above[needed]], axis=1).ravel()])
    kept = tuple(literals[i] for i in needed)
    (found,) = np.nonzero(codes)
    if not len(found):
        return MatchingCodes(domain, kept)
    if (found % 2 == 1).all():
        return MatchingCodes(domain, kept, odd_only=True)
    if found[-1] - found[0] == len(found) - 1:
        return MatchingCodes(domain, kept, int(found[0]), int(found[-1]))
    return MatchingCodes(domain, kept, accepted=tuple(codes.tolist()))
