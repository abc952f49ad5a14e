"""Mutants of the core: what filters mean."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_BINDING = "test_binding.py"
_ANSWERS = "test_spark_answers.py"

MUTANTS = (
    # ---- predicates -------------------------------------------------------------------------------------------------
    Mutant(
        "fraction-compares-strictly",
        "core/binding:_compare",
        '"<=" if fitted.side > 0 else "<"',
        '"<"',
        "int_col < 1.5 becomes int_col < 1",
        (f"{_BINDING}::test_integers_and_decimals_compare_exactly",),
    ),
    Mutant(
        "in-with-null-is-two-valued",
        "core:_Binder._in",
        "Or((found, NULL)) if has_null else found",
        "found",
        "NOT IN with a NULL in the list is TRUE",
        (f"{_BINDING}::test_literals_become_values_of_the_column",),
    ),
    Mutant(
        "null-and-x-is-null",
        "core:_junction",
        "if part == absorbing: return absorbing",
        "if part == absorbing or part == NULL:\n    return part",
        "NULL AND x is NULL whatever x is",
        (f"{_BINDING}::test_simplify_is_three_valued",),
    ),
    Mutant(
        "names-compare-exactly",
        "core:_Binder._column",
        "self._case_sensitive",
        "True",
        "predicates name columns in their exact case",
        ("test_column_names.py", _BINDING),
    ),
    Mutant(
        "floats-rounded-twice",
        "core:nearest_float",
        "below < above and number != double",
        "False",
        "a text is rounded to a double before it is rounded to a float",
        ("test_numbers.py::test_nearest_floats",),
    ),
    Mutant(
        "float-texts-keep-their-digits",
        "core:_converted",
        'nearest_float(number) if name == "float" else double_of(number)',
        "double_of(number)",
        "CAST('0.1' AS FLOAT) is the double 0.1",
        (_ANSWERS,),
    ),
    Mutant(
        "texts-are-floats-under-ansi",
        "core:_Binder._comparison",
        "if not self._ansi:",
        "if True:",
        "a text that is compared with a float column is rounded to a float in every mode",
        (_ANSWERS,),
    ),
    Mutant(
        "in-compares-values-without-ansi",
        "core:fit_text",
        "fitted if is_printed_so else Fit(fitted.value, 1)",
        "fitted",
        "IN compares numbers where Spark compares their texts",
        (_ANSWERS,),
    ),
    Mutant(
        "texts-against-decimals-keep-all-digits",
        "core:_fit_decimal",
        "number = double_of(number)",
        "pass",
        "a text that is compared with a decimal column is not read as a double",
        (_ANSWERS,),
    ),
)
