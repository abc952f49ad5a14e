"""CHAR(n) columns: padded values in rows, predicates, bounds, partitions and caches; what Spark answers is golden."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tableformats_delta.schema.char_types import CHAR_TYPE
from tableformats_delta.schema.schema_string import parse_schema

import tableformats as tf
from tests.support.delta_changes import data_file
from tests.support.delta_log import ADD, DeltaLog, add, field, first_actions, schema_string, stats

C3 = field("c", "string", {CHAR_TYPE: "char(3)"})
TEXTS = ["", "a", "a ", "a\t", "a\x1f", "a!", "ab", "ab\t", "abc", "b", "\t", "\ud7ff", "\ue000", "é"]
LITERALS = [*TEXTS, "a  ", "a    ", "a   b", "a   \t", "abcd", "abc\t"]
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")


def char_lengths(*fields: dict[str, Any]) -> dict[str, int]:
    schema = parse_schema(schema_string(*fields), "none", "log")
    return {".".join(f.name for f in path): path[-1].char_length for path in schema.leaves() if path[-1].char_length}


def file_of(log: DeltaLog, name: str, texts: list[str | None], **more: Any) -> dict[str, Any]:
    """A file of these values as they are stored, with the bounds that a writer would store of them."""
    known = sorted((text for text in texts if text is not None), key=str.encode)
    bounds = {"minValues": {"c": known[0]}, "maxValues": {"c": known[-1]}} if known else {}
    counts = {"nullCount": {"c": len(texts) - len(known)}}
    action = data_file(log, name, pa.table({"c": pa.array(texts, pa.string())}), **more)
    return {"add": {**action["add"], "stats": stats(len(texts), **bounds, **counts)}}


def holds(op: str, text: str, literal: str, length: int = 3) -> bool:
    """Spark's rule: the value as it is read, then the shorter of the two padded to the longer one."""
    value = text.ljust(length)
    longer = max(length, len(literal))
    left, right = value.ljust(longer).encode(), literal.ljust(longer).encode()
    found = {"=": left == right, "<": left < right, ">": left > right}
    opposite = {"!=": "=", "<=": ">", ">=": "<"}
    return not found[opposite[op]] if op in opposite else found[op]


def quoted(text: str) -> str:
    return "'" + text + "'"


class TestSchema:
    def test_types_of_columns_and_of_what_is_in_them(self) -> None:
        inner = {"type": "struct", "fields": [field("a", "string"), field("b,x", "decimal(5,2)"), field("v", "string")]}
        listed = {"type": "array", "elementType": "string", "containsNull": True}
        pairs = {"type": "map", "keyType": "string", "valueType": listed, "valueContainsNull": True}
        found = char_lengths(
            C3,
            field("v", "string", {CHAR_TYPE: "varchar(3)"}),
            field("s", "string"),
            field("st", inner, {CHAR_TYPE: "struct<a:char(4),b,x:decimal(5,2),v:varchar(4)>"}),
            field("m", pairs, {CHAR_TYPE: "map<char(5),array<char(6)>>"}),
            field("direct", "char(7)"),
        )
        assert found == {"c": 3, "st.a": 4, "direct": 7}
        schema = parse_schema(
            schema_string(field("m", pairs, {CHAR_TYPE: "map<char(5),array<char(6)>>"})), "none", "log"
        )
        key, value = schema.fields[0].type.members
        assert (key.char_length, value.type.members[0].char_length) == (5, 6)

    @pytest.mark.parametrize(
        "text", ["char(3", "char()", "chars(3)", "struct<a:char(3)>", "char(3)>", "", 7, None, "char(0)"]
    )
    def test_a_text_that_does_not_describe_the_column_is_not_used(self, text: Any) -> None:
        assert char_lengths(field("c", "string", {CHAR_TYPE: text})) == {}

    def test_members_are_found_by_position(self) -> None:
        inner = {"type": "struct", "fields": [field("renamed", "string"), field("n", "long")]}
        assert char_lengths(field("st", inner, {CHAR_TYPE: "struct<`old ``name`:char(4),n:bigint>"})) == {
            "st.renamed": 4
        }
        assert char_lengths(field("st", inner, {CHAR_TYPE: "struct<renamed:char(4)>"})) == {}
        assert char_lengths(field("n", "long", {CHAR_TYPE: "char(4)"})) == {}

    @pytest.mark.parametrize("length", ["4097", "999999999", "2000000000", "0000004096"])
    def test_a_length_that_would_exhaust_memory_is_refused(self, length: str) -> None:
        with pytest.raises(tf.UnsupportedFeatureError, match="CHAR") as caught:
            parse_schema(schema_string(field("c", "string", {CHAR_TYPE: f"char({length})"})), "none", "log")
        assert caught.value.field == "c"
        assert char_lengths(field("c", "string", {CHAR_TYPE: "char(4096)"})) == {"c": 4096}


