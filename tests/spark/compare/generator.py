"""Random predicates over a table's columns, as users may write them: from one comparison to nested expressions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from . import values

T = TypeVar("T")
ORDERED = ("=", "<", ">", "<=", ">=", "!=", "<=>")
NUMERIC = ("int", "float", "decimal")
PATTERNS = ("a%", "%a", "%a%", "_", "a_", "%", "", "A%", "__", "%é%", "a\\\\%b", "2024-%", "a%b", "ab", "%\U0001f600%")
EXPRESSIONS = ("^a", "b$", "a.c", "[0-9]+", "^$", "^[a-c]{1,2}$", "(?i)^A", "a|z", "\\\\d", ".*b.*", "é")
INTERVALS = ("INTERVAL 1 DAY", "INTERVAL '2' HOUR", "INTERVAL 1 MONTH", "INTERVAL 1 YEAR", "INTERVAL 90 DAYS")
LITERALS = {
    "int": ["0", "1", "-1", "2", "5", "25", "26", "42", "100", "2147483647", "9007199254740993L", "128", "1.5", "25S"],
    "float": ["0.0D", "-0.0D", "0.1", "0.1D", "1.5", "25", "-2.5", "1e308", "double('NaN')", "float('0.1')", "25.0F"],
    "decimal": ["0", "25", "25.00", "25.25", "0.1", "-0.01", "25.001", "9999999.99", "1e2", "12345678901234567890"],
    "string": [*values.VALUES["s"][:19], "'abc  '", "'a '", "'A'", "'2024-03-01 00:00:00'", "'x'"],
    "binary": values.VALUES["z"],
    "boolean": ["TRUE", "FALSE"],
    "date": [*values.VALUES["d"], "'2024-03-01'", "'2024-03'", "DATE'2024-03-15'", "current_date()"],
    "timestamp": [
        *values.VALUES["t"],
        "'2024-03-01 00:00:00'",
        "'2024-03-01T08:30:00+01:00'",
        "DATE'2024-03-01'",
        "now()",
    ],
    "timestamp_ntz": [*values.VALUES["n"], "TIMESTAMP_NTZ'2024-03-01 12:00:00'", "DATE'2024-03-01'"],
}
TUPLES = {
    "rid": ["5L", "25L", "42L", "7L"],
    "s": values.VALUES["s"][:8],
    "b": ["TRUE", "FALSE"],
    "x": ["0.0D", "1.5D", "0.1D", "double('NaN')"],
    "t": values.VALUES["t"],
    "d": values.VALUES["d"],
    "z": values.VALUES["z"],
    "l": ["25L", "9007199254740993L", "CAST(NULL AS BIGINT)"],
}
TYPES = {
    "int": ["TINYINT", "SMALLINT", "INT", "BIGINT", "DOUBLE", "FLOAT", "DECIMAL(12, 2)", "STRING", "BOOLEAN"],
    "float": ["DOUBLE", "FLOAT", "STRING", "BOOLEAN"],
    "decimal": ["DOUBLE", "DECIMAL(38, 10)", "DECIMAL(20, 1)", "STRING", "BIGINT"],
    "string": ["STRING", "BINARY"],
    "boolean": ["INT", "STRING"],
    "date": ["TIMESTAMP", "STRING", "TIMESTAMP_NTZ"],
    "timestamp": ["DATE", "STRING", "BIGINT", "TIMESTAMP_NTZ"],
    "timestamp_ntz": ["DATE", "STRING", "TIMESTAMP"],
    "binary": ["STRING"],
}
KIND_OF_TYPE = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), "int"),
    **{"DOUBLE": "float", "FLOAT": "float", "STRING": "string", "BOOLEAN": "boolean", "BINARY": "binary"},
    **{"DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP_NTZ": "timestamp_ntz"},
}


class Predicate(str):
    """A condition's text, which knows the conditions that it consists of, so that a failing one can be made small."""

    parts: tuple[Predicate, ...] = ()

    @classmethod
    def of(cls, text: str, *parts: Predicate) -> Predicate:
        made = cls(text)
        made.parts = parts
        return made


