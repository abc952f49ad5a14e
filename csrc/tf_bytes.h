/* Little-endian loads and stores at any alignment, and operations on bits and on 64 bytes at a time. They compile with
 * GCC, Clang and MSVC, with and without SSE2, and give the same results on big-endian machines. */
#ifndef TF_BYTES_H
#define TF_BYTES_H

#include <stdint.h>
#include <string.h>

#ifdef _MSC_VER
#include <intrin.h>
#endif
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#endif

/* Compilers turn these shifts into one load or store (and a swap on a big-endian machine). */

static inline uint16_t tf_load16(const uint8_t *p)
{
    return (uint16_t)(p[0] | (uint16_t)p[1] << 8);
}

static inline uint32_t tf_load32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t tf_load64(const uint8_t *p)
{
    return (uint64_t)tf_load32(p) | (uint64_t)tf_load32(p + 4) << 32;
}

static inline void tf_store64(uint8_t *p, uint64_t v)
{
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> 8 * i);
}

/* The number of zero bits below the lowest set bit; v is not 0. */
static inline unsigned tf_trailing_zeros(uint64_t v)
{
#ifdef _MSC_VER
    unsigned long index;
    _BitScanForward64(&index, v);
    return (unsigned)index;
#else
    return (unsigned)__builtin_ctzll(v);
#endif
}

/* The index of the highest set bit; v is not 0. */
static inline unsigned tf_highest_bit(uint64_t v)
{
#ifdef _MSC_VER
    unsigned long index;
    _BitScanReverse64(&index, v);
    return (unsigned)index;
#else
    return 63u - (unsigned)__builtin_clzll(v);
#endif
}

/* Bit i is set if byte i of the 64 at p is 0x80 or more. */
static inline uint64_t tf_high_bits64(const uint8_t *p)
{
    uint64_t bits = 0;
#if defined(__SSE2__) || defined(_M_X64)
    for (int i = 0; i < 4; i++)
        bits |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i))) << 16 * i;
#else
    for (int i = 0; i < 8; i++)
        bits |= ((tf_load64(p + 8 * i) >> 7 & 0x0101010101010101u) * 0x0102040810204080u >> 56) << 8 * i;
#endif
    return bits;
}

/* Bit i is set if byte i of the 64 at p is c. */
static inline uint64_t tf_equal_bits64(const uint8_t *p, uint8_t c)
{
    uint64_t bits = 0;
#if defined(__SSE2__) || defined(_M_X64)
    const __m128i wanted = _mm_set1_epi8((char)c);
    for (int i = 0; i < 4; i++) {
        __m128i equal = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), wanted);
        bits |= (uint64_t)(unsigned)_mm_movemask_epi8(equal) << 16 * i;
    }
#else
    for (int i = 0; i < 8; i++) {
        uint64_t other = tf_load64(p + 8 * i) ^ 0x0101010101010101u * c;
        uint64_t equal = ~(((other & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu) | other);
        bits |= ((equal >> 7 & 0x0101010101010101u) * 0x0102040810204080u >> 56) << 8 * i;
    }
#endif
    return bits;
}

/* Bit i is set if byte i of the 64 at p is below 0x20, or is 0x80 or more. */
static inline uint64_t tf_unprinted_bits64(const uint8_t *p)
{
    uint64_t bits = 0;
#if defined(__SSE2__) || defined(_M_X64)
    for (int i = 0; i < 4; i++) { /* as signed numbers, bytes of 0x80 or more are negative */
        __m128i less = _mm_cmplt_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)), _mm_set1_epi8(0x20));
        bits |= (uint64_t)(unsigned)_mm_movemask_epi8(less) << 16 * i;
    }
#else
    for (int i = 0; i < 8; i++) {
        uint64_t word = tf_load64(p + 8 * i);
        uint64_t less = ~((word & 0x7f7f7f7f7f7f7f7fu) + 0x6060606060606060u) | word;
        bits |= ((less >> 7 & 0x0101010101010101u) * 0x0102040810204080u >> 56) << 8 * i;
    }
#endif
    return bits;
}

/* The number of set bits, without the popcnt instruction, which not every x86-64 has. */
static inline unsigned tf_popcount(uint64_t v)
{
    v -= v >> 1 & 0x5555555555555555u;
    v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
    v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (unsigned)(v * 0x0101010101010101u >> 56);
}

#endif
