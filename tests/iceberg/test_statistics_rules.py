"""The verifier's rules for counts, bounds and delete files: what is said of each, and of what nothing is said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyroaring import BitMap64
from tableformats_iceberg.verification import file_rules
from tableformats_iceberg.verification.file_rules import delete_violations, disk_violations
from tableformats_iceberg.verification.statistics_rules import statistics_violations

import tableformats as tf
from tableformats.plugin import Bounds, Field, PartitionField, PartitionSpec, parse_transform, primitive
from tests.support.iceberg_tables import FIELDS, parse

NESTED = {"type": "list", "element-id": 4, "element": "int", "element-required": False}
SCHEMA = [
    {"type": "struct", "schema-id": 0, "fields": [*FIELDS, {"id": 3, "name": "l", "required": False, "type": NESTED}]}
]
COLUMNS = {1: Field(1, "a", primitive("int")), 4: Field(4, "element", primitive("int"))}
FACTS: Any = SimpleNamespace(fields=COLUMNS, metadata=parse(schemas=SCHEMA, **{"last-column-id": 4}))


def said(
    bounds: Bounds, rows: int = 10, content: int = 0, spec: Any = None, partition: Any = (), nan: Any = ()
) -> list[Any]:
    """(rule, what) of one file, whose path is ``f``."""
    manifest: Any = SimpleNamespace(
        entries=[SimpleNamespace(path="f", record_count=rows, content=content)],
        nan_bounds=lambda fields: nan,
        statistics=SimpleNamespace(bounds=lambda fields, chosen: bounds),
        spec=spec or PartitionSpec(0, ()),
        partition=partition,
    )
    return list(statistics_violations(manifest, FACTS))


def counts(field: int, values: int | None, nulls: int | None, nans: int | None) -> Bounds:
    """None: nothing is known."""
    found = Bounds()
    for side, number in ((found.value_count, values), (found.null_count, nulls), (found.nan_count, nans)):
        if number is not None:
            side[field] = pa.array([number], pa.int64())
    return found


@pytest.mark.parametrize(
    ("field", "numbers", "content", "is_wrong"),
    [
        (1, (10, 0, 0), 0, False),
        (1, (10, 4, 6), 0, False),
        (1, (10, 5, 6), 0, True),
        (1, (10, 11, None), 0, True),
        (1, (10, None, 11), 0, True),
        (1, (9, 0, 0), 0, True),
        (1, (11, 0, 0), 0, True),
        (1, (None, 10, None), 0, False),
        (1, (None, 11, None), 0, True),
        (1, (None, 5, 6), 0, True),
        (1, (None, None, None), 0, False),
        # A delete file counts the rows that it deletes, or none; a list has any number of elements.
        (1, (9, 0, 0), 2, False),
        (1, (None, 11, None), 1, False),
        (1, (9, 10, 0), 2, True),
        (4, (99, 98, 1), 0, False),
        (4, (99, 98, 2), 0, True),
        (4, (None, 98, None), 0, False),
    ],
)
def test_counts(field: int, numbers: tuple[int | None, ...], content: int, is_wrong: bool) -> None:
    found = said(counts(field, *numbers), content=content)
    if not is_wrong:
        assert found == []
        return
    ((rule, what),) = found
    spelled = ["nan" if number is None else str(number) for number in numbers]
    assert rule == "metrics"
    assert what == f"field {field} of 'f' has {spelled[0]} values, {spelled[1]} NULL, {spelled[2]} NaN, of 10 rows"


def between(lower: int | None, upper: int | None) -> Bounds:
    found = Bounds()
    found.lower[1], found.upper[1] = (pa.array([one], pa.int32()) for one in (lower, upper))
    return found


@pytest.mark.parametrize(
    ("lower", "upper", "is_wrong"), [(1, 2, False), (2, 2, False), (3, 2, True), (None, 2, False), (3, None, False)]
)
def test_bounds(lower: int | None, upper: int | None, is_wrong: bool) -> None:
    found = said(between(lower, upper))
    assert found == ([("metrics", "the lower bound of field 1 of 'f' is above the upper")] if is_wrong else [])
    half = Bounds()
    half.lower[1] = pa.array([9], pa.int32())
    assert said(half) == []


def test_bounds_that_are_nan() -> None:
    assert said(Bounds(), nan=[(0, 7)]) == [("metrics", "a bound of field 7 of 'f' is NaN")]


@pytest.mark.parametrize(
    ("transform", "source", "value", "is_wrong"),
    [
        ("identity", 1, 3, False),
        ("identity", 1, 2, True),
        ("identity", 1, 5, False),
        ("identity", 1, 6, True),
        ("truncate[10]", 1, 0, False),
        ("truncate[10]", 1, 10, True),
        ("truncate[10]", 1, -10, True),
        ("bucket[4]", 1, 9, False),
        ("identity", 9, 99, False),
    ],
)
def test_partition_values(transform: str, source: int, value: int, is_wrong: bool) -> None:
    """The values of the column lie between 3 and 5."""
    spec = PartitionSpec(0, (PartitionField(1000, "p", source, parse_transform(transform), primitive("int")),))
    found = said(between(3, 5), spec=spec, partition=[pa.array([value], pa.int32())])
    what = f"'f': 'p' is {value}, and no value within the bounds has it"
    assert found == ([("partition-tuple", what)] if is_wrong else [])
    assert said(Bounds(), spec=spec, partition=[pa.array([value], pa.int32())]) == []


@pytest.mark.parametrize(
    ("side", "value", "is_wrong"), [("lower", 2, True), ("lower", 3, False), ("upper", 5, False), ("upper", 6, True)]
)
def test_partition_values_beside_one_bound(side: str, value: int, is_wrong: bool) -> None:
    bounds = Bounds()
    getattr(bounds, side)[1] = pa.array([3 if side == "lower" else 5], pa.int32())
    spec = PartitionSpec(0, (PartitionField(1000, "p", 1, parse_transform("identity"), primitive("int")),))
    found = said(bounds, spec=spec, partition=[pa.array([value], pa.int32())])
    assert [rule for rule, _ in found] == ["partition-tuple"] * is_wrong


# ---- files ----------------------------------------------------------------------------------------------------------


def entry(path: str, records: int = 2, content: int = 1, **more: Any) -> Any:
    found = {
        "path": path,
        "size": 7,
        "record_count": records,
        "content": content,
        "format": "PARQUET",
        "referenced": None,
    }
    found |= {"is_vector": False, "content_offset": None, "content_size": None, "ids": None}
    return SimpleNamespace(**{**found, **more})


class Files:
    """A table's files by their sizes; a path that begins with ! is refused."""

    def __init__(self, **sizes: int) -> None:
        self.storage = sizes

    def locate(self, path: str) -> str:
        if path.startswith("!"):
            raise tf.PathNotAllowedError("refused", path=path)
        return f"/t/{path}"

    def resolve(self, paths: pa.Array) -> pa.Array:
        return pa.array([self.locate(path) for path in paths.to_pylist()])


