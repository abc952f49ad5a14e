"""Checkpoints that we write say what the log said, for us and for other readers, and the hint names what is there."""

from __future__ import annotations

import importlib
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tableformats_delta.checkpoints.checkpoint_files import CheckpointFile
from tableformats_delta.log.last_checkpoint import json_checksum
from tableformats_delta.maintenance import action_file, checkpoint_writer, replay
from tableformats_delta.statistics.stats_json import Leaf
from tableformats_delta.statistics.stats_struct import stats_texts, structs_of_texts

import tableformats as tf
from tableformats.io.storage import Storage
from tableformats.schema import PrimitiveType

from ..support.conformance import DeltaCase, delta_cases, needs_tables
from ..support.delta_log import WITH_VECTORS, DeltaLog, add, field, remove, stats, vector
from ..support.s3_stub import S3Stub

SOON = 2**43  # a deletion that no retention has expired
LATEST = "_last_checkpoint"


def state_of(table: tf.Table, version: int | None = None) -> dict[str, Any]:
    """All that a version says of the table, in an order of its own."""
    snapshot = table.snapshot(version)
    inner = snapshot.format_snapshot
    plan = snapshot.scan().plan()
    files = sorted(map(repr, plan.files.to_pylist()))
    found = {name: sorted(map(repr, inner.inspect(name).to_pylist())) for name in ("transactions", "domains")}
    protocol = {name: value for name, value in inner.protocol.items() if value is not None}
    return {"files": files, "protocol": protocol, "metadata": inner.table_metadata, **found}


def tombstones_of(table: tf.Table) -> list[str]:
    rows = table.inspect.tombstones().to_pylist()
    return sorted(repr((row["path"], row["deletionTimestamp"], row["size"], row["deletionVector"])) for row in rows)


def bounds_of(table: tf.Table) -> list[Any]:
    """Every statistic of every file, by the names of columns."""
    from ..support.delta_log import request

    inner = table.snapshot().format_snapshot
    ask = request(*(f for f in inner.schema.fields if not f.type.is_nested))
    found, seen = [], set()
    for batch in inner.read(ask):
        n = batch.files.num_rows
        bounds = batch.statistics.bounds(ask.columns, None)
        sides = [batch.statistics.record_counts(), *bounds.lower.values(), *bounds.upper.values()]
        rows = zip(
            batch.files["path"].to_pylist(),
            *(s.to_pylist() for s in (*sides, *bounds.null_count.values())),
            strict=True,
        )
        live = [True] * n if batch.live is None else batch.live.tolist()
        keys = [None] * n if batch.keys is None else batch.keys.to_pylist()
        for row, is_live, key in zip(rows, live, keys, strict=True):
            if is_live and (key is None or key not in seen):
                found.append(repr(row))
            seen.add(key)
    return sorted(found)


def only_checkpoint(root: Path, version: int) -> tf.Table:
    """The table without the commits that the checkpoint stands for, and without older checkpoints.

    The commit of the version itself stays, which no reader reads then: Delta for Spark asks for the file.
    """
    log = root / "_delta_log"
    for file in log.iterdir():
        number = file.name[:20]
        stays = ".checkpoint." in file.name or file.name == f"{version:020d}.json"
        if number.isdigit() and (int(number) < version or (int(number) == version and not stays)):
            file.unlink()
    return tf.open_table(root, format="delta")


@needs_tables
@pytest.mark.parametrize("case", delta_cases(), ids=str)
def test_conformance_tables(case: DeltaCase, tmp_path: Path) -> None:
    """Each version of a conformance table, read from our checkpoint alone, is what it was."""
    root = tmp_path / "t"
    if not (case.path / "_delta_log").is_dir():
        pytest.skip("kept as metadata elsewhere")
    shutil.copytree(case.path, root)
    try:
        table = tf.open_table(root, format="delta")
        before, version = state_of(table), table.snapshot().version
        bounds = bounds_of(table)
    except tf.TableFormatsError as error:
        pytest.skip(f"refused: {error}")
    # Hadoop keeps a checksum of each local file beside it, and Spark would compare ours with that of the one before.
    for pattern in (f"{version:020d}.checkpoint*", f".{version:020d}.checkpoint*.crc", "._last_checkpoint.crc"):
        for file in (root / "_delta_log").glob(pattern):
            file.unlink()
    try:
        table = tf.open_table(root, format="delta")
        assert table.snapshot().version == version
    except tf.TableFormatsError:
        pytest.skip("nothing without its checkpoint")
    try:
        made = table.checkpoint()
    except tf.UnsupportedFeatureError as error:
        pytest.skip(f"refused: {error}")
    assert made.is_new and made.files == len(before["files"])
    alone = only_checkpoint(root, version)
    assert state_of(alone) == before
    assert bounds_of(alone) == bounds


