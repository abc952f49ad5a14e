"""Merges small manifests of one spec, as the Java reference does, so that a list does not grow with every append.

Source: Iceberg documentation, "Configuration", "Write properties" (``commit.manifest*``); spec, "Snapshots".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...manifests.manifest_list import Manifest
from ..properties import MERGE_ENABLED, MIN_COUNT_TO_MERGE, TARGET_SIZE

__all__ = ["bins_to_merge"]


def bins_to_merge(manifests: Sequence[Manifest], properties: Mapping[str, str]) -> list[list[int]]:
    """Which manifests become one: indices, at least two in each group, in their order.

    Parameters
    ----------
    manifests : sequence of Manifest
        Of one content; new ones first. A group is of one spec and about as large as a manifest shall be. The group of
        the first manifest is merged only if it has ``commit.manifest.min-count-to-merge`` or more.
    """
    if not MERGE_ENABLED.of(properties):
        return []
    most, least = TARGET_SIZE.of(properties), MIN_COUNT_TO_MERGE.of(properties)
    by_spec: dict[int | None, list[int]] = {}
    for number, manifest in enumerate(manifests):
        by_spec.setdefault(manifest.spec_id, []).append(number)
    found = []
    for numbers in by_spec.values():
        for group in _packed_from_the_end(numbers, manifests, most):
            if len(group) > 1 and (group[0] != 0 or len(group) >= least):
                found.append(group)
    return found


def _packed_from_the_end(numbers: list[int], manifests: Sequence[Manifest], most: int) -> list[list[int]]:
    """Groups of at most ``most`` bytes, filled from the last manifest on; only the first may have room left."""
    groups: list[list[int]] = []
    size = 0
    for number in reversed(numbers):
        length = max(manifests[number].length, 0)
        if not groups or size + length > most:
            groups.append([])
            size = 0
        groups[-1].append(number)
        size += length
    return [group[::-1] for group in groups[::-1]]
