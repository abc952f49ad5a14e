"""The fuzz targets of the parsers in Python, by name."""

from .base import Finding, Target, run, warm
from .core import CORE_TARGETS
from .delta import DELTA_TARGETS
from .iceberg import ICEBERG_TARGETS

__all__ = ["TARGETS", "Finding", "Target", "run", "warm"]

TARGETS: dict[str, Target] = {target.name: target for target in (*CORE_TARGETS, *DELTA_TARGETS, *ICEBERG_TARGETS)}
