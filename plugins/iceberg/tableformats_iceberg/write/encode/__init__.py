"""Encodes manifests and manifest lists from columns."""
