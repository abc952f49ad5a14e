"""The ledger of a Delta table. Source: Delta PROTOCOL.md, "Delta Log Entries", "Actions", "Checkpoints"."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from .ledger import Cache, Entry, Files, Ledger, table_of
from .model import Rows, rows_of

__all__ = ["delta_ledger"]

_COMMIT = re.compile(r"_delta_log/(\d{20})\.json")
_CHECKPOINT = re.compile(r"_delta_log/(\d{20})\.checkpoint\.parquet")
_CHECKSUM = re.compile(r"_delta_log/(\d{20})\.crc")
_HINT = "_delta_log/_last_checkpoint"


def delta_ledger(files: Files, cache: Cache | None = None, makers: Mapping[str, str] | None = None) -> Ledger:
    """The ledger of a table whose log is whole from version 0 on.

    ``makers``: which operation a column tells of, for operations that leave nothing else.
    """
    return _Reader(files, cache or Cache(), makers or {}).read()


class _Reader:
    def __init__(self, files: Files, cache: Cache, makers: Mapping[str, str]) -> None:
        self._files, self._cache, self._makers = files, cache, makers
        self._ledger = Ledger("delta")
        self._live: dict[str, dict[str, Any]] = {}
        self._columns: dict[str, str] = {}
        self._applications: dict[str, int] = {}
        self._transactions: dict[str, int] = {}
        self._live_at: dict[int, set[str]] = {}
        self._bytes_at: dict[int, int] = {}

    def read(self) -> Ledger:
        versions = sorted(int(m.group(1)) for path in self._files if (m := _COMMIT.fullmatch(path)))
        if versions != list(range(len(versions))):
            self._wrong(f"versions are not contiguous: {versions}")
        for version in versions:
            path = f"_delta_log/{version:020d}.json"
            self._replay(version, self._cache.of(path, lambda path=path: self._parsed(path)))
        self._look_at_upkeep()
        return self._ledger

    def _wrong(self, what: str) -> None:
        self._ledger.violations.append(what)

    def _parsed(self, path: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._files[path].decode().splitlines() if line.strip()]

    def _replay(self, version: int, actions: list[dict[str, Any]]) -> None:
        if not actions:
            self._wrong(f"version {version} is empty")
        of_kind: dict[str, list[dict[str, Any]]] = {}
        for action in actions:
            ((kind, value),) = action.items()
            of_kind.setdefault(kind, []).append(value)
        info = (of_kind.get("commitInfo") or [{}])[0]
        # deltalake puts what it is told into the commitInfo itself.
        maker = json.loads(info.get("userMetadata") or "{}").get("op") or info.get("op")
        adds, removes = of_kind.get("add", []), of_kind.get("remove", [])
        self._check_files(version, adds, removes)
        if (transaction := info.get("txnId")) is not None:
            if (earlier := self._transactions.setdefault(transaction, version)) != version:
                self._wrong(f"versions {earlier} and {version} are one commit")
        for value in of_kind.get("metaData", []):
            fields = {f["name"]: f["type"] for f in json.loads(value["schemaString"])["fields"]}
            new = [name for name in fields if name not in self._columns]
            maker = maker or next((self._makers[name] for name in new if name in self._makers), None)
            self._columns = fields
        for value in of_kind.get("txn", []):
            self._applications[value["appId"]] = value["version"]
        for value in removes:
            self._live.pop(value["path"], None)
        for value in adds:
            self._live[value["path"]] = value
            self._ledger.referenced.add(unquote(value["path"]))
        self._live_at[version] = set(self._live)
        self._bytes_at[version] = sum(value["size"] for value in self._live.values())
        self._ledger.entries.append(
            Entry(version, maker, self._rows(version), dict(self._applications), info.get("readVersion"))
        )

    def _check_files(self, version: int, adds: list[dict[str, Any]], removes: list[dict[str, Any]]) -> None:
        """ValidDeltaLog: no version adds and removes one file, none adds what is live or removes what is not."""
        added, removed = [a["path"] for a in adds], [r["path"] for r in removes]
        if len(set(added)) != len(added) or len(set(removed)) != len(removed) or set(added) & set(removed):
            self._wrong(f"ValidDeltaLog: version {version} has two actions of one file")
        if again := set(added) & set(self._live):
            self._wrong(f"ValidDeltaLog: version {version} adds files that are live: {sorted(again)}")
        if absent := set(removed) - set(self._live):
            self._wrong(f"ValidDeltaLog: version {version} removes files that are not live: {sorted(absent)}")

    def _rows(self, version: int) -> Rows:
        found: Rows = Counter()
        for path, add in self._live.items():
            name = unquote(path)
            if name not in self._files and name not in self._cache._found:
                self._wrong(f"version {version} names {name}, which is not there")
                continue
            found += self._cache.of(name, lambda name=name, add=add: self._file_rows(name, add))
        return found

    def _file_rows(self, name: str, add: dict[str, Any]) -> Rows:
        data = self._files[name]
        if len(data) != add["size"]:
            self._wrong(f"{name} has {len(data)} bytes, and its action says {add['size']}")
        rows = table_of(data).to_pylist()
        counted = json.loads(add.get("stats") or "{}").get("numRecords", len(rows))
        if counted != len(rows):
            self._wrong(f"{name} has {len(rows)} rows, and its statistics say {counted}")
        values = {k: _value(v, self._columns[k]) for k, v in add["partitionValues"].items()}
        return rows_of({**row, **values} for row in rows)

    def _look_at_upkeep(self) -> None:
        """Checkpoints and checksum files say what the commits say; the hint names a checkpoint that is there."""
        checkpoints = set()
        for path, data in self._files.items():
            if match := _CHECKPOINT.fullmatch(path):
                version = int(match.group(1))
                checkpoints.add(version)
                adds = table_of(data).column("add").to_pylist()
                if {add["path"] for add in adds if add is not None} != self._live_at.get(version):
                    self._wrong(f"the checkpoint of version {version} has other files than the commits")
            elif match := _CHECKSUM.fullmatch(path):
                version, told = int(match.group(1)), json.loads(data)
                known = len(self._live_at.get(version, ())), self._bytes_at.get(version)
                if (told["numFiles"], told["tableSizeBytes"]) != known:
                    self._wrong(f"the checksum file of version {version} says {told}, and the commits say {known}")
        if _HINT in self._files and json.loads(self._files[_HINT])["version"] not in checkpoints:
            self._wrong("the hint names a checkpoint that is not there")


def _value(text: str | None, kind: str) -> Any:
    return None if text is None else int(text) if kind in ("long", "integer", "short", "byte") else text
