"""Commits of Iceberg tables to Glue: the parameter ``metadata_location``, under the condition of the table's version.

Source: the Glue API, ``UpdateTable``, ``VersionId``; the parameters are those of Iceberg's Java catalog for Glue.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import UnsupportedFeatureError
from ...io.stores.base import PutOutcome
from ..base import Identifier
from .aws_answers import attempted

__all__ = ["create", "swap"]

_LOST = ("ConcurrentModificationException", "AlreadyExistsException")
_TABLE_INPUT = (
    "Name",
    "Description",
    "Owner",
    "LastAccessTime",
    "LastAnalyzedTime",
    "Retention",
    "StorageDescriptor",
    "PartitionKeys",
    "ViewOriginalText",
    "ViewExpandedText",
    "TableType",
    "TargetTable",
)
"""What of a table is given back when it is updated; the parameters are changed."""


def swap(client: Any, table: Mapping[str, Any], account: Mapping[str, str], new: str) -> PutOutcome:
    """Set the location of the metadata file, if the table is still at the version that ``table`` has.

    ``table`` is Glue's answer, in which the location is the one that ``new`` stands upon.
    """
    version = table.get("VersionId")
    if not version:
        raise UnsupportedFeatureError(
            "Glue tells no version of the table, so that concurrent writers would lose commits",
            path=str(table.get("Name")),
            field="VersionId",
            hint="Nothing was written",
        )
    parameters = dict(table.get("Parameters") or {})
    old = parameters.get("metadata_location", "")
    parameters.update(metadata_location=new, previous_metadata_location=old)
    given = {key: table[key] for key in _TABLE_INPUT if table.get(key) is not None}
    return attempted(
        lambda: client.update_table(
            DatabaseName=table["DatabaseName"],
            TableInput={**given, "Parameters": parameters},
            SkipArchive=True,
            VersionId=version,
            **account,
        ),
        _LOST,
    )


def create(client: Any, identifier: Identifier, account: Mapping[str, str], location: str) -> PutOutcome:
    """Create the table whose metadata file is at ``location``."""
    table_input = {
        "Name": identifier[-1],
        "TableType": "EXTERNAL_TABLE",
        "Parameters": {"table_type": "ICEBERG", "metadata_location": location, "EXTERNAL": "TRUE"},
        "StorageDescriptor": {"Columns": [], "Location": location.rpartition("/metadata/")[0]},
    }
    return attempted(lambda: client.create_table(DatabaseName=identifier[0], TableInput=table_input, **account), _LOST)
