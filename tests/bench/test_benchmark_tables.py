"""The tables that benchmarks ask about: Avro written by columns is what an Avro reader reads, every layout plans to the
truth that brute force finds, and the truth itself is right where it can be counted by hand.
"""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "asv_bench"))

from benchmarks import planning
from benchmarks.cases import Case, Goal, Yardstick
from benchmarks.generate import DeltaTable, IcebergTable, Spec, build
from benchmarks.generate.avro import beside, container, longs, pairs, texts
from benchmarks.generate.model import Model, bucket_of
from benchmarks.generate.specs import Term, questions
from benchmarks.planners import sql
from benchmarks.table_text import BEGIN, END, MEASURED, document_with, verdict

SPECS: list[Spec] = [
    DeltaTable(300),
    DeltaTable(300, "multipart", "both"),
    DeltaTable(300, "v2", "struct"),
    DeltaTable(300, "json", commits=10),
    IcebergTable(300),
    IcebergTable(300, "shuffled", "partition", "zstandard"),
    IcebergTable(300, "sorted", "none", "snappy"),
]


@pytest.fixture(autouse=True, scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TF_BENCH_TABLES", str(tmp_path_factory.mktemp("tables")))
        yield


@pytest.mark.thread_unsafe(reason="writes a table that is kept by its name")
@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_plans_are_the_truth(spec: Spec) -> None:
    table = build(spec)
    for question in questions(spec):
        planning.check(planning.plan(table, question), table, question)


@pytest.mark.parametrize("spec", [*SPECS[:2], SPECS[3], *SPECS[4:6]], ids=lambda spec: spec.name)
def test_a_plan_imports_no_more_than_it_needs(spec: Spec) -> None:
    """pandas would be a quarter of what a whole process takes, pyarrow.compute a twelfth."""
    table = build(spec)
    filters = [sql(predicate) for predicate in questions(spec).values()]
    code = "import sys, tableformats as tf\n"
    code += f"for text in {filters!r}:\n"
    code += f"    plan = tf.open_table({table.entry!r}).scan(text).plan()\n"
    code += "    plan.files, list(plan.tasks()), plan.splits(), plan.file_uris(), plan.explain()\n"
    code += "print(sorted({'pandas', 'fsspec', 'numpy.ma', 'pyarrow.compute'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_a_wrong_plan_is_found_out() -> None:
    table = build(SPECS[0])
    with pytest.raises(AssertionError, match="not"):
        planning.check(planning.plan(table, "P0"), table, "P1")


def test_tables_are_kept() -> None:
    table = build(SPECS[0])
    before = (table.folder / "truth.json").stat().st_mtime_ns
    assert build(SPECS[0]).folder == table.folder
    assert (table.folder / "truth.json").stat().st_mtime_ns == before


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy"])
def test_avro_by_columns_is_avro(codec: str, tmp_path: Path) -> None:
    schema = """{"type": "record", "name": "r", "fields": [
        {"name": "n", "type": "long"}, {"name": "t", "type": "string"},
        {"name": "m", "type": {"type": "array", "items": {"type": "record", "name": "e", "fields": [
            {"name": "key", "type": "int"}, {"name": "value", "type": "string"}]}}}]}"""
    numbers = [0, -1, 63, 64, -(2**63), 2**63 - 1, 10**9] * 2000
    words = ["", "a", "ab" * 40] * 4667
    words = words[: len(numbers)]
    some = [None if i % 3 else word for i, word in enumerate(words)]
    records = beside(
        longs(np.array(numbers)),
        texts(pa.array(words)).sized(),
        pairs(
            {7: texts(pa.array(some, pa.string())).sized().where(np.array([s is not None for s in some]))}, len(numbers)
        ),
    )
    path = tmp_path / "a.avro"
    container(path, schema, {}, records, codec)
    if codec == "snappy":
        pytest.importorskip("cramjam")
    read = list(fastavro.reader(io.BytesIO(path.read_bytes())))
    assert [r["n"] for r in read] == numbers
    assert [r["t"] for r in read] == words
    assert [r["m"] for r in read] == [[] if s is None else [{"key": 7, "value": s}] for s in some]


def test_manifests_read_back_as_the_model() -> None:
    table = build(IcebergTable(300))
    model = Model(300, bucketed=True)
    (name,) = table.folder.glob("metadata/*-m0.avro")
    entries: list[Any] = list(fastavro.reader(io.BytesIO(name.read_bytes())))
    assert len(entries) == 300
    for i, entry in enumerate(entries[:50]):
        data_file = entry["data_file"]
        lower = {pair["key"]: pair["value"] for pair in data_file["lower_bounds"]}
        assert int.from_bytes(lower[1], "little") == model.lower["id"][i].as_py()
        cents = int(model.lower["amount"][i].as_py().scaleb(2))
        assert int.from_bytes(lower[4], "big", signed=True) == cents
        assert lower[5].decode() == model.lower["name"][i].as_py()
        email = model.lower["email"][i].as_py()
        assert lower.get(8, b"").decode() == (email or "")[:16]
        assert data_file["partition"]["id_bucket"] == model.bucket[i]


def test_brute_force_counts_what_can_be_counted() -> None:
    model = Model(365)
    assert model.could_match(()).sum() == 365
    assert model.could_match(((Term("date", "=", model.dates[7].as_py()),),)).tolist() == [i == 7 for i in range(365)]
    one = ((Term("id", "in", (model.lower["id"][3].as_py(), model.upper["id"][9].as_py())),),)
    assert np.flatnonzero(model.could_match(one)).tolist() == [3, 9]
    nulls = model.null_count["email"] > 0
    assert model.could_match(((Term("email", "is null"),),)).tolist() == nulls.tolist()
    either = ((Term("email", "is null"),), (Term("id", "<", 100_000),))
    assert model.could_match(either).sum() == nulls.sum() + (not nulls[0])


def test_buckets_are_icebergs() -> None:
    # Iceberg spec, Appendix B: hashLong(34) is 2017239379.
    assert bucket_of(34) == (2017239379 & 0x7FFFFFFF) % 16
    table = build(IcebergTable(300))
    assert table.survivors["P4"] < table.by_bounds["P4"]


class _Fixed:
    """Measurements that say the same of every case."""

    steps: list[tuple[str, str, float, str]] = []
    profiles: dict[str, dict[str, float]] = {}

    def __init__(self, **seconds: float) -> None:
        self.seconds = seconds

    def runs(self, case: Case, name: str) -> list[dict[str, Any]]:
        return []

    def median(self, case: Case, name: str) -> dict[str, Any] | None:
        wall = self.seconds.get(name)
        return None if wall is None else {"wall": wall, "cpu": wall, "peak_mib": 100.0, "files": 7}


def test_verdicts() -> None:
    goal = Goal(0.5, memory_mib=150, beside=Yardstick("limit", "P2", 0.25), factors={"polars": 2.0})
    case = Case("one", DeltaTable(300), "P0", goal=goal)
    assert verdict(case, _Fixed(tableformats=0.4, polars=0.9)) == "yes"
    assert verdict(case, _Fixed(tableformats=0.6, polars=1.5)) == "no: 1.20x the goal's time"
    assert verdict(case, _Fixed(tableformats=0.6, limit=0.4, polars=1.5)) == "yes", "0.8 s on this machine"
    assert verdict(case, _Fixed(tableformats=1.2, limit=0.4, polars=4)) == "no: 1.50x the goal's time"
    assert verdict(case, _Fixed(tableformats=0.4, limit=0.1, polars=1.5)) == "yes", "a faster machine asks no more"
    assert verdict(case, _Fixed(tableformats=0.4, polars=0.5)) == "no: 1.2x of polars, not 2.0x"
    assert verdict(Case("two", DeltaTable(300), "P0"), _Fixed(tableformats=9.0)) == "–"


@pytest.mark.parametrize("page", ["planning.md", "limits.md", "spark.md", "lazy_polars.md"])
def test_the_measured_part_of_a_page_is_replaced(page: str) -> None:
    document = (MEASURED / page).read_text("utf-8")
    assert document.count(BEGIN) == document.count(END) == 1
    written = document_with(document, "other figures")
    assert f"{BEGIN}\nother figures\n{END}" in written
    assert written.split(BEGIN)[0] == document.split(BEGIN)[0] and written.split(END)[1] == document.split(END)[1]
