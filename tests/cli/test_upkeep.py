"""The commands ``checkpoint`` and ``orphans``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tableformats.cli import main

from ..support.delta_log import DeltaLog, add, field


def test_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long")).commit(1, add("a")).commit(2, add("b"))
    assert main(["checkpoint", str(log.root)]) == 0
    assert "Version 2: wrote the checkpoint" in (said := capsys.readouterr().out) and "2 files" in said
    assert main(["checkpoint", str(log.root)]) == 0
    assert "Version 2: there was a checkpoint" in capsys.readouterr().out
    assert main(["checkpoint", str(log.root), "--version", "1", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["version"], made["is_new"], made["files"]) == (1, True, 1)
    assert main(["checkpoint", str(log.root), "--version", "9"]) == 1


def test_orphans(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long")).commit(1, add("a.parquet"))
    (log.root / "left.parquet").write_bytes(b"12345")
    os.utime(log.root / "left.parquet", (1e9, 1e9))
    (log.root / "fresh.parquet").write_bytes(b"1")
    assert main(["orphans", str(log.root)]) == 0
    said = capsys.readouterr().out
    assert "left.parquet" in said and "fresh.parquet" not in said and "1 file that nothing names, 5 B" in said
    for age, expected in (("12h", ["left.parquet"]), ("0m", ["fresh.parquet", "left.parquet"]), ("2001-01-01", [])):
        assert main(["orphans", str(log.root), "--older-than", age, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert [Path(one["path"]).name for one in told["orphans"]] == expected and told["files"] == len(expected)
    assert main(["orphans", str(log.root), "--older-than", "0m", "--limit", "1"]) == 0
    assert "1 more" in capsys.readouterr().out
    assert main(["orphans", str(log.root), "--older-than", "9" * 30 + "d"]) == 2
    assert (log.root / "left.parquet").exists() and (log.root / "fresh.parquet").exists()
