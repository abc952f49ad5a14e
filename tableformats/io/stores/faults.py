"""What stores answer, as typed errors: who refused, with which status and request id, and what to do.

A fault of the store says nothing of the table. So it is never CorruptMetadataError, and no hint says to change a file.
The text of a store's client is not repeated, because it shows signed URLs and whole answers; only the facts are taken
from it.
"""

from __future__ import annotations

import re
from typing import Any

from ...errors import (
    StoreConnectionError,
    StoreError,
    StorePermissionError,
    StoreThrottledError,
    StoreTimeoutError,
    TableFormatsError,
)
from ...lazy_pattern import lazy_pattern
from ..paths import authority_of
from ..redaction import Redactor

__all__ = ["fault_of", "is_missing", "not_of_a_store"]

_STATUS = lazy_pattern(r"status code: (\d{3})")
_CODE = lazy_pattern(r"<Code>([A-Za-z0-9_.-]{1,80})</Code>")
_ARROW_CODE = lazy_pattern(r"AWS Error ([A-Z_]+)")
_REQUEST_ID = lazy_pattern(r"<RequestId>([A-Za-z0-9_./+=-]{1,120})</RequestId>|RequestId:([A-Za-z0-9-]{8,64})")
_KIND = lazy_pattern(r"kind: (Timeout|Connect|Interrupted|Body|Decode|Request|Builder)\b|(TimedOut)|(BadScheme)")
_NO_STORE = lazy_pattern(r"[Ii]nvalid list (response|result)|<!doctype html|<html", re.IGNORECASE)
"""A page instead of an answer: what obstore says of it, or the page itself."""
_URL = lazy_pattern(r"(https?://)(?:[^/\s@]*@)?([A-Za-z0-9._:\[\]-]+)")
_METADATA_SERVICE = lazy_pattern(r"169\.254\.169\.254|169\.254\.170\.2|metadata\.google\.internal|metadata/identity")

_REGION = "Give the bucket's region with aws_region or AWS_REGION"
_BUCKETS = "Check the bucket's name, the account and the endpoint"
_KEYS = "Check the access key and the secret in storage_options, the environment or the profile"
_RENEW = "The credentials have expired: get new ones and open the table again"
_BY_CODE: dict[str, tuple[type[StoreError], str, str]] = {
    "NoSuchBucket": (StoreError, "there is no such bucket", _BUCKETS),
    "ContainerNotFound": (StoreError, "there is no such container", _BUCKETS),
    "ExpiredToken": (StorePermissionError, "the credentials have expired", _RENEW),
    "TokenRefreshRequired": (StorePermissionError, "the credentials have expired", _RENEW),
    "RequestTimeTooSkewed": (StorePermissionError, "this machine's clock is off", "Set the clock"),
    "InvalidAccessKeyId": (StorePermissionError, "the store does not know the access key", _KEYS),
    "SignatureDoesNotMatch": (StorePermissionError, "the secret does not belong to the access key", _KEYS),
    "AuthorizationHeaderMalformed": (StoreError, "the request was signed for another region", _REGION),
    "PermanentRedirect": (StoreError, "the bucket is in another region", _REGION),
}
_ANONYMOUS = "No credentials were found: give them in storage_options or the environment, or read a public bucket with "
_ANONYMOUS += "aws_skip_signature=true (google_skip_signature, azure_skip_signature)"
_NOT_PUBLIC = "Leave out the option that signs no requests (skip_signature, anon), and give credentials"
_ENDPOINT = "Check the endpoint: host and port are those of the store's API, not of its web pages"
_NO_FOLDERS = "Open a file instead, such as a metadata.json, or a server that answers PROPFIND"
_REFUSED = "the store refused the request"
_FAILED = "the store failed"
_HTTP = "The endpoint is http: allow that with allow_http=true, or give an https endpoint"


def is_missing(error: BaseException) -> bool:
    """Whether an error of a store means that there is no such file; a missing bucket is something else."""
    return isinstance(error, FileNotFoundError) and _code_of(error) not in ("NoSuchBucket", "ContainerNotFound")


