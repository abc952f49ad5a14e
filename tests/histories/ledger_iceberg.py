"""The ledger of an Iceberg table of a directory. Source: Iceberg spec, "Table Metadata", "Manifests", "Snapshots"."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import fastavro

from .ledger import Cache, Entry, Files, Ledger, table_of
from .model import Rows, rows_of

__all__ = ["MAIN", "iceberg_ledger", "metadata_order"]

MAIN = "main"

_METADATA = re.compile(r"metadata/v(\d+)\.metadata\.json")
_APPLICATION = "tableformats.application."


def iceberg_ledger(
    files: Files,
    cache: Cache | None = None,
    makers: Mapping[str, str] | None = None,
    order: list[str] | None = None,
    chains: bool = False,
    branch: str = MAIN,
) -> Ledger:
    """The ledger of a branch: its versions, and what of all of the table is against the specification.

    ``makers``: which operation a column tells of, or a snapshot that a branch is set to, for operations that leave
    nothing else. ``order``: the metadata files
    that were current, in order, where a catalog says it; without it they are numbered. ``chains``: one commit may have
    several snapshots, each the parent of the next one, as those of PyIceberg.
    """
    return _Reader(files, cache or Cache(), makers or {}, chains, branch).read(order)


def metadata_order(files: Files, last: str) -> list[str]:
    """The metadata files that were current, in order, by the metadata log of the last one, which is whole."""
    log = json.loads(files[last]).get("metadata-log") or []
    return ["metadata/" + entry["metadata-file"].rpartition("/")[2] for entry in log] + [last]


class _Reader:
    def __init__(self, files: Files, cache: Cache, makers: Mapping[str, str], chains: bool, branch: str) -> None:
        self._files, self._cache, self._makers, self._chains = files, cache, makers, chains
        self._branch = branch
        self._ledger = Ledger("iceberg")

    def read(self, order: list[str] | None) -> Ledger:
        if order is None:
            numbers = sorted(int(m.group(1)) for path in self._files if (m := _METADATA.fullmatch(path)))
            if numbers != list(range(1, len(numbers) + 1)):
                self._wrong(f"metadata files are not numbered without gaps: {numbers}")
            order = [f"metadata/v{number}.metadata.json" for number in numbers]
        before: dict[str, Any] | None = None
        for path in order:
            metadata = self._cache.of(path, lambda path=path: json.loads(self._files[path]))
            self._follow(before, metadata, path)
            before = metadata
        return self._ledger

    def _wrong(self, what: str) -> None:
        self._ledger.violations.append(what)

    def _follow(self, before: dict[str, Any] | None, after: dict[str, Any], path: str) -> None:
        root = _plain(after["location"].rstrip("/"))
        snapshots = {s["snapshot-id"]: s for s in after.get("snapshots") or ()}
        known = {} if before is None else {s["snapshot-id"]: s for s in before.get("snapshots") or ()}
        if lost := set(known) - set(snapshots):
            self._wrong(f"AllSnapshotsCommitted: {path} lacks the snapshots {sorted(lost)}, which were committed")
        if before is not None and before.get("table-uuid") != after.get("table-uuid"):
            self._wrong(f"{path} is of another table")
        heads, heads_before = _heads(after), {} if before is None else _heads(before)
        new = [s for s in snapshots.values() if s["snapshot-id"] not in known]
        new.sort(key=lambda snapshot: int(snapshot.get("sequence-number", 0)))
        maker = None
        last = 0 if before is None else before.get("last-sequence-number", 0)
        # A table that is replaced begins anew: its columns change with the first snapshot of the new definition.
        is_replaced = before is not None and before["current-schema-id"] != after["current-schema-id"] and bool(new)
        of: str | None = MAIN
        for snapshot in new:
            maker = snapshot["summary"].get("op")
            if not self._chains:
                of = next((name for name, head in heads.items() if head == snapshot["snapshot-id"]), None)
            head = None if is_replaced and of == MAIN else heads_before.get(of or "")
            if snapshot.get("parent-snapshot-id") != head:
                self._wrong(f"{path}: the parent of {snapshot['snapshot-id']} is not the snapshot before it, {head}")
            if after["format-version"] > 1 and snapshot["sequence-number"] != last + 1:
                self._wrong(f"SequentialSequenceNumbers: {path}: {snapshot['sequence-number']} follows {last}")
            if self._chains:
                heads_before[MAIN], last = snapshot["snapshot-id"], snapshot["sequence-number"]
        if (len(new) > 1 and not self._chains) or (new and new[-1]["snapshot-id"] != heads.get(of or "")):
            self._wrong(f"{path} has more new snapshots than the one that a branch came to")
        if after["format-version"] > 1 and after["last-sequence-number"] != max(
            [0, *(s["sequence-number"] for s in snapshots.values())]
        ):
            self._wrong(f"SequentialSequenceNumbers: {path}: the last sequence number is that of no snapshot")
        columns = _columns(after) - (set() if before is None else _columns(before))
        maker = maker or next((self._makers[name] for name in columns if name in self._makers), None)
        self._ledger.referenced.add(path)
        for snapshot in new:
            self._note_files(snapshot, root)
        current = heads.get(self._branch)
        is_moved = current != (None if before is None else _heads(before).get(self._branch))
        if is_moved and not new:
            maker = maker or self._makers.get(f"snapshot {current}")
        if (new and of == self._branch) or is_moved or (not new and self._branch == MAIN):
            rows, applications = self._state(snapshots.get(current), snapshots, after, root)  # type: ignore[arg-type]
            self._ledger.entries.append(Entry(-1 if current is None else current, maker, rows, applications))

    def _state(
        self, snapshot: dict[str, Any] | None, snapshots: Mapping[int, Any], metadata: dict[str, Any], root: str
    ) -> tuple[Rows, dict[str, int]]:
        if snapshot is None:
            return Counter(), {}
        key = f"state of {snapshot['snapshot-id']}"
        rows = self._cache.of(key, lambda: self._rows(snapshot, metadata, root))
        applications: dict[str, int] = {}
        ancestor: dict[str, Any] | None = snapshot
        while ancestor is not None:
            for name, value in ancestor["summary"].items():
                if name.startswith(_APPLICATION):
                    applications.setdefault(name[len(_APPLICATION) :], int(value))
            ancestor = snapshots.get(ancestor.get("parent-snapshot-id"))
        self._note_files(snapshot, root)
        return rows, applications

    def _relative(self, path: str, root: str) -> str:
        return _plain(path).removeprefix(root + "/")

    def _records(self, path: str) -> list[dict[str, Any]]:
        if path not in self._files:
            return self._cache.of(path, lambda: self._wrong(f"{path} is named and not there") or [])  # type: ignore[no-any-return]
        return self._cache.of(path, lambda: list(fastavro.reader(io.BytesIO(self._files[path]))))  # type: ignore[no-any-return]

    def _note_files(self, snapshot: dict[str, Any], root: str) -> None:
        listed = self._relative(snapshot["manifest-list"], root)
        self._ledger.referenced.add(listed)
        for manifest in self._records(listed):
            path = self._relative(manifest["manifest_path"], root)
            self._ledger.referenced.add(path)
            for entry in self._records(path):
                if entry["status"] != 2:
                    self._ledger.referenced.add(self._relative(entry["data_file"]["file_path"], root))

    def _rows(self, snapshot: dict[str, Any], metadata: dict[str, Any], root: str) -> Rows:
        version, number = snapshot["snapshot-id"], snapshot.get("sequence-number", 0)
        live: dict[str, tuple[int, dict[str, Any]]] = {}
        deletes: list[tuple[int, dict[str, Any]]] = []
        for manifest in self._records(self._relative(snapshot["manifest-list"], root)):
            for entry in self._records(self._relative(manifest["manifest_path"], root)):
                file = entry["data_file"]
                own = entry.get("sequence_number")
                own = manifest.get("sequence_number", 0) if own is None and entry["status"] == 1 else own or 0
                if own > number:
                    self._wrong(
                        f"SequentialSequenceNumbers: snapshot {version} has an entry of number {own}, which comes later"
                    )
                if entry["status"] == 2:
                    continue
                if file.get("content", 0):
                    deletes.append((own, file))
                elif file["file_path"] in live:
                    self._wrong(f"snapshot {version} has {file['file_path']} twice")
                else:
                    live[file["file_path"]] = own, file
        gone = self._deleted(deletes, live, version, root)
        found: Rows = Counter()
        for path, (_, file) in live.items():
            name = self._relative(path, root)
            if name not in self._files:
                self._wrong(f"snapshot {version} names {name}, which is not there")
                continue
            rows = self._cache.of(name, lambda name=name: table_of(self._files[name]).to_pylist())
            if len(rows) != file["record_count"] or len(self._files[name]) != file["file_size_in_bytes"]:
                self._wrong(f"{name} has other rows or bytes than its entry says")
            found += rows_of(row for i, row in enumerate(rows) if i not in gone.get(path, ()))
        self._check_counts(snapshot, live)
        return found

    def _deleted(
        self, deletes: list[tuple[int, dict[str, Any]]], live: Mapping[str, Any], version: int, root: str
    ) -> dict[str, set[int]]:
        """Deleted positions by file. NoDanglingDeleteFiles: each delete file names a live data file."""
        gone: dict[str, set[int]] = {}
        for number, file in deletes:
            if file["content"] != 1 or str(file["file_format"]).upper() != "PARQUET":
                raise NotImplementedError("the ledger reads position deletes in Parquet alone")
            pairs = table_of(self._files[self._relative(file["file_path"], root)]).to_pylist()
            if not any(pair["file_path"] in live for pair in pairs):
                self._wrong(
                    f"NoDanglingDeleteFiles: snapshot {version}: the deletes {file['file_path']} are of no live file"
                )
            for pair in pairs:
                if pair["file_path"] in live and live[pair["file_path"]][0] <= number:
                    gone.setdefault(pair["file_path"], set()).add(pair["pos"])
        return gone

    def _check_counts(self, snapshot: dict[str, Any], live: Mapping[str, tuple[int, dict[str, Any]]]) -> None:
        told = {k: snapshot["summary"].get(k) for k in ("total-data-files", "total-records")}
        known = {
            "total-data-files": str(len(live)),
            "total-records": str(sum(file["record_count"] for _, file in live.values())),
        }
        if any(value is not None and value != known[name] for name, value in told.items()):
            self._wrong(f"snapshot {snapshot['snapshot-id']} says {told}, and has {known}")


def _heads(metadata: dict[str, Any]) -> dict[str, int]:
    """The snapshot of each branch."""
    found = {name: ref["snapshot-id"] for name, ref in (metadata.get("refs") or {}).items() if ref["type"] == "branch"}
    current = metadata.get("current-snapshot-id")
    return found if current in (None, -1) else {**found, MAIN: current}


def _plain(path: str) -> str:
    return path.removeprefix("file://").removeprefix("file:")


def _columns(metadata: dict[str, Any]) -> set[str]:
    current = metadata["current-schema-id"]
    return {f["name"] for schema in metadata["schemas"] if schema["schema-id"] == current for f in schema["fields"]}
