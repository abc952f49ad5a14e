"""The table that every benchmark asks about, file by file, as columns, and what each question must answer.

Rows are events: day by day, ids ascend with time, names spread over every file. A file is one row of the model: bounds,
null counts and partition of eight columns. Both formats write the same model, and :meth:`Model.could_match` answers
predicates from it by brute force, with none of the library's code, so a fast wrong plan is found out.

How many files a predicate leaves follows from the distributions: a day is one file in 365, ``name`` covers a hundredth
of its range in each file, ids are clustered; how the columns look otherwise (cardinalities, nulls, lengths) decides how
large statistics are: about 480 bytes of JSON a file.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .specs import DAYS, FIRST_DAY, ROWS_A_FILE, Predicate, Term

BUCKETS = 16
COUNTRIES = (
    "AR",
    "AT",
    "AU",
    "BE",
    "BR",
    "CA",
    "CH",
    "CL",
    "CN",
    "CZ",
    "DE",
    "DK",
    "EG",
    "ES",
    "FI",
    "FR",
    "GB",
    "GR",
    "HU",
    "ID",
    "IE",
    "IN",
    "IT",
    "JP",
    "KE",
    "KR",
    "MX",
    "MY",
    "NG",
    "NL",
    "NO",
    "NZ",
    "PE",
    "PL",
    "PT",
    "RO",
    "SE",
    "SG",
    "TH",
    "TR",
    "UA",
    "US",
    "UY",
    "VN",
    "ZA",
)
COLUMNS = {
    "id": pa.int64(),
    "ts": pa.timestamp("us", "UTC"),
    "country": pa.string(),
    "amount": pa.decimal128(12, 2),
    "name": pa.string(),
    "quantity": pa.int32(),
    "score": pa.float64(),
    "email": pa.string(),
}
"""The columns with statistics; tables of Delta also have ``date``, by which they are partitioned."""

_DAY_US = 86_400_000_000
_HOUR_US = 3_600_000_000


class Model:
    """``n_files`` files in order of time, and ``n_late`` more, of any day, that came after them.

    Attributes
    ----------
    lower, upper : by column, an array of its type; NULL where the column of the file is all NULL
    null_count : by column, int64
    record_count, size_bytes, modified_ms : int64
    day : int32, days since 1970
    bucket : int32, Iceberg's bucket[16] of every id in the file; zero if not ``bucketed``
    uuid : string, of the file's name
    """

    def __init__(self, n_files: int, n_late: int = 0, *, bucketed: bool = False, seed: int = 20) -> None:
        n = n_files + n_late
        self.n_files, self.n, self.bucketed = n_files, n, bucketed
        self._random = random = np.random.default_rng(seed)
        position = np.arange(n, dtype=np.int64)
        position[n_files:] = random.integers(0, n_files, n_late)
        self.day = (position * DAYS // n_files + days(FIRST_DAY)).astype(np.int32)
        self.record_count = random.integers(ROWS_A_FILE * 4 // 5, ROWS_A_FILE, n)
        self.size_bytes = random.integers(8_000_000, 140_000_000, n)
        self.modified_ms = (self.day.astype(np.int64) + 1) * (_DAY_US // 1000) + random.integers(0, 3_600_000, n)
        self.uuid = uuids(random, n)
        self.lower: dict[str, pa.Array] = {}
        self.upper: dict[str, pa.Array] = {}
        self.null_count = {name: np.zeros(n, np.int64) for name in COLUMNS}
        self._ids(position)
        self._times()
        self._numbers()
        self._texts()

    def _set(self, column: str, lower: Any, upper: Any) -> None:
        kind = COLUMNS[column]
        self.lower[column], self.upper[column] = pa.array(lower).cast(kind), pa.array(upper).cast(kind)

    def _ids(self, position: np.ndarray) -> None:
        """Without buckets a file holds the next ids; with them, sixteen files share the next sixteen ranges."""
        self.bucket = (position % BUCKETS if self.bucketed else np.zeros(self.n)).astype(np.int32)
        together = BUCKETS if self.bucketed else 1
        first = position // together * (ROWS_A_FILE * together)
        slack = self._random.integers(0, 20, (2, self.n))
        self._set("id", first + slack[0], first + ROWS_A_FILE * together - 1 - slack[1])

    def _times(self) -> None:
        midnight = self.day.astype(np.int64) * _DAY_US
        start = self._random.integers(0, _DAY_US // 2, self.n) // 1000 * 1000
        length = self._random.integers(_HOUR_US, _DAY_US // 2, self.n) // 1000 * 1000
        self._set("ts", midnight + start, midnight + start + length)

    def _numbers(self) -> None:
        random, n = self._random, self.n
        self._set("amount", hundredths(random.integers(1, 1000, n)), hundredths(random.integers(500_000, 1_000_000, n)))
        self._set("quantity", random.integers(1, 10, n), random.integers(90, 1001, n))
        self._set("score", random.integers(0, 100_000, n) / 1e6, 1 - random.integers(0, 100_000, n) / 1e6)
        self.null_count["quantity"] = np.where(random.random(n) < 0.05, self.record_count // 50, 0)

    def _texts(self) -> None:
        random, n = self._random, self.n
        first = random.random(n) * 0.99
        self._set("name", letters(first, 10), letters(first + 0.01, 10))
        countries = pa.array(COUNTRIES)
        few = random.random(n) < 0.3
        low = np.where(few, random.integers(0, len(COUNTRIES), n), random.integers(0, 4, n))
        high = np.where(few, low, random.integers(len(COUNTRIES) - 4, len(COUNTRIES), n))
        self._set("country", countries.take(pa.array(low)), countries.take(pa.array(high)))
        share = random.random(n)
        some = random.integers(1, 1000, n)
        nulls = np.where(share < 0.02, self.record_count, np.where(share < 0.32, some, 0))
        self.null_count["email"] = nulls
        near = random.random(n) * 0.04
        none = pa.array(nulls == self.record_count)
        low_text = pc.binary_join_element_wise(letters(near, 8), "@example.com", "")
        high_text = pc.binary_join_element_wise(letters(0.95 + near, 8), "@example.org", "")
        self._set("email", pc.if_else(none, None, low_text), pc.if_else(none, None, high_text))

    @property
    def dates(self) -> pa.Array:
        """date32: the day of each file."""
        return pa.array(self.day).cast(pa.date32())

    def could_match(self, predicate: Predicate, buckets: bool = True) -> np.ndarray:
        """bool[n]: the files in which bounds, null counts and partition allow a matching row.

        ``buckets=False``: as a planner sees it that does not hash literals for bucket partitions.
        """
        if not predicate:
            return np.ones(self.n, bool)
        return np.logical_or.reduce(
            [np.logical_and.reduce([self._could(term, buckets) for term in terms]) for terms in predicate]
        )

    def _could(self, term: Term, buckets: bool) -> np.ndarray:
        if term.op == "in":
            return np.logical_or.reduce([self._could(Term(term.column, "=", v), buckets) for v in term.value])
        if term.op == "is null":
            return self.null_count[term.column] > 0
        lower, upper = (
            (self.dates, self.dates) if term.column == "date" else (self.lower[term.column], self.upper[term.column])
        )
        value = pa.scalar(term.value, lower.type)
        above = {"=": pc.less_equal, "<": pc.less, "<=": pc.less_equal}.get(term.op)
        below = {"=": pc.greater_equal, ">": pc.greater, ">=": pc.greater_equal}.get(term.op)
        could = np.ones(self.n, bool)
        for test, bound in ((above, lower), (below, upper)):
            if test is not None:
                could &= test(bound, value).fill_null(False).to_numpy(zero_copy_only=False)
        if term.op == "=" and term.column == "id" and self.bucketed and buckets:
            could &= self.bucket == bucket_of(term.value)
        return could


@dataclass(frozen=True)
class Written:
    """A model in a format.

    live : bool[n], the files that are in the table
    with_deletes : bool[n], those that deletes apply to
    """

    model: Model
    live: np.ndarray
    with_deletes: np.ndarray


def days(day: dt.date) -> int:
    """Days since 1970-01-01."""
    return (day - dt.date(1970, 1, 1)).days


def hundredths(cents: np.ndarray) -> pa.Array:
    """decimal128(12, 2) of whole hundredths."""
    words = np.stack([cents.astype("<i8"), np.zeros(len(cents), "<i8")], axis=1)  # none is negative
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(words.tobytes())])


def fixed_text(characters: np.ndarray) -> pa.Array:
    """string[n] of uint8[n, width] ASCII characters."""
    n, width = characters.shape
    offsets = np.arange(n + 1, dtype=np.int32) * width
    return pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(characters)))


def letters(fractions: np.ndarray, width: int) -> pa.Array:
    """Numbers in [0, 1) as text of ``width`` lower-case letters in the same order: their digits in base 26."""
    characters = np.empty((len(fractions), width), np.uint8)
    rest = fractions.astype(np.float64)
    for i in range(width):
        rest = rest * 26
        digit = np.minimum(rest.astype(np.int64), 25)
        rest -= digit
        characters[:, i] = digit + ord("a")
    return fixed_text(characters)


def uuids(random: np.random.Generator, n: int) -> pa.Array:
    """Random UUIDs as text."""
    nibbles = random.integers(0, 16, (n, 32), dtype=np.uint8)
    digits = np.frombuffer(b"0123456789abcdef", np.uint8)[nibbles]
    text = np.full((n, 36), ord("-"), np.uint8)
    text[:, np.delete(np.arange(36), [8, 13, 18, 23])] = digits
    return fixed_text(text)


def bucket_of(value: int) -> int:
    """Iceberg's bucket[16] of a long: Murmur3 (x86, 32 bits) of its eight little-endian bytes, sign bit cleared.

    Source: Iceberg spec, "Bucket Transform Details" and Appendix B.
    """
    mask = 0xFFFFFFFF
    h = 0
    for i in range(2):
        k = (value >> 32 * i & mask) * 0xCC9E2D51 & mask
        k = (k << 15 | k >> 17) * 0x1B873593 & mask
        h = (h ^ k) & mask
        h = ((h << 13 | h >> 19) * 5 + 0xE6546B64) & mask
    h ^= 8
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    return ((h ^ h >> 16) & 0x7FFFFFFF) % BUCKETS
