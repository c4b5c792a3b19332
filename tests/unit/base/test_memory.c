/* links: tp_base */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/memory.h"

#define MIB ((size_t)1 << 20)

static void blocks_are_aligned_and_counted(void **state)
{
    (void)state;
    static const struct {
        size_t bytes, alignment;
    } rows[] = {{0, 64},           {1, 64}, {100, 64}, {4 * MIB, 64}, {4 * MIB + 1, 2 * MIB},
                {9 * MIB, 2 * MIB}};
    enum { N = sizeof rows / sizeof *rows };
    void *p[N];
    size_t total = 0, before = mem_held();
    for (int i = 0; i < N; i++) {
        assert_int_equal(mem_alloc("block", rows[i].bytes, &p[i]), ERR_OK);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % rows[i].alignment, 0);
        memset(p[i], 0xA5, rows[i].bytes); /* writable to the last byte */
        total += rows[i].bytes;
        assert_int_equal(mem_held() - before, total);
    }
    mem_reset_peak();
    for (int i = 0; i < N; i++)
        mem_free(p[i]);
    mem_free(NULL);
    assert_int_equal(mem_held(), before);
    assert_int_equal(mem_peak(), before + total);
    mem_reset_peak();
    assert_int_equal(mem_peak(), before);
}

static void zeroed_blocks_are_zero_even_when_reused(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++) {
        void *p;
        assert_int_equal(mem_alloc_zero("block", 10000, &p), ERR_OK);
        for (int i = 0; i < 10000; i++)
            assert_int_equal(((unsigned char *)p)[i], 0);
        memset(p, 0xFF, 10000);
        mem_free(p);
    }
}

