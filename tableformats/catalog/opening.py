"""Makes a catalog of what the caller gives: a catalog of PyIceberg, the name of one, or properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import Catalog

__all__ = ["catalog_of"]


def catalog_of(given: Any) -> Catalog:
    """The catalog that ``given`` stands for.

    Parameters
    ----------
    given : pyiceberg.catalog.Catalog, str or mapping
        A catalog, the name of one that PyIceberg's configuration knows, or the properties of one.

    Raises
    ------
    TypeError
        It is none of these.
    CatalogNotFoundError
        PyIceberg's configuration has no catalog of that name.
    CatalogError
        The catalog cannot be used.
    MissingExtraError
        A library that the catalog needs is not installed.
    """
    from .pyiceberg import PyIcebergCatalog

    if isinstance(given, Catalog):
        return given
    if isinstance(given, (str, Mapping)):
        return PyIcebergCatalog.made(given)
    if hasattr(given, "load_table"):
        return PyIcebergCatalog(given)
    raise TypeError(f"catalog is a PyIceberg catalog, the name of one or its properties, not {given!r}")
