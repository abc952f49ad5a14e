"""The actions of a checkpoint as a verifier reads them: those of files in columns.

Source: Delta PROTOCOL.md, "Checkpoints", "Checkpoint Schema".
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from tableformats.plugin import MetadataCache, dataclass

from ..checkpoints.checkpoint_files import CheckpointFile, expand
from ..checkpoints.damage import damaged_column
from ..log.listing import Checkpoint, LogFile
from .commit_file import CommitFile, FileKey, file_key
from .stored_actions import StoredActions, as_json

if TYPE_CHECKING:
    import pyarrow as pa

    from tableformats.plugin import Storage

__all__ = ["FILE_ACTIONS", "CheckpointContents"]

_KINDS = ("protocol", "metaData", "txn", "domainMetadata", "checkpointMetadata", "sidecar", "add", "remove")
FILE_ACTIONS = ("add", "remove")
Actions = list[tuple[str, dict[str, Any]]]


@dataclass
class CheckpointContents:
    """The actions of a checkpoint: those of files in columns, where they are stored as the protocol says.

    Attributes
    ----------
    files : list of CheckpointFile
        The checkpoint's files, then its sidecars.
    actions : list of (str, dict)
        As in commits.
    columns : list of StoredActions
        The other file actions.
    """

    files: list[CheckpointFile]
    actions: Actions = field(default_factory=list)
    columns: list[StoredActions] = field(default_factory=list)

    @classmethod
    def read(cls, storage: Storage, checkpoint: Checkpoint) -> CheckpointContents:
        """All actions. Raises CorruptMetadataError."""
        contents = cls(expand(storage, checkpoint, MetadataCache(0)))
        for file in contents.files:
            if file.is_json:
                commit = CommitFile.read(storage, LogFile(checkpoint.version, file.path, file.size, 0))
                contents.actions += commit.actions
                continue
            for kind in _KINDS:
                for values in file.struct_arrays(kind):
                    try:
                        contents._take(kind, values)
                    except (TypeError, ValueError):  # a map that is none, or texts that are none
                        raise damaged_column(file.path, kind) from None
        return contents

    def _take(self, kind: str, values: pa.StructArray) -> None:
        if kind in FILE_ACTIONS and StoredActions.can_hold(kind, values.type):
            self.columns.append(StoredActions(kind, values))
        else:
            self.actions += [(kind, as_json(row)) for row in values.to_pylist()]

    def of(self, kind: str) -> list[StoredActions]:
        """The columns of one kind."""
        return [block for block in self.columns if block.kind == kind]

    def keys(self, kind: str) -> list[FileKey]:
        """What identifies the file of each file action of a kind."""
        found = [key for block in self.of(kind) for key in block.keys]
        return found + [file_key(action) for name, action in self.actions if name == kind]
