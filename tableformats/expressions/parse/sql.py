"""Parse SQL conditions as Spark does: what may follow WHERE, without subqueries, aggregates and window functions.

A recursive descent along Spark's grammar, so that operators bind as in Spark: ``a | b & c`` is ``a | (b & c)``,
``a = b IS NULL`` is ``(a = b) IS NULL``, and ``'x' || 1 + 2`` is ``('x' || 1) + 2``. Conditions on plain columns become
leaves, which prune; see ``predicates.py``. Everything that is not read here is an error that names it and its place.

Source: Spark's ``SqlBaseParser.g4`` (booleanExpression, predicate, valueExpression, primaryExpression).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from ...errors import InvalidPredicateError
from ...lazy_pattern import lazy_pattern
from ...schema import Type
from ..tree import (
    And,
    Comparison,
    Expression,
    Function,
    Holds,
    In,
    IsNaN,
    Like,
    Literal,
    Not,
    Or,
    Reference,
    StartsWith,
    Value,
)
from . import constants, predicates
from .cursor import Cursor
from .functions import call, escape_character, extract, refusal_of
from .lexing import Token, number
from .predicates import Operand, Row, comparison, condition_of, value_of

__all__ = ["SqlParser", "parse_sql", "parse_sql_value"]

_Parsed = TypeVar("_Parsed")
_PLACED = (Function, Comparison, In, IsNaN, StartsWith, Like)

# How strongly the operators between two values bind; those of one level group to the left.
_COMPARISON, _BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT, _SUM, _PRODUCT = range(7)
_LEVELS = {
    **dict.fromkeys(("=", "==", "<=>", "<>", "!=", "<", "<=", "!>", ">", ">=", "!<"), _COMPARISON),
    "|": _BIT_OR,
    "^": _BIT_XOR,
    "&": _BIT_AND,
    **dict.fromkeys(("<<", ">>", ">>>"), _SHIFT),
    **dict.fromkeys(("+", "-", "||"), _SUM),
    **dict.fromkeys(("*", "/", "%", "DIV"), _PRODUCT),
}
_COMPARISONS = {"==": "=", "<>": "!=", "!>": "<=", "!<": ">="}
_FUNCTIONS = {"<<": "shiftleft", ">>": "shiftright", ">>>": "shiftrightunsigned", "DIV": "div"}
_STATEMENTS = lazy_pattern(
    "ALTER|ANALYZE|CREATE|DELETE|DESCRIBE|DROP|EXPLAIN|FROM|INSERT|MERGE|REFRESH|SELECT|SET|SHOW|TABLE|TRUNCATE|UPDATE"
    "|USE|VALUES|WITH"
)
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
_TESTS = ("IS", "IN", "NOT", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "AND", "OR")
_RESERVED = (*_TESTS, "NULL", "TRUE", "FALSE", "UNION", "EXCEPT", "INTERSECT", "SELECT", "DIV")
"""Words that are no column's name without backticks."""
_CASE_WORDS = ("WHEN", "THEN", "ELSE", "END")
_CURRENT = {
    "CURRENT_DATE": "current_date",
    "CURRENT_TIMESTAMP": "current_timestamp",
    "LOCALTIMESTAMP": "localtimestamp",
}
_TRIMS = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}


def parse_sql(sql: str, ansi: bool = True) -> Expression:
    """The unbound predicate of a condition, as it would follow WHERE.

    Parameters
    ----------
    ansi : bool
        Whether what cannot be computed is an error, as in Spark's ANSI mode. False: it is NULL.

    Raises
    ------
    InvalidPredicateError
        The text cannot be parsed (the message has line and column), or is no condition.
    UnsupportedFeatureError
        It uses an operation that is not supported. The message quotes it.
    """
    return _parsed_whole(SqlParser(sql, ansi).filter)


def parse_sql_value(sql: str, ansi: bool = True) -> Value:
    """The unbound value of an expression, such as that of a generated column. Errors are those of :func:`parse_sql`."""
    return _parsed_whole(SqlParser(sql, ansi).single_value)


def _parsed_whole(parse: Callable[[], _Parsed]) -> _Parsed:
    try:
        return parse()
    except RecursionError:
        raise InvalidPredicateError(
            "the expression nests too deeply to parse", hint="Write it with flat AND, OR and IN."
        ) from None


