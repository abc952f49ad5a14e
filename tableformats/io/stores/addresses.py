"""What a URI says of its store: the service, the bucket, the account or endpoint, and the key of an object.

Sources: Hadoop's and Azure's documentation of ``abfs[s]://container@account.dfs.core.windows.net/path``; object_store.
"""

from __future__ import annotations

from dataclasses import replace

from ...dataclass import dataclass
from ..paths import percent_decoded, scheme_of
from ..redaction import user_of, without_credentials

__all__ = ["SERVICES", "Address", "address_of", "address_with_credentials", "credentials_of"]

SERVICES = {
    "s3": "s3",
    "gs": "gcs",
    "az": "azure",
    "adl": "azure",
    "azure": "azure",
    "abfss": "azure",
    "wasbs": "azure",
    "http": "http",
    "https": "http",
}
"""The service of each scheme that obstore speaks to."""
_URI_OPTIONS = {"endpoint_override": "endpoint", "region": "region"}


@dataclass(frozen=True)
class Address:
    """The store of a path.

    Attributes
    ----------
    service : str
        "s3", "gcs", "azure" or "http".
    root : str
        The beginning of all paths of the store, without a slash at its end.
    bucket : str
        The bucket or container; for HTTP the URL of the host.
    account, host : str
        Azure's account and its host, where the URI names them; else empty.
    """

    service: str
    root: str
    bucket: str
    account: str = ""
    host: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the URI names a bucket; and an account, where one belongs to it (``container@account``)."""
        name = self.bucket.partition("://")[2] if self.service == "http" else self.bucket
        is_host = self.service == "azure" and not self.host and ".core.windows.net" in name
        return bool(name) and not is_host and ("@" not in self.root or self.service != "azure" or bool(self.host))

    def key(self, path: str) -> str:
        """The key of an absolute path of this store."""
        return path[len(self.root) :].strip("/")


def address_of(path: str) -> Address | None:
    """The store of a normalized path. None: obstore has no such store."""
    scheme = scheme_of(path)
    service = SERVICES.get(scheme or "")
    if scheme is None or service is None or "://" not in path:
        return None
    authority = path.split("://", 1)[1].partition("/")[0]
    root = f"{scheme}://{authority}"
    if service == "http":
        return Address(service, root, root)
    if service == "azure" and "@" in authority:
        container, _, host = authority.partition("@")
        return Address(service, root, container, host.partition(".")[0], host)
    return Address(service, root, authority)


def address_with_credentials(uri: str) -> Address | None:
    """The store of a URI that may carry credentials. The URL of a web server keeps its user, which names no path."""
    from urllib.parse import quote

    address = address_of(without_credentials(uri).partition("?")[0])
    user = user_of(uri)
    if address is None or address.service != "http" or not user:
        return address
    return replace(address, bucket=address.bucket.replace("://", f"://{quote(user, safe=':%')}@", 1))


def _query_of(uri: str) -> dict[str, str]:
    text = uri.partition("?")[2]
    if not text:
        return {}
    from urllib.parse import parse_qsl

    return dict(parse_qsl(text))


def credentials_of(uri: str) -> dict[str, str]:
    """Options that a URI carries, as pyarrow has them: ``s3://key:secret@bucket/t?region=eu``."""
    found: dict[str, str] = {}
    key, colon, secret = user_of(uri).partition(":")
    if colon and scheme_of(uri) == "s3":
        found = {"access_key_id": percent_decoded(key), "secret_access_key": percent_decoded(secret)}
    query = _query_of(uri)
    if scheme_of(uri) == "s3":
        found |= {_URI_OPTIONS[name]: value for name, value in query.items() if name in _URI_OPTIONS}
        if "endpoint" in found and "://" not in found["endpoint"]:
            found["endpoint"] = f"{query.get('scheme', 'https')}://{found['endpoint']}"
    elif SERVICES.get(scheme_of(uri) or "") == "azure" and "sig" in query:
        found["sas_token"] = uri.partition("?")[2]
    return found
