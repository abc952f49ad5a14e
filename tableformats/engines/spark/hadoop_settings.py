"""What ``storage_options`` mean for Hadoop's file systems: settings of S3A, ABFS and the connector of GCS.

S3A's are settings of one bucket, which :mod:`.native.hadoop_access` puts into the configuration of a relation's own
file system. For the others, and for sessions that keep their JVM from Python, :func:`settings_to_add` makes the lines
that a user adds; no line shows a secret. Sources: Hadoop's "S3A: Authentication", "ABFS" and the configuration of
Google's connector.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...io.storage import Storage
from ...io.stores.addresses import Address, address_of
from ...io.stores.object_store import complete_s3_options
from ...io.stores.options import StoreOptions, parse_options
from .hadoop_paths import hadoop_path

__all__ = ["hint_for", "s3a_settings", "settings_to_add"]

_S3A = "org.apache.hadoop.fs.s3a"
_OAUTH = "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
_SECRETS = {
    ".access.key": "access key",
    ".secret.key": "secret",
    ".session.token": "session token",
    ".encryption.key": "encryption key",
}
"""Ends of S3A's settings that no hint shows, and what stands there instead."""
_CONNECTORS = {"s3a": "hadoop-aws", "abfss": "hadoop-azure", "wasbs": "hadoop-azure", "gs": "gcs-connector"}


def s3a_settings(storage: Storage, authority: str) -> dict[str, str]:
    """Settings of S3A for a bucket (``s3://name``), with secrets. Empty: no options were given for it.

    Where the options name no credentials, S3A finds them as the session does.
    """
    given = storage.options_of(authority)
    address = address_of(authority)
    if address is None or address.service != "s3" or not _for_obstore(given):
        return {}
    options = parse_options("s3", given, authority)
    provider = complete_s3_options(options, authority)
    config = {**options.config, **(_provided(provider) if provider else {})}
    return {f"fs.s3a.bucket.{address.bucket}.{name}": value for name, value in _s3a(config).items()}


def _s3a(config: Mapping[str, Any]) -> dict[str, str]:
    """S3A's names, without the bucket, for obstore's configuration."""
    found: dict[str, str] = {}
    if "endpoint" in config:
        found["endpoint"] = config["endpoint"]
        found["path.style.access"] = str(config.get("virtual_hosted_style_request") != "true").lower()
    if region := config.get("region", config.get("default_region")):
        found["endpoint.region"] = region
    if config.get("skip_signature") == "true":
        found["aws.credentials.provider"] = f"{_S3A}.AnonymousAWSCredentialsProvider"
    elif "access_key_id" in config:
        kind = "Temporary" if "session_token" in config else "Simple"
        found["aws.credentials.provider"] = f"{_S3A}.{kind}AWSCredentialsProvider"
        found["access.key"] = config["access_key_id"]
        found["secret.key"] = config.get("secret_access_key", "")
        if "session_token" in config:
            found["session.token"] = config["session_token"]
    if config.get("request_payer") == "true":
        found["requester.pays.enabled"] = "true"
    if "sse_customer_key_base64" in config:
        found["encryption.algorithm"] = "SSE-C"
        found["encryption.key"] = config["sse_customer_key_base64"]
    return found


def _provided(provider: Any) -> dict[str, str]:
    """The credentials that a profile gets elsewhere, as they are now."""
    found = provider()
    names = {"access_key_id": "access_key_id", "secret_access_key": "secret_access_key", "token": "session_token"}
    return {ours: found[name] for name, ours in names.items() if found.get(name)}


def settings_to_add(storage: Storage, authority: str) -> dict[str, str]:
    """Settings for a session that is to read ``authority`` as the options say; secrets are placeholders."""
    address = address_of(authority)
    given = storage.options_of(authority)
    if address is None or not _for_obstore(given):
        return {}
    if address.service == "s3":
        return {name: _shown(name, value) for name, value in s3a_settings(storage, authority).items()}
    if address.service not in ("azure", "gcs"):
        return {}
    options = parse_options(address.service, given, authority)
    return _abfs(address, options) if address.service == "azure" else _gs(options)


def _shown(name: str, value: str) -> str:
    return next((f"<the {what}>" for end, what in _SECRETS.items() if name.endswith(end)), value)


def _abfs(address: Address, options: StoreOptions) -> dict[str, str]:
    config = options.config
    account = config.get("account_name") or address.account or "<account>"
    host = address.host.replace(".blob.", ".dfs.") or f"{account}.dfs.core.windows.net"
    if "account_key" in config:
        return {f"fs.azure.account.key.{host}": "<the account key>"}
    if "sas_key" in config:
        return {f"fs.azure.account.auth.type.{host}": "SAS", f"fs.azure.sas.fixed.token.{host}": "<the SAS token>"}
    if "client_secret" in config:
        oauth = "fs.azure.account.oauth"
        return {
            f"fs.azure.account.auth.type.{host}": "OAuth",
            f"{oauth}.provider.type.{host}": _OAUTH,
            f"{oauth}2.client.endpoint.{host}": f"https://login.microsoftonline.com/{config.get('tenant_id')}/oauth2/token",
            f"{oauth}2.client.id.{host}": config.get("client_id", "<the client id>"),
            f"{oauth}2.client.secret.{host}": "<the client secret>",
        }
    return {}


def _gs(options: StoreOptions) -> dict[str, str]:
    config = options.config
    found: dict[str, str] = {}
    if "base_url" in config:
        found["fs.gs.storage.root.url"] = config["base_url"]
    if config.get("skip_signature") == "true":
        found["fs.gs.auth.type"] = "UNAUTHENTICATED"
    elif "service_account" in config or "service_account_key" in config:
        found["fs.gs.auth.type"] = "SERVICE_ACCOUNT_JSON_KEYFILE"
        found["fs.gs.auth.service.account.json.keyfile"] = config.get(
            "service_account", "<a file with the service account's key, on every node>"
        )
    elif "bearer_token" in config:
        found["fs.gs.auth.type"] = "ACCESS_TOKEN_PROVIDER"
        found["fs.gs.auth.access.token.provider"] = "<a class that gives the token>"
    return found


def _for_obstore(given: Mapping[str, Any]) -> bool:
    return bool(given) and "filesystem" not in given


def hint_for(storage: Storage, authority: str) -> str:
    """What to add to a session, so that it reads ``authority``: the connector, and a line for each setting."""
    scheme = hadoop_path(authority).partition(":")[0]
    lines = [
        f'spark.conf.set("{name}", "{value}")'
        for name, value in (settings_to_add(storage, authority) or _placeholders(scheme, authority)).items()
    ]
    connector = _CONNECTORS.get(scheme)
    needed = f"Spark needs {connector} in its Hadoop version, and " if connector else ""
    if not lines:
        return f"{needed}the settings of the file system for {scheme}://"
    return f"{needed}these settings: {'; '.join(lines)}"


def _placeholders(scheme: str, authority: str) -> dict[str, str]:
    """Settings for a store that no options were given for."""
    if scheme == "s3a":
        prefix = f"fs.s3a.bucket.{authority.partition('://')[2]}"
        return {f"{prefix}.access.key": "<the access key>", f"{prefix}.secret.key": "<the secret>"}
    if scheme == "abfss":
        host = authority.partition("@")[2] or "<account>.dfs.core.windows.net"
        return {f"fs.azure.account.key.{host}": "<the account key>"}
    if scheme == "gs":
        return {
            "fs.gs.auth.type": "SERVICE_ACCOUNT_JSON_KEYFILE",
            "fs.gs.auth.service.account.json.keyfile": "<a file with the service account's key>",
        }
    return {}
