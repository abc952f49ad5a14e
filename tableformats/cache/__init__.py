"""The cache of decoded metadata: in memory (:class:`MetadataCache`) and in a directory."""
