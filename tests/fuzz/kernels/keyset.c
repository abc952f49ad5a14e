/* The set of byte strings (tf_keyset.h) against a list that is searched from end to end.
 *
 * Input: a byte that says whether the seed is weak (zeros, so that hashes collide), then operations: a byte that says
 * what to do and with how many keys, and for each key a byte of size and its bytes.
 */
#include "fuzz.h"

#include "tf_keyset.h"

enum { MOST = 600 };

/* Where the key is in the list, count if nowhere. */
static size_t place_of(const tf_key *known, size_t count, tf_key key)
{
    size_t i = 0;
    while (i < count && (known[i].size != key.size || (key.size && memcmp(known[i].data, key.data, key.size))))
        i++;
    return i;
}

static int is_known(const tf_key *known, size_t count, tf_key key)
{
    return place_of(known, count, key) < count;
}

/* A key's number is not negative, its own, and stays what it is. */
static void check_numbers(tf_keyset *set, const tf_key *known, int64_t *numbers, size_t count, const tf_key *keys,
                          size_t n)
{
    int64_t found[TF_KEYSET_BLOCK];
    tf_keyset_find(set, keys, n, found);
    for (size_t i = 0; i < n; i++) {
        size_t place = place_of(known, count, keys[i]);
        CHECK((found[i] < 0) == (place == count) && found[i] >= -1);
        if (place == count)
            continue;
        for (size_t other = 0; numbers[place] < 0 && other < count; other++)
            CHECK(numbers[other] != found[i]);
        CHECK(numbers[place] < 0 || numbers[place] == found[i]);
        numbers[place] = found[i];
    }
}

static void operate(tf_keyset *set, tf_key *known, int64_t *numbers, size_t *count, const tf_key *keys, size_t n,
                    int add)
{
    uint8_t answers[TF_KEYSET_BLOCK], unseen[TF_KEYSET_BLOCK];
    uint64_t hashes[TF_KEYSET_BLOCK];
    tf_keyset_probe(set, keys, n, unseen);
    tf_keyset_hash(set, keys, n, hashes);
    for (size_t i = 0; i < n; i++)
        CHECK(unseen[i] == !is_known(known, *count, keys[i]));
    check_numbers(set, known, numbers, *count, keys, n);
    tf_keyset_probe_hashes(set, hashes, n, answers);
    for (size_t i = 0; i < n; i++)
        CHECK(!answers[i] || unseen[i]); /* a hash may only hide what is unseen */
    if (!add)
        return;
    CHECK(tf_keyset_add(set, keys, n, answers) == TF_OK);
    for (size_t i = 0; i < n; i++) {
        CHECK(answers[i] == !is_known(known, *count, keys[i]));
        if (answers[i]) {
            numbers[*count] = -1;
            known[(*count)++] = keys[i];
        }
    }
    CHECK(set->count == *count);
    tf_keyset_probe(set, keys, n, unseen);
    for (size_t i = 0; i < n; i++)
        CHECK(!unseen[i]);
    check_numbers(set, known, numbers, *count, keys, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t STRONG[4] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu,
                                       0x2545f4914f6cdd1du};
    static const uint64_t WEAK[4] = {0};
    fuzz_input in = {data, data + size};
    tf_keyset set;
    tf_key known[MOST], keys[TF_KEYSET_BLOCK];
    int64_t numbers[MOST];
    size_t count = 0;
    tf_keyset_init(&set, fuzz_byte(&in) & 1 ? WEAK : STRONG);
    while (fuzz_left(&in) && count + TF_KEYSET_BLOCK <= MOST) {
        uint8_t what = fuzz_byte(&in);
        size_t n = what % (TF_KEYSET_BLOCK + 1);
        for (size_t i = 0; i < n; i++) {
            fuzz_input key = fuzz_cut(&in, fuzz_byte(&in) % 70);
            keys[i] = (tf_key){fuzz_left(&key) ? key.cur : NULL, fuzz_left(&key)};
        }
        operate(&set, known, numbers, &count, keys, n, what >= 80);
        if (what == 255) {
            tf_keyset_clear(&set);
            count = 0;
        }
    }
    tf_keyset_clear(&set);
    return 0;
}