def test_files_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_rules, "file_sizes", lambda sizes, paths: [sizes.get(path[3:]) for path in paths])
    files: Any = Files(a=7, b=8)
    good = [entry("a"), entry("b"), entry("a"), entry("c")]
    expected = [("file-size", "/t/b", 4), ("file-missing", "/t/c", 4)]
    assert [(v.rule, v.path, v.version) for v in disk_violations(files, good, 4)] == expected
    found = list(disk_violations(files, [*good, entry("!x")], 4))
    assert [(v.rule, v.path, v.version) for v in found] == [("file-missing", "!x", 4), *expected]
    assert "it has 8 bytes, and its entry says 7" in found[1].what


class Reader:
    """Delete files by path: the rows that they delete of each data file, or the number of their keys."""

    content: dict[str, Any] = {}
    asked: list[Any] = []

    def __init__(self, files: Any, find_field: Any) -> None:
        self.asked.clear()

    def equality_deletes(self, described: Any) -> Any:
        self.asked.append(described)
        return SimpleNamespace(num_rows=self.content[described["path"]])

    def deleted_positions(self, target: str, count: int | None, table: pa.Table) -> BitMap64:
        (described,) = table.to_pylist()
        self.asked.append((target, count, described["kind"], described["size_bytes"], described["cardinality"]))
        found = self.content[described["path"]]
        if isinstance(found, Exception):
            raise found
        return BitMap64(found.get(target, ()))


