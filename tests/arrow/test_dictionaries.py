"""Row groups whose dictionaries lack what a filter looks for are not read, and no row is lost by that."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tableformats.engines.arrow.files import sought_values
from tableformats.io.parquet import dictionaries
from tableformats.io.parquet.data_pages import StoredPage
from tableformats.schema import Field, primitive
from tests.arrow.test_sought_values import VALUES
from tests.support.arrow_fakes import FakeFile, snapshot_of, write

LONG = primitive("long")


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sought_values, "_FEWEST_ROWS", 1)


def ids(root: Path, stored: pa.Array, kind: str, filter: str, **options: Any) -> list[int]:
    """The ids of matching rows. A row group has two values, whose bounds hold what is looked for."""
    table = pa.table({"id": range(len(stored)), "v": stored})
    path = write(root, table, **{"row_group_size": 2, "use_dictionary": ["v"], **options})
    fields = [Field(1, "id", LONG), Field(2, "v", primitive(kind))]
    snapshot = snapshot_of(root, fields, [FakeFile(path, table.num_rows)])
    return snapshot.scan(filter, columns=["id"]).to_arrow()["id"].to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("options", [{}, {"compression": "none"}, {"compression": "zstd", "data_page_version": "2.0"}])
@pytest.mark.parametrize(
    ("stored", "kind", "value", "other"),
    [*VALUES, (pa.array(["a", "z", None, "n", "a", "z"]), "string", "'n'", "'b'")],
    ids=lambda given: str(given.type) if isinstance(given, pa.Array) else "",
)
def test_a_row_group_without_the_value_is_not_read(
    tmp_path: Path,
    groups_read: set[int],
    stored: pa.Array,
    kind: str,
    value: str,
    other: str,
    options: dict[str, Any],
) -> None:
    assert ids(tmp_path, stored, kind, f"v = {value}", **options) == [3]
    assert groups_read == {1}
    groups_read.clear()
    assert ids(tmp_path, stored, kind, f"v IN ({other}, {value}) AND id >= 0", **options) == [3]
    assert groups_read == {1}
    groups_read.clear()
    assert ids(tmp_path, stored, kind, f"v = {other}", **options) == []
    assert groups_read == set()


@pytest.mark.parametrize(
    ("stored", "kind", "value"),
    [
        (pa.array([0.5, 9, 4, 5, -0.0, 9]), "double", "5"),
        (pa.array([0, 9, 4, 5, 0, 9], pa.uint32()), "long", "5"),
        (pa.array([0, 9000, 4000, 5000, 0, 9000], pa.timestamp("ms")), "timestamp_ntz", "'1970-01-01 00:00:05'"),
    ],
    ids=lambda given: str(given.type) if isinstance(given, pa.Array) else "",
)
def test_what_is_stored_otherwise_is_not_looked_for(
    tmp_path: Path, groups_read: set[int], stored: pa.Array, kind: str, value: str
) -> None:
    assert ids(tmp_path, stored, kind, f"v = {value}") == [3]
    assert groups_read == {0, 1, 2}


def test_values_beside_the_dictionary(tmp_path: Path, groups_read: set[int]) -> None:
    """A writer gives a dictionary up that has become long; later pages have the values themselves."""
    texts = [f"{i % 10} {'long' * 20}" for i in range(0, 60, 2)] + [f"{i} more" for i in range(30)]
    options = {"row_group_size": 60, "dictionary_pagesize_limit": 200, "write_batch_size": 5, "data_page_size": 50}
    assert ids(tmp_path, pa.array(texts), "string", "v = '7 more'", **options) == [37]
    assert groups_read == {0}


@pytest.mark.parametrize("changed", ["damaged", "another kind", "long", "not said"])
def test_dictionaries_that_tell_nothing(
    tmp_path: Path, groups_read: set[int], monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    if changed == "long":
        monkeypatch.setattr(sought_values, "_MOST_DICTIONARY", 10)
    elif changed == "not said":
        monkeypatch.setattr(dictionaries, "_ENCODING_STATS", 99)
    else:

        def other(stored: bytes, place: int) -> Any:
            if changed == "damaged":
                return StoredPage(stored[:-1], place)
            page = StoredPage(stored, place)
            return SimpleNamespace(kind=0, encoding=8, rows=page.rows, values=page.values)

        monkeypatch.setattr(dictionaries, "StoredPage", other)
    values = pa.array(["a", "z", "m", "n", "a", "z"])
    assert ids(tmp_path, values, "string", "v = 'n'") == [3]
    assert groups_read == {0, 1, 2}
    assert ids(tmp_path, pa.array([0, 9, 4, 5], pa.int32()), "int", "v = 5") == [3]


def test_few_rows_are_read(tmp_path: Path, groups_read: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sought_values, "_FEWEST_ROWS", 3)
    assert ids(tmp_path, pa.array([0, 9, 4, 5, 0, 9, 1]), "long", "v = 5", row_group_size=2) == [3]
    assert groups_read == {0, 1, 2}
