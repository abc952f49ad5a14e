"""The portable path: a staged file log or the Python data source, for sessions without a JVM at hand."""
