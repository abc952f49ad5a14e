"""Each value of a table's JSON is replaced by what does not fit: verifying and writing end in one of our errors.

``python -m tests.fuzz.tables --writing`` does more of it at random.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.delta_log import DeltaLog, first_actions
from tests.support.golden import GOLDEN

ODD: tuple[Any, ...] = (5, -(2**70), "x", "\ud800", [5], [["a"]], {"a": {}}, True, None, 1e308)
DELTA = GOLDEN / "tables_jvm"
EVERY = 1 if os.environ.get("TF_FUZZ_ALL") else 29
"""Of the damaged tables each so many-th is used; all of them in the nightly."""


def damaged(value: Any) -> Iterator[Any]:
    """``value`` with one value in it replaced, JSON within strings included."""
    yield from ODD
    if isinstance(value, dict):
        for key, one in value.items():
            yield from ({**value, key: other} for other in damaged(one))
            yield {k: v for k, v in value.items() if k != key}
    elif isinstance(value, list):
        for at, one in enumerate(value[:2]):
            yield from ([*value[:at], other, *value[at + 1 :]] for other in damaged(one))
    elif isinstance(value, str) and value[:1] == "{":
        yield from (json.dumps(other) for other in damaged(json.loads(value)))


def outcome(call: Callable[[], object]) -> str:
    try:
        call()
    except tf.TableFormatsError as error:
        assert str(error).isprintable()
        return type(error).__name__
    return "done"


def with_nesting(text: str, levels: int = 900) -> str:
    return text.replace('"minValues":{', '"minValues":{"deep":' + '{"a":' * levels + "1" + "}" * levels + ",")


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("delta-deletion-vectors", 0),
        ("delta-deletion-vectors", 2),
        ("delta-enabled-later", 1),
        ("delta-generated-column", 1),
    ],
)
def test_actions_of_delta(tmp_path: Path, name: str, version: int) -> None:
    root = tmp_path / "t"
    shutil.copytree(DELTA / name / "table", root)
    log = root / "_delta_log"
    for path in [*log.glob("*.checkpoint*.parquet"), *log.glob("_last*")]:
        path.unlink()  # commits alone say what there is
    commit = root / "_delta_log" / f"{version:020d}.json"
    sound = commit.read_text()
    lines = sound.splitlines()
    outcomes = set()
    for at, line in enumerate(lines):
        for number, value in enumerate(damaged(json.loads(line))):
            if number % EVERY:
                continue
            commit.write_text("\n".join([*lines[:at], json.dumps(value), *lines[at + 1 :]]))
            for call in (
                lambda: tf.open_table(root).verify(deep=True),
                lambda: tf.open_table(root).compact_log(0, version + 1),
                lambda: tf.open_table(root).checkpoint(),
            ):
                outcomes.add(outcome(call))
            for path in [*log.glob("*.compacted.json"), *log.glob("*.checkpoint*.parquet"), *log.glob("_last*")]:
                path.unlink()
    assert {"done", "CorruptMetadataError"} <= outcomes


@pytest.mark.parametrize("options", ["x", 5, True, [5], [["a"]], ["ab"], [[1, "a"]]])
def test_options_of_the_format_that_are_no_map(tmp_path: Path, options: Any) -> None:
    actions = first_actions()
    actions[1]["metaData"]["format"] = {"provider": "parquet", "options": options}
    log = DeltaLog(tmp_path).commit(0, *actions)
    assert outcome(lambda: tf.open_table(tmp_path).alter.set_properties({"owner": "x"})) == "CorruptMetadataError"
    assert len(list(log.directory.glob("*.json"))) == 1


def test_deep_statistics(tmp_path: Path) -> None:
    root = tmp_path / "t"
    shutil.copytree(DELTA / "delta-enabled-later" / "table", root)
    found = 0
    for path in (root / "_delta_log").glob("*.json"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for action in lines:
            if "add" in action and "minValues" in str(action["add"].get("stats")):
                action["add"]["stats"] = with_nesting(action["add"]["stats"])
                found += 1
        path.write_text("\n".join(map(json.dumps, lines)))
    assert found
    tf.open_table(root).verify()


@pytest.mark.parametrize("name", ["iceberg-equality-deletes"])
def test_metadata_of_iceberg(tmp_path: Path, name: str) -> None:
    root = tmp_path / "t"
    (source,) = GOLDEN.glob(f"*/{name}/table")
    shutil.copytree(source, root)
    newest = max((root / "metadata").glob("*.metadata.json"))
    sound = json.loads(newest.read_text())
    files = sorted(path for path in root.rglob("*") if path.is_file())
    outcomes = set()
    for number, value in enumerate(damaged(sound)):
        if number % EVERY:
            continue
        newest.write_text(json.dumps(value))
        outcomes.add(outcome(lambda: tf.open_table(root, relocate=True).verify(deep=True)))
        outcomes.add(outcome(lambda: append(root)))
        for path in root.rglob("*"):
            if path.is_file() and path not in files:
                path.unlink()
    assert {"done", "CorruptMetadataError"} <= outcomes


def test_null_properties(tmp_path: Path) -> None:
    """A commit that landed is not followed by an error."""
    root = tmp_path / "t"
    (source,) = GOLDEN.glob("*/iceberg-equality-deletes/table")
    shutil.copytree(source, root)
    newest = max((root / "metadata").glob("*.metadata.json"))
    newest.write_text(json.dumps({**json.loads(newest.read_text()), "properties": None}))
    before = tf.open_table(root, relocate=True).count()
    append(root)
    assert tf.open_table(root, relocate=True).count() == before + 1


@pytest.mark.parametrize("number", [2**63 - 1, 2**64, -1])
def test_sequence_numbers_without_a_next_one(tmp_path: Path, number: int) -> None:
    root = tmp_path / "t"
    (source,) = GOLDEN.glob("*/iceberg-equality-deletes/table")
    shutil.copytree(source, root)
    newest = max((root / "metadata").glob("*.metadata.json"))
    newest.write_text(json.dumps({**json.loads(newest.read_text()), "last-sequence-number": number}))
    with pytest.raises(tf.CorruptMetadataError):
        append(root)


def append(root: Path) -> None:
    table = tf.open_table(root, relocate=True)
    table.append(pa.table({"id": pa.array([9], pa.int64())}))


@pytest.mark.parametrize("wrong", [{"required": "yes"}, {"id": "1"}, {"name": None}, {"type": 7}, {}])
def test_fields_of_a_schema_that_is_not_read(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """The member of format version 1, beside those that readers take."""
    tf.write_table(pa.table({"id": [1]}), tmp_path / "t", format="iceberg")
    newest = max((tmp_path / "t" / "metadata").glob("*.metadata.json"))
    metadata = json.loads(newest.read_text())
    field = {"id": 1, "name": "id", "required": False, "type": "long", **wrong}
    newest.write_text(json.dumps({**metadata, "schema": {"type": "struct", "fields": [field]}}))
    table = tf.open_table(tmp_path / "t")
    assert table.scan().count() == 1
    expected = "CorruptMetadataError" if wrong else "done"
    assert outcome(lambda: table.alter.add_columns({"again": "int"})) == expected
