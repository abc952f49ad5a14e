"""The rules for one file action: partition values and statistics, and for live files what is on the disk.

Source: Delta PROTOCOL.md, "Partition Value Serialization", "Per-file Statistics", "Deletion Vectors".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tableformats.plugin import Field, StoreError, TableFormatsError, Violation, file_sizes, in_order, strings

from ..deletes.deletion_vectors import read_deletion_vector, stored_path
from ..schema.partition_values import parse_partition_values
from .rules import violation

if TYPE_CHECKING:
    from tableformats.plugin import Storage

    from .live_files import LiveFiles

__all__ = ["disk_violations", "partition_violations", "record_count", "statistics_violations"]

Action = Mapping[str, Any]
_COUNTS = range(2**63)
_PLAIN = (int, float, str)
"""Types of bounds whose order is Python's."""


def partition_violations(
    adds: Iterable[Action], columns: Iterable[Field], path: str, version: int | None
) -> Iterator[Violation]:
    """Partition values of ``adds`` that are not those of the partition columns, or of another type."""
    found, known = list(adds), list(columns)
    names = {column.stored_name for column in known}
    for add in found:
        values = add.get("partitionValues")
        keys = set(values) if isinstance(values, Mapping) else set()
        for what, some in (("without", names - keys), ("with an unknown", keys - names)):
            for name in sorted(some):
                yield violation("partition-keys", f"{add.get('path')!r} {what} {name!r}", path, version)
    for column in known:
        texts = [_text(add, column.stored_name) for add in found]
        for row in parse_partition_values(strings(texts), column).bad.tolist():
            what = f"{found[row].get('path')!r}: {texts[row]!r} is no {column.type}"
            yield violation("partition-value", what, path, version)


def _text(add: Action, name: str) -> str | None:
    values = add.get("partitionValues")
    value = values.get(name) if isinstance(values, Mapping) else None
    return value if isinstance(value, str) else None


def _parsed(add: Action) -> Any:
    """The statistics of an add; None where it has none, and where they are no JSON."""
    text = add.get("stats")
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def record_count(add: Action) -> int | None:
    """The rows of a file, deleted ones included; None where they are not known."""
    return _record_count(_parsed(add))


