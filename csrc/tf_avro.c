/* Blocks of records: every column has the same rows after each of them, and a record that is dropped leaves nothing.
 * What the bytes of one record mean is tf_avro_record.c's. */
#include "tf_avro.h"

#include <string.h>

#include "tf_avro_record.h"

#define MOST_EXPECTED (64 << 20) /* more grows as it comes: the first block's word is not to be trusted with memory */

void tf_avro_begin(tf_avro_decoder *d)
{
    tf_avro_record_begin(d);
    for (int32_t i = 0; i < d->column_count; i++)
        tf_column_begin(&d->columns[i]);
}

void tf_avro_expect(tf_avro_decoder *d, int64_t records)
{
    for (int32_t i = 0; i < d->column_count; i++) {
        /* What cannot be had now will be asked for again. */
        if (i >= d->sparse_start || d->parents[i] < 0)
            (void)tf_column_reserve(&d->columns[i], records, &d->memory);
    }
}

void tf_avro_expect_more(tf_avro_decoder *d, double times)
{
    for (int32_t i = 0; i < d->column_count; i++) {
        tf_column *c = &d->columns[i];
        if (c->kind == TF_COLUMN_NUMBERS || !c->capacity)
            continue;
        /* A little more: values of later rows may be longer. */
        double bytes = c->offsets[c->filled] * times * 1.04;
        if (bytes < MOST_EXPECTED)
            (void)tf_column_reserve_bytes(c, (int64_t)bytes + 64, &d->memory);
    }
}

/* Room for `count` rows; those of the sparse columns are null until they are set. */
static tf_avro_status begin_block(tf_avro_decoder *d, int64_t count)
{
    for (int32_t i = d->sparse_start; i < d->column_count; i++) {
        tf_column *c = &d->columns[i];
        tf_column_status status = tf_column_reserve(c, count, &d->memory);
        if (status != TF_COLUMN_OK)
            return tf_avro_status_of(status);
        if (!count)
            continue;
        memset(c->valid + c->length, 0, (size_t)count);
        if (c->kind == TF_COLUMN_NUMBERS)
            memset(c->values + c->length, 0, (size_t)count * sizeof(int64_t));
    }
    return TF_AVRO_OK;
}

static void end_block(tf_avro_decoder *d)
{
    for (int32_t i = d->sparse_start; i < d->column_count; i++) {
        tf_column *c = &d->columns[i];
        c->length = d->row;
        if (c->kind != TF_COLUMN_NUMBERS && c->capacity)
            tf_column_fill(c, d->row);
    }
}

/* Take back the record that was read last. */
static void drop(tf_avro_decoder *d)
{
    for (int32_t i = 0; i < d->sparse_start; i++) {
        tf_column *c = &d->columns[i];
        int64_t length = d->parents[i] < 0 ? d->row : d->columns[d->parents[i]].items;
        for (; c->length > length; c->length--)
            c->present -= c->valid[c->length - 1];
        if (c->items)
            c->items = length ? c->values[length - 1] : 0; /* a list's row before it ended there */
        if (c->filled > length)
            c->filled = length;
    }
    for (int32_t i = d->sparse_start; i < d->column_count; i++) {
        tf_column *c = &d->columns[i];
        c->present -= c->valid[d->row];
        c->valid[d->row] = 0;
        if (c->filled > d->row)
            c->filled = d->row;
        if (c->kind == TF_COLUMN_NUMBERS)
            c->values[d->row] = 0;
    }
}

static int is_dropped(const tf_avro_decoder *d)
{
    const tf_column *c = &d->columns[d->drop_column];
    return c->length && c->valid[c->length - 1] && c->values[c->length - 1] == d->drop_value;
}

tf_avro_status tf_avro_decode(tf_avro_decoder *d, const uint8_t *block, int64_t size, int64_t count, int64_t *offset)
{
    const uint8_t *p = block;
    *offset = 0;
    d->end = block + size;
    d->status = begin_block(d, count);
    if (d->status != TF_AVRO_OK)
        return d->status;
    for (int64_t i = 0; i < count; i++) {
        p = tf_avro_record(d, p);
        if (!p) {
            *offset = d->cursor - block;
            return d->status;
        }
        if (d->drop_column >= 0 && is_dropped(d)) {
            drop(d);
        } else {
            d->row++;
        }
    }
    end_block(d);
    *offset = p - block;
    return p == d->end ? TF_AVRO_OK : TF_AVRO_TRAILING;
}

tf_avro_status tf_avro_join(tf_avro_decoder *d, tf_avro_decoder *more)
{
    for (int32_t i = 0; i < d->column_count; i++) {
        tf_column_status status = tf_column_join(&d->columns[i], &more->columns[i], &d->memory);
        if (status != TF_COLUMN_OK)
            return tf_avro_status_of(status);
    }
    d->row += more->row;
    return TF_AVRO_OK;
}

void tf_avro_free(tf_avro_decoder *d)
{
    for (int32_t i = 0; i < d->column_count; i++)
        tf_column_free(&d->columns[i]);
    d->memory.used = 0;
}