# ---- forms of statistics, specs ------------------------------------------------------------------------------------

ROWS = pa.table(
    {
        "i": pa.array([1, None, 2**31 - 1], pa.int32()),
        "x": pa.array([2**63 - 1, 5, None], pa.int64()),
        "f": pa.array([1.5, -0.25, None]),
        "s": pa.array(["x" * 40, 'a"b\\c\n', None]),
        "d": pa.array([0, 18_000, None], pa.date32()),
        "t": pa.array([1_000_001, -5, None], pa.timestamp("us", "UTC")),
        "m": pa.array([None, "1.50", "-12345678901234567890.12"]).cast(pa.decimal128(38, 2)),
        "p": ["u/v w", None, "é"],
    }
)
FORMS = {
    "text": {},
    "struct": {"delta.checkpoint.writeStatsAsStruct": "true", "delta.checkpoint.writeStatsAsJson": "false"},
    "both": {"delta.checkpoint.writeStatsAsStruct": "true"},
}
V2 = {"delta.checkpointPolicy": "v2"}


def written_by_deltalake(root: Path, configuration: dict[str, str]) -> tf.Table:
    deltalake = pytest.importorskip("deltalake")
    for n in range(3):
        deltalake.write_deltalake(
            root, ROWS.slice(n), partition_by="p", mode="append", configuration={k: v for k, v in configuration.items()}
        )
    deltalake.DeltaTable(root).delete("p = 'é'")
    return tf.open_table(root, format="delta")


def rows_by_others(root: Path, without: str = "") -> dict[str, list[str]]:
    """The rows that each reader gives; ``without`` names one that refuses the table's features."""
    import deltalake
    import polars

    found = {
        "deltalake": deltalake.QueryBuilder().register("t", deltalake.DeltaTable(root)).execute("SELECT * FROM t"),
        "ours": tf.open_table(root, format="delta").to_arrow(),
    }
    if without != "polars":
        found["polars"] = polars.scan_delta(str(root)).collect()
    connection = delta_connection()
    if connection is not None:
        found["duckdb"] = connection.sql(f"SELECT * FROM delta_scan('{root}')").to_arrow_table()
    tables = {name: pa.table(rows).select(ROWS.column_names).cast(ROWS.schema) for name, rows in found.items()}
    return {name: sorted(map(repr, table.to_pylist())) for name, table in tables.items()}


def delta_connection() -> Any:
    """DuckDB with its extension for Delta; None where that is not installed."""
    try:
        package = importlib.import_module("duckdb_extension_delta")
    except ImportError:
        return None
    import duckdb

    connection = duckdb.connect()
    (path,) = Path(package.__path__[0]).rglob("delta.duckdb_extension")
    connection.sql(f"LOAD '{path}'")
    connection.sql("SET TimeZone = 'UTC'")
    return connection


@pytest.mark.parametrize("form", FORMS)
def test_read_by_others(form: str, tmp_path: Path) -> None:
    table = written_by_deltalake(tmp_path / "t", FORMS[form])
    before, bounds, rows = state_of(table), bounds_of(table), rows_by_others(tmp_path / "t")
    assert table.checkpoint().is_new
    alone = only_checkpoint(tmp_path / "t", before_version := table.snapshot().version)
    assert (state_of(alone), bounds_of(alone), rows_by_others(tmp_path / "t")) == (before, bounds, rows)
    assert len({repr(found) for found in rows.values()}) == 1
    add_type = checkpoint_of(tmp_path / "t", before_version).schema_arrow.field("add").type
    names = {member.name for member in add_type}
    assert ("stats" in names, "stats_parsed" in names) == (form != "struct", form != "text")
    assert ("partitionValues_parsed" in names) == (form != "text")


