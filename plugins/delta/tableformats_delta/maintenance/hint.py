"""Writes ``_last_checkpoint``: the hint where readers find the newest checkpoint.

It is written after the checkpoint that it names, and never names an older one than before: some readers refuse a table
whose hint names a checkpoint that is gone. Source: Delta PROTOCOL.md, "Last Checkpoint File Schema", "JSON checksum".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..log.last_checkpoint import json_checksum
from ..log.names import LAST_CHECKPOINT, LOG_DIRECTORY

if TYPE_CHECKING:
    from tableformats.plugin import Storage

__all__ = ["hinted_version", "write_hint"]


def hinted_version(storage: Storage) -> int | None:
    """The version that the hint names; None where there is no hint, or a damaged one. Raises StoreError."""
    try:
        content = json.loads(storage.read_bytes(storage.join(LOG_DIRECTORY, LAST_CHECKPOINT)))
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError):
        return None
    version = content.get("version") if isinstance(content, dict) else None
    return version if isinstance(version, int) and not isinstance(version, bool) else None


def write_hint(storage: Storage, content: Mapping[str, Any]) -> bool:
    """Write the hint with its checksum; whether it was written: a hint to a newer version stays.

    Parameters
    ----------
    content : mapping
        ``version`` and the other fields, without ``checksum``.

    Raises
    ------
    StoreError
        As the store fails. OSError if it is local.
    """
    known = hinted_version(storage)
    if known is not None and known > content["version"]:
        return False
    text = json.dumps(dict(content), separators=(",", ":"))
    whole = json.dumps({**content, "checksum": json_checksum(text)}, separators=(",", ":"))
    storage.put(storage.join(LOG_DIRECTORY, LAST_CHECKPOINT), whole.encode())
    return True
