"""Decide from columns of bounds and counts which files may hold a row that matches a predicate.

The contract: **a file is dropped only if no live row of it can make the predicate TRUE.** For every file a predicate
has a set of possible outcomes, a subset of {TRUE, FALSE, NULL}. What is not known is possible.

A file that is dropped. The predicate is ``a > 5 AND b = 'x'``; the file has bounds of ``a`` and nothing about ``b``::

    leaf         what is known                   possible outcomes
    a > 5        1 <= a <= 4, no NULL            {FALSE}
    b = 'x'      nothing                         {TRUE, FALSE, NULL}
    AND                                          {FALSE}                 no TRUE: NONE, drop the file

A file that must be kept. The predicate is ``x > 10`` over a double column, and the greatest value in the statistics is
7. But the statistics do not say whether the file has NaN, which Spark orders above every number, so that NaN > 10::

    leaf         what is known                   possible outcomes
    x > 10       1.0 <= x, no NULL, NaN unknown  {TRUE, FALSE}           SOME: keep the file, filter its rows

If the statistics say that there is no NaN, ``x`` is at most 7, the outcomes are {FALSE}, and the file is dropped.

``compiled_predicate.py`` evaluates a whole predicate for many files, and ``leaves.py`` one comparison of it, or several
of one column (``combined_codes.py``). ``column_ranges.py`` turns partition values, bounds and counts into ranges of
columns; ``replaced_text.py`` widens bounds of strings that are not UTF-8. ``literal_codes.py`` replaces values by their
position among a leaf's literals, so that the kernels compare small integers. ``manifest_filter.py``
prunes groups of files, and ``relevant_deletes.py`` drops deletes that cannot affect a matching row.
"""