@pytest.mark.parametrize("old", FORMS)
@pytest.mark.parametrize("new", FORMS)
def test_statistics_from_an_older_checkpoint(old: str, new: str, tmp_path: Path) -> None:
    """The table's properties change between two checkpoints; no bound is lost or narrowed."""
    table = written_by_deltalake(tmp_path / "t", FORMS[old])
    bounds = bounds_of(table)
    first = table.checkpoint()
    actions = alter(tmp_path / "t", first.version, FORMS[new])
    only_checkpoint(tmp_path / "t", first.version)
    table = tf.open_table(tmp_path / "t", format="delta")
    assert table.snapshot().version == first.version + 1 and actions
    second = table.checkpoint()
    assert second.files == first.files
    assert bounds_of(only_checkpoint(tmp_path / "t", second.version)) == bounds


PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["v2Checkpoint"],
    "writerFeatures": ["v2Checkpoint"],
}


def alter(root: Path, version: int, configuration: dict[str, str], *features: str) -> list[dict[str, Any]]:
    """The next commit: the table's metadata with this configuration, and a protocol with these features."""
    inner = tf.open_table(root, format="delta").snapshot().format_snapshot
    metadata = {**inner.state.metadata, "configuration": configuration}
    metadata["format"] = {"provider": "parquet", "options": {}}
    actions: list[dict[str, Any]] = [{"metaData": metadata}]
    if features:
        names = list(features)
        protocol = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": names, "writerFeatures": names}
        actions.append({"protocol": protocol})
    path = root / "_delta_log" / f"{version + 1:020d}.json"
    path.write_text("".join(json.dumps(action) + "\n" for action in actions))
    return actions


def checkpoint_of(root: Path, version: int) -> pq.ParquetFile:
    (file,) = (root / "_delta_log").glob(f"{version:020d}.checkpoint*.parquet")
    return pq.ParquetFile(file)


@pytest.mark.parametrize("form", ["text", "struct"])
def test_v2(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_writer, "SIDECAR_ACTIONS", 3)
    root = tmp_path / "t"
    table = written_by_deltalake(root, {})
    alter(root, table.snapshot().version, {**FORMS[form], **V2}, "v2Checkpoint")
    before, bounds, rows = state_of(table), bounds_of(table), rows_by_others(root, without="polars")
    made = table.checkpoint()
    alone = only_checkpoint(root, made.version)
    assert (state_of(alone), bounds_of(alone), rows_by_others(root, without="polars")) == (before, bounds, rows)
    manifest = checkpoint_of(root, made.version).read().to_pylist()
    assert all(row["add"] is None and row["remove"] is None for row in manifest)  # delta-spark wants the columns
    named = [row["sidecar"] for row in manifest if row["sidecar"]]
    sizes = {file.name: file.stat().st_size for file in (root / "_delta_log" / "_sidecars").iterdir()}
    assert {one["path"]: one["sizeInBytes"] for one in named} == sizes and len(sizes) > 1
    (described,) = [row["checkpointMetadata"] for row in manifest if row["checkpointMetadata"]]
    assert described == {"version": made.version, "tags": []}
    # and from sidecars to one file again
    alter(root, made.version, FORMS[form])
    table = tf.open_table(root, format="delta")
    assert table.checkpoint().files == made.files
    assert bounds_of(only_checkpoint(root, made.version + 1)) == bounds


# ---- what is kept, and what is not ---------------------------------------------------------------------------------


