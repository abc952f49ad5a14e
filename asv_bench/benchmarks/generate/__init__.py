"""Tables made of metadata alone, written fast, the same every time, and kept between runs.

No data file exists, none is needed to plan. A table is found again by its parameters and by :data:`GENERATOR`, in
``TF_BENCH_TABLES`` or the user's cache directory; its truth lies beside its metadata.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from .specs import DeltaTable, IcebergTable, Predicate, Spec, questions

__all__ = ["DeltaTable", "IcebergTable", "Spec", "Table", "build", "tables_folder"]

GENERATOR = 3
"""Counts what changed in the tables' bytes or truths: raise it, and no old table is taken for a new one."""


@dataclass(frozen=True)
class Table:
    """A written table.

    Attributes
    ----------
    folder : of the table
    entry : what one opens: the folder, or the metadata file
    survivors : by predicate, how many files a planner keeps that uses all there is
    by_bounds : the same for one that makes nothing of bucket partitions
    with_deletes : how many of ``survivors`` have deletes
    """

    spec: Spec
    folder: Path
    entry: str
    survivors: dict[str, int]
    by_bounds: dict[str, int]
    with_deletes: dict[str, int]

    def predicate(self, name: str) -> Predicate:
        return questions(self.spec)[name]

    def warm(self) -> int:
        """Bring the metadata into the system's file cache; its size in bytes."""
        return sum(len(path.read_bytes()) for path in self.folder.rglob("*") if path.is_file())


def tables_folder() -> Path:
    """Where tables are kept."""
    given = os.environ.get("TF_BENCH_TABLES")
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return (Path(given) if given else cache / "tableformats-bench").resolve()


def build(spec: Spec) -> Table:
    """The table, from the cache or written now."""
    folder = tables_folder() / f"{spec.name}-v{GENERATOR}"
    if not folder.exists():
        import shutil
        import tempfile

        folder.parent.mkdir(parents=True, exist_ok=True)
        making = Path(tempfile.mkdtemp(prefix=f".{spec.name}-", dir=folder.parent))
        try:
            _write(spec, making, folder)
            making.chmod(0o755)
            making.rename(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)
    truth = json.loads((folder / "truth.json").read_text())
    return Table(spec, folder, spec.entry(str(folder)), **truth)


def _write(spec: Spec, folder: Path, final: Path) -> None:
    """Write below ``folder`` a table that will be found below ``final``."""
    from . import delta, iceberg

    if isinstance(spec, DeltaTable):
        written = delta.write(spec, folder)
    else:
        written = iceberg.write(spec, folder, final)
    model, live = written.model, written.live
    truth: dict[str, dict[str, int]] = {"survivors": {}, "by_bounds": {}, "with_deletes": {}}
    for name, predicate in questions(spec).items():
        survivors = model.could_match(predicate) & live
        truth["survivors"][name] = int(survivors.sum())
        truth["with_deletes"][name] = int((survivors & written.with_deletes).sum())
        truth["by_bounds"][name] = int((model.could_match(predicate, buckets=False) & live).sum())
    (folder / "truth.json").write_text(json.dumps(truth))
