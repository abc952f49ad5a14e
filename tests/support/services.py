"""Servers of others for tests, each in a process of its own on the loopback; they skip where they are not installed.

``AZURITE`` and ``FAKE_GCS_SERVER`` may name the programs where they are not on the path.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

__all__ = [
    "AZURITE_KEY",
    "Store",
    "free_port",
    "gcs_upload",
    "running_azurite",
    "running_fake_gcs",
    "running_moto",
    "upload",
]

Store = tuple[str, dict[str, Any]]
"""A bucket or container, and the options that open it."""
AZURITE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@contextmanager
def running_azurite(folder: Path, certificate: Path | None = None) -> Iterator[Store]:
    """Azurite, Microsoft's emulator of Azure Blob Storage (``npm install -g azurite``).

    ``certificate``: a folder with ``cert.pem`` and ``key.pem``, for TLS.
    """
    program = os.environ.get("AZURITE") or shutil.which("azurite-blob")
    if program is None:
        pytest.skip("Azurite is not installed: npm install -g azurite, or name azurite-blob in AZURITE")
    port = free_port()
    command = [program, "--silent", "--skipApiVersionCheck", "--blobPort", str(port), "--location", str(folder)]
    endpoint = f"http://127.0.0.1:{port}/devstoreaccount1"
    options = {"account_name": "devstoreaccount1", "account_key": AZURITE_KEY, "endpoint": endpoint}
    if certificate is not None:
        command += ["--cert", str(certificate / "cert.pem"), "--key", str(certificate / "key.pem")]
        options["endpoint"] = endpoint = endpoint.replace("http", "https", 1)
        options["allow_invalid_certificates"] = "true"
    with _running(command, endpoint):
        _make_azure_container(endpoint)
        yield "az://bucket", options


@contextmanager
def running_fake_gcs() -> Iterator[Store]:
    """fake-gcs-server, an emulator of Google Cloud Storage in Go. It takes files by the JSON API alone."""
    program = os.environ.get("FAKE_GCS_SERVER") or shutil.which("fake-gcs-server")
    if program is None:
        pytest.skip("fake-gcs-server is not installed: go install github.com/fsouza/fake-gcs-server@latest")
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    command = [program, "-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    command += ["-external-url", endpoint, "-public-host", f"127.0.0.1:{port}"]
    with _running(command, f"{endpoint}/storage/v1/b"):
        body = json.dumps({"name": "bucket"}).encode()
        request = urllib.request.Request(f"{endpoint}/storage/v1/b", body, {"Content-Type": "application/json"})
        _open(request)
        yield "gs://bucket", {"base_url": endpoint, "bearer_token": "anybody"}


def gcs_upload(store: Store) -> str:
    """Where fake-gcs-server takes a file, if the file's name is added and the content is posted."""
    return f"{store[1]['base_url']}/upload/storage/v1/b/bucket/o?uploadType=media&name="


def upload(store: Store, name: str, data: bytes) -> None:
    """Put a file into the bucket of fake-gcs-server."""
    _open(urllib.request.Request(gcs_upload(store) + quote(name, safe=""), data))


@contextmanager
def running_moto() -> Iterator[Store]:
    """moto, an S3 server in Python, with a bucket; it obeys ``If-None-Match``."""
    boto3 = pytest.importorskip("boto3", reason="needs moto[server]")
    server = pytest.importorskip("moto.server", reason="needs moto[server]")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "t3stingSecret"}
    endpoint = f"http://{host}:{port}"
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", **keys).create_bucket(Bucket="bucket")
    try:
        yield "s3://bucket", {**keys, "aws_endpoint": endpoint, "aws_region": "us-east-1", "aws_allow_http": "true"}
    finally:
        running.stop()


@contextmanager
def _running(command: list[str], url: str) -> Iterator[None]:
    """A server, from when it answers at ``url``."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(process, url)
        yield
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(process: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            _open(url, timeout_s=2)
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    pytest.skip(f"{url} does not answer")


def _open(request: str | urllib.request.Request, timeout_s: float = 10) -> None:
    """Send a request, to a server whose certificate may be its own."""
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    urllib.request.urlopen(request, timeout=timeout_s, context=trusting).close()


def free_port() -> int:
    """A port of the loopback that nobody uses now."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def _make_azure_container(endpoint: str) -> None:
    """Send ``Create Container``, signed as "Authorize with Shared Key" says."""
    date, version = formatdate(usegmt=True), "2020-10-02"
    resource = "/devstoreaccount1/devstoreaccount1/bucket\nrestype:container"
    text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{version}\n{resource}"
    digest = hmac.new(base64.b64decode(AZURITE_KEY), text.encode(), hashlib.sha256).digest()
    headers = {
        "x-ms-date": date,
        "x-ms-version": version,
        "Authorization": f"SharedKey devstoreaccount1:{base64.b64encode(digest).decode()}",
    }
    request = urllib.request.Request(f"{endpoint}/bucket?restype=container", headers=headers, method="PUT")
    _open(request)