def test_every_action(tmp_path: Path) -> None:
    """Tags, row ids, vectors, clustering; tombstones with what VACUUM needs; the newest of transactions and domains."""
    known = {**WITH_VECTORS, "writerFeatures": ["deletionVectors", "domainMetadata", "rowTracking"]}
    log = DeltaLog(tmp_path / "t").start(
        field("id", "long"), protocol=known, configuration={"delta.setTransactionRetentionDuration": "interval 1 day"}
    )
    log.commit(
        1,
        add("kept", tags={"a": "b", "none": None}, baseRowId=7, defaultRowCommitVersion=1, clusteringProvider="liquid"),
        add("gone", stats=stats(3)),
        add("rewritten"),
        {"txn": {"appId": "old", "version": 1, "lastUpdated": 5}},
        {"txn": {"appId": "timeless", "version": 2}},
        {"txn": {"appId": "new", "version": 3, "lastUpdated": SOON, "more": "x"}},
        {"domainMetadata": {"domain": "d", "configuration": "first", "removed": False}},
        {"domainMetadata": {"domain": "dropped", "configuration": "first", "removed": False}},
    )
    log.commit(
        2,
        remove("gone", deletionTimestamp=SOON, extendedFileMetadata=True, partitionValues={}, size=9, baseRowId=8),
        remove("long gone", deletionTimestamp=1),
        remove("rewritten", deletionTimestamp=SOON),
        add("rewritten", deletionVector=vector(2), stats=stats(5)),
        {"txn": {"appId": "new", "version": 4, "lastUpdated": SOON}},
        {"domainMetadata": {"domain": "d", "configuration": "second", "removed": False}},
        {"domainMetadata": {"domain": "dropped", "configuration": "", "removed": True}},
        {"unknownAction": {"x": 1}},
    )
    table = tf.open_table(tmp_path / "t", format="delta")
    made = table.checkpoint()
    rows = checkpoint_of(tmp_path / "t", 2).read().to_pylist()
    adds = {row["add"]["path"]: row["add"] for row in rows if row["add"] and row["add"]["path"]}
    assert set(adds) == {"kept", "rewritten"} and made.files == 2
    assert dict(adds["kept"]["tags"]) == {"a": "b", "none": None} and adds["kept"]["clusteringProvider"] == "liquid"
    assert (adds["kept"]["baseRowId"], adds["kept"]["defaultRowCommitVersion"]) == (7, 1)
    assert adds["kept"]["deletionVector"] is None and adds["kept"]["dataChange"] is False
    assert {k: v for k, v in adds["rewritten"]["deletionVector"].items() if v is not None} == vector(2)
    removes = {row["remove"]["path"]: row["remove"] for row in rows if row["remove"] and row["remove"]["path"]}
    assert set(removes) == {"gone", "rewritten"}
    gone = {"deletionTimestamp": SOON, "extendedFileMetadata": True, "partitionValues": [], "size": 9, "baseRowId": 8}
    assert {name: removes["gone"][name] for name in gone} == gone
    transactions = {row["txn"]["appId"]: row["txn"]["version"] for row in rows if row["txn"] and row["txn"]["appId"]}
    assert transactions == {"timeless": 2, "new": 4}
    domains = [row["domainMetadata"] for row in rows if row["domainMetadata"] and row["domainMetadata"]["domain"]]
    assert [(one["domain"], one["configuration"]) for one in domains] == [("d", "second")]
    # a second checkpoint from the first one keeps all of it
    log.commit(3, add("more"))
    alone = only_checkpoint(tmp_path / "t", 2)
    tombstones = tombstones_of(alone)
    assert len(tombstones) == 2
    alone.checkpoint()
    again = only_checkpoint(tmp_path / "t", 3)
    assert tombstones_of(again) == tombstones
    newer = checkpoint_of(tmp_path / "t", 3).read().to_pylist()
    found = {row["add"]["path"]: row["add"] for row in newer if row["add"] and row["add"]["path"]}
    assert {path: found[path] for path in adds} == adds


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_upon_an_older_checkpoint(policy: str, tmp_path: Path) -> None:
    """Files of the older checkpoint that newer commits remove, or give another vector or statistics."""
    features = ["deletionVectors", "v2Checkpoint"]
    known = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}
    log = DeltaLog(tmp_path / "t").start(
        field("id", "long"), protocol=known, configuration={"delta.checkpointPolicy": policy}
    )
    log.commit(1, *(add(name, stats=stats(9)) for name in "abcde"), remove("z", deletionTimestamp=SOON))
    tf.open_table(log.root, format="delta").checkpoint()
    log.commit(2, remove("a", deletionTimestamp=SOON), remove("b", deletionTimestamp=SOON))
    log.commit(3, add("b", deletionVector=vector(1), stats=stats(9)), add("c", stats=stats(8)), add("z"))
    table = only_checkpoint(log.root, 1)
    before, bounds, tombstones = state_of(table), bounds_of(table), tombstones_of(table)
    assert len(before["files"]) == 5 and len(tombstones) == 2
    assert table.checkpoint().files == 5
    alone = only_checkpoint(log.root, 3)
    assert (state_of(alone), bounds_of(alone), tombstones_of(alone)) == (before, bounds, tombstones)


