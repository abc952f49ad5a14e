"""``storage_options`` in the spellings that users have, as the configuration of one obstore store.

An unknown name is an error that lists near names, so that a misspelt credential is not a riddle of the store's.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import timedelta
from typing import Any

from ...dataclass import dataclass
from ...errors import TableFormatsError, UnsupportedFeatureError
from ...lazy_pattern import lazy_pattern
from .base import Concurrency
from .option_names import ALIASES, CLIENT, IGNORED, NATIVE, PREFIXES, RETRY, is_of_another_service

__all__ = ["OWN_OPTIONS", "StoreOptions", "concurrency_of", "parse_options"]

MAX_CONCURRENCY = 1024
OWN_OPTIONS = frozenset(("max_concurrency", "filesystem"))
"""Options that are ours, for stores of every kind."""

_TIMES = {"connect_timeout": 5.0, "read_timeout": 15.0, "timeout": 120.0, "retry_timeout": 45.0}
_DEFAULT_RETRIES, _INIT_BACKOFF, _MAX_BACKOFF = 5, 0.1, 5.0
_DURATION = lazy_pattern(r"(\d+(?:\.\d+)?)\s*(ms|s|sec|secs|seconds|m|min|minutes)?")
_UNITS = {"ms": 0.001, "m": 60.0, "min": 60.0, "minutes": 60.0}
_DURATIONS = frozenset((*_TIMES, "init_backoff", "max_backoff", "pool_idle_timeout"))
_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")
_SPECIAL = frozenset(("profile", "path_style_request", "token", "connection_string", "account_host"))


@dataclass
class StoreOptions:
    """How to open a store: obstore's configuration, the client's and the retries', and our own.

    Attributes
    ----------
    profile : str or None
        The AWS profile to take credentials from.
    concurrency : Concurrency
        The most requests at once.
    """

    config: dict[str, Any] = field(default_factory=dict, repr=False)
    client: dict[str, Any] = field(default_factory=dict, repr=False)
    retry: dict[str, Any] = field(default_factory=dict)
    profile: str | None = None
    concurrency: Concurrency = field(default_factory=Concurrency)


def parse_options(service: str, given: Mapping[str, Any], path: str) -> StoreOptions:
    """Understand ``given`` for a service ("s3", "gcs", "azure" or "http"); ``path`` is for errors.

    Raises
    ------
    TableFormatsError
        An option is unknown, or has a value that it cannot have.
    UnsupportedFeatureError
        An option asks for what is not supported.
    """
    found: dict[str, Any] = {}
    for name, value in _flat(given, service, path):
        known = _known_name(service, name)
        if known is not None:
            found[known] = value
        elif name.lower() in _INSTEAD:
            raise UnsupportedFeatureError(
                f"the storage option {name!r} is not supported", path=path, field=name, hint=_INSTEAD[name.lower()]
            )
        elif not (_is_ignored(service, name) or is_of_another_service(name.lower(), service)):
            raise _unknown(service, name, path)
    try:
        return _settled(service, found, given)
    except (ValueError, TypeError) as error:
        raise TableFormatsError(f"a storage option has a wrong value: {error}", path=path) from None


_INSTEAD = {
    "credential": "Give credentials instead",
    # A catalog that signs each request itself sends this.
    "s3.signer": "Give credentials instead: s3.access-key-id and s3.secret-access-key among the catalog's properties, "
    "or storage_options; or let the catalog vend some",
}
"""What to do where an option is refused."""


def concurrency_of(given: Mapping[str, Any], path: str) -> Concurrency:
    """The option ``max_concurrency``, which holds for requests of any size. Raises TableFormatsError."""
    value = given.get("max_concurrency")
    if value is None:
        return Concurrency()
    try:
        count = int(value)
    except (ValueError, TypeError):
        count = 0
    if not 1 <= count <= MAX_CONCURRENCY:
        raise TableFormatsError(
            f"max_concurrency is a number from 1 to {MAX_CONCURRENCY}", path=path, field="max_concurrency"
        )
    return Concurrency(count, count)


def _flat(given: Mapping[str, Any], service: str, path: str) -> Iterator[tuple[str, Any]]:
    """The options, with what fsspec nests in ``client_kwargs`` and ``config_kwargs``; later ones win."""
    names = ("config_kwargs", "client_kwargs", "client_options")
    nested = {name: given[name] for name in names if given.get(name) is not None}
    for name, options in nested.items():
        if not isinstance(options, Mapping):
            raise TableFormatsError(f"the storage option {name} is a mapping", path=path, field=name)
        for inner, value in options.items():
            if inner == "s3" and isinstance(value, Mapping):
                if value.get("addressing_style") == "virtual":
                    yield "virtual_hosted_style_request", True
            elif inner == "verify":
                yield from [("allow_invalid_certificates", True)] if value is False else [("root_certificate", value)]
            elif inner not in ("retries", "max_pool_connections", "signature_version", "headers", "user_agent_extra"):
                yield inner, value
    for name, value in given.items():
        if not isinstance(name, str):
            raise TableFormatsError(f"{name!r} is no name of a storage option", path=path)
        if name == "use_ssl":
            yield from [("allow_http", True)] if value is False else []
        elif name not in nested and name not in OWN_OPTIONS and value is not None:
            yield name, value


def _known_name(service: str, name: str) -> str | None:
    """The name that obstore, or this module, has for an option."""
    lower = name.lower()
    if service == "azure" and lower.startswith("adls.sas-token."):
        return "sas_key"
    bare = next((lower[len(prefix) :] for prefix in PREFIXES[service] if lower.startswith(prefix)), lower)
    for candidate in (lower, bare):
        if candidate in ALIASES[service]:
            return ALIASES[service][candidate]
        if candidate in NATIVE[service] or candidate in CLIENT or candidate in RETRY:
            return candidate
        if candidate == "profile" and service == "s3":
            return candidate
    return None


def _is_ignored(service: str, name: str) -> bool:
    lower = name.lower()
    if lower.endswith("dynamo_table_name"):  # of locks that writers take
        return True
    return any(lower.removeprefix(prefix) in IGNORED for prefix in ("", *PREFIXES[service]))


def _unknown(service: str, name: str, path: str) -> TableFormatsError:
    import difflib

    names = {*ALIASES[service], *NATIVE[service], *CLIENT, *RETRY, *OWN_OPTIONS}
    names |= {prefix + own for prefix in PREFIXES[service] for own in NATIVE[service]}
    near = difflib.get_close_matches(name.lower(), sorted(names), 4, 0.6)
    hint = f"Near names: {', '.join(near)}" if near else "docs/stores.md lists the options"
    return TableFormatsError(f"{name!r} is no storage option of {service}", path=path, field=name, hint=hint)


def _settled(service: str, found: dict[str, Any], given: Mapping[str, Any]) -> StoreOptions:
    options = StoreOptions(concurrency=concurrency_of(given, ""))
    _special(service, found, options)
    for name, value in found.items():
        if name in _DURATIONS:
            value = _duration(name, value)
        if name in RETRY:
            options.retry[name] = value
        elif name in CLIENT:
            options.client[name] = value if isinstance(value, (timedelta, Mapping, bytes)) else _text(value)
        else:
            options.config[name] = _text(value)
    for name in ("connect_timeout", "read_timeout", "timeout"):
        options.client.setdefault(name, timedelta(seconds=_TIMES[name]))
    options.retry = _retry_config(options.retry)
    if service == "s3":  # files are deleted one by one, which every compatible store can do
        options.config.setdefault("disable_bulk_delete", "true")
    endpoints = [str(options.config.get("endpoint", options.config.get("base_url", "")))]
    if endpoints[0] and not _URL.match(endpoints[0]):
        raise ValueError(f"the endpoint {endpoints[0]!r} does not begin with http:// or https://")
    if service == "s3":  # the client's options hide what the environment says of the client
        endpoints += [os.environ.get(name, "") for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT")]
        options.client.setdefault("allow_http", os.environ.get("AWS_ALLOW_HTTP", "false").lower())
    if any(map(_is_loopback, endpoints)):
        options.client["allow_http"] = "true"
    if endpoints[0].startswith("http://") and _asks_nobody_else(options):
        options.client["disable_system_certificates"] = "true"
    return options


def _asks_nobody_else(options: StoreOptions) -> bool:
    """Whether the endpoint is the only host that is asked. If it has no TLS, the system's certificates are not needed.

    To read them takes a fifth of the time of a request.
    """
    has_proxy = "proxy_url" in options.client or any(os.environ.get(name) for name in _PROXIES)
    return not has_proxy and not _OWN_KEYS.isdisjoint(options.config)


def _special(service: str, found: dict[str, Any], options: StoreOptions) -> None:
    """Take out of ``found`` what obstore has no name for, and put in what it means."""
    if (profile := found.pop("profile", None)) is not None:
        options.profile = str(profile)
    if "path_style_request" in found:
        found["virtual_hosted_style_request"] = not _boolean(found.pop("path_style_request"))
    if service == "gcs" and "token" in found:
        found |= _gcs_token(found.pop("token"))
    if "connection_string" in found:
        found |= {name: value for name, value in _connection(str(found.pop("connection_string"))) if name not in found}
    if "account_host" in found:
        host = str(found.pop("account_host"))
        found.setdefault("endpoint", host if "://" in host else f"https://{host.replace('.dfs.', '.blob.')}")
        found.setdefault("account_name", host.split("://")[-1].partition(".")[0])
    for name in ("skip_signature", "request_payer"):
        if name in found and not _boolean(found[name]):
            del found[name]


def _gcs_token(token: Any) -> dict[str, Any]:
    """What gcsfs's ``token`` means: a way, a file of credentials, their content, or a bearer token."""
    if isinstance(token, Mapping):
        return {"service_account_key": json.dumps(dict(token))}
    text = str(token)
    if text in ("anon", "google_default", "cache", "cloud", "browser"):
        return {"skip_signature": True} if text == "anon" else {}
    return {"service_account": text} if text.endswith(".json") or "/" in text[:2] else {"bearer_token": text}


