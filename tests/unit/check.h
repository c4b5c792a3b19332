/* cmocka with what it needs, and comparisons of float64. */
#ifndef TP_TESTS_UNIT_CHECK_H
#define TP_TESTS_UNIT_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* |a - b| <= tolerance; false for NaN. */
#define assert_near(a, b, tolerance)                                                               \
    do {                                                                                           \
        double near_a_ = (double)(a), near_b_ = (double)(b);                                       \
        if (!(fabs(near_a_ - near_b_) <= (tolerance)))                                             \
            fail_msg("%s is %.17g, expected %.17g within %g", #a, near_a_, near_b_,                \
                     (double)(tolerance));                                                         \
    } while (0)

/* `call` returns `code` and leaves a sentence that holds `words`. */
#define assert_error(call, code, words)                                                            \
    do {                                                                                           \
        enum err error_ = (call);                                                                  \
        if (error_ != (code))                                                                      \
            fail_msg("%s returned %s (%s), expected %s", #call, err_name(error_), err_text(),      \
                     err_name(code));                                                              \
        if (!strstr(err_text(), (words)))                                                          \
            fail_msg("\"%s\" does not say \"%s\"", err_text(), (words));                           \
    } while (0)
#define assert_ok(call)                                                                            \
    do {                                                                                           \
        enum err error_ = (call);                                                                  \
        if (error_ != ERR_OK)                                                                      \
            fail_msg("%s failed: %s", #call, err_text());                                          \
    } while (0)

#endif
