"""Faults of catalogs as typed errors, from the errors of the libraries that speak to them.

The libraries are optional, so their errors are known by the names of their classes. The words of an error are never
taken over: they may hold the catalog's configuration, and so credentials.
"""

from __future__ import annotations

from ..errors import (
    CatalogConnectionError,
    CatalogError,
    CatalogPermissionError,
    MissingExtraError,
    TableFormatsError,
)

__all__ = ["catalog_fault", "missing_extra"]

_REFUSED = frozenset(
    [
        "UnauthorizedError",
        "ForbiddenError",
        "AuthorizationExpiredError",
        "OAuthError",
        "NoCredentialsError",
        "NoAuthHandlerFound",
        "PartialCredentialsError",
        "CredentialRetrievalError",
        "TokenRetrievalError",
        "Unauthorized",
        "Forbidden",
        "RefreshError",
        "DefaultCredentialsError",
        "UnauthorizedSSOTokenError",
        "ProfileNotFound",
    ]
)
_REFUSED_CODES = (
    "AccessDenied",
    "UnrecognizedClient",
    "ExpiredToken",
    "InvalidClientToken",
    "Signature",
    "AuthFailure",
)
_UNREACHABLE = frozenset(
    [
        "ConnectionError",
        "ConnectTimeout",
        "ReadTimeout",
        "Timeout",
        "TimeoutError",
        "SSLError",
        "TTransportException",
        "OperationalError",
        "EndpointConnectionError",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "ConnectionClosedError",
        "ServiceUnavailableError",
        "ServerError",
        "TooManyRequestsError",
        "TooManyRequests",
        "ServiceUnavailable",
        "InternalServerError",
        "ChunkedEncodingError",
        "RetryError",
        "TransportError",
    ]
)
_OVERLOADED = ("rateLimitExceeded", "quotaExceeded", "backendError")
"""Google's reasons, some of which come with the status of a refusal."""
_EXTRAS = {"boto3": "glue", "botocore": "glue"}
_OF_PYICEBERG = {"sqlalchemy": "sql-sqlite", "thrift": "hive", "hive_metastore": "hive", "google": "bigquery"}

_PACKAGES = {"google": "google-cloud-bigquery"}
"""What has a module whose name does not tell."""


def catalog_fault(error: BaseException, catalog: str, path: str | None = None) -> TableFormatsError:
    """The typed error for what a library raised.

    Parameters
    ----------
    catalog : str
        The catalog's name.
    path : str, optional
        The identifier that was asked for.
    """
    if isinstance(error, TableFormatsError):
        return error
    names = {cls.__name__ for cls in type(error).__mro__}
    if isinstance(error, ImportError) or "NotInstalledError" in names:
        return missing_extra(error, catalog)
    what = type(error).__name__
    code = _code_of(error)
    if code in _OVERLOADED:
        return CatalogConnectionError(f"catalog {catalog!r} does not answer: {code}", path=path, catalog=catalog)
    if names & _REFUSED or code.startswith(_REFUSED_CODES):
        return CatalogPermissionError(
            f"catalog {catalog!r} refused the credentials: {code or what}", path=path, catalog=catalog
        )
    if names & _UNREACHABLE:
        return CatalogConnectionError(f"catalog {catalog!r} does not answer: {what}", path=path, catalog=catalog)
    return CatalogError(f"catalog {catalog!r} does not give an answer: {code or what}", path=path, catalog=catalog)


def missing_extra(error: BaseException, catalog: str) -> MissingExtraError:
    """The error for a library that is not installed."""
    known = error.__cause__ if type(error).__name__ == "NotInstalledError" else error
    module = (getattr(known, "name", None) or "pyiceberg").partition(".")[0]
    extra = _EXTRAS.get(module, "catalogs")
    install = f"pip install 'tableformats[{extra}]'"
    if module in _OF_PYICEBERG:
        install = f"pip install 'pyiceberg[{_OF_PYICEBERG[module]}]'"
    package = _PACKAGES.get(module, module)
    return MissingExtraError(
        f"catalog {catalog!r} needs {package}, which is not installed", field=extra, hint=install, name=module
    )


def _code_of(error: BaseException) -> str:
    """The service's own name of the fault, where botocore's error has one, or Google's."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        found = response.get("Error", {}).get("Code", "")
    else:
        said = getattr(error, "errors", None)
        first = said[0] if isinstance(said, (list, tuple)) and said else None
        found = first.get("reason", "") if isinstance(first, dict) else ""
    return str(found) if str(found).isidentifier() else ""
