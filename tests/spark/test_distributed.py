"""Plans that executors make: file for file, delete for delete and count for count those of the driver alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import tableformats_delta.snapshot.delta_snapshot

import tableformats as tf
from tableformats import CorruptMetadataError, TableFormatsError, UnsupportedFeatureError
from tableformats.engines.spark.distributed import executors as distributed
from tableformats.plugin import ReadRequest
from tableformats.plugin.report import ScanReport
from tableformats.table.scan import Scan, ScanPlan
from tests.support.delta_checkpoints import checkpoint, file, parsed
from tests.support.delta_log import (
    WITH_VECTORS,
    DeltaLog,
    add,
    field,
    first_actions,
    remove,
    schema_string,
    stats,
    vector,
)
from tests.support.golden import JVM_TABLES
from tests.support.iceberg_history import History


@pytest.fixture(autouse=True)
def small_bins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part is a task's, and each file of a checkpoint some parts."""
    monkeypatch.setattr(distributed, "_BIN_BYTES", 1)
    monkeypatch.setattr(tableformats_delta.snapshot.delta_snapshot, "_SPLIT_BYTES", 2000)


def described(plan: ScanPlan) -> dict[str, Any]:
    """All that a plan says, but for how long it took and where."""
    report = plan.report.as_dict()
    # Where executors planned, the rows of files that they dropped are not counted.
    del report["seconds"], report["engine"], report["rows_total"]
    deletes = plan.delete_files
    return {
        "files": plan.files.to_pylist(),
        "types": str(plan.files.schema),
        "residual": str(plan.residual),
        "report": report,
        "deletes": deletes.files.to_pylist(),
        "offsets": deletes.offsets.tolist(),
        "indices": deletes.indices.tolist(),
        "sizes": [len(group) for group in plan.splits("1kb")],
    }


def assert_same(spark: Any, root: Path, **asked: Any) -> ScanPlan:
    plan = tf.open_table(root, relocate=True).scan(**asked).plan(engine=spark)
    assert plan.report.engine == "spark"
    assert described(plan) == described(tf.open_table(root, relocate=True).scan(**asked).plan())
    return plan


# ---- Delta ----------------------------------------------------------------------------------------------------------


def listed(numbers: range) -> list[dict[str, Any]]:
    return [
        add(
            f"f{i}",
            size=100 + i,
            partitionValues={"p": str(i % 3)},
            modificationTime=i,
            stats=stats(10, minValues={"id": 10 * i}, maxValues={"id": 10 * i + 9}, nullCount={"id": 0}),
        )
        for i in numbers
    ]


def commits_on_top(log: DeltaLog) -> DeltaLog:
    """Removes a file, deletes rows of another, and adds one."""
    old = listed(range(30))[7]["add"]
    log.commit(2, remove("f3", partitionValues={"p": "0"}), *listed(range(30, 32)))
    return log.commit(3, remove("f7"), {"add": {**old, "deletionVector": vector(cardinality=2)}})


def head() -> tuple[dict[str, Any], dict[str, Any]]:
    first = first_actions(WITH_VECTORS, partition=("p",))
    schema = schema_string(field("id", "long"), field("p", "integer"))
    first[1]["metaData"]["schemaString"] = schema
    return first


def multipart(root: Path) -> DeltaLog:
    log = DeltaLog(root)
    for part, rows in enumerate([[*head(), *listed(range(12))], listed(range(12, 24)), listed(range(24, 30))], 1):
        log.checkpoint(f"{1:020d}.checkpoint.{part:010d}.{3:010d}.parquet", *rows)
    return commits_on_top(log)


def sidecars(root: Path) -> DeltaLog:
    log = DeltaLog(root)
    named = []
    for name, numbers in {"a.parquet": range(10), "b.parquet": range(10, 30)}.items():
        log.checkpoint(f"_sidecars/{name}", *listed(numbers))
        size = (log.directory / "_sidecars" / name).stat().st_size
        named.append({"sidecar": {"path": name, "sizeInBytes": size, "modificationTime": 1}})
    actions = [{"checkpointMetadata": {"version": 1}}, *head(), *named]
    name = f"{1:020d}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json"
    log.write(name, "".join(json.dumps(action) + "\n" for action in actions).encode())
    return commits_on_top(log)


