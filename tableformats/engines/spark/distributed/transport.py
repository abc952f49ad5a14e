"""A scan on its way to another process: what reads the files of a plan, or parts of the metadata, without secrets.

The scan's snapshot travels as far as reading needs it (:meth:`tableformats.plugin.FormatSnapshot.__getstate__`). A
:class:`Storage` never travels: the process that unpacks opens its own, by credentials that it was given otherwise.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
    """How to open the table's store again. Holds credentials: no repr shows them."""

    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    allow_paths: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True)
class PackedScan:
    """What :func:`unpack_scan` makes a scan of; picklable, and free of credentials."""

    format: str
    root: str
    moves: Mapping[str, str]
    data: bytes = field(repr=False)


def pack_scan(scan: ScanRequest) -> PackedScan:
    """``scan`` as values that any process can take."""
    out = io.BytesIO()
    _Pickler(out, pickle.HIGHEST_PROTOCOL).dump(scan.detached())
    storage = scan.snapshot.storage
    return PackedScan(scan.snapshot.table_format, storage.root, storage.moves, out.getvalue())


def unpack_scan(packed: PackedScan, access: Access) -> ScanRequest:
    """The scan again, to read planned tasks (:func:`tableformats.engines.arrow.read_tasks`) or parts of the metadata
    (:func:`tableformats.planning.planner.read_parts`) with; it plans nothing itself and keeps nothing."""
    storage = Storage(packed.root, access.storage_options, access.allow_paths, access.limits)
    for old, new in packed.moves.items():
        storage.relocate(old, new)
    scan = _Unpickler(io.BytesIO(packed.data), {_STORAGE: storage}).load()
    assert isinstance(scan, ScanRequest)
    return scan


def pack_parts(scan: ScanRequest, parts: Sequence[tuple[int, MetadataPart]]) -> bytes:
    """Parts of the scan's snapshot, each with its place there, for processes that have the scan.

    Raises
    ------
    UnsupportedFeatureError : the format's parts hold what stays in one process
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
    """The parts again, for a scan that was unpacked."""
    own = {_STORAGE: scan.snapshot.storage, _SNAPSHOT: scan.snapshot.format_snapshot}
    parts: Sequence[tuple[int, MetadataPart]] = _Unpickler(io.BytesIO(data), own).load()
    return parts


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, protocol: int, known: FormatSnapshot | None = None) -> None:
        super().__init__(file, protocol)
        self._known = known

    def persistent_id(self, obj: Any) -> str | None:
        if isinstance(obj, Storage):
            return _STORAGE
        return _SNAPSHOT if obj is self._known is not None else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, own: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._own = own

    def persistent_load(self, pid: Any) -> Any:
        return self._own[pid]
