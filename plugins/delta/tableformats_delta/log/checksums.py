"""Version checksum files (``<version>.crc``): protocol, metadata and totals of one version.

They are optional: a version is read without one, and a damaged one is ignored. But a readable one that contradicts the
log is an error: the log was changed or lost a file, and nothing says which of the two is right. Only its in-commit
timestamp decides nothing: that of the log counts.
Source: Delta PROTOCOL.md, "Version Checksum File", "State Validation".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import CorruptMetadataError, dataclass

from .listing import LogFile, read_log_file

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = ["VersionChecksum", "read_checksum"]

_COUNTS = ("tableSizeBytes", "numFiles", "numMetadata", "numProtocol", "inCommitTimestampOpt")


@dataclass(frozen=True)
class VersionChecksum:
    """The content of ``<version>.crc``. Fields that the file does not have are None; old writers omit most."""

    file: LogFile
    protocol: dict[str, Any] | None
    metadata: dict[str, Any] | None
    num_files: int | None
    size_bytes: int | None
    in_commit_timestamp: int | None

    def check(self, what: str, found: Mapping[str, Any] | int | None) -> None:
        """Compare a value of the log with the file's. None on either side is not compared.

        Parameters
        ----------
        what : str
            ``protocol``, ``metadata``, ``numFiles`` or ``tableSizeBytes``.
        found : mapping, int or None
            The value of the log: the action for the first two, else a number.

        Raises
        ------
        CorruptMetadataError
            The two differ.
        """
        recorded, in_log = self._comparable(what, found)
        if recorded is None or in_log is None or recorded == in_log:
            return
        numbers_text = f": {recorded} there, {in_log} in the log" if isinstance(recorded, int) else ""
        raise CorruptMetadataError(
            f"the log of version {self.file.version} contradicts its checksum file{numbers_text}",
            path=self.file.path,
            field=what,
            hint="A file of the log was changed or lost: restore it, or read an older version. If the log is right, "
            f"remove the file {self.file.version:020d}.crc: versions are read without it",
        )

    def _comparable(self, what: str, found: Any) -> tuple[Any, Any]:
        """The file's value and ``found``, both in one normalized form."""
        if what == "protocol":
            return _protocol(self.protocol), _protocol(found)
        if what == "metadata":
            return _metadata(self.metadata), _metadata(found)
        numbers = {"numFiles": self.num_files, "tableSizeBytes": self.size_bytes}
        return numbers[what], found


def read_checksum(storage: Storage, file: LogFile) -> VersionChecksum:
    """Read one checksum file.

    Raises
    ------
    CorruptMetadataError
        The file is missing or no JSON, or a field has the wrong type. Callers go on without the file.
    """
    data = read_log_file(storage, file.path)
    try:
        content = json.loads(data.decode())
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise _damaged(file, None)
    numbers = {name: content.get(name) for name in _COUNTS}
    for name, value in numbers.items():
        wanted = range(1, 2) if name in ("numMetadata", "numProtocol") else range(2**63)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value not in wanted):
            raise _damaged(file, name)
    protocol, metadata = content.get("protocol"), content.get("metadata")
    if protocol is not None and not (isinstance(protocol, dict) and isinstance(protocol.get("minReaderVersion"), int)):
        raise _damaged(file, "protocol")
    if metadata is not None and not (isinstance(metadata, dict) and _has_schema(metadata)):
        raise _damaged(file, "metadata")
    return VersionChecksum(
        file, protocol, metadata, numbers["numFiles"], numbers["tableSizeBytes"], numbers["inCommitTimestampOpt"]
    )


def _damaged(file: LogFile, field: str | None) -> CorruptMetadataError:
    return CorruptMetadataError("the checksum file is damaged", path=file.path, field=field)


def _protocol(action: Mapping[str, Any] | None) -> Any:
    """The meaningful fields of a protocol action, normalized; None where there is no action."""
    if action is None:
        return None
    features = [_names(action.get(name)) for name in ("readerFeatures", "writerFeatures")]
    return action.get("minReaderVersion"), action.get("minWriterVersion"), features


def _names(value: Any) -> Any:
    return sorted({str(name) for name in value}) if isinstance(value, (list, tuple)) else []


def _metadata(action: Mapping[str, Any] | None) -> Any:
    """The fields of a metaData action that decide how the table is read, normalized; None without an action."""
    if action is None:
        return None
    partition = action.get("partitionColumns")
    return (
        action.get("id"),
        _schema(action),
        list(partition) if isinstance(partition, (list, tuple)) else [],
        {str(key): str(value) for key, value in _items(action.get("configuration")) if value is not None},
    )


def _schema(action: Mapping[str, Any]) -> Any:
    """The parsed schema; the text itself where it does not parse."""
    text = action.get("schemaString")
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def _has_schema(action: Mapping[str, Any]) -> bool:
    """Whether the action has a schema that parses, or none, as an action of no columns has it."""
    return isinstance(_schema(action), dict) or (action.get("schemaString") is None and "id" in action)


def _items(value: Any) -> Any:
    return value.items() if isinstance(value, Mapping) else ()
