"""The fuzz targets of the parsers in Python, by name."""

from tests.fuzz.targets.base import Finding, Target, run, warm
from tests.fuzz.targets.core import CORE_TARGETS
from tests.fuzz.targets.delta import DELTA_TARGETS
from tests.fuzz.targets.iceberg import ICEBERG_TARGETS
from tests.fuzz.targets.whole_tables import TABLE_TARGETS

__all__ = ["TARGETS", "Finding", "Target", "run", "warm"]

_ALL = (*CORE_TARGETS, *DELTA_TARGETS, *ICEBERG_TARGETS, *TABLE_TARGETS)
TARGETS: dict[str, Target] = {target.name: target for target in _ALL}
