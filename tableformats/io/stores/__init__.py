"""The stores that tables live in, behind one interface: list, get, ranges, head, put, put_if_absent, delete.

``base.py`` has the interface. ``object_store.py`` speaks to S3, GCS, Azure and HTTP through obstore, ``file_system.py``
to every other scheme through fsspec, and to a file system that the caller hands over. ``opening.py`` chooses one of
them for a path. ``options.py`` and ``option_names.py`` understand the options that users know from other libraries,
``profiles.py`` AWS profiles, and ``addresses.py`` the URIs. ``faults.py`` turns what stores answer into typed errors.
``remote_file.py`` is a random-access file over ranges. Local files are read by ``io/storage.py`` itself, without any
of this.
"""
