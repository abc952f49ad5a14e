"""Finds the rules of the protocol that a table breaks, those included that readers can do without.

May use every other package of this plugin but ``write``. Actions are looked at one by one: this is for audits, and
costs a Python object for each.
"""
