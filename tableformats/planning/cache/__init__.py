"""The caches around the stages of planning, all of them on top of :mod:`tableformats.cache`.

``block_cache.py`` keeps the blocks of parts that were read, and ``file_columns.py`` the other columns of their files,
both in memory; ``disk_cache.py`` keeps decoded parts in a directory for later processes.
"""
