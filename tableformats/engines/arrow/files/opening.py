"""Open the data file of a task: find the reader of its format, and number columns that carry no field ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from ....errors import CorruptMetadataError, StoreError, TableFormatsError, UnsupportedFeatureError
from ....io.stores.base import missing_file
from ....limits import Limits
from .column_tree import FileNode, numbered_as
from .data_file import ByteRange, DataFile, typed_errors

if TYPE_CHECKING:
    from ....cache.metadata_cache import MetadataCache
    from ....io.storage import Storage
    from ....io.stores.base import Tail
    from ....planning.tasks import ScanTask
    from ....plugin.columns import NameMapping

__all__ = ["missing_data_file", "open_data_file", "open_stored"]

_OpenFile = Callable[[str, pa.NativeFile, Limits], DataFile]


def _reader_of(task: ScanTask) -> _OpenFile:
    # Each reader loads a module of Arrow, or fastavro, so only the one that is needed is imported.
    if task.file_format == "parquet":
        from .parquet import ParquetFile

        return ParquetFile
    if task.file_format == "orc":
        from .orc import OrcFile

        return OrcFile
    if task.file_format == "avro":
        from .avro import AvroFile

        return AvroFile
    name = f"{task.file_format} data files"
    raise UnsupportedFeatureError(
        f"{name} are not read", path=task.path, field=name, hint="Rewrite the table in Parquet"
    )


@contextmanager
def open_data_file(
    storage: Storage, task: ScanTask, mapping: NameMapping, cache: MetadataCache | None = None
) -> Iterator[DataFile]:
    """Open the data file of ``task``, limited to the task's byte range, and close it afterwards.

    Columns of a file without field ids are numbered as ``mapping`` says. ``cache`` keeps the footers of Parquet files;
    without one each is read.

    Raises
    ------
    CorruptMetadataError
        The file is missing or damaged.
    UnsupportedFeatureError
        Its format (``field``) is not read.
    TableFormatsError
        The store refuses it.
    """
    opened = _opened(storage, task) if cache is None or task.file_format != "parquet" else _cached(storage, task, cache)
    with opened as file:
        end = task.start + task.length
        file.byte_range = ByteRange(task.start, None if end >= task.size_bytes else end)
        if mapping.by == "id" and not file.root.has_ids:
            file.root = _with_mapped_ids(file.root, mapping)
        yield file


@contextmanager
def _opened(storage: Storage, task: ScanTask) -> Iterator[DataFile]:
    reader = _reader_of(task)
    with open_stored(storage, task.path, task.size_bytes) as source:
        with typed_errors(task.path):
            file = reader(task.path, source, storage.limits)
        yield file


@contextmanager
def _cached(storage: Storage, task: ScanTask, cache: MetadataCache) -> Iterator[DataFile]:
    """A Parquet file whose footer is in the cache, or is put there."""
    from .footers import CachedFooters
    from .parquet import ParquetFile

    footers = CachedFooters(storage, cache, task.path, task.size_bytes)
    with open_stored(storage, task.path, task.size_bytes, footers.tail) as source:
        with typed_errors(task.path):
            file = ParquetFile(task.path, source, storage.limits, footers.footer_of(source))
        footers.keep(source, file.footer)
        yield file


def _with_mapped_ids(root: FileNode, mapping: NameMapping) -> FileNode:
    if mapping.names:
        return root.with_ids(mapping.names)
    return root if mapping.undropped is None else numbered_as(root, mapping.undropped) or root


def missing_data_file(path: str) -> CorruptMetadataError:
    """The error of a data file that is not there."""
    return missing_file("a data file that the table names", path)


def open_stored(storage: Storage, path: str, size: int = 0, tail: Tail | None = None) -> pa.NativeFile:
    """Open a data file that has ``size`` bytes, as the metadata say (0: they do not); ``tail`` is known of it.

    Raises
    ------
    CorruptMetadataError
        It is missing.
    TableFormatsError
        The store refuses it.
    """
    try:
        return storage.open_file(path, size, tail)
    except FileNotFoundError as error:
        raise missing_data_file(path) from error
    except StoreError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise TableFormatsError(
            f"a data file cannot be opened: {error}", path=path, hint="Check the store and its permissions"
        ) from error