def judged(monkeypatch: pytest.MonkeyPatch, content: Any, *entries: Any) -> list[tuple[str, str | None]]:
    monkeypatch.setattr(file_rules, "DeleteReader", Reader)
    Reader.content = {"e": 2, **content}
    manifest = SimpleNamespace(integers_of=lambda one, field: one.ids)
    data = [entry("a", 5, 0), entry("b", 3, 0)]
    live = [(one, (None, manifest)) for one in [*data, *entries]]
    found: Any = SimpleNamespace(live=lambda: live, snapshot=SimpleNamespace(id=9))
    files, metadata = Files(), SimpleNamespace(find_field=None)
    violations = list(delete_violations(files, metadata, found))  # type: ignore[arg-type]
    assert all(one.rule == "delete-contents" and one.version == 9 for one in violations)
    return [(one.what, one.path) for one in violations]


@pytest.mark.parametrize(
    ("deleted", "records", "said"),
    [
        ({"a": [0, 4], "b": [2]}, 3, []),
        ({"a": [0, 4], "b": [2]}, 9, []),
        ({"a": [0, 4], "b": [2]}, 2, ["it deletes 3 rows, and its entry says 2"]),
        ({"a": [5]}, 1, ["it deletes row 5 of 'a', which has 5"]),
        ({"a": [4], "b": [3, 9]}, 3, ["it deletes row 9 of 'b', which has 3"]),
        ({}, 0, []),
    ],
)
def test_position_deletes(monkeypatch: pytest.MonkeyPatch, deleted: Any, records: int, said: list[str]) -> None:
    assert judged(monkeypatch, {"p": deleted}, entry("p", records)) == [(text, "p") for text in said]
    assert Reader.asked == [("a", 5, "position", 7, None), ("b", 3, "position", 7, None)]


def test_deletes_that_name_their_file(monkeypatch: pytest.MonkeyPatch) -> None:
    vector = {"is_vector": True, "referenced": "b", "content_offset": 4, "content_size": 44}
    assert judged(monkeypatch, {"v": {"b": [0, 2]}}, entry("v", 2, **vector)) == []
    assert Reader.asked == [("b", 3, "deletion_vector", 44, 2)]
    assert judged(monkeypatch, {"p": {"gone": [99]}}, entry("p", 1, referenced="gone")) == [], "its rows are not known"
    for name in ("referenced", "content_offset", "content_size"):
        assert judged(monkeypatch, {}, entry("v", 2, **{**vector, name: None})) == [], "another rule says so"


def test_equality_deletes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(monkeypatch, {}, entry("e", 2, 2, ids=[1])) == []
    assert Reader.asked[0]["equality_ids"] == [1] and Reader.asked[0]["file_format"] == "parquet"
    assert judged(monkeypatch, {}, entry("e", 3, 2, ids=[1])) == [("it has 2 rows, and its entry says 3", "e")]
    for ids in (None, []):
        assert judged(monkeypatch, {}, entry("e", 3, 2, ids=ids)) == [] and Reader.asked == []


def test_deletes_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    told = tf.CorruptMetadataError("bad", path="/t/p")
    assert judged(monkeypatch, {"p": told}, entry("p")) == [("bad", "/t/p")]
    assert judged(monkeypatch, {"p": tf.CorruptMetadataError("bad")}, entry("p")) == [("bad", "p")]
    with pytest.raises(tf.StoreError):
        judged(monkeypatch, {"p": tf.StoreError("no answer")}, entry("p"))