def _record_count(stats: Any) -> int | None:
    count = stats.get("numRecords") if isinstance(stats, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count in _COUNTS else None


def statistics_violations(add: Action, path: str, version: int | None) -> Iterator[Violation]:
    """Statistics that are no statistics, or contradict themselves or the deletion vector."""
    where = f"of {add.get('path')!r}"
    text, vector = add.get("stats"), add.get("deletionVector")
    stats = _parsed(add)
    rows = _record_count(stats)
    if text not in (None, "") and not isinstance(stats, dict):
        yield violation("statistics", f"those {where} are no JSON object", path, version)
        return
    if isinstance(vector, Mapping):
        deleted = vector.get("cardinality")
        if rows is None:
            yield violation("statistics", f"numRecords {where}, which has a deletion vector, is missing", path, version)
        elif isinstance(deleted, int) and deleted > rows:
            yield violation("deletion-vector", f"{where[3:]}: {deleted} of {rows} rows are deleted", path, version)
    if not isinstance(stats, dict):
        return
    if "numRecords" in stats and rows is None:
        yield violation("statistics", f"numRecords {where} is {stats['numRecords']!r}", path, version)
    is_tight = stats.get("tightBounds") is not False
    if _are_plainly_right(stats, rows if is_tight else None):
        return
    for name, count in _leaves(stats.get("nullCount")):
        if not isinstance(count, int) or count < 0 or (is_tight and rows is not None and count > rows):
            yield violation("statistics", f"nullCount.{name} {where} is {count!r}, of {rows} rows", path, version)
    upper = dict(_leaves(stats.get("maxValues")))
    for name, least in _leaves(stats.get("minValues")):
        if _crossed(least, upper.get(name)):
            yield violation("statistics", f"minValues.{name} {where} is above maxValues", path, version)


def _are_plainly_right(stats: Mapping[str, Any], most: int | None) -> bool:
    """Whether statistics of columns without members have no null count above ``most``, and no bounds that cross.

    Most statistics are such; what is said of others, the rules above say. Texts compare by code points as by bytes.
    """
    counts, lower, upper = stats.get("nullCount", {}), stats.get("minValues", {}), stats.get("maxValues", {})
    if not (type(counts) is type(lower) is type(upper) is dict):
        return False
    most = 2**63 if most is None else most
    for count in counts.values():
        if type(count) is not int or not 0 <= count <= most:
            return False
    for name, least in lower.items():
        greatest = upper.get(name)
        if type(least) is not type(greatest) or type(least) not in _PLAIN or not least <= greatest:  # type: ignore[operator]
            return False
    return True


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """The values within objects within objects, with their dotted names; however deep, without recursion."""
    left = [("", value)]
    while left:
        name, one = left.pop()
        if isinstance(one, dict):
            left += [(f"{name}.{key}" if name else key, below) for key, below in reversed(one.items())]
        elif name and one is not None:
            yield name, one


def _crossed(least: Any, greatest: Any) -> bool:
    """Whether two bounds of one kind are in the wrong order; texts compare by their UTF-8 bytes."""
    if isinstance(least, str) and isinstance(greatest, str):
        return least.encode(errors="replace") > greatest.encode(errors="replace") and "\ufffd" not in least + greatest
    numbers = [isinstance(one, (int, float)) and not isinstance(one, bool) for one in (least, greatest)]
    return all(numbers) and least > greatest


def disk_violations(
    storage: Storage, live: LiveFiles, source: str, version: int | None, deep: bool
) -> Iterator[Violation]:
    """What is not on the disk as live files' actions say it; if ``deep``, deletion vectors are read."""
    every = live.values_of("path")
    located = _paths(storage, [str(path) for path in every])
    for stored, path in zip(every, located, strict=True):
        if not isinstance(path, str):
            yield violation("path", f"{stored!r}: {path.message}", source, version)
    sizes = file_sizes(storage, [path for path in located if isinstance(path, str)])
    for path, said in zip(located, live.values_of("size"), strict=True):
        if not isinstance(path, str):
            continue
        size = next(sizes)
        if size is None:
            yield violation("file-missing", "a live file is missing", path, version)
        elif size != said:
            yield violation("file-size", f"it has {size} bytes, and its action says {said}", path, version)
    if deep:
        located_actions = zip(live.actions(), located, strict=True)
        known = [(add, path) for add, path in located_actions if isinstance(path, str)]
        with_vector = [(add, path) for add, path in known if isinstance(add.get("deletionVector"), Mapping)]
        for some in in_order(lambda one: list(_vector(storage, *one, version)), with_vector):
            yield from some


def _paths(storage: Storage, stored: list[str]) -> list[str | TableFormatsError]:
    """The paths made absolute, each that cannot be with the reason."""
    try:
        return storage.resolve(strings(stored), encoded=True).to_pylist()  # type: ignore[no-any-return]
    except (TableFormatsError, ValueError):
        return [_path(storage, one) for one in stored]


def _path(storage: Storage, stored: str) -> str | TableFormatsError:
    try:
        return storage.resolve_one(stored, encoded=True)
    except TableFormatsError as error:
        return error


def _vector(storage: Storage, add: Action, path: str, version: int | None) -> Iterator[Violation]:
    vector = add["deletionVector"]
    try:
        kind, text = str(vector.get("storageType")), str(vector.get("pathOrInlineDv"))
        described = {
            "path": stored_path(kind, text),
            "inline": text if kind == "i" else None,
            "offset": vector.get("offset"),
            "size_bytes": vector.get("sizeInBytes"),
            "cardinality": vector.get("cardinality"),
        }
        read_deletion_vector(storage, described, record_count(add))
    except StoreError:
        raise
    except (TableFormatsError, TypeError) as error:
        yield violation("deletion-vector", getattr(error, "message", str(error)), path, version)