_CONNECTION = {
    *("AccountName", "AccountKey", "SharedAccessSignature", "DefaultEndpointsProtocol", "EndpointSuffix"),
    *("BlobEndpoint", "DfsEndpoint", "FileEndpoint", "QueueEndpoint", "TableEndpoint"),
    *("UseDevelopmentStorage", "DevelopmentStorageProxyUri"),
}
"""The parts of an Azure connection string, but for endpoints of other services with "Secondary" before "Endpoint"."""


def _connection(text: str) -> Iterator[tuple[str, str]]:
    """What an Azure connection string says. Source: Azure Storage, "Configure connection strings".

    Raises ValueError, without the text, where it is none.
    """
    parts = _connection_parts(text)
    is_emulator = parts.get("UseDevelopmentStorage", "").lower() == "true"
    if is_emulator:
        yield "use_emulator", "true"
    elif "AccountName" not in parts and "BlobEndpoint" not in parts:
        raise ValueError("the connection string names neither AccountName nor BlobEndpoint")
    for key, name in (("AccountName", "account_name"), ("AccountKey", "account_key"), ("BlobEndpoint", "endpoint")):
        if key in parts:
            yield name, parts[key]
    if "SharedAccessSignature" in parts:
        yield "sas_key", parts["SharedAccessSignature"]
    if "BlobEndpoint" not in parts and "EndpointSuffix" in parts and "AccountName" in parts:
        scheme = parts.get("DefaultEndpointsProtocol", "https")
        yield "endpoint", f"{scheme}://{parts['AccountName']}.blob.{parts['EndpointSuffix']}"


