"""Which files of a log make a version, by the names alone."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tableformats_delta.log import listing as log_listing
from tableformats_delta.log.listing import LogListing, LogSegment, list_log, listing_of

from tableformats.errors import CorruptMetadataError, SnapshotNotFoundError
from tableformats.io.storage import FileInfo

STORAGE: Any = SimpleNamespace(join=lambda *names: "/t/" + "/".join(names))
UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


def commit(version: int) -> str:
    return f"{version:020d}.json"


def checkpoint(version: int) -> str:
    return f"{version:020d}.checkpoint.parquet"


def part(version: int, number: int, count: int) -> str:
    return f"{version:020d}.checkpoint.{number:010d}.{count:010d}.parquet"


def v2(version: int, uuid: str = UUID) -> str:
    return f"{version:020d}.checkpoint.{uuid}.parquet"


def compaction(first: int, last: int) -> str:
    return f"{first:020d}.{last:020d}.compacted.json"


def checksum(version: int) -> str:
    return f"{version:020d}.crc"


def listed(*names: str, empty: tuple[str, ...] = (), times: dict[str, int] | None = None) -> LogListing:
    known = times or {}
    found = [
        FileInfo(name, f"/t/_delta_log/{name}", 0 if name in empty else 9, known.get(name, 1)) for name in sorted(names)
    ]
    return listing_of(STORAGE, found)


def names_of(segment: LogSegment) -> list[str]:
    return [file.path.rpartition("/")[2] for file in segment.commits]


def commits(*versions: int) -> list[str]:
    return [commit(version) for version in versions]


def test_which_files_count() -> None:
    names = [*commits(0, 1), checkpoint(0), v2(0), v2(1), checksum(1), compaction(0, 1), compaction(1, 1)]
    others = ["_last_checkpoint", f"{1:019d}.json", f"{1:020d}.json.tmp", f".{1:020d}.json.crc", f"{1:020d}.x.json"]
    huge = f"{2**63:020d}"
    found = listed(*names, *others, f"{huge}.json", f"{huge}.crc", f"{huge}.checkpoint.parquet", commit(2**63 - 1))
    assert [*found.commits] == [0, 1, 2**63 - 1] and [*found.checksums] == [1] and [*found.compactions] == [(0, 1)]
    assert {v: one.files[0].path[-50:] for v, one in found.checkpoints.items()} == {
        0: f"/t/_delta_log/{checkpoint(0)}"[-50:],
        1: f"/t/_delta_log/{v2(1)}"[-50:],
    }
    empty = (commit(0), checkpoint(0), v2(1), checksum(1), compaction(0, 1))
    left = listed(*names, empty=empty)
    assert [*left.commits] == [0, 1] and not left.checksums and not left.compactions
    assert [one.files[0].path.rpartition("/")[2] for one in left.checkpoints.values()] == [v2(0)]


@pytest.mark.parametrize(
    ("parts", "is_whole"),
    [
        ([(1, 1)], True),
        ([(1, 2), (2, 2)], True),
        ([(1, 2)], False),
        ([(2, 2)], False),
        ([(1, 2), (3, 2)], False),
        ([(0, 2), (1, 2)], False),
        ([(0, 2), (2, 2)], False),
        ([(1, 3), (2, 3)], False),
        ([(1, 2), (2, 3)], False),
        ([(1, 0)], False),
    ],
)
def test_parts_of_checkpoints(parts: list[tuple[int, int]], is_whole: bool) -> None:
    found = listed(*(part(3, number, count) for number, count in parts))
    assert [*found.checkpoints] == ([3] if is_whole else [])
    if is_whole:
        assert [file.path for file in found.checkpoints[3].files] == [
            f"/t/_delta_log/{part(3, number, count)}" for number, count in parts
        ]


def test_one_checkpoint_of_a_version() -> None:
    found = listed(checkpoint(3), part(3, 1, 1), v2(3))
    assert found.checkpoints[3].files[0].path.endswith(checkpoint(3))
    assert (
        listed(part(3, 1, 1), part(3, 1, 2), part(3, 2, 2), v2(3)).checkpoints[3].files[0].path.endswith(part(3, 1, 1))
    )


def test_the_log_is_listed_up_to_what_comes_after_all_versions() -> None:
    asked: list[Any] = []

    def pages(directory: str, after: str | None) -> Any:
        asked.append((directory, after))
        for names in ([], commits(0), [commit(1), "_"], [commit(2), "_last_checkpoint"], [commit(3)]):
            yield [FileInfo(name, f"{directory}/{name}", 9, 1) for name in names]

    storage: Any = SimpleNamespace(join=STORAGE.join, pages=pages)
    assert [*list_log(storage).commits] == [*list_log(storage, 7).commits] == [0, 1, 2]
    assert asked == [("/t/_delta_log", None), ("/t/_delta_log", f"{7:020d}")]


def test_oldest_and_newest() -> None:
    assert not listed() and listed(commit(3)) and listed(checkpoint(3))
    for names, oldest, latest in [
        (commits(0, 1), 0, 1),
        ([*commits(0, 1), checkpoint(1)], 0, 1),
        ([*commits(3, 4), checkpoint(3)], 3, 4),
        ([*commits(1, 2, 3), checkpoint(3), checkpoint(2), checkpoint(7)], 2, 7),
        (commits(3, 4), None, 4),
    ]:
        found = listed(*names)
        assert (found.oldest, found.latest) == (oldest, latest)
        hint = f"Versions {latest if oldest is None else oldest} to {latest} can be asked for"
        assert found.not_found("x").hint == hint


def test_times_of_commits_grow() -> None:
    times = {commit(1): 50, commit(2): 60, commit(3): 60, commit(4): 10, commit(5): 63}
    found = listed(*commits(1, 2, 3, 4, 5), checkpoint(2), times=times)
    assert found.commit_times == {2: 60, 3: 61, 4: 62, 5: 63}
    assert listed(*commits(1, 2)).commit_times == {}


def test_segments() -> None:
    found = listed(*commits(0, 1, 2, 3, 4), checkpoint(2), checksum(1), checksum(3))
    for version, base, files, crc in [
        (0, None, [0], None),
        (1, None, [1, 0], 1),
        (2, 2, [], None),
        (3, 2, [3], 3),
        (4, 2, [4, 3], 3),
    ]:
        segment = found.segment(version)
        assert (segment.checkpoint and segment.checkpoint.version) == base
        assert names_of(segment) == commits(*files) and (segment.checksum and segment.checksum.version) == crc
        newest = None if version == 2 else version
        assert (segment.newest_commit and segment.newest_commit.version) == newest
    for version in (-1, 5):
        with pytest.raises(SnapshotNotFoundError, match=f"no version {version}"):
            found.segment(version)


def test_segments_that_are_not_whole() -> None:
    with pytest.raises(CorruptMetadataError, match="version 3 needs the commit of version 2") as caught:
        listed(*commits(0, 1, 3)).segment(3)
    assert caught.value.path == f"/t/_delta_log/{commit(2)}"
    with pytest.raises(SnapshotNotFoundError, match="no version 2"):
        listed(*commits(0, 1, 3)).segment(2)
    with pytest.raises(SnapshotNotFoundError, match="cleaned up"):
        listed(*commits(2, 3), checkpoint(3)).segment(2)
    with pytest.raises(CorruptMetadataError, match="version 3 needs the commit of version 0"):
        listed(*commits(2, 3)).segment(3)
    assert names_of(listed(*commits(2, 3), checkpoint(1)).segment(3)) == commits(3, 2)


def test_compactions_in_place_of_commits() -> None:
    found = listed(*commits(*range(7)), compaction(1, 3), compaction(4, 5))
    assert names_of(found.segment(5)) == [compaction(4, 5), compaction(1, 3), commit(0)]
    assert names_of(found.segment(2)) == commits(2, 1, 0)
    assert names_of(found.segment(4)) == [commit(4), compaction(1, 3), commit(0)]
    segment = found.segment(5)
    assert segment.newest_commit is None, "a compaction stands for it"
    whole = segment.without(segment.commits[1])
    assert names_of(whole) == [compaction(4, 5), *commits(3, 2, 1, 0)]
    assert names_of(whole.without(whole.commits[0])) == commits(5, 4, 3, 2, 1, 0)
    upon = listed(*commits(*range(7)), checkpoint(1), compaction(1, 3), compaction(2, 3), compaction(5, 6))
    assert names_of(upon.segment(5)) == [*commits(5, 4), compaction(2, 3)]


@given(st.sets(st.sampled_from([*combinations(range(7), 2)])), st.integers(0, 6))
def test_compactions_give_the_fewest_files(ranges: set[tuple[int, int]], version: int) -> None:
    segment = listed(*commits(*range(7)), *(compaction(*one) for one in ranges)).segment(version)
    covered = [v for file in segment.commits for v in (segment.covered.get(file, (file,)))]
    assert [file.version for file in covered] == [*range(version, -1, -1)]
    steps = {0: 0}
    for end in range(1, version + 2):
        starts = [end - 1, *(first for first, last in ranges if last == end - 1)]
        steps[end] = 1 + min(steps[start] for start in starts)
    assert len(segment.commits) == steps[version + 1]


def test_what_comes_after_a_known_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    older = listed(*commits(0, 1, 2), checkpoint(0), compaction(1, 2), checksum(2)).segment(2)
    assert names_of(older) == [compaction(1, 2)]
    names = [*commits(0, 1, 2, 3, 4), checkpoint(0), compaction(1, 2), compaction(3, 4), checksum(4)]
    newer = listed(*names).segment_after(older)
    assert (newer.version, names_of(newer)) == (4, [compaction(3, 4), compaction(1, 2)])
    assert newer.extends(older) and not older.extends(newer) and newer.checksum and newer.checksum.version == 4
    assert [len(files) for files in newer.covered.values()] == [2, 2]
    same = listed(*names, checkpoint(4)).segment_after(newer)
    assert names_of(same) == names_of(newer), "its own version has a checkpoint now, which is not needed"
    first = listed(*commits(0)).segment(0)
    assert listed(*commits(0, 1), checksum(0)).segment_after(first).checksum, "of version 0, too"
    upon = listed(*commits(1, 2), checkpoint(1)).segment(2)
    assert listed(*commits(1, 2), checkpoint(1), checksum(0)).segment_after(upon).checksum is None
    assert (
        listed(*commits(0, 1), checksum(0)).segment(1).checksum and listed(commit(0), checksum(0)).segment(0).checksum
    )
    # Its files are gone or others, there is a gap, or the log is shorter: it begins anew.
    assert names_of(listed(*commits(0, 1, 2, 3), checkpoint(0)).segment_after(older)) == commits(3, 2, 1)
    assert names_of(listed(*commits(0, 1, 2, 3), compaction(1, 2)).segment_after(older)) == [
        commit(3),
        compaction(1, 2),
        commit(0),
    ]
    others = {compaction(1, 2): 7}
    replaced = listed(*commits(0, 1, 2, 3), checkpoint(0), compaction(1, 2), times=others).segment_after(older)
    assert names_of(replaced) == [commit(3), compaction(1, 2)] and not replaced.extends(older)
    assert names_of(listed(*commits(0, 1), checkpoint(0), compaction(1, 2)).segment_after(older)) == commits(1)
    gap = listed(*commits(0, 1, 2, 4), checkpoint(0), checkpoint(4), compaction(1, 2)).segment_after(older)
    assert gap.checkpoint and gap.checkpoint.version == 4
    monkeypatch.setattr(log_listing, "_MAX_TAIL_FILES", 3)
    known = [*commits(0, 1, 2, 3), checkpoint(0), compaction(1, 2)]
    assert listed(*known, checkpoint(3)).segment_after(older).extends(older)
    assert listed(*known, commit(4), checkpoint(3)).segment_after(older).extends(older), "three files"
    assert not listed(*known, *commits(4, 5), checkpoint(3)).segment_after(older).extends(older)