def test_unknown_fields(tmp_path: Path) -> None:
    """Fields that the protocol does not have: of metadata from commits, of files from an older checkpoint."""
    log = DeltaLog(tmp_path / "t")
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    metadata = {**log_metadata(), "futureName": "n", "futureNumber": 3, "futureList": [1]}
    log.commit(0, {"protocol": protocol}, {"metaData": metadata})
    log.commit(1, add("a"))
    table = tf.open_table(tmp_path / "t", format="delta")
    table.checkpoint()
    path = tmp_path / "t" / "_delta_log" / f"{1:020d}.checkpoint.parquet"
    read = pq.read_table(path)
    kinds = [("futureOfFile", pa.string()), *((m.name, m.type) for m in read.schema.field("add").type)]
    rows = [
        {**row["add"], "futureOfFile": "f"} if row["add"] and row["add"]["path"] else None for row in read.to_pylist()
    ]
    place = read.schema.get_field_index("add")
    pq.write_table(read.set_column(place, "add", pa.array(rows, pa.struct(kinds))), path)
    log.commit(2, add("b"))
    only_checkpoint(tmp_path / "t", 1).checkpoint()
    rows = checkpoint_of(tmp_path / "t", 2).read().to_pylist()
    (found,) = [row["metaData"] for row in rows if row["metaData"] and row["metaData"]["id"]]
    assert (found["futureName"], found["futureNumber"]) == ("n", 3) and "futureList" not in found
    adds = {row["add"]["path"]: row["add"]["futureOfFile"] for row in rows if row["add"] and row["add"]["path"]}
    assert adds == {"a": "f", "b": None}


def log_metadata() -> dict[str, Any]:
    from ..support.delta_log import metadata

    return metadata(field("id", "long"))


# ---- the hint ------------------------------------------------------------------------------------------------------


def hint_of(log: DeltaLog) -> dict[str, Any]:
    text = (log.directory / LATEST).read_text()
    content = json.loads(text)
    assert content["checksum"] == json_checksum(text)
    return content


