"""The times in metadata that we write are those of the clock, and later than what was there before."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tableformats as tf
from tests.support.iceberg_writing import metadata_of

SCHEMA = pa.schema([("a", pa.int64())])
ROWS = pa.table({"a": [1, 2]}, schema=SCHEMA)
KEYS = {"timestamp", "inCommitTimestamp", "modificationTime", "createdTime", "deletionTimestamp", "timestampMs"}
KEYS |= {"timestamp-ms", "last-updated-ms"}


def now() -> int:
    return time.time_ns() // 1_000_000


def times(found: Any) -> list[int]:
    """The times in JSON."""
    if isinstance(found, dict):
        own = [value for key, value in found.items() if key in KEYS and isinstance(value, int)]
        return own + [one for value in found.values() for one in times(value)]
    return [one for value in found for one in times(value)] if isinstance(found, list) else []


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_times_are_those_of_the_clock(tmp_path: Path, format: str) -> None:
    properties = {"delta.enableInCommitTimestamps": "true"} if format == "delta" else {}
    before = now()
    table = tf.create_table(tmp_path / "t", SCHEMA, format=format, properties=properties)
    table.append(ROWS)
    table.delete("a = 1")
    table.overwrite(ROWS)
    after = now()
    if format == "delta":
        lines = [p.read_text().splitlines() for p in sorted((tmp_path / "t/_delta_log").glob("*.json"))]
        found = [one for some in lines for line in some for one in times(json.loads(line))]
        stamps = [times(json.loads(some[0])) for some in lines]
        assert all(len(one) == 2 for one in stamps), "a timestamp and an in-commit timestamp"
        inside = [max(one) for one in stamps]
        assert inside == sorted(set(inside)), "each later than the last"
    else:
        found = times(metadata_of(tmp_path / "t"))
    # A file system may round the times of its files down. In-commit timestamps may be ahead of the clock.
    assert len(found) > 8 and all(before - 2000 <= one <= after + 10 for one in found)


def test_in_commit_timestamps_go_on_from_a_clock_that_was_ahead(tmp_path: Path) -> None:
    properties = {"delta.enableInCommitTimestamps": "true"}
    tf.create_table(tmp_path / "t", SCHEMA, format="delta", properties=properties)
    first = tmp_path / "t/_delta_log/00000000000000000000.json"
    ahead = now() + 3_600_000
    info, *others = map(json.loads, first.read_text().splitlines())
    info["commitInfo"]["inCommitTimestamp"] = ahead
    first.write_text("".join(json.dumps(one) + "\n" for one in (info, *others)))
    (tmp_path / "t/_delta_log/00000000000000000000.crc").unlink(missing_ok=True)
    tf.open_table(tmp_path / "t", cache=False).append(ROWS)
    second = json.loads((tmp_path / "t/_delta_log/00000000000000000001.json").read_text().splitlines()[0])
    assert second["commitInfo"]["inCommitTimestamp"] == ahead + 1
