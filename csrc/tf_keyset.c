#include "tf_keyset.h"

#include <stdbool.h>
#include <stdlib.h>

#include "tf_bytes.h"

enum { FIRST_SLOTS = 256, LENGTH_SIZE = 8 };

#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(p) __builtin_prefetch(p)
#else
#define PREFETCH(p) ((void)(p))
#endif

/* The exclusive or of both halves of the 128-bit product a * b: each bit depends on most bits of a and b. */
static uint64_t mix(uint64_t a, uint64_t b)
{
#if defined(__SIZEOF_INT128__)
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
    uint64_t high, low = _umul128(a, b, &high);
    return low ^ high;
#else
    uint64_t ah = a >> 32, al = (uint32_t)a, bh = b >> 32, bl = (uint32_t)b;
    uint64_t low = al * bl, middle = ah * bl + (low >> 32), cross = al * bh + (uint32_t)middle;
    return (cross << 32 | (uint32_t)low) ^ (ah * bh + (middle >> 32) + (cross >> 32));
#endif
}

/* 16 bytes per step. The seeds make products unpredictable; the length distinguishes padded tails. */
static uint64_t hash_key(const uint64_t seed[4], tf_key key)
{
    const uint8_t *p = key.data;
    size_t n = key.size;
    uint64_t hash = seed[0], a = 0, b = 0;
    for (; n > 16; p += 16, n -= 16)
        hash = mix(tf_load64(p) ^ seed[1], tf_load64(p + 8) ^ hash);
    if (n >= 8) { /* the two loads may overlap */
        a = tf_load64(p);
        b = tf_load64(p + n - 8);
    } else if (n >= 4) {
        a = tf_load32(p);
        b = tf_load32(p + n - 4);
    } else if (n > 0) {
        a = (uint64_t)p[0] << 16 | (uint64_t)p[n / 2] << 8 | p[n - 1];
    }
    return mix(mix(a ^ seed[2], b ^ hash), seed[3] ^ key.size);
}

void tf_keyset_init(tf_keyset *set, const uint64_t seed[4])
{
    *set = (tf_keyset){.slots = NULL};
    for (int i = 0; i < 4; i++)
        set->seed[i] = seed[i];
}

void tf_keyset_clear(tf_keyset *set)
{
    free(set->slots);
    free(set->arena);
    tf_keyset_init(set, (const uint64_t[4]){set->seed[0], set->seed[1], set->seed[2], set->seed[3]});
}

static bool is_full(size_t keys, size_t slots)
{
    return keys > slots / 8 * 5;
}

/* Make slots for n more keys: double their number until the keys fit, and move every key by its stored hash. */
static tf_status reserve_slots(tf_keyset *set, size_t n)
{
    size_t slot_count = set->slot_count ? set->slot_count : FIRST_SLOTS;
    while (is_full(set->count + n, slot_count)) {
        if (slot_count > SIZE_MAX / sizeof(tf_keyset_slot) / 2)
            return TF_NO_MEMORY;
        slot_count *= 2;
    }
    if (slot_count == set->slot_count)
        return TF_OK;
    tf_keyset_slot *slots = calloc(slot_count, sizeof *slots);
    if (slots == NULL)
        return TF_NO_MEMORY;
    for (size_t i = 0; i < set->slot_count; i++) {
        if (set->slots[i].record == 0)
            continue;
        size_t at = (size_t)set->slots[i].hash & (slot_count - 1);
        while (slots[at].record != 0)
            at = (at + 1) & (slot_count - 1);
        slots[at] = set->slots[i];
    }
    free(set->slots);
    set->slots = slots;
    set->slot_count = slot_count;
    return TF_OK;
}

/* Reserve arena memory for all keys, as if all were new. */
static tf_status reserve_arena(tf_keyset *set, const tf_key *keys, size_t n)
{
    size_t needed = set->arena_size;
    for (size_t i = 0; i < n; i++) {
        if (keys[i].size > SIZE_MAX - LENGTH_SIZE - needed)
            return TF_NO_MEMORY;
        needed += LENGTH_SIZE + keys[i].size;
    }
    if (needed <= set->arena_capacity)
        return TF_OK;
    size_t half = set->arena_capacity / 2;
    size_t capacity = set->arena_capacity > SIZE_MAX - half ? needed : set->arena_capacity + half;
    capacity = capacity < needed ? needed : capacity;
    uint8_t *arena = realloc(set->arena, capacity);
    if (arena == NULL)
        return TF_NO_MEMORY;
    set->arena = arena;
    set->arena_capacity = capacity;
    return TF_OK;
}

