"""Passes over the entries of a manifest: which of them the rules for one entry must look at.

Of all others these rules say nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tableformats.plugin import FALSE, scalar, strings, to_numpy
from tableformats.plugin import compute as pc

from ..avro.container import ELEMENT
from ..manifests.manifest_list import DATA as DATA_MANIFEST
from ..manifests.statistics import DATA_FILE_ID
from .manifest_file import ADDED, DATA, ManifestFile

if TYPE_CHECKING:
    import pyarrow as pa

    from .manifest_file import TableFacts

__all__ = ["doubtful_entries"]

_FORMATS = ["PARQUET", "AVRO", "ORC", "parquet", "avro", "orc"]
"""As writers spell them; other spellings are looked at one by one."""


def doubtful_entries(manifest: ManifestFile, content: int, facts: TableFacts) -> np.ndarray:
    """bool[n]: where the rules for entries may find something. Of entries of delete files: everywhere."""
    if content != DATA_MANIFEST:
        return np.ones(len(manifest.entries), bool)
    return _status(manifest) | _file(manifest, facts) | _splits(manifest) | _partitions(manifest)


def _status(manifest: ManifestFile) -> np.ndarray:
    columns = manifest.columns
    status = columns[(0,)].integers()
    found = ~np.isin(status, (0, 1, 2))
    if manifest.format_version == 1:
        return found | ~columns[(1,)].valid
    for id in (3, 4):
        number = columns[(id,)]
        found = found | ((status != ADDED) & ~number.valid) | (number.integers() < 0)
    return found


def _file(manifest: ManifestFile, facts: TableFacts) -> np.ndarray:
    columns = manifest.columns
    rows, sizes, order = (columns[(DATA_FILE_ID, id)] for id in (103, 104, 140))
    found = (rows.integers() < 0) | (sizes.integers() <= 0) | (columns[(DATA_FILE_ID, 134)].integers() != DATA)
    found = found | ~_true(pc.is_in(columns.strings((DATA_FILE_ID, 101), "file_format"), strings(_FORMATS)))
    if facts.orders:
        found = found | (order.valid & ~np.isin(order.integers(), [0, *facts.orders]))
    only_of_deletes = [143, 144, 145] if manifest.format_version > 2 else [142, 143, 144, 145]
    for id in only_of_deletes:
        found = found | columns[(DATA_FILE_ID, id)].valid
    return found | (np.diff(columns[(DATA_FILE_ID, 135)].list_offsets()) > 0)


def _splits(manifest: ManifestFile) -> np.ndarray:
    """Where split offsets are not ascending, or outside of the file."""
    columns = manifest.columns
    ends, items = columns[(DATA_FILE_ID, 132)].list_offsets(), columns[(DATA_FILE_ID, 132, ELEMENT)].integers(-1)
    lengths, sizes = np.diff(ends), columns[(DATA_FILE_ID, 104)].integers()
    found = np.zeros(len(lengths), bool)
    of = np.repeat(np.arange(len(lengths)), lengths)
    found[of[(items < 0) | (items >= sizes[of])]] = True
    found[of[1:][(items[1:] <= items[:-1]) & (of[1:] == of[:-1])]] = True
    return found


def _partitions(manifest: ManifestFile) -> np.ndarray:
    import pyarrow as pa

    found = np.zeros(len(manifest.entries), bool)
    for values, f in zip(manifest.partition, manifest.spec.fields, strict=True):
        if f.transform.name == "void":
            found |= _true(pc.is_valid(values))
        if f.transform.name == "bucket":
            least, width = (scalar(number, pa.int64()) for number in (0, f.transform.width))
            found |= _true(pc.or_(pc.less(values, least), pc.greater_equal(values, width)))
    return found


def _true(flags: pa.Array) -> np.ndarray:
    found: np.ndarray = to_numpy(pc.fill_null(flags, FALSE))
    return found
