"""Porcupine, which others wrote, judges histories as ours does: ``python -m tests.histories elsewhere`` takes more."""

from __future__ import annotations

from pathlib import Path

import pytest

from .elsewhere import Unavailable, damaged, exported, history_of, verdicts


def test_porcupine_agrees_and_finds_a_lost_row(tmp_path: Path) -> None:
    histories = [history_of(format, seed) for format in ("delta", "iceberg") for seed in (1, 2)]
    exports = [text for one in histories for text in (exported(one), damaged(one))]
    try:
        assert verdicts(exports, tmp_path) == ["ok", "illegal"] * len(histories)
    except Unavailable as reason:
        pytest.skip(str(reason))
