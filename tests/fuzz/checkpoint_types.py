"""The Arrow types of the actions in the checkpoints that fuzzing makes."""

from __future__ import annotations

import pyarrow as pa

from tests.support.delta_log import METADATA_TYPE, PROTOCOL_TYPE, SIDECAR

ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", pa.map_(pa.string(), pa.string())),
        ("size", pa.int64()),
        ("stats", pa.string()),
    ]
)
KINDS = {"add": ADD, "protocol": PROTOCOL_TYPE, "metaData": METADATA_TYPE, "sidecar": SIDECAR}
