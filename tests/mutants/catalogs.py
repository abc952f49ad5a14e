"""Mutants of catalogs: what is newest, which commits count, whose credentials open a store."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CREDENTIALS = ("catalog/test_credentials.py",)
_MANAGED = ("delta/test_catalog_managed.py",)
_PYICEBERG = ("catalog/test_pyiceberg.py",)

MUTANTS = (
    # ---- what is newest ---------------------------------------------------------------------------------------------
    Mutant(
        "catalog-not-asked-again",
        "core:Table.updated",
        "None if self._origin is None else self._origin.newer_than(self.storage)",
        "None",
        "an update stays at the metadata file that the catalog named first",
        _PYICEBERG,
    ),
    Mutant(
        "snapshot-of-an-older-file",
        "iceberg:IcebergTable.update",
        "if not is_own:",
        "if False:",
        "an older snapshot keeps its schema when the table has been refreshed",
        _PYICEBERG,
    ),
    Mutant(
        "pickled-tables-are-newest",
        "core:CatalogOrigin.newer_than",
        "if not self._names_version:",
        "if not self._names_version or self._catalog is None:",
        "a table from another process says that its old version is the newest",
        _PYICEBERG,
    ),
    # ---- catalog-managed tables -------------------------------------------------------------------------------------
    Mutant(
        "log-listed-before-the-catalog",
        "delta:DeltaTable._listing",
        "held = self._held()\n        return self._counted(list_log(self._storage), held)",
        "listing = list_log(self._storage); return self._counted(listing, self._held())",
        "a version that was accepted after the listing counts, and its commit is missing",
        _MANAGED,
    ),
    Mutant(
        "published-commits-first",
        "delta:with_catalog_commits",
        "{**published, **{version: file for version, file in staged.items() if version <= latest}}",
        "{**{version: file for version, file in staged.items() if version <= latest}, **published}",
        "a published commit counts more than the one that the catalog holds",
        _MANAGED,
    ),
    Mutant(
        "versions-beyond-the-catalog",
        "delta:with_catalog_commits",
        "for version, file in listing.commits.items() if version <= latest",
        "for version, file in listing.commits.items()",
        "a commit counts that the catalog has not accepted",
        _MANAGED,
    ),
    Mutant(
        "checkpoints-beyond-the-catalog",
        "delta:with_catalog_commits",
        "in listing.checkpoints.items() if version <= latest",
        "in listing.checkpoints.items()",
        "a checkpoint counts of a version that the catalog has not accepted",
        _MANAGED,
    ),
    Mutant(
        "compactions-of-held-commits",
        "delta:with_catalog_commits",
        "min([latest, *(version - 1 for version in staged)])",
        "latest",
        "a compaction replaces a commit that the catalog holds",
        _MANAGED,
    ),
    Mutant(
        "newest-version-may-be-missing",
        "delta:with_catalog_commits",
        "if found and found.latest != latest:",
        "if False:",
        "an older version is read where the newest one is missing",
        _MANAGED,
    ),
    Mutant(
        "staged-commits-of-any-name",
        "delta:_staged_file",
        "match is None or int(match[1]) != commit.version or",
        "match is None or",
        "the commit of another version is read as this one",
        _MANAGED,
    ),
    Mutant(
        "managed-tables-by-directory",
        "delta:check_protocol",
        "(feature.needs_catalog and not is_of_catalog)",
        "False",
        "a catalog-managed table is read at its directory, without its newest commits",
        _MANAGED,
    ),
    Mutant(
        "first-page-of-commits",
        "core:UnityCatalog.commits",
        "if not new or last >= latest or last < start:",
        "if True:",
        "only the first answer's commits are read",
        _MANAGED,
    ),
    # ---- credentials ------------------------------------------------------------------------------------------------
    Mutant(
        "vended-credentials-for-ever",
        "core:RenewedOptions.current",
        "if self._renew_at_ms is None or self._now() < self._renew_at_ms:",
        "if True:",
        "expired credentials are used",
        _CREDENTIALS,
    ),
    Mutant(
        "redirects-get-the-token",
        "core:_OPENER",
        "urllib.request.build_opener(_NoRedirects)",
        "urllib.request.build_opener()",
        "another host gets the catalog's token",
        ("catalog/test_unity.py",),
    ),
    Mutant(
        "every-refusal-renews",
        "core:RenewingStore._call",
        "if not _has_expired(error) or not self._renewed.replaced(generation):",
        "if not self._renewed.replaced(generation):",
        "the catalog is asked for credentials whenever a store refuses",
        _CREDENTIALS,
    ),
    Mutant(
        "any-prefix-of-credentials",
        "core:_vended",
        'max(fitting, key=lambda c: len(str(c["prefix"])), default=None)',
        'min(fitting, key=lambda c: len(str(c["prefix"])), default=None)',
        "the credentials of a wider prefix open the store",
        _PYICEBERG,
    ),
    Mutant(
        "properties-of-the-answer-open-stores",
        "core:PyIcebergCatalog._of_answer",
        '{**_strings(answer.get("config")),',
        '{**_strings(answer["metadata"].get("properties")), **_strings(answer.get("config")),',
        "a table's own properties in a REST answer name the endpoint that gets the credentials",
        _PYICEBERG,
    ),
    Mutant(
        "properties-of-unity-are-an-object",
        "core:UnityCatalog.load",
        'properties = _object(found.get("properties"))',
        'properties = found.get("properties") or {}',
        "AttributeError for a table whose properties are a list in the catalog's answer",
        ("catalog/test_answer_outcomes.py",),
    ),
    Mutant(
        "lost-answers-of-proxies-are-refusals",
        "core:_may_be_done",
        "(status >= 500 and status not in _NOT_DONE)",
        "status in (500, 502, 503, 504)",
        "a commit whose answer a proxy lost (524) is said not to have been done, and files that it names are deleted",
        ("catalog/test_answer_outcomes.py",),
    ),
)