class TestRowsAndPredicates:
    @pytest.fixture(scope="class")
    @staticmethod
    def table(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
        """One value a file, two to a file, and all of them."""
        log = DeltaLog(tmp_path_factory.mktemp("char") / "t").start(C3)
        files = [[text] for text in TEXTS] + [list(pair) for pair in zip(TEXTS, TEXTS[1:], strict=False)]
        log.commit(1, *(file_of(log, f"{i}", texts) for i, texts in enumerate([*files, [*TEXTS, None]])))
        return tf.open_table(log.root)

    def test_rows(self, table: tf.Table) -> None:
        found = table.scan().to_arrow().column("c").to_pylist()
        assert found[: len(TEXTS)] == [text.ljust(3) for text in TEXTS]
        assert found[-1] is None

    @pytest.mark.parametrize("op", OPERATORS)
    def test_comparisons_lose_no_row(self, table: tf.Table, op: str) -> None:
        stored = [*TEXTS, *(t for pair in zip(TEXTS, TEXTS[1:], strict=False) for t in pair), *TEXTS]
        for literal in LITERALS:
            wanted = sorted(t.ljust(3) for t in stored if holds(op, t, literal))
            found = table.scan(f"c {op} {quoted(literal)}").to_arrow().column("c").to_pylist()
            assert sorted(found) == wanted, (op, literal)
            assert table.scan(f"NOT (c {_NOT[op]} {quoted(literal)})").count() == len(wanted), (op, literal)

    def test_lists_and_patterns(self, table: tf.Table) -> None:
        def count(text: str) -> int:
            return table.scan(text).count()

        assert count("c IN ('a', 'ab    ')") == count("c = 'a  '") + count("c = 'ab'") > 0
        assert count("c IN ('abcd', 'abcde')") == 0
        assert count("c LIKE 'a'") == count("c LIKE 'a    '") == 0
        assert count("c LIKE 'a  '") == count("c LIKE 'a  %'") == count("c = 'a'")
        assert count("c <=> 'a'") == count("c = 'a'")
        assert count("NOT (c LIKE 'a')") == count("c IS NOT NULL")

    def test_files_are_dropped_by_unpadded_bounds(self, table: tf.Table) -> None:
        def files(text: str) -> int:
            return len(table.scan(text).plan())

        assert files("c = 'zz'") == 2  # the bounds of these end beyond ASCII
        assert files("c > 'b  '") == files("c > 'b'") < files("c >= 'b'")
        assert files("c = 'abc'") < 8

    def test_padded_filters_bind_to_themselves(self, table: tf.Table) -> None:
        for literal in LITERALS:
            scan = table.scan(f"c >= {quoted(literal)} AND NOT (c LIKE {quoted(literal)})")
            assert scan.where(scan.filter).count() == scan.count()


_NOT = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def test_columns_of_two_lengths(tmp_path: Path) -> None:
    fields = [C3, field("d", "string", {CHAR_TYPE: "char(5)"}), field("s", "string")]
    log = DeltaLog(tmp_path / "t").start(*fields)
    rows = pa.table({"c": ["a", "ab", "abc"], "d": ["a ", "ab\t", "abcde"], "s": ["a", "ab ", "abc"]})
    log.commit(1, data_file(log, "1", rows))
    table = tf.open_table(log.root)
    assert [table.scan(text).count() for text in ("c = d", "c > d", "c < d", "c = s", "d = s")] == [1, 1, 1, 2, 0]


def test_partitions(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), C3, partition=("c",))
    ids = iter(range(9))
    for version, text in enumerate(("a", "a  ", "ab\t", "", None), 1):
        rows = pa.table({"id": pa.array([next(ids)], pa.int64())})
        log.commit(version, data_file(log, f"{version}", rows, partitionValues={"c": text}))
    table = tf.open_table(log.root)
    assert table.scan().to_arrow().sort_by("id").column("c").to_pylist() == ["a  ", "a  ", "ab\t", None, None]
    for text, files in [("c = 'a'", 2), ("c = 'a     '", 2), ("c LIKE 'a'", 0), ("c > 'a'", 1), ("c IS NULL", 2)]:
        plan = table.scan(text).plan()
        assert len(plan) == files and all(plan.files["fully_matched"].to_pylist()), text


