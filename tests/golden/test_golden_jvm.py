"""The committed tables of Delta and Iceberg for Spark: rows, changes and row ids equal what Spark answered."""

from __future__ import annotations

import pytest

from tests.support.golden import EXPECTED, answers, in_order, opened


def with_all(key: str) -> list[tuple[str, str]]:
    """Each table with each entry that its answers have under ``key``."""
    return [(name, entry) for name, expected in EXPECTED.items() for entry in expected.get(key, ())]


@pytest.mark.parametrize(("name", "version"), with_all("versions"))
def test_rows_of_every_version(name: str, version: str) -> None:
    scan = opened(name).scan(version=int(version))
    found, wanted = answers(scan.to_arrow()), EXPECTED[name]["versions"][version]
    assert in_order(found) == in_order(wanted)
    assert all(list(row) == list(other) for row, other in zip(found, wanted, strict=True))
    assert scan.count() == len(wanted)


@pytest.mark.parametrize("name", EXPECTED)
def test_current_rows(name: str) -> None:
    table = opened(name)
    assert table.format == EXPECTED[name]["format"]
    assert in_order(answers(table.scan().to_arrow())) == in_order(EXPECTED[name]["current"])


@pytest.mark.parametrize(("name", "ref"), with_all("refs"))
def test_rows_of_every_ref(name: str, ref: str) -> None:
    assert in_order(answers(opened(name).scan(version=ref).to_arrow())) == in_order(EXPECTED[name]["refs"][ref])


@pytest.mark.parametrize(("name", "filter"), with_all("filters"))
def test_filtered_rows(name: str, filter: str) -> None:
    scan = opened(name).scan(filter)
    wanted = EXPECTED[name]["filters"][filter]
    assert sorted(scan.to_arrow().column("id").to_pylist()) == wanted
    assert scan.count() == len(wanted)


@pytest.mark.parametrize("name", [name for name in EXPECTED if "changes" in EXPECTED[name]])
def test_changes(name: str) -> None:
    found = opened(name).changes(0).to_arrow().drop_columns("_commit_timestamp")
    assert in_order(answers(found)) == in_order(EXPECTED[name]["changes"])


@pytest.mark.parametrize("name", [name for name in EXPECTED if "row_ids" in EXPECTED[name]])
def test_row_ids(name: str) -> None:
    wanted = EXPECTED[name]["row_ids"]
    prefix = "_metadata." if EXPECTED[name]["format"] == "delta" else ""
    found = opened(name).scan().select("id", *(prefix + column for column in wanted[0] if column != "id")).to_arrow()
    found = found.rename_columns([column.removeprefix(prefix) for column in found.column_names])
    assert answers(found) == wanted


@pytest.mark.parametrize("name", [name for name in EXPECTED if "times" in EXPECTED[name]])
def test_times_in_commits(name: str) -> None:
    """Of the versions that hold their times: as Spark shows them, and found again by them, also a moment later."""
    table, times = opened(name), {int(v): time for v, time in EXPECTED[name]["times"].items()}
    history = {row["version"]: row["timestamp"] for row in table.history().to_pylist()}
    assert {version: round(history[version].timestamp() * 1000) for version in times} == times
    for version, time in times.items():
        assert table.snapshot(timestamp=time).version == version
        if version + 1 in times:
            assert table.snapshot(timestamp=times[version + 1] - 1).version == version
    assert set(times) < set(range(max(times) + 1)), "the first versions have no such times"


@pytest.mark.parametrize("name", EXPECTED)
def test_a_plan_counts_each_file_of_metadata_once(name: str) -> None:
    """Whether it is cached or not, and however often it is read for further columns."""
    table = opened(name)
    reports = [table.plan(filter).report for filter in ("id > 3", None, "id > 3", None)]
    counted = [(one.metadata_files_read, one.metadata_bytes_read) for one in reports]
    assert counted[0] == counted[2] and counted[1] == counted[3]
    manifests = sum(one.manifests_total + one.delete_manifests_total for one in reports[:2])
    skipped = sum(one.manifests_skipped + one.delete_manifests_skipped for one in reports[:2])
    if manifests:
        assert sum(files for files, _ in counted[:2]) == manifests - skipped + 2 * 2, "and the list and the metadata"
