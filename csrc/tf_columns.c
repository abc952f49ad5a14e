#include "tf_columns.h"

#include <stdlib.h>

#include "tf_bytes.h"

#define HIGH_BITS 0x8080808080808080u
#define ONES 0x0101010101010101u

void tf_column_begin(tf_column *c)
{
    c->width = TF_NO_WIDTH;
}

void tf_column_free(tf_column *c)
{
    free(c->values);
    free(c->offsets);
    free(c->valid);
    free(c->data);
    memset(c, 0, sizeof *c);
}

static tf_column_status charge(tf_budget *budget, int64_t more)
{
    if (more > budget->limit - budget->used)
        return TF_COLUMN_LIMIT;
    budget->used += more;
    return TF_COLUMN_OK;
}

tf_column_status tf_column_reserve(tf_column *c, int64_t rows, tf_budget *budget)
{
    if (rows <= c->capacity - c->length)
        return TF_COLUMN_OK;
    int64_t wide = c->kind == TF_COLUMN_NUMBERS ? (int64_t)sizeof(int64_t) : (int64_t)sizeof(int32_t);
    if (rows > budget->limit / wide)
        return TF_COLUMN_LIMIT;
    int64_t capacity = c->capacity < 64 ? 64 : c->capacity * 2;
    if (capacity < c->length + rows)
        capacity = c->length + rows;
    tf_column_status status = charge(budget, (capacity - c->capacity) * (wide + 1));
    if (status != TF_COLUMN_OK)
        return status;
    uint8_t *valid = realloc(c->valid, (size_t)capacity);
    if (!valid)
        return TF_COLUMN_NO_MEMORY;
    c->valid = valid;
    if (c->kind == TF_COLUMN_NUMBERS) {
        int64_t *values = realloc(c->values, (size_t)capacity * sizeof(int64_t));
        if (!values)
            return TF_COLUMN_NO_MEMORY;
        c->values = values;
    } else {
        int32_t *offsets = realloc(c->offsets, ((size_t)capacity + 1) * sizeof(int32_t));
        if (!offsets)
            return TF_COLUMN_NO_MEMORY;
        offsets[0] = 0;
        c->offsets = offsets;
    }
    c->capacity = capacity;
    return TF_COLUMN_OK;
}

tf_column_status tf_column_reserve_bytes(tf_column *c, int64_t size, tf_budget *budget)
{
    int64_t used = c->offsets[c->filled];
    if (size <= c->data_capacity - used)
        return TF_COLUMN_OK;
    if (size > INT32_MAX - used)
        return TF_COLUMN_LIMIT;
    int64_t capacity = c->data_capacity < 1024 ? 1024 : c->data_capacity * 2;
    if (capacity < used + size)
        capacity = used + size;
    if (capacity > INT32_MAX) /* offsets have 32 bits */
        capacity = INT32_MAX;
    tf_column_status status = charge(budget, capacity - c->data_capacity);
    if (status != TF_COLUMN_OK)
        return status;
    uint8_t *data = realloc(c->data, (size_t)capacity);
    if (!data)
        return TF_COLUMN_NO_MEMORY;
    c->data = data;
    c->data_capacity = capacity;
    return TF_COLUMN_OK;
}

tf_column_status tf_column_put(tf_column *c, int64_t row, const uint8_t *bytes, int32_t size, tf_budget *budget)
{
    tf_column_fill(c, row);
    tf_column_status status = tf_column_reserve_bytes(c, size, budget);
    if (status != TF_COLUMN_OK)
        return status;
    int32_t start = c->offsets[row];
    if (size == 8) /* the size of most bounds */
        memcpy(c->data + start, bytes, 8);
    else if (size)
        memcpy(c->data + start, bytes, (size_t)size);
    c->offsets[row + 1] = start + size;
    c->filled = row + 1;
    c->valid[row] = 1;
    if (c->width != size)
        c->width = c->width == TF_NO_WIDTH ? size : TF_MANY_WIDTHS;
    if (c->kind == TF_COLUMN_TEXT)
        c->flaws |= tf_text_flaws(bytes, size);
    return TF_COLUMN_OK;
}

/* join_numbers, join_bytes: copy the values of the new rows to the end of `c`, where they are reserved. */
static tf_column_status join_numbers(tf_column *c, const tf_column *more)
{
    for (int64_t i = 0; i < more->length; i++)
        c->values[c->length + i] = more->values[i] + c->items;
    return TF_COLUMN_OK;
}

static tf_column_status join_bytes(tf_column *c, tf_column *more, tf_budget *budget)
{
    tf_column_fill(c, c->length);
    tf_column_fill(more, more->length);
    int32_t start = c->offsets[c->length], size = more->offsets[more->length];
    tf_column_status status = tf_column_reserve_bytes(c, size, budget);
    if (status != TF_COLUMN_OK)
        return status;
    if (size)
        memcpy(c->data + start, more->data, (size_t)size);
    for (int64_t i = 1; i <= more->length; i++)
        c->offsets[c->length + i] = start + more->offsets[i];
    c->filled = c->length + more->length;
    if (more->width != TF_NO_WIDTH && more->width != c->width)
        c->width = c->width == TF_NO_WIDTH ? more->width : TF_MANY_WIDTHS;
    c->flaws |= more->flaws;
    return TF_COLUMN_OK;
}

tf_column_status tf_column_join(tf_column *c, tf_column *more, tf_budget *budget)
{
    if (!more->length)
        return TF_COLUMN_OK;
    tf_column_status status = tf_column_reserve(c, more->length, budget);
    if (status == TF_COLUMN_OK)
        status = c->kind == TF_COLUMN_NUMBERS ? join_numbers(c, more) : join_bytes(c, more, budget);
    if (status != TF_COLUMN_OK)
        return status;
    memcpy(c->valid + c->length, more->valid, (size_t)more->length);
    c->present += more->present;
    c->items += more->items;
    c->length += more->length;
    return TF_COLUMN_OK;
}

/* The size of the UTF-8 character at p; 0 if it is invalid. Source: Unicode Standard, table 3-7. */
static int64_t character(const uint8_t *p, int64_t left)
{
    uint8_t lead = p[0], low = 0x80, high = 0xBF;
    int64_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (size > left)
        return 0;
    if (size < 2)
        return size;
    if (lead == 0xE0)
        low = 0xA0;
    if (lead == 0xED)
        high = 0x9F;
    if (lead == 0xF0)
        low = 0x90;
    if (lead == 0xF4)
        high = 0x8F;
    if (p[1] < low || p[1] > high)
        return 0;
    for (int64_t i = 2; i < size; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return size;
}

int32_t tf_text_flaws(const uint8_t *bytes, int64_t size)
{
    int32_t flaws = 0;
    int64_t i = 0;
    while (i < size) {
        if (size - i >= 8) {
            uint64_t word = tf_load64(bytes + i);
            /* Eight bytes of ASCII, none of them NUL. */
            if (!((word | (word - ONES)) & HIGH_BITS)) {
                i += 8;
                continue;
            }
        }
        if (bytes[i] > 0 && bytes[i] < 0x80) {
            i++;
            continue;
        }
        if (bytes[i] == 0)
            flaws |= TF_TEXT_HAS_NUL;
        int64_t step = character(bytes + i, size - i);
        if (step == 0)
            return flaws | TF_TEXT_NOT_UTF8;
        i += step;
    }
    return flaws;
}