static bool is_key(const tf_keyset *set, uint64_t record, tf_key key)
{
    const uint8_t *p = set->arena + (record - 1);
    return tf_load64(p) == key.size && (key.size == 0 || memcmp(p + LENGTH_SIZE, key.data, key.size) == 0);
}

/* The slot of the key, or the empty slot for it. The table must have an empty slot. */
static tf_keyset_slot *find(const tf_keyset *set, uint64_t hash, tf_key key)
{
    size_t last = set->slot_count - 1;
    for (size_t at = (size_t)hash & last;; at = (at + 1) & last) {
        tf_keyset_slot *slot = &set->slots[at];
        if (slot->record == 0 || (slot->hash == hash && is_key(set, slot->record, key)))
            return slot;
    }
}

/* Hash the keys and prefetch their slots, so that the cache misses of a block overlap. */
static void hash_block(const tf_keyset *set, const tf_key *keys, size_t n, uint64_t *hashes)
{
    for (size_t i = 0; i < n; i++) {
        hashes[i] = hash_key(set->seed, keys[i]);
        PREFETCH(&set->slots[(size_t)hashes[i] & (set->slot_count - 1)]);
    }
}

tf_status tf_keyset_add(tf_keyset *set, const tf_key *keys, size_t n, uint8_t *added)
{
    uint64_t hashes[TF_KEYSET_BLOCK];
    tf_status status = reserve_slots(set, n);
    if (status == TF_OK)
        status = reserve_arena(set, keys, n);
    if (status != TF_OK)
        return status;
    hash_block(set, keys, n, hashes);
    for (size_t i = 0; i < n; i++) {
        tf_keyset_slot *slot = find(set, hashes[i], keys[i]);
        added[i] = slot->record == 0;
        if (!added[i])
            continue;
        uint8_t *record = set->arena + set->arena_size;
        *slot = (tf_keyset_slot){.hash = hashes[i], .record = set->arena_size + 1};
        tf_store64(record, keys[i].size);
        if (keys[i].size != 0)
            memcpy(record + LENGTH_SIZE, keys[i].data, keys[i].size);
        set->arena_size += LENGTH_SIZE + keys[i].size;
        set->count++;
    }
    return TF_OK;
}

void tf_keyset_probe(const tf_keyset *set, const tf_key *keys, size_t n, uint8_t *unseen)
{
    uint64_t hashes[TF_KEYSET_BLOCK];
    if (set->count == 0) {
        memset(unseen, 1, n);
        return;
    }
    hash_block(set, keys, n, hashes);
    for (size_t i = 0; i < n; i++)
        unseen[i] = find(set, hashes[i], keys[i])->record == 0;
}

void tf_keyset_find(const tf_keyset *set, const tf_key *keys, size_t n, int64_t *found)
{
    uint64_t hashes[TF_KEYSET_BLOCK];
    if (set->count != 0)
        hash_block(set, keys, n, hashes);
    for (size_t i = 0; i < n; i++)
        found[i] = set->count != 0 ? (int64_t)find(set, hashes[i], keys[i])->record - 1 : -1;
}

void tf_keyset_hash(const tf_keyset *set, const tf_key *keys, size_t n, uint64_t *hashes)
{
    for (size_t i = 0; i < n; i++)
        hashes[i] = hash_key(set->seed, keys[i]);
}

void tf_keyset_probe_hashes(const tf_keyset *set, const uint64_t *hashes, size_t n, uint8_t *unseen)
{
    size_t last = set->slot_count - 1;
    for (size_t i = 0; i < n; i++) {
        unseen[i] = 1;
        if (set->count == 0)
            continue;
        for (size_t at = (size_t)hashes[i] & last; set->slots[at].record != 0; at = (at + 1) & last)
            unseen[i] &= set->slots[at].hash != hashes[i];
    }
}
