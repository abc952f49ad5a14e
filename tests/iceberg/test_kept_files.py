"""Which files of an Iceberg table's directory nothing has to name: what is hidden, and the hint."""

from __future__ import annotations

import pytest
from tableformats_iceberg.inspect.kept_files import _is_kept


@pytest.mark.parametrize(
    "path",
    [
        "metadata/version-hint.text",
        "_x.parquet",
        "data/.x.parquet.crc",
        "_hidden/x.parquet",
        "data/_p=1/_hidden/x.parquet",
        "data/_p=1",
        ".p=1",
    ],
)
def test_what_is_kept(path: str) -> None:
    assert _is_kept(path)


@pytest.mark.parametrize(
    "path",
    ["x.parquet", "data/x_.parquet", "_p=1/x.parquet", "data/.p=1/x.parquet", "data/_p=1/q=2/x", "version-hint.text"],
)
def test_what_must_be_named(path: str) -> None:
    assert not _is_kept(path)
