"""Limits: each one refuses a real table when it is one too small, says so in full, and refuses none by default."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import tableformats as tf
from tableformats.limits import DEFAULT_LIMITS
from tests.fuzz.attacks import (
    commit_of_long_names_within_the_limits,
    of_files,
    repeated,
    schema_of_long_names_within_the_limits,
)

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
EVOLVED_DELTA, EVOLVED_ICEBERG = "tables/delta-evolved", "tables/iceberg-evolved"
STRUCTS_DELTA, STRUCTS_ICEBERG = "tables_jvm/delta-column-mapping", "tables_jvm/iceberg-evolution"
VECTORS = ("tables_jvm/delta-deletion-vectors", "tables_jvm/iceberg-deletion-vectors")
POSITIONS, KEYS = "tables_jvm/iceberg-position-deletes", "tables_jvm/iceberg-equality-deletes"


def opened(name: str, limits: tf.Limits = DEFAULT_LIMITS) -> tf.Table:
    return tf.open_table(GOLDEN / name / "table", relocate="iceberg" in name, limits=limits)


def plan(table: tf.Table) -> Any:
    return table.scan().plan().files


def read(table: tf.Table) -> Any:
    return table.scan().to_arrow()


def read_older(table: tf.Table) -> Any:
    """Every version, newest first: not the newest ones delete the most rows."""
    return [table.scan(version=version).to_arrow() for version in table.history()["version"].to_pylist()]


def split(table: tf.Table) -> Any:
    return table.scan().plan().splits(target_size=100)


def inspected(table: tf.Table) -> Any:
    return table.inspect.files()


Case = tuple[str, int, str, Callable[[tf.Table], Any]]
CASES: list[Case] = [
    ("metadata_bytes", 2386, EVOLVED_DELTA, plan),
    ("metadata_bytes", 6493, EVOLVED_ICEBERG, plan),
    *(("metadata_bytes", value, table, plan) for value, table in zip((1485, 8011), VECTORS, strict=True)),
    ("inflated_bytes", 559, EVOLVED_ICEBERG, plan),
    ("decoded_bytes", 13_567, EVOLVED_ICEBERG, plan),
    ("decoded_bytes", 49_087, EVOLVED_ICEBERG, inspected),
    *(("nesting", 1, table, plan) for table in (STRUCTS_DELTA, STRUCTS_ICEBERG)),
    ("fields", 11, EVOLVED_DELTA, plan),
    ("fields", 12, EVOLVED_ICEBERG, plan),
    ("entries", 6, EVOLVED_DELTA, plan),
    ("entries", 6, "tables_jvm/delta-v2-checkpoint", plan),
    ("entries", 4, EVOLVED_ICEBERG, plan),
    *(
        ("deleted_rows", value, table, read_older)
        for value, table in zip((8, 4, 3), (*VECTORS, POSITIONS), strict=True)
    ),
    *(("file_rows", value, table, read) for value, table in zip((14, 14, 5), (*VECTORS, POSITIONS), strict=True)),
    ("file_parts", 33, EVOLVED_DELTA, split),
]
"""A limit, the greatest value of it that refuses, a table, and what is done with it."""


@pytest.mark.parametrize(("name", "value", "table", "call"), CASES, ids=lambda v: getattr(v, "__name__", str(v)))
def test_a_limit_refuses_what_one_more_reads(
    name: str, value: int, table: str, call: Callable[[tf.Table], Any]
) -> None:
    assert len(call(opened(table, tf.Limits(**{name: value + 1}))))
    with pytest.raises(tf.LimitExceededError) as caught:
        call(opened(table, tf.Limits(**{name: value})))
    error = caught.value
    assert (error.limit, error.value) == (name, value)
    assert error.path is not None and table.split("/")[1] in error.path
    assert error.hint is not None and f"tf.Limits({name}=" in error.hint and f"limit {name} of {value}" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (again.limit, again.value, str(again)) == (name, value, str(error))


def test_every_limit_has_such_a_test() -> None:
    assert {case[0] for case in CASES} | {"expansion"} == {f.name for f in fields(tf.Limits)} == set(tf.Limits.GREATEST)


@pytest.mark.parametrize("call", [plan, inspected])
def test_expansion(tmp_path: Path, call: Callable[[tf.Table], Any]) -> None:
    """A manifest of 8000 equal entries in some hundred bytes. As a file of 1 MiB it may have 4096 for each unit."""
    of_files(tmp_path, manifest=repeated(8000, "deflate"))
    assert len(call(tf.open_table(tmp_path, relocate=True, limits=tf.Limits(expansion=20)))) >= 8000
    with pytest.raises(tf.LimitExceededError) as caught:
        call(tf.open_table(tmp_path, relocate=True, limits=tf.Limits(expansion=1)))
    assert (caught.value.limit, caught.value.value) == ("expansion", 1)
    assert caught.value.path == str(tmp_path / "metadata/m.avro") and "limit expansion of 1" in str(caught.value)


@pytest.mark.parametrize("build", [commit_of_long_names_within_the_limits, schema_of_long_names_within_the_limits])
def test_expansion_counts_dotted_names(tmp_path: Path, build: Callable[[Path], Any]) -> None:
    """6000 members of a struct whose name has 4000 characters: 24 million characters, eight times, are 184 MiB."""
    build(tmp_path)
    with pytest.raises(tf.LimitExceededError, match="dotted names") as caught:
        tf.open_table(tmp_path, relocate=True, limits=tf.Limits(expansion=180)).snapshot()
    assert caught.value.limit == "expansion"
    assert len(tf.open_table(tmp_path, relocate=True).snapshot().schema.leaves()) >= 6000


def test_what_a_file_may_become_grows_with_it() -> None:
    limits = tf.Limits(expansion=10)
    assert limits.budget(0) == limits.budget(1 << 20) == 10 << 20
    assert limits.budget(5 << 20) == 50 << 20
    small = limits.within(2 << 20)
    assert (small.decoded_bytes, small.inflated_bytes, small.entries) == (20 << 20, 10 << 20, (20 << 20) // 256)
    assert tf.Limits().within(1 << 40) == tf.Limits()
    assert limits.exceeded("entries", "5 rows", path="p", stored=3).limit == "expansion"
    assert limits.exceeded("entries", "5 rows", path="p", stored=1 << 40).limit == "entries"
    assert limits.exceeded("entries", "5 rows", path="p").limit == "entries"


def test_how_many_characters_dotted_names_have() -> None:
    """Eight copies of them, a byte for each character, are as much as the file may become."""
    limits = tf.Limits(expansion=1)
    limits.check_dotted_names((1 << 20) // 8, 5, path="p")
    with pytest.raises(tf.LimitExceededError, match="131073 characters of dotted names: more than the limit expansion"):
        limits.check_dotted_names((1 << 20) // 8 + 1, 5, path="p")
    limits.check_dotted_names((2 << 20) // 8, 2 << 20, path="p")


def test_entries_of_delete_files(tmp_path: Path) -> None:
    """A file of positions or keys that has more rows than its table has files."""
    for table in (POSITIONS, KEYS):
        files = opened(table).scan().plan().delete_files.files
        most = max(files["record_count"].to_pylist())
        assert read(opened(table, tf.Limits(entries=max(most, 20)))).num_rows
    deleted = opened(POSITIONS, tf.Limits(entries=20)).scan()
    deleted.snapshot.storage.limits = tf.Limits(entries=1)
    with pytest.raises(tf.LimitExceededError, match="entries"):
        deleted.snapshot.format_snapshot.deleted_positions("x", None, deleted.plan().delete_files.files)


def test_limits_reach_the_readers_of_data_files() -> None:
    scan = opened(STRUCTS_ICEBERG).scan()
    scan.snapshot.storage.limits = tf.Limits(nesting=1)
    with pytest.raises(tf.LimitExceededError, match="nesting"):
        scan.to_arrow()


@pytest.mark.parametrize("name", [f.name for f in fields(tf.Limits)])
def test_values_are_checked(name: str) -> None:
    greatest = tf.Limits.GREATEST[name]
    assert getattr(tf.Limits(**{name: greatest}), name) == greatest
    for wrong in (0, -1, greatest + 1):
        with pytest.raises(ValueError, match=name):
            tf.Limits(**{name: wrong})
    for wrong_type in (True, 1.5, "1", None):
        with pytest.raises(TypeError, match=name):
            tf.Limits(**{name: wrong_type})  # type: ignore[arg-type]


@pytest.mark.parametrize("nested", ["delta", "iceberg"])
def test_the_greatest_nesting_is_read(nested: str) -> None:
    """The readers call themselves: Python's stack must hold what the limit may be raised to."""
    import json

    from tableformats_delta.schema.schema_string import parse_schema as parse_delta
    from tableformats_iceberg.files.strict_json import Node
    from tableformats_iceberg.metadata.schema import parse_schema as parse_iceberg

    most = tf.Limits(nesting=tf.Limits.GREATEST["nesting"])
    depth = most.nesting - 2
    if nested == "delta":
        kind: Any = "long"
        for _ in range(depth):
            kind = {"type": "array", "elementType": kind, "containsNull": True}
        text = json.dumps({"type": "struct", "fields": [{"name": "a", "type": kind, "nullable": True, "metadata": {}}]})
        schema = parse_delta(text, "none", "log", most)
        with pytest.raises(tf.LimitExceededError):
            parse_delta(text, "none", "log")
    else:
        kind = "long"
        for i in range(depth):
            kind = {"type": "list", "element-id": i + 2, "element": kind, "element-required": False}
        fields_ = [{"id": 1, "name": "a", "type": kind, "required": False}]
        schema = parse_iceberg(Node({"type": "struct", "fields": fields_}, "m", limits=most))
        with pytest.raises(tf.LimitExceededError):
            parse_iceberg(Node({"type": "struct", "fields": fields_}, "m"))
    assert len(schema.fields) == 1 and schema.to_arrow() is not None and repr(schema)
    assert schema == pickle.loads(pickle.dumps(schema)) and hash(schema)


