"""Table properties: values that a writer obeys, and values that it does not know, which other writers may have set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tableformats as tf

from ...support.iceberg_writing import newest

PARQUET = "write.parquet."
ROWS = 5_000
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "name": [f"name-{i * 7919 % ROWS}" for i in range(ROWS)],
        "tags": [[i % 7] for i in range(ROWS)],
        "point": pa.array([{"x": i % 5} for i in range(ROWS)], pa.struct([("x", pa.int32())])),
        "even": [i % 2 == 0 for i in range(ROWS)],
    }
)


def written(folder: Path, **properties: str) -> pq.ParquetFile:
    """The only data file of a new table whose properties ``write.parquet.*`` are given."""
    given = {PARQUET + name.replace("_", "-").replace("--", "."): value for name, value in properties.items()}
    tf.write_table(TABLE, folder, format="iceberg", properties=given)
    assert tf.open_table(folder).scan().to_arrow().equals(TABLE)
    (path,) = folder.rglob("*.parquet")
    return pq.ParquetFile(path)


def groups(file: pq.ParquetFile) -> list[pq.RowGroupMetaData]:
    return [file.metadata.row_group(i) for i in range(file.num_row_groups)]


def test_row_groups(tmp_path: Path) -> None:
    assert [g.num_rows for g in groups(written(tmp_path / "a", row_group_limit="2000"))] == [2000, 2000, 1000]
    found = groups(written(tmp_path / "b", row_group_size_bytes="10000"))
    sizes = [sum(g.column(i).total_compressed_size for i in range(g.num_columns)) for g in found]
    assert max(sizes) < 12_000 and sum(g.num_rows for g in found) == ROWS and len(sizes) < 2 * sum(sizes) / 10_000
    assert {g.num_rows for g in groups(written(tmp_path / "c", row_group_size_bytes="1"))} == {100}
    files = tf.open_table(tmp_path / "b").inspect.files()
    assert len(files["split_offsets"][0]) == len(found)


@pytest.mark.parametrize(
    ("codec", "level", "stored"), [("gzip", "1", "GZIP"), ("lz4_raw", "9", "LZ4"), ("ZSTD", "-5", "ZSTD")]
)
def test_codecs_and_levels(tmp_path: Path, codec: str, level: str, stored: str) -> None:
    """Codecs without levels do without, as in the Java reference."""
    first = groups(written(tmp_path / "a", compression_codec=codec, compression_level=level))[0].column(1)
    usual = groups(written(tmp_path / "b", compression_codec=codec))[0].column(1)
    assert first.compression == usual.compression == stored
    assert (first.total_compressed_size != usual.total_compressed_size) is (codec != "lz4_raw")


def test_pages_dictionaries_and_statistics(tmp_path: Path) -> None:
    plain = written(tmp_path / "a")
    options = {
        "page_size_bytes": "4096",
        "page_row_limit": "500",
        "page_version": "v2",
        "stats_enabled--column--name": "false",
        "dict_encoding_enabled--column--point--x": "FALSE",
    }
    file = written(tmp_path / "b", **options)
    assert file.metadata.row_group(0).column(1).statistics is None
    assert file.metadata.row_group(0).column(0).statistics.max == ROWS - 1
    x = file.metadata.schema.names.index("x")
    assert not file.metadata.row_group(0).column(x).has_dictionary_page
    assert plain.metadata.row_group(0).column(x).has_dictionary_page
    small = written(tmp_path / "c", dict_size_bytes="1000").metadata.row_group(0).column(1)
    assert (
        "PLAIN" in small.encodings
        and small.total_compressed_size != plain.metadata.row_group(0).column(1).total_compressed_size
    )
    (bounds,) = tf.open_table(tmp_path / "b").inspect.files()["lower_bounds"].to_pylist()
    assert dict(bounds)[2] == b"name-0", "bounds are those of the rows"
    assert tf.open_table(tmp_path / "b").scan("name = 'name-17'").count() == 1


def test_bloom_filters(tmp_path: Path) -> None:
    """They leave out nothing that is there, for those who read them; a filter is no longer than it may be."""
    duckdb = pytest.importorskip("duckdb")
    names = ["name", "tags--element", "point--x", "even", "gone"]
    asked = {f"bloom_filter_enabled--column--{name}": "true" for name in names}
    sizes = []
    for number, more in enumerate(
        ({}, {"bloom_filter_fpp--column--name": "0.0001"}, {"bloom_filter_max_bytes": "1024"})
    ):
        file = written(tmp_path / str(number), **asked, **more)
        found = {c.path_in_schema: c.bloom_filter_length for c in map(file.metadata.row_group(0).column, range(5))}
        assert {name for name, length in found.items() if length} == {"name", "tags.list.element", "point.x"}
        sizes.append(found["name"])
    assert sizes[0] < sizes[1] and sizes[2] < 1024 + 64
    few = written(tmp_path / "few", **asked, **{"bloom_filter_ndv--column--name": "20"})
    assert few.metadata.row_group(0).column(1).bloom_filter_length < sizes[0]
    for path in tmp_path.rglob("*.parquet"):
        for name in ("name-17", "name-5000"):
            known = [i for i, found in enumerate(TABLE["name"].to_pylist()) if found == name]
            asked_of = f"SELECT id FROM read_parquet('{path}') WHERE name = '{name}'"
            assert [row[0] for row in duckdb.sql(asked_of).fetchall()] == known


BAD = {
    "commit.manifest-merge.enabled": "yes",
    "commit.manifest.min-count-to-merge": "many",
    "commit.manifest.target-size-bytes": "0",
    "write.delete.isolation-level": "chaos",
    "write.distribution-mode": "sideways",
    "write.manifest.compression-codec": "lzma",
    "write.manifest.compression-level": "high",
    "write.metadata.compression-codec": "lz4",
    "write.metadata.delete-after-commit.enabled": "1",
    "write.metadata.metrics.column.name": "some",
    "write.metadata.metrics.default": "truncate(0)",
    "write.metadata.metrics.max-inferred-column-defaults": "ten",
    "write.metadata.previous-versions-max": "1_0",
    "write.object-storage.enabled": "on",
    "write.object-storage.partitioned-paths": "",
    "write.parquet.bloom-filter-enabled.column.name": "t",
    "write.parquet.bloom-filter-fpp.column.name": "1",
    "write.parquet.bloom-filter-max-bytes": "-1",
    "write.parquet.bloom-filter-ndv.column.name": "0",
    "write.parquet.compression-codec": "lzo",
    "write.parquet.compression-level": "23",
    "write.parquet.dict-encoding-enabled.column.gone": "no",
    "write.parquet.dict-size-bytes": "1e6",
    "write.parquet.page-row-limit": "٣",
    "write.parquet.page-size-bytes": "9999999999",
    "write.parquet.page-version": "v3",
    "write.parquet.row-group-limit": "0",
    "write.parquet.row-group-size-bytes": "128MB",
    "write.parquet.stats-enabled.column.name": "0",
    "write.target-file-size-bytes": "512 MB",
    "write.wap.enabled": "2",
}


def spoilt(folder: Path, properties: dict[str, str]) -> tf.Table:
    """The table, whose properties another writer set, which does not look at them."""
    path = newest(folder)
    metadata: dict[str, Any] = json.loads(path.read_text())
    path.write_text(json.dumps(metadata | {"properties": properties}))
    return tf.open_table(folder, cache=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("spoilt") / "t"
    tf.write_table(TABLE.slice(0, 9), found, format="iceberg")
    return found


@pytest.mark.parametrize("name", BAD)
def test_a_value_that_is_not_known_is_refused_by_name(folder: Path, tmp_path: Path, name: str) -> None:
    table = spoilt(folder, {name: BAD[name]})
    files = set(folder.rglob("*"))
    for write in (lambda: table.append(TABLE), lambda: table.delete("id = 1"), lambda: table.delete("id >= 0")):
        with pytest.raises(tf.UnsupportedFeatureError, match=r"Nothing was (committed|written)") as caught:
            write()
        assert (caught.value.field, caught.value.committed) == (name, False)
    assert set(folder.rglob("*")) == files and table.count() == 9
    with pytest.raises(tf.UnsupportedFeatureError) as refused:
        tf.create_table(tmp_path / "new", TABLE.schema, format="iceberg", properties={name: BAD[name]})
    assert refused.value.field == name and not (tmp_path / "new").exists()


def test_values_are_corrected_one_by_one(folder: Path) -> None:
    table = spoilt(folder, BAD)
    with pytest.raises(tf.UnsupportedFeatureError):
        table.alter.set_properties({"write.wap.enabled": "perhaps"})
    of_metadata = [name for name in BAD if name.startswith("write.metadata.") and "metrics" not in name]
    with pytest.raises(tf.UnsupportedFeatureError):
        table.alter.unset_properties(of_metadata[0])
    table.alter.unset_properties(*of_metadata)  # by which each commit is made, so they are corrected together
    names = [name for name in BAD if name not in of_metadata]
    for name in names[1:]:
        table.alter.unset_properties(name)
    table.alter.set_properties({names[0]: "TRUE"})
    table.append(TABLE.slice(0, 1))
    assert table.refresh().count() == 10
