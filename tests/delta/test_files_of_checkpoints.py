"""The files of a checkpoint: what is read of their actions, row groups and footers, and which sidecars there are."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.checkpoints import checkpoint_files
from tableformats_delta.checkpoints.checkpoint_files import (
    CheckpointFile,
    CheckpointSplit,
    _groups_with_values,
    _leaf_paths,
    _sidecar,
    expand,
    read_metadata,
    reading_ahead,
)
from tableformats_delta.checkpoints.damage import guard_parquet
from tableformats_delta.log.listing import Checkpoint, LogFile

import tableformats as tf
from tableformats.io.storage import Storage
from tableformats.plugin import MetadataCache
from tests.support.delta_log import METADATA_TYPE, PROTOCOL, PROTOCOL_TYPE, DeltaLog, add, first_actions, metadata

TXN = pa.struct([("appId", pa.string()), ("version", pa.int64()), ("time_parsed", pa.timestamp("us"))])


def written(path: Path, *groups: list[Any], **kinds: pa.DataType) -> CheckpointFile:
    """A file with these rows, group by group."""
    schema = pa.schema(list(kinds.items()))
    with pq.ParquetWriter(path / "x.parquet", schema) as writer:
        for rows in groups:
            writer.write_table(pa.Table.from_pylist(rows, schema))
    return CheckpointFile(Storage(path), str(path / "x.parquet"), (path / "x.parquet").stat().st_size)


@pytest.mark.parametrize(
    ("items", "count", "runs"),
    [
        (7, 2, [[0, 1, 2], [3, 4, 5, 6]]),
        (7, 3, [[0, 1], [2, 3], [4, 5, 6]]),
        (2, 3, [[], [0], [1]]),
        (0, 2, [[], []]),
        (3, 1, [[0, 1, 2]]),
    ],
)
def test_runs_of_row_groups(items: int, count: int, runs: list[list[int]]) -> None:
    assert [CheckpointSplit(number, count).of([*range(items)]) for number in range(count)] == runs


# ---- actions that are no file actions --------------------------------------------------------------------------------


def txn(name: str | None, version: int | None = None) -> dict[str, Any]:
    return {"txn": {"appId": name, "version": version, "time_parsed": None}}


def test_actions_of_one_kind(tmp_path: Path) -> None:
    """Rows without a member are none of them. Members that repeat others are left out."""
    rows = [[txn("a", 1), {"txn": None}, txn(None), txn(None, 5)], [{"txn": None}], [txn("b")]]
    file = written(tmp_path, *rows, txn=TXN)
    assert [*file.structs("txn")] == [
        {"appId": "a", "version": 1},
        {"appId": None, "version": 5},
        {"appId": "b", "version": None},
    ]
    assert [*file.structs("domainMetadata")] == []
    assert [len(values) for values in file.struct_arrays("txn")] == [3]


def test_actions_that_are_no_structs(tmp_path: Path) -> None:
    with pytest.raises(tf.CorruptMetadataError) as caught:
        next(written(tmp_path, [{"txn": 1}], txn=pa.int64()).structs("txn"))
    assert caught.value.field == "txn"


def test_batches_of_few_actions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_files, "_FEW_ROWS", 2)
    file = written(tmp_path, [txn("a"), txn("b"), txn("c")], txn=TXN)
    assert [len(values) for values in file.struct_arrays("txn")] == [2, 1]


def test_texts_of_actions_are_no_codes(tmp_path: Path) -> None:
    """Whoever reads actions as they are stored has partition values as texts; planning takes them as codes."""
    kind = pa.struct([("path", pa.string()), ("partitionValues", pa.map_(pa.string(), pa.string()))])
    file = written(tmp_path, [{"add": {"path": name, "partitionValues": [("p", "1")]}} for name in "ab"], add=kind)
    (values,) = file.struct_arrays("add")
    assert values.type.field("partitionValues").type == kind.field("partitionValues").type
    assert values.to_pylist() == [{"path": name, "partitionValues": [("p", "1")]} for name in "ab"]


def test_row_groups_with_values(tmp_path: Path) -> None:
    file = written(tmp_path, [txn("a"), txn(None)], [{"txn": None}], [txn(None, 1)], txn=TXN)
    footer = pq.read_metadata(file.path)
    leaves = _leaf_paths(footer, "txn.")
    assert leaves == {0: "txn.appId", 1: "txn.version", 2: "txn.time_parsed"}
    assert _groups_with_values(footer, leaves) == [0, 2]
    assert _groups_with_values(footer, [0]) == [0] and _groups_with_values(footer, []) == []
    assert _leaf_paths(footer, "txn.v") == {1: "txn.version"} and _leaf_paths(footer, "add.") == {}


def test_row_groups_that_do_not_tell(tmp_path: Path) -> None:
    """Without a count of NULLs there may be values."""
    kind = pa.schema([("txn", TXN)])
    pq.write_table(pa.Table.from_pylist([txn(None)], kind), tmp_path / "x.parquet", write_statistics=False)
    assert _groups_with_values(pq.read_metadata(tmp_path / "x.parquet"), [0]) == [0]


# ---- row groups and their adds ---------------------------------------------------------------------------------------

ADD = pa.struct([("path", pa.string()), ("size", pa.int64()), ("stats", pa.string())])


def adds(*names: str) -> list[dict[str, Any]]:
    return [{"add": {"path": name, "size": len(name), "stats": None}} for name in names]


def test_row_groups(tmp_path: Path) -> None:
    file = written(tmp_path, adds("a", "b"), adds("c"), add=ADD)
    assert file.groups() == [(0, 2), (1, 1)] and not file.is_json
    assert [one.rows.column("path").to_pylist() for one in file.files()] == [["a", "b"], ["c"]]
    assert [one.rows.column("path").to_pylist() for one in file.group(1)] == [["c"]]
    assert file.schema().names == ["add"]
    batches = file.batches(["add.path"], 1)
    assert [batch.to_pylist() for batch in batches] == [[{"add": {"path": name}}] for name in "abc"]
    assert [batch.num_rows for batch in file.batches(["add.path"], 5, [1])] == [1]
    assert [*file.batches(["add.path"], 5, [])] == []


def test_a_file_without_adds(tmp_path: Path) -> None:
    file = written(tmp_path, [txn("a")], txn=TXN)
    assert file.groups() == [] and [*file.files()] == []


def test_the_footer_as_it_is_stored(tmp_path: Path) -> None:
    file = written(tmp_path, adds("a"), add=ADD)
    data = Path(file.path).read_bytes()
    stored, total = file.stored_footer()
    size = int.from_bytes(data[-8:-4], "little") + 8
    assert total == len(data) and stored == data[-size:]
    assert file.pairs() == pq.read_metadata(file.path).metadata
    assert file.key == (file.path, len(data), 0)
    assert file.__getstate__()["_footer"] is None and file.__dict__["_footer"] is not None


def test_more_rows_than_a_file_of_its_size_may_have(tmp_path: Path) -> None:
    file = written(tmp_path, adds("a", "b"), adds("c"), add=ADD)
    footer = SimpleNamespace(
        num_rows=1, num_row_groups=2, row_group=lambda number: SimpleNamespace(num_rows=2 - number)
    )
    limit: list[int] = []

    def exceeded(*given: Any, **more: Any) -> Exception:
        return ValueError(given[1])

    limits = SimpleNamespace(within=lambda size: SimpleNamespace(entries=limit[0]), exceeded=exceeded)
    file.storage = SimpleNamespace(limits=limits)  # type: ignore[assignment]
    for most, rows in ((3, None), (2, 3)):
        limit[:] = [most]
        checks = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoint_files, "check_pages", lambda *given, checks=checks: checks.append(given))
            source: Any = SimpleNamespace(size=lambda: 100)
            if rows is None:
                file._check_size(footer, source)
                assert len(checks) == 1
            else:
                with pytest.raises(ValueError, match="3 rows of a checkpoint file"):
                    file._check_size(footer, source)


def test_a_manifest_of_json(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("\n".join(json.dumps(one) for one in (add("a", stats='{"numRecords": 3}'), add("b"))))
    file = CheckpointFile(Storage(tmp_path), str(path), path.stat().st_size)
    assert file.is_json and file.groups() == [(None, None)]
    (one,) = file.files()
    assert one.rows.column("path").to_pylist() == ["a", "b"]
    assert one.statistics.scan([], None).record_counts.to_pylist() == [3, None]


def test_a_manifest_of_more_bytes_than_allowed(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(add("a")))
    size = path.stat().st_size
    assert (
        len(CheckpointFile(Storage(tmp_path, limits=tf.Limits(metadata_bytes=size)), str(path), size).actions().adds)
        == 1
    )
    with pytest.raises(tf.LimitExceededError) as caught:
        CheckpointFile(Storage(tmp_path, limits=tf.Limits(metadata_bytes=size - 1)), str(path), size).actions()
    assert caught.value.limit == "metadata_bytes"


def test_more_actions_than_allowed(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    sidecar = {"sidecar": {"path": "s", "sizeInBytes": 1, "modificationTime": 1}}
    path.write_text("\n".join(json.dumps(one) for one in (add("a"), add("b"), {"remove": {"path": "c"}}, sidecar)))
    for most in (4, 3):
        file = CheckpointFile(Storage(tmp_path, limits=tf.Limits(entries=most)), str(path), 1)
        if most == 4:
            assert len(file.actions().adds) == 2
        else:
            with pytest.raises(tf.LimitExceededError, match="4 actions of a checkpoint file"):
                file.actions()


def test_a_local_file_is_the_same_at_each_opening(tmp_path: Path) -> None:
    """One that is replaced while it is opened first is opened again; later it is refused."""
    file = written(tmp_path, adds("a"), add=ADD)
    stamps = [(1, 1), (2, 2), (3, 3), (3, 3), (3, 3), (4, 4)]
    file.storage.stamp_of = lambda path: stamps.pop(0)  # type: ignore[method-assign, misc]
    file.open_source().close()
    assert len(stamps) == 2 and file._stamp == (3, 3)
    file.open_source().close()
    with pytest.raises(tf.CorruptMetadataError, match="another writer replaced"):
        file.open_source()
    assert stamps == []


class Ahead:
    """A store that notes what is read ahead."""

    is_local = False

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def reading_ahead(self, others: Any, files: Any = (), whole: bool = True) -> Any:
        self.asked.append(([*others], [(one.name, one.size) for one in files], whole))
        return nullcontext()


def test_files_that_are_read_ahead() -> None:
    """Small ones whole, and of others the ends."""
    store: Any = Ahead()
    with reading_ahead([CheckpointFile(store, "/t/a", 5)]):
        assert store.asked == [([], [("a", 5)], True), ([], [], False)]
    store.asked.clear()
    with reading_ahead([CheckpointFile(store, "/t/a", 5), CheckpointFile(store, "/t/b", 6, whole=False)]):
        assert store.asked == [([], [("a", 5)], True), ([], [("b", 6)], False)]
    store.asked.clear()
    store.is_local = True
    with reading_ahead([CheckpointFile(store, "/t/a", 5)]), reading_ahead([]):
        assert store.asked == []


# ---- sidecars --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "path", "size", "time"),
    [
        ({"path": "x.parquet", "sizeInBytes": 5, "modificationTime": 6}, "_delta_log/_sidecars/x.parquet", 5, 6),
        ({"path": "a%20b.parquet", "sizeInBytes": "5"}, "_delta_log/_sidecars/a b.parquet", 0, 0),
        ({"path": "_delta_log/_sidecars/x.parquet"}, "_delta_log/_sidecars/x.parquet", 0, 0),
        ({"path": "other%2Fx.parquet"}, "other/x.parquet", 0, 0),
    ],
)
def test_paths_of_sidecars(tmp_path: Path, action: dict[str, Any], path: str, size: int, time: int) -> None:
    """A name alone is one in the directory of sidecars."""
    found = _sidecar(Storage(tmp_path), action, "/manifest")
    assert (found.path, found.size, found.mtime_ms) == (str(tmp_path / path), size, time)


@pytest.mark.parametrize("action", [{}, {"path": None}, {"path": 1}])
def test_a_sidecar_without_a_path(tmp_path: Path, action: dict[str, Any]) -> None:
    with pytest.raises(tf.CorruptMetadataError) as caught:
        _sidecar(Storage(tmp_path), action, "/manifest")
    assert (caught.value.path, caught.value.field) == ("/manifest", "sidecar.path")


def checkpoint_of(*paths: Path) -> Checkpoint:
    return Checkpoint(3, tuple(LogFile(3, str(path), path.stat().st_size, 1) for path in paths))


def test_sidecars_are_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their rows count once. Whether they are read whole depends on the bytes of all of them."""
    actions = [{"sidecar": {"path": name, "sizeInBytes": 5, "modificationTime": 1}} for name in ("a", "b", "a")]
    path = tmp_path / "x.json"
    path.write_text("\n".join(map(json.dumps, actions)))
    for most, whole in ((10, True), (9, False)):
        monkeypatch.setattr(checkpoint_files, "_MOST_WHOLE_BYTES", most)
        manifest, *sidecars = expand(Storage(tmp_path), checkpoint_of(path), MetadataCache(0))
        assert (manifest.path, [Path(file.path).name for file in sidecars]) == (str(path), ["a", "b"])
        assert [file.whole for file in sidecars] == [whole, whole]


