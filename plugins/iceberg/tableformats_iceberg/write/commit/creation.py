"""New tables, and new definitions of tables that are there: the transaction that makes them."""

from __future__ import annotations

from typing import Any

from tableformats.plugin import CreateRequest, MetadataChange, OpenOptions, Storage, TableNotFoundError

from ...files.table_files import TableFiles
from ...metadata.locate import locate
from ..create import create_updates
from ..swap import CatalogSwap, DirectorySwap, MetadataSwap
from .staged_metadata import StagedMetadata, created, staged
from .transaction import IcebergTransaction

__all__ = ["begin_creation", "definition_of"]


def definition_of(request: CreateRequest) -> dict[str, Any]:
    """The ``CreateTableRequest`` of the REST catalog, without a name. Raises as :func:`create_updates`."""
    updates = {u["action"]: u for u in create_updates("", *_arguments(request))}
    version = updates["upgrade-format-version"]["format-version"]
    properties = updates.get("set-properties", {}).get("updates", {})
    return {
        "schema": updates["add-schema"]["schema"],
        "partition-spec": updates["add-spec"]["spec"],
        "write-order": updates["add-sort-order"]["sort-order"],
        "properties": {**properties, "format-version": str(version)},
    }


def _arguments(request: CreateRequest) -> tuple[Any, ...]:
    return request.schema, request.partition_by, request.sort_by, request.properties


def begin_creation(storage: Storage, options: OpenOptions, request: CreateRequest) -> IcebergTransaction:
    """See :meth:`tableformats.plugin.TableFormat.create`."""
    writer, place = options.catalog_writer, options.staged
    swap: MetadataSwap = DirectorySwap(storage) if writer is None else CatalogSwap(storage, writer)
    start: StagedMetadata | None = None
    location = storage.root if place is None else place.location
    if request.replace:
        try:
            start = staged(swap.newest(), MetadataChange(create=request), storage)
            location = locate(storage).directory  # a catalog's table is opened at its metadata file
        except TableNotFoundError:
            start = None
    if start is None:
        start = created(location, None if place is None else place.table_id, request, storage)
    directory = storage.resolve_one(location)
    files = TableFiles(storage, start.state.parsed.location, directory, options.relocate, options.cache)
    return IcebergTransaction(files, swap, start)
