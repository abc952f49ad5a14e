"""Storage: listing and reading files, the policy of paths, credentials, compression."""
