"""Numbers in texts of tables: properties, summaries, hints, headers."""

from __future__ import annotations

import pytest

from tableformats.plugin import whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("7", 7),
        ("0" * 19 + "7", 7),
        (str(2**63 - 1), 2**63 - 1),
        *((text, None) for text in ("", "-1", "+1", "1.0", " 1", "1\n", "1_0", "\u0661", "\u00b2", "x")),
        *((text, None) for text in ("0" * 20 + "7", str(2**63), "9" * 20, "9" * 5000)),
        *((value, None) for value in (None, 7, True, b"7", ["7"])),
    ],
)
def test_whole_numbers(text: object, number: int | None) -> None:
    assert whole_number(text) == number
