"""Paths as Hadoop spells them, one by one and as columns, and the connectors that they need."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tableformats.engines.spark.hadoop_paths import hadoop_authorities, hadoop_path, hadoop_paths

SPELLED = {
    "s3://bucket/a b/ü.parquet": "s3a://bucket/a b/ü.parquet",
    "s3a://bucket/s3://x": "s3a://bucket/s3://x",
    "abfss://c@account.dfs.core.windows.net/a": "abfss://c@account.dfs.core.windows.net/a",
    "wasbs://c@account/a": "wasbs://c@account/a",
    "gs://bucket/a": "gs://bucket/a",
    "hdfs://host:8020/a:b": "hdfs://host:8020/a:b",
    "hdfs:/a": "hdfs:/a",
}
LOCAL = ["/a/b.parquet", "/s3://a", "/a:b/c"]


@pytest.mark.parametrize("some", [slice(None), slice(0, 1), slice(1, 3), slice(0, 0)])
def test_stores_have_the_scheme_of_their_connector(some: slice) -> None:
    paths = list(SPELLED)[some]
    expected = [SPELLED[path] for path in paths]
    assert [hadoop_path(path) for path in paths] == expected
    assert hadoop_paths(pa.array(paths, pa.string())).to_pylist() == expected
    assert hadoop_paths(pa.array(LOCAL + paths, pa.string())).to_pylist() == LOCAL + expected
    assert [hadoop_path(path) for path in expected] == expected


def test_local_paths_have_a_scheme_one_by_one() -> None:
    assert [hadoop_path(path) for path in LOCAL] == [f"file:{path}" for path in LOCAL]


def test_each_store_is_found_once() -> None:
    paths = pa.chunked_array([LOCAL, [SPELLED[path] for path in SPELLED] * 2, LOCAL])
    assert hadoop_authorities(paths) == {
        "s3a://bucket": "s3a://bucket/a b/ü.parquet",
        "abfss://c@account.dfs.core.windows.net": "abfss://c@account.dfs.core.windows.net/a",
        "wasbs://c@account": "wasbs://c@account/a",
        "gs://bucket": "gs://bucket/a",
        "hdfs://host:8020": "hdfs://host:8020/a:b",
        "hdfs:": "hdfs:/a",
    }
    assert hadoop_authorities(pa.chunked_array([LOCAL])) == {}
    assert hadoop_authorities(pa.chunked_array([], pa.string())) == {}
