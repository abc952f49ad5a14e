"""What every format must hold, as an abstract pytest suite; authors supply the fixtures."""

from __future__ import annotations

from .batches import BatchChecks
from .bounds import BoundsChecks
from .files import FileChecks
from .filters import FilterChecks
from .partitions import PartitionChecks
from .rows import RowChecks
from .tables import TableChecks

__all__ = ["FormatConformance"]


class FormatConformance(TableChecks, BatchChecks, FileChecks, RowChecks, BoundsChecks, PartitionChecks, FilterChecks):
    """Subclass it, name the subclass ``Test...``, and supply the fixtures ``format_class`` and ``location``.

    See Also
    --------
    tableformats.testing.ConformanceFixtures : all fixtures, among them ``expected_rows``
    """
