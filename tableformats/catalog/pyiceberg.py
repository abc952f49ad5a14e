"""Tables of a PyIceberg catalog: an identifier becomes the location of the metadata file and the options of its store.

The options are what the catalog is configured with and what it vends for the table. A table's own properties are not
among them: whoever writes the table could name an endpoint there, to which credentials would be sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import TableFormatsError, TableNotFoundError, UnsupportedFeatureError
from ..io.paths import normalize
from ..io.stores.addresses import address_of
from ..io.stores.option_names import ALIASES

__all__ = ["CatalogTable", "find_table"]

_SAS_TOKEN = "adls.sas-token."


@dataclass(frozen=True)
class CatalogTable:
    """Where a catalog's table is.

    Attributes
    ----------
    location : str
        Of its current metadata file.
    storage_options : dict
        What opens its store; see docs/stores.md.
    """

    location: str
    storage_options: dict[str, Any] = field(default_factory=dict, repr=False)


def find_table(catalog: Any, identifier: str | tuple[str, ...]) -> CatalogTable:
    """Look a table up.

    Parameters
    ----------
    catalog : pyiceberg.catalog.Catalog, str or mapping
        A catalog, the name of one that PyIceberg's configuration knows, or the properties of one.
    identifier : str or tuple of str
        The table's name with that of its namespace; a tuple where a name has a dot.

    Raises
    ------
    TableNotFoundError
        The catalog has no such table.
    UnsupportedFeatureError
        It is a view.
    TableFormatsError
        PyIceberg is not installed, or the catalog cannot be used.
    TypeError
        ``catalog`` is none of these.
    """
    if not isinstance(catalog, (str, Mapping)) and not hasattr(catalog, "load_table"):
        raise TypeError(f"catalog is a PyIceberg catalog, the name of one or its properties, not {catalog!r}")
    shown = identifier if isinstance(identifier, str) else ".".join(identifier)
    try:
        if isinstance(catalog, (str, Mapping)):
            catalog = _made(catalog)
        table = catalog.load_table(identifier)
        return CatalogTable(str(table.metadata_location), _storage_options(catalog, table))
    except ImportError as error:
        raise TableFormatsError(
            f"opening a table by catalog name needs PyIceberg: {error}", hint="pip install 'tableformats[catalogs]'"
        ) from error
    except Exception as error:
        if type(error).__name__.startswith("NoSuch"):
            if _is_view(catalog, identifier):
                raise UnsupportedFeatureError(
                    "the catalog has a view of this name, and views are not read",
                    path=shown,
                    field="view",
                    hint="Open the tables that it reads",
                ) from error
            raise TableNotFoundError(
                "the catalog has no such table", path=shown, hint="Give its name with that of its namespace"
            ) from error
        raise TableFormatsError(
            # Not the error's own words: they may hold the catalog's configuration, and so credentials.
            f"the catalog does not give the table: {type(error).__name__}",
            path=shown,
            hint="Check PyIceberg's configuration",
        ) from error


def _made(catalog: str | Mapping[str, Any]) -> Any:
    from pyiceberg.catalog import load_catalog

    if isinstance(catalog, str):
        return load_catalog(catalog)
    properties = dict(catalog)
    return load_catalog(properties.pop("name", "catalog"), **properties)


def _is_view(catalog: Any, identifier: str | tuple[str, ...]) -> bool:
    try:
        return bool(catalog.view_exists(identifier))
    except Exception:  # a catalog without views, or one that does not answer: the table is missing all the same
        return False


def _storage_options(catalog: Any, table: Any) -> dict[str, Any]:
    """The options for the store of the table's metadata; other services' and those that nothing here reads are left."""
    address = address_of(normalize(str(table.metadata_location)))
    if address is None:
        return {}
    own = getattr(getattr(table, "metadata", None), "properties", None) or {}
    file_io = getattr(getattr(table, "io", None), "properties", None) or {}
    found = {
        **(getattr(catalog, "properties", None) or {}),
        **(getattr(table, "config", None) or {}),
        **{name: value for name, value in file_io.items() if name not in own},
    }
    return {name: value for name, value in found.items() if _is_option(address.service, name)}


def _is_option(service: str, name: str) -> bool:
    # Names without a dot are the catalog's own: ``token`` there is the token of the catalog, and no store may see it.
    known = "." in name and (name in ALIASES[service] or name == "s3.signer")
    return known or (service == "azure" and name.startswith(_SAS_TOKEN))