def test_the_hint(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"))
    for version in range(1, 4):
        log.commit(version, add(f"f{version}"))
    table = tf.open_table(tmp_path / "t", format="delta")
    made = table.checkpoint()
    size = (log.directory / f"{3:020d}.checkpoint.parquet").stat().st_size
    expected = {"version": 3, "size": made.actions, "sizeInBytes": size, "numOfAddFiles": 3}
    assert {name: value for name, value in hint_of(log).items() if name != "checksum"} == expected
    assert table.checkpoint(2).is_new and hint_of(log)["version"] == 3  # never backwards
    assert not table.checkpoint().is_new and not table.checkpoint(2).is_new
    for damage in (b"", b"{", b"[]", b'{"version": "3"}'):
        (log.directory / LATEST).write_bytes(damage)
        (log.directory / f"{3:020d}.checkpoint.parquet").unlink()
        assert table.checkpoint().is_new and hint_of(log)["version"] == 3


def test_a_checkpoint_of_another_writer_stays(tmp_path: Path) -> None:
    """Who has read its footer goes on reading that file."""
    table = tf.create_table(tmp_path / "t", pa.schema([("n", pa.int64())]), format="delta")
    table.append(pa.table({"n": [1, 2]}))
    late = tf.open_table(tmp_path / "t")
    late.snapshot()
    assert table.checkpoint().is_new
    path = tmp_path / "t/_delta_log/00000000000000000001.checkpoint.parquet"
    file, hint = path.stat(), (path.parent / LATEST).read_bytes()
    found = late.checkpoint()
    assert (found.is_new, found.path, found.size_bytes) == (False, str(path), file.st_size)
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (file.st_ino, file.st_mtime_ns)
    assert (path.parent / LATEST).read_bytes() == hint


def test_a_checkpoint_that_is_replaced_while_it_is_read(tmp_path: Path) -> None:
    """The other writer has the same files in another order, in as many bytes: their columns are never mixed."""
    table = tf.create_table(tmp_path / "t", pa.schema([("n", pa.int64())]), format="delta")
    for n in range(4):
        table.append(pa.table({"n": [n]}))
    rows = pq.read_table(path := table.checkpoint().path)

    def replaced(rows: pa.Table) -> int:
        pq.write_table(rows, tmp_path / "new", compression="none", use_dictionary=False, write_statistics=False)
        return (tmp_path / "new").rename(path).stat().st_size

    size = replaced(rows)
    file = CheckpointFile(table.storage, path, size)
    (batch,) = file.files()
    leaf = Leaf(1, ("n",), PrimitiveType("long"), False)
    first = batch.statistics.scan([leaf], None)
    (batch,) = file.files()
    assert replaced(rows.take(list(range(rows.num_rows))[::-1])) == size
    with pytest.raises(tf.CorruptMetadataError, match="replaced a checkpoint"):
        raise AssertionError((first, batch.statistics.scan([leaf], None)))
    with pytest.raises(tf.CorruptMetadataError, match="replaced a checkpoint"):
        list(file.files())
    assert tf.open_table(tmp_path / "t").to_arrow("n = 1").num_rows == 1


@pytest.mark.parametrize("has_etags", [True, False])
def test_a_large_remote_checkpoint_that_is_replaced_while_it_is_read(tmp_path: Path, has_etags: bool) -> None:
    """Its ranges are of one file where the store names contents; of a store without ETags nobody can say it."""
    log = DeltaLog(tmp_path / "t").start(field("n", "long"))
    log.commit(1, *(add(f"f{i}", stats=stats(1, minValues={"n": i}, maxValues={"n": i})) for i in range(6000)))
    rows = pq.read_table(tf.open_table(tmp_path / "t").checkpoint().path)
    with S3Stub() as stub:
        key = "t/_delta_log/00000000000000000001.checkpoint.parquet"

        def replaced(rows: pa.Table) -> int:
            sink = pa.BufferOutputStream()
            pq.write_table(rows, sink, compression="none", use_dictionary=False, write_statistics=False)
            stub.put(key, sink.getvalue().to_pybytes())
            return len(sink.getvalue())

        size = replaced(rows)
        storage = Storage("s3://bucket/t", stub.options)
        if not has_etags:
            store = storage.store_of("s3://bucket/t")
            store.tail = lambda path, length, tail=store.tail: tail(path, length)._replace(etag=None)  # type: ignore[method-assign]
        file = CheckpointFile(storage, f"s3://bucket/{key}", size, whole=False)
        leaf = Leaf(1, ("n",), PrimitiveType("long"), False)
        batch = next(iter(file.files()))
        adds = [i for i, is_add in enumerate(rows["add"].is_valid().to_pylist()) if is_add]
        order = dict(zip(adds, reversed(adds), strict=True))
        assert replaced(rows.take([order.get(i, i) for i in range(rows.num_rows)])) == size
        if has_etags:
            with pytest.raises(tf.CorruptMetadataError, match="replaced a file while it was read"):
                batch.statistics.scan([leaf], None)
        else:
            batch.statistics.scan([leaf], None)


def test_a_failed_checkpoint_leaves_no_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long")).commit(1, add("a"))
    table = tf.open_table(tmp_path / "t", format="delta")

    def put(path: str, data: bytes) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(table.storage, "put_if_absent", put)
    with pytest.raises(OSError, match="no space left"):
        table.checkpoint()
    assert not list(log.directory.glob("*checkpoint*"))


def test_a_refused_checkpoint_leaves_no_sidecar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long")).commit(1, add("a"))
    alter(log.root, 1, {"delta.checkpointPolicy": "v2"}, "v2Checkpoint")
    table = tf.open_table(tmp_path / "t", format="delta")
    stored: list[str] = []
    put = table.storage.put

    def answer_is_lost(path: str, data: bytes) -> None:
        put(path, data)
        stored.append(path)
        raise OSError("connection reset")

    monkeypatch.setattr(table.storage, "put", answer_is_lost)
    with pytest.raises(OSError, match="connection reset"):
        table.checkpoint()
    assert len(stored) == 1 and not list((log.directory / "_sidecars").iterdir())
    log.commit(3, {"protocol": {**PROTOCOL, "minWriterVersion": 2**64}})  # it does not fit into the checkpoint's column
    with pytest.raises(tf.CorruptMetadataError, match="wrong type"):
        tf.open_table(tmp_path / "t", format="delta").checkpoint()
    assert not list((log.directory / "_sidecars").iterdir()) and not list(log.directory.glob("*checkpoint*"))


# ---- refusals and damage -------------------------------------------------------------------------------------------


def test_unknown_writer_feature(tmp_path: Path) -> None:
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["fromTheFuture"]}
    DeltaLog(tmp_path / "t").start(field("id", "long"), protocol=protocol)
    with pytest.raises(tf.UnsupportedFeatureError, match="fromTheFuture"):
        tf.open_table(tmp_path / "t", format="delta").checkpoint()


