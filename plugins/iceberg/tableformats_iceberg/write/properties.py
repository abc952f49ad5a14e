"""The table properties that writers obey: which values they may have, and what each value stands for.

A value that is none of them is refused by name: taken for another one, it would change what is written without a word.
Words count in any case, as in the Java reference. Source: Iceberg documentation, "Configuration", "Write properties".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tableformats.plugin import UnsupportedFeatureError, dataclass, lazy_pattern

__all__ = [
    "DELETE_AFTER_COMMIT",
    "FILE_SIZE",
    "MERGE_ENABLED",
    "METADATA_CODEC",
    "MIN_COUNT_TO_MERGE",
    "OBJECT_STORAGE",
    "PARTITIONED_PATHS",
    "PREVIOUS_VERSIONS",
    "TARGET_SIZE",
    "WAP_ENABLED",
    "Choice",
    "Flag",
    "Number",
    "check_values",
    "refused_value",
]

_NUMBER = lazy_pattern(r"[+-]?[0-9]{1,19}")
_MOST = (1 << 63) - 1


def refused_value(name: str, text: str, known: str) -> UnsupportedFeatureError:
    """The error for a property whose value is none of the known ones."""
    return UnsupportedFeatureError(
        f"the table's property {name} is {text[:50]!r}, and not {known}", field=name, hint="Correct the property"
    )


@dataclass(frozen=True)
class Flag:
    """A property that is true or false."""

    name: str
    default: bool

    def of(self, properties: Mapping[str, str]) -> bool:
        """What the properties say. Raises UnsupportedFeatureError."""
        text = properties.get(self.name)
        if text is None:
            return self.default
        if text.lower() not in ("true", "false"):
            raise refused_value(self.name, text, "true or false")
        return text.lower() == "true"


@dataclass(frozen=True)
class Number:
    """A property that is a whole number from ``least`` to ``most``."""

    name: str
    default: int
    least: int = 1
    most: int = _MOST

    def of(self, properties: Mapping[str, str]) -> int:
        """What the properties say. Raises UnsupportedFeatureError."""
        text = properties.get(self.name)
        if text is None:
            return self.default
        if _NUMBER.fullmatch(text) is None or not self.least <= int(text) <= self.most:
            start = f" from {self.least:,}" if self.least > -_MOST else ""
            stop = f" to {self.most:,}" if self.most < _MOST else " on" if start else ""
            raise refused_value(self.name, text, f"a whole number{start}{stop}")
        return int(text)


@dataclass(frozen=True)
class Choice:
    """A property that is one of some words; ``values`` has what each stands for."""

    name: str
    default: str
    values: Mapping[str, str] = field(hash=False)

    def of(self, properties: Mapping[str, str]) -> str:
        """What the properties say. Raises UnsupportedFeatureError."""
        text = properties.get(self.name, self.default)
        if text.lower() not in self.values:
            raise refused_value(self.name, text, f"one of {', '.join(self.values)}")
        return self.values[text.lower()]


TARGET_SIZE = Number("commit.manifest.target-size-bytes", 8 << 20)
MERGE_ENABLED = Flag("commit.manifest-merge.enabled", True)
MIN_COUNT_TO_MERGE = Number("commit.manifest.min-count-to-merge", 100, least=0)
METADATA_CODEC = Choice("write.metadata.compression-codec", "none", {"none": "none", "gzip": "gzip"})
DELETE_AFTER_COMMIT = Flag("write.metadata.delete-after-commit.enabled", False)
PREVIOUS_VERSIONS = Number("write.metadata.previous-versions-max", 100, least=-_MOST)
"""Less than one is taken for one, as the Java reference does."""
FILE_SIZE = Number("write.target-file-size-bytes", 512 << 20)
OBJECT_STORAGE = Flag("write.object-storage.enabled", False)
PARTITIONED_PATHS = Flag("write.object-storage.partitioned-paths", True)
WAP_ENABLED = Flag("write.wap.enabled", False)

_COMMON = (
    TARGET_SIZE,
    MERGE_ENABLED,
    MIN_COUNT_TO_MERGE,
    METADATA_CODEC,
    DELETE_AFTER_COMMIT,
    PREVIOUS_VERSIONS,
    FILE_SIZE,
    OBJECT_STORAGE,
    PARTITIONED_PATHS,
    WAP_ENABLED,
)


def check_values(properties: Mapping[str, str]) -> None:
    """Refuse a value of the properties of this module that is not known. Raises UnsupportedFeatureError."""
    for one in _COMMON:
        one.of(properties)
