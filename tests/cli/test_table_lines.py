"""Small tables and lines, laid out at terminals of several widths."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tableformats.cli.layout import _common_end, _cut, _least, _shortened, _shortened_paths, column_lines, folded

NAMES, NUMBERS = ["a", "bcd"], ["1", "200"]
TEXTS = ["one two three four", "short"]


@pytest.mark.parametrize(
    ("names", "columns", "width", "numeric", "lines"),
    [
        (["name", "n"], [NAMES, NUMBERS], None, "", ["name  n", "a     1", "bcd   200"]),
        (["name", "n"], [NAMES, NUMBERS], None, "n", ["name    n", "a       1", "bcd   200"]),
        (["name", "n"], [NAMES, NUMBERS], 9, "n", ["name    n", "a       1", "bcd   200"]),
        (["name", "n"], [NAMES, NUMBERS], 8, "n", ["name: a", "n: 1", "", "name:", "bcd", "n: 200"]),
        (["n", "t"], [["1", "22"], TEXTS], 22, "n", [" n  t", " 1  one two three four", "22  short"]),
        (["n", "t"], [["1", "22"], TEXTS], 17, "n", [" n  t", " 1  one two three", "    four", "22  short"]),
        (["n", "t"], [["1", "22"], TEXTS], 14, "n", [" n  t", " 1  one two", "    three four", "22  short"]),
        (
            ["t", "n"],
            [TEXTS, ["1", "22"]],
            14,
            "n",
            ["t            n", "one two      1", "three four", "short       22"],
        ),
        (["n", "t"], [["1", "22"], TEXTS], 13, "n", ["n: 1", "t: one two", "three four", "", "n: 22", "t: short"]),
        (["é", "日本"], [["日本", "x"], ["a", "bb"]], None, "", ["é     日本", "日本  a", "x     bb"]),
        (["é", "日本"], [["日本", "x"], ["a", "bb"]], 10, "日本", ["é     日本", "日本     a", "x       bb"]),
        (["a", "b"], [["", "x"], ["y", ""]], 3, "", ["b:", "y", "", "a:", "x"]),
        (["a"], [[]], None, "", ["a"]),
        (["a"], [[]], 9, "", ["a"]),
        ([], [], None, "", []),
    ],
)
def test_tables(names: list[str], columns: list[list[str]], width: int | None, numeric: str, lines: list[str]) -> None:
    assert list(column_lines(names, columns, width=width, numeric=[numeric])) == lines


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("a b c", 5, ["a b c"]),
        ("a b c", 4, ["a b", "c"]),
        ("a\n\nb c d", 3, ["a", "", "b c", "d"]),
        ("", 3, [""]),
        ("  total   12", 12, ["  total   12"]),
        ("  total   12", 11, ["  total  12"]),
        ("  total   12", 9, ["  total", "  12"]),
        ("      deep words here to break", 12, ["    deep", "    words", "    here to", "    break"]),
        (f"label: /{'a' * 24}", 20, [f"label: /{'a' * 24}"]),
        (f"label of 17 sig: {'a' * 11}", 20, ["label of 17 sig:", "a" * 11]),
        (f"label of 16 si: {'a' * 11}", 20, [f"label of 16 si: {'a' * 11}"]),
        (f"label of 16 si: {'a' * 10}", 20, ["label of 16 si:", "a" * 10]),
    ],
)
def test_lines_of_a_terminal(text: str, width: int, lines: list[str]) -> None:
    assert folded(text, width).split("\n") == lines


@pytest.mark.parametrize(
    ("texts", "length"),
    [
        ([], 0),
        (["abc"], 0),
        (["abc", "xbc"], 2),
        (["abc", "abc"], 3),
        (["bc", "abc"], 2),
        (["a", "b"], 0),
        (["xay", "xby"], 1),
        (["a.c", "b.c", "z.b.c"], 2),
    ],
)
def test_the_end_that_all_have(texts: list[str], length: int) -> None:
    assert _common_end(texts) == length


@pytest.mark.parametrize(
    ("texts", "width", "shown"),
    [
        (["abc-1.parquet", "abd-2.parquet"], 13, ["abc-1.parquet", "abd-2.parquet"]),
        (["abc-1.parquet", "abd-2.parquet"], 12, ["abc-1.parqu…", "abd-2.parqu…"]),
        (["abc-1.parquet", "abd-2.parquet"], 6, ["abc-1…", "abd-2…"]),
        (["abc-1.parquet", "abd-2.parquet"], 5, ["ab…1…", "ab…2…"]),
        (["abc-1.parquet", "abd-2.orc"], 8, ["abc-…uet", "abd-…orc"]),
        (["abc-1.parquet"], 8, ["abc-…uet"]),
        (["abc-1.parquet", "short"], 8, ["abc-…uet", "short"]),
    ],
)
def test_paths(texts: list[str], width: int, shown: list[str]) -> None:
    assert _shortened_paths(texts, [len(text) for text in texts], width) == shown


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdef", 5, "ab…ef"),
        ("日本語日本語", 12, "日本語日本語"),
        ("日本語日本語", 7, "日本…語"),
        ("日本語日本語", 8, "日本…語"),
    ],
)
def test_wide_characters_count_twice(text: str, width: int, shown: str) -> None:
    assert _shortened(text, width) == shown


@pytest.mark.parametrize(
    ("word", "width", "pieces"),
    [
        ("abcdef", 4, ["abcd", "ef"]),
        ("abcd", 4, ["abcd"]),
        ("日本語", 3, ["日", "本", "語"]),
        ("日本語", 4, ["日本", "語"]),
        ("日本語", 1, ["日", "本", "語"]),
        ("", 4, [""]),
    ],
)
def test_pieces_of_a_word(word: str, width: int, pieces: list[str]) -> None:
    assert _cut(word, width) == pieces


@pytest.mark.parametrize(
    ("texts", "own", "is_path", "is_number", "least"),
    [
        (["n", "1" * 20], 20, False, True, 20),
        (["p", "x" * 50], 50, True, False, 24),
        (["p", "x" * 20], 20, True, False, 20),
        (["p" * 30, "x" * 50], 50, True, False, 30),
        (["n", "x y"], 3, False, False, 3),
        (["n", "a b c d e f g h"], 15, False, False, 10),
        (["n" * 12, "a b c d e f g h"], 15, False, False, 12),
        (["n", f"{'a' * 16} b"], 18, False, False, 16),
        (["n", f"{'a' * 17} b"], 19, False, False, 10),
    ],
)
def test_how_narrow_a_column_may_become(
    texts: Sequence[str], own: int, is_path: bool, is_number: bool, least: int
) -> None:
    assert _least(texts, own, is_path, is_number) == least
