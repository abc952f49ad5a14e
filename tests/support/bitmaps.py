"""Serialised bitmaps made by hand: sound ones with their rows, and damaged ones with what is wrong."""

from __future__ import annotations

import struct


def _array_of(*values: int) -> tuple[int, int, bytes]:
    """(is_run, cardinality, container)"""
    return 0, len(values), struct.pack(f"<{len(values)}H", *values)


def _runs_of(*pairs: tuple[int, int], n: int | None = None, cardinality: int | None = None) -> tuple[int, int, bytes]:
    """Runs of (first, length)."""
    body = b"".join(struct.pack("<HH", first, length - 1) for first, length in pairs)
    total = sum(length for _, length in pairs) if cardinality is None else cardinality
    return 1, total, struct.pack("<H", len(pairs) if n is None else n) + body


def _bitmap32(containers: dict[int, tuple[int, int, bytes]], shift: int = 0) -> bytes:
    """A 32-bit bitmap; ``shift`` falsifies the offset of the last container."""
    pairs = list(containers.items())
    n, with_runs = len(pairs), any(is_run for _, (is_run, _, _) in pairs)
    head = struct.pack("<II", 12346, n)
    if with_runs:
        flags = sum(is_run << i for i, (_, (is_run, _, _)) in enumerate(pairs))
        head = struct.pack("<HH", 12347, n - 1) + flags.to_bytes((n + 7) // 8, "little")
    head += b"".join(struct.pack("<HH", key, cardinality - 1) for key, (_, cardinality, _) in pairs)
    if not with_runs or n >= 4:
        at = len(head) + 4 * n
        for i, (_, (_, _, raw)) in enumerate(pairs):
            head += struct.pack("<I", at + (shift if i == n - 1 else 0))
            at += len(raw)
    return head + b"".join(raw for _, (_, _, raw) in pairs)


def _bitmap64(*buckets: tuple[int, bytes], count: int | None = None) -> bytes:
    body = b"".join(struct.pack("<I", key) + raw for key, raw in buckets)
    return struct.pack("<Q", len(buckets) if count is None else count) + body


def _one(container: tuple[int, int, bytes]) -> bytes:
    return _bitmap64((0, _bitmap32({0: container})))


def _bits(values: range, cardinality: int) -> tuple[int, int, bytes]:
    return 0, cardinality, sum(1 << v for v in values).to_bytes(8192, "little")


EMPTY = struct.pack("<II", 12346, 0)
GOOD = {
    "empty": (_bitmap64(), []),
    "an empty 32-bit bitmap": (_bitmap64((0, EMPTY), (2, _bitmap32({0: _array_of(7)}))), [2 << 32 | 7]),
    "touching runs": (_one(_runs_of((3, 2), (5, 1))), [3, 4, 5]),
    "run to the end": (_one(_runs_of((65530, 6))), [*range(65530, 65536)]),
    "runs with offsets": (
        _bitmap64((0, _bitmap32({k: _runs_of((k, 1)) for k in range(4)}))),
        [k << 16 | k for k in range(4)],
    ),
    "bitset": (_one(_bits(range(0, 10000, 2), 5000)), [*range(0, 10000, 2)]),
}
BAD = {
    "nothing": (b"", 0),
    "half a count": (b"\0" * 7, 0),
    "negative count": (struct.pack("<q", -1) + _one(_array_of(1))[8:], 0),
    "2^40 buckets": (struct.pack("<Q", 2**40) + _one(_array_of(1))[8:], 0),
    "one bucket too many": (_bitmap64((0, EMPTY), count=2), 0),
    "a bucket missing within the bound": (_bitmap64((0, _bitmap32({0: _array_of(*range(9))})), count=2), 46),
    "negative bucket key": (_bitmap64((2**31, EMPTY)), 8),
    "buckets descend": (_bitmap64((1, EMPTY), (0, EMPTY)), 20),
    "buckets repeat": (_bitmap64((1, EMPTY), (1, EMPTY)), 20),
    "trailing byte": (_one(_array_of(1)) + b"\0", 30),
    "trailing bytes after none": (_bitmap64() + b"\0", 8),
    "no cookie": (_bitmap64((0, struct.pack("<II", 12345, 0))), 12),
    "a cookie with upper bits": (_bitmap64((0, struct.pack("<II", 12346 | 1 << 16, 0))), 12),
    "65537 containers": (_bitmap64((0, struct.pack("<II", 12346, 65537))), 12),
    "negative container count": (_bitmap64((0, struct.pack("<Ii", 12346, -1))), 12),
    "65536 containers of nothing": (_bitmap64((0, struct.pack("<II", 12346, 65536))), 20),
    "run flags missing": (_bitmap64((0, struct.pack("<HHI", 12347, 65535, 0))), 16),
    "containers descend": (_bitmap64((0, _bitmap32({1: _array_of(1), 0: _array_of(1)}))), 24),
    "offset too small": (_bitmap64((0, _bitmap32({0: _array_of(1), 1: _array_of(2)}, shift=-2))), 38),
    "offset past the end": (_bitmap64((0, _bitmap32({0: _array_of(1)}, shift=2**20))), 28),
    "array cut off": (_one(_array_of(1, 2, 3))[:-1], 28),
    "array descends": (_one(_array_of(1, 5, 4)), 32),
    "array repeats": (_one(_array_of(5, 5)), 30),
    "bitset cut off": (_one(_bits(range(5000), 5000))[:-1], 28),
    "bitset has more": (_one(_bits(range(5001), 5000)), 28),
    "bitset has less": (_one(_bits(range(4999), 5000)), 28),
    "no runs": (_one(_runs_of(cardinality=1)), 21),
    "no run count": (_one(_runs_of((1, 1)))[:-5], 21),
    "runs cut off": (_one(_runs_of((1, 1), n=2)), 23),
    "65535 runs": (_one(_runs_of((1, 1), n=65535)), 23),
    "runs overlap": (_one(_runs_of((1, 5), (5, 2))), 27),
    "runs repeat": (_one(_runs_of((1, 5), (1, 5))), 27),
    "runs descend": (_one(_runs_of((9, 1), (1, 1))), 27),
    "run overflows": (_one(_runs_of((65535, 2))), 23),
    "run of 65536 from 1": (_one(_runs_of((1, 65536))), 23),
    "runs have more": (_one(_runs_of((1, 5), cardinality=4)), 23),
    "runs have less": (_one(_runs_of((1, 5), cardinality=6)), 23),
}
