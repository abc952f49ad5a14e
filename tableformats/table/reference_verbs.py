"""Branches and tags of a table: made, moved, removed; the main branch set back to an older version. One commit each."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..planning.handle import SnapshotHandle
    from ..plugin.format import FormatTable
    from ..plugin.writing.table_change import ReferenceChange
    from ..plugin.writing.transaction import Commit
    from .transactions import Transaction

__all__ = ["ReferenceVerbs"]

Age = dt.timedelta | int | None


class ReferenceVerbs(ABC):
    """Verbs of a table that change its branches and tags.

    Each takes ``tries`` and ``timeout`` as :meth:`Table.append` does, and raises

    - SnapshotNotFoundError: there is no such branch, tag or version,
    - ConstraintViolationError: the name is taken, or is that of a branch where a tag is meant, or the other way round,
    - UnsupportedFeatureError: the format has no branches and tags,
    - CommitConflictError: another writer moved the branch or tag in the meantime,
    - CommitUnknownError: as :meth:`Table.append`.
    """

    _opened: FormatTable

    @abstractmethod
    def transaction(self, *, branch: str | None = None, tries: int = 100, timeout: float = 120.0) -> Transaction:
        """See :meth:`Table.transaction`."""

    @abstractmethod
    def snapshot(self, version: int | str | None = None, *, timestamp: Any = None) -> SnapshotHandle:
        """See :meth:`Table.snapshot`."""

    def _version_of(self, version: int | str | None, timestamp: Any = None) -> int:
        return self.snapshot(version, timestamp=timestamp).version

    def create_branch(
        self,
        name: str,
        version: int | str | None = None,
        *,
        max_age: Age = None,
        min_versions: int | None = None,
        max_version_age: Age = None,
        **options: Any,
    ) -> Commit:
        """Make a branch at a version, or at the current one.

        Parameters
        ----------
        version : int or str, optional
            Its number, or the name of another branch or tag.
        max_age : timedelta or int, optional
            How long the branch is kept when versions expire; a number is milliseconds. None: as the table's properties
            say.
        min_versions, max_version_age : int, timedelta, optional
            How many of its versions are kept at least, and how long all of them are.

        Examples
        --------
        >>> table = tf.open_table("orders")
        >>> table.create_branch("audit").operation, table.count(branch="audit")
        ('alter', 6)
        """
        wanted = _reference("branch", self._version_of(version), must_exist=False)
        wanted = _kept(wanted, max_age, min_versions, max_version_age)
        return self._change_reference("create_branch", name, wanted, options)

    def create_tag(self, name: str, version: int | str | None = None, *, max_age: Age = None, **options: Any) -> Commit:
        """Name a version, or the current one. The arguments are as for :meth:`create_branch`.

        >>> table = tf.open_table("orders")
        >>> _ = table.create_tag("first", table.history()["version"][-1].as_py())
        >>> table.count(tag="first")
        3
        """
        wanted = _kept(_reference("tag", self._version_of(version), must_exist=False), max_age)
        return self._change_reference("create_tag", name, wanted, options)

    def replace_branch(
        self,
        name: str,
        version: int | str | None = None,
        *,
        max_age: Age = None,
        min_versions: int | None = None,
        max_version_age: Age = None,
        **options: Any,
    ) -> Commit:
        """Set a branch to a version, whatever its own are; None: only how long it is kept changes.

        >>> table = tf.open_table("orders")
        >>> _ = table.create_branch("audit")
        >>> _ = table.replace_branch("audit", table.history()["version"][-1].as_py())
        >>> table.count(branch="audit")
        3
        """
        target = None if version is None else self._version_of(version)
        wanted = _kept(_reference("branch", target, must_exist=True), max_age, min_versions, max_version_age)
        return self._change_reference("replace_branch", name, wanted, options)

    def replace_tag(
        self, name: str, version: int | str | None = None, *, max_age: Age = None, **options: Any
    ) -> Commit:
        """Set a tag to another version; None: only how long it is kept changes.

        >>> table = tf.open_table("orders")
        >>> _ = table.create_tag("first"), table.replace_tag("first", table.history()["version"][-1].as_py())
        >>> table.count(tag="first")
        3
        """
        target = None if version is None else self._version_of(version)
        wanted = _kept(_reference("tag", target, must_exist=True), max_age)
        return self._change_reference("replace_tag", name, wanted, options)

    def fast_forward(self, branch: str, to: int | str, **options: Any) -> Commit:
        """Move a branch on to a version that descends from its own: nothing that is in the branch is lost.

        A branch that is ahead of ``to``, or beside it, is refused by ConstraintViolationError.

        >>> table = tf.open_table("orders")
        >>> _ = table.create_branch("audit")
        >>> _ = table.append(pa.table({"id": [6], "day": [2]}), branch="audit")
        >>> _ = table.fast_forward("main", "audit")
        >>> table.count()
        7
        """
        wanted = _reference("branch", self._version_of(to), must_exist=True, only_forward=True)
        return self._change_reference("fast_forward", branch, wanted, options)

    def cherry_pick(self, version: int | str, *, branch: str | None = None, **options: Any) -> Commit:
        """Take a version into a branch that does not have it: as it is where it follows the branch's newest one, else a
        new version with the files that it added.

        Parameters
        ----------
        version : int or str
            Its number, or the name of the branch or tag that is at it.
        branch : str, optional
            None: the main one.

        Raises
        ------
        ConstraintViolationError
            The branch has it, or its files, already.
        UnsupportedFeatureError
            It removed files, and does not follow the branch's newest version.

        Examples
        --------
        >>> table = tf.open_table("orders")
        >>> _ = table.create_branch("audit")
        >>> staged = table.append(pa.table({"id": [6], "day": [2]}), branch="audit")
        >>> _ = table.cherry_pick(staged.version)
        >>> table.count()
        7
        """
        return self._pick("cherry_pick", self._version_of(version), None, branch, options)

    def publish(self, wap_id: str, *, branch: str | None = None, **options: Any) -> Commit:
        """Take a staged commit into a branch: one that was made with the property ``wap.id``, and so is in none.

        Raises as :meth:`cherry_pick`. Source: Iceberg's write-audit-publish.

        >>> table = tf.open_table("orders")
        >>> _ = table.alter.set_properties({"write.wap.enabled": "true"})
        >>> _ = table.append(pa.table({"id": [6], "day": [2]}), properties={"wap.id": "w1"})
        >>> table.count(), table.publish("w1").attempts, table.count()
        (6, 1, 7)
        """
        return self._pick("publish", None, wap_id, branch, options)

    def _pick(
        self, verb: str, version: int | None, staged_id: str | None, branch: str | None, options: dict[str, Any]
    ) -> Commit:
        change = self._opened.picking(version, staged_id)
        with self.transaction(branch=branch, **options) as transaction:
            transaction.alter(change, {"verb": verb, "version": version, "staged_id": staged_id})
        assert transaction.commit is not None
        return transaction.commit

    def restore(
        self, version: int | str | None = None, *, timestamp: dt.datetime | str | int | None = None, **options: Any
    ) -> Commit:
        """Set the table back to an older version. What came after it stays in the history, until it expires.

        Parameters
        ----------
        version : int or str, optional
            Its number, or the name of a branch or tag.
        timestamp : datetime, str or int, optional
            The version that was current then, in place of ``version``.

        Raises
        ------
        UnsupportedFeatureError
            The format has not this verb.

        Examples
        --------
        >>> table = tf.open_table("orders")
        >>> _ = table.restore(table.history()["version"][-1].as_py())
        >>> table.count()
        3
        """
        if (version is None) is (timestamp is None):
            raise TypeError("restore takes a version or a timestamp")
        found = self._version_of(version, timestamp)
        with self.transaction(**options) as transaction:
            transaction.alter(self._opened.restoring(found), {"verb": "restore", "version": found})
        assert transaction.commit is not None
        return transaction.commit

    def remove_branch(self, name: str, **options: Any) -> Commit:
        """Remove a branch. Its versions stay until they expire.

        >>> table = tf.open_table("orders")
        >>> _ = table.create_branch("audit"), table.remove_branch("audit")
        >>> table.inspect.refs()["name"].to_pylist()
        ['main']
        """
        return self._change_reference("remove_branch", name, _reference("branch", is_removed=True), options)

    def remove_tag(self, name: str, **options: Any) -> Commit:
        """Remove a tag. Its version stays until it expires.

        >>> table = tf.open_table("orders")
        >>> _ = table.create_tag("first"), table.remove_tag("first")
        >>> table.inspect.refs()["name"].to_pylist()
        ['main']
        """
        return self._change_reference("remove_tag", name, _reference("tag", is_removed=True), options)

    def _change_reference(self, verb: str, name: str, wanted: ReferenceChange, options: dict[str, Any]) -> Commit:
        if not isinstance(name, str) or not name:
            raise TypeError(f"a branch or tag has a name, not {name!r}")
        from ..plugin.writing.table_change import MetadataChange

        with self.transaction(**options) as transaction:
            transaction.alter(MetadataChange(references={name: wanted}), {"verb": verb, "name": name})
        assert transaction.commit is not None
        return transaction.commit


def _reference(kind: str, version: int | None = None, **options: bool) -> ReferenceChange:
    from ..plugin.writing.table_change import ReferenceChange

    return ReferenceChange(kind, version, **options)


def _kept(
    wanted: ReferenceChange, max_age: Age, min_versions: int | None = None, max_version_age: Age = None
) -> ReferenceChange:
    """The change with how long the branch or tag is kept."""
    if min_versions is not None and (isinstance(min_versions, bool) or not isinstance(min_versions, int)):
        raise TypeError(f"min_versions is a number, not {min_versions!r}")
    ages = _milliseconds(max_age, "max_age"), _milliseconds(max_version_age, "max_version_age")
    for name, value in (("max_age", ages[0]), ("min_versions", min_versions), ("max_version_age", ages[1])):
        if value is not None and value < 1:
            raise ValueError(f"{name} is positive, not {value}")
    return replace(wanted, max_age_ms=ages[0], min_versions=min_versions, max_version_age_ms=ages[1])


def _milliseconds(age: Age, name: str) -> int | None:
    if isinstance(age, dt.timedelta):
        return age // dt.timedelta(milliseconds=1)
    if age is not None and (isinstance(age, bool) or not isinstance(age, int)):
        raise TypeError(f"{name} is a timedelta or a number of milliseconds, not {age!r}")
    return age
