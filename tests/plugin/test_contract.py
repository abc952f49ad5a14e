"""A plugin whose batches are not what the interface says is told which column or key is wrong, whatever it planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.plugin import FileBatch, ReadRequest
from tableformats.schema import primitive
from tests.support.arrow_fakes import FakeFile, FakeSnapshot, snapshot_of

FIELD = tf.Field(1, "a", primitive("long"))


def changed(name: str, values: pa.Array | None) -> Callable[[FileBatch], FileBatch]:
    """The batch with another column ``name``; without it for None."""

    def change(batch: FileBatch) -> FileBatch:
        files = pa.Table.from_batches([batch.files]).drop_columns([name])
        files = files if values is None else files.append_column(name, values)
        return replace(batch, files=files.combine_chunks().to_batches()[0])

    return change


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (changed("path", None), "path"),
        (changed("path", pa.array([b"x"])), "path"),
        (changed("size_bytes", pa.array([1], pa.int32())), "size_bytes"),
        (changed("size_bytes", None), "size_bytes"),
        (changed("record_count", pa.array(["1"])), "record_count"),
        (changed("partition", None), "partition"),
        (changed("partition", pa.array([1])), "partition"),
        (lambda batch: replace(batch, keys=pa.array([b"x", b"y"])), "keys"),
    ],
)
def test_what_is_wrong_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: Callable[[FileBatch], FileBatch], field: str
) -> None:
    snapshot, sound = snapshot_of(tmp_path, [FIELD], [FakeFile("f", 3)]), FakeSnapshot.read

    def read(self: FakeSnapshot, request: ReadRequest) -> Iterator[FileBatch]:
        return map(change, sound(self, request))

    assert len(snapshot.scan().plan()) == 1
    monkeypatch.setattr(FakeSnapshot, "read", read)
    with pytest.raises(tf.PluginContractError, match=field) as caught:
        snapshot.scan().plan()
    assert caught.value.field == field
