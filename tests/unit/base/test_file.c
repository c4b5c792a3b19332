/* links: tp_base */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/file.h"

static char folder[] = "/tmp/tomoprof-test-file-XXXXXX";

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
    struct outfile f;
    assert_int_equal(outfile_open(&f, path), ERR_OK);
    assert_int_equal(outfile_write(&f, text, strlen(text)), ERR_OK);
    assert_int_equal(outfile_commit(&f), ERR_OK);
}

static void assert_content(const char *path, const char *expected)
{
    char *text;
    size_t bytes;
    assert_int_equal(file_read_all(path, 1 << 20, &text, &bytes), ERR_OK);
    assert_string_equal(text, expected);
    assert_int_equal(bytes, strlen(expected));
    free(text);
}

static int temporaries_here(void)
{
    int n = 0;
    DIR *d = opendir(".");
    for (struct dirent *e; (e = readdir(d));)
        n += strstr(e->d_name, ".tmp") != NULL;
    closedir(d);
    return n;
}

static void new_content_appears_only_when_committed(void **state)
{
    (void)state;
    put("a.txt", "old");
    struct outfile f;
    assert_int_equal(outfile_open(&f, "a.txt"), ERR_OK);
    assert_int_equal(outfile_write(&f, "new", 3), ERR_OK);
    fflush(f.stream);
    assert_content("a.txt", "old");
    assert_int_equal(outfile_commit(&f), ERR_OK);
    assert_content("a.txt", "new");
    outfile_abort(&f);
    assert_content("a.txt", "new");

    assert_int_equal(outfile_open(&f, "a.txt"), ERR_OK);
    assert_int_equal(outfile_write(&f, "half", 4), ERR_OK);
    outfile_abort(&f);
    assert_content("a.txt", "new");

    assert_int_equal(outfile_open(&f, "never.txt"), ERR_OK);
    outfile_abort(&f);
    assert_int_equal(access("never.txt", F_OK), -1);
    outfile_abort(&(struct outfile){0});
    assert_int_equal(temporaries_here(), 0);
}

static void two_writers_of_one_file_do_not_mix(void **state)
{
    (void)state;
    struct outfile a, b;
    assert_int_equal(outfile_open(&a, "shared.txt"), ERR_OK);
    assert_int_equal(outfile_open(&b, "shared.txt"), ERR_OK);
    outfile_write(&a, "aaaa", 4);
    outfile_write(&b, "bb", 2);
    assert_int_equal(outfile_commit(&a), ERR_OK);
    assert_content("shared.txt", "aaaa");
    assert_int_equal(outfile_commit(&b), ERR_OK);
    assert_content("shared.txt", "bb");
}

static unsigned mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return S_ISLNK(st.st_mode) ? 0 : st.st_mode & 07777;
}

static void a_new_file_goes_by_the_umask_and_a_replaced_one_keeps_its_mode(void **state)
{
    (void)state;
    mode_t old = umask(027);
    put("mode.txt", "x");
    assert_int_equal(mode_of("mode.txt"), 0640);
    static const unsigned modes[] = {0600, 0644, 0666, 0755};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod("mode.txt", modes[i]), 0);
        put("mode.txt", "y");
        assert_int_equal(mode_of("mode.txt"), modes[i]);
    }
    umask(old);
    assert_content("mode.txt", "y");
}

/* Also one that leads to a device, to nothing or to itself; its name is then a file. */
static void a_link_is_replaced_and_never_followed(void **state)
{
    (void)state;
    static const char *const targets[] = {"target.txt", "/dev/null", "nowhere", "link.txt", "."};
    put("target.txt", "old");
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        assert_int_equal(symlink(targets[i], "link.txt"), 0);
        put("link.txt", "new");
        assert_content("target.txt", "old");
        assert_int_not_equal(mode_of("link.txt"), 0);
        assert_content("link.txt", "new");
        assert_int_equal(unlink("link.txt"), 0);
    }
    assert_int_equal(temporaries_here(), 0);
}

static void unwritable_places_are_named(void **state)
{
    (void)state;
    struct outfile f;
    mkdir("folder", 0777);
    put("plain", "x");
    static const char *const paths[] = {"missing/a.txt", "folder", "plain/a.txt", ""};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(outfile_open(&f, paths[i]), ERR_IO);
        assert_memory_equal(err_text(), paths[i], strlen(paths[i]));
        assert_non_null(strstr(err_text(), "cannot write: "));
        assert_null(f.stream);
        outfile_abort(&f);
    }
    if (geteuid() != 0) { /* root may write everywhere */
        chmod("plain", 0444);
        assert_int_equal(outfile_open(&f, "plain"), ERR_IO);
        assert_content("plain", "x");
    }
    assert_int_equal(temporaries_here(), 0);
}

static void devices_are_written_directly(void **state)
{
    (void)state;
    struct stat st;
    put("/dev/null", "x");
    assert_int_equal(stat("/dev/null", &st), 0);
    assert_true(S_ISCHR(st.st_mode));

    struct outfile f; /* always full: the error shows at the flush */
    assert_int_equal(outfile_open(&f, "/dev/full"), ERR_OK);
    assert_int_equal(outfile_write(&f, "x", 1), ERR_OK);
    assert_int_equal(outfile_commit(&f), ERR_IO);
    assert_string_equal(err_text(), "/dev/full: writing failed: No space left on device");
    assert_int_equal(stat("/dev/full", &st), 0);
    assert_true(S_ISCHR(st.st_mode));
}

