"""Partition fields and sort fields as users write them."""

from __future__ import annotations

from typing import Any

import pytest
from tableformats_iceberg.write.partition_texts import (
    check_redundant,
    default_name,
    parse_partition_text,
    partition_json,
    sort_json,
)

import tableformats as tf
from tableformats.plugin import Field, PrimitiveType, Schema, StructType

LONG = PrimitiveType("long")
SCHEMA = Schema(
    (
        Field(1, "id", LONG),
        Field(2, "ts", PrimitiveType("timestamp")),
        Field(3, "s", StructType((Field(4, "x", LONG), Field(5, "a.b", LONG)))),
        Field(6, "day(id)", LONG),
        Field(7, "a`b", LONG),
        Field(8, "c,d", LONG),
        Field(9, "id desc", LONG),
    )
)


@pytest.mark.parametrize(
    ("text", "source", "transform", "name"),
    [
        ("id", 1, "identity", None),
        (" ID ", 1, "identity", None),
        ("id as x", 1, "identity", "x"),
        ("id AS `x y`", 1, "identity", "x y"),
        ("identity(id)", 1, "identity", None),
        ("day(id)", 6, "identity", None),
        ("day( id )", 1, "day", None),
        ("days(ts)", 2, "day", None),
        ("DATE(ts)", 2, "day", None),
        ("date_hour(ts) as h", 2, "hour", "h"),
        ("years(ts)", 2, "year", None),
        ("months(ts)", 2, "month", None),
        ("void(ts)", 2, "void", None),
        ("bucket(16, id)", 1, "bucket[16]", None),
        ("bucket(id, 16)", 1, "bucket[16]", None),
        ("bucket[16](id)", 1, "bucket[16]", None),
        ("bucket [ 16 ] (id) as b", 1, "bucket[16]", "b"),
        ("trunc(id, 1)", 1, "truncate[1]", None),
        ("truncate(2147483647, id)", 1, "truncate[2147483647]", None),
        ("s.x", 4, "identity", None),
        ("bucket(4, s.x)", 4, "bucket[4]", None),
        ("s.`a.b`", 5, "identity", None),
        ("`a``b`", 7, "identity", None),
        ("bucket(4, `c,d`)", 8, "bucket[4]", None),
    ],
)
def test_partition_fields(text: str, source: int, transform: str, name: str | None) -> None:
    found = parse_partition_text(text, SCHEMA)
    assert (found.source.id, found.transform, found.name) == (source, transform, name)


NUMBER = "the number is from 1 to 2147483647"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a partition field is a column"),
        ("  ", "a partition field is a column"),
        (7, "a partition field is a column"),
        ("nowhere", "there is no column 'nowhere'"),
        (".", "there is no column '.'"),
        ("day(nowhere)", "there is no column 'nowhere'"),
        (
            "week(ts)",
            "there is no transform 'week'; there are identity, bucket, truncate, year, month, day, hour, void",
        ),
        ("bucket(id)", "the transform bucket takes a number"),
        ("truncate(id)", "the transform truncate takes a number"),
        ("day(4, ts)", "the transform day takes one column alone"),
        ("day[4](ts)", "the transform day takes one column alone"),
        ("bucket(4)", "a transform takes one column"),
        ("bucket(4, id, ts)", "a transform takes one column"),
        ("bucket[4](4, id)", "a transform takes one column"),
        ("bucket(0, id)", NUMBER),
        ("bucket(2147483648, id)", NUMBER),
        (f"bucket({'9' * 5000}, id)", NUMBER),
        (f"bucket[{'9' * 5000}](id)", NUMBER),
        ("bucket(-1, id)", "a transform takes one column"),
        ("bucket(٣, id)", "a transform takes one column"),
    ],
)
def test_partition_fields_that_are_none(text: Any, said: str) -> None:
    with pytest.raises(tf.ConstraintViolationError) as caught:
        parse_partition_text(text, SCHEMA)
    assert said in str(caught.value) and caught.value.field == str(text)[:100]


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("id", "id", "id"),
        ("day(ts)", "ts_day", "ts_day"),
        ("bucket(16, id)", "id_bucket", "id_bucket_16"),
        ("truncate(4, s.x)", "s.x_trunc", "s.x_trunc_4"),
        ("void(id)", "id_null", "id_null"),
        ("hour(ts) as h", "h", "h"),
    ],
)
def test_names_of_partition_fields(text: str, short: str, long: str) -> None:
    parsed = parse_partition_text(text, SCHEMA)
    assert [partition_json(parsed, has_width)["name"] for has_width in (False, True)] == [short, long]
    if parsed.name is None:
        assert default_name(parsed, False) == short
    assert partition_json(parsed) == {"source-id": parsed.source.id, "transform": parsed.transform, "name": short}


@pytest.mark.parametrize(
    ("text", "source", "transform", "direction", "nulls"),
    [
        ("id", 1, "identity", "asc", "nulls-first"),
        ("id desc", 9, "identity", "asc", "nulls-first"),
        ("id  desc", 1, "identity", "desc", "nulls-last"),
        ("ts DESC nulls FIRST", 2, "identity", "desc", "nulls-first"),
        ("ts asc nulls last", 2, "identity", "asc", "nulls-last"),
        ("ts nulls last", 2, "identity", "asc", "nulls-last"),
        ("bucket(4, id) desc", 1, "bucket[4]", "desc", "nulls-last"),
    ],
)
def test_sort_fields(text: str, source: int, transform: str, direction: str, nulls: str) -> None:
    found = sort_json(text, SCHEMA)
    assert found == {"transform": transform, "source-id": source, "direction": direction, "null-order": nulls}


@pytest.mark.parametrize("text", ["", " ", None])
def test_sort_fields_that_are_none(text: Any) -> None:
    with pytest.raises(tf.ConstraintViolationError, match="a sort field is a column"):
        sort_json(text, SCHEMA)


@pytest.mark.parametrize(
    ("transforms", "twin"),
    [
        (["identity", "bucket[4]", "bucket[8]", "truncate[4]", "day"], None),
        (["void", "void"], None),
        (["day", "void", "day"], "p0"),
        (["year", "hour"], "p0"),
        (["identity", "month", "day"], "p1"),
        (["bucket[4]", "bucket[4]"], "p0"),
    ],
)
def test_fields_that_say_the_same(transforms: list[str], twin: str | None) -> None:
    fields = [{"source-id": 1, "transform": one, "name": f"p{at}"} for at, one in enumerate(transforms)]
    if twin is None:
        check_redundant([*fields, {"source-id": 2, "transform": "day", "name": "q"}])
        return
    with pytest.raises(tf.ConstraintViolationError, match=f"beside the partition field '{twin}'") as caught:
        check_redundant(fields)
    assert caught.value.field == f"p{len(fields) - 1}"
