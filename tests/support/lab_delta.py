"""The laboratory's Delta writer: a log of JSON commits, checkpoints and compactions by hand.

Written from the protocol: column mapping by name, type widening, deletion vectors, partition values as text.
Nothing of the library takes part.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from tests.support.delta_changes import inline_vector, mapped
from tests.support.delta_log import METADATA_TYPE, DeltaLog, add, metadata, reconciled, remove
from tests.support.lab import Column, DataFile, Lab, Part, Row
from tests.support.strategies import to_array, type_of

_READS = ["columnMapping", "deletionVectors", "timestampNtz", "typeWidening", "v2Checkpoint"]
PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": _READS, "writerFeatures": _READS}
DELTA = {"int": "integer", "decimal": "decimal(9,2)", "decimal_24": "decimal(24,4)", "decimal_38": "decimal(38,10)"}
"""Where the log's name of a kind is another one."""
_EPOCH = dt.datetime(1970, 1, 1)
_DECIMAL = re.compile('"decimal ([^"]+)"')
"""A number with all its digits, which ``json`` cannot write."""


class DeltaLab(Lab):
    """Versions are 0, 1, ...; 0 is the empty table."""

    kinds = (
        "boolean",
        "int",
        "long",
        "float",
        "double",
        "string",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
        "decimal",
        "decimal_24",
        "decimal_38",
    )
    wider = {
        "int": ("long", "double", "decimal_24"),
        "long": ("decimal_24",),
        "float": ("double",),
        "decimal": ("decimal_24",),
        "date": ("timestamp_ntz",),
    }
    operations = (
        "append",
        "append",
        "rewrite",
        "remove",
        "compact",
        "delete",
        "delete",
        "restore",
        "add_column",
        "rename",
        "drop_and_add_again",
        "promote",
        "promote",
        "checkpoint",
        "checkpoint",
        "compact_log",
    )

    def create(self) -> None:
        parts = [
            Part(1000 + c.id, c.id, "identity")
            for c in self.columns
            if c.kind not in ("binary", "float", "double") and self.draw(st.booleans())
        ]
        if len(parts) == len(self.columns):
            parts.pop()
        self.specs.append(tuple(parts))
        self.log = DeltaLog(self.root)
        self.number = -1
        self.adds: dict[str, dict[str, Any]] = {}
        self.gone: list[DataFile] = []
        self._commit({"protocol": PROTOCOL}, self._metadata())
        self.settle(0)

    def partition_of(self, row: Row) -> tuple[Any, ...]:
        return tuple(row.get(p.source) for p in self.specs[0])

    def normal(self, row: Row) -> Row:
        """Protocol, "Partition Value Serialization": the empty string is NULL."""
        sources = {p.source for p in self.specs[0]}
        return {i: None if i in sources and value == "" else value for i, value in row.items()}

    def may_promote(self, column: Column, kind: str) -> bool:
        return column.id not in {p.source for p in self.specs[0]} or self.draw(st.booleans())

    # ---- operations of this format ------------------------------------------------------------------------------

    def delete(self) -> None:
        """Rows of up to two files go by deletion vectors."""
        actions: list[dict[str, Any]] = []
        for file in self.some_files(2):
            actions.append(self._removed(file))
            self.delete_rows(file)
            if file.live() or self.chance.random() < 0.5:
                actions.append(self._added(file))
            else:
                self.files = [f for f in self.files if f is not file]
        self._commit(*actions)
        self.settle(self.number)

    def restore(self) -> None:
        """A file that was removed comes back without its vector, or with another."""
        if self.gone:
            file = self.gone.pop()
            file.dead = set()
            self.delete_rows(file)
            self.files.append(file)
            self._commit(self._added(file))
            self.settle(self.number)

    def checkpoint(self) -> None:
        """A classic checkpoint, in one file or two, or a V2 checkpoint with sidecars, of any version so far."""
        at = self.draw(st.integers(0, self.number))
        wanted = {f.name for f in METADATA_TYPE}
        actions = [a for a in self._state(0, at) if "remove" not in a]
        actions = [
            {"metaData": {k: v for k, v in a["metaData"].items() if k in wanted}} if "metaData" in a else a
            for a in actions
        ]
        shape = self.draw(st.sampled_from(["classic", "parts", "v2"]))
        if shape == "classic":
            self.log.checkpoint(f"{at:020d}.checkpoint.parquet", *actions)
        elif shape == "parts":
            for part, half in enumerate((actions[::2], actions[1::2]), 1):
                self.log.checkpoint(f"{at:020d}.checkpoint.{part:010d}.{2:010d}.parquet", *half)
        else:
            self._v2_checkpoint(at, actions)

    def compact_log(self) -> None:
        if self.number > 1:
            first = self.draw(st.integers(0, self.number - 1))
            self.log.compact(first, self.draw(st.integers(first + 1, self.number)))

    def _v2_checkpoint(self, at: int, actions: list[dict[str, Any]]) -> None:
        files = [a for a in actions if "add" in a]
        manifest = [a for a in actions if "add" not in a]
        for i, some in enumerate((files[::2], files[1::2])):
            self.log.checkpoint(f"_sidecars/{at}-{i}.parquet", *some)
            manifest.append({"sidecar": {"path": f"{at}-{i}.parquet", "sizeInBytes": 1, "modificationTime": 1}})
        text = "\n".join(map(json.dumps, [{"checkpointMetadata": {"version": at}}, *manifest]))
        self.log.write(f"{at:020d}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json", text.encode())

    # ---- commits ------------------------------------------------------------------------------------------------

    def commit(self, added: Sequence[DataFile] = (), removed: Sequence[DataFile] = ()) -> int:
        actions = [self._removed(f) for f in removed]
        self.gone += removed
        for file in added:
            self._write(file)
        self._commit(*actions, *map(self._added, added))
        return self.number

    def commit_schema(self) -> int:
        # A file that comes back would bring columns that are gone; that is allowed, but says nothing new.
        self.gone.clear()
        self._commit(self._metadata())
        return self.number

    def _commit(self, *actions: dict[str, Any]) -> None:
        self.number += 1
        self.log.commit(self.number, {"commitInfo": {"operation": "TEST"}}, *actions)

    def _state(self, first: int, last: int) -> list[dict[str, Any]]:
        return reconciled([self.log.actions(v) for v in range(first, last + 1)])

    def _metadata(self) -> dict[str, Any]:
        sources = {p.source for p in self.specs[0]}
        names = tuple(c.name for p in self.specs[0] for c in self.columns if c.id == p.source)
        assert len(names) == len(sources)
        configuration = {
            "delta.columnMapping.mode": "name",
            "delta.enableDeletionVectors": "true",
            "delta.enableTypeWidening": "true",
            "delta.columnMapping.maxColumnId": str(self.next_id),
        }
        return {"metaData": metadata(*map(_field, self.columns), partition=names, configuration=configuration)}

    # ---- files --------------------------------------------------------------------------------------------------

    def _write(self, file: DataFile) -> None:
        """Partition columns stand in the log alone."""
        sources = {p.source for p in self.specs[0]}
        columns = {
            f"col-{c.id}": to_array([r[c.id] for r in file.rows], type_of(c.kind))
            for c in file.columns
            if c.id not in sources
        }
        target = self.root / file.path
        pq.write_table(pa.table(columns), target, row_group_size=2)
        file.size = target.stat().st_size

    def _added(self, file: DataFile) -> dict[str, Any]:
        kinds = {c.id: c.kind for c in file.columns}
        values = {
            f"col-{p.source}": _text(kinds[p.source], v) for p, v in zip(self.specs[0], file.partition, strict=True)
        }
        more: dict[str, Any] = {"partitionValues": values, "size": file.size}
        if file.counted:
            more["stats"] = _DECIMAL.sub(
                r"\1", json.dumps(self._statistics(file, kinds), default="decimal {:f}".format)
            )
        if file.dead:
            more["deletionVector"] = inline_vector(*sorted(file.dead))
        self.adds[file.path] = add(quote(file.path), **more)["add"]
        return {"add": self.adds[file.path]}

    def _removed(self, file: DataFile) -> dict[str, Any]:
        stored = self.adds[file.path]
        return remove(quote(file.path), **{k: stored[k] for k in ("deletionVector",) if k in stored})

    def _statistics(self, file: DataFile, kinds: dict[int, str]) -> dict[str, Any]:
        found: dict[str, Any] = {"numRecords": len(file.rows), "tightBounds": not file.dead}
        sources = {p.source for p in self.specs[0]}
        said = {i: d for i, d in file.described.items() if i not in sources}
        through = float if self.chance.random() < 0.3 else Decimal
        for name, member in (("minValues", "lower"), ("maxValues", "upper")):
            bounds = {i: _bound(kinds[i], getattr(d, member), member == "upper") for i, d in said.items()}
            # Some writers take decimals through doubles.
            bounds = {i: through(value) if isinstance(value, Decimal) else value for i, value in bounds.items()}
            found[name] = {f"col-{i}": value for i, value in bounds.items() if value is not None}
        found["nullCount"] = {f"col-{i}": self._nulls(file, d.nulls) for i, d in said.items() if d.nulls is not None}
        return found

    def _nulls(self, file: DataFile, counted: int) -> int:
        """With wide bounds a count says something only where it is 0 or the number of rows."""
        if file.dead and len(file.rows) > 1 and self.chance.random() < 0.3:
            return self.chance.randrange(1, len(file.rows))
        return counted