def test_bounds_of_row_groups(tmp_path: Path) -> None:
    """A checkpoint whose footer has unpadded bounds, of a column and of a partition column."""
    texts = pa.struct([("c", pa.string())])
    parsed = pa.struct([("numRecords", pa.int64()), ("minValues", texts), ("maxValues", texts)])
    kind = pa.struct([*ADD, ("stats_parsed", parsed), ("partitionValues_parsed", pa.struct([("p", pa.string())]))])
    log = DeltaLog(tmp_path / "t")
    for i, text in enumerate(["a", "A"]):
        bounds = {"numRecords": 1, "minValues": {"c": text}, "maxValues": {"c": text}}
        more = {"stats_parsed": bounds, "partitionValues_parsed": {"p": text}, "partitionValues": {"p": text}}
        action = add(f"{i}", **more, stats=json.dumps(bounds))
        log.commit(i, {"commitInfo": {}})
        p = field("p", "string", {CHAR_TYPE: "char(3)"})
        log.checkpoint(f"{i:020d}.checkpoint.parquet", *_first(C3, p), action, add_type=kind)
        for column in ("c", "p"):
            for literal in ("a", "a  ", "a    "):
                plan = tf.open_table(log.root).scan(f"{column} >= {quoted(literal)}").plan()
                assert len(plan) == (text == "a"), (column, literal)


def _first(*fields: dict[str, Any]) -> list[dict[str, Any]]:
    protocol, meta = first_actions(partition=("p",))
    return [protocol, {"metaData": {**meta["metaData"], "schemaString": schema_string(*fields)}}]


def test_versions_of_two_types_share_no_bounds(tmp_path: Path) -> None:
    """A column that became a plain string: what is cached of its padded values does not serve the stored ones."""
    fields = C3, field("p", "string", {CHAR_TYPE: "char(2)"})
    log = DeltaLog(tmp_path / "t").start(*fields, partition=("p",))
    file = file_of(log, "1", ["a"], partitionValues={"p": "x"})
    log.commit(1, file).checkpoint(f"{1:020d}.checkpoint.parquet", *_first(*fields), file)
    log.commit(2, _first(field("c", "string"), field("p", "string"))[1])
    table = tf.open_table(log.root)
    for _ in range(2):
        for version, c, p, below in ((1, "a  ", "x ", "a\t"), (2, "a", "x", "a ")):
            for text in (f"c = '{c}'", f"p = '{p}'", f"c {'<' if version == 2 else '>'} '{below}'", f"c LIKE '{c}'"):
                assert table.scan(text, version=version).count() == 1, (version, text)
            other = "c LIKE 'a  ' OR p LIKE 'x '" if version == 2 else "c LIKE 'a' OR p LIKE 'x'"
            assert table.scan(other, version=version).count() == 0


def test_random_bounds(tmp_path: Path) -> None:
    """Files of random values: whatever the predicate, planning and reading give what a full read gives."""
    pick = random.Random(7)
    alphabet = "\t\x1f !a\ue000"
    texts = [
        ["".join(pick.choices(alphabet, k=pick.randrange(4))) for _ in range(pick.randrange(1, 4))] for _ in range(30)
    ]
    log = DeltaLog(tmp_path / "t").start(C3)
    log.commit(1, *(file_of(log, f"{i}", some) for i, some in enumerate(texts)))
    table = tf.open_table(log.root)
    for _ in range(80):
        literal, op = "".join(pick.choices(alphabet, k=pick.randrange(6))), pick.choice(OPERATORS)
        wanted = sum(holds(op, text, literal) for some in texts for text in some)
        assert table.scan(("c", op, literal)).count() == wanted, (op, literal)
