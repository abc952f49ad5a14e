"""The columns of the tables and values that are special to their types, as Spark's SQL spells them."""

from __future__ import annotations

import random

TYPES = {
    "rid": "BIGINT",
    "y": "TINYINT",
    "h": "SMALLINT",
    "i": "INT",
    "l": "BIGINT",
    "f": "FLOAT",
    "x": "DOUBLE",
    "e": "DECIMAL(9, 2)",
    "w": "DECIMAL(38, 10)",
    "s": "STRING",
    "c": "CHAR(5)",
    "v": "VARCHAR(40)",
    "z": "BINARY",
    "b": "BOOLEAN",
    "d": "DATE",
    "t": "TIMESTAMP",
    "n": "TIMESTAMP_NTZ",
    "st": "STRUCT<k: INT, u: STRING, d: DATE>",
    "a": "ARRAY<INT>",
    "m": "MAP<STRING, INT>",
}
KINDS = {
    **dict.fromkeys(("rid", "y", "h", "i", "l", "st.k"), "int"),
    **dict.fromkeys(("f", "x"), "float"),
    **dict.fromkeys(("e", "w"), "decimal"),
    **dict.fromkeys(("s", "c", "v", "st.u"), "string"),
    **{"z": "binary", "b": "boolean", "d": "date", "st.d": "date", "t": "timestamp", "n": "timestamp_ntz"},
}
"""What an expression of a column is, for the generator of predicates."""

VALUES: dict[str, list[str]] = {
    "y": ["0", "1", "-1", "5", "127", "-128", "42"],
    "h": ["0", "1", "-1", "25", "32767", "-32768", "300"],
    "i": ["0", "1", "-1", "5", "25", "26", "100", "-2147483648", "2147483647"],
    "l": ["0", "25", "-7", "8589934592", "9007199254740992", "9007199254740993", "9223372036854775807", "1706745600"],
    "f": ["0.0", "-0.0", "0.1", "25.0", "double('NaN')", "double('Infinity')", "16777216.0", "-1.5"],
    "x": ["0.0", "-0.0", "0.1", "1.5", "25.0", "double('NaN')", "double('-Infinity')", "1e308", "5e-324", "-2.5"],
    "e": ["0.00", "-0.01", "25.00", "25.25", "9999999.99", "-100.50", "0.10"],
    "w": ["0", "25", "0.1", "-12345678901234567890.5", "12345678901234567890.1234567891", "9007199254740993"],
    "s": [
        *(
            "''",
            "'a'",
            "'A'",
            "'ab'",
            "'abc'",
            "'b'",
            "'25'",
            "' 25 '",
            "'é'",
            "'\U0001f600'",
            "'zz'",
            "'a%b'",
            "'a_b'",
        ),
        *("'true'", f"'{'a' * 40}'", f"'{'a' * 40}z'", "'2024-03-01'", "'\uffff'", "'Ünï'", "'o''b'"),
        *("CAST(X'61FF' AS STRING)", "CAST(X'FF' AS STRING)", "CAST(X'61C3' AS STRING)"),
    ],
    "c": ["''", "'a'", "'ab'", "'abc  '", "'b    '", "'é'", "'A'"],
    "v": ["''", "'a'", "'a '", "'ab'", "'B'", "'2024-03-01'", "'é'"],
    "z": ["X''", "X'61'", "X'6162'", "X'FF'", "X'00'", "X'FFFF'"],
    "b": ["TRUE", "FALSE"],
    "d": [
        *("DATE'2024-03-01'", "DATE'2024-02-29'", "DATE'2023-12-31'", "DATE'1970-01-01'", "DATE'1969-12-31'"),
        *("DATE'0001-01-01'", "DATE'1582-10-15'", "DATE'9999-12-31'", "DATE'2024-03-31'"),
    ],
    "t": [
        *(
            "TIMESTAMP'2024-03-01 00:00:00Z'",
            "TIMESTAMP'2024-03-01 08:30:00.123456Z'",
            "TIMESTAMP'2024-02-29 23:59:59.999999Z'",
        ),
        *(
            "TIMESTAMP'1970-01-01 00:00:00Z'",
            "TIMESTAMP'1969-12-31 23:59:59.999999Z'",
            "TIMESTAMP'2023-12-31 12:00:00.0005Z'",
        ),
        *("TIMESTAMP'1900-01-01 00:00:00Z'", "TIMESTAMP'2262-04-11 23:47:16Z'", "TIMESTAMP'2024-03-31 01:30:00Z'"),
    ],
    "n": [
        *("TIMESTAMP_NTZ'2024-03-01 00:00:00'", "TIMESTAMP_NTZ'2024-03-01 08:30:00.123456'"),
        *("TIMESTAMP_NTZ'1969-12-31 23:59:59.999999'", "TIMESTAMP_NTZ'2024-02-29 23:59:59'"),
        *("TIMESTAMP_NTZ'1970-01-01 00:00:00'", "TIMESTAMP_NTZ'2262-04-11 23:47:16'"),
    ],
    "a": ["ARRAY()", "ARRAY(1)", "ARRAY(1, NULL, 25)", "ARRAY(5, 5)"],
    "m": ["MAP()", "MAP('a', 1)", "MAP('a', NULL, 'b', 25)", "MAP('é', 5)"],
}
STRUCT = {"k": "i", "u": "s", "d": "d"}
ODD_TEXTS = ["'a=b/c'", "'x y'", "'%20'", "'é:?#'", "'\U0001f600'", "''", "'a''b\"'", "'null'", "'{}[]'", "'.'", "' '"]
"""Partition values that paths must encode."""


def rows(seed: int, groups: int, size: int, overrides: dict[str, list[str]] | None = None, first: int = 0) -> list[str]:
    """Rows as lists of values for SQL, ``size`` in each group; each group has few values of a column.

    ``rid`` counts the rows from ``first``.
    """
    chance, found = random.Random(seed), []
    for group in range(groups):
        few = {}
        for name, values in {**VALUES, **(overrides or {})}.items():
            shape = chance.random()
            drawn = chance.choices(values, k=1 if shape < 0.4 else 3)
            few[name] = ["NULL"] if shape < 0.05 else [*drawn, "NULL"] if shape > 0.7 else drawn
        for row in range(size):
            one = {name: f"CAST({chance.choice(values)} AS {_kind(name)})" for name, values in few.items()}
            inner = ", ".join(
                f"'{field}', CAST({chance.choice(few[name])} AS {TYPES[name]})" for field, name in STRUCT.items()
            )
            one["st"] = f"CAST(NULL AS {TYPES['st']})" if chance.random() < 0.1 else f"NAMED_STRUCT({inner})"
            one["rid"] = f"{first + group * size + row}L"
            found.append("(" + ", ".join(one[name] for name in TYPES) + ")")
    return found


def _kind(name: str) -> str:
    """A column's type in a cast; CHAR and VARCHAR cannot be cast to, and are padded when they are written."""
    return "STRING" if name in ("c", "v") else TYPES[name]
