"""Send a scan, and parts of its metadata, to another process without credentials.

Only the state of the snapshot that reading needs is sent (:meth:`tableformats.plugin.FormatSnapshot.__getstate__`). A
:class:`Storage` is never sent: the process that unpacks a scan opens its own, with credentials that it got separately.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ....dataclass import dataclass
from ....errors import UnsupportedFeatureError
from ....io.storage import Storage
from ....limits import DEFAULT_LIMITS, Limits
from ....planning.request import ScanRequest
from ....plugin.files import MetadataPart

if TYPE_CHECKING:
    from ....plugin.snapshot import FormatSnapshot

__all__ = ["Access", "PackedScan", "pack_parts", "pack_scan", "unpack_parts", "unpack_scan"]

_STORAGE, _SNAPSHOT = "storage", "snapshot"


@dataclass(frozen=True)
class Access:
    """What another process needs to open the table's store. It may hold credentials, which no repr shows."""

    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    allow_paths: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True)
class PackedScan:
    """A packed scan, for :func:`unpack_scan`. It can be pickled and holds no credentials."""

    format: str
    root: str
    moves: Mapping[str, str]
    data: bytes = field(repr=False)


def pack_scan(scan: ScanRequest) -> PackedScan:
    """``scan`` in a form that can be sent to another process."""
    out = io.BytesIO()
    _Pickler(out, pickle.HIGHEST_PROTOCOL).dump(scan.detached())
    storage = scan.snapshot.storage
    return PackedScan(scan.snapshot.table_format, storage.root, storage.moves, out.getvalue())


def unpack_scan(packed: PackedScan, access: Access) -> ScanRequest:
    """The scan, to read planned tasks (:func:`tableformats.engines.arrow.read_tasks`) or to prune parts of the metadata
    (:func:`tableformats.planning.planner.prune_parts`). It cannot plan, and it caches nothing.
    """
    storage = Storage(packed.root, access.storage_options, access.allow_paths, access.limits)
    for old, new in packed.moves.items():
        storage.relocate(old, new)
    scan = _Unpickler(io.BytesIO(packed.data), {_STORAGE: storage}).load()
    assert isinstance(scan, ScanRequest)
    return scan


def pack_parts(scan: ScanRequest, parts: Sequence[tuple[int, MetadataPart]]) -> bytes:
    """Parts of the scan's snapshot, each with its number, for processes that have the scan.

    Raises
    ------
    UnsupportedFeatureError
        The format's parts hold objects that cannot be pickled.
    """
    out = io.BytesIO()
    try:
        _Pickler(out, pickle.HIGHEST_PROTOCOL, scan.snapshot.format_snapshot).dump([*parts])
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise UnsupportedFeatureError(
            f"the metadata of {scan.snapshot.table_format} tables cannot be read by other processes: {error}",
            path=scan.snapshot.location,
            field="engine",
            hint="Plan without an engine",
        ) from error
    return out.getvalue()


def unpack_parts(scan: ScanRequest, data: bytes) -> Sequence[tuple[int, MetadataPart]]:
    """The parts, for an unpacked ``scan``."""
    local_objects = {_STORAGE: scan.snapshot.storage, _SNAPSHOT: scan.snapshot.format_snapshot}
    parts: Sequence[tuple[int, MetadataPart]] = _Unpickler(io.BytesIO(data), local_objects).load()
    return parts


class _Pickler(pickle.Pickler):
    """Pickles references to the storage, and to ``snapshot``, in place of the objects."""

    def __init__(self, file: io.BytesIO, protocol: int, snapshot: FormatSnapshot | None = None) -> None:
        super().__init__(file, protocol)
        self._snapshot = snapshot

    def persistent_id(self, obj: Any) -> str | None:
        if isinstance(obj, Storage):
            return _STORAGE
        return _SNAPSHOT if obj is self._snapshot is not None else None


class _Unpickler(pickle.Unpickler):
    """Resolves these references to the objects of this process."""

    def __init__(self, file: io.BytesIO, local_objects: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._local_objects = local_objects

    def persistent_load(self, pid: Any) -> Any:
        return self._local_objects[pid]
