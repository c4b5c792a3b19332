/* links: tp_suite tp_backend tp_base */
/* A calibration that is kept: of this machine and build it comes back, of another one and from a damaged
 * file it does not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "host/suite/run/rate_file.h"
#include "tests/unit/check.h"

static const struct backend_ops ops = {.name = "cpu"};
static struct backend machine = {
    .ops = &ops, .threads = 2, .device = "A processor, 2 threads, plain"};
static char folder[] = "/tmp/test_rate_file.XXXXXX";

static int folder_make(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    return mkdtemp(folder) && !setenv("XDG_CACHE_HOME", folder, 1) ? 0 : -1;
}

static int folder_remove(void **state)
{
    (void)state;
    dir_remove(folder);
    return 0;
}

static void rates_unknown(const struct rate_file *k)
{
    assert_true(k->peak.flops_per_s == 0 && k->peak.bytes_per_s == 0 && k->age_s == 0);
    assert_int_equal(k->copies_count, 0);
    assert_true(*k->path);
}

static void rates_write_new(struct rate_file *k)
{
    rate_file_read(&machine, k);
    k->peak = (struct peak){1.25e11, 2.5e10};
    k->age_s = 0;
    k->copies_count = 0;
    rate_file_add_copy(k, 65536, 4e10);
    rate_file_add_copy(k, 1048576, 3e10);
    rate_file_write(k);
}

/* Writes the file anew with `from` replaced, its length may change. */
static void file_change(const char *path, const char *from, const char *to)
{
    char *text;
    size_t bytes;
    assert_ok(file_read_all(path, 65536, &text, &bytes));
    char *at = strstr(text, from);
    assert_non_null(at);
    FILE *f = fopen(path, "we");
    fprintf(f, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    fclose(f);
    free(text);
}

static void comes_back(void **state)
{
    (void)state;
    struct rate_file k;
    double rate = 0;
    rate_file_read(&machine, &k);
    rates_unknown(&k);
    rates_write_new(&k);
    rate_file_read(&machine, &k);
    assert_true(k.peak.flops_per_s == 1.25e11 && k.peak.bytes_per_s == 2.5e10 && k.age_s >= 1);
    assert_true(rate_file_copy_rate(&k, 65536, &rate) && rate == 4e10);
    assert_true(rate_file_copy_rate(&k, 1048576, &rate) && rate == 3e10);
    assert_false(rate_file_copy_rate(&k, 1048577, &rate));
}

/* More sizes of copies than there is room for: the last ones stay. */
static void oldest_goes(void **state)
{
    (void)state;
    struct rate_file k;
    double rate;
    rates_write_new(&k);
    for (int i = 1; i <= RATES_COPIES + 3; i++)
        rate_file_add_copy(&k, i, i);
    rate_file_write(&k);
    rate_file_read(&machine, &k);
    assert_int_equal(k.copies_count, RATES_COPIES);
    assert_true(rate_file_copy_rate(&k, RATES_COPIES + 3, &rate) && rate == RATES_COPIES + 3);
    assert_true(rate_file_copy_rate(&k, 4, &rate));
    assert_false(rate_file_copy_rate(&k, 3, &rate));
}

/* Another value in any line of what the rates depend on is another machine. */
static void other_machine(void **state)
{
    (void)state;
    static const char *const lines[] = {"processor: ", "device: cpu", "threads: 2",
                                        "kernel: ", "build: "};
    struct rate_file k;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char other[64];
        rates_write_new(&k);
        snprintf(other, sizeof other, "%sX", lines[i]);
        file_change(k.path, lines[i], other);
        rate_file_read(&machine, &k);
        rates_unknown(&k);
    }
    struct backend one = machine;
    one.threads = 1;
    rates_write_new(&k);
    rate_file_read(&one, &k);
    rates_unknown(&k);
}

static void damaged_file(void **state)
{
    (void)state;
    static const char *const changes[][2] = {{"tomoprof calibration 1", "tomoprof calibration 2"},
                                             {"peak ", "peak -"},
                                             {"peak ", "peak nan "},
                                             {"peak ", "peak 1e999 "},
                                             {"peak ", "speak "},
                                             {"copy ", "copy 0 "},
                                             {"copy ", "copy x"},
                                             {"end\n", ""},
                                             {"end\n", "end\nend\n"}};
    struct rate_file k;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        rates_write_new(&k);
        file_change(k.path, changes[i][0], changes[i][1]);
        rate_file_read(&machine, &k);
        rates_unknown(&k);
    }
    rates_write_new(&k); /* every length that a full disk may leave */
    struct stat st;
    assert_int_equal(stat(k.path, &st), 0);
    for (off_t n = 0; n < st.st_size; n++) {
        rates_write_new(&k);
        assert_int_equal(truncate(k.path, n), 0);
        rate_file_read(&machine, &k);
        rates_unknown(&k);
    }
    rates_write_new(&k); /* and it is written again */
    rate_file_read(&machine, &k);
    assert_true(k.peak.flops_per_s == 1.25e11);
}

/* No folder, or one that nobody can write: nothing is kept, nothing fails. */
static void nowhere_to_write(void **state)
{
    (void)state;
    struct rate_file k;
    setenv("XDG_CACHE_HOME", "/proc/none", 1);
    rates_write_new(&k);
    rate_file_read(&machine, &k);
    rates_unknown(&k);
    setenv("XDG_CACHE_HOME", "relative", 1);
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    unsetenv("HOME");
    rate_file_read(&machine, &k);
    assert_string_equal(k.path, "");
    rates_write_new(&k);
    assert_int_not_equal(access("relative", F_OK), 0);
    if (home)
        setenv("HOME", home, 1);
    free(home);
    setenv("XDG_CACHE_HOME", folder, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back),       cmocka_unit_test(oldest_goes),
        cmocka_unit_test(other_machine),    cmocka_unit_test(damaged_file),
        cmocka_unit_test(nowhere_to_write),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
