"""The readable twins of the compiled kernels, which are their specification: same names and signatures, simple loops.

They take and return NumPy arrays, and compute with Python numbers, bytes and sets. The docstrings are those of the
kernels. Tests run every case over both twins; nothing else calls this module.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import CorruptMetadataError
from .masks import AND_TABLE, MAY_ANY, MAY_FALSE, MAY_NULL, MAY_TRUE, NOT_TABLE, OR_TABLE, VERDICT_TABLE

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
UInt8 = npt.NDArray[np.uint8]
UInt64 = npt.NDArray[np.uint64]

# --- pruning: codes ---------------------------------------------------------------------------------


def _expect(n: int, needed: int, name: str) -> None:
    if n != needed:
        raise ValueError(f"{name} has {n} entries where {needed} are needed")


def _locate(values: list[Any], literals: list[Any], out: Int32) -> None:
    """``code(v) = 2 * #(literals < v) + (v in literals)``, by Python's own order."""
    _expect(len(out), len(values), "out")
    if any(not a < b for a, b in pairwise(literals)):
        raise ValueError("the literals are not strictly ascending")
    for i, v in enumerate(values):
        out[i] = 2 * sum(literal < v for literal in literals) + (v in literals)


def locate_int64(values: Int64, literals: Int64, out: Int32) -> None:
    _locate(values.tolist(), literals.tolist(), out)


def locate_float64(values: npt.NDArray[np.float64], literals: npt.NDArray[np.float64], out: Int32) -> None:
    def ordered(v: float) -> tuple[bool, float]:
        """NaN is after all numbers and equals itself. In Python -0.0 == 0.0."""
        return (True, 0.0) if v != v else (False, v)

    _locate([ordered(v) for v in values.tolist()], [ordered(v) for v in literals.tolist()], out)


def locate_decimal128(values: UInt8, literals: UInt8, out: Int32) -> None:
    def unscaled(data: UInt8, name: str) -> list[int]:
        _expect(len(data) % 16, 0, f"the last, partial decimal of {name}")
        raw = data.tobytes()
        return [int.from_bytes(raw[i : i + 16], "little", signed=True) for i in range(0, len(raw), 16)]

    _locate(unscaled(values, "values"), unscaled(literals, "literals"), out)


def locate_bytes(offsets: Int32 | Int64, data: UInt8, literal_offsets: Int32, literal_data: UInt8, out: Int32) -> None:
    values = _entries(offsets, data, "offsets")
    _locate(values, _entries(literal_offsets, literal_data, "literal_offsets"), out)


def _entries(offsets: Int32 | Int64, data: UInt8, name: str) -> list[bytes]:
    """The entries of an Arrow binary array."""
    raw, bounds = data.tobytes(), offsets.tolist()
    for i, (previous, offset) in enumerate(pairwise([0, *bounds])):
        if offset < previous or offset > len(raw):
            raise ValueError(f"{name}[{i}] is {offset}: it descends, or is not within the {len(raw)} bytes of data")
    return [raw[a:b] for a, b in pairwise(bounds)]


# --- pruning: outcomes ------------------------------------------------------------------------------


def leaf_mask(
    lower_code: Int32,
    upper_code: Int32,
    top: int,
    may_value: UInt8,
    may_null: UInt8,
    first: int,
    last: int,
    odd_only: bool,
    negate: bool,
    out: UInt8,
) -> None:
    matching = set(range(1, top, 2)) if odd_only else set(range(first, last + 1))
    _expect(len(lower_code), len(out), "lower_code")
    _expect(len(upper_code), len(out), "upper_code")
    _expect(len(may_value), len(out), "may_value")
    _expect(len(may_null), len(out), "may_null")
    for i in range(len(out)):
        low, high = int(lower_code[i]), int(upper_code[i])
        if low > high:
            low, high = 0, top
        mask = 0
        for code in range(low, high + 1) if may_value[i] else ():
            mask |= MAY_TRUE if (code in matching) != negate else MAY_FALSE
        out[i] = mask | (MAY_NULL if may_null[i] else 0)


def and_masks(a: UInt8, b: UInt8, out: UInt8) -> None:
    _combine(lambda x, y: AND_TABLE[8 * x + y], a, b, out)


def or_masks(a: UInt8, b: UInt8, out: UInt8) -> None:
    _combine(lambda x, y: OR_TABLE[8 * x + y], a, b, out)


def intersect_masks(a: UInt8, b: UInt8, out: UInt8) -> None:
    _combine(lambda x, y: x & y or (MAY_ANY if x and y else 0), a, b, out)


