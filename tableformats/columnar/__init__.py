"""Columns of values, as NumPy and Arrow arrays that share their memory, without what makes pyarrow slow to start.

``arrays.py`` makes Arrow arrays from NumPy arrays and Python values, and back. ``compute.py`` has the functions of
``pyarrow.compute``, each of them made when it is first called. ``packed.py`` stores columns of numbers in fewer bytes,
for the caches. ``grouping.py`` groups rows by several columns. Nothing here knows files, formats or predicates.
"""
