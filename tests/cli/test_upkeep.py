"""The command ``checkpoint``."""

from __future__ import annotations

import json
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
