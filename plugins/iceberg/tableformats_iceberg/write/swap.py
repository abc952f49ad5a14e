"""The swap: makes new metadata the current one of a table, or learns that another writer was faster.

A directory has ``vN.metadata.json``, which is written only if it is not there, and then the hint. A catalog either
applies updates itself, or swaps the location of its metadata file for that of one that was written here. After any
answer but a clear yes the newest metadata is read, and says whether the commit is in it. So a commit whose answer was
lost is not taken for that of a rival, and nothing is deleted that the table may refer to.
Source: Iceberg spec, "File System Tables", "Metastore Tables"; Iceberg REST catalog, ``updateTable``.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tableformats.plugin import (
    CatalogConnectionError,
    CatalogError,
    CatalogPermissionError,
    CatalogWriter,
    ConstraintViolationError,
    PutOutcome,
    TableFormatsError,
    TableNotFoundError,
    TableUpdates,
    UnsupportedFeatureError,
    all_at_once,
    check_exclusive_puts,
    current_ms,
    dataclass,
    lazy_pattern,
    put_exclusively,
)

from ..metadata.locate import HINT, is_metadata_name, locate
from ..metadata.table_metadata import TableMetadata, metadata_json, metadata_of
from .json_form import check_form
from .metadata_updates import apply_updates
from .properties import DELETE_AFTER_COMMIT, METADATA_CODEC
from .requirements import failed_requirement

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = ["CatalogSwap", "CurrentMetadata", "DirectorySwap", "MetadataSwap", "read_current"]

Updates = Sequence[Mapping[str, Any]]

LOOKS_S = (0.0, 0.2, 1.0)
"""Seconds before each look at the newest metadata, after an answer that says nothing."""
METADATA_PATH = "write.metadata.path"
_DIRECTORY_NAME = lazy_pattern(r"^v(\d{1,18})(\.gz)?\.metadata\.json(\.gz)?$")
_CATALOG_NAME = lazy_pattern(r"^(\d{1,18})-")


def _nothing() -> None:
    pass


@dataclass(frozen=True)
class CurrentMetadata:
    """The metadata that is current.

    Attributes
    ----------
    stored_path : str
        Of its file, as the table's metadata log or the catalog spells it.
    json : dict
        All of it, with the fields that are not known.
    parsed : TableMetadata
    """

    stored_path: str
    json: dict[str, Any]
    parsed: TableMetadata


class MetadataSwap(ABC):
    """Commits to one table.

    Attributes
    ----------
    known : CurrentMetadata or None
        The metadata that was current last. What newer metadata has of it is not parsed again.
    """

    known: CurrentMetadata | None = None
    asked_ns: int | None = None
    """When :meth:`newest` was called last, by :func:`time.monotonic_ns`."""

    @abstractmethod
    def newest(self) -> CurrentMetadata:
        """The metadata that is current now. Raises as :func:`read_metadata` does, and what the catalog raises."""

    @abstractmethod
    def check(self, version: int) -> None:
        """Refuse a store or a catalog to which tables of that format version cannot be committed.

        Raises
        ------
        UnsupportedFeatureError
        """

    @abstractmethod
    def commit(
        self,
        base: CurrentMetadata | None,
        requirements: Updates,
        updates: Updates,
        store: Callable[[], None] = _nothing,
    ) -> PutOutcome:
        """Apply updates to the table, if it still fulfils the requirements.

        Parameters
        ----------
        base : CurrentMetadata or None
            What the updates were made upon. None: the table is created.
        requirements, updates : sequence of mapping
            In the JSON of the REST catalog.
        store : callable
            Stores the files that the updates name. It is called before they are tried.

        Returns
        -------
        PutOutcome
            LOST: certainly nothing was committed. UNKNOWN: nobody can say, although the newest metadata was looked at.

        Raises
        ------
        ConstraintViolationError, UnsupportedFeatureError
            The updates cannot be applied.
        """

    def part(self, requirements: Updates, updates: Updates) -> TableUpdates:
        """What a commit of several tables of a catalog has of this one. Raises UnsupportedFeatureError."""
        raise UnsupportedFeatureError(
            "only a catalog commits to several tables at once", field="transaction", hint="Nothing was committed"
        )

    def looked_up(self, outcome: PutOutcome, requirements: Updates, updates: Updates) -> PutOutcome:
        """What the newest metadata says of a commit whose answer was no yes.

        Metadata files that were written are left where they are: an answer that was late may still name them.
        """
        for wait_s in LOOKS_S:
            time.sleep(wait_s)
            try:
                newest = self.newest().json
            except (TableFormatsError, OSError):  # of the catalog, the store or the file: nothing is known
                continue
            if holds(newest, updates):
                return PutOutcome.WON
            if outcome is PutOutcome.LOST or failed_requirement(newest, requirements) is not None:
                return PutOutcome.LOST
        return PutOutcome.UNKNOWN

    def after_commit(self) -> None:  # noqa: B027
        """Upkeep after a commit that won."""


def read_current(
    storage: Storage,
    path: str,
    stored_path: str,
    data: bytes | None = None,
    earlier: CurrentMetadata | None = None,
) -> CurrentMetadata:
    """Read a metadata file. ``data`` is its content, where it is known. Raises as :func:`read_metadata` does."""
    if data is None:
        try:
            data = storage.read_bytes(path)
        except FileNotFoundError:
            raise TableNotFoundError("there is no such metadata file", path=path) from None
    value = metadata_json(data, path, storage.limits)
    parsed = _parsed(value, path, storage, len(data), earlier)
    check_form(value, path)
    return CurrentMetadata(stored_path, value, parsed)


def _parsed(value: Any, path: str, storage: Storage, size: int, earlier: CurrentMetadata | None) -> TableMetadata:
    known = None if earlier is None else (earlier.json, earlier.parsed)
    return metadata_of(value, path, storage.limits, size, known)


def _encoded(metadata: Mapping[str, Any], compress: bool) -> bytes:
    """The content of a metadata file. Raises ConstraintViolationError for half a surrogate pair."""
    try:
        text = json.dumps(metadata, separators=(",", ":"), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ConstraintViolationError(
            "a text of the commit holds half a surrogate pair", field="metadata", hint="Nothing was written"
        ) from None
    return gzip.compress(text, 6, mtime=0) if compress else text


def is_compressed(properties: Mapping[str, str]) -> bool:
    """Whether the table's metadata files are compressed.

    Raises UnsupportedFeatureError for another value of ``write.metadata.compression-codec`` than none and gzip.
    """
    return METADATA_CODEC.of(properties) == "gzip"


def logged_no_more(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> list[str]:
    """The metadata files that fell out of the metadata log, where the table's properties say that they are deleted.

    Raises UnsupportedFeatureError for a value that is not known, so it is asked for before the commit.
    Source: Iceberg documentation, "Configuration", ``write.metadata.delete-after-commit.enabled``.
    """
    if before is None or not DELETE_AFTER_COMMIT.of(after.get("properties") or {}):
        return []
    kept = {entry["metadata-file"] for entry in after.get("metadata-log") or ()}
    return [e["metadata-file"] for e in before.get("metadata-log") or () if e["metadata-file"] not in kept]


def holds(newest: Mapping[str, Any], updates: Updates) -> bool:
    """Whether metadata shows that the updates were applied: by the snapshot or the uuid that they bring, or because
    they would change nothing.
    """
    snapshots = {u["snapshot"]["snapshot-id"] for u in updates if u["action"] == "add-snapshot"}
    if snapshots:
        return snapshots <= {one["snapshot-id"] for one in newest.get("snapshots") or []}
    for update in updates:
        if update["action"] == "assign-uuid":
            return str(newest.get("table-uuid", "")).lower() == str(update["uuid"]).lower()
    try:
        return apply_updates(newest, updates, now_ms=0) is newest
    except TableFormatsError:
        return False


def _stored_path(metadata: Mapping[str, Any], path: str) -> str:
    """The path of a metadata file of a directory, as the metadata spells the location."""
    return f"{str(metadata['location']).rstrip('/')}/metadata/{path.rpartition('/')[2]}"


# ---- directories ----------------------------------------------------------------------------------------------------


class DirectorySwap(MetadataSwap):
    """A table of a directory without a catalog. Its newest metadata file is the one of the greatest version.

    Parameters
    ----------
    storage : Storage
        Its root is the table's directory.
    """

    def __init__(self, storage: Storage, known: CurrentMetadata | None = None) -> None:
        self._storage = storage
        self.known = known
        self._won: int | None = None
        self._let_go: list[str] = []

    def newest(self) -> CurrentMetadata:
        """See :meth:`MetadataSwap.newest`. Raises UnsupportedFeatureError where a catalog has named the files."""
        self.asked_ns = time.monotonic_ns()
        if self.known is not None and self._is_newest(self.known.parsed.path):
            return self.known
        path = locate(self._storage).metadata_path
        self._version_of(path)
        current = read_current(self._storage, path, path, earlier=self.known)
        self.known = CurrentMetadata(_stored_path(current.json, path), current.json, current.parsed)
        return self.known

    def _is_newest(self, path: str) -> bool:
        """Whether a local file is there and its successor is not. False: a listing has to say which is the newest."""
        if not self._storage.is_local:
            return False
        version = self._version_of(path) + 1
        names = [f"v{version}{ending}" for ending in (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")]
        following = [self._storage.join("metadata", name) for name in names]
        # A file is deleted before its successor. So where it is there, the successor was not deleted.
        return not any(map(self._storage.is_file, following)) and self._storage.is_file(path)

    def _version_of(self, path: str) -> int:
        match = _DIRECTORY_NAME.match(path.rpartition("/")[2])
        if match is None or self._storage.root.endswith(".json"):
            raise UnsupportedFeatureError(
                "a catalog decides which metadata of this table is current: its files are not called vN.metadata.json",
                path=path,
                field="catalog",
                hint="Nothing was written; open the table by open_table(identifier, catalog=...)",
            )
        return int(match.group(1))

    def check(self, version: int) -> None:
        """See :meth:`MetadataSwap.check`."""
        check_exclusive_puts(self._storage, self._storage.join("metadata"))

    def commit(
        self,
        base: CurrentMetadata | None,
        requirements: Updates,
        updates: Updates,
        store: Callable[[], None] = _nothing,
    ) -> PutOutcome:
        """See :meth:`MetadataSwap.commit`."""
        current, previous = (None, None) if base is None else (base.json, base.stored_path)
        if failed_requirement(current, requirements) is not None:
            return PutOutcome.LOST
        if base is None and any(is_metadata_name(f.name) for f in self._storage.list(self._storage.join("metadata"))):
            return PutOutcome.LOST
        found = apply_updates(current, updates, now_ms=current_ms(), previous_file=previous)
        if found is current:
            return PutOutcome.WON
        version = 1 if base is None else self._version_of(base.parsed.path) + 1
        # All writers upon one version choose one name, so the codec is that of the version before.
        compress = is_compressed(found.get("properties", {}))
        if base is not None:  # its codec is not checked: this commit may correct the property
            compress = base.parsed.properties.get(METADATA_CODEC.name, "none").lower() == "gzip"
        name = f"v{version}{'.gz' if compress else ''}.metadata.json"
        path = self._storage.join("metadata", name)
        data = _encoded(found, compress)
        parsed = _parsed(found, path, self._storage, len(data), base)  # before the swap, because it can fail
        let_go = logged_no_more(current, found)
        store()
        outcome = put_exclusively(self._storage, path, data)
        if outcome is PutOutcome.WON and base is not None:
            outcome = self._rechecked(base, path, version)
        if outcome is PutOutcome.WON:
            self._won = version
            self.known = CurrentMetadata(_stored_path(found, path), found, parsed)
            self._let_go = let_go
        return outcome

    def _rechecked(self, base: CurrentMetadata, path: str, version: int) -> PutOutcome:
        """What became of a metadata file that was written: LOST where others had gone on before it was."""
        try:
            if not self._is_overtaken(base, version):
                return PutOutcome.WON
        except OSError:
            return PutOutcome.UNKNOWN
        with contextlib.suppress(OSError):  # a file that stays is older than what is current
            self._storage.delete(path)
        return PutOutcome.LOST

    def _is_overtaken(self, base: CurrentMetadata, version: int) -> bool:
        """Whether the file could be written only because writers after it had deleted its name again.

        Writers may delete old metadata files, the oldest first. So if the base is still there, nothing was deleted
        after it.
        """
        # The file is written: an unknown value, which other writers may understand, is no error any more.
        may_delete = (base.json.get("properties") or {}).get(DELETE_AFTER_COMMIT.name, "false").lower() != "false"
        if not (may_delete or self._storage.is_local) or self._storage.is_file(base.parsed.path):
            return False
        listed = self._storage.list(self._storage.join("metadata"))
        numbers = [int(match.group(1)) for info in listed if (match := _DIRECTORY_NAME.match(info.name))]
        return max(numbers, default=version) > version

    def after_commit(self) -> None:
        """Write the hint, from which readers follow later versions; delete what the metadata log lets go."""
        if self._won is not None:
            self._storage.put(self._storage.join("metadata", HINT), str(self._won).encode())
        for stored in self._let_go:
            self._storage.delete(self._storage.resolve_one(stored))


# ---- catalogs -------------------------------------------------------------------------------------------------------


class CatalogSwap(MetadataSwap):
    """A table of a catalog.

    Parameters
    ----------
    storage : Storage
        Of the table's files.
    writer : CatalogWriter
    """

    def __init__(self, storage: Storage, writer: CatalogWriter, known: CurrentMetadata | None = None) -> None:
        self._storage = storage
        self.known = known
        self._writer = writer
        self._won: tuple[str, dict[str, Any], int] | None = None
        self._let_go: list[str] = []

    def after_commit(self) -> None:
        """Delete what the metadata log lets go, where the metadata file was written here."""
        for stored in self._let_go:
            self._storage.delete(self._storage.resolve_one(stored))

    def newest(self) -> CurrentMetadata:
        """See :meth:`MetadataSwap.newest`."""
        self.asked_ns = time.monotonic_ns()
        location, data = self._writer.current()
        if self.known is None or self.known.stored_path != location:
            path = self._storage.resolve_one(location)
            own, self._won = self._won, None
            if own is not None and own[0] == location:
                self.known = CurrentMetadata(location, own[1], _parsed(own[1], path, self._storage, own[2], self.known))
            else:
                self.known = read_current(self._storage, path, location, data, self.known)
        return self.known

    def check(self, version: int) -> None:
        """See :meth:`MetadataSwap.check`. PyIceberg, which applies updates for some catalogs, writes no version 3."""
        if version > 2 and not (self._writer.applies_updates or self._writer.can_swap):
            raise UnsupportedFeatureError(
                f"tables of format version {version} cannot be committed to catalog {self._writer.catalog_name!r}",
                path=self._writer.table_name,
                field="format-version",
                hint="Nothing was written; REST, SQL, Glue, DynamoDB and BigQuery catalogs take them",
            )

    def commit(
        self,
        base: CurrentMetadata | None,
        requirements: Updates,
        updates: Updates,
        store: Callable[[], None] = _nothing,
    ) -> PutOutcome:
        """See :meth:`MetadataSwap.commit`."""
        if self._writer.applies_updates or (base is not None and not self._writer.can_swap):
            store()
            outcome = self._applied(base, requirements, updates)
            if outcome is PutOutcome.WON:
                return outcome
            return self.looked_up(outcome, requirements, updates)
        current, previous = (None, None) if base is None else (base.json, base.stored_path)
        if failed_requirement(current, requirements) is not None:
            return PutOutcome.LOST
        found = apply_updates(current, updates, now_ms=current_ms(), previous_file=previous)
        if found is current:
            return PutOutcome.WON
        let_go = logged_no_more(current, found)
        new, path, data = self._new_file(found, previous)
        all_at_once(store, partial(self._storage.put_new, path, data))  # the name is random
        outcome = self._writer.register(new) if previous is None else self._writer.swap(previous, new)
        if outcome is PutOutcome.WON:
            self._won = new, found, len(data)
            self._let_go = let_go
            return outcome
        return self.looked_up(outcome, requirements, updates)

    def _applied(self, base: CurrentMetadata | None, requirements: Updates, updates: Updates) -> PutOutcome:
        """The catalog's answer. A refusal of what was made upon metadata that is current no more is a lost race.

        A server may say so of a commit to one branch that comes after one to another: no requirement names the sequence
        number, which has to be greater than the last.
        """
        try:
            return self._writer.commit(list(requirements), list(updates))
        except (CatalogPermissionError, CatalogConnectionError):
            raise
        except CatalogError:
            if base is None or self.newest().stored_path == base.stored_path:
                raise
            return PutOutcome.LOST

    def _new_file(self, metadata: Mapping[str, Any], previous: str | None) -> tuple[str, str, bytes]:
        """A new metadata file, which nothing names yet: its location, its absolute path, and its content."""
        properties = metadata.get("properties", {})
        directory = properties.get(METADATA_PATH) or f"{str(metadata['location']).rstrip('/')}/metadata"
        match = None if previous is None else _CATALOG_NAME.match(previous.rpartition("/")[2])
        number = 0 if previous is None else int(match.group(1)) + 1 if match else 1
        compress = is_compressed(properties)
        name = f"{number:05d}-{uuid.uuid4()}{'.gz' if compress else ''}.metadata.json"
        location = f"{directory.rstrip('/')}/{name}"
        path = self._storage.resolve_one(location)
        data = _encoded(metadata, compress)
        self._storage.limits.check("metadata_bytes", len(data), "bytes", path=path)
        return location, path, data

    def part(self, requirements: Updates, updates: Updates) -> TableUpdates:
        """See :meth:`MetadataSwap.part`."""
        return TableUpdates(self._writer, list(requirements), list(updates))
