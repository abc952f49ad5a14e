"""Write commits. ``requirements.py`` says which tables are written; ``append.py`` adds files; the others make texts."""
