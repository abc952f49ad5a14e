/* The blocks of an Avro file in one pass (tf_avro_blocks.h) against the same blocks one by one.
 *
 * Input: the number of bytes that describe a schema, these bytes, flags (inflate; the most bytes and records), then the
 * blocks: (count, size, bytes, sync marker), the marker being sixteen times 'S'. What is inflated are pairs of a number
 * and a byte to repeat, closed by a number of 0; behind it may stand the beginning of a checksum.
 */
#include "avro_program.h"

#include "tf_avro_blocks.h"

enum { SYNC = 16 };

static uint32_t checksum(uint32_t sum, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum = sum * 31 + ((const uint8_t *)data)[i];
    return sum;
}

static int inflate(void *inflater, const void *data, size_t size, void *out, size_t room, size_t *used, size_t *made)
{
    fuzz_input in = {data, (const uint8_t *)data + size};
    (void)inflater;
    *made = 0;
    while (fuzz_left(&in)) {
        size_t times = fuzz_byte(&in);
        if (!times) {
            *used = size - fuzz_left(&in);
            return 0;
        }
        if (times > room - *made)
            return 3; /* LIBDEFLATE_INSUFFICIENT_SPACE */
        memset((uint8_t *)out + *made, fuzz_byte(&in), times);
        *made += times;
    }
    return 1; /* LIBDEFLATE_BAD_DATA */
}

/* The plain bytes of a block into `plain`; -1 where it is damaged or has more than the limit. */
static int64_t plain_block(fuzz_input block, uint8_t *plain, int64_t limit)
{
    size_t used = 0, made = 0;
    if (inflate(NULL, block.cur, fuzz_left(&block), plain, (size_t)limit, &used, &made))
        return -1;
    uint32_t sum = checksum(1, plain, made);
    size_t rest = fuzz_left(&block) - used;
    for (size_t i = 0; i < rest; i++)
        if (rest > 4 || block.cur[used + i] != (uint8_t)(sum >> (24 - 8 * i)))
            return -1;
    return (int64_t)made;
}

static int one_by_one(tf_avro_decoder *d, fuzz_input in, int32_t least, int64_t most, int64_t limit, int64_t total,
                      uint8_t *plain)
{
    while (fuzz_left(&in)) {
        int64_t count, size, offset;
        if (tf_avro_varint(&in.cur, in.end, &count) || tf_avro_varint(&in.cur, in.end, &size))
            return 0;
        if (count < 0 || size < 0 || (uint64_t)size > fuzz_left(&in))
            return 0;
        fuzz_input block = fuzz_cut(&in, (size_t)size), marker = fuzz_cut(&in, SYNC);
        for (int i = 0; i < SYNC; i++)
            if (fuzz_byte(&marker) != 'S')
                return 0;
        const uint8_t *start = block.cur;
        if (limit) {
            size = plain_block(block, plain, limit);
            start = plain;
            total -= size;
        }
        if (total < 0 || size < 0 || count > size / least || count > most)
            return 0;
        most -= count;
        if (tf_avro_decode(d, start, size, count, &offset))
            return 0;
    }
    return 1;
}

static void begin(tf_avro_decoder *d, avro_schema *s, tf_avro_guess *guesses)
{
    memset(guesses, 0, WORDS * sizeof *guesses);
    *d = (tf_avro_decoder){.columns = s->columns,
                           .parents = s->parents,
                           .column_count = s->column_count,
                           .sparse_start = s->sparse_start,
                           .drop_column = -1,
                           .keys = WANTED,
                           .key_count = KEYS,
                           .guesses = guesses,
                           .program = s->words,
                           .program_length = s->word_count};
    d->memory.limit = 1 << 22;
    tf_avro_begin(d);
}

static void compare(const tf_column *a, const tf_column *b)
{
    CHECK(a->length == b->length && a->present == b->present && a->flaws == b->flaws && a->width == b->width);
    if (!a->length)
        return;
    size_t rows = (size_t)a->length;
    CHECK(!memcmp(a->valid, b->valid, rows));
    if (a->kind == TF_COLUMN_NUMBERS) {
        CHECK(!memcmp(a->values, b->values, rows * sizeof *a->values));
        return;
    }
    CHECK(!memcmp(a->offsets, b->offsets, (rows + 1) * sizeof *a->offsets));
    CHECK(!a->offsets[rows] || !memcmp(a->data, b->data, (size_t)a->offsets[rows]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t MARKER[SYNC] = "SSSSSSSSSSSSSSSS";
    static avro_schema one, all;
    static tf_avro_guess guesses[WORDS];
    static uint8_t plain[4096];
    fuzz_input in = {data, data + size};
    memset(&one, 0, sizeof one);
    avro_schema_of(&one, fuzz_cut(&in, fuzz_byte(&in) % 64));
    all = one;
    uint8_t flags = fuzz_byte(&in);
    int32_t least = avro_least(one.root);
    int64_t limit = flags & 1 ? (flags & 2 ? 30 : (int64_t)sizeof plain) : 0, most = flags & 4 ? flags >> 3 : 1 << 20;
    if (!least)
        return 0;
    int64_t total = flags & 128 ? 3 * limit / 2 : 1 << 20; /* of all blocks, if they are inflated */
    size_t left = fuzz_left(&in);
    uint8_t *copy = fuzz_copy(in.cur, left);

    tf_avro_decoder d;
    begin(&d, &one, guesses);
    int fine = one_by_one(&d, (fuzz_input){copy, copy + left}, least, most, limit, total, plain);
    tf_avro_decoder whole;
    tf_avro_inflater inflater = {inflate, checksum, NULL, NULL, 0, limit, total};
    begin(&whole, &all, guesses);
    int done = tf_avro_decode_blocks(&whole, copy, (int64_t)left, 0, MARKER, least, most, 0, limit ? &inflater : NULL);
    CHECK(inflater.capacity <= limit);
    /* Room that is reserved ahead counts, so one of the two may pass the budget of memory where the other does not. */
    int is_close = d.memory.used > d.memory.limit / 4 || whole.memory.used > whole.memory.limit / 4;
    CHECK(done == fine || is_close);
    for (int32_t i = 0; done && fine && i < one.column_count; i++)
        compare(&one.columns[i], &all.columns[i]);
    CHECK(!done || !fine || d.row == whole.row);
    tf_avro_free(&d);
    tf_avro_free(&whole);
    free(inflater.plain);
    free(copy);
    return 0;
}
