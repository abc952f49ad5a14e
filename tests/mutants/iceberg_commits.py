"""Mutants of Iceberg's commits: updates of metadata, the swap, answers that are lost, ids, branches."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_UPDATES = ("test_metadata_updates.py",)
_CHANGES = ("test_metadata_change.py",)
_SWAP = ("test_swap.py",)
_VERBS = ("commits/test_table_verbs.py",)
_COMMITS = ("commits/test_metadata_commits.py",)
_CREATE = ("iceberg/test_create.py",)
_GLUE = ("test_glue_commits.py",)
_DYNAMODB = ("catalog/test_dynamodb.py",)
_BIGQUERY = ("catalog/test_bigquery_swap.py",)

MUTANTS = (
    Mutant(
        "turns-are-forgotten",
        "core:_is_ended_since",
        "> since_ns",
        "< since_ns",
        "a writer does not know that others committed since it read the table, and makes each commit twice",
        ("runtime/test_turns.py",),
    ),
    Mutant(
        "merged-manifests-stay",
        "iceberg:ManifestStore.choose",
        "if path not in named",
        "if False",
        "manifests that were stored early and then merged are left over",
        ("runtime/test_turns.py",),
    ),
    Mutant(
        "named-manifests-are-deleted",
        "iceberg:ManifestStore.choose",
        "if path not in named",
        "",
        "a manifest that was stored early is deleted, although the snapshot names it",
        ("runtime/test_turns.py",),
    ),
    Mutant(
        "unknown-words-are-false",
        "iceberg:Flag.of",
        'text.lower() not in ("true", "false")',
        "False",
        "a property that is neither true nor false counts as false",
        ("commits/test_properties.py",),
    ),
    Mutant(
        "row-groups-are-as-large-as-rows",
        "core:ParquetLayout._row_groups",
        "row_bytes = (sink.tell() - before) / count",
        "pass",
        "row groups are cut by the size of rows in memory",
        ("commits/test_properties.py",),
    ),
    # ---- answers that were lost -------------------------------------------------------------------------------------
    Mutant(
        "conflict-is-never-ours",
        "iceberg:MetadataSwap.looked_up",
        "if holds(newest, updates):",
        "if outcome is not PutOutcome.LOST and holds(newest, updates):",
        "a commit that landed and was answered with 409 is taken for that of a rival",
        _SWAP,
    ),
    Mutant(
        "server-errors-are-conflicts",
        "core:_outcome",
        "if _may_be_done(answer.status_code): return PutOutcome.UNKNOWN",
        "if _may_be_done(answer.status_code): return PutOutcome.LOST",
        "after 503 a commit is said to have lost, and its files are deleted",
        _SWAP,
    ),
    Mutant(
        "unknown-until-seen-is-lost",
        "iceberg:MetadataSwap.looked_up",
        "if outcome is PutOutcome.LOST or failed_requirement(newest, requirements) is not None:",
        "if True:",
        "a commit that is not there yet is said to have lost, and may land later",
        _SWAP,
    ),
    Mutant(
        "dynamodb-without-its-condition",
        "core:swap",
        'ConditionExpression="#location = :old"',
        'ConditionExpression=":old = :old"',
        "two writers of one table in DynamoDB both win",
        _DYNAMODB,
    ),
    Mutant(
        "dynamodb-with-the-same-version",
        "core:swap",
        'UpdateExpression="SET #location = :new, #previous = :old, v = :version, updated_at = :now"',
        'UpdateExpression="SET #location = :new, #previous = :old, w = :version, updated_at = :now"',
        "a writer of Iceberg's Java catalog does not see our commit, and writes over it",
        _DYNAMODB,
    ),
    Mutant(
        "bigquery-without-its-etag",
        "core:swap",
        "if not table.etag:",
        "if False:",
        "two writers of a table for which BigQuery tells no ETag both win",
        _BIGQUERY,
    ),
    Mutant(
        "bigquery-without-its-location",
        "core:swap",
        "if table is None or parameters.get(_LOCATION) != old:",
        "if table is None:",
        "a commit upon an older metadata file takes the place of the newer one in BigQuery",
        _BIGQUERY,
    ),
    Mutant(
        "glue-without-its-version",
        "core:swap",
        "VersionId=version,",
        "",
        "two writers of one Glue table both win",
        _GLUE,
    ),
    # ---- the swap ---------------------------------------------------------------------------------------------------
    Mutant(
        "created-over-a-table",
        "iceberg:DirectorySwap.commit",
        "if base is None and any(",
        "if base is None and not any(",
        "a table whose first metadata file was deleted is created again over the newer ones",
        _COMMITS,
    ),
    Mutant(
        "directory-of-a-catalog",
        "iceberg:DirectorySwap._version_of",
        "if match is None or self._storage.root.endswith('.json'):",
        "if match is None:\n    return 0\nif False:",
        "a commit into the directory of a catalog's table is seen by nobody",
        _SWAP,
    ),
    # ---- metadata ---------------------------------------------------------------------------------------------------
    Mutant(
        "field-ids-used-again",
        "iceberg:_Builder.add_schema",
        "self.put('last-column-id', highest)",
        "pass",
        "a new column gets the id of a dropped one, and its values",
        _UPDATES,
    ),
    Mutant(
        "row-ids-used-again",
        "iceberg:_Builder.add_snapshot",
        "self.found['next-row-id'] = first + snapshot['added-rows']",
        "pass",
        "rows of two snapshots have the same ids",
        _UPDATES,
    ),
    Mutant(
        "log-with-a-gap",
        "iceberg:_Builder._correct_log",
        "kept = []",
        "pass",
        "time travel gives a snapshot for a time when an expired one was current",
        _UPDATES,
    ),
    Mutant(
        "staged-snapshots-in-the-log",
        "iceberg:_Builder._correct_log",
        "elif snapshot_id not in self.added_snapshots or snapshot_id == current:",
        "else:",
        "time travel gives a snapshot that no reader could see",
        _UPDATES,
    ),
    Mutant(
        "unknown-fields-lost",
        "iceberg:SchemaChange._kept",
        "found = dict(raw)",
        "found = {k: raw[k] for k in ('id', 'name', 'required', 'type') if k in raw}",
        "a changed column loses its comment, its defaults and what newer writers say of it",
        _CHANGES,
    ),
    Mutant(
        "void-instead-of-removed",
        "iceberg:changed_spec",
        "if metadata['format-version'] == 1:",
        "if False:",
        "a version 1 table gives the id of a dropped partition field to another one",
        _CHANGES,
    ),
    Mutant(
        "partition-ids-given-anew",
        "iceberg:changed_spec",
        "fields = [_reused(known, one) for one in wanted]",
        "fields = [partition_json(one, has_width=True) for one in wanted]",
        "a partition field that comes back has another id, and old files no value of it",
        _CHANGES,
    ),
    Mutant(
        "promoted-under-a-transform",
        "iceberg:SchemaChange._type",
        "if old.id in self._sources and raw == 'date':",
        "if False:",
        "buckets of dates are compared with buckets of timestamps",
        _CHANGES,
    ),
    Mutant(
        "names-of-dropped-columns",
        "iceberg:_mapped",
        "names = [n for n in one.get('names') or [] if n not in taken]",
        "names = one.get('names')",
        "files without field ids give the values of a dropped column to a new one of its name",
        _CHANGES,
    ),
    # ---- branches ---------------------------------------------------------------------------------------------------
    Mutant(
        "fast-forward-anywhere",
        "iceberg:_is_ancestor",
        "return False",
        "return True",
        "a fast-forward loses snapshots of the branch",
        _CHANGES,
    ),
    Mutant(
        "replaced-columns-keep-ids",
        "iceberg:replace_updates",
        "fresh_schema(request.schema, base['last-column-id'] + 1)",
        "fresh_schema(request.schema)",
        "a replaced table reads files of the old one by the new types",
        _COMMITS,
    ),
    Mutant(
        "published-twice",
        "iceberg:pick_of",
        "if (wap_id is not None and published[0] == wap_id) or published[1] == str(picked.id):",
        "if False:",
        "the files of a snapshot are in the table twice",
        _VERBS,
    ),
    Mutant(
        "picked-with-old-entries",
        "iceberg:picked_entries",
        "entries = carried.entries.take(np.flatnonzero(carried.entries.snapshot_id == picked.id))",
        "entries = carried.entries",
        "files of earlier snapshots are added again with those of the one that is picked",
        _VERBS,
    ),
    Mutant(
        "staged-commits-are-public",
        "iceberg:IcebergTransaction._begin_try",
        "if not is_staged:",
        "if True:",
        "a commit that is to be checked first is in the table at once",
        _VERBS,
    ),
    Mutant(
        "buckets-and-columns-confused",
        "iceberg:parse_partition_text",
        "if any(f.name == text for f in schema):",
        "if False:",
        "a column that is called like a transform is taken for one",
        _CREATE,
    ),
)
