"""The names of the functions that a predicate may call, and how many arguments each takes.

Names are Spark's, in lower case. Operators have their sign. Conditions that are nodes of their own in the tree (AND,
OR, NOT, IS TRUE) are no functions here. Source: Spark SQL reference, "Built-in Functions".
"""

from __future__ import annotations

from ...dataclass import dataclass

__all__ = ["ALIASES", "SIGNATURES", "Signature"]


@dataclass(frozen=True)
class Signature:
    """How many arguments a function takes: from ``least`` to ``most``. ``most`` is None where there is no limit."""

    least: int
    most: int | None

    def accepts(self, count: int) -> bool:
        """Whether the function takes ``count`` arguments."""
        return self.least <= count and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"{self.least} or more arguments"
        counts = str(self.least) if self.least == self.most else f"{self.least} to {self.most}"
        return f"{counts} argument{'' if counts == '1' else 's'}"


def _table(text: str) -> dict[str, Signature]:
    """Signatures from lines ``least most name name ...``; ``most`` is ``*`` where there is no limit."""
    found = {}
    for line in text.strip().splitlines():
        least, most, *names = line.split()
        signature = Signature(int(least), None if most == "*" else int(most))
        found.update(dict.fromkeys(names, signature))
    return found


SIGNATURES = _table(
    """
2 2 = <=> != < <= > >= + - * / div % & | ^ [] .
2 * in
1 1 isnull isnotnull isnan cast try_cast
3 * case
3 3 if nvl2 between
1 * coalesce
2 * greatest least
2 2 nullif nanvl pow pmod
1 1 negative abs sign sqrt cbrt exp ln log10 log2 bit_not
1 2 round bround floor ceil log
2 2 shiftleft shiftright shiftrightunsigned
1 1 lower upper length octet_length bit_length initcap reverse ascii chr space md5 sha1 crc32 hex
2 2 sha2
1 2 trim ltrim rtrim btrim
2 3 split parse_url substring replace locate lpad rpad like ilike regexp_extract
2 2 left right contains startswith endswith instr rlike repeat levenshtein regexp_count
0 * concat
1 * concat_ws
3 3 split_part translate substring_index
3 4 regexp_replace
1 1 year month day dayofweek weekday dayofyear weekofyear yearofweek quarter hour minute second
1 1 last_day dayname monthname
2 2 date_trunc trunc date_add date_sub datediff add_months date_format next_day extract
1 2 to_date to_timestamp to_timestamp_ntz to_timestamp_ltz try_to_timestamp try_to_date from_unixtime
2 3 months_between
3 3 make_date timestampadd timestampdiff
6 7 make_timestamp
6 6 make_timestamp_ntz
0 2 unix_timestamp
1 1 unix_date unix_seconds unix_millis unix_micros
1 1 timestamp_seconds timestamp_millis timestamp_micros date_from_unix_date
2 2 from_utc_timestamp to_utc_timestamp
0 0 current_date current_timestamp localtimestamp current_timezone pi e
2 2 element_at try_element_at get array_contains map_contains_key array_position
1 1 size array_size map_keys map_values
2 2 try_add try_subtract try_multiply try_divide try_mod
"""
)
"""How many arguments each function takes, by its name. ``case`` takes conditions and values in turn, and the ELSE last.
``[]`` is ``a[b]``, ``.`` is ``a.b`` with the member's name as a literal."""

ALIASES: dict[str, str] = {
    "==": "=",
    "<>": "!=",
    "equal_null": "<=>",
    "||": "concat",
    "nvl": "coalesce",
    "ifnull": "coalesce",
    "mod": "%",
    "power": "pow",
    "signum": "sign",
    "ceiling": "ceil",
    "lcase": "lower",
    "ucase": "upper",
    "substr": "substring",
    "char_length": "length",
    "character_length": "length",
    "len": "length",
    "char": "chr",
    "position": "locate",
    "charindex": "locate",
    "sha": "sha1",
    "regexp": "rlike",
    "regexp_like": "rlike",
    "dayofmonth": "day",
    "week": "weekofyear",
    "date_part": "extract",
    "datepart": "extract",
    "dateadd": "date_add",
    "date_diff": "datediff",
    "to_unix_timestamp": "unix_timestamp",
    "now": "current_timestamp",
    "curdate": "current_date",
    "cardinality": "size",
    "~": "bit_not",
}
"""Other names of the functions, with the same arguments in the same order."""
