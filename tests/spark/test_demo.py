"""``tableformats demo`` with Spark: two tables, the same rows by six readers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tableformats.cli import demo, main
from tests.support.writers import needs_writers


@needs_writers
def test_all_six_readers_agree(
    tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The test run's session is used, and not stopped.
    monkeypatch.setattr(demo, "_start_spark", lambda: spark)
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    assert main(["demo", str(tmp_path / "demo")]) == 0
    out = capsys.readouterr().out
    assert out.count(f"{len(demo.expected_rows())} rows, as written") == 6
    assert out.count("= planned") == 2
