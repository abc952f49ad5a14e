/* Convert columns of JSON spans to strings, integers, doubles and decimals.
 *
 * The spans and kinds must be those that tf_json_read gave for the same texts: their grammar is not checked again.
 * Cells for which there is no fast and exact conversion are marked TF_CELL_LEFT, and the caller converts them.
 */
#ifndef TF_JSON_VALUES_H
#define TF_JSON_VALUES_H

#include "tf_json_span.h"

/* The result of converting a cell. */
typedef enum { TF_CELL_NULL = 0, TF_CELL_VALUE = 1, TF_CELL_LEFT = 2 /* for the caller to convert */ } tf_cell;

static inline int tf_json_is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Read four hexadecimal digits. Returns 0 if they are not. */
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

/* Write the string in [cur, end) without escapes to `out`, which has end - cur bytes. Returns the number of bytes, or
 * -1 if the string has half a surrogate pair. The string must be one that tf_json_value accepted. */
int64_t tf_json_unescape(const uint8_t *cur, const uint8_t *end, uint8_t *out);

/* The following functions convert the spans of a column to `values` and set `cells` (tf_cell). The value of a cell that
 * is not TF_CELL_VALUE is arbitrary. Strings are not numbers here: they are left. */

/* int64: every integer; those of more than 64 bits are null. Other numbers are left. */
void tf_json_int64(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int64_t *values,
                   uint8_t *cells);

/* double, correctly rounded: numbers with digits of at most 2^53 and a power of ten up to 10^22. Others are left. */
void tf_json_double(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, double *values,
                    uint8_t *cells);

/* decimal128(38, scale), two little-endian words per row: numbers without an exponent that fit. Others are left. */
void tf_json_decimal(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int scale,
                     uint64_t *values, uint8_t *cells);

/* An upper bound of the bytes of a column's strings. */
int64_t tf_json_text_size(const int64_t *spans, const uint8_t *kinds, int64_t rows);

/* Strings: `offsets` [rows + 1] and `data`, which has tf_json_text_size bytes. Other values are null. */
void tf_json_text(const uint8_t *base, const int64_t *spans, const uint8_t *kinds, int64_t rows, int32_t *offsets,
                  uint8_t *data, uint8_t *cells);

#endif
