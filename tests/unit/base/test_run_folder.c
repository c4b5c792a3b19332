/* links: tp_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/run_folder.h"

static char folder[] = "/tmp/tomoprof-test-run-XXXXXX";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 && !setenv("XDG_STATE_HOME", folder, 1) ? 0 : -1;
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
    assert_int_equal(run_make("tomoprof-runs", made), ERR_OK);
    assert_int_equal(run_latest(made), ERR_OK);
    static const char *const names[] = {"latest", "tomoprof-runs", "tomoprof-runs/latest",
                                        "tomoprof-runs/"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(run_find(names[i], found), ERR_OK);
        assert_string_equal(strrchr(found, '/'), strrchr(made, '/'));
        assert_int_equal(access(found, F_OK), 0);
    }
}

/* Links fail with EPERM from here on in this process, as on FAT. */
static int without_links(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef __NR_symlink
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_symlink, 1, 0),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_symlinkat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void latest_is_a_link_or_a_file_and_both_are_read(void **state)
{
    (void)state;
    enum { NO_FILTER = 77 };
    char made[RUN_PATH], target[RUN_PATH] = "", found[RUN_PATH];
    struct stat st;
    int status;
    put("victim", "precious");
    assert_int_equal(run_make("linked", made), ERR_OK);
    assert_int_equal(symlink("../victim", "linked/latest"), 0); /* replaced, not followed */
    assert_int_equal(run_latest(made), ERR_OK);
    assert_int_equal(stat("victim", &st), 0);
    assert_int_equal(st.st_size, 8);
    assert_true(readlink("linked/latest", target, sizeof target - 1) > 0);
    assert_string_equal(target, strrchr(made, '/') + 1);
    pid_t pid = fork();
    if (pid == 0)
        _exit(!without_links() ? NO_FILTER : run_latest(made) ? 1 : 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WEXITSTATUS(status) != NO_FILTER) {
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_int_equal(lstat("linked/latest", &st), 0);
        assert_true(S_ISREG(st.st_mode));
        assert_int_equal(run_find("linked/latest", found), ERR_OK);
        assert_string_equal(found, made);
        assert_false(run_is_file("linked/latest"));
        assert_int_equal(run_latest(made), ERR_OK); /* a link again in the place of the file */
    }
    assert_int_equal(lstat("linked/latest", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    static const char *const names[] = {"linked/latest", "linked/latest/", "linked", "./linked//"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(run_find(names[i], found), ERR_OK);
        assert_string_equal(strrchr(found, '/'), strrchr(made, '/'));
        assert_null(strstr(found, "latest")); /* the run itself, which does not change its name */
    }
    put("linked/latest/profile.json", "{}");
    assert_true(run_is_file("linked/latest/profile.json"));
    assert_int_equal(mkdir("copied", 0777) | mkdir("copied/latest", 0777), 0);
    put("copied/latest/profile.json", "{}");
    assert_int_equal(run_find("copied", found), ERR_OK);
    assert_string_equal(found, "copied/latest");
    assert_int_equal(run_find("copied/latest", found), ERR_OK);
    assert_string_equal(found, "copied/latest");
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
    assert_non_null(strstr(err_text(), "script.py: is not a run"));
}

static void a_latest_that_leads_elsewhere_is_refused(void **state)
{
    (void)state;
    char found[RUN_PATH];
    assert_int_equal(mkdir("odd", 0777), 0);
    put("odd/latest", "../../etc\n");
    assert_int_equal(run_find("odd", found), ERR_INPUT);
    static const char *const up[] = {"..\n", ".\n", "..", "\n"};
    for (size_t i = 0; i < sizeof up / sizeof *up; i++) {
        put("odd/latest", up[i]);
        assert_int_equal(run_find("odd", found), ERR_INPUT);
    }
    assert_int_equal(run_find("odd/latest", found), ERR_INPUT);
    assert_int_equal(mkdir("elsewhere", 0777), 0);
    put("elsewhere/profile.json", "{}");
    static const char *const targets[] = {"../elsewhere", "..", ".", "/etc", "../odd/latest"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        unlink("odd/latest");
        assert_int_equal(symlink(targets[i], "odd/latest"), 0);
        assert_int_equal(run_find("odd", found), ERR_INPUT);
        assert_int_equal(run_find("odd/latest", found), ERR_INPUT);
    }
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

/* A umask that lets others write shares on purpose; one that lets them read is every system's
 * default. */
static void a_run_is_its_owners_unless_the_umask_shares_it(void **state)
{
    (void)state;
    static const struct {
        mode_t umask;
        unsigned folder, file;
    } rows[] = {
        {022, 0700, 0600}, {077, 0700, 0600}, {027, 0700, 0600}, {002, 0770, 0660},
        {007, 0770, 0660}, {0, 0777, 0666},   {020, 0707, 0606},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char made[RUN_PATH], file[RUN_PATH + 16];
        mode_t before = umask(rows[i].umask);
        assert_int_equal(run_make("private", made), ERR_OK);
        assert_int_equal(mode_of(made), rows[i].folder);
        snprintf(file, sizeof file, "%s/before", made);
        put(file, "");
        assert_int_equal(mode_of(file), 0666 & ~rows[i].umask);
        run_private();
        snprintf(file, sizeof file, "%s/after", made);
        put(file, "");
        assert_int_equal(mode_of(file), rows[i].file);
        run_private();
        assert_int_equal(umask(before), 0777 & ~rows[i].folder);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latest_names_the_newest_from_everywhere),
        cmocka_unit_test(latest_is_a_link_or_a_file_and_both_are_read),
        cmocka_unit_test(runs_of_one_second_get_folders_of_their_own),
        cmocka_unit_test(a_run_is_its_folder_or_a_file_in_it),
        cmocka_unit_test(a_latest_that_leads_elsewhere_is_refused),
        cmocka_unit_test(a_run_is_its_owners_unless_the_umask_shares_it),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
