"""Checkpoints of Delta tables that have an older checkpoint and some commits, beside deltalake in one process.

Both open the table and write the checkpoint of the same version. deltalake decodes all files when it opens a table, and
ours when it writes.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tableformats as tf

from . import QUICK, sizes
from .generate import DeltaTable, build
from .generate.delta import append_commit

COMMITS = 20


class DeltaCheckpoint:
    """Of a classic checkpoint, with 20 commits behind it, with statistics as text.

    Another writer wrote the older checkpoint, so all of it is decoded and written anew.
    """

    params = sizes(1_000, 100_000)
    param_names = ["files"]
    number = 1
    timeout = 600

    def setup(self, files: int) -> None:
        self.parent = Path(tempfile.mkdtemp(prefix="tableformats-checkpoint-"))
        self.folder = self.parent / "t"
        shutil.copytree(build(DeltaTable(files)).folder, self.folder)
        self.known = {path.name for path in (self.folder / "_delta_log").iterdir()}
        self.hint = self.folder / "_delta_log" / "_last_checkpoint"
        self.hinted = self.hint.read_bytes() if self.hint.exists() else None

    def teardown(self, files: int) -> None:
        shutil.rmtree(self.parent, ignore_errors=True)

    def forget(self) -> int:
        """Remove what was written; its bytes."""
        written = [path for path in (self.folder / "_delta_log").iterdir() if path.name not in self.known]
        size = sum(path.stat().st_size for path in written if ".checkpoint" in path.name)
        for path in written:
            path.unlink()
        if self.hinted is not None:
            self.hint.write_bytes(self.hinted)
        return size

    def write(self) -> float:
        """CPU seconds, opening included."""
        self.forget()
        started = time.process_time()
        tf.open_table(self.folder, format="delta").checkpoint()
        return time.process_time() - started

    def time_checkpoint(self, files: int) -> None:
        self.forget()
        tf.open_table(self.folder, format="delta").checkpoint()

    def peakmem_checkpoint(self, files: int) -> None:
        self.write()

    def track_cpu_seconds(self, files: int) -> float:
        return min(self.write() for _ in range(1 if QUICK else 3))

    track_cpu_seconds.unit = "s"  # type: ignore[attr-defined]

    def track_bytes_a_file(self, files: int) -> float:
        self.write()
        return self.forget() / files

    track_bytes_a_file.unit = "bytes"  # type: ignore[attr-defined]

    def track_cpu_ratio_vs_deltalake(self, files: int) -> float:
        """CPU time of deltalake, opening and writing, over ours."""
        try:
            import deltalake
        except ImportError:
            print("skipped: deltalake is not installed", file=sys.stderr)
            return math.nan
        ours = min(self.write() for _ in range(1 if QUICK else 3))
        theirs = math.inf
        for _ in range(1 if QUICK else 3):
            self.forget()
            started = time.process_time()
            deltalake.DeltaTable(self.folder).create_checkpoint()
            theirs = min(theirs, time.process_time() - started)
        return theirs / ours

    track_cpu_ratio_vs_deltalake.unit = "times as fast"  # type: ignore[attr-defined]


class UponOwnCheckpoint(DeltaCheckpoint):
    """The same upon a checkpoint of ours, whose row groups are copied where the commits name no file of theirs.

    Each of the 20 commits adds 100 files, and removes half of those that the one before has added.
    """

    def setup(self, files: int) -> None:
        super().setup(files)
        # In a process of its own: this one's peak of memory is measured.
        command = [sys.executable, "-m", "tableformats", "checkpoint", str(self.folder)]
        subprocess.run(command, check=True, capture_output=True)
        log = self.folder / "_delta_log"
        newest = max(int(path.stem) for path in log.glob("*.json") if path.stem.isdigit())
        for version in range(newest + 1, newest + 1 + COMMITS):
            append_commit(log, version)
            _remove_half(log, version)
        self.known = {path.name for path in log.iterdir()}
        self.hinted = self.hint.read_bytes()


def _remove_half(log: Path, version: int) -> None:
    """Let a commit remove half of the files that the one before has added."""
    before = map(json.loads, (log / f"{version - 1:020d}.json").read_text().splitlines())
    added = [action["add"] for action in before if "add" in action]
    with (log / f"{version:020d}.json").open("a") as file:
        for action in added[::2]:
            kept = {
                name: action[name] for name in ("path", "partitionValues", "size", "deletionVector") if name in action
            }
            more = {"deletionTimestamp": int(1000 * time.time()), "dataChange": True, "extendedFileMetadata": True}
            file.write(json.dumps({"remove": {**kept, **more}}) + "\n")
