"""Mutants of what is asked of stores: which requests are sent, what their answers are taken for, and their faults."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CHAINS = ("io/test_request_chains.py",)
_FAULTS = ("io/test_store_faults.py",)
_SMALL = ("io/test_small_files.py",)
_STORES = ("io/test_stores.py",)
_THREADS = ("runtime/test_io_threads.py",)

MUTANTS = (
    Mutant(
        "checksums-of-other-bytes-stay",
        "core:write_local",
        'f".{name}.crc"',
        'f".{name}.crc~"',
        "Spark refuses a file that was written over, because Hadoop's checksum is that of the one before",
        ("io/test_pieces.py",),
    ),
    # ---- the newest version of a remote log -------------------------------------------------------------------------
    Mutant(
        "expected-log-is-the-log",
        "delta:DeltaTable._newest",
        "if expected is not None and not segment.extends(expected):",
        "if False:",
        "what was read ahead is taken for a commit that was replaced meanwhile",
        _CHAINS,
    ),
    Mutant(
        "hint-without-its-checkpoint",
        "delta:RemoteLog._from_checkpoint",
        "if listing is not None and listing.checkpoints",
        "if listing is not None",
        "a hint counts whose checkpoint is not there",
        _CHAINS,
    ),
    Mutant(
        "hint-read-each-time",
        "delta:RemoteLog._from_checkpoint",
        "if self._checkpoint is None",
        "if True",
        "each snapshot of a long log reads the hint again",
        _CHAINS,
    ),
    Mutant(
        "update-lists-everything",
        "delta:DeltaTable._listing_since",
        "list_log(self._storage, base.version)",
        "list_log(self._storage)",
        "an update lists the whole log",
        _CHAINS,
    ),
    # ---- ranges -----------------------------------------------------------------------------------------------------
    Mutant(
        "pieces-from-their-beginning",
        "core:RemoteFile._piece_with",
        "max(start - first, 0)",
        "0",
        "a range that begins within a piece gets the piece's first bytes",
        _STORES,
    ),
    Mutant(
        "parts-of-a-range-are-enough",
        "core:RemoteFile._piece_with",
        "if sum(map(len, parts)) != length: return None",
        "if not parts: return None",
        "a range that is only partly read ahead comes cut short",
        _STORES,
    ),
    Mutant(
        "joined-ranges-end-with-the-last",
        "core:_pieces",
        "if stop <= last: continue",
        "if stop < first: continue",
        "a range within a longer one cuts it short",
        _STORES,
    ),
    Mutant(
        "column-chunks-without-dictionaries",
        "core:ParquetFile._chunks",
        "offsets = (column.dictionary_page_offset, column.data_page_offset)",
        "offsets = (column.data_page_offset,)",
        "a column chunk is read without its dictionary, which costs a request more",
        _CHAINS,
    ),
    # ---- requests ---------------------------------------------------------------------------------------------------
    Mutant(
        "large-requests-count-as-small",
        "core:ReadAhead._next",
        "self._small if size <= SMALL_BYTES else self._large",
        "self._small",
        "as many large requests as small ones run at once",
        _THREADS,
    ),
    Mutant(
        "shares-are-kept",
        "core:ReadAhead._finish",
        "self._free += share",
        "self._free += 0",
        "requests after the first ones are never sent",
        _THREADS,
    ),
    Mutant(
        "read-twice-in-nested-contexts",
        "core:RequestsAhead.sending",
        "if not any(key in ahead for ahead in self._contexts)",
        "if True",
        "what a context around this one reads is read again",
        _CHAINS,
    ),
    # ---- small files, whose answers come without a thread -----------------------------------------------------------
    Mutant(
        "small-files-cut-off",
        "core:ObstoreStore._finish_get",
        "if len(data) <= size:",
        "if True:",
        "a file that grew since it was listed is read without its end",
        _SMALL,
    ),
    Mutant(
        "no-ranges-no-files",
        "core:ObstoreStore._finish_get",
        "fault.status not in (None, 416)",
        "True",
        "a file that is empty now, or whose store has no ranges, is an error",
        _SMALL,
    ),
    Mutant(
        "answers-after-the-end",
        "core:Unfinished.add",
        "self._count += number",
        "self._count += 0",
        "a process ends while requests are being answered",
        _SMALL,
    ),
    Mutant(
        "loops-are-forgotten",
        "core:begin_request",
        "_set_running_loop(outer)",
        "_set_running_loop(None)",
        "who reads a table in a coroutine has no running event loop afterwards",
        _SMALL,
    ),
    Mutant(
        "listed-before-the-catalog",
        "delta:DeltaTable._newest",
        "if self._catalog_commits is None:",
        "if True:",
        "a commit that was published while the catalog was asked is forgotten",
        _CHAINS,
    ),
    Mutant(
        "users-of-endpoints-are-told",
        "core:_asked_of",
        "_URL.search(text)",
        're.search("(https?://)([^ /]+)", text)',
        "the error of a store that cannot be reached shows the password in its endpoint",
        _FAULTS,
    ),
    Mutant(
        "connection-strings-of-anything",
        "core:_connection_parts",
        "if not equals:",
        "if False:",
        "the first part of a malformed connection string is taken for a name",
        ("io/test_bad_input.py",),
    ),
    Mutant(
        "proxies-without-certificates",
        "core:_asks_nobody_else",
        "not has_proxy and",
        "True and",
        "an https proxy before an http endpoint is refused, because no certificates were read",
        ("io/test_store_options.py",),
    ),
    Mutant(
        "faults-are-damage",
        "core:fault_of",
        "if is_missing(error):",
        "if is_missing(error) or 'status code: 403' in str(error):",
        "a file that the store refuses is said to be missing",
        _FAULTS,
    ),
    Mutant(
        "buckets-are-files",
        "core:ObstoreStore._head",
        "if not self._address.key(path):",
        "if False:",
        "a bucket without files is a file",
        _FAULTS,
    ),
    Mutant(
        "another-azure-account",
        "core:_with_account",
        "if given and address.host.endswith(_AZURE_HOST)",
        "if False and address.host.endswith(_AZURE_HOST)",
        "a location of one Azure account opens the container of that name in another",
        ("io/test_bad_input.py",),
    ),
)
