"""Manifest lists and manifests: from their bytes to columns of live files with statistics.

``manifest_list`` decodes the list and leaves out manifests by their partition summaries. ``entries`` decodes one
manifest, or several at once, and applies what entries inherit from the list. ``values`` turns stored bounds and
partition values into typed arrays. ``source`` reads the manifests of one table and caches their entries. This package
stands on ``avro`` and ``files``.
"""
