"""What a user pays before the first question."""


class ImportTime:
    """Imports in a fresh interpreter; the standard library's modules dominate."""

    timeout = 60

    def timeraw_import_tableformats(self) -> str:
        return "import tableformats"

    def timeraw_load_plugins(self) -> str:
        return "from tableformats.plugin.registry import host; host()"
