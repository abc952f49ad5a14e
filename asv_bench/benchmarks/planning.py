"""Opening a table and planning a scan, each time from the files: no cache is asked for.

Every setup checks the number of surviving files against arithmetic, for us and for the peers, so a fast wrong plan
fails instead of winning.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import generate, sizes

PREDICATES = ["all", "one_day", "id_range"]
ROUNDS = 3


def plan(location: str, predicate: str | None) -> Any:
    import tableformats as tf

    return tf.open_table(location, cache=False).scan(predicate).plan()


def fastest(call: Callable[[], Any]) -> float:
    """Seconds of the fastest of some rounds."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def ratio(peer: Callable[[], int], ours: Callable[[], int], expected: int) -> float:
    """How many times faster than the peer; both must give ``expected`` files."""
    if (found := (ours(), peer())) != (expected, expected):
        raise AssertionError(f"{expected} files survive, not (ours, the peer's) {found}")
    return fastest(peer) / fastest(ours)


class _Table:
    params = [sizes(1_000, 100_000), PREDICATES]
    param_names = ["files", "predicate"]
    timeout = 600

    def setup(self, locations: dict[int, str], n_files: int, predicate: str) -> None:
        self.location = locations[n_files]
        self.filter = generate.predicates(n_files)[predicate]
        self.expected = generate.survivors(n_files, predicate)
        if (found := len(plan(self.location, self.filter))) != self.expected:
            raise AssertionError(f"{found} files planned, {self.expected} survive")


class _PlanTimes(_Table):
    def time_plan(self, locations: dict[int, str], n_files: int, predicate: str) -> None:
        plan(self.location, self.filter)

    def time_plan_files(self, locations: dict[int, str], n_files: int, predicate: str) -> None:
        plan(self.location, self.filter).files  # noqa: B018

    def peakmem_plan(self, locations: dict[int, str], n_files: int, predicate: str) -> None:
        plan(self.location, self.filter)


class DeltaCheckpointTable(_PlanTimes):
    """A checkpoint and ten commits: decoding statistics dominates ``id_range``, reconciliation the others."""

    def setup_cache(self) -> dict[int, str]:
        return {n: generate.write_delta(Path.cwd() / f"delta-{n}", n) for n in self.params[0]}


class IcebergManifestTable(_PlanTimes):
    """Manifests of a thousand entries in order of day: inflating and decoding the manifests that are read dominates."""

    def setup_cache(self) -> dict[int, str]:
        return {n: generate.write_iceberg(Path.cwd() / f"iceberg-{n}", n) for n in self.params[0]}


class DeltaCheckpointTableBesidePeer(_Table):
    """The same tables, opened and planned by deltalake in the same process; skipped where it is not installed."""

    setup_cache = DeltaCheckpointTable.setup_cache

    def setup(self, locations: dict[int, str], n_files: int, predicate: str) -> None:
        _require("deltalake")
        super().setup(locations, n_files, predicate)

    def track_ratio_to_deltalake(self, locations: dict[int, str], n_files: int, predicate: str) -> float:
        from deltalake import DeltaTable

        def peer() -> int:
            return len(DeltaTable(self.location).file_uris(file_pruning_predicate=self.filter))

        return ratio(peer, lambda: len(plan(self.location, self.filter).file_uris()), self.expected)

    track_ratio_to_deltalake.unit = "times as fast"  # type: ignore[attr-defined]


class IcebergManifestTableBesidePeer(_Table):
    """The same tables, opened and planned by PyIceberg in the same process; skipped where it is not installed."""

    setup_cache = IcebergManifestTable.setup_cache

    def setup(self, locations: dict[int, str], n_files: int, predicate: str) -> None:
        _require("pyiceberg")
        super().setup(locations, n_files, predicate)

    def track_ratio_to_pyiceberg(self, locations: dict[int, str], n_files: int, predicate: str) -> float:
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.expressions.parser import parse
        from pyiceberg.table import StaticTable

        row_filter = AlwaysTrue() if self.filter is None else parse(self.filter.replace("DATE ", ""))

        def peer() -> int:
            return len(list(StaticTable.from_metadata(self.location).scan(row_filter=row_filter).plan_files()))

        return ratio(peer, lambda: len(plan(self.location, self.filter).file_uris()), self.expected)

    track_ratio_to_pyiceberg.unit = "times as fast"  # type: ignore[attr-defined]


def _require(library: str) -> None:
    # asv counts a benchmark whose setup raises this as skipped.
    if importlib.util.find_spec(library) is None:
        raise NotImplementedError(f"{library} is not installed")
