"""The cache of decoded metadata, within a budget of bytes.

``metadata_cache.py`` has :class:`MetadataCache`: decoded metadata in memory, by key, which tables and threads may
share. ``directory.py`` has the cache on disk for later processes: entries of bytes, each complete and undamaged or not
there. What an entry holds, and its key, is decided by those who use the cache.
"""