def not_mask(mask: UInt8, out: UInt8) -> None:
    _combine(lambda x, _: NOT_TABLE[x], mask, mask, out)


def verdicts(mask: UInt8, out: UInt8) -> None:
    _combine(lambda x, _: VERDICT_TABLE[x], mask, mask, out)


def _combine(operator: Callable[[int, int], int], a: UInt8, b: UInt8, out: UInt8) -> None:
    _expect(len(a), len(out), "a")
    _expect(len(b), len(out), "b")
    for i in range(len(out)):
        out[i] = operator(int(a[i]) & MAY_ANY, int(b[i]) & MAY_ANY)


# --- pruning: counts --------------------------------------------------------------------------------


def _is_set(bitmap: UInt8 | None, at: int) -> bool:
    return bitmap is None or bool(bitmap[at // 8] >> at % 8 & 1)


def _expect_bits(bitmap: UInt8 | None, first: int, n: int) -> None:
    if bitmap is not None and n and (first < 0 or first + n > 8 * len(bitmap)):
        raise ValueError(f"a bitmap of {len(bitmap)} bytes has no bits {first} to {first + n}")


def fill_unknown(codes: Int32, validity: UInt8 | None, first: int, code: int) -> None:
    _expect_bits(validity, first, len(codes))
    for i in range(len(codes)):
        if not _is_set(validity, first + i):
            codes[i] = code


def count_flags(
    counts: Sequence[Int64 | None],
    validities: Sequence[UInt8 | None],
    firsts: Sequence[int],
    has_nan: bool,
    may_value: UInt8,
    may_null: UInt8,
    may_nan: UInt8,
) -> None:
    n = len(may_value)
    _expect(len(may_null), n, "may_null")
    _expect(len(may_nan), n, "may_nan")
    for column, validity, first in zip(counts, validities, firsts, strict=True):
        _expect_bits(validity, first, n)
        _expect(n if column is None else len(column), n, "counts")
    for i in range(n):
        nulls, values, nans, records = (
            None if column is None or not _is_set(validity, first + i) else int(column[i])
            for column, validity, first in zip(counts, validities, firsts, strict=True)
        )
        values = records if values is None else values
        uncounted = values is not None and records is not None and values < records
        value = nulls is None or values is None or nulls != values or uncounted
        null = nulls is None or nulls > 0 or uncounted
        if not value and not null:
            value = null = True
        nan = has_nan and (value if nans is None else nans > 0)
        value = value or nan
        if records == 0:
            value = null = nan = False
        may_value[i], may_null[i], may_nan[i] = value, null, nan


def bucket_hits(
    lower_code: Int32, upper_code: Int32, bucket: Int64, buckets: Int32, n_buckets: int, out: UInt8
) -> None:
    top = 2 * len(buckets)
    _expect(len(lower_code), len(out), "lower_code")
    _expect(len(upper_code), len(out), "upper_code")
    _expect(len(bucket), len(out), "bucket")
    if n_buckets < 1 or not all(0 <= b < n_buckets for b in buckets.tolist()):
        raise ValueError("a literal is in no bucket")
    for i in range(len(out)):
        low, high = int(lower_code[i]), int(upper_code[i])
        if not (0 <= low <= top and 0 <= high <= top):
            raise ValueError(f"the codes of entry {i} are not within 0 .. {top}")
        if low > high:
            low, high = 0, top
        within = {b for j, b in enumerate(buckets.tolist()) if low <= 2 * j + 1 <= high}
        out[i] = int(bucket[i]) in within or not 0 <= bucket[i] < n_buckets


# --- paths ------------------------------------------------------------------------------------------


def path_kinds(offsets: Int32 | Int64, data: UInt8, encoded: bool) -> UInt8:
    def kind(path: bytes) -> int:
        if b".." in path.replace(b"\\", b"/").split(b"/") or b"\0" in path or (encoded and b"%" in path):
            return 2
        if re.match(rb"//|(?i:file):(?://(?!/)|////)", path):
            return 2
        return int(re.match(rb"/|[A-Za-z][A-Za-z0-9+.-]+:/", path) is not None)

    return np.array([kind(path) for path in _entries(offsets, data, "offsets")], np.uint8)


def texts_with_prefix(offsets: Int32 | Int64, data: UInt8, prefix: bytes, skip: int) -> list[str]:
    if skip < 0:
        raise ValueError("skip is negative")
    paths = list(_entries(offsets, data, "offsets"))
    if any(len(path) < skip for path in paths):
        raise ValueError(f"a path has less than {skip} bytes")
    return [(prefix + path[skip:]).decode() for path in paths]


# --- filekeys ---------------------------------------------------------------------------------------


class FileKeySet:
    def __init__(self, *, seed: bytes | None = None) -> None:
        self._keys: dict[bytes, int] = {}
        self._seed = os.urandom(32) if seed is None else seed

    def __len__(self) -> int:
        return len(self._keys)

    def add_batch(self, offsets: Int32 | Int64, data: UInt8, validity: UInt8 | None = None) -> UInt8:
        unseen = []
        for key in self._batch(offsets, data, validity):
            unseen.append(key is not None and key not in self._keys)
            if key is not None:
                self._keys.setdefault(key, len(self._keys))
        return np.array(unseen, np.uint8)

    def probe_batch(self, offsets: Int32 | Int64, data: UInt8, validity: UInt8 | None = None) -> UInt8:
        batch = self._batch(offsets, data, validity)
        return np.array([key is not None and key not in self._keys for key in batch], np.uint8)

    def find_batch(self, offsets: Int32 | Int64, data: UInt8) -> Int64:
        return np.array([self._keys.get(key, -1) for key in _entries(offsets, data, "offsets")], np.int64)

    def hash_batch(self, offsets: Int32 | Int64, data: UInt8) -> UInt64:
        return np.array([self._hash(key) for key in _entries(offsets, data, "offsets")], np.uint64)

    def probe_hashes(self, hashes: UInt64) -> UInt8:
        seen = {self._hash(key) for key in self._keys}
        return np.array([value not in seen for value in hashes.tolist()], np.uint8)

    def _hash(self, key: bytes) -> int:
        return int.from_bytes(blake2b(key, key=self._seed, digest_size=8).digest(), "little")

    @staticmethod
    def _batch(offsets: Int32 | Int64, data: UInt8, validity: UInt8 | None) -> list[bytes | None]:
        keys = _entries(offsets, data, "offsets")
        if validity is None:
            return list(keys)
        _expect(len(validity), len(keys), "validity")
        return [key if valid else None for key, valid in zip(keys, validity, strict=True)]


# --- bitmap -----------------------------------------------------------------------------------------


class _Reader:
    """Reads little-endian integers from untrusted bytes, never past the end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def need(self, size: int) -> None:
        if size > len(self.data) - self.at:
            raise _corrupt("the bytes end before the bitmap does", self.at)

    def integers(self, count: int, size: int) -> list[int]:
        self.need(count * size)
        stop = self.at + count * size
        found = [int.from_bytes(self.data[i : i + size], "little") for i in range(self.at, stop, size)]
        self.at = stop
        return found


def _corrupt(message: str, offset: int) -> CorruptMetadataError:
    return CorruptMetadataError(message, offset=offset)


def _bitmap(data: Any) -> list[int]:
    """All positions, ascending. The layout is drawn in csrc/tf_roaring.h."""
    reader = _Reader(bytes(data))
    reader.need(8)
    count = int.from_bytes(reader.data[:8], "little")
    if count > (len(reader.data) - 8) // 12:
        raise _corrupt("more 32-bit bitmaps than the bytes can hold", 0)
    reader.at = 8
    found: list[int] = []
    previous = -1
    for _ in range(count):
        reader.need(8)
        key = int.from_bytes(reader.data[reader.at : reader.at + 4], "little")
        if key >= 1 << 31:
            raise _corrupt("a key is negative", reader.at)
        if key <= previous:
            raise _corrupt("keys do not ascend", reader.at)
        previous = key
        reader.at += 4
        found.extend(key << 32 | value for value in _bitmap32(reader))
    if reader.at != len(reader.data):
        raise _corrupt("bytes follow the end of the bitmap", reader.at)
    return found


def _bitmap32(reader: _Reader) -> Iterator[int]:
    bucket = reader.at
    cookie = int.from_bytes(reader.data[bucket : bucket + 4], "little")
    flags: list[int] | None = None
    if cookie == 12346:
        reader.need(8)
        n = int.from_bytes(reader.data[bucket + 4 : bucket + 8], "little")
        if n > 65536:
            raise _corrupt("too many containers", bucket)
        reader.at += 8
    elif cookie & 0xFFFF == 12347:
        n = (cookie >> 16) + 1
        reader.at += 4
        flags = reader.integers((n + 7) // 8, 1)
    else:
        raise _corrupt("no cookie", bucket)
    with_offsets = flags is None or n >= 4
    reader.need(n * (8 if with_offsets else 4))
    header = reader.at
    pairs = reader.integers(2 * n, 2)
    keys, cardinalities = pairs[::2], [below + 1 for below in pairs[1::2]]
    offsets = reader.integers(n, 4) if with_offsets else None
    for i in range(n):
        if i and keys[i] <= keys[i - 1]:
            raise _corrupt("container keys do not ascend", header + 4 * i)
        if offsets is not None and offsets[i] != reader.at - bucket:
            raise _corrupt("a container is not at its offset", reader.at)
        is_run = flags is not None and flags[i // 8] >> i % 8 & 1
        values = _runs if is_run else _array if cardinalities[i] <= 4096 else _bitset
        yield from (keys[i] << 16 | value for value in values(reader, cardinalities[i]))


def _array(reader: _Reader, cardinality: int) -> list[int]:
    start = reader.at
    values = reader.integers(cardinality, 2)
    for i, (a, b) in enumerate(pairwise(values), 1):
        if b <= a:
            raise _corrupt("array values do not ascend", start + 2 * i)
    return values


def _bitset(reader: _Reader, cardinality: int) -> list[int]:
    start = reader.at
    words = reader.integers(1024, 8)
    values = [64 * i + bit for i, word in enumerate(words) for bit in range(64) if word >> bit & 1]
    if len(values) != cardinality:
        raise _corrupt("wrong cardinality", start)
    return values


def _runs(reader: _Reader, cardinality: int) -> list[int]:
    (n,) = reader.integers(1, 2)
    if n == 0:
        raise _corrupt("no runs", reader.at - 2)
    start = reader.at
    pairs = reader.integers(2 * n, 2)
    values: list[int] = []
    for i, (first, below) in enumerate(zip(pairs[::2], pairs[1::2], strict=True)):
        if values and first <= values[-1]:
            raise _corrupt("runs overlap or descend", start + 4 * i)
        if first + below > 65535:
            raise _corrupt("a run leaves its container", start + 4 * i)
        values.extend(range(first, first + below + 1))
    if len(values) != cardinality:
        raise _corrupt("wrong cardinality", start)
    return values


def _rows(data: Any, start: int, stop: int) -> list[int]:
    if start < 0 or stop < start:
        raise ValueError(f"rows {start} to {stop} are no range: 0 <= start <= stop is needed")
    return [row for row in _bitmap(data) if start <= row < stop]


def validate(data: Any) -> tuple[int, int]:
    found = _bitmap(data)
    return len(found), found[-1] if found else -1


def live_mask(data: Any, start: int, stop: int) -> UInt8:
    deleted = set(_rows(data, start, stop))
    return np.array([row not in deleted for row in range(start, stop)], np.uint8)


def words(data: Any, start: int, stop: int) -> UInt64:
    result = [0] * -(-(stop - start) // 64)
    for row in _rows(data, start, stop):
        result[(row - start) // 64] |= 1 << (row - start) % 64
    return np.array(result, np.uint64)


def positions(data: Any, start: int, stop: int) -> Int64:
    return np.array(_rows(data, start, stop), np.int64)


def ranges(data: Any, start: int, stop: int) -> tuple[Int64, Int64]:
    starts: list[int] = []
    lengths: list[int] = []
    for row in _rows(data, start, stop):
        if starts and row == starts[-1] + lengths[-1]:
            lengths[-1] += 1
        else:
            starts.append(row)
            lengths.append(1)
    return np.array(starts, np.int64), np.array(lengths, np.int64)


# --- rows -------------------------------------------------------------------------------------------


def _expect_positions(dropped: Int64, rows: int) -> set[int]:
    gone = dropped.tolist()
    if any(not a < b for a, b in pairwise(gone)) or (gone and not (gone[0] >= 0 and gone[-1] < rows)):
        raise ValueError(f"dropped does not ascend, or is none of the {rows} rows")
    return set(gone)


def _staying(rows: int, dropped: Int64) -> list[int]:
    gone = _expect_positions(dropped, rows)
    return [row for row in range(rows) if row not in gone]


def drop_values(values: UInt8, width: int, dropped: Int64, out: UInt8) -> None:
    if width < 1 or len(values) % width:
        raise ValueError(f"{len(values)} bytes are no values of {width} bytes")
    found = b"".join(values[row * width :][:width].tobytes() for row in _staying(len(values) // width, dropped))
    _expect(len(out), len(found), "out")
    out[:] = np.frombuffer(found, np.uint8)


def drop_texts(offsets: Int32 | Int64, data: UInt8, dropped: Int64, out_offsets: Int32 | Int64, out: UInt8) -> None:
    ends = offsets.tolist()
    if not ends:
        raise ValueError("offsets has 0 entries where at least 1 is needed")
    if any(a > b for a, b in pairwise(ends)) or ends[0] < 0 or ends[-1] > len(data):
        raise ValueError(f"offsets descend, or are not within the {len(data)} bytes of data")
    found = [data[ends[row] : ends[row + 1]].tobytes() for row in _staying(len(ends) - 1, dropped)]
    _expect(len(out_offsets), len(found) + 1, "out_offsets")
    _expect(len(out), sum(map(len, found)), "out")
    out_offsets[:] = np.cumsum([0, *map(len, found)])
    out[:] = np.frombuffer(b"".join(found), np.uint8)


def drop_from_runs(runs: Int64, dropped: Int64, out: Int64) -> int:
    _expect(runs.shape[1], 2, "a run")
    _expect(out.shape[1], 2, "a run of out")
    _expect(len(out), len(runs) + len(dropped), "out")
    gone = _expect_positions(dropped, 2**63 - 1)
    left = [[row for row in range(start, stop) if row not in gone] for start, stop in runs.tolist()]
    found = [part for rows in left for part in _runs_of(rows)]
    out[: len(found)] = np.array(found, np.int64).reshape(-1, 2)
    return len(found)


def find_runs(mask: UInt8, first: int, out: Int64) -> int:
    _expect(len(out), (len(mask) + 1) // 2, "out")
    _expect(out.shape[1], 2, "a run of out")
    found = _runs_of([first + row for row in np.flatnonzero(mask & 1).tolist()])
    out[: len(found)] = np.array(found, np.int64).reshape(-1, 2)
    return len(found)


def _runs_of(rows: list[int]) -> list[tuple[int, int]]:
    """Rows, which ascend, as runs of those that follow each other."""
    edges = [i for i in range(len(rows) + 1) if i in (0, len(rows)) or rows[i] != rows[i - 1] + 1]
    return [(rows[start], rows[stop - 1] + 1) for start, stop in pairwise(edges)] if rows else []


# --- key_filter -------------------------------------------------------------------------------------


def _slots(numbers: Int64, bits: UInt64, least: int, multiplier: int, shift: int) -> list[int]:
    if not 0 <= shift <= 63:
        raise ValueError(f"shift is {shift}, which is not from 0 to 63")
    if not len(bits) or bits[-1]:
        raise ValueError("bits does not end with a word of 0")
    return [((number - least) * multiplier % 2**64) >> shift for number in numbers.tolist()]


def add_keys(keys: Int64, bits: UInt64, least: int, multiplier: int, shift: int) -> None:
    for slot in _slots(keys, bits, least, multiplier, shift):
        if slot < 64 * len(bits) - 64:
            bits[slot // 64] |= np.uint64(1 << slot % 64)


def find_keys(values: Int64, bits: UInt64, least: int, multiplier: int, shift: int, out: Int64) -> int:
    slots = _slots(values, bits, least, multiplier, shift)
    _expect(len(out), len(values), "out")
    words = bits.tolist()
    found = [i for i, slot in enumerate(slots) if slot < 64 * len(words) and words[slot // 64] >> slot % 64 & 1]
    out[: len(found)] = found
    return len(found)


# --- coded_texts ------------------------------------------------------------------------------------


def _texts_of(codes: Int32, offsets: Int32, size: int) -> list[slice]:
    """Where the text of each code is in ``size`` bytes."""
    ends = offsets.tolist()
    if not ends:
        raise ValueError("offsets has 0 entries where at least 1 is needed")
    if any(a > b for a, b in pairwise(ends)) or ends[0] < 0 or ends[-1] > size:
        raise ValueError(f"offsets descend, or are not within the {size} bytes of data")
    for i, code in enumerate(codes.tolist()):
        if not 0 <= code < len(ends) - 1:
            raise ValueError(f"codes[{i}] is {code}: there are {len(ends) - 1} entries")
    return [slice(ends[code], ends[code + 1]) for code in codes.tolist()]


def find_text_ends(codes: Int32, offsets: Int32, out: Int32) -> None:
    _expect(len(out), len(codes) + 1, "out")
    ends = [0]
    for text in _texts_of(codes, offsets, 2**31 - 1):
        ends.append(ends[-1] + text.stop - text.start)
    if ends[-1] > 2**31 - 1:
        raise ValueError(f"the texts have more than {2**31 - 1} bytes")
    out[:] = ends


def copy_coded_texts(codes: Int32, offsets: Int32, data: UInt8, out: UInt8) -> None:
    found = b"".join(data[text].tobytes() for text in _texts_of(codes, offsets, len(data)))
    if len(found) != len(out):
        raise ValueError(f"the texts do not fill {len(out)} bytes")
    out[:] = np.frombuffer(found, np.uint8)