def test_tables_of_other_limits_share_no_cache() -> None:
    """What was decoded under greater limits is not handed to who asked for smaller ones."""
    cache = tf.MetadataCache()
    place = GOLDEN / EVOLVED_ICEBERG / "table"
    assert len(tf.open_table(place, relocate=True, cache=cache).scan().plan())
    with pytest.raises(tf.LimitExceededError):
        tf.open_table(place, relocate=True, cache=cache, limits=tf.Limits(entries=1)).scan().plan()


def test_limits_in_options_of_spark() -> None:
    from tableformats.spark.options import ReadOptions

    assert ReadOptions({"limits": '{"nesting": 5}'}).access.limits == tf.Limits(nesting=5)
    assert ReadOptions({}).access.limits == DEFAULT_LIMITS
    for wrong in ("{", "[]", '{"nesting": 0}', '{"nesting": "5"}', '{"depth": 5}'):
        with pytest.raises(tf.TableFormatsError) as caught:
            _ = ReadOptions({"limits": wrong}).access
        assert caught.value.field == "limits" and caught.value.hint
    name = GOLDEN / EVOLVED_DELTA / "table"
    with pytest.raises(tf.LimitExceededError):
        ReadOptions({"path": str(name), "limits": '{"fields": 2}'}).open_table().snapshot()


def test_the_documented_defaults_are_those_of_the_code() -> None:
    text = (GOLDEN.parents[1] / "docs" / "threat-model.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.MULTILINE)
    assert listed == [(f.name, str(f.default)) for f in fields(tf.Limits)]


def test_the_documented_tests_are_there() -> None:
    text = (GOLDEN.parents[1] / "docs" / "threat-model.md").read_text()
    root = GOLDEN.parents[1]
    for cell in re.findall(r"`(?:tests/[\w/]*/)?test_\w+\.py`", text):
        name = cell.strip("`").rpartition("/")[2]
        assert list((root / "tests").rglob(name)), name
