/* links: tp_jail tp_base */
/* A library that is opened late: it is there, it is not installed, it is another one than its name says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/jail/late.h"

static struct {
    double (*floor)(double);
    int (*late_test_function)(void);
} late_calls;

static const struct late_symbol known[] = {LATE_SYMBOL(late_calls, floor)},
                                unknown[] = {LATE_SYMBOL(late_calls, late_test_function)};

static void a_library_opens(void **state)
{
    (void)state;
    struct late_library l = LATE_LIBRARY("libm.so.6", "/none/libm.so", known, "libm", "libc6");
    assert_true(late_open(&l));
    assert_string_equal(late_why(&l), "");
    assert_true(late_calls.floor(2.5) == 2);
}

static void a_missing_one_is_named_with_its_packages(void **state)
{
    (void)state;
    struct late_library l = LATE_LIBRARY("libtomoprof-none.so.1", "/none/libtomoprof-none.so",
                                         known, "libnone", "libnone1 (Debian) or none (Fedora)");
    assert_string_equal(late_why(&l), "");
    for (int i = 0; i < 2; i++) { /* the second time it is not looked for again */
        assert_false(late_open(&l));
        assert_string_equal(late_why(&l),
                            "libnone is not installed (libtomoprof-none.so.1: cannot open shared "
                            "object file: No such file or directory): install libnone1 (Debian) "
                            "or none (Fedora)");
    }
}

static void one_without_its_functions_is_not_said_to_be_missing(void **state)
{
    (void)state;
    struct late_library l =
        LATE_LIBRARY("libm.so.6", "/none/libm.so", unknown, "libnone", "libnone1 (Debian)");
    assert_false(late_open(&l));
    assert_string_equal(late_why(&l),
                        "libnone cannot be opened (libm.so.6 has no late_test_function): install "
                        "libnone1 (Debian)");
    assert_null(late_calls.late_test_function);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_opens),
        cmocka_unit_test(a_missing_one_is_named_with_its_packages),
        cmocka_unit_test(one_without_its_functions_is_not_said_to_be_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
