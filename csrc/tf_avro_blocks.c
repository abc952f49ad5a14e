#include "tf_avro_blocks.h"

#include <stdlib.h>
#include <string.h>

enum { SYNC_SIZE = 16, INSUFFICIENT_SPACE = 3, FIRST_CAPACITY = 1 << 18, CHECKSUM_SIZE = 4 };

/* Python's Avro writers cut deflate data out of a zlib stream and leave the first bytes of its checksum behind. */
static int is_checksum(const tf_avro_inflater *f, const uint8_t *rest, size_t size, size_t plain_size)
{
    if (size > CHECKSUM_SIZE)
        return 0;
    uint32_t checksum = f->adler32(1, f->plain, plain_size);
    for (size_t i = 0; i < size; i++)
        if (rest[i] != (uint8_t)(checksum >> (24 - 8 * i)))
            return 0;
    return 1;
}

/* The size of an inflated block; -1 if it does not inflate. */
static int64_t inflate(tf_avro_inflater *f, const uint8_t *block, size_t size)
{
    for (;;) {
        size_t used = 0, plain_size = 0;
        int status = INSUFFICIENT_SPACE;
        int64_t room = f->capacity < f->limit ? f->capacity : f->limit;
        if (room)
            status = f->inflate(f->inflater, block, size, f->plain, (size_t)room, &used, &plain_size);
        if (status == 0)
            return used == size || is_checksum(f, block + used, size - used, plain_size) ? (int64_t)plain_size : -1;
        if (status != INSUFFICIENT_SPACE || f->capacity >= f->limit)
            return -1;
        int64_t capacity = f->capacity ? 2 * f->capacity : FIRST_CAPACITY;
        if (capacity > f->limit)
            capacity = f->limit;
        /* The old bytes are not needed. realloc would copy them. */
        free(f->plain);
        f->plain = malloc((size_t)capacity);
        f->capacity = f->plain ? capacity : 0;
        if (!f->plain)
            return -1;
    }
}

int tf_avro_decode_blocks(tf_avro_decoder *decoder, const uint8_t *data, int64_t size, int64_t offset,
                          const uint8_t *sync, int64_t min_size, int64_t most_records, int64_t ahead,
                          tf_avro_inflater *inflater)
{
    const uint8_t *p = data + offset, *end = data + size;
    int is_first = decoder->row == 0;
    while (p < end) {
        int64_t count, length, where;
        if (tf_avro_varint(&p, end, &count) != TF_AVRO_OK || tf_avro_varint(&p, end, &length) != TF_AVRO_OK)
            return 0;
        if (count < 0 || length < 0 || length > end - p - SYNC_SIZE)
            return 0;
        if (memcmp(p + length, sync, SYNC_SIZE))
            return 0;
        const uint8_t *plain = p;
        int64_t plain_size = length;
        if (inflater) {
            plain_size = inflate(inflater, p, (size_t)length);
            if (plain_size < 0 || plain_size > inflater->total)
                return 0;
            inflater->total -= plain_size;
            plain = inflater->plain;
        }
        if (count > plain_size / min_size || count > most_records)
            return 0;
        most_records -= count;
        if (tf_avro_decode(decoder, plain, plain_size, count, &where) != TF_AVRO_OK)
            return 0;
        p += length + SYNC_SIZE;
        if (is_first)
            tf_avro_expect_more(decoder, (double)(end - p + ahead) / (double)(p - data - offset));
        is_first = 0;
    }
    return 1;
}
