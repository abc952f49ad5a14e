"""Mutants of the Delta plugin: log discovery, actions, reconciliation."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_REPLAY = ("test_replay.py",)
_LOG = ("test_log.py",)
_COMPACTION = ("test_compaction.py",)
_JSON = ("test_commit_lines.py", "test_json.py", *_REPLAY)
_LAB = ("test_lab.py",)

MUTANTS = (
    # ---- log discovery ----------------------------------------------------------------------------------------------
    Mutant(
        "part-of-a-checkpoint-is-one",
        "delta:listing_of",
        "len(found) == count and min(found) == 1 and max(found) == count",
        "found",
        "an incomplete multi-part checkpoint is taken",
        _LOG,
    ),
    Mutant(
        "empty-files-count",
        "delta:listing_of",
        "elif info.size == 0:",
        "elif info.size < 0:",
        "a checkpoint of 0 bytes is taken",
        _LOG,
    ),
    Mutant(
        "other-names-are-commits",
        "delta:_COMMIT",
        're.compile(r"(\\d{20})\\.json", re.ASCII)',
        're.compile(r"(\\d{20})\\..*json.*", re.ASCII)',
        "`.json.tmp` and uuid names are commits",
        _LOG,
    ),
    Mutant(
        "gaps-are-skipped",
        "delta:LogListing.segment",
        "missing = next((v for v in range(first, version + 1) if v not in self.commits), None)",
        (
            "missing = None\n"
            "last = self.commits[max(self.commits)]\n"
            "self.commits = {**dict.fromkeys(range(first, version + 1), last), **self.commits}"
        ),
        "a missing commit after the checkpoint is none",
        _LOG,
    ),
    Mutant(
        "newer-checkpoint-than-asked",
        "delta:LogListing.segment",
        "(v for v in self.checkpoints if v <= version)",
        "(v for v in self.checkpoints)",
        "time travel starts at a checkpoint that is newer",
        (*_LOG, *_LAB),
    ),
    Mutant(
        "compaction-straddles-the-checkpoint",
        "delta:LogListing._covering",
        "if first <= start:",
        "if True:",
        "a log compaction that begins before the range is used",
        _COMPACTION,
    ),
    Mutant(
        "compaction-ends-too-early",
        "delta:LogListing._covering",
        "last = start - 1",
        "last = start - 2",
        "the commit before a compaction is taken for one that it covers",
        _COMPACTION,
    ),
    Mutant(
        "covered-commits-oldest-first",
        "delta:LogListing._covering",
        "range(last, start - 1, -1)",
        "range(start, last + 1)",
        "the commits of a damaged compaction are read in their order",
        _COMPACTION,
    ),
    Mutant(
        "compaction-not-reconciled",
        "delta:read_commits",
        "if file.is_compaction:",
        "if False:",
        "a compaction that names a file twice is believed",
        _COMPACTION,
    ),
    Mutant(
        "file-times-stand-still",
        "delta:LogListing.commit_times",
        "max(time, previous + 1)",
        "time",
        "modification times that run backwards are believed",
        _LOG,
    ),
    Mutant(
        "in-commit-times-start-late",
        "delta:CommitTimes.is_in_commit",
        "version >= self._in_commit_from",
        "version > self._in_commit_from",
        "the version that enabled in-commit timestamps goes by its file's time",
        _LOG,
    ),
    Mutant(
        "time-after-the-newest",
        "delta:CommitTimes.version_at",
        "if timestamp_ms > self._time(self._versions[-1]):",
        "if False:",
        "a time after the newest commit is the newest version",
        _LOG,
    ),
    # ---- actions ----------------------------------------------------------------------------------------------------
    Mutant(
        "byte-order-mark-is-text",
        "delta:_decode",
        "len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0",
        "0",
        "a byte order mark is part of the first action",
        _JSON,
    ),
    Mutant(
        "integers-through-doubles",
        "delta:_RowBuilder._int",
        "return value",
        "return int(float(value))",
        "integers above 2^53 pass through a double",
        _JSON,
    ),
    Mutant(
        "null-actions-are-actions",
        "delta:iter_actions",
        "if isinstance(content, dict): yield name, content, offset",
        "yield name, content or {}, offset",
        "null-valued actions are actions",
        _JSON,
    ),
    Mutant(
        "oldest-protocol-wins",
        "delta:_loaded",
        "(commit.protocol for commit in commits if commit.protocol)",
        "(commit.protocol for commit in commits[::-1] if commit.protocol)",
        "the protocol is that of an older version",
        _REPLAY,
    ),
    Mutant(
        "oldest-metadata-wins",
        "delta:_loaded",
        "(commit.metadata for commit in commits if commit.metadata)",
        "(commit.metadata for commit in commits[::-1] if commit.metadata)",
        "the schema is that of an older version",
        _REPLAY,
    ),
    Mutant(
        "unknown-features-pass",
        "delta:check_protocol",
        "if feature is None or not feature.read:",
        "if feature is not None and not feature.read:",
        "unknown reader features are ignored",
        _REPLAY,
    ),
    Mutant(
        "newer-protocols-pass",
        "delta:check_protocol",
        "if version > _MAX_READER_VERSION:",
        "if False:",
        "newer reader versions are ignored",
        _REPLAY,
    ),
    # ---- reconciliation ---------------------------------------------------------------------------------------------
    Mutant(
        "removes-before-adds",
        "delta:_actions",
        "live = np.repeat([True, False] * len(commits)",
        (
            "parts = [part for commit in commits for part in (commit.removes, commit.adds)]\n"
            "live = np.repeat([False, True] * len(commits)"
        ),
        "within a commit a remove wins over the add of its key",
        (*_REPLAY, "test_metamorphic.py"),
    ),
    Mutant(
        "oldest-commits-win",
        "delta/delta_snapshot:_runs",
        "return [run[::-1] for run in oldest_first][::-1]",
        "return list(oldest_first)",
        "the oldest action of a key wins",
        _REPLAY,
    ),
    Mutant(
        "checkpoint-not-cancelled",
        "delta:DeltaSnapshot._read_group",
        "self._file_keys(file.path, rows.rows) if has_newer else None",
        "None",
        "commits do not remove files of the checkpoint",
        _REPLAY,
    ),
    Mutant(
        "sidecars-ignored",
        "delta:expand",
        "return files + sidecars",
        "return files",
        "the sidecars of a V2 checkpoint are not read",
        _REPLAY,
    ),
    Mutant(
        "adds-of-nulls-are-files",
        "delta:_is_action",
        "pc.is_valid(path)",
        "pc.is_valid(add)",
        "an add struct of nulls in a checkpoint is a file",
        _REPLAY,
    ),
    Mutant(
        "vector-not-in-the-key",
        "delta:file_keys",
        "if not vectors.num_rows:",
        "if True:",
        "a deletion vector is no part of a file's key",
        _REPLAY,
    ),
    Mutant(
        "offset-not-in-the-key",
        "delta:_vector_ids",
        "pc.cast(offset, pa.string())",
        'pc.if_else(pc.is_valid(offset), "0", "0")',
        "two vectors in one file of vectors are one",
        _REPLAY,
    ),
    Mutant(
        "vectors-by-spelling",
        "delta:_canonical_vectors",
        "if not absolute.true_count:",
        "if True:",
        "a vector stored by uuid and by path is two",
        _REPLAY,
    ),
    Mutant(
        "keys-not-decoded",
        "delta:_canonical",
        "unquote(path)",
        "path",
        "keys are compared as they are spelled",
        _REPLAY,
    ),
    Mutant(
        "keys-decoded-twice",
        "delta:_canonical",
        "unquote(path)",
        "unquote(unquote(path))",
        "keys are decoded twice: a%2541 and a%41 are one file",
        _REPLAY,
    ),
    Mutant(
        "one-spelling-of-file-uris",
        "delta:_canonical",
        "normalize(unquote(path))",
        "unquote(path)",
        "`file:/x`, `file:///x` and `/x` are three files",
        _REPLAY,
    ),
    Mutant(
        "data-paths-not-decoded",
        "delta:DeltaSnapshot.resolve_paths",
        "return self._storage.resolve(paths, encoded=True)",
        "return self._storage.resolve(paths)",
        "data files are looked for under their encoded names",
        _LAB,
    ),
)
