"""``with tf.transaction(catalog) as txn``: verbs on several tables of a catalog, one commit."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..errors import CommitUnknownError, TableFormatsError
from ..write.commit_loop import CommitOptions, errors_say_nothing_done
from ..write.group_commit import GroupMember, commit_group
from ..write.transaction import AlreadyCommittedError, check_application
from .table import open_table
from .transactions import discard_files, end_member, group_member

if TYPE_CHECKING:
    from ..plugin.writing.transaction import Commit
    from .transactions import Transaction

__all__ = ["CatalogTransaction", "transaction"]


def transaction(
    catalog: Any,
    *,
    isolation: str | None = None,
    application: tuple[str, int] | None = None,
    properties: Mapping[str, str] | None = None,
    tries: int = 100,
    timeout: float = 120.0,
    storage_options: Mapping[str, Any] | None = None,
) -> CatalogTransaction:
    """Changes of several tables of one catalog that become visible together, or not at all.

    Only Iceberg's REST catalogs have this, and not all of them (the endpoint ``transactions/commit``).

    Parameters
    ----------
    catalog, storage_options
        As of :func:`open_table`.
    isolation, application, properties, tries, timeout
        As of :meth:`Table.transaction`, for each table. Where a table has the application's transaction, nothing is
        done.

    Raises
    ------
    UnsupportedFeatureError
        The catalog commits to one table at a time; ``field`` is ``transaction``.
    CatalogError
        The catalog cannot be used.

    Examples
    --------
    >>> with tf.transaction("prod") as txn:  # doctest: +SKIP
    ...     txn.append("sales.orders", orders)
    ...     txn.delete("sales.open", "id IN (7, 8)")
    >>> txn.commits["sales.orders"].version  # doctest: +SKIP
    5179308321743014129
    """
    from ..catalog.opening import catalog_of

    known = catalog_of(catalog)
    if not known.commits_several:
        raise known.not_several()
    options: dict[str, Any] = {"isolation": isolation, "application": check_application(application)}
    options |= {"properties": dict(properties or {}), "tries": tries, "timeout": timeout}
    return CatalogTransaction(known, options, storage_options)


class CatalogTransaction:
    """See :func:`transaction`. Leaving the context commits; an exception in it deletes the files that were written.

    >>> with tf.transaction("prod") as txn:  # doctest: +SKIP
    ...     txn.table("sales.orders", branch="audit").append(orders)

    Attributes
    ----------
    commits : dict of str to Commit
        What was done to each table, by the identifier with dots; empty before the end.
    """

    def __init__(self, catalog: Any, options: dict[str, Any], storage_options: Mapping[str, Any] | None) -> None:
        self._catalog = catalog
        self._options = options
        self._limits = CommitOptions(options["tries"], options["timeout"])
        self._storage_options = storage_options
        self._members: dict[tuple[str, ...], Transaction] = {}
        self._branches: dict[tuple[str, ...], str | None] = {}
        self._is_over = False
        self.commits: dict[str, Commit] = {}

    def __repr__(self) -> str:
        return f"CatalogTransaction({self._catalog.name!r}, {[_dotted(name) for name in self._members]})"

    # ---- verbs ------------------------------------------------------------------------------------------------------

    def table(self, identifier: Any, *, branch: str | None = None) -> Transaction:
        """The part of one table, whose verbs are those of :meth:`Table.transaction`; its ``snapshot`` is what is read.

        A table is opened once. Raises as :func:`open_table`; ValueError where the transaction is over, or the table is
        in it for another branch.
        """
        from ..catalog.base import parts_of

        if self._is_over:
            raise ValueError("the transaction is over")
        name = parts_of(identifier)
        known = self._members.get(name)
        if known is None:
            opened = open_table(name, catalog=self._catalog, storage_options=self._storage_options)
            known = self._members[name] = opened.transaction(branch=branch, **self._options)
            self._branches[name] = branch
        elif branch not in (None, own := self._branches[name]):
            raise ValueError(f"the transaction has table {_dotted(name)!r} for the branch {own or 'main'!r}")
        return known

    def append(self, identifier: Any, data: Any, *, schema: str | None = None) -> None:
        """Add rows to a table. See :meth:`Table.append`."""
        self.table(identifier).append(data, schema=schema)

    def overwrite(self, identifier: Any, data: Any, where: Any = None, *, schema: str | None = None) -> None:
        """Replace rows of a table by others. See :meth:`Table.overwrite`."""
        self.table(identifier).overwrite(data, where, schema=schema)

    def delete(self, identifier: Any, where: Any) -> None:
        """Delete rows of a table. See :meth:`Table.delete`."""
        self.table(identifier).delete(where)

    # ---- the end ----------------------------------------------------------------------------------------------------

    def __enter__(self) -> CatalogTransaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        if error is None:
            self._finish()
            return
        self._discard()
        if isinstance(error, TableFormatsError) and not isinstance(error, CommitUnknownError):
            error.committed = False

    def _finish(self) -> None:
        """Commit. Raises as :func:`.group_commit.commit_group`."""
        members: dict[tuple[str, ...], tuple[GroupMember, dict[str, int]]] = {}
        try:
            with errors_say_nothing_done():
                for name, part in self._members.items():
                    if (found := group_member(part, _dotted(name))) is not None:
                        members[name] = found
        except BaseException:
            self._discard()
            raise
        attempts = 0
        try:
            if members:
                attempts = commit_group([member for member, _ in members.values()], self._limits)
        except AlreadyCommittedError:
            self._discard()
            members = {}
        except TableFormatsError as error:
            # After an unknown outcome the files are kept: a commit may name them.
            if error.committed is False:
                self._discard()
            raise
        for name, part in self._members.items():
            member, metrics = members.get(name, (None, {}))
            self.commits[_dotted(name)] = end_member(part, member, attempts, metrics)

    def _discard(self) -> None:
        for part in self._members.values():
            discard_files(part)


def _dotted(name: tuple[str, ...]) -> str:
    from ..catalog.base import dotted

    return dotted(name)
