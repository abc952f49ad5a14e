"""What users hold: tables, snapshots, scans, plans, and changes between versions."""

from .opening import epoch_ms
from .table import Snapshot, Table, open_table

__all__ = ["Snapshot", "Table", "epoch_ms", "open_table"]
