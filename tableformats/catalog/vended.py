"""What opens the store of a table, among all that a catalog is configured with and vends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..io.paths import normalize
from ..io.stores.addresses import address_of
from ..io.stores.option_names import ALIASES

__all__ = ["expiry_of", "store_options"]

_SAS_TOKEN = "adls.sas-token."
_EXPIRY = {
    "s3": "s3.session-token-expires-at-ms",
    "gcs": "gcs.oauth2.token-expires-at",
    "azure": "adls.sas-token-expires-at-ms",
}


def store_options(location: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """The options for the store of ``location``; other services' and those that nothing here reads are left."""
    address = address_of(normalize(location))
    if address is None:
        return {}
    return {name: value for name, value in found.items() if _is_option(address.service, name)}


def _is_option(service: str, name: str) -> bool:
    # Names without a dot are the catalog's own: ``token`` there is the token of the catalog, and no store may see it.
    known = "." in name and (name in ALIASES[service] or name == "s3.signer")
    return known or (service == "azure" and name.startswith(_SAS_TOKEN))


def expiry_of(location: str, vended: Mapping[str, str]) -> int | None:
    """When what was vended expires. Source: Iceberg REST catalog, "LoadTableResult"; Azure has one token for a host."""
    address = address_of(normalize(location))
    prefix = _EXPIRY.get(address.service if address else "")
    found = [v for name, v in vended.items() if prefix and (name == prefix or name.startswith(prefix + "."))]
    return min((int(v) for v in found if v.isascii() and v.isdigit()), default=None)
