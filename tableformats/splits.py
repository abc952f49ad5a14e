"""Packs the files of a plan into groups of about one size, so that engines can share them out."""

from __future__ import annotations

import re

from .scan import ScanPlan, ScanTask

__all__ = ["pack"]


def pack(plan: ScanPlan, target_size: str | int, open_cost: str | int) -> list[list[ScanTask]]:
    """``plan.splits()``: whole files, first fit, in the order of the plan."""
    target, cost = size_in_bytes(target_size), size_in_bytes(open_cost)
    groups: list[list[ScanTask]] = []
    weight = target + 1
    for task in plan.tasks():
        own = max(task.size_bytes, cost)
        if weight + own > target:
            groups.append([])
            weight = 0
        groups[-1].append(task)
        weight += own
    return groups


def size_in_bytes(size: str | int) -> int:
    """``"128MB"`` as Spark reads it (1 MB = 1,048,576 bytes); a number is bytes. Raises ValueError."""
    if isinstance(size, int):
        return size
    text = size.strip().lower()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", text)
    if match is None:
        raise ValueError(f"{size!r} is no size; write bytes, or a number with kb, mb, gb or tb")
    return int(float(match.group(1)) * 2 ** (10 * " kmgt".index(match.group(2) or " ")))
