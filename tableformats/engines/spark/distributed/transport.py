"""A scan on its way to another process: what reads the files of a plan, or parts of the metadata, without secrets.

The scan's snapshot travels as far as reading needs it (:meth:`tableformats.plugin.FormatSnapshot.__getstate__`). A
:class:`Storage` never travels: the process that unpacks opens its own, by credentials that it was given otherwise.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from ....cache.metadata_cache import MetadataCache
from ....errors import UnsupportedFeatureError
from ....io.storage import Storage
from ....limits import DEFAULT_LIMITS, Limits
from ....plugin.files import MetadataPart
from ....plugin.format import FormatTable, SnapshotSelector
from ....table.scan import Scan
from ....table.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

    from ....plugin.snapshot import FormatSnapshot

__all__ = ["Access", "PackedScan", "pack", "pack_parts", "unpack", "unpack_parts"]

_STORAGE, _TABLE, _SNAPSHOT = "storage", "table", "snapshot"


@dataclass(frozen=True)
class Access:
    """How to open the table's store again. Holds credentials: no repr shows them."""

    storage_options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    allow_paths: tuple[str, ...] = ()
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True)
class PackedScan:
    """What :func:`unpack` makes a scan of; picklable, and free of credentials."""

    format: str
    root: str
    moves: Mapping[str, str]
    data: bytes = field(repr=False)


def pack(scan: Scan) -> PackedScan:
    """``scan`` as values that any process can take."""
    out = io.BytesIO()
    _Pickler(out, pickle.HIGHEST_PROTOCOL).dump(scan)
    storage = scan.snapshot.storage
    return PackedScan(scan.snapshot.table.format, storage.root, storage.moves, out.getvalue())


def unpack(packed: PackedScan, access: Access) -> Scan:
    """The scan again, to read planned tasks (:func:`tableformats.engines.arrow.read_tasks`) or parts of the metadata
    (:func:`tableformats.planning.planner.read_parts`) with; it plans nothing itself and keeps nothing."""
    storage = Storage(packed.root, access.storage_options, access.allow_paths, access.limits)
    for old, new in packed.moves.items():
        storage.relocate(old, new)
    table = Table(_PlannedElsewhere(packed.format, storage.root), storage, MetadataCache(0))
    scan = _Unpickler(io.BytesIO(packed.data), {_STORAGE: storage, _TABLE: table}).load()
    assert isinstance(scan, Scan)
    return scan


def pack_parts(scan: Scan, parts: Sequence[tuple[int, MetadataPart]]) -> bytes:
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
            f"the metadata of {scan.snapshot.table.format} tables cannot be read by other processes: {error}",
            path=scan.snapshot.table.location,
            field="engine",
            hint="Plan without an engine",
        ) from error
    return out.getvalue()


def unpack_parts(scan: Scan, data: bytes) -> Sequence[tuple[int, MetadataPart]]:
    """The parts again, for a scan that was unpacked."""
    own = {_STORAGE: scan.snapshot.storage, _TABLE: scan.snapshot.table, _SNAPSHOT: scan.snapshot.format_snapshot}
    parts: Sequence[tuple[int, MetadataPart]] = _Unpickler(io.BytesIO(data), own).load()
    return parts


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, protocol: int, known: FormatSnapshot | None = None) -> None:
        super().__init__(file, protocol)
        self._known = known

    def persistent_id(self, obj: Any) -> str | None:
        if isinstance(obj, Storage):
            return _STORAGE
        if obj is self._known is not None:
            return _SNAPSHOT
        return _TABLE if isinstance(obj, Table) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, own: Mapping[str, Any]) -> None:
        super().__init__(file)
        self._own = own

    def persistent_load(self, pid: Any) -> Any:
        return self._own[pid]


class _PlannedElsewhere(FormatTable):
    """The table of a scan that was unpacked."""

    def __init__(self, format: str, location: str) -> None:
        self.format = format
        self.location = location

    def snapshot(self, selector: SnapshotSelector) -> FormatSnapshot:
        self._refuse()

    def history(self, limit: int | None = None) -> pa.Table:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TypeError("a scan that was sent here reads files that were planned elsewhere, and plans none")
