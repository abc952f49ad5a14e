"""The kernels: loops over NumPy and Arrow buffers, with the GIL released and no Python object per file.

``pruning`` turns bounds into possible outcomes of a predicate, ``filekeys`` finds file keys that were seen before,
``bitmap`` reads deletion bitmaps, and ``paths`` classifies stored paths. ``masks.py`` has the truth tables. Each
compiled module has a readable twin with the same names and signatures in :mod:`tableformats._core.reference`, which is
its specification: the same tests run over both. A kernel is never replaced by its twin at run time.
"""
