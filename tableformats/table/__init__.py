"""What users hold: tables, snapshots, scans, plans, and changes between versions."""

from .table import Snapshot, Table, epoch_ms, open_table

__all__ = ["Snapshot", "Table", "epoch_ms", "open_table"]
