"""Write a file that only one of several writers may write, and know for certain who wrote it.

A conditional put alone does not say who won. The answer of a put that landed may be lost, and a client that then tries
again is told that the file exists. So whatever did not win is read back and compared with the bytes that were put.
"""

from __future__ import annotations

import uuid
from weakref import WeakSet

from ..errors import LimitExceededError, StoreError, StoreThrottledError, UnsupportedFeatureError
from .paths import scheme_of
from .storage import Storage
from .stores.base import ObjectStore, PutOutcome

__all__ = ["check_exclusive_puts", "put_exclusively"]

_TRIES = 3
_CHECKED: WeakSet[ObjectStore] = WeakSet()
"""The stores that refused a second put. Each opened store is asked once."""


def put_exclusively(storage: Storage, path: str, data: bytes) -> PutOutcome:
    """Write a file if there is none, and find out who wrote it.

    Parameters
    ----------
    path : str
        Absolute.
    data : bytes
        No other writer puts the same bytes: they hold an id of this attempt.

    Returns
    -------
    PutOutcome
        WON: the file holds ``data``. LOST: it holds other bytes, and ``data`` will never be there. UNKNOWN: the file
        could not be read, or nothing is there yet and the put may still arrive.

    Raises
    ------
    UnsupportedFeatureError
        The store cannot do this.
    LimitExceededError
        ``data`` is longer than a reader with these limits may read. Nothing was written.
    StoreError
        The store refused the put, and certainly nothing was written. OSError if it is local.
    """
    storage.limits.check("metadata_bytes", len(data), "bytes", path=path)
    may_arrive = False
    for _ in range(_TRIES):
        refusal: OSError | None = None
        try:
            if storage.put_if_absent(path, data) is PutOutcome.WON:
                return PutOutcome.WON
        except StoreThrottledError:
            pass  # of the last request; one before it, whose answer was lost, may be on its way
        except OSError as error:
            refusal = error
        if (found := _read_back(storage, path, data)) is not None and found is not PutOutcome.UNKNOWN:
            return found
        if refusal is not None and not may_arrive:
            raise refusal
        if found is PutOutcome.UNKNOWN or refusal is not None:
            return PutOutcome.UNKNOWN
        may_arrive = True  # nothing landed so far: the same bytes may be put again
    return PutOutcome.UNKNOWN


def _read_back(storage: Storage, path: str, data: bytes) -> PutOutcome | None:
    """Whose bytes the file has. None: there is no file; UNKNOWN: it could not be read."""
    try:
        found = storage.read_bytes(path)
    except FileNotFoundError:
        return None
    except LimitExceededError:
        return PutOutcome.LOST  # what is there is longer than ``data``
    except OSError:
        return PutOutcome.UNKNOWN
    return PutOutcome.WON if found == data else PutOutcome.LOST


def check_exclusive_puts(storage: Storage, directory: str) -> None:
    """Refuse a store that lets two writers write one file: a conditional put must fail where a file is.

    Some stores that speak S3's protocol ignore its conditions. A store is asked once for each :class:`Storage`; local
    file systems are not asked, because a hard link says itself whether it was made.

    Parameters
    ----------
    directory : str
        Absolute. A file with a random name is written there and deleted.

    Raises
    ------
    UnsupportedFeatureError
        The store has no conditional put, or ignores its condition.
    StoreError
        The store failed, so that nothing is known of it.
    """
    if scheme_of(directory) is None or (store := storage.store_of(directory)) in _CHECKED:
        return
    path = f"{directory}/.{uuid.uuid4()}.probe"
    storage.put(path, b"first " + uuid.uuid4().bytes)  # whose error names a fault of the store, where it has one
    try:
        second = put_exclusively(storage, path, b"second " + uuid.uuid4().bytes)
    finally:
        storage.delete(path)
    if second is PutOutcome.WON:
        raise UnsupportedFeatureError(
            "the store writes over a file that a conditional put must leave alone",
            path=directory,
            field="put_if_absent",
            hint="Write to a store that obeys If-None-Match; concurrent writers would lose commits here",
        )
    if second is PutOutcome.UNKNOWN:
        raise StoreError("the store did not say whether it has conditional puts", path=directory)
    _CHECKED.add(store)
