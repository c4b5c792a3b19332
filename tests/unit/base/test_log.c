/* links: tp_base */
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"

static char text[1 << 18];

/* Captures what `act` writes to stderr, which is `fd` meanwhile, into `text`, read back from
 * `from`. */
static void capture(int fd, int from, void (*act)(void))
{
    int saved = dup(2);
    dup2(fd, 2);
    act();
    fflush(stderr);
    dup2(saved, 2);
    close(saved);
    lseek(from, 0, SEEK_SET); /* refused by a terminal, which needs no rewinding */
    fcntl(from, F_SETFL, O_NONBLOCK);
    size_t n = 0;
    for (ssize_t got; (got = read(from, text + n, sizeof text - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = 0;
}

static void capture_file(void (*act)(void))
{
    char name[] = "/tmp/tomoprof-test-log-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    capture(fd, fd, act);
    close(fd);
}

static void capture_terminal(void (*act)(void))
{
    int master, slave;
    assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
    capture(slave, master, act);
    close(master);
    close(slave);
}

static int count(const char *needle)
{
    int n = 0;
    for (const char *s = text; (s = strstr(s, needle)); s += strlen(needle))
        n++;
    return n;
}

static void all_levels(void)
{
    log_error("e %d", 1);
    log_warn("w %d", 2);
    log_info("i %d", 3);
    log_debug("d %d", 4);
}

static void levels_filter(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "error: e 1\n",
        "error: e 1\nwarning: w 2\n",
        "error: e 1\nwarning: w 2\ni 3\n",
        "error: e 1\nwarning: w 2\ni 3\ndebug: d 4\n",
    };
    for (int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
        log_set_level((enum log_level)level);
        assert_int_equal(log_level_now(), level);
        capture_file(all_levels);
        assert_string_equal(text, expected[level]);
    }
    log_set_level(LOG_INFO);
}

static void long_line(void)
{
    static char longer[10000];
    memset(longer, 'x', sizeof longer - 1);
    log_info("%s", longer);
}

static void long_lines_are_cut_and_ended(void **state)
{
    (void)state;
    capture_file(long_line);
    size_t n = strlen(text);
    assert_in_range(n, 1000, 9000);
    assert_int_equal(text[n - 1], '\n');
}

#define THREADS 8
#define LINES   200

static void *write_lines(void *which)
{
    char word[41];
    memset(word, 'a' + *(int *)which, 40);
    word[40] = 0;
    for (int i = 0; i < LINES; i++)
        log_info("%s", word);
    return NULL;
}

static void many_threads(void)
{
    pthread_t t[THREADS];
    int which[THREADS];
    for (int i = 0; i < THREADS; i++) {
        which[i] = i;
        pthread_create(&t[i], NULL, write_lines, &which[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
}

static void lines_of_threads_stay_whole(void **state)
{
    (void)state;
    capture_file(many_threads);
    int lines = 0;
    for (char *s = strtok(text, "\n"); s; s = strtok(NULL, "\n"), lines++) {
        assert_int_equal(strlen(s), 40);
        for (int i = 1; i < 40; i++)
            assert_int_equal(s[i], s[0]);
    }
    assert_int_equal(lines, THREADS * LINES);
}

static int64_t loop_ns;

static void fast_progress(void)
{
    int64_t start = clock_ns();
    progress_about("cone_mbir_recon 64");
    for (int i = 0; i < 2000; i++)
        progress("projecting", i, 2000);
    log_info("line between");
    loop_ns = clock_ns() - start;
    progress_end();
}

static void amounts_progress(void)
{
    progress("analysis, MB", 42, 126);
    progress_end();
}

static void amounts_have_their_unit(void **state)
{
    (void)state;
    setenv("TERM", "xterm", 1);
    capture_terminal(amounts_progress);
    assert_non_null(strstr(text, "analysis [######..............]  33%  42 of 126 MB  "));
    assert_non_null(strstr(text, " MB/s"));
}

static void progress_is_silent_in_a_file(void **state)
{
    (void)state;
    setenv("TERM", "xterm", 1);
    capture_file(fast_progress);
    assert_string_equal(text, "line between\n");
}

static void progress_on_a_terminal_is_limited_and_cleared(void **state)
{
    (void)state;
    setenv("TERM", "xterm", 1);
    capture_terminal(fast_progress);
    int drawn = count("projecting");
    assert_true(drawn >= 1);
    assert_int_equal(count("cone_mbir_recon 64"), drawn);
    assert_true(drawn <= 1 + (int)(loop_ns / 100000000)); /* 10 a second */
    const char *line = strstr(text, "line between");
    assert_non_null(line);
    assert_true(line - text >= 4);
    assert_memory_equal(line - 4, "\r\033[K", 4);

    setenv("TERM", "dumb", 1);
    capture_terminal(fast_progress);
    assert_int_equal(count("projecting"), 0);
    assert_int_equal(count("\033"), 0);
}

static void colour_obeys_the_user(void **state)
{
    (void)state;
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    capture_terminal(all_levels);
    assert_true(count("\033[") > 0);
    setenv("NO_COLOR", "1", 1);
    capture_terminal(all_levels);
    assert_int_equal(count("\033["), 0);
    unsetenv("NO_COLOR");
    capture_file(all_levels);
    assert_int_equal(count("\033["), 0);
}

static void between_two_words(void)
{
    const int saved = dup(1);
    fflush(stdout);
    dup2(2, 1); /* both are one file, as in `tomoprof report --text 2>&1 | less` */
    printf("before\n");
    log_info("line");
    printf("after\n");
    fflush(stdout);
    dup2(saved, 1);
    close(saved);
}

static void lines_keep_their_place_in_the_output(void **state)
{
    (void)state;
    capture_file(between_two_words);
    assert_string_equal(text, "before\nline\nafter\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_keep_their_place_in_the_output),
        cmocka_unit_test(levels_filter),
        cmocka_unit_test(long_lines_are_cut_and_ended),
        cmocka_unit_test(lines_of_threads_stay_whole),
        cmocka_unit_test(amounts_have_their_unit),
        cmocka_unit_test(progress_is_silent_in_a_file),
        cmocka_unit_test(progress_on_a_terminal_is_limited_and_cleared),
        cmocka_unit_test(colour_obeys_the_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
