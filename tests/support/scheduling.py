"""Which of pytest-xdist's workers runs which file of tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from xdist.scheduler import LoadFileScheduling

__all__ = ["FileScheduling"]

SPARK = "tests/spark/"


class FileScheduling(LoadFileScheduling):
    """Whole files in their order, because servers and tables are made once a file.

    Those of Spark go first, to half of the workers: what they share is a JVM, which takes half a minute of processor
    time until it is warm. The other workers take of them what is left when nothing else is.
    """

    def add_node_collection(self, node: Any, collection: Any) -> None:
        super().add_node_collection(node, Collected(collection))

    def _assign_work_unit(self, node: Any) -> None:
        starts_spark = self.nodes.index(node) < max(1, len(self.nodes) // 2)
        wanted = (scope for scope in self.workqueue if scope.startswith(SPARK) == starts_spark)
        if (scope := next(wanted, None)) is not None:
            self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)

    def _pending_of(self, workload: dict[str, dict[str, bool]]) -> int:
        """How many tests of a worker are still to be done, which is asked after each test. Files are done one after the
        other: one that is complete ends the search."""
        pending = 0
        for unit in reversed(workload.values()):
            left = list(unit.values()).count(False)
            if not left:
                break
            pending += left
        return pending


class Collected(list[str]):
    """The ids of all tests, each of which is asked for its place."""

    def __init__(self, ids: Iterable[str]) -> None:
        super().__init__(ids)
        self._places = {name: i for i, name in reversed(list(enumerate(self)))}

    def index(self, name: str, *_: Any) -> int:  # type: ignore[override]
        return self._places[name]
