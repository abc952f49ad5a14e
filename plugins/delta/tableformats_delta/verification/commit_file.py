"""One commit as a verifier reads it: each line an action, nothing forgiven.

Source: Delta PROTOCOL.md, "Delta Log Entries", "Actions".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tableformats.plugin import StoreError, TableFormatsError, Violation, dataclass, normalize, percent_decoded

from ..log.listing import LogFile, read_log_file
from .rules import violation

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = ["CommitFile", "FileKey", "file_key", "path_of", "with_vector"]

FileKey = str
"""A decoded path; behind NUL, which no path has, what identifies the deletion vector."""


def file_key(action: Mapping[str, Any]) -> FileKey:
    """What identifies the logical file of a file action."""
    path = action.get("path")
    return with_vector(normalize(percent_decoded(path)) if isinstance(path, str) else "", action.get("deletionVector"))


def with_vector(path: str, vector: Any) -> FileKey:
    """The key of a decoded path with a deletion vector, or without one."""
    if not isinstance(vector, Mapping) or vector.get("storageType") is None:
        return path
    offset = vector.get("offset")
    name = f"{vector.get('storageType')}{vector.get('pathOrInlineDv')}"
    return f"{path}\0{name}" if offset is None else f"{path}\0{name}@{offset}"


def has_vector(key: FileKey) -> bool:
    """Whether it is the key of a path with a deletion vector."""
    return "\0" in key


def path_of(key: FileKey) -> str:
    """The decoded path."""
    return key.partition("\0")[0]


@dataclass
class CommitFile:
    """The actions of a commit, with what its text breaks.

    Attributes
    ----------
    actions : list of (str, dict)
        In the order of the lines, without values that are null.
    violations : list of Violation
        Lines that are no actions.
    """

    version: int
    path: str
    actions: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)

    @classmethod
    def read(cls, storage: Storage, file: LogFile) -> CommitFile:
        """Read a commit or a compaction. Raises StoreError; damage is a violation."""
        found = cls(file.version, file.path)
        try:
            data = read_log_file(storage, file.path)
        except StoreError:
            raise
        except TableFormatsError as error:
            found._add("damaged-file", error.message)
            return found
        if not data.strip():
            found._add("empty-commit", "the commit has no action")
        for number, line in enumerate(data.split(b"\n"), 1):
            if line.strip():
                found._take(number, line)
        return found

    def of(self, *kinds: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The actions of these kinds."""
        return ((name, action) for name, action in self.actions if name in kinds)

    def last(self, kind: str) -> dict[str, Any] | None:
        """The last action of a kind."""
        return next((action for name, action in reversed(self.actions) if name == kind), None)

    def _take(self, number: int, line: bytes) -> None:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            self._add("damaged-file", f"line {number} is no JSON, or not all of it")
            return
        if not isinstance(value, dict):
            self._add("one-action-a-line", f"line {number} is no JSON object")
            return
        present = {name: action for name, action in value.items() if action is not None}
        if len(present) != 1:
            self._add("one-action-a-line", f"line {number} has {len(present)} actions")
        for name, action in present.items():
            if isinstance(action, dict):
                self.actions.append((name, {key: one for key, one in action.items() if one is not None}))
            else:
                self._add("one-action-a-line", f"the action {name!r} in line {number} is no object")

    def _add(self, rule: str, what: str) -> None:
        self.violations.append(violation(rule, what, self.path, self.version))
