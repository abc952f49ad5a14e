/* Growing columns (tf_columns.h) against arrays of fixed size, and their check of text against UTF-8's definition.
 *
 * Input: a byte of kind, a byte of budget (small ones are passed), then operations: append a null, append a value,
 * put the last row anew, forget rows from some on, reserve; values are a byte of size and bytes.
 */
#include "fuzz.h"

#include "tf_columns.h"

enum { MOST = 400 };

typedef struct {
    fuzz_input bytes;
    int64_t number;
    uint8_t valid;
} plain_row;

static int32_t flaws_of(fuzz_input text)
{
    int32_t flaws = 0;
    while (fuzz_left(&text)) {
        size_t step = fuzz_character(text.cur, fuzz_left(&text));
        if (!step)
            return flaws | TF_TEXT_NOT_UTF8;
        if (!*text.cur)
            flaws |= TF_TEXT_HAS_NUL;
        text.cur += step;
    }
    return flaws;
}

static void compare(const tf_column *column, const plain_row *rows, int64_t count, const tf_budget *budget)
{
    int64_t present = 0;
    CHECK(column->length == count && column->length <= column->capacity && budget->used <= budget->limit);
    for (int64_t i = 0; i < count; i++) {
        CHECK(column->valid[i] == rows[i].valid);
        present += rows[i].valid;
        if (column->kind == TF_COLUMN_NUMBERS) {
            CHECK(column->values[i] == rows[i].number);
            continue;
        }
        size_t size = fuzz_left(&rows[i].bytes);
        CHECK(column->offsets[i + 1] - column->offsets[i] == (int64_t)size);
        CHECK(!size || !memcmp(column->data + column->offsets[i], rows[i].bytes.cur, size));
    }
    CHECK(column->present == present);
    CHECK(column->kind == TF_COLUMN_NUMBERS || !count || column->offsets[count] <= column->data_capacity);
}

/* One operation; false where the budget was passed, after which a column is only freed. */
static int operate(tf_column *column, fuzz_input *in, plain_row *rows, int64_t *count, tf_budget *budget)
{
    uint8_t what = fuzz_byte(in);
    int valid = what % 4 != 0;
    if (what >= 224) { /* refused or not, the column is as it was */
        (void)tf_column_reserve(column, (int64_t)((uint64_t)1 << what % 64 >> 1), budget);
        return 1;
    }
    fuzz_input bytes = {NULL, NULL};
    int64_t number = what;
    if (valid && column->kind != TF_COLUMN_NUMBERS)
        bytes = fuzz_cut(in, fuzz_byte(in));
    if (what >= 192 && *count && rows[*count - 1].valid && column->kind != TF_COLUMN_NUMBERS) {
        rows[*count - 1].bytes = bytes;
    } else {
        if (tf_column_append(column, number, (uint8_t)valid, budget) != TF_COLUMN_OK)
            return 0;
        rows[(*count)++] = (plain_row){bytes, number, (uint8_t)valid};
    }
    if (column->kind == TF_COLUMN_NUMBERS)
        return 1;
    if (!valid && what < 192) {
        tf_column_fill(column, column->length);
        return 1;
    }
    if (!rows[*count - 1].valid) {
        tf_column_fill(column, column->length);
        return 1;
    }
    int32_t flaws = column->flaws, size = (int32_t)fuzz_left(&bytes);
    if (tf_column_put(column, *count - 1, bytes.cur, size, budget) != TF_COLUMN_OK)
        return 0;
    if (column->kind == TF_COLUMN_TEXT)
        CHECK(column->flaws == (flaws | flaws_of(bytes)));
    CHECK(column->width == size || column->width == TF_MANY_WIDTHS);
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, data + size};
    plain_row rows[MOST];
    int64_t count = 0;
    tf_column column = {.kind = fuzz_byte(&in) % 3};
    uint8_t small = fuzz_byte(&in);
    tf_budget budget = {.limit = small & 1 ? 64 * (int64_t)small : (int64_t)1 << 24};
    tf_column_begin(&column);
    int sound = 1;
    while (sound && fuzz_left(&in) && count < MOST)
        sound = operate(&column, &in, rows, &count, &budget);
    if (sound)
        compare(&column, rows, count, &budget);
    CHECK(budget.used <= budget.limit);
    tf_column_free(&column);
    uint8_t *copy = fuzz_copy(data, size);
    CHECK(tf_text_flaws(copy, (int64_t)size) == flaws_of((fuzz_input){copy, copy + size}));
    free(copy);
    return 0;
}
