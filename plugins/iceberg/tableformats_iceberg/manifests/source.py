"""Reads the manifests of one table, and caches their entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tableformats.plugin import Limits, PartitionSpec, ReusableBuffer, ScanReport, dataclass, in_order

from ..files.table_files import TableFiles
from .entries import Entries, EntriesRequest, read_entries
from .manifest_list import Manifest

__all__ = ["ManifestSource"]


@dataclass(frozen=True)
class ManifestSource:
    """The files of a table, and what decoding its manifests needs to know of the table."""

    files: TableFiles
    specs: Mapping[int, PartitionSpec]
    default_spec_id: int

    @property
    def limits(self) -> Limits:
        """The limits of the table."""
        return self.files.storage.limits

    def request(self, columns: Sequence[int], threads: int = 1, all_statuses: bool = False) -> EntriesRequest:
        """What is decoded of this table's manifests for bounds of ``columns``."""
        return EntriesRequest(self.specs, self.default_spec_id, columns, all_statuses, self.limits, threads)

    def read_bytes(self, manifest: Manifest, buffer: ReusableBuffer | None = None) -> tuple[bytes | memoryview, str]:
        """The bytes of a manifest and its absolute path. Raises as :meth:`TableFiles.read` does."""
        return self.files.read(manifest.path, "manifest", buffer)

    def read_entries(
        self, manifest: Manifest, columns: Sequence[int], report: ScanReport | None = None, threads: int = 1
    ) -> Entries:
        """Read the live entries of a manifest, past the cache, with statistics of ``columns``.

        Raises CorruptMetadataError, LimitExceededError, UnsupportedFeatureError.
        """
        return self.decode_entries(*self.read_bytes(manifest), manifest, self.request(columns, threads), report)

    def decode_entries(
        self,
        data: bytes | memoryview,
        path: str,
        manifest: Manifest,
        request: EntriesRequest,
        report: ScanReport | None = None,
    ) -> Entries:
        """Decode a manifest that was read, and count it in ``report``. Raises as :func:`read_entries` does."""
        if report is not None:
            report.count_metadata(len(data))
        return read_entries(data, path, manifest, request, report)

    # ---- with the cache -----------------------------------------------------------------------------------------

    def entries(self, manifest: Manifest, columns: Sequence[int], report: ScanReport | None = None) -> Entries:
        """The live entries of a manifest with statistics of at least ``columns``, from the cache if it has them."""
        known, found = self.files.cache.find(("entries", manifest)) or (frozenset(), None)
        if found is None or not known.issuperset(columns):
            found = self.read_entries(manifest, columns, report)
            self.cache_entries(manifest, columns, found)
        return found

    def is_cached(self, manifest: Manifest) -> bool:
        """Whether the cache has entries of the manifest, with statistics of any columns."""
        return self.files.cache.find(("entries", manifest)) is not None

    def cache_entries(self, manifest: Manifest, columns: Sequence[int], entries: Entries) -> None:
        """Put the live entries of a manifest, with statistics of ``columns``, into the cache."""
        self.files.cache.keep(("entries", manifest), (frozenset(columns), entries), entries.nbytes)

    def counted_entries(self, manifest: Manifest, columns: Sequence[int]) -> tuple[Entries, ScanReport]:
        """:meth:`entries`, with a report that counts what was read for them."""
        report = ScanReport()
        return self.entries(manifest, columns, report), report

    def entries_of(
        self, manifests: Sequence[Manifest], columns: Sequence[int], report: ScanReport
    ) -> Iterator[Entries]:
        """:meth:`entries` of several manifests in their order, read ahead by several threads."""
        for entries, counted in in_order(lambda manifest: self.counted_entries(manifest, columns), manifests):
            report.add(counted)
            yield entries