@pytest.mark.parametrize("text", ["interval 1 month", "soon", "", "interval", "interval -1 day"])
def test_a_property_that_is_no_interval(text: str, tmp_path: Path) -> None:
    DeltaLog(tmp_path / "t").start(
        field("id", "long"), configuration={"delta.deletedFileRetentionDuration": text}
    ).commit(1, remove("x"))
    with pytest.raises(tf.CorruptMetadataError, match="deletedFileRetentionDuration"):
        tf.open_table(tmp_path / "t", format="delta").checkpoint()


def test_a_partition_value_that_is_none(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(
        field("id", "long"), field("p", "integer"), partition=("p",), configuration=FORMS["both"]
    )
    log.commit(1, add("a", partitionValues={"p": "no number"}))
    with pytest.raises(tf.CorruptMetadataError, match="no number"):
        tf.open_table(tmp_path / "t", format="delta").checkpoint()
    assert not (log.directory / LATEST).exists()


def test_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(action_file, "ROW_GROUP_ROWS", 2)
    monkeypatch.setattr(replay, "_BATCH_ROWS", 2)
    log = DeltaLog(tmp_path / "t").start(field("id", "long"))
    for version in range(1, 6):
        log.commit(version, add(f"f{version}", stats=stats(version)))
    table = tf.open_table(tmp_path / "t", format="delta")
    before = state_of(table)
    table.checkpoint()
    assert checkpoint_of(tmp_path / "t", 5).metadata.num_row_groups > 2
    assert state_of(only_checkpoint(tmp_path / "t", 5)) == before


@pytest.mark.parametrize("with_statistics", [True, False])
def test_actions_in_a_later_row_group(with_statistics: bool, tmp_path: Path) -> None:
    """Row groups are passed over only where the footer says that they have none of the actions."""
    log = DeltaLog(tmp_path / "t").start(field("id", "long"))
    log.commit(1, add("f1"), *({"txn": {"appId": name, "version": 1}} for name in "ab"))
    tf.open_table(log.root, format="delta").checkpoint()
    [path] = log.directory.glob("*.checkpoint.parquet")
    table = pq.read_table(path)
    table = table.take(pc.sort_indices(pc.is_valid(table["txn"])))  # those of txn stand last
    pq.write_table(table, path, row_group_size=1, write_statistics=with_statistics)
    alone = only_checkpoint(log.root, 1).snapshot().format_snapshot
    assert sorted(alone.inspect("transactions")["appId"].to_pylist()) == ["a", "b"]
    assert alone.protocol["minReaderVersion"] == 1


# ---- statistics as structs and as text -----------------------------------------------------------------------------


def test_texts_of_structs() -> None:
    """What stands in the struct stands in the text; instants are rounded outwards, and NaN has no text."""
    kinds = pa.struct([("a", pa.string()), ("n", pa.float64()), ("t", pa.timestamp("us", "UTC"))])
    kind = pa.struct(
        [("numRecords", pa.int64()), ("minValues", kinds), ("maxValues", kinds), ("tightBounds", pa.bool_())]
    )
    values = {"a": 'q"\\\x01é', "n": 1e300, "t": 1_000_001}
    rows = [
        {"numRecords": 3, "minValues": values, "maxValues": values, "tightBounds": True},
        {"numRecords": None, "minValues": {"n": float("nan")}, "maxValues": None},
        None,
    ]
    first, second, third = stats_texts(pa.array(rows, kind)).to_pylist()
    found = json.loads(first)
    assert found["minValues"] == {"a": 'q"\\\x01é', "n": 1e300, "t": "1970-01-01T00:00:01.000Z"}
    assert found["maxValues"]["t"] == "1970-01-01T00:00:01.001Z"
    assert (found["numRecords"], found["tightBounds"]) == (3, True)
    assert json.loads(second) == {"minValues": {}, "maxValues": {}} and third is None
    assert structs_of_texts(pa.array([first, None, "{"]), []).to_pylist()[0] == {"numRecords": 3, "tightBounds": True}
