"""Deletion vectors: their descriptors as columns, and the rows that they delete.

This room holds the descriptors of many files as one Arrow column, and reads one vector as a bitmap of row positions. It
promises that a vector is used only after its size, checksum, cardinality and range have been checked. Data flows from
descriptors of the log to bitmaps for the engines. The room imports no other room.
"""
