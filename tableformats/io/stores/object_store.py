"""S3, GCS, Azure and HTTP by obstore: time limits and retries are its own, set by the options."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...errors import (
    CorruptMetadataError,
    StoreConnectionError,
    StoreError,
    StoreTimeoutError,
    TableFormatsError,
    UnsupportedFeatureError,
)
from ...runtime.io_threads import SMALL_BYTES, Finish, raising
from ...runtime.optional import required
from ..redaction import Redactor, without_credentials
from . import answers
from .addresses import Address
from .base import Concurrency, FileInfo, ObjectStore, PutOutcome, Tail, TooLongError, past_the_end, replaced
from .faults import fault_of, not_of_a_store
from .forks import check_not_forked
from .options import StoreOptions, parse_options

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Client

__all__ = ["ObstoreStore", "complete_s3_options", "open_object_store"]

_PAGE = 1000
_NO_SUFFIX_RANGES = ("azure",)
"""Azure answers no ranges that count from the end."""
_AZURE_HOST = ".core.windows.net"


def open_object_store(address: Address, given: Mapping[str, Any], redactor: Redactor) -> ObstoreStore:
    """Open the store at ``address`` with ``storage_options``; no request is sent.

    Raises
    ------
    TableFormatsError
        An option is unknown or wrong.
    """
    options = parse_options(address.service, given, address.root)
    provider = None
    if address.service == "s3":
        provider = complete_s3_options(options, address.root)
    elif address.service == "azure":
        _with_account(options, address)
    elif address.root.startswith("http://"):  # as the location says
        options.client["allow_http"] = "true"
    try:
        client = _client(address, options, provider)
    except TableFormatsError:
        raise
    except Exception as error:
        path = redactor.redact(without_credentials(address.root))
        if "Account must be specified" in str(error):
            raise TableFormatsError(
                "nothing names the Azure account",
                path=path,
                field="account_name",
                hint="Write abfss://container@account.dfs.core.windows.net/path, or give account_name",
            ) from None
        redactor.redact_error(error)
        raise TableFormatsError(
            f"the store cannot be opened: {str(error).splitlines()[0]}",
            path=path,
            hint="Check storage_options; docs/stores.md lists them",
        ) from None
    is_anonymous = options.config.get("skip_signature") == "true"
    return ObstoreStore(client, address, redactor, options.concurrency, is_anonymous)


def complete_s3_options(options: StoreOptions, path: str) -> Any:
    """Take what the options and the environment lack from an AWS profile; the provider of its credentials, if any.

    Raises
    ------
    TableFormatsError
        There is no such profile, or boto3 is missing for it.
    """
    config = options.config
    environment = os.environ if options.profile is None else {}
    has_keys = "access_key_id" in config or "skip_signature" in config or "AWS_ACCESS_KEY_ID" in environment
    if options.profile is None and has_keys and "region" in config:
        return None
    from .profiles import profile_settings  # most tables name their keys

    settings, provider = profile_settings(options.profile, path)
    for name, value in settings.items():
        is_key = name in ("access_key_id", "secret_access_key", "session_token")
        if not (has_keys if is_key else f"AWS_{name.upper()}" in environment):
            config.setdefault(name, value)
    return None if has_keys else provider


def _with_account(options: StoreOptions, address: Address) -> None:
    """Take the account and the host from the location. Raises TableFormatsError where the options name another."""
    given = options.config.get("account_name", "").lower()
    if given and address.host.endswith(_AZURE_HOST) and address.account.lower() != given:
        raise TableFormatsError(
            f"the location names the Azure account {address.account!r}, and the options another one",
            path=without_credentials(address.root),
            field="account_name",
            hint="Give the options of the account that the location names",
        )
    if address.account:
        options.config.setdefault("account_name", address.account)
    if address.host.endswith("fabric.microsoft.com"):
        options.config.setdefault("use_fabric_endpoint", "true")
    elif "." in address.host and not address.host.endswith(_AZURE_HOST):
        options.config.setdefault("endpoint", f"https://{address.host.replace('.dfs.', '.blob.')}")


def _client(address: Address, options: StoreOptions, provider: Any) -> Client:
    required("obstore", f"{address.root.partition('://')[0]}://", "obstore")
    check_not_forked(address.root)
    from obstore import store

    common: dict[str, Any] = {"client_options": options.client, "retry_config": options.retry}
    config: Any = options.config
    if address.service == "s3":
        return store.S3Store(address.bucket, config=config, credential_provider=provider, **common)
    if address.service == "gcs":
        return store.GCSStore(address.bucket, config=config, **common)
    if address.service == "azure":
        return store.AzureStore(address.bucket, config=config, **common)
    return store.HTTPStore.from_url(address.bucket, **common)


class ObstoreStore(ObjectStore):
    """One bucket, container or host, through an obstore client. It is safe in several threads."""

    def __init__(
        self,
        client: Client,
        address: Address,
        redactor: Redactor,
        concurrency: Concurrency,
        is_anonymous: bool = False,
    ) -> None:
        self._opened = client
        self._address = address
        self._redactor = redactor
        self.concurrency = concurrency
        self._is_anonymous = is_anonymous
        answers.prepare(concurrency.threads)

    def __repr__(self) -> str:
        return f"ObstoreStore({without_credentials(self._address.root)!r})"

    @property
    def _client(self) -> Client:
        check_not_forked(self._address.root)
        return self._opened

    def __reduce__(self) -> Any:
        raise TypeError("a store may hold credentials and is not pickled")

    def _fault(self, error: BaseException, path: str) -> Exception:
        return fault_of(error, path, self._redactor, self._is_anonymous)

    def pages(self, directory: str, start_after: str | None = None) -> Iterator[list[FileInfo]]:
        """See :meth:`ObjectStore.pages`."""
        prefix = self._prefix(directory)
        stream = self._stream(prefix, None if start_after is None else prefix + start_after)
        return self._directly_in(prefix, self._pages_of(directory, stream))

    def begin_pages(self, directory: str, finish: Finish[Iterator[list[FileInfo]]]) -> None:
        """See :meth:`ObjectStore.begin_pages`."""
        prefix = self._prefix(directory)
        stream = self._stream(prefix)

        def take(first: Callable[[], Any]) -> None:
            finish(lambda: self._directly_in(prefix, self._pages_of(directory, stream, first)))

        answers.begin_request(stream.__anext__, take)

    def below(self, directory: str) -> Iterator[list[FileInfo]]:
        """See :meth:`ObjectStore.below`."""
        for page in self._pages_of(directory, self._stream(self._prefix(directory))):
            yield [self._info(meta) for meta in page]

    def _prefix(self, directory: str) -> str:
        key = self._address.key(directory)
        return f"{key}/" if key else ""

    def _stream(self, prefix: str, offset: str | None = None) -> Any:
        import obstore

        return obstore.list(self._client, prefix or None, offset=offset, chunk_size=_PAGE)

    def _pages_of(self, directory: str, stream: Any, first: Callable[[], Any] | None = None) -> Iterator[Sequence[Any]]:
        """The pages of ``stream``, of which ``first`` gives the one that was taken already."""
        try:
            if first is not None:
                yield first()
            yield from stream
        except StopAsyncIteration:  # there is no first one
            return
        except Exception as error:
            raise self._fault(error, directory) from None

    def _directly_in(self, prefix: str, pages: Iterator[Sequence[Any]]) -> Iterator[list[FileInfo]]:
        for page in pages:
            yield [self._info(meta) for meta in page if "/" not in meta["path"][len(prefix) :]]

    def _info(self, meta: Any) -> FileInfo:
        key = meta["path"]
        return FileInfo(
            posixpath.basename(key),
            f"{self._address.root}/{key}",
            meta["size"],
            round(meta["last_modified"].timestamp() * 1000),
        )

    def get(
        self, path: str, offset: int = 0, length: int | None = None, limit: int | None = None, etag: str | None = None
    ) -> memoryview:
        """See :meth:`ObjectStore.get`."""
        import obstore

        if length == 0:
            return memoryview(b"")
        if limit is not None and length is not None and length > limit:
            raise TooLongError(length)
        wanted: Any = None
        if length is not None:
            wanted = {"range": (offset, offset + length)}
        elif offset:
            wanted = {"range": {"offset": offset}}
        try:
            answer = obstore.get(self._client, self._address.key(path), options=wanted)
            start, stop = answer.range
            if limit is not None and stop - start > limit:
                raise TooLongError(stop - start)
            if etag is not None and answer.meta["e_tag"] not in (etag, None):
                raise replaced(path)
            data = memoryview(answer.bytes())
        except (TooLongError, CorruptMetadataError):
            raise
        except Exception as error:
            found = self._fault(error, path)
            if isinstance(found, StoreError) and found.status == 416:
                raise past_the_end(path, offset, length or 0, self.head(path).size) from None
            raise found from None
        if length is not None and len(data) != length:
            raise past_the_end(path, offset, length, answer.meta["size"])
        return data

    def begin_get(self, path: str, size: int, limit: int, finish: Finish[memoryview]) -> None:
        """See :meth:`ObjectStore.begin_get`.

        A small file is asked for as a range that is longer by a byte: of a range obstore gives the bytes at once, of a
        file first an answer that can be asked for them. What does not fit is asked for again, in the general way.
        """
        import obstore

        if self._address.service == "http" or not 0 < size <= min(SMALL_BYTES, limit):
            super().begin_get(path, size, limit, finish)
            return
        wanted = partial(obstore.get_range_async, self._client, self._address.key(path), start=0, length=size + 1)
        answers.begin_request(wanted, partial(self._finish_get, path, size, limit, finish))

    def _finish_get(
        self, path: str, size: int, limit: int, finish: Finish[memoryview], answer: Callable[[], Any]
    ) -> None:
        try:
            data = memoryview(answer())
        except BaseException as error:
            fault = self._fault(error, path)
            if type(fault) is not StoreError or fault.status not in (None, 416):  # else it is empty, or has no ranges
                finish(partial(raising, fault))
                return
        else:
            if len(data) <= size:
                finish(lambda: data)
                return
        try:
            super().begin_get(path, size, limit, finish)
        except RuntimeError as error:  # the system has no thread left
            finish(partial(raising, error))

    def get_ranges(self, path: str, ranges: Sequence[tuple[int, int]]) -> list[memoryview]:
        """See :meth:`ObjectStore.get_ranges`."""
        import obstore

        if not ranges:
            return []
        starts = [offset for offset, _ in ranges]
        lengths = [length for _, length in ranges]
        try:
            found = obstore.get_ranges(self._client, self._address.key(path), starts=starts, lengths=lengths)
        except Exception as error:
            raise self._fault(error, path) from None
        return [memoryview(data) for data in found]

    def tail(self, path: str, length: int) -> Tail:
        """See :meth:`ObjectStore.tail`."""
        import obstore

        if self._address.service in _NO_SUFFIX_RANGES:
            known = self._head(path)
            size, etag = known["size"], known["e_tag"]
            return Tail(self.get(path, max(size - length, 0), min(length, size), etag=etag), size, etag)
        try:
            answer = obstore.get(self._client, self._address.key(path), options={"range": {"suffix": length}})
            # Several hosts behind one name may each have an ETag of their own.
            etag = None if self._address.service == "http" else answer.meta["e_tag"]
            return Tail(memoryview(answer.bytes()), answer.meta["size"], etag)
        except Exception as error:
            found = self._fault(error, path)
            if isinstance(found, StoreError) and found.status == 416:  # the file is empty
                return Tail(memoryview(b""), self.head(path).size)
            raise found from None

    def head(self, path: str) -> FileInfo:
        """See :meth:`ObjectStore.head`."""
        return self._info(self._head(path))

    def _head(self, path: str) -> Any:
        import obstore

        if not self._address.key(path):  # the bucket itself, which stores answer for
            raise FileNotFoundError(2, "There is no such file", path)
        try:
            found = obstore.head(self._client, self._address.key(path))
        except Exception as error:
            raise self._fault(error, path) from None
        if found["e_tag"] is None and self._address.service != "http":
            raise not_of_a_store(path)
        return found

    def has_files_below(self, directory: str) -> bool:
        """See :meth:`ObjectStore.has_files_below`."""
        import obstore

        key = self._address.key(directory)
        try:
            pages = iter(obstore.list(self._client, f"{key}/" if key else None, chunk_size=1))
            return bool(next(pages, None))
        except Exception as error:
            raise self._fault(error, directory) from None

    def put(self, path: str, data: bytes | memoryview) -> None:
        """See :meth:`ObjectStore.put`."""
        import obstore

        try:
            # obstore takes a view's bytes only where they are unsigned, which those of Arrow's buffers are not.
            view = memoryview(data).cast("B")
            obstore.put(self._client, self._address.key(path), view, use_multipart=False)
        except Exception as error:
            raise self._fault(error, path) from None

    def put_if_absent(self, path: str, data: bytes) -> PutOutcome:
        """See :meth:`ObjectStore.put_if_absent`."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, NotSupportedError, PreconditionError

        try:
            obstore.put(self._client, self._address.key(path), data, mode="create", use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            return PutOutcome.LOST
        except (NotSupportedError, NotImplementedError):
            raise UnsupportedFeatureError(
                "the store has no conditional put", path=path, field="put_if_absent", hint="Write to another store"
            ) from None
        except Exception as error:
            fault = self._fault(error, path)
            is_lost = isinstance(fault, (StoreTimeoutError, StoreConnectionError))
            if is_lost or (isinstance(fault, StoreError) and (fault.status or 0) >= 500):
                return PutOutcome.UNKNOWN
            raise fault from None
        return PutOutcome.WON

    def delete(self, path: str) -> None:
        """See :meth:`ObjectStore.delete`."""
        import obstore

        try:
            obstore.delete(self._client, self._address.key(path))
        except FileNotFoundError:
            return
        except Exception as error:
            raise self._fault(error, path) from None

    def list(self, directory: str) -> Sequence[FileInfo]:
        """See :meth:`ObjectStore.list`."""
        import obstore

        try:
            found = obstore.list_with_delimiter(self._client, self._address.key(directory) or None)["objects"]
        except Exception as error:
            raise self._fault(error, directory) from None
        return sorted((self._info(meta) for meta in found), key=lambda info: info.name)
