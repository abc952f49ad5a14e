"""What a table's columns are: their types, ids and names, the same for every format, and independent of any engine.

``types.py`` has types and fields, ``schema.py`` the columns of a table and how names are resolved. ``arrow_types.py``
and ``spark_types.py`` translate types to Arrow and Spark. ``transforms.py`` applies partition transforms and turns
them back into bounds of the source column. ``datetimes.py`` reads and writes dates and times as text, as Spark does.
Importing this package imports neither NumPy nor pyarrow.
"""

from .arrow_types import arrow_field, arrow_type
from .schema import Schema, number_fields
from .types import (
    EXACT,
    INTEGER_RANGES,
    PRIMITIVE_NAMES,
    DecimalType,
    Field,
    FixedType,
    ListType,
    MapType,
    PrimitiveType,
    StructType,
    Type,
    is_floating,
    is_integer,
    is_numeric,
    primitive,
)

__all__ = [
    "DecimalType",
    "EXACT",
    "INTEGER_RANGES",
    "Field",
    "FixedType",
    "ListType",
    "MapType",
    "PRIMITIVE_NAMES",
    "PrimitiveType",
    "Schema",
    "StructType",
    "Type",
    "arrow_field",
    "arrow_type",
    "is_floating",
    "is_integer",
    "is_numeric",
    "number_fields",
    "primitive",
]
