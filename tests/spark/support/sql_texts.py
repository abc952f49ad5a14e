"""Random predicates as a user of Spark writes them: casts that nobody sees, functions, literals of other types.

The columns are those of :data:`KINDS`; values that are special to some type are likely.
"""

from __future__ import annotations

from hypothesis import strategies as st

__all__ = ["KINDS", "predicates"]

KINDS = {
    "number": ["n", "big", "x", "f", "amount", "wide", "p"],
    "text": ["s", "pw"],
    "date": ["d", "pd"],
    "time": ["t", "pt"],
    "flag": ["b"],
    "binary": ["bin"],
}
Text = st.SearchStrategy[str]
_COMPARISONS = st.sampled_from(["=", "=", "<=>", "!=", "<", "<=", ">", ">="])


def _of(text: str) -> Text:
    """One of the words of ``text``, which are parted by bars."""
    return st.sampled_from([word.strip() for word in text.split("|")])


def _filled(forms: str, **parts: Text) -> Text:
    """One of the ``forms``, with a part where its name stands in braces."""
    return st.builds(lambda form, **found: form.format(**found), _of(forms), **parts)


_COLUMN = {kind: st.sampled_from(names) for kind, names in KINDS.items()}
_ANY = st.sampled_from([name for names in KINDS.values() for name in names])
_LITERAL = {
    "number": _of("""
        0 | 1 | -1 | 25 | 26 | 25.0 | 25.25 | 25.5D | 1.5 | 0.01 | -0.0D | 1e10 | 0.1F | 300S | 127Y | 25L | 1e308 |
        '25' | '25.0' | ' 25 ' | 9007199254740993 | 9223372036854775807 | 10000000000000000000000000 | -2147483648 |
        2147483648 | double('NaN') | float('NaN') | double('Infinity') | CAST(25 AS DECIMAL(10,3)) | NULL |
        CAST(NULL AS INT)"""),
    "text": _of("""
        '' | 'a' | 'A' | 'ab' | 'abc' | 'b' | '25' | '025' | '25.0' | ' 25 ' | 'é' | '\U0001f600' | 'zz' |
        '2024-03-01' | 'true' | 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' | NULL"""),
    "date": _of("""
        DATE '2024-03-01' | DATE '2024-03-02' | '2024-03-01' | '2024-3-1' | '2024-03' | DATE '1970-01-01' |
        DATE '0001-01-01' | DATE '1582-10-04' | DATE '9999-12-31' | TIMESTAMP '2024-03-01 00:00:00' |
        TIMESTAMP_NTZ '2024-03-01 00:00:00' | DATE '2024-02-29' + INTERVAL 1 DAY | NULL"""),
    "time": _of("""
        TIMESTAMP '2024-03-01 00:00:00' | TIMESTAMP '2024-03-01 08:00:00Z' | '2024-03-01 00:00:00' | '2024-03-01' |
        TIMESTAMP '2024-11-03 01:30:00' | TIMESTAMP '2024-03-10 02:30:00' | TIMESTAMP '1900-01-01 00:00:00Z' |
        TIMESTAMP_NTZ '2024-03-01 00:00:00' | TIMESTAMP '9999-12-30 23:00:00Z' | DATE '2024-03-01' |
        DATE '2024-03-10' | NULL"""),
}
_COMPUTED = {
    "number": _filled(
        """
        ({n} + 1) | ({n} + 0.5) | (-{n}) | abs({n}) | coalesce({n}, 25) | ({n} * 2) | ({n} % 7) | round({n}) |
        floor({n}) | CAST({n} AS INT) | CAST({n} AS DOUBLE) | CAST({n} AS DECIMAL(5,1)) | CAST({n} AS SMALLINT) |
        CAST({n} AS STRING) | CAST({s} AS INT) | CAST({s} AS DOUBLE) | CAST({s} AS DECIMAL(10,2)) | length({s}) |
        year({d}) | month({t}) | hour({t}) | unix_timestamp({t}) | datediff({d}, DATE '2024-03-01') |
        greatest({n}, 5) | nanvl(x, 1) | nullif({n}, 25) | ({n} - big) | CAST(b AS INT)""",
        n=_COLUMN["number"],
        s=_COLUMN["text"],
        d=_COLUMN["date"],
        t=_COLUMN["time"],
    ),
    "text": _filled(
        """
        lower({s}) | substring({s}, 1, 2) | left({s}, 1) | trim({s}) | concat({s}, 'a') | coalesce({s}, 'a') |
        reverse({s}) | CAST({other} AS STRING) | CAST({s} AS CHAR(5)) | date_format({d}, 'yyyy-MM')""",
        s=_COLUMN["text"],
        d=_COLUMN["date"],
        other=st.sampled_from(["n", "x", "amount", "d", "t", "b"]),
    ),
    "date": _filled(
        """
        date_add({d}, 1) | ({d} - INTERVAL 1 DAY) | CAST({t} AS DATE) | trunc({d}, 'MM') | last_day({d}) |
        to_date({t}) | coalesce({d}, DATE '2024-03-01') | add_months({d}, 1)""",
        d=_COLUMN["date"],
        t=_COLUMN["time"],
    ),
    "time": _filled(
        """
        CAST({d} AS TIMESTAMP) | ({t} + INTERVAL 1 HOUR) | date_trunc('DAY', {t}) | date_trunc('HOUR', {t}) |
        CAST({t} AS TIMESTAMP_NTZ) | from_utc_timestamp({t}, 'Asia/Tokyo')""",
        d=_COLUMN["date"],
        t=_COLUMN["time"],
    ),
}
# Backslashes stand twice in SQL.
_PATTERNS = ["a%", "%b", "a_b", "ab", "%", "_", "", r"a\\%b", "%a%", "é%", "2%", r"a\\_b", "abc%d", "__%"]


