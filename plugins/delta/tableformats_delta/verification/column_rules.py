"""Passes over the file actions of a checkpoint: which of them the rules for one action must look at.

Of all others these rules say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tableformats.plugin import FALSE, Field, scalar, to_arrow, to_numpy
from tableformats.plugin import compute as pc

from ..schema.partition_values import parse_partition_values
from .commit_rules import FIELDS, VECTOR
from .plain_statistics import LEAST_TEXTS, doubtful_statistics

if TYPE_CHECKING:
    import pyarrow as pa

    from .commit_rules import Fields
    from .stored_actions import StoredActions

__all__ = ["doubtful_adds", "doubtful_fields", "doubtful_partitions", "doubtful_texts"]

Action = Mapping[str, Any]
_NO_URI = r"[\x00-\x20<>\"{}|\\^`\x7f]|%(?:[^0-9A-Fa-f]|[0-9A-Fa-f][^0-9A-Fa-f]|[0-9A-Fa-f]?$)"
"""What a path that is no URI holds. Arrow's expressions cannot look ahead."""


def doubtful_fields(actions: StoredActions) -> np.ndarray:
    """bool[n]: where :func:`.commit_rules.field_violations` may find something."""
    found = _without_required({name: actions.column(name) for name in actions.members}, FIELDS[actions.kind])
    vectors, paths = actions.column("deletionVector"), actions.column("path")
    if vectors is not None and vectors.null_count < len(vectors):
        below = {vectors.type.field(i).name: vectors.field(i) for i in range(vectors.type.num_fields)}
        found = found | (_true(pc.is_valid(vectors)) & _without_required(below, VECTOR))
    if paths is not None:
        is_empty = pc.equal(paths, scalar("", paths.type))
        found = found | _true(pc.or_(is_empty, pc.match_substring_regex(paths, _NO_URI)))
    return np.broadcast_to(found, len(actions))


def _without_required(members: Mapping[str, pa.Array | None], fields: Fields) -> np.ndarray:
    """bool[n], or bool[]: where a required field is missing."""
    found = np.zeros((), bool)
    for name, (_, is_required) in fields.items():
        column = members.get(name)
        if is_required:
            found = found | (np.ones((), bool) if column is None else _true(pc.is_null(column)))
    return found


def doubtful_texts(actions: StoredActions) -> np.ndarray:
    """bool[n]: where :func:`.file_rules.statistics_violations` may find something."""
    import pyarrow as pa

    vectors, texts = actions.column("deletionVector"), actions.column("stats")
    if texts is None:
        texts = pa.nulls(len(actions), pa.string())
    if vectors is None or vectors.null_count == len(vectors):
        return doubtful_statistics(texts)
    names = [vectors.type.field(i).name for i in range(vectors.type.num_fields)]
    if "cardinality" not in names:
        return _true(pc.is_valid(vectors)) | doubtful_statistics(texts)
    deleted = vectors.flatten()[names.index("cardinality")]
    unknown = pc.and_(pc.is_valid(vectors), pc.is_null(deleted))
    return _true(unknown) | doubtful_statistics(texts, deleted)


def doubtful_adds(adds: Sequence[Action]) -> Sequence[Action]:
    """Add actions of commits of which :func:`.file_rules.statistics_violations` may find something."""
    import pyarrow as pa

    if len(adds) < LEAST_TEXTS:
        return adds
    try:
        texts = pa.array([add.get("stats") for add in adds], pa.string())
    except (TypeError, ValueError):  # some are no texts, or cannot be UTF-8
        return adds
    marks = doubtful_statistics(texts).tolist()
    return [add for add, mark in zip(adds, marks, strict=True) if mark or "deletionVector" in add]


def doubtful_partitions(actions: StoredActions, columns: Sequence[Field]) -> np.ndarray:
    """bool[n]: where :func:`.file_rules.partition_violations` may find something.

    It is nothing where all actions have the keys of the table in one order, and values of their types.
    """
    count, values = len(actions), actions.column("partitionValues")
    names = [column.stored_name for column in columns]
    if values is None or values.null_count or not count:
        return np.ones(count, bool)
    starts = to_numpy(values.offsets)
    keys, texts = (member.slice(int(starts[0]), int(starts[-1] - starts[0])) for member in (values.keys, values.items))
    order = keys.slice(0, len(names)).to_pylist()
    if (np.diff(starts) != len(names)).any() or sorted(order) != sorted(names):
        return np.ones(count, bool)
    found = np.zeros(count, bool)
    for column in columns:
        at = order.index(column.stored_name)
        found |= ~_true(pc.equal(_every(keys, at, len(names)), scalar(column.stored_name, keys.type)))
        found[parse_partition_values(_every(texts, at, len(names)), column).bad] = True
    return found


def _every(values: pa.Array, first: int, step: int) -> pa.Array:
    """The values ``first``, ``first + step`` and so on."""
    return pc.take(values, to_arrow(np.arange(first, len(values), step)))


def _true(flags: pa.Array) -> np.ndarray:
    found: np.ndarray = to_numpy(pc.fill_null(flags, FALSE))
    return found
