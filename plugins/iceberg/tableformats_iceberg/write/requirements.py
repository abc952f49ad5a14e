"""The requirements of a commit: what must hold of the table's metadata for the updates to be applied.

Each is a JSON object as the REST catalog has it. All writers may send them, also where no catalog is asked: a directory
checks them against its newest metadata file.
Source: Iceberg REST catalog, ``TableRequirement``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tableformats.plugin import CommitConflictError, UnsupportedFeatureError

from .normal_metadata import normalized

__all__ = ["check_requirements", "failed_requirement"]

_NUMBERS = {
    "assert-last-assigned-field-id": ("last-assigned-field-id", "last-column-id", "the last assigned field id"),
    "assert-current-schema-id": ("current-schema-id", "current-schema-id", "the current schema"),
    "assert-last-assigned-partition-id": (
        "last-assigned-partition-id",
        "last-partition-id",
        "the last assigned partition field id",
    ),
    "assert-default-spec-id": ("default-spec-id", "default-spec-id", "the default partition spec"),
    "assert-default-sort-order-id": ("default-sort-order-id", "default-sort-order-id", "the default sort order"),
}
"""For each requirement: its field, the field of the metadata that must be equal, and what that is."""


def failed_requirement(metadata: Mapping[str, Any] | None, requirements: Iterable[Mapping[str, Any]]) -> str | None:
    """What is wrong with the first requirement that does not hold. None: all hold.

    Parameters
    ----------
    metadata : mapping or None
        The table's metadata, as its JSON has it. None: there is no table.
    requirements : iterable of mapping
        As their JSON has them.

    Raises
    ------
    UnsupportedFeatureError
        A requirement is not known, so nobody can say that it holds.
    """
    metadata = None if metadata is None else normalized(metadata)
    return next((found for one in requirements if (found := _failed(metadata, one)) is not None), None)


def check_requirements(
    metadata: Mapping[str, Any] | None, requirements: Iterable[Mapping[str, Any]], path: str | None = None
) -> None:
    """Raise CommitConflictError for the first requirement that does not hold; see :func:`failed_requirement`."""
    failed = failed_requirement(metadata, requirements)
    if failed is not None:
        raise CommitConflictError(f"another writer changed the table: {failed}", path=path)


def _failed(metadata: Mapping[str, Any] | None, requirement: Mapping[str, Any]) -> str | None:
    kind = requirement.get("type")
    if kind == "assert-create":
        return None if metadata is None else "the table exists"
    if kind not in ("assert-table-uuid", "assert-ref-snapshot-id", *_NUMBERS):
        raise UnsupportedFeatureError(
            f"the requirement {str(kind)[:100]!r} is not known", field="type", hint="Nothing was written"
        )
    if metadata is None:
        return "the table does not exist"
    if kind == "assert-table-uuid":
        wanted, found = str(requirement["uuid"]).lower(), str(metadata.get("table-uuid", "")).lower()
        return None if found == wanted else f"its uuid is {found or 'none'}, not {wanted}"
    if kind == "assert-ref-snapshot-id":
        return _failed_reference(metadata["refs"], str(requirement["ref"]), requirement.get("snapshot-id"))
    key, own_key, what = _NUMBERS[kind]
    found, wanted = metadata[own_key], requirement[key]
    return None if found == wanted else f"{what} is {found}, not {wanted}"


def _failed_reference(refs: Mapping[str, Any], name: str, wanted: int | None) -> str | None:
    if name not in refs:
        return None if wanted is None else f"there is no branch or tag {name!r}"
    found = refs[name]["snapshot-id"]
    if wanted is None:
        return f"there is a branch or tag {name!r}"
    return None if found == wanted else f"{name!r} is at snapshot {found}, not {wanted}"
