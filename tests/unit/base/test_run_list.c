/* links: tp_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/run_folder.h"

static char folder[] = "/tmp/tomoprof-test-list-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    char path[100];
    if (!mkdtemp(folder) || chdir(folder) || mkdir("a", 0700) || mkdir("b", 0700))
        return -1;
    snprintf(path, sizeof path, "%s/state", folder);
    return setenv("XDG_STATE_HOME", path, 1);
}

static int leave_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") || system(command) ? -1 : 0;
}

static void assert_back(const struct run_list *l, size_t back, int here, const char *name)
{
    const struct run_entry *run = run_list_back(l, back, here);
    if (!name) {
        assert_null(run);
        return;
    }
    assert_non_null(run);
    assert_string_equal(strrchr(run->folder, '/') + 1, name);
}

static void the_newest_come_first(void **state)
{
    (void)state;
    struct run_list l;
    char found[RUN_PATH];
    assert_int_equal(run_list_read(&l), ERR_OK); /* nothing yet */
    assert_int_equal(l.runs.count, 0);
    run_list_free(&l);
    assert_int_equal(run_find("latest", found), ERR_INPUT);
    static const char *const names[] = {"r1", "r2", "r3", "r4"};
    for (int i = 0; i < 4; i++)
        assert_int_equal(mkdir(names[i], 0700), 0);
    assert_int_equal(chdir("a"), 0);
    run_list_add("../r1");
    run_list_add("../r2");
    run_list_add("../r1"); /* made again */
    assert_int_equal(chdir("../b"), 0);
    run_list_add("../r3");
    assert_int_equal(chdir("../a"), 0);
    run_list_add("../no such run");
    assert_int_equal(run_list_read(&l), ERR_OK);
    assert_back(&l, 0, 0, "r3");
    assert_back(&l, 1, 0, "r1");
    assert_back(&l, 2, 0, "r2");
    assert_back(&l, 3, 0, NULL);
    assert_back(&l, 0, 1, "r1");
    assert_back(&l, 1, 1, "r2");
    assert_back(&l, 2, 1, NULL);
    run_list_free(&l);
    assert_int_equal(run_find("latest", found), ERR_OK);
    assert_string_equal(strrchr(found, '/') + 1, "r1");
    assert_int_equal(run_find("previous", found), ERR_OK);
    assert_string_equal(strrchr(found, '/') + 1, "r2");
    assert_int_equal(chdir(".."), 0);
    assert_int_equal(run_find("latest", found), ERR_INPUT); /* none was made from here */
}

static void strange_lines_are_no_runs(void **state)
{
    (void)state;
    struct run_list l;
    FILE *f = fopen("state/tomoprof/runs", "w");
    assert_non_null(f);
    fprintf(f, "\n\t\nrelative\t%s/r1\n%s\trelative\n%s\nlong", folder, folder, folder);
    for (int i = 0; i < 9000; i++)
        putc('x', f);
    fprintf(f, "\n%s\t%s/r4\n%s\t%s/r1", folder, folder, folder, folder); /* cut short */
    fclose(f);
    assert_int_equal(run_list_read(&l), ERR_OK);
    assert_int_equal(l.runs.count, 2);
    assert_back(&l, 0, 1, "r1");
    assert_back(&l, 1, 1, "r4");
    run_list_free(&l);
}

static void a_long_list_loses_its_older_half(void **state)
{
    (void)state;
    struct run_list l;
    struct stat st;
    FILE *f = fopen("state/tomoprof/runs", "w");
    assert_non_null(f);
    fprintf(f, "%s\t%s/r4\n", folder, folder);
    for (int i = 0; i < 6000; i++)
        fprintf(f, "%s\t%s/%08d\n", folder, folder, i);
    fclose(f);
    run_list_add("r1");
    assert_int_equal(stat("state/tomoprof/runs", &st), 0);
    assert_in_range(st.st_size, 100000, 256 << 10);
    assert_int_equal(run_list_read(&l), ERR_OK);
    assert_int_equal(l.runs.count, 1);
    assert_back(&l, 0, 1, "r1");
    run_list_free(&l);
}

/* A home that cannot be written is no reason for anything to fail. */
static void without_a_place_nothing_is_remembered(void **state)
{
    (void)state;
    struct run_list l;
    assert_int_equal(setenv("XDG_STATE_HOME", "/proc/none", 1), 0);
    run_list_add("r1");
    assert_int_equal(run_list_read(&l), ERR_OK);
    assert_int_equal(l.runs.count, 0);
    run_list_free(&l);
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_int_equal(unsetenv("HOME"), 0);
    run_list_add("r1");
    assert_int_equal(run_list_read(&l), ERR_OK);
    assert_int_equal(l.runs.count, 0);
    run_list_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_come_first),
        cmocka_unit_test(strange_lines_are_no_runs),
        cmocka_unit_test(a_long_list_loses_its_older_half),
        cmocka_unit_test(without_a_place_nothing_is_remembered),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
