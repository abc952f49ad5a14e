"""Where catalogs that take no updates say a table's metadata file is, and its swap under a condition."""
