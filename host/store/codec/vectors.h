/* Registers of 16 bytes as GCC and clang have them on every processor. */
#ifndef TP_STORE_CODEC_VECTORS_H
#define TP_STORE_CODEC_VECTORS_H

#define VECTOR 16

typedef unsigned char vector __attribute__((vector_size(VECTOR)));

/* moved_up: bytes of a register k places further up, zeros below them. The first or last halves of two registers, an element of each in turn. Older GCC has no
 * __builtin_shufflevector, clang has no __builtin_shuffle. */
#if defined(__clang__) || __GNUC__ >= 12
#define first_halves(a, b)                                                                         \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define last_halves(a, b)                                                                          \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define moved_up(v, k)                                                                             \
    __builtin_shufflevector((vector){0}, v, 16 - (k), 17 - (k), 18 - (k), 19 - (k), 20 - (k),      \
                            21 - (k), 22 - (k), 23 - (k), 24 - (k), 25 - (k), 26 - (k), 27 - (k),  \
                            28 - (k), 29 - (k), 30 - (k), 31 - (k))
#else
#define moved_up(v, k)                                                                             \
    __builtin_shuffle((vector){0}, v,                                                              \
                      (vector){16 - (k), 17 - (k), 18 - (k), 19 - (k), 20 - (k), 21 - (k),         \
                               22 - (k), 23 - (k), 24 - (k), 25 - (k), 26 - (k), 27 - (k),         \
                               28 - (k), 29 - (k), 30 - (k), 31 - (k)})
#define first_halves(a, b)                                                                         \
    __builtin_shuffle(a, b, (vector){0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23})
#define last_halves(a, b)                                                                          \
    __builtin_shuffle(a, b, (vector){8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31})
#endif

#endif
