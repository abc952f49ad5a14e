"""The native path: a relation over the files of a plan in the JVM of a classic session."""
