"""Which files of a table's directory nothing has to name, as VACUUM leaves them."""

from __future__ import annotations

import pytest
from tableformats_delta.maintenance.kept_files import _is_kept

KEPT = [
    "_delta_log/00000000000000000000.json",
    "_delta_log/_last_checkpoint",
    "_delta_log/_commits/00000000000000000001.x.json",
    "_delta_log/_sidecars/.x.parquet.crc",
    "_delta_log/_sidecars",
    "_delta_logs/x.parquet",
    "_hidden/x.parquet",
    ".hidden/x.parquet",
    "a/_hidden/x.parquet",
    "a/.x.parquet.crc",
    "_x.parquet",
    "a/_x=1",
    "_x=1",
    "_change_data",
    "a/_change_data/x.parquet",
    "p=1/_change_data/x.parquet",
    "_p=1/_x.parquet",
]
NAMED = [
    "x.parquet",
    "a/x.parquet",
    "p=1/x.parquet",
    "_p=1/x.parquet",
    ".p=1/q=2/x.parquet",
    "a/_p=1/x.parquet",
    "_change_data/x.parquet",
    "_change_data/_p=1/x.parquet",
    "_delta_log/_sidecars/x.parquet",
]


@pytest.mark.parametrize("path", KEPT)
def test_what_is_kept(path: str) -> None:
    assert _is_kept(path)


@pytest.mark.parametrize("path", NAMED)
def test_what_must_be_named(path: str) -> None:
    assert not _is_kept(path)
