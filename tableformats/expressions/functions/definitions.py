"""What a function of predicates is: how it is typed, and how it is computed over Arrow arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from ...dataclass import dataclass
from ..tree import Function
from .vectors import Vector

__all__ = ["Computed", "Definition", "Kernel", "Rule"]

Computed = tuple[pa.Array, dict[str, np.ndarray]]
"""Values [n], and for each reason of a failure the rows bool[n] that fail. These are NULL in the values."""

Rule = Callable[[Function], Function]
"""Types a function of typed arguments: gives the arguments the types that the kernel takes, and the result its own."""

Kernel = Callable[[Function, Sequence[Vector], int], Computed]
"""Computes a typed function of n rows. The values of constants have one row, but at least one argument has n."""


@dataclass(frozen=True)
class Definition:
    """A function.

    Attributes
    ----------
    rule : callable
    kernel : callable, optional
        None: Arrow cannot compute the function as Spark does. Spark itself then filters the rows.
    """

    rule: Rule
    kernel: Kernel | None = None
