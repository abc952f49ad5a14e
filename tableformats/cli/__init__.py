"""The command ``tableformats``: what a person at a terminal asks of a table, and each answer as JSON too.

Click and rich are imported in this package alone.
"""

from .app import main

__all__ = ["main"]