def commits_alone(root: Path) -> DeltaLog:
    log = DeltaLog(root)
    log.start(field("id", "long"), field("p", "integer"), protocol=WITH_VECTORS, partition=("p",))
    return commits_on_top(log.commit(1, *listed(range(30))))


@pytest.mark.parametrize("write", [multipart, sidecars, commits_alone])
def test_delta(spark: Any, tmp_path: Path, write: Any) -> None:
    root = write(tmp_path / "t").root
    plan = assert_same(spark, root)
    assert len(plan) == 31 and plan.report.files_with_deletes == 1
    for filter, count in {"p = 1 OR id BETWEEN 65 AND 75": 12, "id < 0": 0}.items():
        assert len(assert_same(spark, root, filter=filter)) == count


def test_limits_and_versions(spark: Any, tmp_path: Path) -> None:
    root = multipart(tmp_path / "t").root
    assert len(assert_same(spark, root, limit=25)) < 10
    assert len(assert_same(spark, root, version=1)) == 30


def test_row_groups_of_a_file_are_shared(spark: Any, tmp_path: Path) -> None:
    files = [file(f"f{i}", parsed(i=(10 * i, 10 * i + 9)), n=i) for i in range(40)]
    root = checkpoint(tmp_path / "t", files, 3).root
    assert len(distributed_parts(root)) > 2
    plan = assert_same(spark, root, filter="n IN (3, 39)")
    assert (plan.report.row_groups_total, plan.report.row_groups_skipped) == (14, 12)


def distributed_parts(root: Path) -> list[Any]:
    snapshot = tf.open_table(root).snapshot().format_snapshot
    return list(snapshot.parts(ReadRequest((), ScanReport(), read_elsewhere=True)))


def test_what_is_damaged_matters_if_it_is_live(spark: Any, tmp_path: Path) -> None:
    rows = listed(range(4))
    rows[2]["add"]["partitionValues"] = {"p": "no number"}
    log = DeltaLog(tmp_path / "t")
    log.checkpoint(f"{1:020d}.checkpoint.parquet", *head(), *rows)
    with pytest.raises(CorruptMetadataError, match="'no number' is no int") as caught:
        tf.open_table(log.root).scan().plan(engine=spark)
    assert (caught.value.path, caught.value.field) == (str(log.directory / f"{1:020d}.checkpoint.parquet"), "p")
    log.commit(2, remove("f2"))
    assert len(assert_same(spark, log.root)) == 3


# ---- Iceberg --------------------------------------------------------------------------------------------------------


def history(root: Path) -> History:
    history = History(root)
    for i in range(6):
        history.commit("append", add=[[10 * i + j for j in range(5)], [10 * i + 5]])
    history.commit("overwrite", remove=["f2-0.parquet"])
    history.commit("delete", positions=[("f1-0.parquet", 1), ("f3-0.parquet", 0)])
    history.commit("delete", keys=[41, 45])
    history.commit("delete", vectors=[("f5-0.parquet", 3)])
    return history


def test_iceberg(spark: Any, tmp_path: Path) -> None:
    written = history(tmp_path / "t")
    plan = assert_same(spark, written.root)
    assert plan.report.manifests_total == 6 and plan.report.delete_files == 3
    assert sorted(plan.to_arrow()["id"].to_pylist()) == written.live()


@pytest.mark.parametrize(
    ("name", "filter"),
    [
        ("iceberg-evolution", "title = 'abc' OR id > 5"),
        ("iceberg-position-deletes", "id = 3"),
        ("delta-v2-checkpoint", "id > 1"),
        ("delta-type-widening", "n > 1"),
    ],
)
def test_tables_that_spark_wrote(spark: Any, name: str, filter: str | None) -> None:
    if not (JVM_TABLES / name).exists():
        pytest.skip("not in the checkout")
    assert_same(spark, JVM_TABLES / name / "table", filter=filter)


