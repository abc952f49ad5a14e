"""Mutants of the core: what filters mean, and what pruning knows of two columns and of computed values."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_BINDING = "test_binding.py"
_ANSWERS = "test_spark_answers.py"
_PAIRS = "test_column_pairs.py"
_COMPUTED = "test_computed_conditions.py"
_REWRITES = "test_rewrites.py"

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
    # ---- two columns ------------------------------------------------------------------------------------------------
    Mutant(
        "equal-bounds-are-less",
        "core:relations",
        '_may("less", a_low, b_high)',
        '_may("less_equal", a_low, b_high)',
        "a < b keeps a file where the least a is the greatest b",
        (_PAIRS,),
    ),
    Mutant(
        "lower-bounds-against-lower-bounds",
        "core:relations",
        '_may("less", a_low, b_high)',
        '_may("less", a_low, b_low)',
        "a < b is decided by the lower bounds of both",
        (_PAIRS,),
    ),
    Mutant(
        "two-nulls-are-no-value",
        "core/relations:_table",
        '_BOTH_NULL if op == "<=>" else 0',
        "0",
        "NULL <=> NULL is not TRUE",
        (_PAIRS,),
    ),
    Mutant(
        "nan-of-two-columns-is-no-value",
        "core:relations",
        "if a_nan.any() or b_nan.any():",
        "if False:",
        "a NaN beside the bounds is compared with no other column",
        (_PAIRS,),
    ),
    Mutant(
        "rounding-makes-nothing-equal",
        "core:_may_be_rounded",
        "if is_integer(kind) and kind != _LONG:",
        "if True:",
        "longs beyond 2**53 and doubles compare strictly after both were rounded",
        (_PAIRS,),
    ),
    Mutant(
        "char-bounds-are-padded",
        "core:ColumnPair.has_order",
        "same_length and are_comparable(self.left.type, self.right.type)",
        "are_comparable(self.left.type, self.right.type)",
        "CHAR columns of several lengths compare as their bounds do",
        (_PAIRS,),
    ),
    # ---- computed values --------------------------------------------------------------------------------------------
    Mutant(
        "sums-never-fail",
        "core/value_ranges:_fitted",
        "fails = ~(low_fits & high_fits)",
        "fails = np.zeros(len(lower), bool)",
        "a file is fully matched although a sum fails, or is NULL",
        (_COMPUTED,),
    ),
    Mutant(
        "sums-never-wrap-around",
        "core/value_ranges:_fitted",
        "if not ansi and not isinstance(kind, DecimalType):",
        "if False:",
        "without ANSI sums stay between the sums of the bounds",
        (_COMPUTED,),
    ),
    Mutant(
        "differences-of-equal-sides",
        "core/value_ranges:_combined",
        "pc.subtract(a_low, b_high), pc.subtract(a_high, b_low)",
        "pc.subtract(a_low, b_low), pc.subtract(a_high, b_high)",
        "a - b lies between the differences of the lower and of the upper bounds",
        (_COMPUTED,),
    ),
    Mutant(
        "months-never-begin-again",
        "core:RangeEvaluator._periodic",
        "pc.if_else(inside, low, first), pc.if_else(inside, high, last)",
        "low, high",
        "month(d) lies between the months of the bounds, whatever their years",
        (_COMPUTED,),
    ),
    Mutant(
        "defaults-do-not-count",
        "core/computed_ranges:_chosen",
        'return arguments[:1] if node.name == "nullif" else arguments',
        "return arguments[:1]",
        "coalesce(a, b) is a",
        (_COMPUTED,),
    ),
    Mutant(
        "failures-are-false",
        "core:ComputedCondition._of_constants",
        "np.where(failed, np.uint8(MAY_ANY), masks)",
        "np.where(failed, np.uint8(MAY_TRUE), masks)",
        "partition values for which a condition fails match it",
        (_COMPUTED,),
    ),
    Mutant(
        "one-day-too-many",
        "core:_between",
        "start, end = first(wanted), first(wanted + 1)",
        "start, end = first(wanted), first(wanted + 2)",
        "CAST(ts AS DATE) = d is true of the next day",
        (_REWRITES,),
    ),
    Mutant(
        "null-equals-a-day",
        "core:_between",
        "And((Not(IsNull(column)), equal))",
        "equal",
        "CAST(ts AS DATE) <=> d is NULL for NULL",
        (_REWRITES,),
    ),
    Mutant(
        "halves-of-units-round-down",
        "core:_truncated",
        "-(-time // span) * span if",
        "time // span * span if",
        "date_trunc('day', ts) >= t is true of the day that t is within",
        (_REWRITES,),
    ),
)
