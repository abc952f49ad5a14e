"""Errors of Spark's tasks on the driver, and files in groups that Spark reads alike; no Spark is needed."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tableformats as tf
from tableformats import errors
from tableformats.engines.spark.branches import _identity_columns, _kinds
from tableformats.engines.spark.distributed.job_errors import (
    check_version,
    job_error,
    pack_error,
    raised_error,
    unpack_error,
)
from tableformats.schema import Field, Schema, primitive
from tableformats.schema.transforms import parse_transform

# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name != "PathNotAllowedError"])
def test_errors_cross_to_the_driver(name: str) -> None:
    kind = getattr(errors, name)
    more: dict[str, Any] = {"path": "s3://b/t", "field": "f", "hint": "Do something"}
    if issubclass(kind, tf.StoreError):
        more |= {"bucket": "b", "status": 503, "code": "SlowDown", "request_id": "R"}
    error = kind("what happened", **more)
    found = unpack_error(pack_error(error))
    assert type(found) is kind and str(found) == str(error)
    assert {name: getattr(found, name) for name in more} == more


def test_an_error_of_a_kind_of_ones_own_is_one_of_ours() -> None:
    class Narrower(tf.CorruptMetadataError):
        pass

    found = unpack_error(pack_error(Narrower("damaged", path="p", offset=7)))
    assert type(found) is tf.CorruptMetadataError and (found.path, found.offset, found.message) == ("p", 7, "damaged")


def test_executors_of_another_version() -> None:
    check_version(tf.__version__)
    with pytest.raises(tf.UnsupportedFeatureError, match="of tableformats, and the driver has") as caught:
        check_version("0.0.1")
    assert caught.value.field == "engine" and f"have version {tf.__version__} of" in str(caught.value)


TRACEBACK = "org.apache.spark.SparkException: Job aborted\nTraceback (most recent call last):\n  File x\n"
LINE = "tableformats.errors."


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("No module named 'tableformats'", tf.UnsupportedFeatureError, "the Python of the executors has no package"),
        ("No module named 'tableformats.errors'", tf.UnsupportedFeatureError, "has no package tableformats"),
        (f"{TRACEBACK}{LINE}StoreTimeoutError: it was late\n", tf.StoreTimeoutError, "it was late"),
        (f"{TRACEBACK}{LINE}StoreError: it broke\n\tat java", tf.StoreError, "it broke"),
        (f"{LINE}UnsupportedFeatureError: no\n{LINE}StoreThrottledError: less\n", tf.StoreThrottledError, "less"),
    ],
)
def test_errors_of_the_store_or_of_the_installation(text: str, kind: type[tf.TableFormatsError], message: str) -> None:
    found = raised_error(RuntimeError(text), "s3://b/t")
    assert type(found) is kind and message in found.message and found.path == "s3://b/t"
    again = job_error(RuntimeError(text), "s3://b/t", "read it")
    assert type(again) is kind and str(again) == str(found)


@pytest.mark.parametrize(
    "text",
    [
        "No module named 'pandas'",
        f"{LINE}CorruptMetadataError: damaged",
        f"{LINE}NoSuchError: what",
        f"{LINE}UnsupportedFeatureError: no",
        "atableformats.errors.StoreError: no",
        "",
    ],
)
def test_errors_of_something_else(text: str) -> None:
    assert raised_error(RuntimeError(text), "t") is None
    assert type(job_error(RuntimeError(text), "t", "read it")) is tf.TableFormatsError


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("Traceback\n  File x\nValueError: seven\n\n\tat org.apache.Java\n\tat more", "ValueError: seven"),
        ("one\n \n", "one"),
        ("", "RuntimeError"),
        ("\n\tat org.apache.Java", "RuntimeError"),
    ],
)
def test_the_last_line_of_a_traceback_is_told(text: str, last: str) -> None:
    found = job_error(RuntimeError(text), "t", "plan the table")
    assert found.message == f"the executors could not plan the table: {last}" and found.path == "t"


# ---- files that are read alike --------------------------------------------------------------------------------------


def test_distinct_rows_of_columns() -> None:
    chance = random.Random(5)
    for count in (1, 2, 3, 50):
        for _ in range(20):
            columns = [np.array([chance.randrange(3) for _ in range(count)]) for _ in range(3)]
            columns.append(np.array([chance.random() < 0.5 for _ in range(count)]))
            kinds, kind_of = _kinds(*columns)
            rows = [[int(value) for value in row] for row in zip(*columns, strict=True)]
            assert [[int(value) for value in kinds[kind]] for kind in kind_of] == rows
            assert len({tuple(map(int, kind)) for kind in kinds}) == len(kinds) == len({tuple(row) for row in rows})


def test_columns_whose_value_stands_in_the_metadata() -> None:
    """Top-level columns of identity partitions, by the first of their fields."""
    long = primitive("long")

    def part(number: int, source: int, transform: str) -> Any:
        return SimpleNamespace(id=number, source_id=source, transform=parse_transform(transform))

    schema = Schema((Field(1, "a", long), Field(2, "b", long), Field(3, "c", long)))
    fields = [part(1000, 1, "bucket[4]"), part(1001, 1, "identity"), part(1002, 2, "identity")]
    fields += [part(1003, 2, "identity"), part(1004, 9, "identity"), part(1005, 3, "void")]
    specs = {0: SimpleNamespace(fields=()), 7: SimpleNamespace(fields=fields)}
    snapshot: Any = SimpleNamespace(schema=schema, specs=specs)
    assert _identity_columns(snapshot, 7) == {1: 1001, 2: 1002}
    assert _identity_columns(snapshot, 0) == {}
