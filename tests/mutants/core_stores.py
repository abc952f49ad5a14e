"""Mutants of what is asked of stores: which requests are sent, what their answers are taken for, and their faults."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_CHAINS = ("io/test_request_chains.py",)
_FAULTS = ("io/test_store_faults.py",)
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
        "core:ReadAhead._send",
        "self._small if size <= SMALL_BYTES else self._large",
        "self._small",
        "as many large requests as small ones run at once",
        _THREADS,
    ),
    Mutant(
        "shares-are-kept",
        "core:ReadAhead._answer",
        "self._free += share",
        "self._free += 0",
        "requests after the first ones are never sent",
        _THREADS,
    ),
    Mutant(
        "read-twice-in-nested-contexts",
        "core:Storage.reading_ahead",
        "is_local or any(name in ahead for ahead in self._ahead)",
        "is_local",
        "what a context around this one reads is read again",
        _CHAINS,
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
