/* Work of known length: a chain of dependent multiplications and additions, about 2.7 ns each at 3
 * GHz. */
#ifndef TP_TESTS_SPIN_H
#define TP_TESTS_SPIN_H
#define SPIN(x, n)                                                                                 \
    for (long spin_i = 0; spin_i < (n); spin_i++)                                                  \
    (x) = (x)*1.0000001 + 1e-9
#endif
