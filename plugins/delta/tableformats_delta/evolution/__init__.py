"""New ``metaData`` and ``protocol`` actions from those of a version: pure functions, which read and write no file.

``metadata_change.py`` is the way in; ``schema_change.py`` changes columns, ``schema_json.py`` spells them,
``properties.py`` knows properties, and ``protocol_upgrade.py`` the versions and features that all of these need.
"""
