"""Makes a catalog of what the caller gives: a catalog of PyIceberg, the name of one, or properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import Catalog

__all__ = ["catalog_of"]

_OWN = ("glue", "unity")
"""Types of catalogs that are asked without PyIceberg."""


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
    from .pyiceberg import PyIcebergCatalog, configured

    if isinstance(given, Catalog):
        return given
    if isinstance(given, str):
        properties: Mapping[str, Any] = configured(given)
    else:
        properties = given if isinstance(given, Mapping) else {}
    if str(properties.get("type", "")).lower() in _OWN:
        return _own(properties)
    if isinstance(given, (str, Mapping)):
        given = PyIcebergCatalog.made(properties).catalog
    if hasattr(given, "load_table"):
        return _with_other_formats(given) or PyIcebergCatalog(given)
    raise TypeError(f"catalog is a PyIceberg catalog, the name of one or its properties, not {given!r}")


def _own(given: Mapping[str, Any]) -> Catalog:
    from .glue import GlueCatalog
    from .unity import UnityCatalog

    if str(given["type"]).lower() == "unity":
        return UnityCatalog(given)
    return GlueCatalog.made(given)


def _with_other_formats(catalog: Any) -> Catalog | None:
    """A catalog of PyIceberg that also knows tables of other formats, as one that gives them; else None."""
    is_glue = any(cls.__name__ == "GlueCatalog" for cls in type(catalog).__mro__)
    if is_glue and hasattr(catalog, "glue"):
        from .glue import GlueCatalog

        return GlueCatalog(catalog.glue, getattr(catalog, "properties", None) or {}, str(catalog.name))
    return None