def test_a_damaged_manifest(spark: Any, tmp_path: Path) -> None:
    root = history(tmp_path / "t").root
    manifest = root / "metadata" / "data-4.avro"
    manifest.write_bytes(manifest.read_bytes()[:-5])
    said = []
    for engine in (None, spark):
        with pytest.raises(CorruptMetadataError) as caught:
            tf.open_table(root).scan().plan(engine=engine)
        said.append(caught.value.__dict__)
    assert said[0] == said[1] and said[0]["path"] == str(manifest) and said[0]["offset"] is not None
    manifest.unlink()
    with pytest.raises(CorruptMetadataError, match="manifest is missing"):
        tf.open_table(root).scan().plan(engine=spark)


# ---- the job --------------------------------------------------------------------------------------------------------


def test_filters_of_the_data_frame_are_planned_by_executors_too(spark: Any, tmp_path: Path) -> None:
    root = multipart(tmp_path / "t").root
    plan = tf.open_table(root).scan().plan(engine=spark)
    read: list[Any] = []
    inner = plan._reader
    assert inner is not None

    class Counting:
        name = "spark"

        def read(self, scan: Scan, keys: Any, parts: Any) -> Any:
            read.append(len(parts))
            return inner.read(scan, keys, parts)

    plan._reader = Counting()
    expected = tf.open_table(root).scan().plan().keep_mask("id < 95")
    assert plan.keep_mask("id < 95").tolist() == expected.tolist() and 0 < expected.sum() < len(plan)
    assert read == [len(distributed_parts(root)) - 1]  # the commits are the driver's


class Watched:
    """A session that remembers the plans of what it runs."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self.plans: list[str] = []

    def range(self, *numbers: int) -> Any:
        self._frame = self._spark.range(*numbers)
        return self

    def mapInArrow(self, function: Any, schema: str) -> Any:
        frame = self._frame.mapInArrow(function, schema)
        self.plans += [frame._jdf.queryExecution().toString(), repr(function)]
        return frame


def test_plans_name_no_secret(spark: Any, tmp_path: Path) -> None:
    watched = Watched(spark)
    table = tf.open_table(history(tmp_path / "t").root, storage_options={"secret": "S3CRET"})
    assert len(table.scan().plan(engine=watched)) == 11  # type: ignore[arg-type]
    assert "MapInArrow" in watched.plans[0] and not any("S3CRET" in text for text in watched.plans)


def test_another_version(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distributed, "__version__", "0.0.1")
    with pytest.raises(UnsupportedFeatureError, match=r"driver has 0\.0\.1.*Install the same version"):
        tf.open_table(history(tmp_path / "t").root).scan().plan(engine=spark)


def run_first(spark: Any, folder: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the Python of the executors run ``code`` when it starts."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(code)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{folder}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(python))


def test_executors_without_the_package(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.startswith('tableformats'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Without())\n"
    )
    run_first(spark, tmp_path / "without", code, monkeypatch)
    with pytest.raises(UnsupportedFeatureError, match=r"no package tableformats.*Install it on every node"):
        tf.open_table(history(tmp_path / "t").root).scan().plan(engine=spark)


def test_a_damaged_table_has_the_error_of_the_driver(spark: Any, tmp_path: Path) -> None:
    root = history(tmp_path / "t").root
    manifest = root / "metadata" / "data-4.avro"
    manifest.unlink()
    manifest.mkdir()
    with pytest.raises(CorruptMetadataError, match="leads to a directory") as caught:
        tf.open_table(root).scan().plan(engine=spark)
    assert caught.value.path == str(manifest)


def test_a_store_that_fails(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import errno, os\n"
        "stat = os.stat\n"
        "def failing(path, *arguments, **options):\n"
        "    if str(path).endswith('data-4.avro'):\n"
        "        raise OSError(errno.EIO, 'Input/output error', path)\n"
        "    return stat(path, *arguments, **options)\n"
        "os.stat = failing\n"
    )
    run_first(spark, tmp_path / "failing", code, monkeypatch)
    with pytest.raises(TableFormatsError, match=r"could not read the metadata: .*Error.*same storage options"):
        tf.open_table(history(tmp_path / "t").root).scan().plan(engine=spark)