def _connection_parts(text: str) -> dict[str, str]:
    """The parts by name. What is unknown is not repeated: it may be a key that stands in a wrong place."""
    names = {name.lower(): name for name in _CONNECTION}
    parts = {}
    pairs = [pair.strip() for pair in text.split(";") if pair.strip()]
    if not pairs:
        raise ValueError("the connection string is empty")
    for number, pair in enumerate(pairs, 1):
        key, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"part {number} of the connection string has no '='")
        name = names.get(key.strip().lower().replace("secondary", ""))
        if name is None:
            import difflib

            near = difflib.get_close_matches(key.lower(), names, cutoff=0.7)
            hint = f"; near: {names[near[0]]}" if near else ""
            raise ValueError(f"part {number} of the connection string is unknown{hint}")
        if "secondary" not in key.lower():
            parts[name] = value.strip()
    try:
        base64.b64decode(parts.get("AccountKey", ""), validate=True)
    except ValueError:
        raise ValueError("the AccountKey of the connection string is no base64") from None
    return parts


def _retry_config(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "max_retries": int(given.get("max_retries", _DEFAULT_RETRIES)),
        "retry_timeout": given.get("retry_timeout", timedelta(seconds=_TIMES["retry_timeout"])),
        "backoff": {
            "init_backoff": given.get("init_backoff", timedelta(seconds=_INIT_BACKOFF)),
            "max_backoff": given.get("max_backoff", timedelta(seconds=_MAX_BACKOFF)),
            "base": float(given.get("backoff_base", 2)),
        },
    }


def _duration(name: str, value: Any) -> timedelta:
    """A time: a timedelta, seconds, or a text such as "500ms", "30s", "2m"."""
    if isinstance(value, timedelta):
        return value
    match = None if isinstance(value, bool) else _DURATION.fullmatch(str(value).strip().lower())
    if match is None:
        raise ValueError(f"{name} is a number of seconds, or a text such as '500ms' or '30s'")
    return timedelta(seconds=float(match[1]) * _UNITS.get(match[2] or "s", 1.0))


def _boolean(value: Any) -> bool:
    text = str(value).lower()
    if text not in (*_TRUE, *_FALSE, "requester"):
        raise ValueError("a switch is 'true' or 'false'")
    return text not in _FALSE


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_PROXIES = ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
_OWN_KEYS = {"access_key_id", "account_key", "sas_key", "skip_signature"}
_URL = lazy_pattern(r"https?://[^/\s]")


def _is_loopback(url: str) -> bool:
    return re.match(r"http://(127\.|localhost[:/]?|\[::1\])", url) is not None
