"""Detects Delta tables by their log directory, and opens them. The reader is imported when a table is opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tableformats.plugin import OpenOptions, TableFormat, TableNotFoundError, datetimes, importing

from .log.names import LOG_DIRECTORY

if TYPE_CHECKING:
    from tableformats.plugin import CreateRequest, FileInfo, Storage

    from .table import DeltaTable
    from .write.transaction import DeltaTransaction

__all__ = ["DeltaFormat"]


class DeltaFormat(TableFormat):
    """The format Delta Lake; see :class:`tableformats.plugin.TableFormat`."""

    name = "delta"
    option_names = frozenset({"partition_time_zone"})

    def check_options(self, options: Mapping[str, object]) -> None:
        """See :meth:`tableformats.plugin.TableFormat.check_options`. Raises ValueError for an unknown time zone."""
        super().check_options(options)
        _zone(options.get("partition_time_zone"))

    def table_above(self, path: str) -> str | None:
        """See :meth:`tableformats.plugin.TableFormat.table_above`: any file in ``_delta_log`` is metadata."""
        above, log, _ = f"/{path}".rpartition(f"/{LOG_DIRECTORY}/")
        return above[1:] if log else None

    def detect(self, storage: Storage, options: OpenOptions) -> bool:
        """Whether the directory has a ``_delta_log``; in a remote store, whether files are in it.

        A remote location whose name is that of a metadata file of Iceberg is taken for a file, without a request.
        """
        is_file = not storage.is_local and storage.root.endswith((".metadata.json", ".metadata.json.gz"))
        return not is_file and _first_page(storage) is not None

    def open(self, storage: Storage, options: OpenOptions) -> DeltaTable:
        """Open the table at ``storage.root``. The log is listed when a snapshot is requested.

        Raises
        ------
        TableNotFoundError
            There is no ``_delta_log``.
        ValueError
            The option ``partition_time_zone`` names no time zone.
        """
        first_page = _first_page(storage)
        if first_page is None:
            raise TableNotFoundError(
                "the directory holds no Delta table", path=storage.root, hint="A Delta table has a _delta_log directory"
            )
        if isinstance(options.relocate, Mapping):
            for old, new in options.relocate.items():
                storage.relocate(old, new)
        with importing():
            from .table import DeltaTable

        zone = _zone(options.format_options.get("partition_time_zone"))
        return DeltaTable(storage, options.cache, zone, first_page, options.catalog_commits)

    def create(self, storage: Storage, options: OpenOptions, request: CreateRequest) -> DeltaTransaction:
        """See :meth:`tableformats.plugin.TableFormat.create` and :func:`.write.creation.created_definition`."""
        from tableformats.plugin import MetadataChange

        from .table import DeltaTable
        from .write.transaction import DeltaTransaction

        table = DeltaTable(storage, options.cache)
        if not request.replace or _first_page(storage) is None:
            return DeltaTransaction(table.newest_after, storage, options.cache, request)
        transaction = table.begin()
        transaction.stage_metadata(MetadataChange(create=request))
        return transaction


def _first_page(storage: Storage) -> Sequence[FileInfo] | None:
    """What a listing of a remote log begins with; nothing of a local log, which is not listed. None: there is none."""
    log = storage.join(LOG_DIRECTORY)
    if storage.is_local:
        return () if storage.is_dir(log) else None
    return storage.first_page(log) or None


def _zone(name: object) -> str | None:
    if name is None or (isinstance(name, str) and datetimes.is_zone(name)):
        return name
    raise ValueError(f"partition_time_zone must name a time zone, such as 'Europe/Berlin' or '+02:00', not {name!r}")
