"""All metadata that a table's folder holds, as text without what chance or the clock decide."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq

import tableformats as tf

_SHOWN = re.compile(r'(?<=-files-size", )"\d+"|\b[\d.]+ k?B\b')
"""Sizes of data files in pairs and in words."""
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ID = re.compile(r"(?<![\w.])\d{13,19}(?!\w)")
_TIME = re.compile(r"(?<![\w.])1[6-9]\d{11}(?!\w)|20(?:2[5-9]|[3-9]\d)-\d\d-\d\d[ T][\d:.]+(?:\+00:00|Z)?")
"""Today's times, in milliseconds and as text."""
# What Parquet's and Avro's writers make of a file, and the version that wrote it.
_SIZE = re.compile(
    r'("(?:[\w.-]*(?:size|length|Size|SizeInBytes|bytes|Bytes|-ms|Ms|column_sizes|split_offsets|histogram|timestampMs'
    r'|checksum))"|"key": (?:134|108)): (?:"[^"]*"|\d+|\[\[.*?\]\]|\[[^\]]*\]|\{[^}]*\})'
)


class Dump:
    """What is new in a folder, each time that it is asked. Chance values are named in the order in which they come."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: set[Path] = set()
        self._names: dict[str, str] = {}

    def new_lines(self) -> list[str]:
        """A text for each metadata file that was not there before, and for what it holds."""
        files = [path for path in self._root.rglob("*") if path.is_file() and path not in self._seen]
        self._seen.update(files)
        data = sum(path.parent.name not in ("_delta_log", "metadata") for path in files)
        lines = [line for path in sorted(files, key=_order) for line in self._of(path)]
        return [f"{data} data files", *map(self.plain, lines)]

    def _of(self, path: Path) -> Iterator[str]:
        name, folder = path.name, path.parent.name
        if folder == "_delta_log":
            if name.endswith((".json", ".crc")) or name == "_last_checkpoint":
                yield from (f"{name} {_text(json.loads(line))}" for line in path.read_text().splitlines())
            elif name.endswith(".parquet"):
                table = pq.read_table(path)
                yield f"{name} {table.schema.to_string(show_field_metadata=False)!r}"
                yield from (f"{name} {_text(row)}" for row in table.to_pylist())
            else:
                yield f"{name} {path.read_text()}"
        elif folder == "metadata":
            if name.endswith(".json"):
                yield f"{name} {_text(json.loads(path.read_text()))}"
            elif name.endswith(".avro"):
                reader = fastavro.reader(io.BytesIO(path.read_bytes()))
                header = {key: value for key, value in reader.metadata.items() if key != "avro.codec"}
                yield f"{name} {_text(header)}"
                yield from (f"{name} {_text(record)}" for record in reader)
            elif name.endswith((".text", ".txt")):
                yield f"{name} {path.read_text()}"
            else:
                yield name

    def plain(self, line: str) -> str:
        """The text without chance values, sizes and times."""
        line = _SIZE.sub(r"\1: N", line.replace(str(self._root), "ROOT").replace(tf.__version__, "VERSION"))
        line = _SHOWN.sub("N", line)
        line = _UUID.sub(lambda found: self._name("uuid", found.group()), line)
        line = _TIME.sub("TIME", line)
        return _ID.sub(lambda found: self._name("id", found.group()), line)

    def _name(self, kind: str, value: str) -> str:
        return self._names.setdefault(value, f"{kind}{len(self._names)}")


def _order(path: Path) -> str:
    """Metadata files first, then lists of manifests, then manifests. One commit's manifests are numbered."""
    rank = "2" if re.search(r"-m\d+\.avro$", path.name) else "1" if path.name.endswith(".avro") else "0"
    return rank + path.name


def _text(value: Any) -> str:
    def plain(one: Any) -> Any:
        if isinstance(one, bytes):
            return one.hex()
        if isinstance(one, list):
            return {"set": [*map(plain, one)]} if one and isinstance(one[0], tuple) else [*map(plain, one)]
        if isinstance(one, dict):
            return {key: plain(inner) for key, inner in one.items() if inner is not None}
        if isinstance(one, str) and one[:1] in "{[":
            try:
                return plain(json.loads(one))
            except ValueError:
                return one
        return one

    return json.dumps(plain(value), default=str)
