"""What became of a request to a catalog of AWS, told by the answer that boto3 raises."""

from __future__ import annotations

from collections.abc import Callable

from ...io.stores.base import PutOutcome

__all__ = ["attempted"]

_UNKNOWN = ("InternalServiceException", "OperationTimeoutException", "InternalFailure", "ServiceUnavailable")


def attempted(write: Callable[[], object], lost: tuple[str, ...]) -> PutOutcome:
    """What became of ``write``. Errors that say that nothing was done are raised.

    ``lost``: the codes of answers that say that another writer was first.
    """
    try:
        write()
    except Exception as error:
        response = getattr(error, "response", None)
        if not isinstance(response, dict):  # no answer, or none that could be read
            return PutOutcome.UNKNOWN
        code = str(response.get("Error", {}).get("Code", ""))
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code in lost:
            return PutOutcome.LOST
        if code in _UNKNOWN or status >= 500:
            return PutOutcome.UNKNOWN
        raise
    return PutOutcome.WON
