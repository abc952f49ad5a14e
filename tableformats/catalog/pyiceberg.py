"""Tables of a PyIceberg catalog: an identifier becomes the location of the table's metadata file."""

from __future__ import annotations

from typing import Any

from ..errors import TableFormatsError, TableNotFoundError

__all__ = ["metadata_location"]


def metadata_location(catalog: Any, identifier: str) -> str:
    """The location of the current metadata file of a table.

    Parameters
    ----------
    catalog : pyiceberg.catalog.Catalog or str
        A catalog, or the name of one that PyIceberg's configuration knows.
    identifier : str
        The table's name with that of its namespace.

    Raises
    ------
    TableNotFoundError
        The catalog has no such table.
    TableFormatsError
        PyIceberg is not installed, or the catalog cannot be used.
    TypeError
        ``catalog`` is neither a catalog nor a name.
    """
    if not isinstance(catalog, str) and not hasattr(catalog, "load_table"):
        raise TypeError(f"catalog is a PyIceberg catalog or the name of one, not {catalog!r}")
    try:
        if isinstance(catalog, str):
            from pyiceberg.catalog import load_catalog

            catalog = load_catalog(catalog)
        return str(catalog.load_table(identifier).metadata_location)
    except ImportError as error:
        raise TableFormatsError(
            f"opening a table by catalog name needs PyIceberg: {error}", hint="pip install 'tableformats[catalogs]'"
        ) from error
    except Exception as error:
        if type(error).__name__.startswith("NoSuch"):
            raise TableNotFoundError(
                "the catalog has no such table", path=identifier, hint="Give its name with that of its namespace"
            ) from error
        raise TableFormatsError(
            # Not the error's own words: they may hold the catalog's configuration, and so credentials.
            f"the catalog does not give the table: {type(error).__name__}",
            path=identifier,
            hint="Check PyIceberg's configuration",
        ) from error
