"""Catalogs: from the name of a table to its location."""
