"""A table whose manifest list or manifest has one damaged value, and what is made of it.

``python -m tests.iceberg.manifest_cases`` writes it to ``manifest_outcomes.json``: read what has changed there.
"""

from __future__ import annotations

import copy
import io
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa

import tableformats as tf
from tableformats.errors import TableFormatsError
from tests.support import leaves
from tests.support.dumps import Dump
from tests.support.iceberg_writing import metadata_of

PINNED = Path(__file__).with_name("manifest_outcomes.json")
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.int32()), ("x", pa.float64())])
FILTER = "id >= 10 AND p = 1 AND (x < 2 OR x IS NULL)"
"""All rows match it, as each of the bounds and counts says."""
CASES = {("2", "list"): 1, ("2", "manifest 0"): 4, ("2", "manifest 1"): 2, ("3", "list"): 1}
"""Versions of the format, and files; in how many shares they are damaged."""
SHOWN = {"list": ("manifests",), "manifest 0": ("entries", "partitions"), "manifest 1": ("entries",)}
"""Metadata tables that show a file."""


class Table:
    """A table of three files, one of them with deleted rows."""

    def __init__(self, root: Path, version: str) -> None:
        self.root, self.dump = root, Dump(root)
        properties = {"format-version": version, "write.manifest.compression-codec": "uncompressed"}
        properties["write.delete.mode"] = "merge-on-read"
        table = tf.create_table(root, SCHEMA, format="iceberg", partition_by="p", properties=properties)
        rows = {"id": [10, 11, 12], "p": [1, 1, 1], "x": [0.5, None, 1.5]}
        table.append(pa.table(rows, schema=SCHEMA))
        self.dump.new_lines()  # chance values are named, those of each commit for itself
        table.delete("id = 10")
        self.dump.new_lines()
        newest = metadata_of(root)["snapshots"][-1]
        self.version = newest["snapshot-id"]
        self.list = Path(newest["manifest-list"])
        rows = list(fastavro.reader(io.BytesIO(self.list.read_bytes())))
        self.files = {"list": self.list}
        self.files.update({f"manifest {n}": Path(row["manifest_path"]) for n, row in enumerate(rows)})

    def first_record(self, name: str) -> Any:
        return next(fastavro.reader(io.BytesIO(self.files[name].read_bytes())))

    def outcomes(self, name: str, share: leaves.Share = (0, 1)) -> dict[str, dict[str, str]]:
        """{path in the first record: {outcome: damages}}."""
        path = self.files[name]
        sound, lists = path.read_bytes(), self.list.read_bytes()
        reader = fastavro.reader(io.BytesIO(sound))
        records = list(reader)
        found: dict[str, dict[str, list[str]]] = {}
        for place, damage, record in of_record(records[0], share):
            try:
                data = encoded(reader, [record, *records[1:]])
            except (ValueError, TypeError, OverflowError, AttributeError, IndexError, KeyError):
                continue  # no value of the field's type
            try:
                path.write_bytes(data)
                if path != self.list:
                    self._set_length(path, len(data))
                found.setdefault(place, {}).setdefault(self.outcome(SHOWN[name]), []).append(damage)
            finally:
                path.write_bytes(sound)
                self.list.write_bytes(lists)
        return {place: {outcome: ", ".join(names) for outcome, names in one.items()} for place, one in found.items()}

    def _set_length(self, path: Path, length: int) -> None:
        reader = fastavro.reader(io.BytesIO(self.list.read_bytes()))
        rows = list(reader)
        for row in rows:
            if row["manifest_path"] == str(path):
                row["manifest_length"] = length
        self.list.write_bytes(encoded(reader, rows))

    def outcome(self, shown: Sequence[str] = ()) -> str:
        """What a plan and metadata tables hold, or their error; and what the verifier says."""
        table = tf.open_table(self.root, cache=False)
        dump = copy.deepcopy(self.dump)  # names of chance values do not depend on other damages
        try:
            files = table.scan(FILTER).plan().files.to_pylist()
            matched = [file["fully_matched"] for file in files]
            found = f"{matched} {leaves.digest(dump.plain(json.dumps(files, default=str)))}"
        except TableFormatsError as error:
            found = f"{type(error).__name__}: {str(error).partition('). ')[0]})"
        found += "".join(f" {self._shown(table, name, dump)}" for name in shown)
        found = dump.plain(f"{found} {'; '.join(self._violations(table)) or 'sound'}")
        return re.sub(r"has \d+ bytes, the list says \d+", "has other bytes than the list says", found)

    def _shown(self, table: tf.Table, name: str, dump: Dump) -> str:
        """A digest of a metadata table, or its error. Lengths depend on the folder's name."""
        try:
            rows = getattr(table.inspect, name)().to_pylist()
        except TableFormatsError as error:
            return f"{type(error).__name__}: {str(error).partition('). ')[0]})"
        rows = [{key: value for key, value in row.items() if key != "length"} for row in rows]
        return leaves.digest(dump.plain(json.dumps(rows, default=str)))

    def _violations(self, table: tf.Table) -> Iterator[str]:
        try:
            yield from (f"{one.rule}: {one.what}" for one in table.verify(self.version))
        except TableFormatsError as error:
            yield type(error).__name__


def encoded(reader: Any, records: list[Any]) -> bytes:
    out = io.BytesIO()
    header = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
    fastavro.writer(out, json.loads(reader.metadata["avro.schema"]), records, metadata=header, sync_marker=b"s" * 16)
    return out.getvalue()


def of_record(record: Any, share: leaves.Share) -> Iterator[tuple[str, str, Any]]:
    """(place, damage, record) for each value of a record."""
    for place in leaves.in_share(record, share):
        if "column_sizes" in place or "split_offsets" in place:
            continue
        before = leaves.value_at(record, place)
        for name, value in neighbours(before):
            yield leaves.shown(place), name, leaves.with_value(record, place, value)


def neighbours(value: Any) -> Iterator[tuple[str, Any]]:
    if value is not None:
        yield "null", None
    if isinstance(value, bool):
        yield "other", not value
    elif isinstance(value, int):
        yield from (("+1", value + 1), ("negative", -5))
    elif isinstance(value, str):
        yield from (("longer", f"{value}x"),)
    elif isinstance(value, bytes):
        yield from (("shorter", value[:-1]), ("greatest", b"\xff" * (len(value) - 1) + b"\x7f"))
    elif isinstance(value, list):
        yield from (("[]", []),)
    elif value is None:
        yield from (("7", 7), ("text", "x"), ("list", [1]))


@contextmanager
def a_table(version: str) -> Iterator[Table]:
    with tempfile.TemporaryDirectory() as folder:
        yield Table(Path(folder).resolve() / "table", version)


def main() -> None:
    found = {}
    for version, name in CASES:
        with a_table(version) as table:
            found[f"version {version}, {name}"] = table.outcomes(name)
    leaves.write(PINNED, found)


if __name__ == "__main__":
    main()
