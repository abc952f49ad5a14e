/* Columns of numbers, bytes or text that grow row by row, in the layout of Arrow, within a budget of memory.
 *
 * A reader appends rows to columns and hands their memory to NumPy and Arrow without a copy. All columns of a reader
 * share one budget; a column that would exceed it gives TF_COLUMN_LIMIT instead of allocating. */
#ifndef TF_COLUMNS_H
#define TF_COLUMNS_H

#include <stdint.h>
#include <string.h>

typedef enum {
    TF_COLUMN_OK = 0,
    TF_COLUMN_NO_MEMORY,
    TF_COLUMN_LIMIT /* the budget, or 2 GiB in one column of bytes */
} tf_column_status;

/* What a column holds. */
enum { TF_COLUMN_NUMBERS = 0, TF_COLUMN_OCTETS = 1, TF_COLUMN_TEXT = 2 };

/* Flaws of the values of a TEXT column. */
enum { TF_TEXT_HAS_NUL = 1, TF_TEXT_NOT_UTF8 = 2 };

/* The bytes that all columns of one owner use, and the most that they may use. */
typedef struct {
    int64_t used;
    int64_t limit;
} tf_budget;

/* NUMBERS: `values` int64[length].
 * OCTETS, TEXT: row i is data[offsets[i] .. offsets[i + 1]), `offsets` int32[length + 1].
 * `valid`: uint8[length], 0 = null (then the value has no bytes). */
typedef struct {
    int64_t *values;
    int32_t *offsets;
    uint8_t *valid;
    uint8_t *data;
    int64_t length;
    int64_t capacity;
    int64_t filled; /* OCTETS, TEXT: offsets[0 .. filled] are set */
    int64_t data_capacity;
    int64_t items;   /* of a column of lists: the number of child rows; of others 0 */
    int64_t present; /* rows that are not null */
    int32_t kind;
    int32_t width; /* OCTETS, TEXT: the size of all values; TF_NO_WIDTH: no value yet, TF_MANY_WIDTHS: they differ */
    int32_t flaws; /* TEXT: TF_TEXT_HAS_NUL | TF_TEXT_NOT_UTF8 */
} tf_column;

enum { TF_NO_WIDTH = -1, TF_MANY_WIDTHS = -2 };

/* Initialize a zeroed column whose kind is set. */
void tf_column_begin(tf_column *column);

/* Free the memory of the column, but not the struct. */
void tf_column_free(tf_column *column);

/* Reserve memory for `rows` more rows. */
tf_column_status tf_column_reserve(tf_column *column, int64_t rows, tf_budget *budget);

/* Reserve memory for `size` more bytes of values, after the last row that was set. Rows must be reserved before. */
tf_column_status tf_column_reserve_bytes(tf_column *column, int64_t size, tf_budget *budget);

/* Set the bytes of `row`, which must be reserved, and mark it valid. Rows after it lose their bytes; rows before it
 * that were not set become empty. Does not count `present`. */
tf_column_status tf_column_put(tf_column *column, int64_t row, const uint8_t *bytes, int32_t size, tf_budget *budget);

/* Append a row. In a column of bytes it has no bytes yet; see tf_column_put. */
static inline tf_column_status tf_column_append(tf_column *column, int64_t value, uint8_t valid, tf_budget *budget)
{
    if (column->length == column->capacity) {
        tf_column_status status = tf_column_reserve(column, 1, budget);
        if (status != TF_COLUMN_OK)
            return status;
    }
    if (column->kind == TF_COLUMN_NUMBERS)
        column->values[column->length] = value;
    column->valid[column->length] = valid;
    column->present += valid;
    column->length++;
    return TF_COLUMN_OK;
}

/* Make the rows before `row` that were not set empty. Rows from `row` on are not set. */
static inline void tf_column_fill(tf_column *column, int64_t row)
{
    for (; column->filled < row; column->filled++)
        column->offsets[column->filled + 1] = column->offsets[column->filled];
    column->filled = row;
}

/* Append the rows of another column of the same kind. In a column of lists their offsets are shifted by the items. */
tf_column_status tf_column_join(tf_column *column, tf_column *more, tf_budget *budget);

/* What keeps `size` bytes from being text: TF_TEXT_HAS_NUL, TF_TEXT_NOT_UTF8, both or 0. */
int32_t tf_text_flaws(const uint8_t *bytes, int64_t size);

#endif
