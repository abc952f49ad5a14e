"""Properties of tables: which values they take, the features that they need, and which are not set by users.

Names without the prefix ``delta.`` are the user's own. Of the others only known ones are set: what a writer does not
know it cannot honour. Source: Delta PROTOCOL.md, "Table Properties", and the "Enablement" of each feature; Delta's
documentation, "Delta table properties reference".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tableformats.plugin import CorruptMetadataError, UnsupportedFeatureError, lazy_pattern, whole_number

__all__ = [
    "FEATURE_PREFIX",
    "GREATEST_ID",
    "check_property",
    "check_unset",
    "features_of_properties",
    "greatest_id",
    "is_true",
]

GREATEST_ID = "delta.columnMapping.maxColumnId"

FEATURE_PREFIX = "delta.feature."
"""``delta.feature.<name> = supported`` adds a feature. It is no property of the table itself."""

_FEATURES_BY_NAME = frozenset(
    {
        "allowColumnDefaults",
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "checkpointProtection",
        "columnMapping",
        "deletionVectors",
        "domainMetadata",
        "generatedColumns",
        "identityColumns",
        "inCommitTimestamp",
        "invariants",
        "materializePartitionColumns",
        "timestampNtz",
        "typeWidening",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    }
)
"""The features that may be added to a table by name, as they ask nothing of the files that are there."""
_SWITCHES = {
    "delta.appendOnly": "appendOnly",
    "delta.enableChangeDataFeed": "changeDataFeed",
    "delta.enableDeletionVectors": "deletionVectors",
    "delta.enableRowTracking": "rowTracking",
    "delta.enableInCommitTimestamps": "inCommitTimestamp",
    "delta.enableTypeWidening": "typeWidening",
}
"""Properties that are true or false, with the feature that true needs."""
_NOT_WRITTEN = {
    "delta.enableIcebergCompatV1": "icebergCompatV1",
    "delta.enableIcebergCompatV2": "icebergCompatV2",
    "delta.enableIcebergCompatV3": "icebergCompatV3",
    "delta.enableVariantShredding": "variantShredding",
    "delta.universalFormat.enabledFormats": "icebergCompatV2",
}
"""Properties that need features which are not written, with these features."""
_PLAIN_SWITCHES = (
    "delta.checkpoint.writeStatsAsJson",
    "delta.checkpoint.writeStatsAsStruct",
    "delta.enableExpiredLogCleanup",
    "delta.tuneFileSizesForRewrites",
    "delta.autoOptimize.optimizeWrite",
)
_DURATIONS = (
    "delta.logRetentionDuration",
    "delta.deletedFileRetentionDuration",
    "delta.setTransactionRetentionDuration",
)
_MODE = "delta.columnMapping.mode"
_POLICY = "delta.checkpointPolicy"
_OWN = lazy_pattern(
    r"delta\.(columnMapping\.maxColumnId|rowTracking\..*|inCommitTimestampEnablement\w+"
    r"|requireCheckpointProtectionBeforeVersion|constraints\..*)"
)
"""Properties that writers keep themselves."""
_UNITS = "nanosecond|microsecond|millisecond|second|minute|hour|day|week"


def greatest_id(properties: Mapping[str, str]) -> int:
    """The greatest id that a column ever had; 0 where nothing is said. Raises CorruptMetadataError."""
    found = whole_number(properties.get(GREATEST_ID, "0"))
    if found is None:
        raise CorruptMetadataError("the greatest id of a column is no number", field=GREATEST_ID)
    return found


def is_true(properties: Mapping[str, str], name: str) -> bool:
    """Whether a property says true."""
    return properties.get(name, "").lower() == "true"


def _one_of(*names: str) -> Callable[[str], bool]:
    return lambda text: text in names


def _is_number(least: int) -> Callable[[str], bool]:
    return lambda text: bool(re.fullmatch(r"-?\d{1,10}", text, re.ASCII)) and int(text) >= least


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda text: bool(re.fullmatch(pattern, text.strip(), re.ASCII | re.IGNORECASE))


_BOOLEAN = _matches("true|false")
_VALUES: Mapping[str, tuple[Callable[[str], bool], str]] = {
    **dict.fromkeys((*_SWITCHES, *_PLAIN_SWITCHES), (_BOOLEAN, "true or false")),
    **dict.fromkeys(
        _DURATIONS, (_matches(rf"(interval )?\d{{1,9}} ({_UNITS})s?"), "a duration such as 'interval 7 days'")
    ),
    _MODE: (_one_of("none", "name", "id"), "none, name or id"),
    _POLICY: (_one_of("classic", "v2"), "classic or v2"),
    "delta.checkpointInterval": (_is_number(1), "a number from 1 on"),
    "delta.dataSkippingNumIndexedCols": (_is_number(-1), "a number from -1 on"),
    "delta.dataSkippingStatsColumns": (lambda text: True, "names of columns"),
    "delta.isolationLevel": (_one_of("Serializable", "WriteSerializable"), "Serializable or WriteSerializable"),
    "delta.targetFileSize": (_matches(r"\d{1,15} ?([kmg]b?|b)?"), "a size such as 128mb"),
}


def check_property(name: str, value: str) -> None:
    """Refuse a property that is not known or not set by users, and a value that it does not take.

    Raises
    ------
    UnsupportedFeatureError
        ``field`` is ``name``.
    ValueError
        The value is none of the property's.
    """
    if not name.lower().startswith("delta."):
        return
    if name.startswith(FEATURE_PREFIX):
        feature = name.removeprefix(FEATURE_PREFIX)
        if feature not in _FEATURES_BY_NAME:
            raise _refused(f"the feature {feature!r} is not added by name", name)
        if value not in ("supported", "enabled"):
            raise ValueError(f"{name} is set to 'supported', not {value!r}")
        return
    if _OWN.fullmatch(name):
        raise _refused("the property is kept by writers, and not set by users", name)
    if name in _NOT_WRITTEN:
        raise _refused(f"the property needs the feature {_NOT_WRITTEN[name]!r}, which is not written", name)
    if name not in _VALUES:
        raise _refused("the property is not known", name)
    fits, what = _VALUES[name]
    if not fits(value):
        raise ValueError(f"{name} is {what}, not {value!r}")


def check_unset(name: str, properties: Mapping[str, str]) -> None:
    """Refuse to remove a property that the table depends on. Raises UnsupportedFeatureError."""
    if _OWN.fullmatch(name):
        raise _refused("the property is kept by writers, and not removed by users", name)
    if name == _MODE and properties.get(_MODE, "none") != "none":
        raise _refused("column mapping is not switched off: the files have physical names", name)


def features_of_properties(properties: Mapping[str, str]) -> frozenset[str]:
    """The features that the properties of a table need, those of ``delta.feature.<name>`` included."""
    found = {feature for name, feature in _SWITCHES.items() if is_true(properties, name)}
    if properties.get(_MODE, "none") != "none":
        found.add("columnMapping")
    if properties.get(_POLICY) == "v2":
        found.add("v2Checkpoint")
    if any(name.startswith("delta.constraints.") for name in properties):
        found.add("checkConstraints")
    found.update(name.removeprefix(FEATURE_PREFIX) for name in properties if name.startswith(FEATURE_PREFIX))
    return frozenset(found)


def _refused(message: str, name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(message, field=name, hint="Nothing was written; leave the property as it is")
