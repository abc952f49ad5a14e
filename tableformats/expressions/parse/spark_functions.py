"""The functions of Spark that no filter may call, and why, so that a refusal can say it.

Source: Spark SQL reference, "Functions", of Spark 4.
"""

from __future__ import annotations

import re

__all__ = ["AGGREGATES", "GENERATORS", "HIGHER_ORDER", "NONDETERMINISTIC", "NOT_BUILT", "WINDOWS"]

AGGREGATES = frozenset(
    re.findall(
        r"\w+",
        """
any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or
collect_list collect_set collect_union corr count count_if count_min_sketch covar_pop covar_samp every first
first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
kurtosis last last_value listagg max max_by mean measure median min min_by mode percentile percentile_approx
percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx
regr_sxy regr_syy skewness some std stddev stddev_pop stddev_samp string_agg sum theta_intersection_agg
theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double tuple_intersection_agg_integer
tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer var_pop var_samp
variance
""",
    )
)
"""They compute one value of many rows."""
WINDOWS = frozenset(
    re.findall(
        r"\w+",
        """
counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number
""",
    )
)
"""They need the rows beside a row."""
GENERATORS = frozenset(
    re.findall(
        r"\w+",
        """
explode explode_outer inline inline_outer posexplode posexplode_outer stack
""",
    )
)
"""They make many rows of one."""
HIGHER_ORDER = frozenset(
    re.findall(
        r"\w+",
        """
aggregate array_sort exists filter forall map_filter map_zip_with reduce transform transform_keys
transform_values zip_with
""",
    )
)
"""They take a lambda function."""
NONDETERMINISTIC = frozenset(
    re.findall(
        r"\w+",
        """
input_file_block_length input_file_block_start input_file_name monotonically_increasing_id rand randn random
randstr shuffle spark_partition_id uniform uuid
""",
    )
)
"""Their values are of no row: they depend on chance, or on how rows are read."""
NOT_BUILT = frozenset(
    re.findall(
        r"\w+",
        """
acos acosh aes_decrypt aes_encrypt approx_top_k_estimate array array_append array_compact array_distinct array_except
array_insert array_intersect array_join array_max array_min array_prepend array_remove array_repeat array_union
arrays_overlap arrays_zip asin asinh assert_true atan atan2 atanh base64 bin bit_count bit_get bitmap_bit_position
bitmap_bucket_number bitmap_count collate collation conv convert_timezone cos cosh cot csc current_catalog
current_database current_path current_schema current_time current_user decode degrees elt encode expm1 factorial
find_in_set flatten format_number format_string from_avro from_base32 from_csv from_json from_protobuf from_xml
get_json_object getbit hash hll_sketch_estimate hll_union hmac hypot is_valid_utf8 is_valid_variant is_variant_null
jaro_winkler_similarity java_method json_array_length json_object_keys json_tuple kll_sketch_get_n_bigint
kll_sketch_get_n_double kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float
kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint
kll_sketch_to_string_double kll_sketch_to_string_float localtime log1p luhn_check make_dt_interval make_interval
make_time make_timestamp_ltz make_valid_utf8 make_ym_interval map map_concat map_entries map_from_arrays
map_from_entries mask named_struct overlay parse_json parse_url printf quote radians raise_error reflect
regexp_extract_all regexp_instr regexp_substr rint schema_of_avro schema_of_csv schema_of_json schema_of_variant
schema_of_variant_agg schema_of_xml sec sentences sequence session_user session_window sin sinh slice sort_array
soundex split st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid str_to_map tan tanh theta_difference
theta_intersection theta_sketch_estimate theta_union time_bucket time_diff time_from_micros time_from_millis
time_from_seconds time_to_micros time_to_millis time_to_seconds time_trunc timestamp_nanos to_avro to_base32
to_binary to_char to_csv to_json to_number to_protobuf to_time to_varchar to_variant_object to_xml try_aes_decrypt
try_make_interval try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_parse_json try_parse_url
try_reflect try_to_binary try_to_number try_to_time try_url_decode try_validate_utf8 try_variant_array_append
try_variant_get try_variant_insert try_variant_set tuple_difference_double tuple_difference_integer
tuple_difference_theta_double tuple_difference_theta_integer tuple_intersection_double tuple_intersection_integer
tuple_intersection_theta_double tuple_intersection_theta_integer tuple_sketch_estimate_double
tuple_sketch_estimate_integer tuple_sketch_summary_double tuple_sketch_summary_integer tuple_sketch_theta_double
tuple_sketch_theta_integer tuple_union_double tuple_union_integer tuple_union_theta_double tuple_union_theta_integer
typeof unbase64 unhex unix_nanos url_decode url_encode user validate_utf8 variant_array_append variant_delete
variant_get variant_insert variant_set variant_strip_nulls vector_avg vector_cosine_similarity vector_inner_product
vector_l2_distance vector_norm vector_normalize vector_sum version width_bucket window window_time xpath
xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string xxhash64
""",
    )
)
"""All others that no filter evaluates."""