class Generator:
    """Predicates over ``columns`` (name to kind); the same seed gives the same ones."""

    def __init__(self, seed: str, columns: dict[str, str]) -> None:
        self._chance = random.Random(seed)
        self._columns = columns
        self._of_kind: dict[str, list[str]] = {}
        for name, kind in columns.items():
            self._of_kind.setdefault(kind, []).append(name)
        self._builders: dict[str, list[Callable[[int], str]]] = {
            **{kind: [self._arithmetic, self._number_function, self._part_of_time, self._of_text] for kind in NUMERIC},
            "string": [self._text_function, self._text_function, self._joined_text, self._formatted],
            "date": [self._date_function, self._shifted_date],
            "timestamp": [self._timestamp_function],
            "timestamp_ntz": [self._ntz_function],
            "boolean": [lambda depth: f"({self.condition(depth - 1)})"],
            "binary": [lambda depth: f"CAST({self.operand('string', depth - 1)} AS BINARY)"],
        }

    def predicate(self) -> Predicate:
        depth = self._pick((0, 0, 0, 1, 1, 2))
        return self.condition(depth)

    def condition(self, depth: int) -> Predicate:
        if depth <= 0 or self._chance.random() < 0.2:
            return self._leaf(1 if self._chance.random() < 0.45 else 0)
        shape = self._pick(("and", "or", "and", "or", "not", "truth"))
        left = self.condition(depth - 1)
        if shape == "not":
            return Predicate.of(f"NOT ({left})", left)
        if shape == "truth":
            return Predicate.of(f"({left}) IS {self._pick(('', 'NOT '))}{self._pick(('TRUE', 'FALSE', 'NULL'))}", left)
        right = self.condition(depth - 1)
        return Predicate.of(f"({left}) {shape.upper()} ({right})", left, right)

    def operand(self, kind: str, depth: int) -> str:
        """An expression of a kind that names a column wherever there is one of it."""
        if depth > 0 and self._chance.random() < 0.8:
            if self._chance.random() < 0.25:
                return self._conditional(kind, depth)
            return self._pick(self._builders[kind])(depth)
        return self.column(kind)

    def column(self, kind: str) -> str:
        found = self._of_kind.get(kind)
        return self._pick(found) if found else self.literal(kind)

    def literal(self, kind: str) -> str:
        if self._chance.random() < 0.03:
            return "NULL"
        return self._pick(LITERALS[kind])

    def _pick(self, options: Sequence[T]) -> T:
        return self._chance.choice(options)

    def _leaf(self, depth: int) -> Predicate:
        kind = self._columns[self._pick(list(self._columns))]
        makers = [self._comparison] * 6 + [self._member, self._between, self._null, self._two_columns, self._tuple]
        if kind == "string":
            makers += [self._match] * 5
        if kind == "boolean":
            makers += [self._truth] * 6
        if kind == "float":
            makers += [self._nan]
        if self._chance.random() < 0.03:
            makers = [self._collection]
        return Predicate.of(self._pick(makers)(kind, depth))

    def _comparison(self, kind: str, depth: int) -> str:
        left, right = self.operand(kind, depth), self.literal(kind)
        if kind in NUMERIC and self._chance.random() < 0.25:
            right = self.literal(self._pick(NUMERIC))
        if self._chance.random() < 0.1:
            left, right = right, left
        return f"{left} {self._pick(ORDERED)} {right}"

    def _two_columns(self, kind: str, depth: int) -> str:
        return f"{self.operand(kind, depth)} {self._pick(ORDERED)} {self.operand(kind, 0)}"

    def _member(self, kind: str, depth: int) -> str:
        listed = ", ".join(self.literal(kind) for _ in range(self._chance.randint(1, 4)))
        return f"{self.operand(kind, depth)} {self._pick(('', 'NOT '))}IN ({listed})"

    def _between(self, kind: str, depth: int) -> str:
        negated = self._pick(("", "", "NOT "))
        return f"{self.operand(kind, depth)} {negated}BETWEEN {self.literal(kind)} AND {self.literal(kind)}"

    def _null(self, kind: str, depth: int) -> str:
        return f"{self.operand(kind, depth)} IS {self._pick(('', 'NOT '))}NULL"

    def _truth(self, kind: str, depth: int) -> str:
        shape = self._pick(("{}", "NOT {}", "{} IS TRUE", "{} IS NOT FALSE", "{} IS NOT TRUE"))
        return shape.format(self.operand(kind, depth))

    def _nan(self, kind: str, depth: int) -> str:
        return f"{self._pick(('', 'NOT '))}isnan({self.operand(kind, depth)})"

    def _tuple(self, kind: str, depth: int) -> str:
        """Spark compares tuples of the very same types only."""
        names = [name for name in TUPLES if name in self._columns and self._columns[name] == values.KINDS[name]]
        one, two = self._chance.sample(names, 2)
        if self._chance.random() < 0.5:
            first, second = (f"({self._pick(TUPLES[one])}, {self._pick(TUPLES[two])})" for _ in range(2))
            order = f"({one}, {two}) {self._pick(ORDERED)} {first}"
            return f"{order} AND ({one}, {two}) <= {second}" if self._chance.random() < 0.2 else order
        pairs = ", ".join(f"({self._pick(TUPLES[one])}, {self._pick(TUPLES[two])})" for _ in range(3))
        return f"({one}, {two}) {self._pick(('', 'NOT '))}IN ({pairs})"

    def _match(self, kind: str, depth: int) -> str:
        text = self.operand(kind, depth)
        negated = self._pick(("", "", "NOT "))
        shape = self._pick(("like", "like", "ilike", "rlike", "any", "call"))
        if shape == "rlike":
            return f"{text} {negated}RLIKE '{self._pick(EXPRESSIONS)}'"
        if shape == "any":
            listed = ", ".join(f"'{self._pick(PATTERNS)}'" for _ in range(2))
            return f"{text} {negated}LIKE {self._pick(('ANY', 'ALL'))} ({listed})"
        if shape == "call":
            called = f"{self._pick(('startswith', 'endswith', 'contains'))}({text}, {self.literal('string')})"
            return f"NOT {called}" if negated else called
        return f"{text} {negated}{shape.upper()} '{self._pick(PATTERNS)}'"

    def _collection(self, kind: str, depth: int) -> str:
        return self._pick(
            (
                "array_contains(a, 25)",
                "size(a) > 1",
                "get(a, 0) = 5",
                "m['a'] = 1",
                "element_at(m, 'b') > 5",
                "a IS NULL",
                "size(m) = 0",
                "m['a'] IS NOT NULL",
                "map_contains_key(m, 'a')",
            )
        )

    def _conditional(self, kind: str, depth: int) -> str:
        one, two = self.operand(kind, depth - 1), self._pick((self.column, self.literal))(kind)
        shape = self._pick(("coalesce", "nullif", "case", "if", "greatest", "least", "cast", "nvl"))
        if shape in ("coalesce", "nullif", "greatest", "least", "nvl"):
            return f"{shape}({one}, {two})"
        if shape == "cast":
            source, target = self._pick(
                [(k, t) for k, ts in TYPES.items() for t in ts if KIND_OF_TYPE.get(t.split("(")[0], "decimal") == kind]
                or [(kind, "")]
            )
            return f"CAST({self.operand(source, depth - 1)} AS {target})" if target else one
        test = self.condition(0)
        return f"if({test}, {one}, {two})" if shape == "if" else f"CASE WHEN {test} THEN {one} ELSE {two} END"

    def _arithmetic(self, depth: int) -> str:
        left, right = self.operand(self._pick(NUMERIC), depth - 1), self._pick(("1", "2", "10", "0.5", "-3", "7"))
        if self._chance.random() < 0.2:
            right = self.column(self._pick(NUMERIC))
        op = self._pick(("+", "-", "*", "/", "%"))
        if self._chance.random() < 0.1:
            left, right, op = self.operand("int", depth - 1), self._pick(("2", "10", "7")), "DIV"
        return f"({left} {op} {right})" if self._chance.random() < 0.9 else f"-({left})"

    def _number_function(self, depth: int) -> str:
        inner = self.operand(self._pick(NUMERIC), depth - 1)
        return self._pick(("abs({})", "round({}, 1)", "round({})", "floor({})", "ceil({})", "mod({}, 10)")).format(
            inner
        )

    def _part_of_time(self, depth: int) -> str:
        kind = self._pick(("date", "timestamp", "timestamp_ntz"))
        names = ["year", "month", "day", "quarter", "dayofweek", "weekday", "dayofyear", "weekofyear"]
        names += [] if kind == "date" else ["hour", "minute", "second"]
        inner = self.operand(kind, depth - 1)
        if self._chance.random() < 0.15:
            return f"datediff({inner}, DATE'2024-03-01')"
        if self._chance.random() < 0.15:
            return f"EXTRACT({self._pick(('YEAR', 'MONTH', 'DAY'))} FROM {inner})"
        return f"{self._pick(names)}({inner})"

    def _of_text(self, depth: int) -> str:
        inner = self.operand("string", depth - 1)
        return self._pick(
            ("length({})", "instr({}, 'a')", "try_cast({} AS INT)", "locate('b', {})", "ascii({})")
        ).format(inner)

    def _text_function(self, depth: int) -> str:
        shapes = (
            *(
                "lower({})",
                "upper({})",
                "trim({})",
                "ltrim({})",
                "rtrim({})",
                "substring({}, 1, 2)",
                "substring({}, -1)",
            ),
            *(
                "left({}, 1)",
                "right({}, 2)",
                "replace({}, 'a', 'b')",
                "lpad({}, 5, '0')",
                "substr({}, 2)",
                "reverse({})",
            ),
            *("regexp_replace({}, '[a-b]', 'x')", "translate({}, 'ab', 'xy')", "split({}, 'a')[0]", "repeat({}, 2)"),
        )
        return self._pick(shapes).format(self.operand("string", depth - 1))

    def _joined_text(self, depth: int) -> str:
        inner, other = self.operand("string", depth - 1), self._pick(("'a'", "''", "'-'", self.column("string")))
        return self._pick((f"concat({inner}, {other})", f"({inner} || {other})", f"concat_ws('-', {inner}, {other})"))

    def _formatted(self, depth: int) -> str:
        if self._chance.random() < 0.5:
            return f"CAST({self.column(self._pick(('int', 'date', 'decimal', 'boolean', 'timestamp')))} AS STRING)"
        form = self._pick(("yyyy-MM-dd", "yyyy", "yyyy-MM", "yyyyMMdd"))
        return f"date_format({self.column(self._pick(('date', 'timestamp')))}, '{form}')"

    def _date_function(self, depth: int) -> str:
        times = self.operand(self._pick(("timestamp", "timestamp_ntz")), depth - 1)
        inner = self.operand("date", depth - 1)
        shapes = (
            *(f"CAST({times} AS DATE)", f"to_date({times})", f"date({times})", f"last_day({inner})"),
            *(f"trunc({inner}, 'MM')", f"trunc({inner}, 'YEAR')", f"add_months({inner}, 1)"),
        )
        return self._pick(shapes)

    def _shifted_date(self, depth: int) -> str:
        inner, days = self.operand("date", depth - 1), self._pick(("1", "-1", "30"))
        shapes = (
            f"date_add({inner}, {days})",
            f"date_sub({inner}, {days})",
            f"({inner} + {self._pick(INTERVALS[2:])})",
        )
        return self._pick(shapes)

    def _timestamp_function(self, depth: int) -> str:
        inner, unit = (
            self.operand("timestamp", depth - 1),
            self._pick(("day", "HOUR", "month", "year", "MINUTE", "week")),
        )
        shapes = (
            *(f"date_trunc('{unit}', {inner})", f"({inner} + {self._pick(INTERVALS)})", f"to_timestamp({inner})"),
            *(f"({inner} - {self._pick(INTERVALS)})", f"CAST({self.operand('date', depth - 1)} AS TIMESTAMP)"),
        )
        return self._pick(shapes)

    def _ntz_function(self, depth: int) -> str:
        inner = self.operand("timestamp_ntz", depth - 1)
        return self._pick((f"date_trunc('day', {inner})", f"({inner} + {self._pick(INTERVALS)})"))
