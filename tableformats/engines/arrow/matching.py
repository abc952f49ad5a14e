"""The positions of the rows of a data file that equality deletes remove; the change feed reports these rows."""

from __future__ import annotations

import numpy as np
from pyroaring import BitMap64

from ...io.storage import Storage
from ...planning.tasks import ScanTask
from ...plugin.snapshot import FormatSnapshot
from ...schema import Schema
from .deletes import DeleteLoader
from .file_columns import identity_values
from .files.data_file import typed_errors
from .files.opening import open_data_file
from .projection import Resolver

__all__ = ["KeyMatcher"]


class KeyMatcher:
    """Finds the rows that equality deletes of one snapshot remove. Each delete file is loaded once."""

    def __init__(self, snapshot: FormatSnapshot, schema: Schema, storage: Storage) -> None:
        self._snapshot = snapshot
        self._storage = storage
        self._deletes = DeleteLoader(snapshot, schema)

    def positions(self, task: ScanTask) -> BitMap64:
        """The positions of the rows that one of the task's equality deletes removes. Only key columns are read.

        Raises
        ------
        CorruptMetadataError, UnsupportedFeatureError
            As reading the file does.
        """
        mapping, found = self._snapshot.name_mapping, BitMap64()
        with open_data_file(self._storage, task, mapping) as file:
            resolver = Resolver(file.root, mapping, identity_values(self._snapshot, task))
            with typed_errors(task.path):
                filters = self._deletes.equality_filters(task, resolver)
            selection = file.select(frozenset().union(*(f.projection.leaves for f in filters)))
            for first, rows in file.rows(selection):
                matched = np.zeros(len(rows), bool)
                with typed_errors(task.path):
                    for keys in filters:
                        matched[keys.deleted(rows, selection)] = True
                found |= BitMap64((np.flatnonzero(matched) + first).astype(np.uint64))
        return found
