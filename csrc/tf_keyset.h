/* An exact set of byte strings. A 64-bit hash with a secret seed locates a key, and its bytes are compared.
 *
 * The table has open addressing with linear probing over slots of (hash, record), and is at most 5/8 full. Keys are
 * copied into one arena as records of (length 8 | bytes), so the set has no pointers into a caller's memory. Only
 * hashes depend on the seed. A set must not be used by several threads at the same time.
 */
#ifndef TF_KEYSET_H
#define TF_KEYSET_H

#include <stddef.h>
#include <stdint.h>

#include "tf_status.h"

enum { TF_KEYSET_BLOCK = 64 }; /* the most keys per call */

typedef struct tf_key {
    const uint8_t *data; /* may be NULL if size is 0 */
    size_t size;
} tf_key;

typedef struct tf_keyset_slot {
    uint64_t hash;
    uint64_t record; /* offset in the arena plus 1; 0: empty */
} tf_keyset_slot;

typedef struct tf_keyset {
    uint64_t seed[4];
    tf_keyset_slot *slots; /* NULL while empty */
    size_t slot_count;     /* 0 or a power of two */
    size_t count;          /* keys in the set */
    uint8_t *arena;
    size_t arena_size, arena_capacity;
} tf_keyset;

/* Initialize an empty set. The seed should be unpredictable, so that nobody can craft keys that collide. */
void tf_keyset_init(tf_keyset *set, const uint64_t seed[4]);

/* Free the memory of the set and leave it empty. */
void tf_keyset_clear(tf_keyset *set);

/* Insert n <= TF_KEYSET_BLOCK keys in order. added[i] is 1 if key i was not in the set before.
 * Returns TF_OK, or TF_NO_MEMORY with the set unchanged. */
tf_status tf_keyset_add(tf_keyset *set, const tf_key *keys, size_t n, uint8_t *added);

/* Look up keys without inserting them. unseen[i] is 1 if key i is not in the set. */
void tf_keyset_probe(const tf_keyset *set, const tf_key *keys, size_t n, uint8_t *unseen);

/* The number of each key: found[i] is different for every key of the set, and -1 for other keys. */
void tf_keyset_find(const tf_keyset *set, const tf_key *keys, size_t n, int64_t *found);

/* The hash of each key with the set's seed. */
void tf_keyset_hash(const tf_keyset *set, const tf_key *keys, size_t n, uint64_t *hashes);

/* unseen[i] is 1 if no key of the set has hash i, so that the key is not in the set. 0 proves nothing. */
void tf_keyset_probe_hashes(const tf_keyset *set, const uint64_t *hashes, size_t n, uint8_t *unseen);

#endif
