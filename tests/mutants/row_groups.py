"""Mutants of what the statistics of a Parquet footer prove of row groups."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ROW_GROUPS = ("arrow/test_row_group_pruning.py",)
_WHOLE = ("arrow/test_whole_row_groups.py",)
_PAGES = ("arrow/test_page_reads.py",)

MUTANTS = (
    Mutant(
        "unknown-numbers-of-nulls-are-all",
        "delta:_groups_with_values",
        "nulls_of(chunk) != chunk.num_values",
        "nulls_of(chunk) not in (-1, chunk.num_values)",
        "transactions in a checkpoint without statistics are overlooked",
        ("test_checkpoint_writing.py",),
    ),
    Mutant(
        "unsigned-numbers-have-signs",
        "core:_integer_reader",
        'logical.get("isSigned") is True',
        "True",
        "the greatest of unsigned numbers is taken for -1, and its row group is not read",
        _ROW_GROUPS,
    ),
    Mutant(
        "scales-are-forgotten",
        "core:_decimal_reader",
        "Decimal(digits).scaleb(-scale, _EXACT)",
        "Decimal(digits)",
        "the unscaled numbers of decimals are taken for their values",
        _ROW_GROUPS,
    ),
    Mutant(
        "stored-text-is-the-value",
        "core:_stored_values",
        "member.field.char_length is None",
        "True",
        "a padded value is looked for among the bounds of stored texts",
        _ROW_GROUPS,
    ),
    Mutant(
        "row-groups-follow-each-other",
        "core:_spans",
        "found[-1].first + found[-1].num_rows != part.first",
        "False",
        "positions of deleted rows are counted as if no row group was left out",
        _ROW_GROUPS,
    ),
    Mutant(
        "undecided-row-groups-go",
        "core:FileRows._may_match",
        ".verdicts != NONE",
        ".verdicts == 2",
        "a row group is read only where every row matches",
        _ROW_GROUPS,
    ),
    Mutant(
        "nulls-of-a-page-are-those-of-its-parts",
        "core:_null_counts",
        "rows_of_page[page]: count",
        "of_page[page]: of_page[page]",
        "a part of a page with a NULL has none where the rest of the page has it",
        _PAGES,
    ),
    Mutant(
        "rows-of-pages-are-not-counted",
        "core:stored_pages",
        "page.rows != rows[number]",
        "False",
        "an index that lies about the rows of a page gives other rows",
        _PAGES,
    ),
    Mutant(
        "rows-before-a-page-that-is-left-out",
        "core:ReadPages._places",
        "(self.starts == before + self.starts[0]).all()",
        "True",
        "rows are taken from where they would be if all pages were read",
        _PAGES,
    ),
    Mutant(
        "texts-of-all-rows-of-a-page",
        "core:ReadPages.chosen",
        "if page.all()",
        "if page.any()",
        "a page with a wanted row is wanted as a whole",
        _WHOLE,
    ),
    Mutant(
        "pages-that-began-before-a-window-are-forgotten",
        "core:PageStream.until",
        "first + page.rows > start",
        "first >= start",
        "the rows of a page belong to one window",
        _WHOLE,
    ),
    Mutant(
        "pages-of-any-size-before-compression",
        "core:StoredPage.values_size",
        "found > most",
        "False",
        "a page of a few bytes that claims gigabytes gets them",
        ("io/test_page_texts.py",),
    ),
    Mutant(
        "pages-of-several-columns-have-the-same-rows",
        "core:PageReader.bounds",
        "np.unique(np.concatenate([chunk.pages.first_rows for chunk in chunks]))",
        "chunks[0].pages.first_rows",
        "the bounds of a page are those of all rows of a page of another column",
        _PAGES,
    ),
    Mutant(
        "pages-are-looked-at-without-end",
        "core:PageReader._chunks",
        "self._left -= len(pages.sizes)",
        "pass",
        "row groups that claim the same pages make a small file take minutes",
        _PAGES,
    ),
    Mutant(
        "values-of-any-part-of-a-filter-are-sought",
        "core:sought_values",
        "isinstance(predicate, ex.And)",
        "hasattr(predicate, 'children')",
        "a row group is left out for a = 5 OR b = 0, where it lacks 5",
        ("arrow/test_sought_values.py",),
    ),
    Mutant(
        "milliseconds-are-microseconds",
        "core:_stored",
        'logical.get("timeUnit") != "microseconds"',
        "False",
        "a Bloom filter of milliseconds is asked for microseconds",
        ("arrow/test_sought_values.py",),
    ),
    Mutant(
        "codes-of-long-texts-in-one-batch",
        "core:_of_short_texts",
        "longest * len(rows) <= _BATCH_BYTES",
        "True",
        "few codes become gigabytes of text at once",
        ("arrow/test_coded_texts.py",),
    ),
)
