"""Commits of Iceberg tables to a catalog in DynamoDB: the attribute ``p.metadata_location``, changed on a condition.

PyIceberg reads such a catalog and commits nothing to it. The items are those of Iceberg's Java catalog for DynamoDB and
of PyIceberg's. Each change sets another ``v``, which the Java catalog names as its condition.
Source: the DynamoDB API, ``UpdateItem``, ``PutItem``, ``ConditionExpression``.
"""

from __future__ import annotations

import uuid
from typing import Any

from ...io.stores.base import PutOutcome
from ...schema.datetimes import current_ms
from ..base import Identifier
from .aws_answers import attempted

__all__ = ["create", "swap"]

_LOST = ("ConditionalCheckFailedException", "TransactionConflictException")
_LOCATION, _PREVIOUS, _TYPE = "p.metadata_location", "p.previous_metadata_location", "p.table_type"


def swap(client: Any, table: str, identifier: Identifier, old: str, new: str) -> PutOutcome:
    """Set the location of the metadata file, if it is still ``old``. ``table``: DynamoDB's, which has the catalog."""
    return attempted(
        lambda: client.update_item(
            TableName=table,
            Key=_key(identifier),
            UpdateExpression="SET #location = :new, #previous = :old, v = :version, updated_at = :now",
            ConditionExpression="#location = :old",
            ExpressionAttributeNames={"#location": _LOCATION, "#previous": _PREVIOUS},
            ExpressionAttributeValues={
                ":new": {"S": new},
                ":old": {"S": old},
                ":version": {"S": str(uuid.uuid4())},
                ":now": _now(),
            },
        ),
        _LOST,
    )


def create(client: Any, table: str, identifier: Identifier, location: str) -> PutOutcome:
    """Create the table whose metadata file is at ``location``. Arguments are those of :func:`swap`."""
    item = {
        **_key(identifier),
        "v": {"S": str(uuid.uuid4())},
        "created_at": _now(),
        "updated_at": _now(),
        _TYPE: {"S": "ICEBERG"},
        _LOCATION: {"S": location},
        _PREVIOUS: {"S": ""},
    }
    return attempted(
        lambda: client.put_item(TableName=table, Item=item, ConditionExpression="attribute_not_exists(identifier)"),
        _LOST,
    )


def _key(identifier: Identifier) -> dict[str, Any]:
    return {"identifier": {"S": ".".join(identifier)}, "namespace": {"S": ".".join(identifier[:-1])}}


def _now() -> dict[str, str]:
    return {"N": str(current_ms())}
