"""Iceberg tables of BigQuery's metastore: where a table's metadata is, and its swap under the condition of an ETag.

PyIceberg reads such a catalog and commits nothing to it. The parameters are those of Iceberg's Java catalog for
BigQuery: each sees the commits of the other. A location is read together with the table's ETag, which the change names.
Source: BigQuery's REST API v2, ``tables.insert``, ``tables.patch``, "externalCatalogTableOptions", ``If-Match``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ...errors import UnsupportedFeatureError
from ...io.stores.base import PutOutcome
from ..base import Identifier

__all__ = ["FoundViewError", "LimitedClient", "create", "located", "needs", "new_location", "swap"]

_LOCATION, _PREVIOUS, _TYPE = "metadata_location", "previous_metadata_location", "table_type"
_STATISTICS = ("numFiles", "numRows", "totalSize")
"""What Java's catalog says of the snapshot for readers of Hive. It would be wrong after another commit."""
_HIVE = "org.apache.iceberg.mr.hive.HiveIceberg"
_VIEWS = ("VIEW", "MATERIALIZED_VIEW")
_TIMEOUT_S, _READ_S, _COMMIT_S = 30.0, 60.0, 120.0
"""Until one answer, until the last attempt to read, and until a change is answered."""
_PROJECT, _LEGACY = "gcp.bigquery.project-id", "legacy-current-snapshot-id"


class FoundViewError(Exception):
    """The name is that of a view."""


class LimitedClient:
    """A client of ``google-cloud-bigquery`` whose reads have time limits. Its own are none for a request, and ten
    minutes of attempts.
    """

    _READS = ("get_dataset", "get_table", "list_datasets", "list_tables")

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name not in self._READS:
            return found
        from google.cloud.bigquery.retry import DEFAULT_RETRY

        return partial(found, retry=DEFAULT_RETRY.with_timeout(_READ_S), timeout=_TIMEOUT_S)


def needs(properties: Any) -> str | None:
    """What PyIceberg's catalog for BigQuery would miss in these properties; None: nothing."""
    from pyiceberg.utils.config import Config

    if not properties.get(_PROJECT):
        return f"Give the property {_PROJECT}"
    if not Config().get_bool(_LEGACY):
        return f"PyIceberg wants {_LEGACY}: true in .pyiceberg.yaml, or PYICEBERG_LEGACY_CURRENT_SNAPSHOT_ID=true"
    return None


def located(catalog: Any, identifier: Identifier) -> str | None:
    """The location of the table's metadata. None: there is no such table.

    Raises FoundViewError; and PyIceberg's NoSuchIcebergTableError for tables of BigQuery's own.
    """
    from pyiceberg import exceptions

    found = _get(catalog, identifier)
    if found is None:
        return None
    if found.table_type in _VIEWS:
        raise FoundViewError()
    location = _parameters(found).get(_LOCATION)
    if not location:
        raise vars(exceptions)["NoSuchIcebergTableError"]()
    return str(location)


def swap(catalog: Any, identifier: Identifier, old: str, new: str) -> PutOutcome:
    """Set the location of the metadata file, if it is still ``old``."""
    table = _get(catalog, identifier)
    parameters = {} if table is None else _parameters(table)
    if table is None or parameters.get(_LOCATION) != old:
        return PutOutcome.LOST
    if not table.etag:
        raise UnsupportedFeatureError(
            "BigQuery tells no ETag of the table, so that concurrent writers would lose commits",
            path=".".join(identifier),
            field="etag",
            hint="Nothing was written",
        )
    options = table.external_catalog_table_options
    kept = {name: value for name, value in parameters.items() if name not in _STATISTICS}
    options.parameters = {**kept, _LOCATION: new, _PREVIOUS: old}
    table.external_catalog_table_options = options
    table.schema = None  # so that BigQuery takes the schema from the metadata file, as Java's catalog has it
    fields = ["external_catalog_table_options", "schema"]
    # No second attempt: after one that landed its condition would not hold any more.
    return _attempted(lambda: catalog.client.update_table(table, fields, retry=None, timeout=_COMMIT_S))


def create(catalog: Any, identifier: Identifier, location: str) -> PutOutcome:
    """Create the table whose metadata file is at ``location``."""
    from google.cloud.bigquery import Table

    table = Table(_reference(catalog, identifier))
    table.external_catalog_table_options = {
        "parameters": {_LOCATION: location, _TYPE: "ICEBERG", "EXTERNAL": "TRUE"},
        "storageDescriptor": {
            "locationUri": location.rpartition("/metadata/")[0],
            "inputFormat": f"{_HIVE}InputFormat",
            "outputFormat": f"{_HIVE}OutputFormat",
            "serdeInfo": {"serializationLibrary": f"{_HIVE}SerDe"},
        },
    }
    return _attempted(lambda: catalog.client.create_table(table, retry=None, timeout=_COMMIT_S))


def new_location(catalog: Any, identifier: Identifier) -> str | None:
    """Where a new table goes, as its dataset says; None: it does not say."""
    found = catalog.load_namespace_properties(identifier[:-1]).get("defaultStorageLocationUri")
    return f"{str(found).rstrip('/')}/{identifier[-1]}" if found else None


def _attempted(write: Any) -> PutOutcome:
    """What became of a change. Errors that say that nothing was done are raised."""
    try:
        write()
    except Exception as error:
        code = getattr(error, "code", None)
        if code in (409, 412):
            return PutOutcome.LOST
        if isinstance(code, int) and 400 <= code < 500:
            raise
        return PutOutcome.UNKNOWN
    return PutOutcome.WON


def _get(catalog: Any, identifier: Identifier) -> Any:
    from google.api_core.exceptions import NotFound

    if len(identifier) != 2:  # a dataset has no others within
        return None
    try:
        return catalog.client.get_table(_reference(catalog, identifier))
    except NotFound:
        return None


def _reference(catalog: Any, identifier: Identifier) -> Any:
    from google.cloud.bigquery import DatasetReference, TableReference

    return TableReference(DatasetReference(catalog.project_id, identifier[0]), identifier[1])


def _parameters(table: Any) -> dict[str, Any]:
    options = table.external_catalog_table_options
    return dict((options.parameters if options is not None else None) or {})
