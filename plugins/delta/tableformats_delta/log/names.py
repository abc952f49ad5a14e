"""Names of the directories and files of the log that have one fixed spelling.

Source: Delta PROTOCOL.md, "File Types", "Sidecar Files", "Last Checkpoint File".
"""

from __future__ import annotations

__all__ = ["LAST_CHECKPOINT", "LOG_DIRECTORY", "SIDECAR_DIRECTORY", "STAGED_DIRECTORY"]

LOG_DIRECTORY = "_delta_log"
SIDECAR_DIRECTORY = "_sidecars"
"""The directory of the sidecars of V2 checkpoints, below :data:`LOG_DIRECTORY`."""
STAGED_DIRECTORY = "_staged_commits"
"""The directory of the commits that a catalog has to accept, below :data:`LOG_DIRECTORY`."""
LAST_CHECKPOINT = "_last_checkpoint"
"""The file that hints at the newest checkpoint."""
