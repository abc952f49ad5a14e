"""JSON text of a commit or of a checkpoint manifest -> its actions.

Commits are newline-delimited JSON by the protocol. Concatenated and pretty-printed values are accepted too, as other
readers do. Source: Delta PROTOCOL.md, "Delta Log Entries", "Actions".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any

from tableformats.plugin import CorruptMetadataError, dataclass

__all__ = ["BYTE_ORDER_MARK", "RESTORE_HINT", "Actions", "iter_actions", "parse_actions", "sorted_actions"]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
RESTORE_HINT = "Restore the file from a copy, or read a version before it"
_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder()


@dataclass
class Actions:
    """The actions of a commit or of a JSON manifest, by kind.

    Attributes
    ----------
    protocol, metadata, commit_info : dict or None
        The last action of the kind in the file.
    adds, removes, changes : list of (dict, int)
        The ``add``, ``remove`` and ``cdc`` actions, each with the byte offset of its line.
    """

    protocol: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    commit_info: dict[str, Any] | None = None
    adds: list[tuple[dict[str, Any], int]] = field(default_factory=list)
    removes: list[tuple[dict[str, Any], int]] = field(default_factory=list)
    changes: list[tuple[dict[str, Any], int]] = field(default_factory=list)
    sidecars: list[dict[str, Any]] = field(default_factory=list)
    transactions: list[dict[str, Any]] = field(default_factory=list)
    domains: list[dict[str, Any]] = field(default_factory=list)


def parse_actions(data: bytes, path: str) -> Actions:
    """Parse ``data`` and sort its actions by kind. Raises as :func:`iter_actions` does."""
    return sorted_actions(iter_actions(data, path))


def sorted_actions(found: Iterable[tuple[str, dict[str, Any], int]]) -> Actions:
    """Actions as (name, content, byte offset of the line) by kind."""
    actions = Actions()
    for name, content, offset in found:
        if name == "add":
            actions.adds.append((content, offset))
        elif name == "remove":
            actions.removes.append((content, offset))
        elif name == "cdc":
            actions.changes.append((content, offset))
        elif name == "metaData":
            actions.metadata = content
        elif name == "protocol":
            actions.protocol = content
        elif name == "commitInfo":
            actions.commit_info = content
        elif name == "sidecar":
            actions.sidecars.append(content)
        elif name == "txn":
            actions.transactions.append(content)
        elif name == "domainMetadata":
            actions.domains.append(content)
    return actions


def iter_actions(data: bytes, path: str) -> Iterator[tuple[str, dict[str, Any], int]]:
    """The actions of a commit or of a JSON manifest as (name, content, byte offset of the line).

    Null-valued actions are left out. Unknown actions are included; callers ignore them.

    Raises
    ------
    CorruptMetadataError
        The text is empty, cut off, no UTF-8 or no JSON; with ``path`` and ``offset``.
    """
    text, offset = _decode(data, path)
    start, position, end, found = 0, 0, len(text), False
    while True:
        while position < end and text[position] in _SPACE:
            position += 1
        if position == end:
            break
        offset += _size(text, start, position)
        start = position
        try:
            value, following = _DECODER.raw_decode(text, position)
        except RecursionError:
            raise _damage("the JSON is nested too deeply", path, offset) from None
        except ValueError as error:  # also integers of thousands of digits
            at = error.pos if isinstance(error, json.JSONDecodeError) else position
            where = offset + _size(text, start, at)
            raise _damage("the log holds what is not JSON, or is cut off", path, where) from None
        if not isinstance(value, dict):
            raise _damage("an action of the log is not a JSON object", path, offset)
        found = True
        for name, content in value.items():
            if isinstance(content, dict):
                yield name, content, offset
        position = following
    if not found:
        raise _damage("a file of the log holds no action", path, len(data))


def _decode(data: bytes, path: str) -> tuple[str, int]:
    """The text after a byte order mark, and its offset."""
    bom = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    try:
        return data[bom:].decode(), bom
    except UnicodeDecodeError as error:
        raise _damage("the log is not UTF-8", path, error.start + bom) from None


def _size(text: str, start: int, stop: int) -> int:
    """The size of ``text[start:stop]`` in UTF-8 bytes."""
    return stop - start if text.isascii() else len(text[start:stop].encode())


def _damage(message: str, path: str, offset: int) -> CorruptMetadataError:
    return CorruptMetadataError(message, path=path, offset=offset, hint=RESTORE_HINT)
