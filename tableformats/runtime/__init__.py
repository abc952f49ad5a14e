"""How work is run: on threads, across forks and processes, and with which memory allocator.

``threads.py`` works on several items at once and returns the results in order. ``concurrency.py`` has cached
properties without a lock, and locks that are free after a fork. ``pickling.py`` defines what other processes get of
tables, scans and plans. ``allocator.py`` chooses Arrow's memory allocator while plans are made, and ``collector.py``
keeps Python's collector of cycles from looking at many new objects.
"""
