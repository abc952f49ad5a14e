"""The kernels: loops over NumPy and Arrow buffers, with the GIL released and no Python object per file.

Each compiled module has a readable twin of the same names and signatures in
:mod:`tableformats._core.reference`, which is its specification: one test body runs over both. There is no
silent fallback from one to the other.
"""
