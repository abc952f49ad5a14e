"""The conformance kit for plugin authors: subclass :class:`FormatConformance`, say where a table is, run pytest.

    from tableformats.testing import FormatConformance

    class TestMyFormat(FormatConformance):
        @pytest.fixture
        def format_class(self):
            return MyFormat

        @pytest.fixture
        def location(self, tmp_path):
            return write_a_table(tmp_path)      # with the format's own writer, not with the plugin

The kit checks the contract of :mod:`tableformats.plugin`: types, shapes, errors, and that planning and reading hold
together. It uses plain ``assert`` and needs pytest alone.
"""

from .conformance import FormatConformance

__all__ = ["FormatConformance"]
