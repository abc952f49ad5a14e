"""Protocol and metadata of a version: the newest of each wins, and no table is without them.

Source: Delta PROTOCOL.md, "Action Reconciliation", "Change Metadata", "Protocol Evolution".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tableformats.errors import CorruptMetadataError, UnsupportedFeatureError

from .checkpoints import read_metadata
from .commits import Commit, read_commit
from .features import check_protocol
from .log import LogSegment

if TYPE_CHECKING:
    from tableformats.storage import Storage

__all__ = ["TableState", "load_state"]

_HINT = "The log is incomplete: restore its first commit or a checkpoint that holds the action"


@dataclass
class TableState:
    """What a version's log says about the table; ``commits`` are decoded, newest first; ``path`` is for errors."""

    protocol: dict[str, Any]
    metadata: dict[str, Any]
    commits: list[Commit]
    path: str


def load_state(storage: Storage, segment: LogSegment) -> TableState:
    """Decode the commits of ``segment`` and find protocol and metadata, in the checkpoint where no commit has them.

    Raises
    ------
    CorruptMetadataError : a damaged file; no protocol or no metaData action
    UnsupportedFeatureError : the protocol asks for what is not built
    """
    commits = [read_commit(storage, file) for file in segment.commits]
    protocol = next((commit.protocol for commit in commits if commit.protocol), None)
    metadata = next((commit.metadata for commit in commits if commit.metadata), None)
    checkpoint = segment.checkpoint
    if checkpoint is not None and (protocol is None or metadata is None):
        older_protocol, older_metadata = read_metadata(storage, checkpoint)
        protocol, metadata = protocol or older_protocol, metadata or older_metadata
    path = checkpoint.files[0].path if checkpoint is not None else segment.commits[-1].path
    if protocol is None:
        raise CorruptMetadataError("the log has no protocol action", path=path, field="protocol", hint=_HINT)
    check_protocol(protocol, path)
    if metadata is None:
        raise CorruptMetadataError("the log has no metaData action", path=path, field="metaData", hint=_HINT)
    _check_format(metadata, path)
    return TableState(protocol, metadata, commits, path)


def _check_format(metadata: dict[str, Any], path: str) -> None:
    form = metadata.get("format")
    provider = form.get("provider") if isinstance(form, dict) else None
    if provider is not None and provider != "parquet":
        raise UnsupportedFeatureError(
            f"the data files are of format {provider!r}", path=path, field="metaData.format.provider"
        )
