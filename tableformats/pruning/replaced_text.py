"""Bounds of strings that hold U+FFFD, which stands where the bytes of a value are not UTF-8.

Engines read and compare the bytes of values as they are. Writers of statistics decode them, and put U+FFFD in place of
what is not UTF-8. Such a bound is neither a value nor in the order of the values: ``61 80`` is less, and ``61 FF``
greater than ``a\\ufffd`` (``61 EF BF BD``). Sure is what stands before the first U+FFFD: every value that was
written as ``ab\\ufffd...`` begins with ``ab`` and a byte above ASCII, so it lies from ``ab\\x7f`` to ``ac``. Whether
the value really held U+FFFD cannot be told.

The least and the greatest of many such bounds need not hold U+FFFD themselves: ``a\\u00e9`` (``61 C3 A9``) is below
``a\\ufffd``, which may stand for ``61 80``.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ..columnar import compute as pc
from ..columnar.arrays import FALSE, scalar, text_buffers

__all__ = ["widened_extremes", "widened_texts"]

_REPLACEMENT = "\ufffd"
_FIRST_BYTE = _REPLACEMENT.encode()[0]
_NOT_BELOW_REPLACEMENT = r"[\x{fffd}-\x{10ffff}]"
_LAST_OF_ASCII = "\x7f"
_ABOVE, _NOTHING = scalar(_LAST_OF_ASCII, pa.string()), scalar("", pa.string())
_WITHOUT_SUCCESSOR = r"[^\x00-\x7e]+\z"
"""The end of a text from which on no character is ASCII with an ASCII successor."""


def widened_texts(
    lower: pa.Array, upper: pa.Array, written: tuple[pa.Array, pa.Array] | None = None
) -> tuple[pa.Array, pa.Array]:
    """Bounds of strings, widened to what is sure where they hold U+FFFD.

    Parameters
    ----------
    lower, upper : pyarrow.StringArray
        [n]; null means unknown.
    written : pair of pyarrow.StringArray, optional
        [n]: the texts that the bounds were computed from, such as values of a truncating partition transform. None:
        they were written as they are.
    """
    low, high = written or (lower, upper)
    suspect = _holds_replacement(low)
    if suspect is not None:
        sure = pc.binary_join_element_wise(_sure(low, suspect), _ABOVE, _NOTHING)
        lower = pc.replace_with_mask(lower, suspect, sure)
    suspect = suspect if high is low else _holds_replacement(high)
    if suspect is not None:
        upper = pc.replace_with_mask(upper, suspect, _behind(_sure(high, suspect)))
    return lower, upper


def widened_extremes(lower: pa.Array, upper: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Bounds of texts, widened to bounds of values, where each text may hold U+FFFD in place of any bytes.

    What U+FFFD stands for begins with a byte above ASCII. So a lower bound is sure up to its first character above
    ASCII, in place of which some byte above ASCII stands, and an upper bound up to its first one that is not below
    U+FFFD.

    Parameters
    ----------
    lower, upper : pyarrow.StringArray
        [n]: bounds of the texts of many values, such as those of all files of a manifest; null means unknown.
    """
    if _greatest_byte(lower) > 0x7F:
        lower = pc.replace_substring_regex(lower, pattern=r"(?s)[^\x00-\x7f].*", replacement=_LAST_OF_ASCII)
    if _greatest_byte(upper) >= _FIRST_BYTE:
        suspect = pc.fill_null(pc.match_substring_regex(upper, pattern=_NOT_BELOW_REPLACEMENT), FALSE)
        if suspect.true_count:
            sure = pc.replace_substring_regex(
                pc.filter(upper, suspect), pattern=f"(?s){_NOT_BELOW_REPLACEMENT}.*", replacement=""
            )
            upper = pc.replace_with_mask(upper, suspect, _behind(sure))
    return lower, upper


def _greatest_byte(values: pa.Array) -> int:
    """The greatest byte of all texts; 0 where there is none."""
    if values.null_count == len(values):
        return 0
    offsets, data = text_buffers(values)
    return int(data[offsets[0] : offsets[-1]].max(initial=0))


def _holds_replacement(values: pa.Array) -> pa.Array | None:
    """bool[n] without nulls: where strings hold U+FFFD. None: nowhere.

    Texts of ASCII, Latin, Greek, Cyrillic, Hebrew, Arabic or CJK cost one pass over their bytes.
    """
    if _greatest_byte(values) < _FIRST_BYTE:
        return None
    found = pc.fill_null(pc.match_substring(values, pattern=_REPLACEMENT), FALSE)
    return found if found.true_count else None


def _sure(values: pa.Array, suspect: pa.Array) -> pa.Array:
    """What stands before the first U+FFFD of the suspect values."""
    found = pc.filter(values, suspect)
    return pc.list_element(pc.split_pattern(found, pattern=_REPLACEMENT, max_splits=1), 0)


def _behind(prefixes: pa.Array) -> pa.Array:
    """For each prefix a text behind all values that begin with it; null where there is none."""
    prefixes = pc.replace_substring_regex(prefixes, pattern=_WITHOUT_SUCCESSOR, replacement="")
    offsets, data = text_buffers(prefixes)
    data = data.copy()
    has_text = offsets[1:] > offsets[:-1]
    data[offsets[1:][has_text] - 1] += 1
    buffers = [pa.py_buffer(np.packbits(has_text, bitorder="little")), pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(prefixes), buffers)
