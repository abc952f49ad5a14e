"""The ``metaData`` action of a version, decoded under its ``protocol`` action.

Source: Delta PROTOCOL.md, "Change Metadata", "Column Mapping".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tableformats.plugin import CorruptMetadataError, Field, Limits, PartitionSpec, Schema, dataclass

from .column_mapping import mapping_mode
from .partition_spec import partition_spec
from .schema_string import parse_schema

__all__ = ["TableMetadata"]


@dataclass(frozen=True)
class TableMetadata:
    """What a ``metaData`` action says about the rows and the files of a table.

    Attributes
    ----------
    properties : dict of str to str
        The ``configuration`` of the table.
    mapping_mode : str
        The column mapping mode: ``none``, ``name`` or ``id``.
    partition_columns : tuple of Field
        The columns of ``schema`` that files are partitioned by, in the order of ``spec``.
    """

    properties: dict[str, str]
    mapping_mode: str
    schema: Schema
    spec: PartitionSpec
    partition_columns: tuple[Field, ...]

    @classmethod
    def of_actions(
        cls, metadata: Mapping[str, Any], protocol: Mapping[str, Any], path: str, limits: Limits, stored: int = 0
    ) -> TableMetadata:
        """Decode a ``metaData`` action; ``path`` is the file that holds it, of ``stored`` bytes if it is compressed.

        Raises
        ------
        CorruptMetadataError, UnsupportedFeatureError, LimitExceededError
            As :func:`mapping_mode`, :func:`parse_schema` and :func:`partition_spec` do; also where the configuration
            is no object.
        """
        properties = _properties(metadata, path)
        mode = mapping_mode(properties, protocol, path)
        schema = parse_schema(metadata.get("schemaString"), mode, path, limits, stored)
        columns = metadata.get("partitionColumns")
        spec, fields = partition_spec([] if columns is None else columns, schema, path)
        return cls(properties, mode, schema, spec, tuple(fields))


def _properties(metadata: Mapping[str, Any], path: str) -> dict[str, str]:
    found = metadata.get("configuration")
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise CorruptMetadataError("the configuration is no object", path=path, field="metaData.configuration")
    return {str(key): str(value) for key, value in found.items() if value is not None}
