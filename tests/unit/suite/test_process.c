/* links: tp_suite */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "host/suite/run/process.h"

static volatile int stop;
static char folder[] = "/tmp/tomoprof-process-XXXXXX";

static void on_line(void *context, char *line)
{
    (void)context;
    stop = !strcmp(line, "written");
}

/* A shell in the folder, whose process is the child. */
static enum process_end run(const char *script, int *number)
{
    char text[400];
    snprintf(text, sizeof text, "cd %s || exit 1; %s", folder, script);
    const char *argv[] = {"/bin/sh", "-c", text, NULL};
    struct child_process p = {.argv = argv,
                              .log_fd = STDERR_FILENO,
                              .timeout_s = 60,
                              .folder = folder,
                              .stop = &stop,
                              .on_line = on_line};
    enum process_end end;
    stop = 0;
    assert_int_equal(process_run(&p, &end, number), ERR_OK);
    return end;
}

static int files(void)
{
    int n = -2; /* . and .. */
    DIR *d = opendir(folder);
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void what_a_killed_child_had_begun_is_removed(void **state)
{
    (void)state;
    int number = 0;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(run("touch done.png a.png.$$.0.tmp a.png.1.0.tmp; mkdir t.$$.tmp; "
                         "touch t.$$.tmp/x; echo written >&3; sleep 60",
                         &number),
                     PROCESS_STOPPED);
    assert_int_equal(files(), 2); /* what was done, and what another process has begun */
    assert_int_equal(run("touch b.$$.tmp; kill -9 $$", &number), PROCESS_SIGNALLED);
    assert_int_equal(number, 9);
    assert_int_equal(files(), 2);
    assert_int_equal(run("touch c.$$.tmp; exit 3", &number), PROCESS_EXITED);
    assert_int_equal(number, 3);
    assert_int_equal(files(), 3); /* who ends by itself sees to its own */
    assert_int_equal(run("test -e done.png && test -e a.png.1.0.tmp && rm -- *", &number),
                     PROCESS_EXITED);
    assert_int_equal(number, 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_killed_child_had_begun_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