def fault_of(
    error: BaseException, path: str, redactor: Redactor | None = None, is_anonymous: bool = False
) -> Exception:
    """The error to raise in place of what a client of a store raised.

    Parameters
    ----------
    error : BaseException
        Of obstore, pyarrow, fsspec or a library below it.
    path : str
        What was asked for: absolute, without credentials.
    redactor : Redactor, optional
        Replaces what is secret in a message of the store.
    is_anonymous : bool
        Whether the request was sent without credentials because the options say so.
    """
    if isinstance(error, TableFormatsError):
        return error
    if redactor:
        redactor.redact_error(error)  # it stays the cause
    if is_missing(error):
        return FileNotFoundError(2, "There is no such file", path)
    status, code = _status_of(error), _code_of(error)
    kind, what, hint = _judged(error, status, code)
    if is_anonymous and what == _REFUSED:
        what, hint = "the store does not let everyone read this", _NOT_PUBLIC
    named = " ".join(str(part) for part in (status, code) if part)
    if hint == _ENDPOINT and path.startswith("http"):
        what, hint = "the web server lists no folders", _NO_FOLDERS
    request_id = _request_id_of(error)
    told = f" (request {request_id})" if request_id else ""
    message = f"{what}: {named}{told}" if named else f"{what}{told}"
    if what == _FAILED and not named:
        message += f": {_first_line(error, redactor)}"
    bucket = authority_of(path) or None
    return kind(message, path=path, hint=hint, bucket=bucket, status=status, code=code, request_id=request_id)


def not_of_a_store(path: str) -> StoreError:
    """The error for an answer that no object store gives: without an ETag, such as a web page with status 200."""
    message = "the endpoint does not answer as a store does: it gives no ETag"
    return StoreError(message, path=path, hint=_ENDPOINT, bucket=authority_of(path) or None)


def _judged(error: BaseException, status: int | None, code: str | None) -> tuple[type[StoreError], str, str | None]:
    """The type, what happened, and the hint (None: the type's own)."""
    text = str(error)
    kinds = {part for found in _KIND.findall(text) for part in found if part}
    if _METADATA_SERVICE.search(text):
        return StorePermissionError, "the store needs credentials", _ANONYMOUS
    if code in _BY_CODE:
        return _BY_CODE[code]
    if status in (401, 403) or isinstance(error, PermissionError):
        return StorePermissionError, _REFUSED, None
    if status in (429, 503) or code in ("SlowDown", "SLOW_DOWN", "ServerBusy"):
        return StoreThrottledError, "the store asked for fewer requests", None
    if "redirect without LOCATION" in text:  # how Amazon's store answers for a bucket of another region
        return _BY_CODE["PermanentRedirect"]
    if status in (301, 307, 308):
        return StoreError, "the store is at another address", _REGION
    if (status in (404, 405, 501) and code is None) or _NO_STORE.search(text):
        return StoreError, "the endpoint does not answer as a store does", _ENDPOINT
    if status is not None and status not in (408, 504):
        return StoreError, _FAILED, None
    if status is not None or isinstance(error, TimeoutError) or kinds & {"Timeout", "TimedOut"}:
        return StoreTimeoutError, "the store did not answer in time", None
    if "BadScheme" in kinds:
        return StoreError, "the endpoint has no TLS", _HTTP
    if "Connect" in kinds:
        return StoreConnectionError, f"the store cannot be reached{_asked_of(text)}", None
    if isinstance(error, ConnectionError) or kinds or "connection" in text.lower():
        return StoreConnectionError, "the connection to the store broke", None
    return StoreError, _FAILED, None


def _asked_of(text: str) -> str:
    """The scheme, host and port of the first URL in a client's text. Its user, path and query may be secret."""
    match = _URL.search(text)
    return f" at {match[1]}{match[2]}" if match else ""


def _status_of(error: BaseException) -> int | None:
    """The HTTP status: an attribute of fsspec's libraries, or in the text of obstore."""
    response: Any = getattr(error, "response", None)
    if isinstance(response, dict):
        response = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    else:
        response = getattr(response, "status_code", None)
    for found in (response, getattr(error, "status", None), getattr(error, "status_code", None)):
        if isinstance(found, int):
            return found
    match = _STATUS.search(str(error))
    return int(match[1]) if match else None


def _code_of(error: BaseException) -> str | None:
    response = getattr(error, "response", None)
    if isinstance(response, dict) and isinstance(found := response.get("Error", {}).get("Code"), str):
        return found
    match = _CODE.search(str(error)) or _ARROW_CODE.search(str(error))
    return match[1] if match else None


def _request_id_of(error: BaseException) -> str | None:
    response = getattr(error, "response", None)
    if isinstance(response, dict) and isinstance(found := response.get("ResponseMetadata", {}).get("RequestId"), str):
        return found
    match = _REQUEST_ID.search(str(error))
    return (match[1] or match[2]) if match else None


def _first_line(error: BaseException, redactor: Redactor | None) -> str:
    text = (str(error) or type(error).__name__).splitlines()[0].split("Debug source")[0][:200]
    return redactor.redact(text) if redactor else text
