"""The conformance kit for plugin authors: subclass :class:`FormatConformance`, say where a table is, run pytest.

    from my_plugin import MyFormat
    from tableformats.testing import FormatConformance

    class TestMyFormat(FormatConformance):
        @pytest.fixture
        def format_class(self):
            return MyFormat

        @pytest.fixture
        def location(self, tmp_path):
            return write_a_table(tmp_path)      # with the format's own writer, not with the plugin

        @pytest.fixture
        def expected_rows(self):
            return [{"id": 1, "day": date(2024, 1, 1)}, ...]      # all rows of that table

The first two fixtures must be supplied; :class:`ConformanceFixtures` describes all of them. Without ``expected_rows``
the kit does not notice a file that the plugin forgets, or partition values in the wrong file. Small tables are best: a
few files with a hundred rows, NULLs and NaNs among them.

The kit checks the contract of :mod:`tableformats.plugin`: types, shapes and errors; bounds, counts and partition values
against what the Parquet files themselves hold; filters at each file's bounds against a read without pruning. A failure
says where it is, what the kit found, and what it wanted. The kit needs pytest alone.
"""

from .conformance import FormatConformance
from .fixtures import ConformanceFixtures

__all__ = ["ConformanceFixtures", "FormatConformance"]
