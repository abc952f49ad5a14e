"""Looks for broken rules of the specification in a table: :func:`.verify.verify`.

It reads the JSON of the metadata and all members of manifests and lists anew, and trusts nothing that is decoded for
plans. It stands on ``manifests`` and ``deletes``; the table calls it.
"""