/* Writes 1 MiB over an old file where there is room for less; 0 when every promise was kept. */
static int fails_cleanly(const char *reason)
{
    static char block[1 << 16];
    struct outfile f;
    if (outfile_open(&f, "big.bin"))
        return 1;
    enum err e = ERR_OK;
    for (int i = 0; i < 16 && !e; i++)
        e = outfile_write(&f, block, sizeof block);
    if (e)
        outfile_abort(&f);
    else
        e = outfile_commit(&f);
    char *text;
    size_t bytes;
    if (e != ERR_IO || !strstr(err_text(), "big.bin: writing failed: ") ||
        !strstr(err_text(), reason))
        return 2;
    if (temporaries_here())
        return 3;
    if (file_read_all("big.bin", 100, &text, &bytes) || strcmp(text, "old"))
        return 4;
    free(text);
    return 0;
}

static void full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    put("big.bin", "old");
    pid_t child = fork();
    if (!child) {
        struct rlimit limit = {100000, 100000};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(fails_cleanly("File too large"));
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);

    mkdir("small", 0777);
    if (mount("none", "small", "tmpfs", 0, "size=256k")) {
        print_message("a real full disk was not tried: %s\n",
                      strerror(errno)); /* needs CAP_SYS_ADMIN */
        return;
    }
    assert_int_equal(chdir("small"), 0);
    put("big.bin", "old");
    int failed = fails_cleanly("No space left on device");
    assert_int_equal(chdir(".."), 0);
    umount("small");
    assert_int_equal(failed, 0);
}

static void a_signal_handler_can_remove_temporaries(void **state)
{
    (void)state;
    struct outfile a, b;
    assert_int_equal(outfile_open(&a, "a.bin"), ERR_OK);
    assert_int_equal(outfile_open(&b, "b.bin"), ERR_OK);
    assert_int_equal(temporaries_here(), 2);
    outfile_remove_temporaries();
    assert_int_equal(temporaries_here(), 0);
    outfile_abort(&a);
    outfile_abort(&b);
}

static void reads_are_whole_and_limited(void **state)
{
    (void)state;
    char *text;
    size_t bytes;
    put("ten", "0123456789");
    put("empty", "");
    assert_content("ten", "0123456789");
    assert_content("empty", "");
    assert_int_equal(file_read_all("ten", 10, &text, &bytes), ERR_OK);
    free(text);
    assert_int_equal(file_read_all("ten", 9, &text, &bytes), ERR_INPUT);
    assert_null(text);
    assert_int_equal(file_read_all("absent", 100, &text, &bytes), ERR_INPUT);
    assert_string_equal(err_text(), "absent: cannot read: No such file or directory");
    assert_int_equal(file_read_all(".", 100, &text, &bytes), ERR_INPUT);
    assert_int_equal(file_read_all("/dev/zero", 200000, &text, &bytes), ERR_INPUT);
    assert_int_equal(file_read_all("/proc/self/status", 1 << 20, &text, &bytes),
                     ERR_OK); /* size 0 in stat */
    assert_true(bytes > 100);
    free(text);
}

static void folders_are_made_with_their_parents(void **state)
{
    (void)state;
    struct stat st;
    static const char *const good[] = {"one", "one", "one/two/three", "one//two/./four/", "."};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(dir_make(good[i]), ERR_OK);
    assert_int_equal(stat("one/two/four", &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    put("file", "x");
    assert_int_equal(dir_make("file"), ERR_IO);
    assert_int_equal(dir_make("file/below"), ERR_IO);
    assert_int_equal(dir_make(""), ERR_USAGE);
    assert_int_equal(dir_make("/proc/nowhere/a"), ERR_IO);
}

static void test_space(void **state)
{
    (void)state;
    assert_int_equal(file_require_space("x", 0), ERR_OK);
    assert_int_equal(file_require_space("x", INT64_MAX), ERR_IO);
    assert_non_null(strstr(err_text(), "x: needs 8.0 EiB, and its disk has "));
    assert_int_equal(file_require_space("/tmp/x", INT64_MAX), ERR_IO);
    assert_non_null(strstr(err_text(), "left: free space, or"));
    assert_int_equal(file_require_space("/dev/null", INT64_MAX), ERR_OK);
    assert_int_equal(file_require_space("not/there/x", INT64_MAX), ERR_OK); /* opening it says so */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_content_appears_only_when_committed),
        cmocka_unit_test(two_writers_of_one_file_do_not_mix),
        cmocka_unit_test(a_new_file_goes_by_the_umask_and_a_replaced_one_keeps_its_mode),
        cmocka_unit_test(a_link_is_replaced_and_never_followed),
        cmocka_unit_test(unwritable_places_are_named),
        cmocka_unit_test(devices_are_written_directly),
        cmocka_unit_test(full_disk_leaves_the_old_file),
        cmocka_unit_test(a_signal_handler_can_remove_temporaries),
        cmocka_unit_test(reads_are_whole_and_limited),
        cmocka_unit_test(folders_are_made_with_their_parents),
        cmocka_unit_test(test_space),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
