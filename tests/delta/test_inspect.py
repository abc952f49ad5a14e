"""``table.inspect`` of Delta tables: tombstones, transactions, domains, and the files of the log with their hint."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tableformats_delta.log.last_checkpoint import canonical_form, json_checksum

import tableformats as tf
from tableformats.errors import CorruptMetadataError, UnsupportedFeatureError
from tests.support.conformance import delta_cases, needs_tables
from tests.support.delta_log import (
    METADATA_TYPE,
    PROTOCOL_TYPE,
    VECTOR_TYPE,
    WITH_VECTORS,
    DeltaLog,
    add,
    compaction_name,
    first_actions,
    remove,
    vector,
)

META = first_actions(WITH_VECTORS)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


@pytest.fixture
def log(tmp_path: Path) -> DeltaLog:
    return DeltaLog(tmp_path / "t").start(protocol=WITH_VECTORS)


def rows(log: DeltaLog, name: str) -> list[dict[str, Any]]:
    return getattr(tf.open_table(log.root).inspect, name)().to_pylist()


def txn(app: Any, version: Any, **more: Any) -> dict[str, Any]:
    return {"txn": {"appId": app, "version": version, **more}}


def domain(name: Any, configuration: Any, **more: Any) -> dict[str, Any]:
    return {"domainMetadata": {"domain": name, "configuration": configuration, "removed": False, **more}}


def full_checkpoint(log: DeltaLog, version: int, *actions: dict[str, Any]) -> None:
    """A Parquet checkpoint with every kind of action."""
    pairs = pa.map_(pa.string(), pa.string())
    removed = pa.struct(
        [
            ("path", pa.string()),
            ("deletionTimestamp", pa.int64()),
            ("dataChange", pa.bool_()),
            ("extendedFileMetadata", pa.bool_()),
            ("partitionValues", pairs),
            ("size", pa.int64()),
            ("deletionVector", VECTOR_TYPE),
        ]
    )
    named = pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())])
    app = pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())])
    kinds = {
        "protocol": PROTOCOL_TYPE,
        "metaData": METADATA_TYPE,
        "remove": removed,
        "txn": app,
        "domainMetadata": named,
    }
    table = pa.Table.from_pylist(list(actions), pa.schema(list(kinds.items())))
    pq.write_table(table, log.directory / f"{version:020d}.checkpoint.parquet")


class TestTransactions:
    def test_the_newest_of_each(self, log: DeltaLog) -> None:
        """Newest by the log, not by number: a version may go back."""
        log.commit(1, txn("b", 7), txn("a", 1, lastUpdated=5)).commit(2, txn("b", 3), add("x"))
        assert rows(log, "transactions") == [
            {"appId": "a", "version": 1, "lastUpdated": EPOCH + dt.timedelta(milliseconds=5)},
            {"appId": "b", "version": 3, "lastUpdated": None},
        ]

    def test_of_a_checkpoint(self, log: DeltaLog) -> None:
        full_checkpoint(log, 1, *META, txn("a", 1), txn("b", 2, lastUpdated=9))
        log.commit(2, txn("a", 5), txn("c", 2**63 - 1))
        assert [(row["appId"], row["version"]) for row in rows(log, "transactions")] == [
            ("a", 5),
            ("b", 2),
            ("c", 2**63 - 1),
        ]

    @pytest.mark.parametrize(
        ("action", "name"),
        [
            (txn(None, 1), "appId"),
            (txn(7, 1), "appId"),
            (txn("a", None), "version"),
            (txn("a", "1"), "version"),
            (txn("a", True), "version"),
            (txn("a", 2**63), "version"),
            (txn("a\ud800", 1), "appId"),
            (txn("a", 1, lastUpdated="x"), "lastUpdated"),
        ],
    )
    def test_damaged(self, log: DeltaLog, action: dict[str, Any], name: str) -> None:
        log.commit(1, action)
        with pytest.raises(CorruptMetadataError) as caught:
            rows(log, "transactions")
        assert (caught.value.field, caught.value.path) == (f"txn.{name}", str(log.directory / f"{1:020d}.json"))

    @needs_tables
    @pytest.mark.conformance
    def test_of_a_table_that_spark_wrote(self) -> None:
        (case,) = [case for case in delta_cases() if "deltalog-getChanges" in str(case)]
        found = tf.open_table(case.path).inspect.transactions().to_pylist()
        assert [(row["appId"], row["version"]) for row in found] == [("fakeAppId", 3)]


class TestDomains:
    def test_the_newest_of_each_without_the_removed(self, log: DeltaLog) -> None:
        full_checkpoint(log, 1, *META, domain("a", "1"), domain("b", "2"), domain("c", "3"))
        log.commit(2, domain("a", "{}"), domain("b", "2", removed=True)).commit(3, domain("d", ""))
        assert rows(log, "domains") == [
            {"domain": "a", "configuration": "{}"},
            {"domain": "c", "configuration": "3"},
            {"domain": "d", "configuration": ""},
        ]

    def test_one_that_comes_back(self, log: DeltaLog) -> None:
        log.commit(1, domain("a", "1")).commit(2, domain("a", "1", removed=True)).commit(3, domain("a", "2"))
        assert rows(log, "domains") == [{"domain": "a", "configuration": "2"}]

    @pytest.mark.parametrize("action", [domain(1, "x"), domain(None, "x"), domain("a", 7), domain("a", "\udfff")])
    def test_damaged(self, log: DeltaLog, action: dict[str, Any]) -> None:
        log.commit(1, action)
        with pytest.raises(CorruptMetadataError) as caught:
            rows(log, "domains")
        assert caught.value.path == str(log.directory / f"{1:020d}.json")


class TestTombstones:
    def test_what_was_removed_and_did_not_come_back(self, log: DeltaLog) -> None:
        log.commit(1, add("a"), add("b"), add("c"))
        log.commit(2, remove("a"), remove("b", deletionTimestamp=4, size=3, partitionValues={"p": None, "q": "1"}))
        log.commit(3, add("a")).commit(4, remove("c", dataChange=False, extendedFileMetadata=True))
        found = {row["path"]: row for row in rows(log, "tombstones")}
        assert sorted(found) == ["b", "c"]
        assert found["b"] == {
            "path": "b",
            "deletionTimestamp": EPOCH + dt.timedelta(milliseconds=4),
            "dataChange": True,
            "extendedFileMetadata": None,
            "partitionValues": [("p", None), ("q", "1")],
            "size": 3,
            "deletionVector": None,
        }
        assert (found["c"]["dataChange"], found["c"]["extendedFileMetadata"]) == (False, True)

    def test_a_file_with_another_vector_is_another(self, log: DeltaLog) -> None:
        log.commit(1, add("a")).commit(2, remove("a"), add("a", deletionVector=vector(0)))
        log.commit(3, remove("a", deletionVector=vector(0)), add("a", deletionVector=vector(1)))
        found = [row["deletionVector"] for row in rows(log, "tombstones")]
        assert found == [vector(0), None]

    def test_of_a_checkpoint(self, log: DeltaLog) -> None:
        full_checkpoint(
            log,
            1,
            *META,
            remove("a", partitionValues={"p": "1"}),
            remove("b"),
            remove("c", deletionVector=vector(2)),
        )
        log.commit(2, add("a")).commit(3, remove("b", deletionTimestamp=77))
        found = {row["path"]: row for row in rows(log, "tombstones")}
        assert sorted(found) == ["b", "c"]
        assert found["b"]["deletionTimestamp"] == EPOCH + dt.timedelta(milliseconds=77)
        assert found["c"]["deletionVector"] == vector(2)

    def test_of_sidecars_and_manifests(self, log: DeltaLog) -> None:
        full_checkpoint(log, 1, remove("a"))
        log.write("_sidecars/s.parquet", (log.directory / f"{1:020d}.checkpoint.parquet").read_bytes())
        (log.directory / f"{1:020d}.checkpoint.parquet").unlink()
        named = {"sidecar": {"path": "s.parquet", "sizeInBytes": 1, "modificationTime": 1}}
        text = "\n".join(map(json.dumps, [*META, named, remove("b"), txn("a", 1), domain("d", "x")]))
        log.write(f"{1:020d}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json", text.encode())
        assert sorted(row["path"] for row in rows(log, "tombstones")) == ["a", "b"]
        assert [row["appId"] for row in rows(log, "transactions")] == ["a"]
        assert [row["domain"] for row in rows(log, "domains")] == ["d"]

    @pytest.mark.parametrize(
        ("change", "name"),
        [
            ({"path": 7}, "path"),
            ({"deletionTimestamp": "x"}, "deletionTimestamp"),
            ({"size": 1.5}, "size"),
            ({"partitionValues": {"a": 1}}, "partitionValues"),
            ({"partitionValues": []}, "partitionValues"),
            ({"dataChange": 1}, "dataChange"),
            ({"deletionVector": {"storageType": "u"}}, "pathOrInlineDv"),
        ],
    )
    def test_damaged(self, log: DeltaLog, change: dict[str, Any], name: str) -> None:
        log.commit(1, {"remove": {**remove("a")["remove"], **change}})
        with pytest.raises(CorruptMetadataError, match=name):
            rows(log, "tombstones")

    @pytest.mark.parametrize("column", ["remove", "txn", "domainMetadata"])
    def test_a_checkpoint_column_of_another_type(self, log: DeltaLog, column: str) -> None:
        full_checkpoint(log, 1, *META)
        path = log.directory / f"{1:020d}.checkpoint.parquet"
        table = pq.read_table(path)
        pq.write_table(table.set_column(table.column_names.index(column), column, pa.array([1, 2])), path)
        name = {"remove": "tombstones", "txn": "transactions", "domainMetadata": "domains"}[column]
        with pytest.raises(CorruptMetadataError) as caught:
            rows(log, name)
        assert (caught.value.field, caught.value.path) == (column, str(path))


def test_tables_that_there_are_not(log: DeltaLog) -> None:
    with pytest.raises(UnsupportedFeatureError, match="tombstones, transactions, domains") as caught:
        rows(log, "manifests")
    assert caught.value.field == "manifests"


def test_other_formats_refuse_by_name() -> None:
    table = tf.open_table(Path(__file__).parents[1] / "golden/tables/iceberg-evolved/table")
    for name in ("tombstones", "transactions", "domains", "log"):
        with pytest.raises(UnsupportedFeatureError) as caught:
            getattr(table.inspect, name)()
        assert caught.value.field == name


class TestLog:
    def test_kinds_and_use(self, log: DeltaLog) -> None:
        log.commit(1, add("a")).commit(2, add("b")).commit(3, add("c")).compact(2, 3)
        log.checkpoint(f"{1:020d}.checkpoint.parquet", *META, add("a")).checkpoint("_sidecars/s.parquet", add("z"))
        for name in (f"{3:020d}.crc", "0.tmp", f"{2:020d}.checkpoint.0000000001.0000000002.parquet"):
            log.write(name, b"{}")
        found = {row["name"]: (row["kind"], row["version"], row["inUse"]) for row in rows(log, "log")}
        assert found == {
            f"{0:020d}.json": ("commit", 0, False),
            f"{1:020d}.json": ("commit", 1, False),
            f"{2:020d}.json": ("commit", 2, False),
            f"{3:020d}.json": ("commit", 3, False),
            compaction_name(2, 3): ("compaction", 3, True),
            f"{1:020d}.checkpoint.parquet": ("checkpoint", 1, True),
            f"{3:020d}.crc": ("checksum", 3, False),
            "_sidecars/s.parquet": ("sidecar", None, False),
            "0.tmp": ("other", None, False),
            f"{2:020d}.checkpoint.0000000001.0000000002.parquet": ("other", None, False),
        }

    @pytest.mark.parametrize(
        ("hint", "version", "remark"),
        [
            ({"version": 2, "size": 3}, 2, None),
            ({"version": 2, "size": 3, "checksum": json_checksum('{"size":3,"version":2}')}, 2, None),
            ({"version": 2, "size": 3, "checksum": "0" * 32}, 2, "its checksum is wrong"),
            ({"version": 1}, 1, "stale: the newest checkpoint is of version 2"),
            ({"version": 0}, 0, "names a version that has no complete checkpoint"),
            ({"version": 9}, 9, "names a version that has no complete checkpoint"),
            ({"version": "2"}, None, "names no version"),
            ({"version": 2**70}, None, "names no version"),
            ({}, None, "names no version"),
            ([], None, "damaged"),
            (b"", None, "damaged"),
            (b"{", None, "damaged"),
            (b'{"version":2,"version":2}', None, "damaged"),
            (b'{"version":NaN}', None, "damaged"),
            (b"\xff", None, "damaged"),
            (b'{"a":' * 100_000, None, "damaged"),
            (b'{"a":"\\ud800"}', None, "damaged"),
            (b'{"version":' + b"9" * 5000 + b"}", None, "damaged"),
        ],
    )
    def test_the_hint(self, log: DeltaLog, hint: Any, version: int | None, remark: str | None) -> None:
        for at in (1, 2):
            log.commit(at, add(f"a{at}")).checkpoint(f"{at:020d}.checkpoint.parquet", *META, add("a"))
        log.write("_last_checkpoint", hint if isinstance(hint, bytes) else json.dumps(hint).encode())
        (row,) = [row for row in rows(log, "log") if row["kind"] == "hint"]
        assert (row["version"], row["remark"], row["inUse"]) == (version, remark, False)
        assert log.snapshot().version == 2


class TestChecksumOfJson:
    def test_the_vector_of_the_protocol(self) -> None:
        text = (
            '{"k0":"\'v 0\'", "checksum": "adsaskfljadfkjadfkj", "k1":{"k2": 2, "k3": ["v3", [1, 2], '
            '{"k4": "v4", "k5": ["v5", "v6", "v7"]}]}}'
        )
        assert canonical_form(text) == (
            '"k0"="%27v%200%27","k1"+"k2"=2,"k1"+"k3"+0="v3","k1"+"k3"+1+0=1,"k1"+"k3"+1+1=2,"k1"+"k3"+2+"k4"="v4",'
            '"k1"+"k3"+2+"k5"+0="v5","k1"+"k3"+2+"k5"+1="v6","k1"+"k3"+2+"k5"+2="v7"'
        )
        assert json_checksum(text) == "6a92d155a59bf2eecbd4b4ec7fd1f875"

    @pytest.mark.parametrize(
        ("text", "form"),
        [
            (
                '{"a": 10, "b": {"y": null, "x": "https://delta.io"} }',
                '"a"=10,"b"+"x"="https%3A%2F%2Fdelta.io","b"+"y"=null',
            ),
            ('{"a":[null, "hi ho", 2.71]}', '"a"+0=null,"a"+1="hi%20ho","a"+2=2.71'),
            ('{"k1": "v1", "checksum": "<anything>", "k3": 23}', '"k1"="v1","k3"=23'),
            ('{"b":true,"a":false,"c":{"checksum":1}}', '"a"=false,"b"=true,"c"+"checksum"=1'),
            (
                '{"n":1.50,"e":1E5,"m":-0,"big":12345678901234567890}',
                '"big"=12345678901234567890,"e"=1E5,"m"=-0,"n"=1.50',
            ),
            ('{"s":"aZ9-._~ +>\\u00e9\\ud83d\\ude00"}', '"s"="aZ9-._~%20%2B%3E%C3%A9%F0%9F%98%80"'),
            ('{"a b":{"é":1}}', '"a%20b"+"%C3%A9"=1'),
            ("{}", ""),
            ('{"a":{},"b":[]}', ""),
        ],
    )
    def test_canonical_forms(self, text: str, form: str) -> None:
        assert canonical_form(text) == form

    @pytest.mark.parametrize("text", ["", "[]", "1", "{", '{"a":1,"a":2}', '{"a":{"b":1,"b":1}}', '{"a":Infinity}'])
    def test_what_has_none(self, text: str) -> None:
        with pytest.raises(ValueError):
            canonical_form(text)

    @needs_tables
    @pytest.mark.conformance
    def test_hints_that_spark_wrote(self) -> None:
        """Every stored hint with a checksum bears it out."""
        checked = 0
        for case in delta_cases():
            hint = case.path / "_delta_log" / "_last_checkpoint"
            text = hint.read_text(errors="replace") if hint.exists() else ""
            if '"checksum"' in text:
                assert json.loads(text)["checksum"] == json_checksum(text)
                checked += 1
        assert checked > 5
