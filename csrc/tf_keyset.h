/* An exact set of byte strings: a 64-bit hash with a secret seed locates, the bytes decide.
 *
 * Open addressing with linear probing over slots of (hash, record), at most 5/8 full; keys are copied into one
 * arena as records of (length 8 | bytes), so nothing points into a caller's memory. Not for several threads at once.
 */
#ifndef TF_KEYSET_H
#define TF_KEYSET_H

#include <stddef.h>
#include <stdint.h>

#include "tf_status.h"

enum { TF_KEYSET_BLOCK = 64 }; /* keys a call at most */

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

/* An empty set; the seed should be unpredictable, so that nobody can craft keys that collide. */
void tf_keyset_init(tf_keyset *set, const uint64_t seed[4]);

/* Frees what the set owns and leaves it empty. */
void tf_keyset_clear(tf_keyset *set);

/* Inserts n <= TF_KEYSET_BLOCK keys in order; added[i] is 1 where key i was not in the set yet.
 * TF_OK, or TF_NO_MEMORY with the set unchanged. */
tf_status tf_keyset_add(tf_keyset *set, const tf_key *keys, size_t n, uint8_t *added);

/* Likewise without inserting: unseen[i] is 1 where key i is not in the set. */
void tf_keyset_probe(const tf_keyset *set, const tf_key *keys, size_t n, uint8_t *unseen);

/* Where each key is: found[i] is a number of its own for every key of the set, and -1 for others. */
void tf_keyset_find(const tf_keyset *set, const tf_key *keys, size_t n, int64_t *found);

/* The hash of each key, under the set's seed. */
void tf_keyset_hash(const tf_keyset *set, const tf_key *keys, size_t n, uint64_t *hashes);

/* unseen[i] is 1 where no key of the set has hash i: then the key is not in it. 0 says that it may be. */
void tf_keyset_probe_hashes(const tf_keyset *set, const uint64_t *hashes, size_t n, uint8_t *unseen);

#endif
