"""Seeds of the fuzz targets of the C kernels: small inputs that reach every branch of a format, made by its writers."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from pyroaring import BitMap64

from tests.support.bitmaps import BAD, GOOD
from tests.support.iceberg_manifests import text, varint

__all__ = ["KERNEL_SEEDS"]

EDGES_OF_UTF8 = [
    bytes.fromhex(edge)
    for edge in (
        "7f",
        "80",
        "c1bf",
        "c280",
        "e09fbf",
        "e0a080",
        "ed9fbf",
        "eda080",
        "ee8080",
        "f08fbfbf",
        "f0908080",
        "f48fbfbf",
        "f4908080",
        "f5808080",
        "e298",
    )
]
"""The first and last characters of every length, and what lies just outside."""
GOLDEN = Path(__file__).parents[1] / "golden"


def _roaring() -> dict[str, bytes]:
    sets = {
        "empty": [],
        "single": [7],
        "far": [0, 2**32 + 5, 2**40],
        "array": range(0, 9000, 3),
        "runs": [*range(100, 5000), *range(65_536, 65_600)],
        "bitset": range(0, 65_536, 7),
        "containers": [n << 16 for n in range(6)],
        "whole": range(65_536),
        "mixed": [*range(0, 60_000, 5), *range(70_000, 90_000), 2**33],
    }
    found = {}
    for name, positions in sets.items():
        bitmap = BitMap64(positions)
        for kind in ("plain", "runs"):
            if kind == "runs":
                bitmap.run_optimize()
            head = bytes([0, 0]) + struct.pack("<HH", 60, 700)
            found[f"{name}-{kind}"] = head + bitmap.serialize()
    found["other-bucket"] = bytes([1, 0]) + struct.pack("<HH", 0, 1000) + BitMap64([2**32 + 5]).serialize()
    # Rows up to one past the container.
    found["edge"] = bytes([0, 0]) + struct.pack("<HH", 65_000, 537) + BitMap64(range(0, 65_536, 7)).serialize()
    for name, (data, _) in {**GOOD, **BAD}.items():
        found[f"case-{name.replace(' ', '-').replace('^', '-')}"] = bytes([0, 0]) + struct.pack("<HH", 0, 99) + data
    return found


def _avro() -> dict[str, bytes]:
    """(description of a schema, flags, count, block); see kernels/avro_program.h for what the bytes mean."""
    pair = varint(1) + text("upper")
    cases = {
        "long": (b"\x00", 0, varint(1) + varint(-(2**63)), 2),
        "int-dropped": (b"\x0d\x01\x05", 0x21, varint(2) + text("a") + varint(3) + text("b"), 2),
        "long-of-66-bits": (b"\x00", 0, b"\xff" * 9 + b"\x02", 1),
        "map-dropped": (
            b"\x0d\x00\x0c\x01\x00",
            0x21,
            varint(2) + varint(1) + pair + b"\x00" + varint(1) + b"\x00" + varint(1) + varint(1) + pair + b"\x00",
            3,
        ),
        "bool": (b"\x02", 0, b"\x00\x01", 2),
        "floats": (b"\x0d\x03\x04", 0, struct.pack("<fd", 1.5, 2.5), 1),
        "text-twice": (b"\x06", 2, text("é") + text("☃"), 2),
        "fixed-cut": (b"\x0d\x00\x07\x0b", 0, b"\x80\x01" + bytes(10), 1),
        "fixed": (b"\x07\x0b", 0, bytes(11), 1),
        "enum": (b"\x08\x04", 0, varint(4), 1),
        "optional": (b"\x09\x00\x05", 0, b"\x00" + b"\x02" + text("x"), 2),
        "union": (b"\x0a\x06", 0, b"\x00\x04" + b"\x02" + text("y") + b"\x04", 3),
        "list": (b"\x0b\x05", 0, varint(2) + text("a") + text("b") + b"\x00", 1),
        "list-sized": (b"\x0b\x01", 0, varint(-2) + varint(2) + varint(5) + varint(6) + b"\x00", 1),
        "list-skipped": (b"\xeb\x01", 0, varint(-2) + varint(2) + varint(5) + varint(6) + b"\x00", 1),
        "list-skipped-long": (
            b"\x0d\xeb\x01\x06",
            0,
            3 * (varint(40) + 40 * varint(1000) + b"\x00" + text("a" * 60)),
            3,
        ),
        "map-skipped-long": (b"\x0d\xec\x01\x00\x06", 0, 3 * (varint(2) + 2 * pair + b"\x00" + text("a" * 90)), 3),
        "nested-list": (b"\x0b\x0b\x09\x01\x00", 0, varint(1) + varint(1) + b"\x00\x02\x00\x00", 1),
        "map-bytes": (b"\x0c\x01\x00", 0, varint(2) + pair + varint(130) + text("z") + b"\x00", 1),
        "map-longs": (b"\x0c\x00\x00", 0, varint(2) + varint(1) * 2 + varint(1) + varint(9) + b"\x00", 1),
        "map-fixed-reversed": (b"\x0c\x04\x01", 0, varint(1) + bytes(4) + varint(-3) + b"\x00", 1),
        "manifest": (
            b"\x0d\x00\x0d\x06\x0d\x0c\x01\x00\x0d\x0c\x00\x00\x09\x00\x0b\x01",
            4,
            varint(1)
            + text("data/f.parquet")
            + varint(1)
            + pair
            + b"\x00"
            + varint(1)
            + varint(63)
            + varint(8)
            + b"\x00\x02"
            + varint(1)
            + varint(4)
            + b"\x00",
            1,
        ),
    }
    return {
        name: bytes([len(schema)]) + schema + bytes([flags, count]) + block
        for name, (schema, flags, block, count) in cases.items()
    }


def _avro_blocks() -> dict[str, bytes]:
    """The same schemas; flags, and blocks of (count, bytes as they are stored)."""

    def file(schema: bytes, flags: int, *blocks: tuple[int, bytes]) -> bytes:
        stored = b"".join(varint(count) + text(data) + b"S" * 16 for count, data in blocks)
        return bytes([len(schema)]) + schema + bytes([flags]) + stored

    name = b"\x05"
    return {
        "plain": file(name, 0, (2, text("a") + text("bc")), (1, text("d" * 70))),
        "inflated": file(name, 1, (2, b"\x02\x00\x00"), (1, b"\x01\x08\x04x\x00")),
        "checksum": file(b"\x00", 1, (1, b"\x01\x02\x00" + (31 + 2).to_bytes(4, "big")[:2])),
        "too-large": file(name, 3, (1, b"\x01\x7e\x3fx\x00")),
        "too-many": file(b"\x00", 0x14, (2, b"\x02\x04"), (2, b"\x02\x04")),
        "no-records": file(b"\x00", 0, (0, b""), (1, b"\x02")),
        "wrong-marker": file(b"\x00", 0, (1, b"\x02"))[:-1] + b"T",
        "map": file(b"\x0d\x06\x0c\x01\x00", 0, *[(1, text("p") + varint(1) + varint(1) + text("u") + b"\x00")] * 3),
    }


def _json_texts() -> dict[str, bytes]:
    statistics = {
        "numRecords": 3,
        "minValues": {"a": 1, "s": {"b": "x"}},
        "maxValues": {"a": 2, "d": "9.99"},
        "nullCount": {"a": 0, "d": 1},
        "tightBounds": True,
    }
    lines = [json.dumps({**statistics, "numRecords": n}) for n in range(3)]
    commits = sorted(GOLDEN.glob("tables_jvm/delta-deletion-vectors/table/_delta_log/*.json"))
    awkward = [
        '{"": 1, "\\"": 2, "\\u00e9": {"a\\\\b": {"a": 1}, "u0061": 2}, "\\ud83d\\ude00": 3}',
        '{"é": {"u0061": [1, {"a": 2}]}, "\\u0061": 1, "A": -1e-3, "a": 2}',
    ]
    return {
        "statistics": b"\x00" + "\n".join(lines).encode(),
        "other-shape": b"\x00" + (lines[0] + "\n" + lines[1].replace('"numRecords"', '"numrecords"')).encode(),
        "awkward": b"\x02" + "\n".join(awkward).encode(),
        **{f"lists-{n}": b"\x02" + b'{"a": ' + b"[" * n + b"]" * n + b"}" for n in (127, 128)},
        **{f"objects-{n}": b"\x02" + b'{"x":' * n + b"1" + b"}" * n for n in (128, 129)},
        "edges-of-utf8": b"\x02" + b"\n".join(b'{"a": "%s"}' % edge for edge in EDGES_OF_UTF8),
        **{f"commit-{path.stem.lstrip('0') or '0'}": b"\x01" + path.read_bytes() for path in commits},
    }


def _json_values() -> dict[str, bytes]:
    integers = "0 -0 7 9223372036854775807 9223372036854775808 -9223372036854775808 123456789012345678"
    twice = "9007199254740993e1 -18014398509481985e-1 12345678901234567e-5 9007199254740991e22 1e23 1e-23"
    reals = "0.5 -1.25e-3 1e22 9007199254740993 9007199254740992.0 1E400 NaN -Infinity 0.1e-22 100.000"
    decimals = "99999999999999999999999999999999999999 -12345678901234567890.123456789 0.000 1.50"
    texts = r'"" "plain text of some length" "\u00e9\ud83d\ude00" "\ud800" "\"\\\/\b\f\n\r\t" "é☃" "\u0000"'
    return {
        "integers": b"\x00" + integers.encode(),
        "reals": b"\x02" + reals.encode(),
        "rounded-twice": b"\x00" + twice.encode(),
        "decimals": b"\x09" + decimals.encode(),
        "texts": b"\x00" + texts.encode(),
        "others": b'\x26null true false {"a": [1, {}]} [] 1 "x"',
    }


def _keyset() -> dict[str, bytes]:
    def call(what: int, keys: list[bytes]) -> bytes:
        return bytes([what]) + b"".join(bytes([len(key)]) + key for key in keys)

    # `what` says how many keys: its remainder by 65; from 80 on they are added.
    paths = [b"part-%05d.parquet" % n for n in range(64)]
    few = [b"", b"a", b"ab", b"abcd", b"0123456789abcdef", b"0123456789abcdefg"]
    return {
        "few": b"\x00" + call(65 + 65 + 6, few) + call(6, few),
        "weak-alike": b"\x01" + call(130 + 4, [b"a", b"ab", b"ac", b"abd"]) + call(4, [b"b", b"abc", b"ab", b"c"]),
        "weak": b"\x01" + call(129, paths) + call(64, paths[::-1]),
        "cleared": b"\x00" + call(136, few) + call(255, paths[:60]) + call(136, few),
    }


def _columns() -> dict[str, bytes]:
    texts = [text.encode() for text in ("é", "☃", "text of some length", "\0")]
    values = b"".join(bytes([1, len(text)]) + text for text in texts)
    return {
        "numbers": b"\x00\x00" + bytes(range(1, 100)),
        "octets": b"\x01\x00" + values + b"\x00" + values,
        "growing": b"\x01\x00" + (b"\x01\x64" + b"x" * 100) * 30,
        "text": b"\x02\x00" + values + b"\xc1\x02ab",
        "small-budget": b"\x01\x03" + values * 4,
        **{f"utf8-{edge.hex()}": b"\x02\x00\x01" + bytes([len(edge)]) + edge for edge in EDGES_OF_UTF8},
        "reserved": b"\x01\x00\xe8" + values + b"\xff",
    }


KERNEL_SEEDS = {
    "avro": _avro,
    "avro_blocks": _avro_blocks,
    "columns": _columns,
    "json_texts": _json_texts,
    "json_values": _json_values,
    "keyset": _keyset,
    "roaring": _roaring,
}
"""Target -> what makes its seeds."""