# ---- protocol and metadata -------------------------------------------------------------------------------------------


def test_protocol_and_metadata(tmp_path: Path) -> None:
    """The first of each, in whichever file they stand; files behind both are not read."""
    log = DeltaLog(tmp_path / "t")
    protocol, described = first_actions(configuration={"a": "b"})
    described["metaData"]["configuration"] = [("a", "b")]
    log.checkpoint("p1", add("x")).checkpoint("p2", protocol).checkpoint("p3", described)
    log.write("p4", b"no Parquet")
    paths = [log.directory / name for name in ("p1", "p2", "p3", "p4")]
    found = read_metadata(Storage(log.root), checkpoint_of(*paths), MetadataCache(0))
    assert found[0] is not None and found[0]["minReaderVersion"] == PROTOCOL["minReaderVersion"]
    assert found[1] is not None and (found[1]["id"], found[1]["configuration"]) == ("t", {"a": "b"})
    for some, wanted in ((paths[:1], (False, False)), (paths[:2], (True, False)), (paths[2:3], (False, True))):
        one = read_metadata(Storage(log.root), checkpoint_of(*some), MetadataCache(0))
        assert tuple(part is not None for part in one) == wanted


def test_metadata_without_a_configuration(tmp_path: Path) -> None:
    _, described = first_actions()
    described["metaData"]["configuration"] = None
    log = DeltaLog(tmp_path / "t").checkpoint("p", described)
    found = read_metadata(Storage(log.root), checkpoint_of(log.directory / "p"), MetadataCache(0))
    assert found[1] is not None and found[1]["configuration"] == {}


