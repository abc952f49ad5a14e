"""Planning: from a request to the files that it needs, read -> reconcile -> prune -> attach deletes -> plan.

``handle.py`` and ``request.py`` say what is planned; ``planner.py`` is the pipeline. ``reconciler.py``, ``blocks.py``
and ``block_pruning.py`` are its stages, and ``cache/`` holds the caches around them. The answer is the data of
``plan.py``, which engines use with ``tasks.py``, ``splits.py``, ``residuals.py``, ``public_files.py`` and
``narrowing.py``. No engine is imported here.
"""
