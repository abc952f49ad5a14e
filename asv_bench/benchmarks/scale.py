"""Real tables of terabytes: TPC-DS at scale factor 1000, as Trino wrote its metadata, with one predicate a table.

The metadata stands in ``TABLEFORMATS_CONFORMANCE`` (else ``../shared/tables`` beside the checkout), without data files;
where it is missing, nothing is measured. It names locations of an object store, which PyIceberg is shown through a
``FileIO`` that maps them to the folder. Reading and decoding a few manifests of many partitions dominates.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import tableformats as tf

from .planning import best_of

ROOT = Path(os.environ.get("TABLEFORMATS_CONFORMANCE", Path(__file__).parents[3] / "shared" / "tables"))
TABLES = ROOT / "iceberg" / "trino-scale-metadata-only" / "iceberg" / "tpcds" / "sf1000" / "partitioned"
QUESTIONS = {
    "store_sales": "ss_sold_date_sk = 2451000",
    "catalog_sales": "cs_sold_date_sk = 2451000",
    "web_sales": "ws_sold_date_sk = 2451000",
}


class ScaleFactor1000:
    """One day of a table of sales: cold, as nothing is kept between two plans."""

    params = list(QUESTIONS)
    param_names = ["table"]
    timeout = 120

    def setup(self, name: str) -> None:
        self.folder = TABLES / name
        if not self.folder.is_dir():
            raise NotImplementedError(f"there is no {self.folder}")
        self.question = QUESTIONS[name]
        assert self.plan() > 0

    def plan(self) -> int:
        return len(tf.open_table(self.folder, relocate=True, cache=False).scan(self.question).plan())

    def time_plan(self, name: str) -> None:
        self.plan()

    def track_ratio_vs_pyiceberg(self, name: str) -> float:
        """PyIceberg's time over ours, both with the files that can match."""
        theirs = _pyiceberg(self.folder, self.question)
        assert theirs() == self.plan()
        return best_of(theirs) / best_of(self.plan)


def _pyiceberg(folder: Path, question: str) -> Any:
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.table import StaticTable

    metadata = max((folder / "metadata").glob("*.metadata.json"))
    location = StaticTable.from_metadata(metadata.as_uri()).metadata.location

    class Relocated(PyArrowFileIO):
        def new_input(self, path: str) -> Any:
            return super().new_input(path.replace(location, str(folder)))

    def plan() -> int:
        table = StaticTable.from_metadata(metadata.as_uri())
        table.io = Relocated()
        return len(list(table.scan(row_filter=question).plan_files()))

    return plan
