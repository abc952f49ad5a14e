"""``from_utc_timestamp`` and ``to_utc_timestamp`` where clocks are put forward and back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import tableformats as tf
from tableformats.errors import InvalidPredicateError
from tableformats.schema.datetimes import CYCLE_S, offset_at, parse_timestamp

# What Spark 4.3 answers.
SHIFTED = [
    ("from_utc_timestamp", "2024-03-31 00:30:00", "2024-03-31 01:30:00"),
    ("from_utc_timestamp", "2024-03-31 01:30:00", "2024-03-31 03:30:00"),
    ("from_utc_timestamp", "2024-10-27 00:30:00", "2024-10-27 02:30:00"),
    ("from_utc_timestamp", "2024-10-27 01:30:00", "2024-10-27 02:30:00"),
    ("to_utc_timestamp", "2024-10-27 02:30:00", "2024-10-27 00:30:00"),
    ("to_utc_timestamp", "2024-03-31 02:30:00", "2024-03-31 01:30:00"),
]


def _micros(text: str) -> int:
    parsed = parse_timestamp(text)
    assert parsed is not None
    return parsed[0] // 1000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    folder: Path = tmp_path_factory.mktemp("zones") / "t"
    times = sorted({given for _, given, _ in SHIFTED})
    column = pa.array(map(_micros, times), pa.timestamp("us", "UTC"))
    tf.write_table(pa.table({"t": column, "at": times}), folder, format="delta")
    return tf.open_table(folder)


@pytest.mark.parametrize(("function", "given", "wanted"), SHIFTED)
def test_around_a_change_of_clocks(table: tf.Table, function: str, given: str, wanted: str) -> None:
    found = table.scan(f"{function}(t, 'Europe/Berlin') = TIMESTAMP'{wanted}'").to_arrow()["at"].to_pylist()
    assert given in found
    others = [source for name, source, target in SHIFTED if name == function and target != wanted]
    assert not set(found) & set(others)


def test_an_unknown_zone_is_named(table: tf.Table) -> None:
    for function in ("from_utc_timestamp", "to_utc_timestamp"):
        with pytest.raises(InvalidPredicateError, match="there is no time zone 'Europe/Nowhere'"):
            table.scan(f"{function}(t, 'Europe/Nowhere') > TIMESTAMP'2024-01-01'").to_arrow()


def test_offsets_far_away() -> None:
    summer, hour = _micros("2024-07-01 00:00:00"), 3_600_000_000
    assert offset_at("Europe/Berlin", summer) == 2 * hour
    assert offset_at("Europe/Berlin", summer + 300 * CYCLE_S * 1_000_000) == 2 * hour
    assert offset_at("Europe/Berlin", -(2**63)) == 3208 * 1_000_000  # the sun's time in Berlin
    assert offset_at("-01:30", summer) == -1.5 * hour
    assert offset_at("Nowhere", summer) is None
