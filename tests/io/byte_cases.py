"""Files of reference writers with one damaged byte, and what the parsers of their metadata make of them.

``python -m tests.io.byte_cases`` writes it to ``byte_outcomes.json``: {file: {outcome: how often}} and a digest of
which byte has which. Read what has changed there.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from tableformats_iceberg.deletes.puffin import parse_deletion_vector
from tableformats_iceberg.manifests.manifest_list import parse_manifest_list

from tableformats.engines.arrow.values.variant_shredding import MalformedVariantError, unshredded
from tableformats.errors import TableFormatsError
from tableformats.io.orc_tail import OrcTail
from tableformats.io.parquet.footers import arrow_schemas_of, chunks_of, has_sound_chunks
from tests.support import leaves

PINNED = Path(__file__).with_name("byte_outcomes.json")
GOLDEN = Path(__file__).resolve().parents[1] / "golden"
JVM = GOLDEN / "tables_jvm"
BY_POSITION = "iceberg-position-deletes/table/data"
DELETES = f"{BY_POSITION}/id_bucket=1/00000-699-8acf64f1-79ee-44b3-9997-2a8e5fb91d41-00003-deletes.orc"
ROWS = f"{BY_POSITION}/id_bucket=0/00000-697-4d31606c-9403-4686-9204-3e1dd02eb696-0-00002.orc"
VECTORS = "iceberg-deletion-vectors/table/data/00000-748-99c63387-376a-40d4-b9b8-aa9e80eb47ec-00001-deletes.puffin"
PARQUET = "iceberg-equality-deletes/table/data/00001-1-0bd034a0-21ef-4613-acbe-d2494198408c-00001.parquet"
LIST = "iceberg-evolved/table/metadata/snap-5335068698963683818-0-4ec23d52-4a6d-4ca8-97c8-84a9759d004f.avro"


def orc(data: bytes) -> Any:
    tail = OrcTail(pa.BufferReader(data))
    return tail.stripes(), [tail.column_problem(n, 4) for n in range(4)]


def parquet(footer: bytes) -> Any:
    return has_sound_chunks(footer), [*chunks_of(footer)], arrow_schemas_of(footer)


def vector(blob: bytes) -> Any:
    return sorted(parse_deletion_vector(blob, "p", 4, None, 1000))


def manifest_list(data: bytes) -> Any:
    return parse_manifest_list(data, "p").manifests


def variant(data: bytes) -> Any:
    """An object of which a field is shredded; the rest stands behind the metadata."""
    typed = pa.struct([("a", pa.struct([("typed_value", pa.int64())]))])
    row = {"metadata": data[:METADATA], "value": data[METADATA:], "typed_value": {"a": {"typed_value": 7}}}
    kind = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", typed)])
    return unshredded(pa.array([row], kind))[1].to_pylist()


def number(value: int, width: int) -> bytes:
    return value.to_bytes(width, "little")


def encoded_variant(width: int) -> bytes:
    """The fields b and c, with counts, ids and offsets of one or of four bytes."""
    head = bytes([1 | (width - 1) << 6])
    metadata = head + b"".join(number(n, width) for n in (3, 0, 1, 2, 3)) + b"abc"
    values = [b"\x0c\x05", b"\x09hi"]
    count = number(2, 4 if width > 1 else 1)
    header = bytes([((width > 1) << 4 | (width - 1) << 2 | (width - 1)) << 2 | 2])
    return (
        metadata.ljust(METADATA, b" ")
        + header
        + count
        + b"".join(number(n, width) for n in (1, 2, 0, 2, 5))
        + b"".join(values)
    )


def blob_of(path: Path) -> bytes:
    """The first blob of a Puffin file."""
    data = path.read_bytes()
    size = int.from_bytes(data[-12:-8], "little")
    (first, *_) = json.loads(data[-12 - size : -12])["blobs"]
    return data[first["offset"] : first["offset"] + first["length"]]


def footer_of(path: Path) -> bytes:
    data = path.read_bytes()
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


METADATA = 24
"""The bytes of the metadata of our variants."""
CASES: dict[str, tuple[Callable[[bytes], Any], Callable[[], bytes]]] = {
    "orc deletes": (orc, lambda: (JVM / DELETES).read_bytes()),
    "orc rows": (orc, lambda: (JVM / ROWS).read_bytes()),
    "parquet footer": (parquet, lambda: footer_of(JVM / PARQUET)),
    "deletion vector": (vector, lambda: blob_of(JVM / VECTORS)),
    "manifest list": (manifest_list, lambda: (GOLDEN / "tables" / LIST).read_bytes()),
    "narrow variant": (variant, lambda: encoded_variant(1)),
    "wide variant": (variant, lambda: encoded_variant(4)),
}


def damaged(data: bytes) -> Iterator[bytes]:
    """The data; then, for each byte, with another lowest and another highest bit, and cut before it."""
    yield data
    for i, byte in enumerate(data):
        yield data[:i] + bytes([byte ^ 1]) + data[i + 1 :]
        yield data[:i] + bytes([byte ^ 128]) + data[i + 1 :]
        yield data[:i]


def outcomes(name: str) -> dict[str, int | str]:
    parse, read = CASES[name]
    found = [outcome_of(parse, data) for data in damaged(read())]
    kinds = Counter(outcome.partition(" (")[0].partition(":")[0] for outcome in found)
    return {**{kind: count for kind, count in sorted(kinds.items())}, "digest": leaves.digest(found)}


def outcome_of(parse: Callable[[bytes], Any], data: bytes) -> str:
    try:
        return f"read ({leaves.digest(parse(data))})"
    except TableFormatsError as error:
        text = str(error)
        return "a block does not inflate" if "does not inflate" in text else text
    except MalformedVariantError as error:
        return f"MalformedVariantError: {error}"
    except Exception:  # that of the library that inflates, or ValueError: the caller says what is damaged
        return "refused"


def main() -> None:
    leaves.write(PINNED, {"outcomes": {name: outcomes(name) for name in CASES}})


if __name__ == "__main__":
    main()
