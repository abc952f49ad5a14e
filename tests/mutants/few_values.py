"""Mutants of what tight bounds of few values say of NaN, and of what stands in place of bytes that are not UTF-8."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_COUNTS = ("test_nan_counts.py",)
_TEXTS = ("test_replaced_text.py",)

MUTANTS = (
    Mutant(
        "two-values-of-equal-bounds",
        "delta:_nan_counts",
        "low < high",
        "low <= high",
        "two values with equal bounds are both the bound",
        _COUNTS,
    ),
    Mutant(
        "wide-bounds-are-values",
        "delta:_nan_counts",
        "& ~wide",
        "",
        "a bound is a value of the file, wide or not",
        _COUNTS,
    ),
    Mutant(
        "a-rounded-float-is-two-values",
        "delta:_nan_counts",
        "astype(np.float32)",
        "astype(np.float64)",
        "bounds of a column that was a FLOAT are exact",
        _COUNTS,
    ),
    Mutant(
        "replaced-bytes-are-above-latin",
        "core:widened_texts",
        "_ABOVE",
        'scalar("\\u00ff", pa.string())',
        "U+FFFD stands for bytes above all letters",
        _TEXTS,
    ),
)
