/* Deletion bitmaps (tf_roaring.h): the five ways to read one agree with each other and with a plain reading.
 *
 * Input: where the asked rows start (a byte of bucket, a byte of container, two bytes of value), how many there are
 * (two bytes), then the bitmap.
 */
#include "fuzz.h"

#include "tf_roaring.h"

enum { ROWS = 1024 };

/* The bitmap as the format describes it, read without thought of speed; -1 where it is none. */
typedef struct {
    int64_t cardinality, last, start, stop;
    uint8_t *deleted; /* of the asked rows */
} plain_bitmap;

static uint64_t number(fuzz_input *in, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)in->cur[i] << 8 * i;
    in->cur += size;
    return value;
}

/* The rows first to last, which may be the last one that has a number. */
static void mark(plain_bitmap *map, int64_t first, int64_t last)
{
    map->cardinality += last - first + 1;
    map->last = last;
    if (first < map->start)
        first = map->start;
    for (int64_t row = first; row <= last && row < map->stop; row++)
        map->deleted[row - map->start] = 1;
}

static int container(fuzz_input *in, plain_bitmap *map, int64_t base, int64_t cardinality, int has_runs)
{
    int64_t before = map->cardinality, previous = -1;
    if (has_runs) {
        if (fuzz_left(in) < 2)
            return 0;
        uint64_t runs = number(in, 2);
        if (!runs || fuzz_left(in) < 4 * runs)
            return 0;
        for (; runs; runs--) {
            int64_t first = (int64_t)number(in, 2), last = first + (int64_t)number(in, 2);
            if (first <= previous || last > 65535)
                return 0;
            mark(map, base + first, base + last);
            previous = last;
        }
    } else if (cardinality > 4096) {
        if (fuzz_left(in) < 8192)
            return 0;
        for (int64_t byte = 0; byte < 8192; byte++, in->cur++)
            for (int bit = 0; *in->cur && bit < 8; bit++)
                if (*in->cur >> bit & 1)
                    mark(map, base + 8 * byte + bit, base + 8 * byte + bit);
    } else {
        if (fuzz_left(in) < (uint64_t)cardinality * 2)
            return 0;
        for (int64_t i = 0; i < cardinality; i++) {
            int64_t value = (int64_t)number(in, 2);
            if (value <= previous)
                return 0;
            mark(map, base + value, base + value);
            previous = value;
        }
    }
    return map->cardinality - before == cardinality;
}

static int bucket(fuzz_input *in, plain_bitmap *map, int64_t key)
{
    const uint8_t *start = in->cur;
    uint64_t cookie = number(in, 4), count;
    const uint8_t *runs = NULL;
    if (cookie == 12346) {
        if (fuzz_left(in) < 4 || (count = number(in, 4)) > 65536)
            return 0;
    } else if ((cookie & 0xffff) == 12347) {
        count = (cookie >> 16) + 1;
        if (fuzz_left(in) < (count + 7) / 8)
            return 0;
        runs = in->cur;
        in->cur += (count + 7) / 8;
    } else {
        return 0;
    }
    int with_offsets = cookie == 12346 || count >= 4;
    if (fuzz_left(in) < count * (with_offsets ? 8u : 4u))
        return 0;
    fuzz_input headers = fuzz_cut(in, 4 * count), offsets = fuzz_cut(in, with_offsets ? 4 * count : 0);
    int64_t high = -1;
    for (uint64_t i = 0; i < count; i++) {
        int64_t here = (int64_t)number(&headers, 2), cardinality = 1 + (int64_t)number(&headers, 2);
        if (here <= high || (with_offsets && number(&offsets, 4) != (uint64_t)(in->cur - start)))
            return 0;
        high = here;
        if (!container(in, map, key << 32 | here << 16, cardinality, runs && (runs[i / 8] >> i % 8 & 1)))
            return 0;
    }
    return 1;
}

static int read_plainly(fuzz_input in, plain_bitmap *map)
{
    int64_t last = -1;
    map->last = -1;
    if (fuzz_left(&in) < 8)
        return 0;
    for (uint64_t buckets = number(&in, 8); buckets; buckets--) {
        if (fuzz_left(&in) < 8)
            return 0;
        int64_t key = (int64_t)number(&in, 4);
        if (key <= last || key > INT32_MAX)
            return 0;
        last = key;
        if (!bucket(&in, map, key))
            return 0;
    }
    return in.cur == in.end;
}

static void compare(const uint8_t *cur, const uint8_t *end, const plain_bitmap *map)
{
    int64_t start = map->start, stop = map->stop, rows = stop - start, found = 0, runs = 0, count;
    size_t offset;
    uint8_t live[ROWS];
    uint64_t words[ROWS / 64] = {0};
    int64_t positions[ROWS], starts[ROWS], lengths[ROWS];
    CHECK(tf_roaring_live(cur, end, start, stop, live, &offset) == TF_OK && offset == (size_t)(end - cur));
    CHECK(tf_roaring_words(cur, end, start, stop, words, &offset) == TF_OK);
    CHECK(tf_roaring_positions(cur, end, start, stop, NULL, 0, &count, &offset) == TF_OK && count <= rows);
    CHECK(tf_roaring_positions(cur, end, start, stop, positions, count, &count, &offset) == TF_OK);
    for (int64_t i = 0; i < rows; i++) {
        CHECK(live[i] == !map->deleted[i]);
        CHECK((words[i / 64] >> i % 64 & 1) == map->deleted[i]);
        if (map->deleted[i])
            CHECK(found < count && positions[found++] == start + i);
    }
    CHECK(found == count);
    CHECK(rows % 64 == 0 || words[rows / 64] >> rows % 64 == 0);
    CHECK(tf_roaring_ranges(cur, end, start, stop, NULL, NULL, 0, &count, &offset) == TF_OK && count <= rows);
    CHECK(tf_roaring_ranges(cur, end, start, stop, starts, lengths, count, &count, &offset) == TF_OK);
    for (int64_t i = 0; i < rows; i++) {
        if (!map->deleted[i])
            continue;
        int64_t first = i;
        while (i < rows && map->deleted[i])
            i++;
        CHECK(runs < count && starts[runs] == start + first && lengths[runs] == i - first);
        runs++;
    }
    CHECK(runs == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, data + size};
    if (size < 6)
        return 0;
    plain_bitmap map = {.start = (int64_t)fuzz_byte(&in) << 32};
    map.start |= (int64_t)fuzz_byte(&in) << 16;
    map.start |= (int64_t)number(&in, 2);
    map.stop = map.start + (int64_t)(number(&in, 2) % (ROWS + 1));
    uint8_t deleted[ROWS] = {0};
    map.deleted = deleted;
    size_t left = fuzz_left(&in), offset, again;
    uint8_t *cur = fuzz_copy(in.cur, left);
    int64_t cardinality, last, count;
    tf_status status = tf_roaring_summary(cur, cur + left, &cardinality, &last, &offset);
    CHECK((status == TF_OK) == read_plainly((fuzz_input){cur, cur + left}, &map));
    if (status == TF_OK) {
        CHECK(offset == left && cardinality == map.cardinality && last == map.last);
        compare(cur, cur + left, &map);
    } else {
        CHECK(offset <= left && status != TF_END);
        CHECK(tf_roaring_ranges(cur, cur + left, map.start, map.stop, NULL, NULL, 0, &count, &again) == status);
        CHECK(again == offset);
    }
    free(cur);
    return 0;
}
