"""Finds and loads plugins, each on its own: a broken one is recorded and never stops the others.

Plugins are found through the entry-point group ``tableformats``. What failed is raised as PluginLoadError when its
format is asked for, and listed by ``tableformats plugins``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import lru_cache, partial
from typing import Any

import pluggy

from ..dataclass import dataclass
from ..errors import (
    AmbiguousFormatError,
    PluginContractError,
    PluginLoadError,
    TableFormatsError,
    TableNotFoundError,
    UnknownFormatError,
)
from ..io.storage import Storage
from ..runtime.entry_points import AnyEntryPoint
from ..runtime.entry_points import entry_points as installed_entry_points
from ..runtime.io_threads import at_once
from . import hookspecs
from .format import OpenOptions, TableFormat
from .recognition import not_of_format, unknown_location

__all__ = ["ENTRY_POINT_GROUP", "PluginHost", "PluginRecord", "host"]

ENTRY_POINT_GROUP = "tableformats"


@dataclass
class PluginRecord:
    """One installed plugin: what it is called, what it registered, and what went wrong (None: nothing)."""

    name: str
    module: str
    formats: list[str] = field(default_factory=list)
    error: PluginLoadError | None = None
    entry: AnyEntryPoint | None = field(default=None, repr=False)
    """Where it was found."""

    @property
    def distribution(self) -> str | None:
        """The name of the distribution that it came with, read when it is asked for."""
        return self._of_distribution("name")

    @property
    def version(self) -> str | None:
        """The version of that distribution."""
        return self._of_distribution("version")

    def _of_distribution(self, name: str) -> str | None:
        found = getattr(getattr(self.entry, "dist", None), name, None)
        return None if found is None else str(found)


class PluginHost:
    """The formats of the installed plugins.

    Parameters
    ----------
    entry_points : where plugins come from; None means the installed distributions
    """

    def __init__(self, entry_points: Iterable[AnyEntryPoint] | None = None) -> None:
        self._pluggy = pluggy.PluginManager(hookspecs.PROJECT)
        self._pluggy.add_hookspecs(hookspecs)
        self.formats: dict[str, TableFormat] = {}
        self.plugins: list[PluginRecord] = []
        self._owners: dict[str, PluginRecord] = {}
        found = installed_entry_points(ENTRY_POINT_GROUP) if entry_points is None else entry_points
        for entry in sorted(found, key=lambda e: (e.name, e.value)):
            self._load(entry)

    def _load(self, entry: AnyEntryPoint) -> None:
        record = PluginRecord(entry.name, entry.value, entry=entry)
        self.plugins.append(record)
        try:
            module = entry.load()
            self._register(module, record)
        except (Exception, SystemExit) as error:  # whatever a stranger's module does, the others must load
            record.error = _load_error(record, error)
            for name in record.formats:  # what it registered before it failed is not to be trusted either
                self.formats.pop(name, None)
                self._owners.pop(name, None)

    def _register(self, module: Any, record: PluginRecord) -> None:
        self._pluggy.register(module, name=record.name)
        try:
            self._pluggy.check_pending()
            hook = self._pluggy.subset_hook_caller(
                "tableformats_register_formats", [p for p in self._pluggy.get_plugins() if p is not module]
            )
            for classes in hook():
                for cls in classes:
                    self._add(cls, record)
        except Exception:
            self._pluggy.unregister(module)
            raise

    def _add(self, cls: Any, record: PluginRecord) -> None:
        if not (isinstance(cls, type) and issubclass(cls, TableFormat)):
            raise PluginContractError(
                f"plugin {record.name!r} registered {cls!r}, which is no subclass of TableFormat", field=record.name
            )
        instance = cls()
        name = getattr(instance, "name", None)
        if not isinstance(name, str) or not name:
            raise PluginContractError(
                f"format {cls.__qualname__} of plugin {record.name!r} has no name", field=record.name
            )
        other = self._owners.get(name)
        if other is not None:
            # Neither may win: which is loaded first is chance.
            self.formats.pop(name, None)
            clash = PluginContractError(
                f"plugins {other.name!r} and {record.name!r} both register format {name!r}",
                field=name,
                hint="Uninstall one of them",
            )
            other.error = _load_error(other, clash)
            raise clash
        self._owners[name] = record
        record.formats.append(name)
        self.formats[name] = instance

    def get(self, name: str) -> TableFormat:
        """The format called ``name``. Raises PluginLoadError where its plugin is broken, else UnknownFormatError."""
        if name in self.formats:
            return self.formats[name]
        for record in self.plugins:
            if record.error is not None and name in (record.name, *record.formats):
                raise record.error
        raise UnknownFormatError(
            f"no installed plugin has the format {name!r}",
            field=name,
            hint=f"Installed formats: {', '.join(sorted(self.formats)) or 'none'}",
        )

    def detect(self, storage: Storage, options: OpenOptions) -> TableFormat:
        """The one format that claims ``storage.root``.

        Raises
        ------
        TableNotFoundError : nothing is there
        UnknownFormatError : no format claims it (names plugins that could not be loaded)
        AmbiguousFormatError : several do (names them)
        """
        if storage.is_local:
            storage.require_root()
        formats = list(self.formats.values())
        asked = at_once([partial(self._claims, f, storage, options) for f in formats], not storage.is_local)
        claims = [f for f, is_claimed in zip(formats, asked, strict=True) if is_claimed]
        if not claims:
            storage.require_root()
        if len(claims) > 1:
            names = sorted(f.name for f in claims)
            raise AmbiguousFormatError(
                f"the location holds tables of {len(names)} formats: {', '.join(names)}",
                path=storage.root,
                hint=f"Choose one with format={names[0]!r}",
            )
        if claims:
            return claims[0]
        names_of_all = ", ".join(sorted(self.formats))
        broken = [r.name for r in self.plugins if r.error is not None]
        if broken:
            raise UnknownFormatError(
                f"the location is no table of a known format ({names_of_all or 'none is installed'})",
                path=storage.root,
                hint=f"Plugins that could not be loaded: {', '.join(broken)}; see 'tableformats plugins'",
            )
        raise unknown_location(storage, partial(self._claiming, options=options), names_of_all)

    def not_found(
        self, format: TableFormat, storage: Storage, options: OpenOptions, error: TableNotFoundError
    ) -> TableNotFoundError:
        """What to raise where ``format``, which a user asked for, found no table at ``storage.root``, with ``error``:
        what is there instead, if something is."""
        storage.require_root()
        try:
            if self._claims(format, storage, options):
                return error  # it is a table of the format, and something of it is not there
            claiming = partial(self._claiming, options=options)
            return not_of_format(storage, format.name, claiming, ", ".join(sorted(self.formats)))
        except TableFormatsError:
            return error

    def _claiming(self, storage: Storage, options: OpenOptions) -> list[str]:
        return [f.name for f in self.formats.values() if self._claims(f, storage, options)]

    def _claims(self, format: TableFormat, storage: Storage, options: OpenOptions) -> bool:
        try:
            return bool(format.detect(storage, options))
        except TableFormatsError:
            raise
        except Exception as error:
            raise PluginContractError(
                f"format {format.name!r} failed to look at the location: {type(error).__name__}: {error}",
                path=storage.root,
                field=format.name,
                hint="Pass format= to ask another plugin",
            ) from error


def _load_error(record: PluginRecord, cause: BaseException) -> PluginLoadError:
    origin = f" of {record.distribution} {record.version}" if record.distribution else ""
    error = PluginLoadError(
        f"plugin {record.name!r} ({record.module}{origin}) could not be loaded: {type(cause).__name__}: {cause}",
        field=record.name,
        hint="Repair or uninstall it; other formats are not affected",
    )
    error.__cause__ = cause
    return error


@lru_cache(maxsize=1)
def host() -> PluginHost:
    """The process's plugins, loaded at the first call."""
    return PluginHost()
