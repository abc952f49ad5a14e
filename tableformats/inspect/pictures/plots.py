"""Pictures with matplotlib: ``plan.plot()``, ``table.plot.clustering(column)``, ``.file_sizes()`` and ``.timeline()``.

Each draws on the Axes that it is given, or on those of a new figure, and returns them, as pandas does. Text of a table
is escaped, and is never read as a formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...display import shortened
from ...runtime.optional import required
from ..clustering import clustering, depth_text
from ..files import plan_of
from ..text import bytes_text, count_text, counted
from .figures import size_bins, timeline

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes

    from ...planning.handle import SnapshotHandle
    from ...planning.plan import FilePlan

__all__ = ["Plots", "plot_plan"]

_SECOND, _MINUTE = [1_000], [-30_000, 30_000]
"""Milliseconds: how wide the bar of one instant is, and what is around it."""
_TILT = 45
"""Degrees of the labels of columns, so that long ones stand side by side."""
_GAP = 2
"""Points between a bar and its figure."""
_PLAIN = "0.65"
"""The grey of what does not stand out."""


class Plots:
    """Pictures of one version of a table. Each method returns matplotlib's Axes; ``ax`` gives those to draw on.

    Raises MissingExtraError where matplotlib is not installed.
    """

    def __init__(self, snapshot: SnapshotHandle, history: Callable[[], pa.Table]) -> None:
        self._snapshot = snapshot
        self._history = history

    def __repr__(self) -> str:
        return "Plots(.clustering(column), .file_sizes(), .timeline())"

    def clustering(self, column: str, ax: Axes | None = None) -> Axes:
        """How many files have which depth in ``column``: in how many files one value of it may be. The further left the
        bars, the fewer files a condition on the column reads.

        Raises
        ------
        InvalidPredicateError
            There is no such column.

        Examples
        --------
        >>> tf.open_table("events").plot.clustering("id").get_xlabel()
        'files that one value may be in'
        """
        found = clustering(self._snapshot, [column])[0]
        ax = _axes(ax)
        rows = found.histogram.to_pylist()
        labels = [depth_text(row["depth_from"], row["depth_to"]) for row in rows]
        _columns(ax, labels, [row["files"] for row in rows], [row["depth_to"] <= 2 for row in rows])
        average = f"depth {found.average_depth:,.1f} on average, {count_text(found.max_depth)} at most"
        ax.set(title=_text(f"{found.column}: {average}"), xlabel="files that one value may be in", ylabel="files")
        return ax

    def file_sizes(self, ax: Axes | None = None) -> Axes:
        """How many data files have which size. Files that compaction would merge are grey.

        Raises the errors of planning.

        >>> sum(int(bar.get_height()) for bar in tf.open_table("events").plot.file_sizes().patches)
        2
        """
        plan = plan_of(self._snapshot)
        bins = size_bins(plan.survivors["size_bytes"])
        ax = _axes(ax)
        _columns(ax, list(map(str, bins)), [one.files for one in bins], [not one.is_small for one in bins])
        size = f"{counted(len(plan), 'file')}, {bytes_text(plan.report.bytes_planned)}"
        ax.set(title=size, xlabel="size of a file", ylabel="files")
        return ax

    def timeline(self, ax: Axes | None = None) -> Axes:
        """The commits up to this version over time, by operation. Raises CorruptMetadataError.

        >>> ax = tf.open_table("orders").plot.timeline()
        >>> ax.get_title(), ax.get_legend_handles_labels()[1]
        ('2 commits', ['append'])
        """
        import numpy as np

        found = timeline(_until(self._history(), self._snapshot))
        ax = _axes(ax)
        moments = found.edges.astype("datetime64[ms]")
        # A bar for one instant is a second in the middle of a minute: it would fill the picture.
        is_instant = len(moments) == 2
        widths = np.array(_SECOND, "timedelta64[ms]") if is_instant else np.diff(moments)
        bottom = np.zeros(len(moments) - 1, np.int64)
        for name, counts in zip(found.operations, found.counts, strict=True):
            ax.bar(moments[:-1], counts, widths, bottom=bottom, align="edge", label=_text(name))
            bottom = bottom + counts
        if found.operations:
            if is_instant:
                ax.set_xlim(*(moments[0] + np.array(_MINUTE, "timedelta64[ms]")))
            _dated(ax)
            ax.margins(y=0.25)  # the legend stands above the bars
            ax.legend()
        noun = "commit" if found.commits == 1 else "commits"
        ax.set(title=f"{count_text(found.commits)} {noun}", xlabel="time (UTC)", ylabel="commits")
        return ax


def plot_plan(plan: FilePlan, ax: Axes | None = None) -> Axes:
    """The funnel of ``plan``: a bar for the files of each stage, from all files to the planned ones."""
    ax = _axes(ax)
    funnel = plan.report.funnel
    drawn = ax.barh(
        list(funnel), list(funnel.values()), color=["C0" if name == "planned" else _PLAIN for name in funnel]
    )
    ax.bar_label(drawn, labels=list(map(count_text, funnel.values())), padding=_GAP)
    ax.invert_yaxis()
    ax.margins(x=0.12)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    filter = "no filter" if plan.report.filter is None else plan.report.filter
    ax.set(title=_text(shortened(filter, 70)), xlabel="files")
    return ax


def _until(history: pa.Table, snapshot: SnapshotHandle) -> pa.Table:
    """The commits up to ``snapshot``; all where its time is not known."""
    import pyarrow as pa

    from ...columnar import compute as pc
    from ...columnar.arrays import scalar

    moment = snapshot.format_snapshot.timestamp_ms
    if moment is None:
        return history
    times = pc.cast(pc.cast(history["timestamp"], pa.timestamp("ms", "UTC")), pa.int64())
    return pc.filter(history, pc.less_equal(times, scalar(moment, pa.int64())))


def _axes(ax: Axes | None) -> Axes:
    """``ax``, or the Axes of a new figure."""
    if ax is not None:
        return ax
    required("matplotlib", "plot", "'tableformats[plot]'")
    from matplotlib import pyplot

    return pyplot.subplots()[1]


def _columns(ax: Axes, labels: Sequence[str], counts: Sequence[int], stands_out: Sequence[bool]) -> None:
    """A column for each label, with its count above it."""
    drawn: Any = ax.bar(range(len(labels)), counts, color=["C0" if out else _PLAIN for out in stands_out])
    ax.set_xticks(range(len(labels)), labels)
    ax.tick_params(axis="x", rotation=_TILT)
    ax.bar_label(drawn, labels=[count_text(n) if n else "" for n in counts], padding=_GAP)
    ax.margins(y=0.1)
    ax.yaxis.set_major_formatter("{x:,.0f}")


def _dated(ax: Axes) -> None:
    """Write the times of the x axis short, and the counts of the y axis whole."""
    from matplotlib.dates import ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_formatter(ConciseDateFormatter(ax.xaxis.get_major_locator()))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))


def _text(text: str) -> str:
    """``text`` for matplotlib, to which ``$`` begins a formula."""
    return shortened(text, 200).replace("$", r"\$")
