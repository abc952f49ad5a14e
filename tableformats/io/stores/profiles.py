"""AWS profiles: credentials and the region of ``~/.aws/credentials`` and ``~/.aws/config``.

Profiles with keys are read here. Those that get them elsewhere (SSO, a role, a process) need boto3, which is used where
it is installed. Source: AWS SDKs, "Shared config and credentials files".
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import TableFormatsError

__all__ = ["profile_settings"]

_KEYS = {
    "aws_access_key_id": "access_key_id",
    "aws_secret_access_key": "secret_access_key",
    "aws_session_token": "session_token",
    "region": "region",
    "endpoint_url": "endpoint",
}
_ELSEWHERE = ("sso_session", "sso_start_url", "role_arn", "credential_process", "web_identity_token_file")


def profile_settings(
    profile: str | None, path: str, environ: Mapping[str, str] = os.environ
) -> tuple[dict[str, str], Any]:
    """The settings of a profile, by obstore's names, and a provider of credentials where boto3 has to get them.

    Parameters
    ----------
    profile : str, optional
        None: that of ``AWS_PROFILE``, or "default", which need not exist.
    path : str
        For errors.

    Raises
    ------
    TableFormatsError
        There is no such profile, or boto3 is missing for it.
    """
    name = profile or environ.get("AWS_PROFILE") or "default"
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or "~").expanduser() / ".aws"
    sections: dict[str, str] = {}
    for variable, file, section in (
        ("AWS_CONFIG_FILE", "config", name if name == "default" else f"profile {name}"),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", name),
    ):
        sections |= _section(Path(environ.get(variable) or home / file).expanduser(), section)
    if not sections:
        if profile or environ.get("AWS_PROFILE"):
            raise TableFormatsError(
                f"there is no AWS profile {name!r}", path=path, field="profile", hint="See ~/.aws/config"
            )
        return {}, None
    found = {ours: sections[key] for key, ours in _KEYS.items() if key in sections}
    if "access_key_id" not in found and any(key in sections for key in _ELSEWHERE):
        return found, _provider(name, path)
    return found, None


def _section(file: Path, section: str) -> dict[str, str]:
    parser = configparser.RawConfigParser(strict=False)
    try:
        with open(file, encoding="utf-8") as source:
            parser.read_file(source)
    except (OSError, configparser.Error, UnicodeDecodeError):
        return {}
    return dict(parser[section]) if parser.has_section(section) else {}


def _provider(name: str, path: str) -> Any:
    try:
        import boto3
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ImportError as error:
        raise TableFormatsError(
            f"the AWS profile {name!r} gets its credentials by SSO, a role or a process, which needs boto3",
            path=path,
            field="profile",
            hint="pip install 'tableformats[s3]'",
        ) from error
    return Boto3CredentialProvider(boto3.Session(profile_name=name))
