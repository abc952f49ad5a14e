"""Commit changes, whole or not at all. ``commit_loop.py`` tries, waits and gives up; no module knows a format."""
