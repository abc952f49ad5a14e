"""Commits changes as snapshots: new manifests, the manifest list, and the swap of the metadata file."""
