"""``python -m benchmarks.generate "DeltaTable(1000)"`` writes a table, and reads its files into the system's cache."""

import sys

from . import DeltaTable, IcebergTable, build

SPECS = {"DeltaTable": DeltaTable, "IcebergTable": IcebergTable}

if __name__ == "__main__":
    table = build(eval(sys.argv[1], {"__builtins__": {}}, SPECS))
    print(f"{table.folder}, {table.warm():,} bytes")
