"""Rows to data files. ``rows.py`` gives rows the columns and types of the table; ``data_files.py`` writes files."""
