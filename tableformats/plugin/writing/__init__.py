"""What a format implements to be written. ``write_target.py``: how data files are written, and what is known of them;
``table_change.py``: what a commit does; ``transaction.py``: a commit, from its beginning to its end.
"""
