"""Every name of a storage option with values of every kind, and what is made of them.

``python -m tests.io.option_cases`` writes it to ``option_outcomes.json``: {service: {name: {outcome: values}}}. Read
what has changed there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from tableformats.errors import TableFormatsError
from tableformats.io.stores.option_names import ALIASES, CLIENT, IGNORED, NATIVE, PREFIXES, RETRY
from tableformats.io.stores.options import OWN_OPTIONS, parse_options
from tests.support import leaves

PINNED = Path(__file__).with_name("option_outcomes.json")
SERVICES = ("s3", "gcs", "azure", "http")
VALUES: dict[str, Any] = {
    "None": None,
    "true": True,
    "false": False,
    "'0'": "0",
    "'Yes'": "Yes",
    "'requester'": "requester",
    "1": 1,
    "1024": 1024,
    "1025": 1025,
    "-1": -1,
    "1.5": 1.5,
    "'500 ms'": "500 ms",
    "'2m'": "2m",
    "'3s'": "3s",
    "timedelta": timedelta(seconds=7),
    "'x'": "x",
    "'a/b.json'": "a/b.json",
    "'/k'": "/k",
    "anon": "anon",
    "url": "http://localhost:9000",
    "loopback": "http://127.0.0.1/a",
    "ipv6": "https://[::1]:1",
    "host": "me.dfs.core.windows.net",
    "{}": {},
    "mapping": {"endpoint_url": "https://e", "verify": False},
    "more": {"verify": "ca", "retries": 3, "region_name": "r", "s3": {"addressing_style": "virtual"}},
    "path": {"s3": {"addressing_style": "path"}, "s3.signer": "x"},
    "[]": [],
    "connection": "AccountName=a;AccountKey=Yj1j;EndpointSuffix=e",
    "sas": "BlobEndpoint=https://b;SharedAccessSignature=s=1;AccountName=a;EndpointSuffix=e;DefaultEndpointsProtocol=http",
    "emulator": "UseDevelopmentStorage=True;;EndpointSuffix=e",
}
TOGETHER: list[dict[str, Any]] = [
    {"path_style_request": "true", "virtual_hosted_style_request": "true"},
    {"connection_string": VALUES["sas"], "account_name": "own"},
    {"account_host": "https://me.dfs.e", "account_name": "own", "endpoint": "https://own"},
    {"endpoint": "http://localhost", "allow_http": False},
    {"endpoint": "http://host", "allow_http": "true"},
    {"max_retries": "3", "backoff_base": "1.5", "retry_timeout": 9, "init_backoff": "1ms", "max_backoff": "1min"},
    {"client_kwargs": {"region_name": "a"}, "region": "b"},
    {"token": {"type": "service_account"}},
]
VARIABLES = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ALLOW_HTTP")


def names(service: str) -> list[str]:
    own = {*ALIASES[service], *NATIVE[service], *CLIENT, *RETRY, *OWN_OPTIONS, *IGNORED}
    first = sorted(NATIVE[service])[:3]
    prefixed = {f"{prefix}{name}" for prefix in PREFIXES[service] for name in first}
    more = {
        "profile",
        "use_ssl",
        "config_kwargs",
        "client_kwargs",
        "client_options",
        "credential",
        "s3.signer",
        "token",
    }
    others = {
        "adls.sas-token.me",
        "DynamoDb_Table_Name",
        "x.dynamo_table_name",
        "no_such",
        "REGION",
        "aws_region",
        "account_host",
    }
    return sorted(own | prefixed | more | others)


def outcome(service: str, given: dict[Any, Any]) -> str:
    """The options that differ from those of nothing, or the error."""
    try:
        found, plain = parse_options(service, given, "p"), parse_options(service, {}, "p")
    except TableFormatsError as error:
        return f"{type(error).__name__}: {error}"
    parts = []
    for part in ("config", "client", "retry", "profile", "concurrency"):
        one, other = getattr(found, part), getattr(plain, part)
        if one != other:
            kept = {k: v for k, v in one.items() if other.get(k) != v} if isinstance(one, dict) else one
            parts.append(f"{part} {kept}")
    return "; ".join(parts) or "nothing"


def outcomes(service: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, list[str]]] = {}
    for name in names(service):
        for value, given in VALUES.items():
            text = outcome(service, {name: given})
            for own in (repr(str(given)), repr(str(given).lower()), str(given)):
                text = text.replace(f": {own}", ": VALUE").replace(f"profile {own}", "profile VALUE")
            found.setdefault(name, {}).setdefault(text, []).append(value)
    for given in TOGETHER:
        found[f"together {sorted(given)}"] = {outcome(service, given): []}
    found["a name that is no text"] = {outcome(service, {7: "x"}): []}
    for variable in VARIABLES:
        for value in ("http://localhost:1", "true", "FALSE"):
            with environment(**{variable: value}):
                found[f"{variable}={value}"] = {
                    outcome(service, {}): [leaves.digest(parse_options(service, {}, "p").client)]
                }
    alike: dict[str, list[str]] = {}  # names for one option
    for name, one in found.items():
        text = json.dumps({text: ", ".join(values) for text, values in one.items()})
        alike.setdefault(text, []).append(name)
    return {", ".join(found): json.loads(text) for text, found in alike.items()}


@contextmanager
def environment(**variables: str) -> Iterator[None]:
    """No variables of AWS but these."""
    before = {name: os.environ.pop(name) for name in VARIABLES if name in os.environ}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in VARIABLES:
            os.environ.pop(name, None)
        os.environ.update(before)


def all_outcomes() -> dict[str, dict[str, dict[str, str]]]:
    with environment():
        return {service: outcomes(service) for service in SERVICES}


def main() -> None:
    leaves.write(PINNED, all_outcomes())


if __name__ == "__main__":
    main()
