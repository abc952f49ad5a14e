"""Lists the tables of a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from .base import Catalog, ListedTable, dotted, parts_of
from .opening import catalog_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["list_tables"]


def list_tables(catalog: Any, namespace: str | tuple[str, ...] | None = None, *, limit: int | None = None) -> pa.Table:
    """The tables of a catalog. No table is opened.

    Parameters
    ----------
    catalog : PyIceberg catalog, str or mapping
        As for :func:`tableformats.open_table`.
    namespace : str or tuple of str, optional
        Only the tables directly in this namespace. None: those of all namespaces, also of those within others.
    limit : int, optional
        At most so many tables. The catalog is asked no further.

    Returns
    -------
    pyarrow.Table
        ``identifier`` (string: what ``open_table`` takes), ``namespace`` (list of string), ``name`` (string) and
        ``format`` (string; NULL where the catalog does not say). Namespaces are in the catalog's order, tables too.

    Raises
    ------
    NamespaceNotFoundError
        There is no such namespace.
    CatalogError
        The catalog is not configured, cannot be reached, refuses the credentials, or gives no answer.
    MissingExtraError
        The catalog needs a library that is not installed.
    TypeError
        An argument is of another type than it says.
    ValueError
        ``limit`` is no number of tables, or a namespace has no name.

    Examples
    --------
    >>> tf.list_tables({"type": "sql", "uri": "sqlite:///catalog.db"})["identifier"].to_pylist()  # doctest: +SKIP
    ['sales.orders']
    """
    import pyarrow as pa

    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise ValueError(f"limit must be a number of tables, not {limit!r}")
    within = None if namespace is None else parts_of(namespace, "a namespace")
    found = list(islice(_tables(catalog_of(catalog), within), limit))
    return pa.table(
        {
            "identifier": pa.array([dotted((*t.namespace, t.name)) for t in found], pa.string()),
            "namespace": pa.array([list(t.namespace) for t in found], pa.list_(pa.string())),
            "name": pa.array([t.name for t in found], pa.string()),
            "format": pa.array([t.format for t in found], pa.string()),
        }
    )


def _tables(catalog: Catalog, within: tuple[str, ...] | None) -> Iterator[ListedTable]:
    for namespace in catalog.namespaces() if within is None else [within]:
        yield from catalog.tables(namespace)
