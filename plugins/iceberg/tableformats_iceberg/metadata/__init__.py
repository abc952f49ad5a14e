"""The table metadata file: which file it is, and what it says.

``locate`` finds the newest ``metadata.json`` of a directory. ``table_metadata`` parses it into immutable objects:
schemas, partition specs, snapshots and references. ``lineage`` answers questions about the ancestors of a snapshot.
Nothing here reads manifests. This package stands on ``files``.
"""
