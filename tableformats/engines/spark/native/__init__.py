"""The native path: classic sessions, whose driver's JVM Python can reach.

:func:`native_scan.to_spark` is its entry. :class:`jvm.Bridge` makes a DataFrame over planned files: the relation's file
index is our ``PlannedFiles.java``, so nothing is listed, and filters that users put on the DataFrame later reach our
pruning when Spark plans the query. The Java sources lie in this folder; Janino, which Spark ships, compiles them in
the driver at first use.
"""