def _bound(kind: str, value: Any, is_upper: bool) -> Any:
    """A bound as JSON: timestamps cut downwards to milliseconds, strings to 32 characters."""
    if value is None or kind in ("binary", "boolean") or value in (float("inf"), float("-inf")):
        return None
    if kind == "date":
        return (_EPOCH + dt.timedelta(value)).date().isoformat()
    if kind.startswith("timestamp"):
        text = (_EPOCH + dt.timedelta(milliseconds=value // 1000)).isoformat(timespec="milliseconds")
        return text + ("Z" if kind == "timestamp" else "")
    if kind == "string" and len(value) > 32:
        return value[:32] + _tie_break(value[32:]) if is_upper else value[:32]
    return value


def _tie_break(rest: str) -> str:
    """What Spark puts behind a cut maximum, so that it is no less than the value."""
    kept = rest[: len(rest) - len(rest.lstrip("\U0010ffff"))]
    following = rest[len(kept) :]
    return kept + ("" if not following else "\x7f" if following[0] < "\x7f" else "\U0010ffff")


def _text(kind: str, value: Any) -> str | None:
    """Protocol, "Partition Value Serialization"."""
    if value is None:
        return None
    if kind == "boolean":
        return str(value).lower()
    if kind == "date":
        return (_EPOCH + dt.timedelta(value)).date().isoformat()
    if kind.startswith("timestamp"):
        text = (_EPOCH + dt.timedelta(microseconds=value)).isoformat(" ", timespec="microseconds")
        return text.replace(" ", "T") + "Z" if kind == "timestamp" else text
    return str(value)


def _field(column: Column) -> dict[str, Any]:
    made = mapped(column.name, DELTA.get(column.kind, column.kind), column.id)
    names = [DELTA.get(kind, kind) for kind in (*column.was, column.kind)]
    if column.was:
        made["metadata"]["delta.typeChanges"] = [
            {"fromType": old, "toType": new} for old, new in zip(names, names[1:], strict=False)
        ]
    return made


__all__ = ["DeltaLab"]
