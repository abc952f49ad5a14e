"""Mutants of the upkeep of Delta's log: checkpoints, the hint, checksum files, compactions, cleaning."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CHECKPOINTS = ("test_checkpoint_writing.py",)
_UPKEEP = ("delta/test_upkeep.py",)

MUTANTS = (
    Mutant(
        "checkpoint-keeps-removed-files",
        "delta:Replay._of_struct",
        "if len(self._seen):",
        "if False:",
        "a checkpoint has files that newer commits removed",
        _CHECKPOINTS,
    ),
    Mutant(
        "checkpoint-drops-tombstones",
        "delta:Replay._is_kept",
        "> self._expired_ms",
        "< self._expired_ms",
        "a checkpoint loses tombstones that VACUUM needs",
        _CHECKPOINTS,
    ),
    Mutant(
        "checkpoint-keeps-the-oldest-transaction",
        "delta:OtherActions._take",
        "known.setdefault(str(action.get(key)), action)",
        "known.update({str(action.get(key)): action})",
        "an application's older transaction counts, so a stream writes again",
        _CHECKPOINTS,
    ),
    Mutant(
        "maxima-are-rounded-down",
        "delta:_instants",
        "pc.ceil_temporal if is_upper else pc.floor_temporal",
        "pc.floor_temporal",
        "the greatest instant of a file is above its upper bound",
        _CHECKPOINTS,
    ),
    Mutant(
        "checkpoint-is-replaced-while-it-is-read",
        "delta:CheckpointFile._open_local",
        "if (after := self.storage.stamp_of(self.path)) != before:",
        "if (after := self.storage.stamp_of(self.path)) == ():",
        "paths of one checkpoint stand beside the statistics of another one, so a file with matching rows is dropped",
        _CHECKPOINTS,
    ),
    Mutant(
        "ranges-of-a-file-that-was-replaced",
        "core:RemoteFile._get",
        "etag=self.etag",
        "etag=None",
        "ranges of a large remote file are of two files that two writers put there: columns of both stand side by side",
        _CHECKPOINTS,
    ),
    Mutant(
        "hint-goes-backwards",
        "delta:write_hint",
        'known > content["version"]',
        'known < content["version"]',
        "the hint names an older checkpoint than before, which may be deleted",
        _CHECKPOINTS,
    ),
    Mutant(
        "own-checkpoint-of-another-version",
        "delta:upon_own_checkpoint",
        "found.version != known.version or ",
        "",
        "a writer takes the checkpoint of an older version for that of its own, and loses what came between",
        ("delta/test_next_commits.py",),
    ),
    Mutant(
        "cleaning-past-the-checkpoint",
        "delta:_expired",
        "if version < kept_from)",
        "if version <= kept_from + 1)",
        "commits are deleted that a version needs",
        _UPKEEP,
    ),
    Mutant(
        "checkpoint-protection-is-ignored",
        "delta:_first_kept",
        "kept_from < int(text)",
        "False",
        "history that must be deleted in one go is deleted in part",
        _UPKEEP,
    ),
    Mutant(
        "files-that-get-row-ids-are-counted-twice",
        "delta:extended",
        'one[0].get("dataChange") is not False',
        "True",
        "a checksum file counts files again that get row ids, so readers refuse the version",
        ("write/test_restore.py",),
    ),
    Mutant(
        "restore-forgets-vacuumed-files",
        "delta:restored_files",
        "_check_present(storage, adds, older.version)",
        "pass",
        "a table is set back to files that are not there",
        ("write/test_restore.py",),
    ),
    Mutant(
        "restore-follows-a-winner",
        "delta:DeltaTransaction.rebase",
        "if self._difference is not None:",
        "if False:",
        "a table that is set back keeps what another writer appended meanwhile, or loses part of it",
        ("write/test_restore.py",),
    ),
    Mutant(
        "checksum-counts-removes-as-adds",
        "delta:extended",
        "before.files + len(adds) - len(actions.removes)",
        "before.files + len(adds) + 1 + len(actions.removes)",
        "a checksum file contradicts the log, so readers refuse the version",
        _UPKEEP,
    ),
    Mutant(
        "compaction-without-tombstones",
        "delta:_Kept._key",
        'if name in ("add", "remove"):',
        'if name == "add":',
        "a removed file of an older commit comes back",
        _UPKEEP,
    ),
)
