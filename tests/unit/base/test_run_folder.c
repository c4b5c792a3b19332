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

#include "host/base/run_folder.h"

static char folder[] = "/tmp/tomoprof-test-run-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    char command[100];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return chdir("/") || system(command) ? -1 : 0;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void runs_of_one_second_get_folders_of_their_own(void **state)
{
    (void)state;
    char a[RUN_PATH], b[RUN_PATH], c[RUN_PATH];
    assert_int_equal(run_make("many/of them", a), ERR_OK);
    assert_int_equal(run_make("many/of them", b), ERR_OK);
    assert_int_equal(run_make("many/of them", c), ERR_OK);
    assert_string_not_equal(a, b);
    assert_string_not_equal(b, c);
    assert_int_equal(access(c, F_OK), 0);
    put("file", "");
    assert_int_equal(run_make("file", a), ERR_IO);
}

static void latest_names_the_newest_from_everywhere(void **state)
{
    (void)state;
    char made[RUN_PATH], found[RUN_PATH];
    assert_int_equal(run_find("latest", found), ERR_INPUT); /* no run was ever made */
    assert_int_equal(run_make("output", made), ERR_OK);
    assert_int_equal(run_latest(made), ERR_OK);
    static const char *const names[] = {"latest", "output", "output/latest", "output/"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(run_find(names[i], found), ERR_OK);
        assert_string_equal(strrchr(found, '/'), strrchr(made, '/'));
        assert_int_equal(access(found, F_OK), 0);
    }
}

static void a_run_is_its_folder_or_a_file_in_it(void **state)
{
    (void)state;
    char found[RUN_PATH];
    assert_int_equal(mkdir("some run", 0777), 0);
    put("some run/profile.json", "{}");
    assert_int_equal(run_find("some run", found), ERR_OK);
    assert_string_equal(found, "some run");
    assert_int_equal(run_find("some run///", found), ERR_OK);
    assert_string_equal(found, "some run");
    assert_int_equal(run_find("some run/profile.json", found), ERR_OK);
    assert_string_equal(found, "some run");
    put("alone.json", "{}");
    assert_int_equal(run_find("alone.json", found), ERR_OK);
    assert_string_equal(found, ".");
    assert_int_equal(run_find("nothing", found), ERR_INPUT);
    put("some run/report.html", "");
    assert_int_equal(run_find("some run/report.html", found), ERR_OK);
    assert_string_equal(found, "some run");
    put("script.py", "");
    assert_int_equal(run_find("script.py", found), ERR_INPUT);
    assert_non_null(strstr(err_text(), "script.py: is no run"));
}

static void a_latest_that_leads_elsewhere_is_refused(void **state)
{
    (void)state;
    char found[RUN_PATH];
    assert_int_equal(mkdir("odd", 0777), 0);
    put("odd/latest", "../../etc\n");
    assert_int_equal(run_find("odd", found), ERR_INPUT);
    put("odd/latest", "\n");
    assert_int_equal(run_find("odd/latest", found), ERR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latest_names_the_newest_from_everywhere),
        cmocka_unit_test(runs_of_one_second_get_folders_of_their_own),
        cmocka_unit_test(a_run_is_its_folder_or_a_file_in_it),
        cmocka_unit_test(a_latest_that_leads_elsewhere_is_refused),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
