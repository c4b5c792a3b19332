/* links: tp_base */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"

static enum err inner(int fail)
{
    FAIL_IF(fail, ERR_INPUT, "row %d is missing", 7);
    return ERR_OK;
}

static enum err middle(int fail)
{
    TRY(inner(fail));
    return ERR_OK;
}

static enum err outer(int fail, int *cleaned)
{
    enum err e;
    TRY_OUT(middle(fail));
out:
    *cleaned = 1;
    return e ? err_prefix(e, "scan.h5") : ERR_OK;
}

static void failure_keeps_code_sentence_and_place(void **state)
{
    (void)state;
    int cleaned = 0;
    assert_int_equal(outer(1, &cleaned), ERR_INPUT);
    assert_true(cleaned);
    assert_string_equal(err_text(), "scan.h5: row 7 is missing");
    assert_non_null(strstr(err_where(), "test_err.c:"));
    cleaned = 0;
    assert_int_equal(outer(0, &cleaned), ERR_OK);
    assert_true(cleaned);
}

static void long_sentences_are_cut_not_overrun(void **state)
{
    (void)state;
    static char longer[5000];
    memset(longer, 'x', sizeof longer - 1);
    assert_int_equal(FAIL(ERR_IO, "%s", longer), ERR_IO);
    size_t n = strlen(err_text());
    assert_in_range(n, 500, 4000);
    err_prefix(ERR_IO, "file");
    assert_memory_equal(err_text(), "file: xxx", 9);
    assert_true(strlen(err_text()) <= n);
    err_prefix(ERR_IO, "%s", longer);
    assert_true(strlen(err_text()) <= n);
}

static void exit_codes_tell_wrong_calls_from_failed_work(void **state)
{
    (void)state;
    static const struct {
        enum err code;
        int exit_code;
        const char *name;
    } rows[] = {
        {ERR_OK, 0, "ERR_OK"},
        {ERR_USAGE, 2, "ERR_USAGE"},
        {ERR_INPUT, 2, "ERR_INPUT"},
        {ERR_UNSUPPORTED, 1, "ERR_UNSUPPORTED"},
        {ERR_IO, 1, "ERR_IO"},
        {ERR_MEMORY, 1, "ERR_MEMORY"},
        {ERR_FAILED, 1, "ERR_FAILED"},
        {ERR_INTERRUPTED, 130, "ERR_INTERRUPTED"},
        {(enum err)1000, 1, "ERR_INTERNAL"}, /* no valid code must read outside the table */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(err_exit_code(rows[i].code), rows[i].exit_code);
        assert_string_equal(err_name(rows[i].code), rows[i].name);
    }
}

static void *other_thread(void *unused)
{
    (void)unused;
    FAIL(ERR_IO, "in the other thread");
    return NULL;
}

static void each_thread_has_its_own_sentence(void **state)
{
    (void)state;
    FAIL(ERR_INPUT, "in this thread");
    pthread_t t;
    assert_int_equal(pthread_create(&t, NULL, other_thread, NULL), 0);
    pthread_join(t, NULL);
    assert_string_equal(err_text(), "in this thread");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_keeps_code_sentence_and_place),
        cmocka_unit_test(long_sentences_are_cut_not_overrun),
        cmocka_unit_test(exit_codes_tell_wrong_calls_from_failed_work),
        cmocka_unit_test(each_thread_has_its_own_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
