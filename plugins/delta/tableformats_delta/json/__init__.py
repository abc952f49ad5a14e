"""JSON texts as Arrow columns, and the values that they spell.

This room turns many JSON texts at once into columns of the members that a caller asks for, without a Python object per
text. It promises exact values: a malformed text has no members, and a number that does not fit its type is null. Data
flows from string arrays of the log to Arrow arrays. The room knows JSON and the spellings of Delta's values; it does
not know actions, files or schemas, and imports no other room.
"""
