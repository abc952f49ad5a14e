"""Chooses the store of a path: obstore where it has one, else pyarrow.fs or fsspec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import TableNotFoundError
from ..paths import scheme_of
from ..redaction import Redactor, without_credentials
from .addresses import SERVICES, address_with_credentials, credentials_of
from .base import ObjectStore
from .options import OWN_OPTIONS, concurrency_of

__all__ = ["no_bucket", "open_store"]


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
    TableNotFoundError
        The URI names no bucket.
    """
    filesystem = options.get("filesystem")
    address = address_with_credentials(uri)
    if filesystem is None and (scheme_of(uri) or "") in SERVICES and (address is None or not address.is_complete):
        raise no_bucket(uri)
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


def no_bucket(uri: str) -> TableNotFoundError:
    """The error for a location that names no bucket."""
    is_web = uri.lower().startswith("http")
    return TableNotFoundError(
        f"the location names no {'host' if is_web else 'bucket or container'}",
        path=without_credentials(uri),
        hint="Write s3://bucket/path, gs://bucket/path, az://container/path, https://host/path or "
        "abfss://container@account.dfs.core.windows.net/path",
    )
