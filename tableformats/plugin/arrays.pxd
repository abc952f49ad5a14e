# For the Cython kernels of plugins: checks of the arrays that a kernel gets.
from tableformats._core.arrays cimport expect, expect_offsets
