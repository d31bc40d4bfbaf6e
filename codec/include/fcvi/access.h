/* Typed accessors, generated from fields.def: fcvi_S_F(p) reads field F of structure S that starts at p,
 * fcvi_set_S_F(p, v) writes it and leaves its neighbours alone. Offsets are constants, so a call compiles
 * to a load and a shift. The caller guarantees that the structure's bytes are there.
 * BLOB and NEST fields have fcvi_S_F(p), the address of their first byte, and FCVI_S_F_SIZE. */
#ifndef FCVI_ACCESS_H
#define FCVI_ACCESS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A number as one load, which is one look for a sanitizer as well. */
#if defined __GNUC__ && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
static inline uint64_t fcvi_load_2(const uint8_t *p)
{
    uint16_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return __builtin_bswap16(v);
}
static inline uint64_t fcvi_load_4(const uint8_t *p)
{
    uint32_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}
static inline uint64_t fcvi_load_8(const uint8_t *p)
{
    uint64_t v;
    __builtin_memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}
#else
static inline uint64_t fcvi_load_2(const uint8_t *p)
{
    return (uint64_t)p[0] << 8 | p[1];
}
static inline uint64_t fcvi_load_4(const uint8_t *p)
{
    return (uint64_t)p[0] << 24 | (uint64_t)p[1] << 16 | (uint64_t)p[2] << 8 | p[3];
}
static inline uint64_t fcvi_load_8(const uint8_t *p)
{
    return (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 | (uint64_t)p[3] << 32 |
           (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 | (uint64_t)p[6] << 8 | p[7];
}
#endif

/* The sizes that fields have are spelled out: they are constants where fields are read. */
static inline uint64_t fcvi_load(const uint8_t *p, unsigned size)
{
    if (size == 1)
        return p[0];
    if (size == 2)
        return fcvi_load_2(p);
    if (size == 3)
        return (uint64_t)p[0] << 16 | (uint64_t)p[1] << 8 | p[2];
    if (size == 4)
        return fcvi_load_4(p);
    if (size == 8)
        return fcvi_load_8(p);
    uint64_t v = 0;
    for (unsigned i = 0; i < size; i++)
        v = v << 8 | p[i];
    return v;
}

static inline void fcvi_store(uint8_t *p, unsigned size, uint64_t v)
{
    for (unsigned i = size; i-- > 0; v >>= 8)
        p[i] = (uint8_t)v;
}

#define FCVI_MASK(hi, lo) ((~0ULL >> (63 - ((hi) - (lo)))) << (lo))

#define STRUCT(S, NAME, LENGTH, CLAUSE) enum { FCVI_##S##_LENGTH = (LENGTH) };
#define FCVI_NUMBER(S, F, BYTE, SIZE, HI, LO)                                                                \
    enum { FCVI_##S##_##F##_BYTE = (BYTE), FCVI_##S##_##F##_LO = (LO) };                                     \
    static inline uint64_t fcvi_##S##_##F(const uint8_t *s)                                                  \
    {                                                                                                        \
        return (fcvi_load(s + (BYTE), (SIZE)) & FCVI_MASK(HI, LO)) >> (LO);                                  \
    }                                                                                                        \
    static inline void fcvi_set_##S##_##F(uint8_t *s, uint64_t v)                                            \
    {                                                                                                        \
        uint64_t rest = fcvi_load(s + (BYTE), (SIZE)) & ~FCVI_MASK(HI, LO);                                  \
        fcvi_store(s + (BYTE), (SIZE), rest | (v << (LO)&FCVI_MASK(HI, LO)));                                \
    }
#define FIELD(S, F, NAME, BYTE, SIZE, HI, LO, KIND, VALUES, IUS, CLAUSE, REQ)                                \
    FCVI_NUMBER(S, F, BYTE, SIZE, HI, LO)
#define RSVD(S, F, BYTE, SIZE, HI, LO, IUS, CLAUSE, REQ) FCVI_NUMBER(S, F, BYTE, SIZE, HI, LO)
#define GROUP(S, F, NAME, BYTE, SIZE, IUS, CLAUSE) FCVI_NUMBER(S, F, BYTE, SIZE, 8 * (SIZE)-1, 0)
#define FCVI_BYTES(S, F, BYTE, SIZE)                                                                         \
    enum { FCVI_##S##_##F##_BYTE = (BYTE), FCVI_##S##_##F##_SIZE = (SIZE) };                                 \
    static inline const uint8_t *fcvi_##S##_##F(const uint8_t *s)                                            \
    {                                                                                                        \
        return s + (BYTE);                                                                                   \
    }
#define BLOB(S, F, NAME, BYTE, SIZE, IUS, CLAUSE, REQ) FCVI_BYTES(S, F, BYTE, SIZE)
#define NEST(S, F, NAME, BYTE, SIZE, SUB, IUS, CLAUSE, REQ) FCVI_BYTES(S, F, BYTE, SIZE)
#include <fcvi/fields.def>
#undef FCVI_NUMBER
#undef FCVI_BYTES

#ifdef __cplusplus
}
#endif

#endif
