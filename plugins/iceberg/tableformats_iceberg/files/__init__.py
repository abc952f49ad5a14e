"""The files of a table: from a path that the metadata names to checked bytes.

This package resolves stored paths, reads files, inflates compressed content up to a limit and parses JSON strictly. It
says when two stored paths mean one file. It knows nothing of what the files contain. All other packages of the plugin
stand on it; it imports none of them.
"""