def test_protocol_and_metadata_of_a_manifest(tmp_path: Path) -> None:
    path, other = tmp_path / "x.json", tmp_path / "y.json"
    path.write_text(json.dumps({"protocol": PROTOCOL}))
    other.write_text(
        "\n".join(
            json.dumps(one)
            for one in ({"protocol": {"minReaderVersion": 9, "minWriterVersion": 9}}, {"metaData": metadata()})
        )
    )
    found = read_metadata(Storage(tmp_path), checkpoint_of(path, other), MetadataCache(0))
    assert found == (PROTOCOL, metadata())


# ---- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (pa.ArrowInvalid("bad\nmore"), "a checkpoint is damaged or cut off: bad"),
        (ValueError(), "a checkpoint is damaged or cut off: ValueError"),
        (OverflowError("far"), "a checkpoint is damaged or cut off: far"),
        (OSError("no magic"), "a checkpoint is damaged or cut off: no magic"),
        (KeyError("x"), None),
        (tf.SnapshotNotFoundError("gone"), None),
        (MemoryError(), None),
        (OSError(5, "Input/output error"), None),
    ],
)
def test_errors_of_damaged_files(error: Exception, message: str | None) -> None:
    """Errors of the machine, and our own, pass as they are."""
    with pytest.raises(type(error) if message is None else tf.CorruptMetadataError) as caught, guard_parquet("/x"):
        raise error
    if message is None:
        assert caught.value is error
    else:
        assert str(caught.value).startswith(message) and caught.value.path == "/x"  # type: ignore[attr-defined]
    with guard_parquet("/x"):
        pass


def test_columns_of_other_kinds(tmp_path: Path) -> None:
    """What is no top-level struct of the kind is none of its actions."""
    kinds = {"protocol": PROTOCOL_TYPE, "metaData": METADATA_TYPE}
    file = written(tmp_path, [{"protocol": PROTOCOL}], **kinds)
    assert [one["minWriterVersion"] for one in file.structs("protocol")] == [2] and not [*file.structs("metaData")]
