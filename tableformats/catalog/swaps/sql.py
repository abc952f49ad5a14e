"""The rows of PyIceberg's SQL catalogs: where a table's metadata is, and the swap of that.

The statements are made once. PyIceberg makes one of objects for each request, which takes more of a small commit's time
than the database does.
"""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ...io.stores.base import PutOutcome

if TYPE_CHECKING:
    from ..base import Identifier

__all__ = ["located", "swap"]

_TABLE = "TABLE"


@lru_cache(maxsize=2)
def _statements(has_types: bool) -> tuple[Any, Any]:
    """The question for the location of a table, and the change of it under a condition.

    ``has_types``: whether rows say that they are tables, because views of other writers may stand beside them.
    """
    from pyiceberg.catalog import sql
    from sqlalchemy import bindparam, select, update

    rows = vars(sql)["IcebergTables"].__table__
    is_table = (
        (rows.c.catalog_name == bindparam("catalog"))
        & (rows.c.table_namespace == bindparam("namespace"))
        & (rows.c.table_name == bindparam("name"))
    )
    ask = select(rows.c.metadata_location).where(is_table)
    if has_types:
        kind = next(column for column in rows.c if column.name.endswith("_type"))
        ask = ask.where((kind == _TABLE) | kind.is_(None))
    change = (
        update(rows)
        .where(is_table & (rows.c.metadata_location == bindparam("old")))
        .values(metadata_location=bindparam("new"), previous_metadata_location=bindparam("old"))
    )
    return ask, change


def _has_types(catalog: Any) -> bool:
    return getattr(catalog, "_schema_version", None) == "v1"


def _named(catalog: Any, identifier: Identifier) -> dict[str, str]:
    return {"catalog": catalog.name, "namespace": ".".join(identifier[:-1]), "name": identifier[-1]}


def located(catalog: Any, identifier: Identifier) -> str | None:
    """The location of the table's metadata. None: there is no such table, as far as it is known."""
    with catalog.engine.connect() as connection:
        found = connection.execute(_statements(_has_types(catalog))[0], _named(catalog, identifier)).scalar()
    return found if isinstance(found, str) and found else None


def swap(catalog: Any, identifier: Identifier, old: str, new: str) -> PutOutcome:
    """See :meth:`tableformats.io.catalog_commits.CatalogWriter.swap`."""
    with catalog.engine.connect() as connection:
        driven = connection.connection
        given = {**_named(catalog, identifier), "old": old, "new": new}
        if connection.execute(_statements(_has_types(catalog))[1], given).rowcount == 0:
            return PutOutcome.LOST
        try:
            connection.commit()
        except Exception:  # the answer of the database may be lost
            return _rolled_back(driven)
        return PutOutcome.WON


def _rolled_back(connection: Any) -> PutOutcome:
    """Roll back after a commit that failed. Gives what became of the commit.

    SQLAlchemy gives such a connection back as it is, and a database that is locked keeps the transaction open. Whoever
    got the connection next would read what was not committed. SQLite says whether the transaction is open still.
    """
    driven = connection.dbapi_connection
    is_open = isinstance(driven, sqlite3.Connection) and driven.in_transaction
    try:
        connection.rollback()
    except Exception:
        connection.invalidate()
        return PutOutcome.UNKNOWN
    return PutOutcome.LOST if is_open else PutOutcome.UNKNOWN
