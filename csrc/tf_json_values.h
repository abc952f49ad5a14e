/* What stands in the spans of JSON texts, converted by whole columns: strings, integers, doubles, decimals.
 *
 * Spans and kinds are those that tf_json_read gave for the same texts, so their grammar is not checked again.
 */
#ifndef TF_JSON_VALUES_H
#define TF_JSON_VALUES_H

#include "tf_json.h"

/* What became of a cell when its span was converted. */
typedef enum { TF_CELL_NULL = 0, TF_CELL_VALUE = 1, TF_CELL_LEFT = 2 /* for the caller to convert */ } tf_cell;

static inline int tf_json_is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Four hexadecimal digits; 0 where they are none. */
static inline int tf_json_hex(const uint8_t *cur, unsigned *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = cur[i];
        unsigned digit = c >= '0' && c <= '9'   ? c - '0'
                         : c >= 'a' && c <= 'f' ? c - 'a' + 10
                         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                : 16;
        if (digit == 16)
            return 0;
        *code = *code << 4 | digit;
    }
    return 1;
}

/* The bytes that the string in [cur, end) means, to `out`, which holds end - cur bytes. Their number, or -1 where it
 * names half a surrogate pair. The string must be one that tf_json_value took. */
int64_t tf_json_unescape(const uint8_t *cur, const uint8_t *end, uint8_t *out);

/* Spans of a column -> values, with what became of each in `cells` (tf_cell). `values` of a cell without a value are
 * unspecified. Strings are no numbers here: they are left, as is what the fast ways do not cover. */

/* int64: all integers; those beyond 64 bits are null. Reals are left. */
void tf_json_int64(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int64_t *values,
                   uint8_t *cells);

/* double, correctly rounded: what has at most 2^53 as its digits and a power of ten up to 10^22; others are left. */
void tf_json_double(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, double *values,
                    uint8_t *cells);

/* decimal128(38, scale), two little-endian words a row: numbers without an exponent that fit; others are left. */
void tf_json_decimal(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int scale,
                     uint64_t *values, uint8_t *cells);

/* The most bytes that the strings of a column take. */
int64_t tf_json_text_size(const int64_t *spans, const uint8_t *kinds, int64_t rows);

/* Strings: `offsets` (rows + 1) and `data`, of the size above. What is no string is null. */
void tf_json_text(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int32_t *offsets,
                  uint8_t *data, uint8_t *cells);

#endif