def _compared(kind: str) -> Text:
    column, literal = _COLUMN[kind] | _COLUMN[kind] | _COMPUTED[kind], _LITERAL[kind]
    several = st.lists(literal, min_size=1, max_size=3) | st.lists(literal, min_size=12, max_size=14)
    return _filled(
        """
        {c} {op} {v} | {c} {op} {v} | {v} {op} {c} | {c} {op} {other} | {c} BETWEEN {v} AND {w} |
        {c} NOT BETWEEN {v} AND {w} | {c} IN ({many}) | {c} NOT IN ({many})""",
        c=column,
        other=column,
        op=_COMPARISONS,
        v=literal,
        w=literal,
        many=several.map(", ".join),
    )


_LEAVES = st.one_of(
    *map(_compared, ["number", "number", "text", "date", "time"]),
    _filled(
        """
        {s} LIKE '{like}' | {s} NOT LIKE '{like}' | startswith({s}, {v}) | endswith({s}, {v}) | contains({s}, {v}) |
        {s} RLIKE '^a' | {s} ILIKE 'A%' | {s} = {n} | {s} > {n} | {s} IN (25, 1)""",
        s=_COLUMN["text"] | _COMPUTED["text"],
        v=_LITERAL["text"],
        n=_LITERAL["number"],
        like=st.sampled_from(_PATTERNS),
    ),
    _of("b | NOT b | b = true | b <=> false | b = 'true' | b != false | b IS NOT TRUE | b IN (true, NULL)"),
    _filled(
        """
        isnan({x}) | NOT isnan({x}) | {x} >= double('NaN') | {x} = 0.0 | {x} <=> -0.0D |
        {x} IN (double('NaN'), 25.0)""",
        x=st.sampled_from(["x", "f"]),
    ),
    _of("bin = X'61' | bin = X'' | bin = 'a' | bin > X'61' | bin >= X'6162' | bin < X'FF'"),
    _filled("{c} IS NULL | {c} IS NOT NULL", c=_ANY),
)


def predicates() -> Text:
    """SQL texts; each is a predicate, but for what the types forbid."""
    return st.recursive(
        _LEAVES,
        lambda inner: _filled(
            """
            ({a} AND {b}) | ({a} AND {b}) | ({a} OR {b}) | ({a} OR {b}) | NOT ({a}) | ({a}) <=> ({b}) | ({a}) = true |
            CASE WHEN {a} THEN {b} ELSE {c} END | if({a}, {b}, {c}) | coalesce({a}, false)""",
            a=inner,
            b=inner,
            c=inner,
        ),
        max_leaves=5,
    )
