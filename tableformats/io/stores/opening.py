"""Chooses the store of a path: obstore where it has one, else pyarrow.fs or fsspec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..redaction import Redactor
from .addresses import address_of, credentials_of
from .base import ObjectStore
from .options import OWN_OPTIONS, concurrency_of

__all__ = ["open_store"]


def open_store(uri: str, options: Mapping[str, Any], redactor: Redactor) -> ObjectStore:
    """The store of a normalized path or URI; no request is sent.

    Parameters
    ----------
    uri : str
        Credentials in it count like options.
    options : mapping
        ``storage_options``, in any spelling of docs/stores.md.

    Raises
    ------
    TableFormatsError
        An option is unknown or wrong, or there is no store for the scheme.
    """
    filesystem = options.get("filesystem")
    address = address_of(uri.partition("?")[0])
    if filesystem is None and address is not None:
        from .object_store import open_object_store

        return open_object_store(address, {**credentials_of(uri), **options}, redactor)
    from .file_system import open_file_system, store_of_object

    others = {name: value for name, value in options.items() if name not in OWN_OPTIONS}
    if filesystem is not None:
        store = store_of_object(filesystem, address.root if address else uri, redactor)
    else:
        store = open_file_system(uri, others, redactor)
    store.concurrency = concurrency_of(options, uri)
    return store