class SqlParser(Cursor):
    """Each method reads what its name says from the next token on, and takes it."""

    def __init__(self, sql: str, ansi: bool) -> None:
        super().__init__(sql)
        self._ansi = ansi
        self._cases = 0

    def filter(self) -> Expression:
        first = self.next
        if first.kind == "end":
            raise InvalidPredicateError("the filter is empty", hint="Leave it out to read everything.")
        if self._begins_statement():
            raise self.invalid(f"{first.text} begins a statement, not a condition", first)
        found = self._whole()
        with self.located(first):
            return condition_of(self._placed(condition_of(found), first))

    def single_value(self) -> Value:
        """The whole text as one value."""
        first = self.next
        if first.kind == "end":
            raise InvalidPredicateError("the expression is empty")
        found = self._whole()
        with self.located(first):
            return value_of(found)

    def _whole(self) -> Operand:
        found = self.condition()
        if self.next.kind != "end":
            self.fail_here()
        return found

    def _begins_statement(self) -> bool:
        """Whether a statement's word stands before another word, as it does not where it names a column."""
        following = self.ahead()
        if not _STATEMENTS.fullmatch(self.next.word) or following.kind not in ("word", "name", "number"):
            return False
        return self._level(1) is None and following.word not in _TESTS

    def condition(self) -> Operand:
        """Conditions combined by OR and AND; without these, any value."""
        terms = [(self.next, self._conjunction())]
        while self.take_if("OR"):
            terms.append((self.next, self._conjunction()))
        return self._joined(Or, terms)

    def _conjunction(self) -> Operand:
        terms = [(self.next, self._negation())]
        while self.take_if("AND"):
            terms.append((self.next, self._negation()))
        return self._joined(And, terms)

    def _joined(self, kind: type[And] | type[Or], terms: list[tuple[Token, Operand]]) -> Operand:
        """``terms`` and where each begins, as one operand."""
        if len(terms) == 1:
            return terms[0][1]
        with self.located(terms[0][0]):
            return kind(tuple(condition_of(self._placed(condition_of(term), start)) for start, term in terms))

    def _negation(self) -> Operand:
        start, negations = self.next, 0
        while self.take_if("NOT", "!"):
            negations += 1
        found = self._predicate()
        if not negations:
            return found
        with self.located(start):
            found = condition_of(self._placed(condition_of(found), start))
        for _ in range(negations):
            found = Not(found)
        return found

    def _predicate(self) -> Operand:
        """A value, and a test of it: IS, BETWEEN, IN, LIKE, RLIKE."""
        start = self.next
        return self._placed(self._tested(start), start)

    def _placed(self, found: Operand, start: Token) -> Operand:
        """``found``, which knows for messages where it begins, if it does not yet."""
        if isinstance(found, _PLACED):
            return found if found.place else replace(found, place=(self._sql, start.start))
        if isinstance(found, Holds) and found.value.place is None:
            return Holds(replace(found.value, place=(self._sql, start.start)))
        if isinstance(found, Not):
            return Not(condition_of(self._placed(found.child, start)))
        return found

    def _tested(self, start: Token) -> Operand:
        value = self._value(_COMPARISON)
        if self.take_if("IS"):
            return self._is(value, start)
        negated = self.at("NOT") and self.take() is not None
        test = self.take_if("BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP")
        if test is None:
            return value if not negated else self._refused_here()
        if test.word == "BETWEEN":
            low = self._value(_COMPARISON)
            self.expect("AND")
            high = self._value(_COMPARISON)
            with self.located(start):
                found = predicates.between(value, low, high, self._ansi)
        elif test.word == "IN":
            found = self._in(value, start)
        elif test.word in ("RLIKE", "REGEXP"):
            pattern = self._value(_COMPARISON)
            with self.located(start):
                found = condition_of(call("rlike", (value, pattern), self._ansi))
        else:
            return self._like(value, test, start, negated)
        return Not(found) if negated else found

    def _refused_here(self) -> Operand:
        self.fail_here()
        raise AssertionError

    def _is(self, value: Operand, start: Token) -> Expression:
        negated = self.take_if("NOT") is not None
        word = self.next.word
        if self.take_all("DISTINCT", "FROM"):
            right = self._value(_COMPARISON)
            with self.located(start):
                same = comparison("<=>", value, right, self._ansi)
            return same if negated else Not(same)
        if not self.take_if("NULL", "TRUE", "FALSE", "UNKNOWN"):
            self.fail_here("NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM is missing after IS, before")
        with self.located(start):
            is_null = word in ("NULL", "UNKNOWN")
            found = predicates.is_null(value) if is_null else predicates.is_true(value, word == "TRUE")
        return Not(found) if negated else found

    def _in(self, value: Operand, start: Token) -> Expression:
        self._refuse_query("a subquery")
        self.expect("(")
        if self.at(")"):
            raise self.invalid(f"{self.since(start)!r} has nothing in its list", start)
        items = self._list()
        with self.located(start):
            return predicates.is_in(value, items, self._ansi)

    def _like(self, value: Operand, like: Token, start: Token, negated: bool) -> Expression:
        folds = like.word == "ILIKE"
        quantifier = self.take_if("ANY", "SOME", "ALL") if self.ahead().word == "(" else None
        if quantifier is not None:
            self.expect("(")
            patterns = self._list()
            with self.located(start):
                parts = [predicates.like(value, p, folds=folds, ansi=self._ansi) for p in patterns]
            tests = tuple(Not(part) if negated else part for part in parts)
            return tests[0] if len(tests) == 1 else And(tests) if quantifier.word == "ALL" else Or(tests)
        pattern, escape = self._value(_COMPARISON), "\\"
        if self.take_if("ESCAPE"):
            if self.next.kind != "string":
                self.fail_here("one character in quotes is missing after ESCAPE, before")
            with self.located(start):
                escape = escape_character(self._string())
        with self.located(start):
            found = predicates.like(value, pattern, escape, folds, self._ansi)
        return Not(found) if negated else found

    def _value(self, level: int) -> Operand:
        """Values and the operators between them that bind at least as strongly as ``level``."""
        start, count = self.next, 0
        left = self._signed()
        while True:
            found = self._level(0)
            if found is None or found < level:
                return left
            operator = self.take().word
            right = self._value(found + 1)
            count += operator != "||"
            self.check_length(count, start)
            with self.located(start):
                left = self._placed(self._binary(operator, found, left, right), start)

    def _level(self, ahead: int) -> int | None:
        """The level of the operator that follows, if one does."""
        return _LEVELS.get(self.ahead(ahead).word)

    def _binary(self, operator: str, level: int, left: Operand, right: Operand) -> Operand:
        if level == _COMPARISON:
            return comparison(_COMPARISONS.get(operator, operator), left, right, self._ansi)
        first, second = value_of(left), value_of(right)
        if operator == "||":
            firsts = first.arguments if isinstance(first, Function) and first.name == "concat" else (first,)
            return Function("concat", (*firsts, second), ansi=self._ansi)
        return Function(_FUNCTIONS.get(operator, operator), (first, second), ansi=self._ansi)

    def _signed(self) -> Operand:
        """A primary value and the signs before it. A minus right before a number belongs to it."""
        start, signs = self.next, []
        while self.at("-", "+", "~"):
            signs.append(self.take().word)
        if signs and signs[-1] == "-" and self.next.kind == "number":
            signs.pop()
            found = self._primary(minus=True)
        else:
            found = self._primary()
        if not signs:
            return found
        with self.located(start):
            value = value_of(found)
            for sign in reversed(signs):
                if sign == "-":
                    value = constants.negative(value, self._ansi)
                elif sign == "~":
                    value = Function("bit_not", (value,), ansi=self._ansi)
            return value

    def _primary(self, minus: bool = False) -> Operand:
        """A constant, column, call, CASE, cast or parenthesis, and what follows it: ``.b``, ``[0]``, ``::int``."""
        start, count = self.next, 0
        found = self._atom(minus)
        while self.at(".", "[", "::", ":", "COLLATE"):
            count += 1
            self.check_length(count, start)
            if self.take_if("::"):
                target = self._type()
                with self.located(start):
                    found = constants.cast_value(value_of(found), target, False, self._ansi)
            elif self.take_if("["):
                index = self.condition()
                self.expect("]")
                with self.located(start):
                    found = Function("[]", (value_of(found), value_of(index)), ansi=self._ansi)
            elif self.at(":", "COLLATE"):
                what = "a path into a VARIANT" if self.take().text == ":" else "a collation"
                raise self.unsupported(f"filters do not evaluate {what}", start)
            else:
                found = self._member(found, start)
        return self._placed(found, start)

    def _member(self, value: Operand, start: Token) -> Operand:
        self.expect(".")
        if self.next.kind not in ("word", "name"):
            self.fail_here("a name is missing after the dot, before")
        name = self.take().text
        if isinstance(value, Reference):
            if self.at("("):
                raise self.unsupported("filters call no functions of a catalog", start, ".".join((*value.parts, name)))
            return Reference((*value.parts, name))
        with self.located(start):
            return Function(".", (value_of(value), Literal(name)), ansi=self._ansi)

    def _atom(self, minus: bool) -> Operand:
        token = self.next
        if token.kind == "number":
            self.take()
            with self.located(token):
                return number(token.text, minus)
        if token.kind == "string":
            return Literal(self._string())
        if token.word == "(":
            return self._parenthesis()
        if token.word in ("?", ":"):
            raise self.invalid(f"{token.text!r} cannot stand here: a filter has no parameters", token)
        if token.kind not in ("word", "name"):
            self.fail_here()
        return self._word()

    def _string(self) -> str:
        """One string, and those right behind it, which Spark joins."""
        text = []
        while self.next.kind == "string":
            text.append(self.take().value or "")
        return "".join(text)

    def _parenthesis(self) -> Operand:
        self._refuse_query("a subquery")
        self.expect("(")
        values = self._list()
        return values[0] if len(values) == 1 else Row(values)

    def _list(self) -> tuple[Operand, ...]:
        """Values up to the parenthesis that closes, which is taken."""
        values = [self.condition()]
        while self.take_if(","):
            values.append(self.condition())
        self.expect(")")
        return tuple(values)

    def _refuse_query(self, what: str, start: Token | None = None) -> None:
        """Raise an error if a query in parentheses follows. ``start`` begins what the error quotes."""
        following = self.ahead(2)
        is_query = self.ahead().word in _QUERIES and following.kind in ("word", "name", "number", "string")
        if not self.at("(") or not (is_query or self.ahead().word == "SELECT"):
            return
        if following.word not in (*_RESERVED, *_LEVELS) or self.ahead().word == "SELECT":
            first = start or self.next
            self.skip_parenthesis()
            raise self.unsupported(f"{what} cannot stand in a filter, which tests one row", first, "subquery")

    def _word(self) -> Operand:
        """What begins with a word: a constant, a form of its own syntax, a call, or a column."""
        token, following = self.next, self.ahead()
        word = token.word
        if following.kind == "string" and word in (*constants.TYPED_LITERALS, "X"):
            self.take()
            return self._typed(token, self.take())
        if word == "INTERVAL" and (following.kind in ("string", "number") or following.word in ("-", "+")):
            if following.kind in ("string", "number") or self.ahead(2).kind in ("string", "number"):
                return self._interval()
        if word == "CASE" and following.word not in (*_LEVELS, ".", ",", ")") and following.kind != "end":
            return self._case()
        if following.word == "(":
            return self._call(self.take())
        if word in ("TRUE", "FALSE", "NULL"):
            self.take()
            return Literal(None if word == "NULL" else word == "TRUE")
        if word in _RESERVED or (self._cases and word in _CASE_WORDS):
            self.fail_here()
        self.take()
        if word in _CURRENT and following.word != ".":
            return Function(_CURRENT[word], (), ansi=self._ansi)
        return Reference((token.text,))

    def _typed(self, word: Token, text: Token) -> Value:
        with self.located(word):
            if word.word != "X":
                return constants.typed(word.word, text.value or "", self._ansi)
            digits = text.value or ""
            try:
                return Literal(bytes.fromhex(digits.rjust(len(digits) + len(digits) % 2, "0")))
            except ValueError:
                raise InvalidPredicateError(f"{digits!r} is not hexadecimal") from None

    def _interval(self) -> Function:
        start = self.take()
        text = self.next
        if text.kind == "string" and self.ahead().word not in constants.UNITS:
            self.take()
            with self.located(start):
                return constants.interval(constants.interval_text(text.value or ""), self._ansi)
        parts: list[tuple[str, str]] = []
        while self.next.kind in ("string", "number") or (parts == [] and self.at("-", "+")):
            sign = self.take().text if self.at("-", "+") else ""
            amount = self.take()
            body = (amount.value if amount.kind == "string" else amount.text) or ""
            if self.next.word not in constants.UNITS:
                self.fail_here("a unit is missing before")
            unit = self.take().word
            if self.take_if("TO"):
                last = self.take().word
                with self.located(start):
                    found = constants.interval_fields(body, unit, last, self._ansi)
                    return constants.negated_interval(found) if sign == "-" else found
            opposite = body.strip()[1:] if body.strip()[:1] == "-" else "-" + body.strip().lstrip("+")
            parts.append((opposite if sign == "-" else body, unit))
        with self.located(start):
            return constants.interval(parts, self._ansi)

    def _case(self) -> Function:
        start = self.take()
        self._cases += 1
        self.check_length(2 * self._cases, start)
        subject = None if self.at("WHEN") else self.condition()
        pairs: list[tuple[Operand, Operand]] = []
        while self.take_if("WHEN"):
            tested = self.condition()
            self.expect("THEN")
            with self.located(start):
                condition = tested if subject is None else comparison("=", subject, tested, self._ansi)
            pairs.append((condition, self.condition()))
        if not pairs:
            self.fail_here("WHEN is missing before")
        otherwise = self.condition() if self.take_if("ELSE") else Literal(None)
        self.expect("END")
        self._cases -= 1
        with self.located(start):
            return predicates.choice(pairs, otherwise, self._ansi)

    def _call(self, name: Token) -> Operand:
        """A call, whose name was taken."""
        word = name.word
        if word in ("CAST", "TRY_CAST"):
            return self._cast(name)
        if word in ("EXISTS", "ANY", "SOME", "ALL"):
            self._refuse_query(f"{word} of a subquery", name)
        refusal = refusal_of(name.text.lower())
        if refusal is not None:
            self.skip_parenthesis()
            raise self.unsupported(f"{name.text} {refusal}", name)
        if word in ("AND", "OR", "NOT", "IN"):
            self._index -= 1
            self.fail_here()
        self.expect("(")
        if word in ("EXTRACT", "TRIM", "SUBSTRING", "SUBSTR", "POSITION"):
            found = self._call_with_words(name)
            if found is not None:
                return found
        arguments = self._arguments(name)
        if self.at("OVER", "FILTER", "WITHIN", "IGNORE", "RESPECT"):
            raise self.unsupported(f"{self.next.text.upper()} needs other rows, which a filter does not have", name)
        with self.located(name):
            return call(name.text, arguments, self._ansi)

    def _arguments(self, name: Token) -> tuple[Operand, ...]:
        if self.take_if(")"):
            return ()
        if self.at("DISTINCT", "*"):
            raise self.unsupported("only aggregate functions have these arguments", name)
        values: list[Operand] = []
        while True:
            if self.ahead().word in ("->", "=>"):
                what = "a lambda function" if self.ahead().word == "->" else "an argument by name"
                raise self.unsupported(f"filters do not have {what}", name)
            values.append(self.condition())
            if not self.take_if(","):
                break
        self.expect(")")
        return tuple(values)

    def _call_with_words(self, name: Token) -> Operand | None:
        """``EXTRACT(YEAR FROM x)`` and such. None where the arguments are a plain list."""
        word = name.word
        if word == "EXTRACT" and self.next.kind == "word" and self.ahead().word == "FROM":
            field = self.take().text
            self.take()
            source = self.condition()
            self.expect(")")
            with self.located(name):
                return extract(field, value_of(source), self._ansi)
        if word == "TRIM":
            return self._trim(name)
        mark = self._index
        if word == "POSITION":
            values = [self._value(_COMPARISON)]
            if self.take_if("IN"):
                values.append(self._value(_COMPARISON))
                self.expect(")")
                with self.located(name):
                    return call("locate", tuple(values), self._ansi)
        elif word in ("SUBSTRING", "SUBSTR"):
            values = [self._value(_COMPARISON)]
            if self.take_if("FROM"):
                values.append(self._value(_COMPARISON))
                if self.take_if("FOR"):
                    values.append(self._value(_COMPARISON))
                self.expect(")")
                with self.located(name):
                    return call("substring", tuple(values), self._ansi)
        self._index = mark
        return None

    def _trim(self, name: Token) -> Operand | None:
        """``TRIM([BOTH | LEADING | TRAILING] [characters] FROM text)``. None for a plain list."""
        mark = self._index
        side = self.take_if(*_TRIMS) if self.ahead().word not in (",", ")", ".", *_LEVELS) else None
        characters = None if side is not None and self.at("FROM") else self._value(_COMPARISON)
        if not self.take_if("FROM"):
            self._index = mark
            return None
        text = self._value(_COMPARISON)
        self.expect(")")
        arguments = (text,) if characters is None else (text, characters)
        with self.located(name):
            values = tuple(map(value_of, arguments))
            return Function(_TRIMS[side.word] if side else "trim", values, ansi=self._ansi)

    def _cast(self, name: Token) -> Value:
        self.expect("(")
        value = self.condition()
        self.expect("AS")
        target = self._type()
        self.expect(")")
        with self.located(name):
            return constants.cast_value(value_of(value), target, name.word == "TRY_CAST", self._ansi)

    def _type(self) -> Type:
        token = self.take() if self.next.kind == "word" else self.fail_here("a type is missing before")
        sizes: list[int] = []
        if self.take_if("("):
            while True:
                size = self.take() if self.next.text.isdecimal() else self.fail_here("a number is missing before")
                sizes.append(int(size.text[:9]))
                if not self.take_if(","):
                    break
            self.expect(")")
        with self.located(token):
            return constants.type_named(token.text, tuple(sizes))
