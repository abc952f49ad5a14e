"""Pictures: their figures add up, hostile names are shown as they are, and matplotlib is asked for in one sentence."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tableformats as tf
from tableformats.inspect.pictures.figures import commit_columns, deleted_shares, partition_sizes, size_bins, timeline
from tableformats.inspect.pictures.plots import _text
from tableformats.schema.datetimes import DATETIME_MS
from tests.support.delta_log import WITH_VECTORS, DeltaLog, add, field, stats, vector

HOSTILE = "a$x^2$\x1b[2J\u202e<script>\n"


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    log = DeltaLog(tmp_path / "t").start(field("p", "string"), field(HOSTILE, "integer"), partition=("p",))
    for version, (size, part) in enumerate([(1_500, "1"), (1_600, HOSTILE), (40_000_000, "1")], 1):
        bounds = {"minValues": {HOSTILE: version}, "maxValues": {HOSTILE: 9}, "nullCount": {HOSTILE: 0}}
        log.commit(version, add(f"f{version}", size=size, partitionValues={"p": part}, stats=stats(9, **bounds)))
    return tf.open_table(log.root)


@given(st.lists(st.integers(0, 2**62), max_size=40))
def test_every_file_is_in_one_bin_of_its_size(sizes: list[int]) -> None:
    bins = size_bins(pa.chunked_array([pa.array(sizes, pa.int64())]))
    assert len(bins) <= 17
    assert sum(one.files for one in bins) == len(sizes)
    for one, following in zip(bins, bins[1:], strict=False):
        assert one.end == following.least > one.least
    for one in bins[:-1]:
        inside = [size for size in sizes if one.least <= size < one.end]
        assert (one.files, one.size_bytes) == (len(inside), sum(inside))
        assert one.is_small == (one.least < 32_000_000)


def test_bins_are_as_small_as_they_may_be() -> None:
    def ends(*sizes: int) -> list[tuple[int, int, int]]:
        return [(one.least, one.end, one.files) for one in size_bins(pa.chunked_array([pa.array(sizes, pa.int64())]))]

    assert ends(1, 3, 3, 9) == [(0, 2, 1), (2, 4, 2), (4, 8, 0), (8, 16, 1)]
    assert ends(40_000_000) == [(32_000_000, 64_000_000, 1)]
    assert len(ends(1 << 10, 1 << 24)) == 15 and len(ends(1, 1 << 17)) == 10


@given(st.lists(st.tuples(st.integers(0, 10**12) | st.none(), st.sampled_from("abcdefg") | st.none()), max_size=30))
def test_every_commit_of_known_time_is_in_one_step(commits: list[tuple[int | None, str | None]]) -> None:
    moments, names = zip(*commits, strict=True) if commits else ((), ())
    history = pa.table(
        {"timestamp": pa.array(moments, pa.timestamp("ms", "UTC")), "operation": pa.array(names, "string")}
    )
    found = timeline(history, 10)
    known = [moment for moment in moments if moment is not None]
    assert found.commits == len(known) and len(found.operations) <= 5 and len(found.edges) <= 10 + 1
    assert found.counts.shape == (len(found.operations), max(len(found.edges) - 1, 0))
    for begin, end, counts in zip(found.edges[:-1], found.edges[1:], found.counts.T, strict=True):
        assert counts.sum() == sum(begin <= moment < end for moment in known)


def history_of(*rows: tuple[int | None, str | None]) -> pa.Table:
    moments, names = zip(*rows, strict=True)
    return pa.table(
        {"timestamp": pa.array(moments, pa.timestamp("ms", "UTC")), "operation": pa.array(names, pa.string())}
    )


def test_steps_of_time() -> None:
    found = timeline(history_of((100, "a"), (None, "a"), (120, "b"), (110, "a"), (111, "a")), 2)
    assert found.edges.tolist() == [100, 111, 122] and found.operations == ["a", "b"]
    assert found.counts.tolist() == [[2, 1], [0, 1]] and found.commits == 4
    one = timeline(history_of((7, None)))
    assert (one.edges.tolist(), one.operations, one.counts.tolist()) == ([7, 8], ["unknown"], [[1]])
    assert one.moment(0) == dt.datetime(1970, 1, 1, 0, 0, 0, 7_000, dt.timezone.utc)
    assert timeline(history_of((0, "a"), (47, "a"))).edges.tolist() == list(range(49))
    assert timeline(history_of((0, "a"), (48, "a"))).edges.tolist() == list(range(0, 51, 2))
    ends = (DATETIME_MS[0], DATETIME_MS[-1])
    late = timeline(
        history_of(*((ms + shift, "a") for ms in ends for shift in (-1, 0, 1)), (-(2**63), "a"), (2**63 - 1, "a")), 1
    )
    assert (late.edges.tolist(), late.counts.tolist()) == ([ends[0], ends[1] + 1], [[4]])
    assert [late.moment(edge).year for edge in (0, 1)] == [1, 9999]


@pytest.mark.parametrize(("kinds", "names"), [(4, "fedc"), (5, "fedcb"), (6, "fedc-")])
def test_rare_operations_are_counted_together(kinds: int, names: str) -> None:
    """The most frequent ones are named, first those that came first."""
    letters = "fedcba"[:kinds]
    rows = [(number, letter) for number, letter in enumerate(letters[::-1] + letters + letters[:-1])]
    found = timeline(history_of(*rows), 1)
    wanted = sorted(letters, key=lambda one: (-sum(name == one for _, name in rows), letters[::-1].index(one)))
    kept = wanted if kinds <= 5 else wanted[:4]
    assert found.operations == kept + (["other"] if kinds > 5 else []) and len(names) == len(found.operations)
    counts = [sum(name == one for _, name in rows) for one in kept]
    assert found.counts[:, 0].tolist() == counts + ([len(rows) - sum(counts)] if kinds > 5 else [])


def test_versions_as_texts() -> None:
    history = pa.table(
        {
            "version": [2, 1, 0],
            "timestamp": pa.array([1_500, None, 2**62], pa.timestamp("ms", "UTC")),
            "operation": ["WRITE", None, "x\x1b" + "y" * 300],
            "added_rows": [1_000, 0, None],
            "deleted_rows": [3, None, None],
            "user": [None, "me\n", None],
        }
    )
    found = commit_columns(history)
    assert found["version"] == ["2", "1", "0"]
    assert found["time"] == ["1970-01-01 00:00:01.500 UTC", "unknown", "unknown"]
    assert found["operation"][:2] == ["WRITE", "unknown"] and found["operation"][2].startswith("x\\x1byyy")
    assert (found["rows"], found["user"]) == (["+1,000 -3", "", ""], ["", "me\\n", ""])
    assert set(commit_columns(history.select(["version", "timestamp", "operation"]))) == {
        "version",
        "time",
        "operation",
    }


def test_partitions_by_bytes(table: tf.Table) -> None:
    found, count = partition_sizes(table.plan(), 1)
    assert (count, [(one.label, one.files, one.size_bytes) for one in found]) == (2, [("p=1", 2, 40_001_500)])
    assert partition_sizes(table.plan())[0][1].label.startswith("p=a$x^2$\\x1b[2J\\u202e<script>\\n")
    assert partition_sizes(table.plan("p = 'none'")) == ([], 0)


def test_partitions_of_values_that_python_lacks(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("d", "date"), field("t", "timestamp"), partition=("d", "t"))
    days = {"d": "+12345-06-07", "t": "+98765-01-02 03:04:05"}
    files = [add("1", size=9, partitionValues=days), add("2", size=5, partitionValues={"d": None, "t": None})]
    plan = tf.open_table(log.commit(1, *files).root).plan()
    labels = [one.label for one in partition_sizes(plan)[0]]
    assert labels == ["d=+12345-06-07, t=+98765-01-02T03:04:05Z", "d=NULL, t=NULL"]


def test_a_table_without_partitions_has_none(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("i", "integer"))
    log.commit(1, add("f1", size=5), add("f2", size=6))
    assert partition_sizes(tf.open_table(log.root).plan()) == ([], 0)


def test_partitions_of_equal_size_are_in_the_order_of_the_files(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("p", "string"), field("x", "integer"), partition=("p",))
    texts = [*"bacadab", None]
    files = [add(f"{number}", size=9, partitionValues={"p": value}) for number, value in enumerate(texts)]
    plan = tf.open_table(log.commit(1, *files).root).plan()
    values = [partition["p"] for partition in plan.files["partition"].to_pylist()]
    twice = [value for value in dict.fromkeys(values) if values.count(value) == 2]
    once = [value for value in values if values.count(value) == 1]
    assert [one.label for one in partition_sizes(plan)[0]] == [
        f"p={'NULL' if value is None else value}" for value in ["a", *twice, *once]
    ]


def test_shares_of_deleted_rows(tmp_path: Path) -> None:
    log = DeltaLog(tmp_path / "t").start(field("id", "long"), protocol=WITH_VECTORS)
    log.commit(1, add("whole", stats=stats(100)), add("uncounted"))
    assert deleted_shares(tf.open_table(log.root).plan()) == []
    deleted = {name: vector(cardinality=n) for name, n in (("one", 1), ("ten", 10), ("most", 60))}
    log.commit(2, *(add(name, deletionVector=deletes, stats=stats(100)) for name, deletes in deleted.items()))
    shares = deleted_shares(tf.open_table(log.root).plan())
    assert dict(shares) == {
        **{"no deletes": 2, "up to 1 %": 1, "1 % to 10 %": 1, "10 % to 50 %": 0, "above 50 %": 1},
        "an unknown share": 0,
    }


def test_pictures_show_the_figures_and_escape_names(table: tf.Table) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot
    from matplotlib.colors import to_rgba

    figure, axes = pyplot.subplots(2, 2)
    plan = table.plan(f"`{HOSTILE}` < 2 AND p = '1'")
    drawn = [
        plan.plot(axes[0, 0]),
        table.plot.file_sizes(axes[0, 1]),
        table.plot.clustering(HOSTILE, axes[1, 0]),
        table.plot.timeline(ax=axes[1, 1]),
    ]
    assert drawn == list(axes.flat)
    assert [bar.get_width() for bar in drawn[0].patches] == list(plan.report.funnel.values())
    grey, blue = to_rgba("0.65"), to_rgba("C0")
    *others, planned = drawn[0].patches
    assert planned.get_facecolor() == blue and {bar.get_facecolor() for bar in others} == {grey}
    sizes = [(bar.get_height(), bar.get_facecolor()) for bar in drawn[1].patches]
    assert sizes[0] == (2, grey) and sizes[-1] == (1, blue), "small files are grey"
    assert sum(bar.get_height() for bar in drawn[1].patches) == 3
    assert sum(bar.get_height() for bar in drawn[2].patches) == 3
    for ax in drawn[1:3]:
        heights = [int(bar.get_height()) for bar in ax.patches]
        assert [text.get_text() for text in ax.texts] == [str(height) if height else "" for height in heights]
    assert sum(bar.get_height() for bar in drawn[3].patches) == 4
    figure.canvas.draw()
    title = drawn[2].title.get_text()
    assert title.startswith("`a\\$x^2\\$\\x1b[2J\\u202e") and title.isprintable()
    assert table.plot.timeline() is not drawn[3], "a figure of its own"
    assert table.plan().plot().get_title() == "no filter"
    assert drawn[0].get_title().endswith("p = '1'")
    earlier = table.snapshot(1).plot
    assert earlier.file_sizes().get_title() == "1 file, 1.5 kB"
    pyplot.close("all")


@pytest.mark.parametrize(("length", "shown"), [(199, 199), (200, 200), (201, 200), (500, 200)])
def test_texts_of_pictures_are_short(length: int, shown: int) -> None:
    assert len(_text("x" * length)) == shown
    assert _text("$x$") == r"\$x\$"


def test_pictures_of_nothing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    table = tf.open_table(DeltaLog(tmp_path / "t").start(field("id", "long")).root)
    drawn = [table.plan("id = 1").plot(), table.plot.file_sizes(), table.plot.clustering("id"), table.plot.timeline()]
    for ax in drawn:
        ax.figure.canvas.draw()
    assert drawn[3].get_title() == "1 commit"
    begin, end = drawn[3].get_xlim()
    assert drawn[3].patches[0].get_width() * 60 == pytest.approx(end - begin, rel=1e-3), "a second of a minute"
    with pytest.raises(tf.InvalidPredicateError, match="no column 'x'"):
        table.plot.clustering("x")
    pyplot.close("all")


@pytest.mark.parametrize("limit", [None, 0, 1, 9, 12])
@pytest.mark.parametrize("where", [None, "p = '1'", f"`{HOSTILE}` < 2 AND p = '1'", "false"])
def test_the_stages_of_the_funnel_add_up(table: tf.Table, where: str | None, limit: int | None) -> None:
    funnel = table.plan(where, limit=limit).report.funnel
    assert funnel["all files"] == sum(funnel.values()) - funnel["all files"] == 3
    assert min(funnel.values()) >= 0


def test_a_picture_is_of_the_commits_up_to_its_version() -> None:
    at = [dt.datetime(2024, 1, day, tzinfo=dt.timezone.utc) for day in (1, 31)]
    found = timeline(pa.table({"timestamp": pa.array(at, pa.timestamp("ms", "UTC")), "operation": ["WRITE", "WRITE"]}))
    assert found.moment(0) == at[0] and found.moment(-1) > at[1]
    assert np.count_nonzero(found.counts) == 2
