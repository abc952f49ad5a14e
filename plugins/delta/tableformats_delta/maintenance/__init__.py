"""Keeps the log short and checked: writes checkpoints, their hint, checksum files and log compactions, and cleans up.

May use every other package of this plugin but ``write``. Nothing here changes what a table holds.
"""
