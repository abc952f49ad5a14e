"""Give the file system of a relation what ``storage_options`` say, and learn that it can read before a query does.

Hadoop keeps one file system for each scheme and bucket, for all users of a JVM, whatever their configuration. So a
relation with options of its own reads under a scheme of its own (``tf3a`` and a digest of the options), which names
S3A's class. Its options stand in the configuration of this relation alone. No other query of the session gets its
credentials, and it gets none of theirs. EXPLAIN, repr and event logs do not show a relation's options.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ....errors import StoreError, StorePermissionError, UnsupportedFeatureError
from ....io.storage import Storage
from ..hadoop_paths import hadoop_authorities, our_path
from ..hadoop_settings import hint_for, s3a_settings, settings_to_add

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["OWN_SCHEME", "HadoopAccess", "java_class", "java_message"]

OWN_SCHEME = "tf3a"
_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_KEY = os.urandom(16)
_REFUSED = ("AccessDeniedException", "NoAuthWithAWSException", "Credential", "403", "401")
_reached: WeakKeyDictionary[Any, set[tuple[str, str]]] = WeakKeyDictionary()
"""What each JVM could read: (authority, digest of the settings)."""


class HadoopAccess:
    """The file systems that a session has for the files of a plan.

    Parameters
    ----------
    gateway : Any
        Of Py4J.
    configuration : Any
        Hadoop's, a copy of the session's.
    storage : Storage or None
        Of the table; None: nothing is given to file systems, and nothing is read ahead.
    """

    def __init__(self, gateway: Any, configuration: Any, storage: Storage | None) -> None:
        self._gateway = gateway
        self._configuration = configuration
        self._storage = storage

    def opened(self, paths: pa.ChunkedArray) -> tuple[pa.ChunkedArray, dict[str, str]]:
        """Hadoop's paths of files as the relation names them, and the options that its file systems need.

        Raises
        ------
        UnsupportedFeatureError
            The session has no connector for a scheme, or lacks the settings that would open the store; the hint has
            the lines to add.
        StorePermissionError, StoreError
            The session's file system cannot read a file.
        """
        import pyarrow.compute as pc

        options: dict[str, str] = {}
        for authority, path in hadoop_authorities(paths).items():
            scheme = authority.partition(":")[0]
            self._check_connector(scheme, authority)
            settings = self._settings(scheme, authority)
            options |= settings
            if settings:
                own = f"{OWN_SCHEME}{_digest(settings)}"
                options[f"fs.{own}.impl"] = _S3A
                there = pc.starts_with(paths, f"{authority}/")
                renamed = pc.binary_replace_slice(paths, 0, len(scheme), own)
                paths = pc.if_else(there, renamed, paths)
                path = own + path[len(scheme) :]
            if self._storage is not None and "://" in authority:
                self._check_reading(self._storage, authority, path, options)
        return paths, options

    def _settings(self, scheme: str, authority: str) -> dict[str, str]:
        if self._storage is None:
            return {}
        ours = our_path(authority)
        needed = settings_to_add(self._storage, ours)
        if scheme == "s3a" and self._class_of(scheme) == _S3A:
            return s3a_settings(self._storage, ours)
        missing = [name for name in needed if self._configuration.get(name) is None]
        if len(missing) == len(needed) and needed and not self._has_settings_of_its_own(scheme, authority):
            raise UnsupportedFeatureError(
                f"the storage_options cannot be given to Spark's file system for {authority}, and the session has no "
                "settings for it",
                path=authority,
                field=missing[0],
                hint=hint_for(self._storage, ours),
            )
        return {}

    def _has_settings_of_its_own(self, scheme: str, authority: str) -> bool:
        """Whether the session knows how to open an Azure account or GCS in some other way."""
        names = {"abfss": ["fs.azure.account.auth.type", "fs.azure.account.key"], "gs": ["fs.gs.auth.type"]}
        host = authority.partition("@")[2]
        found = [name for name in names.get(scheme, []) for name in (name, f"{name}.{host}")]
        return any(self._configuration.get(name) is not None for name in found)

    def _check_connector(self, scheme: str, authority: str) -> None:
        try:
            self._class_of(scheme)
        except Exception as error:
            lines = "" if self._storage is None else f". {self._hint(self._storage, scheme, our_path(authority))}"
            raise UnsupportedFeatureError(
                f"the session cannot read files of {scheme}://: {java_message(error)}",
                field=f"{scheme}://",
                hint="Give it the Hadoop connector (for s3a that of spark.jars.packages="
                'org.apache.hadoop:hadoop-aws, in Spark\'s Hadoop version), or use mode="portable" or to_arrow()'
                + lines,
            ) from error

    def _hint(self, storage: Storage, scheme: str, authority: str) -> str:
        if scheme == "s3a" and settings_to_add(storage, authority):
            return "It gets the storage_options from here: the session needs no settings"
        return hint_for(storage, authority)

    def _class_of(self, scheme: str) -> str:
        file_system = self._java("org.apache.hadoop.fs.FileSystem")
        return str(file_system.getFileSystemClass(scheme, self._configuration).getName())

    def _check_reading(self, storage: Storage, authority: str, path: str, options: Mapping[str, str]) -> None:
        """Ask the file system for one file, once in this JVM. That the file is missing is found when it is read."""
        reached = _reached.setdefault(self._gateway, set())
        mark = (path.partition("://")[0], authority)
        if mark in reached:
            return
        configuration = self._java("org.apache.hadoop.conf.Configuration")(self._configuration)
        for name, value in options.items():
            configuration.set(name, value)
        try:
            found = self._java("org.apache.hadoop.fs.Path")(path)
            found.getFileSystem(configuration).getFileStatus(found)
        except Exception as error:
            text = storage.redact(java_message(error).replace(path.partition(":")[0], authority.partition(":")[0]))
            if text.startswith("java.io.FileNotFoundException"):
                return
            refused = any(part in text for part in _REFUSED)
            raise (StorePermissionError if refused else StoreError)(
                f"Spark's file system cannot read {authority}: {text[:300]}",
                path=authority,
                hint=hint_for(storage, our_path(authority)),
            ) from None
        reached.add(mark)

    def _java(self, name: str) -> Any:
        return java_class(self._gateway, name)


def _digest(settings: Mapping[str, str]) -> str:
    """Tells settings apart. It shows nothing of them, and differs in each process."""
    text = repr(sorted(settings.items())).encode()
    return blake2b(text, digest_size=6, key=_KEY).hexdigest()


def java_class(gateway: Any, name: str) -> Any:
    """The Java class of that full name. ``gateway.jvm.a.b.C`` would call the JVM at every dot."""
    from py4j.java_gateway import JavaClass

    return JavaClass(name, gateway._gateway_client)


def java_message(error: Exception) -> str:
    """The message of a Java exception, without its stack."""
    java = getattr(error, "java_exception", None)
    return str(error if java is None else java.toString()).partition("\n")[0]
