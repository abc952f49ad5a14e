/* What the fuzz targets share: checks that end the process, and pieces of the input taken from its front. */
#ifndef TF_FUZZ_H
#define TF_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Holds in every build: a target that loses its checks finds nothing. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);                             \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

typedef struct {
    const uint8_t *cur, *end;
} fuzz_input;

/* The next byte, 0 behind the end. */
static inline uint8_t fuzz_byte(fuzz_input *in)
{
    return in->cur < in->end ? *in->cur++ : 0;
}

static inline size_t fuzz_left(const fuzz_input *in)
{
    return (size_t)(in->end - in->cur);
}

/* The next bytes, `size` or as many as there are. */
static inline fuzz_input fuzz_cut(fuzz_input *in, size_t size)
{
    fuzz_input piece = {in->cur, in->cur + (size < fuzz_left(in) ? size : fuzz_left(in))};
    in->cur = piece.end;
    return piece;
}

/* A copy in memory of its own, so that a read before its start or past its end is seen. */
static inline uint8_t *fuzz_copy(const uint8_t *start, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    CHECK(copy);
    if (size)
        memcpy(copy, start, size);
    return copy;
}

/* The size of the character at p by the definition of UTF-8 (RFC 3629, section 3): decode it and see whether it is a
 * code point that needs so many bytes; 0 where it is none. */
static inline size_t fuzz_character(const uint8_t *p, size_t left)
{
    static const uint32_t LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
    if (size < 2)
        return size;
    if (size > left)
        return 0;
    uint32_t code = p[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    return code < LEAST[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
