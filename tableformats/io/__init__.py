"""Read the files that make up a table, from any store, without trusting what the table's metadata says.

``storage.py`` reads, lists and writes the files of one table: one ``Storage`` per table. ``stores/`` has the stores
that are not local, ``local_writes.py`` what is written to local disks,
``exclusive_put.py`` files that only one of several writers may write. ``path_policy.py`` decides which paths the
metadata may name and makes them absolute; ``paths.py`` knows how paths are spelled.
``redaction.py`` keeps credentials out of errors, reprs and pickles. ``buffers.py`` has memory that is used for one
file after the other. ``compression.py`` inflates compressed bytes up to a limit, and ``orc_tail.py`` reads what an ORC
file's tail says of its timestamps. No module here knows a table format.
"""
