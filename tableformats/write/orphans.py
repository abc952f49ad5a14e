"""Files below a table that nothing of it names: :func:`orphan_files`. Nothing is deleted.

They are left over by writers that failed, were killed or lost a race. The directory is listed before the metadata is
read, so that a file which a writer commits meanwhile is named when it is looked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import UnsupportedFeatureError
from ..io.local_reads import files_below
from ..io.local_writes import is_temporary
from ..schema.datetimes import current_ms

if TYPE_CHECKING:
    import pyarrow as pa

    from ..io.storage import FileInfo, Storage
    from ..plugin.format import FormatTable, TableFormat

__all__ = ["orphan_files"]


def orphan_files(
    table: FormatTable, storage: Storage, formats: Mapping[str, TableFormat], older_than_ms: int | None
) -> pa.Table:
    """See :meth:`tableformats.Table.orphan_files`.

    Parameters
    ----------
    formats : mapping of str to TableFormat
        All that are installed: their tables may lie below this one.
    older_than_ms : int, optional
        Milliseconds since the epoch; None: by what the table says.
    """
    now_ms = current_ms()
    directory = table.directory
    listed = [info for page in _pages(storage, directory) for info in page]
    kept = table.kept_files()
    limit_ms = now_ms - kept.least_age_ms if older_than_ms is None else older_than_ms
    start = len(directory.rstrip("/")) + 1
    others = _tables_below([info.path[start:] for info in listed], table.format, formats, directory)
    old = [
        info
        for info in listed
        # A time of 0 is that of a store which does not say how old the file is.
        if 0 < info.mtime_ms < limit_ms
        and not info.path[start:].startswith(others)
        and (is_temporary(info.name) or not kept.is_kept(info.path[start:]))
    ]
    return _as_table(_unnamed(old, kept.named, directory))


def _pages(storage: Storage, directory: str) -> Iterator[Sequence[FileInfo]]:
    if storage.is_local:
        yield from files_below(directory)
        return
    for page in storage.store_of(directory).below(directory):
        storage.meter.count(storage.meter.chain, 0)
        yield page


def _tables_below(
    paths: Iterable[str], format: str, formats: Mapping[str, TableFormat], directory: str
) -> tuple[str, ...]:
    """The directories of tables of their own, with a slash at the end. Refuses a directory of several formats."""
    found: set[str] = set()
    for path in paths:
        for name, one in formats.items():
            above = one.table_above(path)
            if above == "" and name != format:
                raise UnsupportedFeatureError(
                    f"the directory also holds a table of the format {name}, which may name any file",
                    path=directory,
                    field="orphan_files",
                    hint="Keep tables in directories of their own",
                )
            if above:
                found.add(f"{above}/")
    return tuple(found)


def _unnamed(files: Sequence[FileInfo], named: Sequence[pa.Array], directory: str) -> list[FileInfo]:
    import pyarrow as pa

    from ..columnar import compute as pc

    paths = pa.chunked_array(list(named), pa.string())
    below = pc.starts_with(paths, pattern=f"{directory.rstrip('/')}/")
    # One file may have two paths, as by a link to a directory. Then its name counts, which no other file has.
    elsewhere = {path.rpartition("/")[2] for path in pc.filter(paths, pc.invert(below)).to_pylist()}
    is_named = pc.is_in(pa.array([info.path for info in files], pa.string()), value_set=paths).to_pylist()
    return [info for info, known in zip(files, is_named, strict=True) if not known and info.name not in elsewhere]


def _as_table(files: list[FileInfo]) -> pa.Table:
    import pyarrow as pa

    files.sort(key=lambda info: info.path)
    return pa.table(
        {
            "path": pa.array([info.path for info in files], pa.string()),
            "size_bytes": pa.array([info.size for info in files], pa.int64()),
            "modified": pa.array([info.mtime_ms for info in files], pa.timestamp("ms", "UTC")),
        }
    )