/* Blocks of whole pages, of which no other has a part. */
static void pages_are_not_shared(void **state)
{
    (void)state;
    static const size_t bytes[] = {1, 100, 4097, MIB, 4 * MIB + 1};
    enum { N = sizeof bytes / sizeof *bytes };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = mem_held();
    void *p[N], *between[N];
    size_t total = 0;
    for (int i = 0; i < N; i++) {
        assert_int_equal(mem_alloc_pages("block", bytes[i], &p[i]), ERR_OK);
        total += (bytes[i] + page - 1) / page * page;
        assert_int_equal(mem_held() - before, total); /* the rest of the last page is its own */
        assert_int_equal(mem_alloc("other", 64, &between[i]), ERR_OK);
        total += 64;
        assert_int_equal((uintptr_t)p[i] % page, 0);
    }
    for (int i = 0; i < N; i++) {
        mem_free(p[i]);
        mem_free(between[i]);
    }
    assert_int_equal(mem_held(), before);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    static const struct {
        int64_t a, b, c;
        size_t item;
        enum err code;
        size_t bytes;
    } rows[] = {
        {2, 3, 4, 4, ERR_OK, 96},
        {0, INT64_MAX, 1, 4, ERR_OK, 0},
        {-1, 1, 1, 4, ERR_INPUT, 0},
        {1, 1, -5, 4, ERR_INPUT, 0},
        {(int64_t)1 << 40, (int64_t)1 << 40, 1, 4, ERR_INPUT, 0},
        {INT64_MAX, 1, 1, 4, ERR_INPUT, 0},
        {(int64_t)1 << 60, 1, 1, 4, ERR_OK, (size_t)1 << 62},
        {((int64_t)1 << 60) + 1, 1, 1, 4, ERR_INPUT, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t bytes = 0;
        assert_int_equal(mem_size("volume", rows[i].a, rows[i].b, rows[i].c, rows[i].item, &bytes),
                         rows[i].code);
        assert_int_equal(bytes, rows[i].bytes);
        if (rows[i].code)
            assert_memory_equal(err_text(), "volume: ", 8);
    }
}

static void refusals_hold_both_numbers(void **state)
{
    (void)state;
    setenv("TOMOPROF_MEMORY", "8MiB", 1);
    assert_int_equal(mem_available(), 8 * MIB - mem_held());
    void *p, *q;
    assert_int_equal(mem_alloc("volume", 9 * MIB, &p), ERR_MEMORY);
    assert_null(p);
    assert_string_equal(err_text(),
                        "volume needs 9.0 MiB, 8.0 MiB available (limited by TOMOPROF_MEMORY)");
    assert_int_equal(mem_alloc("volume", 5 * MIB, &p), ERR_OK);
    assert_int_equal(mem_alloc("sinogram", 5 * MIB, &q), ERR_MEMORY);
    assert_non_null(strstr(err_text(), "sinogram needs 5.0 MiB, 3.0 MiB available"));
    assert_int_equal(mem_require("recon", 4 * MIB, "try fewer slices"), ERR_MEMORY);
    assert_non_null(strstr(err_text(), ": try fewer slices"));
    mem_free(p);
    assert_int_equal(mem_alloc("sinogram", 5 * MIB, &q), ERR_OK);
    mem_free(q);
    setenv("TOMOPROF_MEMORY", "lots", 1);
    assert_int_equal(mem_available(), 0);
    unsetenv("TOMOPROF_MEMORY");
    assert_true(mem_available() > 8 * MIB);
    assert_int_equal(mem_alloc("volume", (size_t)1 << 60, &p), ERR_MEMORY);
}

static void address_space_limit_counts(void **state)
{
    (void)state;
    const char *sanitized = getenv("TP_SANITIZE");
    if (sanitized && !strcmp(sanitized, "ON"))
        return; /* the sanitizer's own terabytes of address space leave no room below any limit */
    if (getenv("TP_EMULATED")) {
        print_message("the emulator does not enforce a limit of the address space\n");
        skip();
    }
    pid_t child = fork();
    if (!child) {
        struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
        void *p;
        setrlimit(RLIMIT_AS, &limit);
        int ok = mem_available() < limit.rlim_cur &&
                 mem_alloc("volume", 2048 * MIB, &p) == ERR_MEMORY &&
                 mem_alloc("volume", 16 * MIB, &p) == ERR_OK;
        _exit(ok ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void freeing_what_is_not_ours_stops_the_process(void **state)
{
    (void)state;
    pid_t child = fork();
    if (!child) {
        int local;
        mem_free(&local);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void *churn(void *unused)
{
    (void)unused;
    void *p[20];
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < 20; i++)
            if (mem_alloc("block", 1000 * i, &p[i]))
                return "failed";
        for (int i = 0; i < 20; i++)
            mem_free(p[i]);
    }
    return NULL;
}

static void threads_keep_the_count(void **state)
{
    (void)state;
    pthread_t t[4];
    size_t before = mem_held();
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&t[i], NULL, churn, NULL), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(t[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(mem_held(), before);
}

static void amounts_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum err code;
        size_t bytes;
    } read[] = {
        {"4096", ERR_OK, 4096},
        {"0", ERR_OK, 0},
        {"12GiB", ERR_OK, 12ull << 30},
        {"512 MiB", ERR_OK, 512 * MIB},
        {"1.5K", ERR_OK, 1536},
        {"2GB", ERR_OK, 2000000000},
        {"", ERR_USAGE, 0},
        {"GiB", ERR_USAGE, 0},
        {"-1", ERR_USAGE, 0},
        {"12 parsecs", ERR_USAGE, 0},
        {"nan", ERR_USAGE, 0},
        {"inf", ERR_USAGE, 0},
        {"9999999999TiB", ERR_USAGE, 0},
        {"1MiBx", ERR_USAGE, 0},
    };
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        size_t bytes = 0;
        assert_int_equal(mem_parse(read[i].text, &bytes), read[i].code);
        assert_int_equal(bytes, read[i].bytes);
    }
    static const struct {
        double bytes;
        const char *text;
    } write[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {7.2 * 0x1p30, "7.2 GiB"},
        {0x1p20 - 1, "1.0 MiB"},
        {500 * 0x1p30, "500 GiB"},
        {0x1p62, "4.0 EiB"},
        {1e30, "867361737988 EiB"},
    };
    for (size_t i = 0; i < sizeof write / sizeof *write; i++) {
        char out[16];
        mem_human(write[i].bytes, out);
        assert_memory_equal(out, write[i].text, strnlen(write[i].text, 15));
    }
}

/* Faults of writing to 8 MiB, which are freed then. */
static long faults(void)
{
    const size_t n = (size_t)8 << 20;
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    volatile char *p = malloc(n);
    assert_non_null((const void *)p);
    for (size_t i = 0; i < n; i += 1024)
        p[i] = 1;
    getrusage(RUSAGE_SELF, &after);
    free((void *)p);
    return after.ru_minflt - before.ru_minflt;
}

static void what_is_freed_stays(void **state)
{
    (void)state;
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    mem_keep_freed();
    const long fresh = faults(), again = faults();
    if (fresh > 100) /* not where pages are large */
        assert_true(again < fresh / 4);
#else
    mem_keep_freed();
    (void)faults();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_counted),
        cmocka_unit_test(zeroed_blocks_are_zero_even_when_reused),
        cmocka_unit_test(pages_are_not_shared),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(refusals_hold_both_numbers),
        cmocka_unit_test(address_space_limit_counts),
        cmocka_unit_test(freeing_what_is_not_ours_stops_the_process),
        cmocka_unit_test(threads_keep_the_count),
        cmocka_unit_test(amounts_are_read_and_written),
        cmocka_unit_test(what_is_freed_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
