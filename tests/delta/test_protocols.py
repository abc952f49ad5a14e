"""Which protocols a reader of Delta tables takes, and the whole error where it refuses one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.schema.features import READER_FEATURES, check_protocol

import tableformats as tf
from tableformats.errors import CorruptMetadataError, SnapshotNotFoundError, TableFormatsError, UnsupportedFeatureError

OF_CATALOG = "only its catalog knows which commits count, so its directory alone gives no version of it"
PROPOSED = "no part of the protocol, but proposed for it: "
TREE = f"{PROPOSED}metadata as a tree of manifests beside the log"
REFUSED = {
    "catalogManaged": OF_CATALOG,
    "catalogOwned": OF_CATALOG,
    "catalogOwned-preview": OF_CATALOG,
    "adaptiveMetadata": TREE,
    "adaptiveMetadata-preview": TREE,
    "timestampNanos": f"{PROPOSED}timestamps of nanoseconds",
    "geospatial": "no part of the protocol: the types geometry and geography",
    "geospatial-dev": "no part of the protocol: the types geometry and geography",
    "redirectReaderWriter-preview": "no part of the protocol: the rows are in another table",
    "unheardOf": "this reader does not know it",
}


def refusal(is_of_catalog: bool = False, **protocol: Any) -> TableFormatsError | None:
    try:
        check_protocol(protocol, "p", is_of_catalog)
    except TableFormatsError as error:
        return error
    return None


@pytest.mark.parametrize("name", [*READER_FEATURES, "unheardOf"])
def test_reader_features(name: str) -> None:
    error = refusal(minReaderVersion=3, readerFeatures=["columnMapping", name])
    if name not in REFUSED:
        assert error is None
        return
    assert isinstance(error, UnsupportedFeatureError)
    assert f"the table needs the reader feature {name!r}: {REFUSED[name]} (path 'p', field {name!r}). " in str(error)
    assert ("through its catalog" in str(error)) == (REFUSED[name] == OF_CATALOG)
    known = refusal(True, minReaderVersion=3, readerFeatures=[name])
    assert (known is None) == (REFUSED[name] == OF_CATALOG)


@pytest.mark.parametrize("version", [None, 0, -1, True, "1", 1.5])
def test_what_is_no_reader_version(version: Any) -> None:
    error = refusal(minReaderVersion=version)
    assert isinstance(error, CorruptMetadataError)
    assert (error.path, error.field) == ("p", "protocol.minReaderVersion")


def test_reader_versions() -> None:
    for version in (1, 2):
        assert refusal(minReaderVersion=version) is None
        assert refusal(minReaderVersion=version, readerFeatures=["unheardOf"]) is None, "lists count from 3 on"
    assert "reader version 3 needs a list of reader features" in str(refusal(minReaderVersion=3))
    assert "the table asks for reader version 4, and this reader knows versions up to 3" in str(
        refusal(minReaderVersion=4, readerFeatures=[])
    )
    for names in ("x", [1], {"a": 1}):
        for key in ("readerFeatures", "writerFeatures"):
            error = refusal(**{"minReaderVersion": 3, "readerFeatures": [], key: names})
            assert isinstance(error, CorruptMetadataError)
            assert error.field == f"protocol.{key}"


def test_versions_as_texts(tmp_path: Path) -> None:
    table = tf.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), format="delta")
    table.append(pa.table({"id": [1]}))
    for text in ("1", "01", "1".zfill(20)):
        assert table.snapshot(text).version == 1
    for text in ("1".zfill(21), "", "-1", "1.0", "²", "x"):
        with pytest.raises(SnapshotNotFoundError):
            table.snapshot(text)


def test_an_overwrite_of_partitions_is_alone_in_its_transaction(tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array([1], pa.int64()), "p": pa.array([1], pa.int32())})
    table = tf.create_table(tmp_path / "t", rows.schema, format="delta", partition_by="p")
    table.append(rows)
    for first in (lambda t: t.append(rows), lambda t: t.delete("id = 1")):
        with pytest.raises(UnsupportedFeatureError, match="alone in its transaction"), table.transaction() as other:
            first(other)
            other.overwrite(rows, where="dynamic")
    assert table.refresh().count() == 1
