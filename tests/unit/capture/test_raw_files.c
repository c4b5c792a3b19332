/* links: tp_capture_stacks */
/* Files that are read again and again: open in a thread with descriptors of its own alone, always
 * as they are now, and found again after their descriptor has gone. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/capture/raw/system.h"
#include "tests/unit/check.h"

static char path[] = "/tmp/tomoprof-files-XXXXXX";

static void put(const char *text)
{
    int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void expect(int *fd, const char *text)
{
    char found[16] = "before";
    assert_int_equal(raw_read_again(fd, path, found, sizeof found), strlen(text));
    assert_string_equal(found, text);
}

static void nothing_is_kept_among_the_program_s_descriptors(void **state)
{
    (void)state;
    int fd = -1;
    put("one");
    expect(&fd, "one");
    put("seven");
    expect(&fd, "seven");
    assert_int_equal(fd, -1);
}

static void *on_a_thread_of_its_own(void *unused)
{
    int fd = -1, was;
    raw_files_unshare();
    put("one");
    expect(&fd, "one");
    assert_true((was = fd) >= 0);
    put("seven");
    expect(&fd, "seven");
    put("");
    expect(&fd, "");
    assert_int_equal(fd, was);
    put("two");
    close(fd); /* as the kernel does to a file of /proc whose thread has gone: an error */
    expect(&fd, "two");
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    expect(&fd, "");
    assert_int_equal(fd, -1);
    return unused;
}

static void a_kept_file_is_read_as_it_is_now(void **state)
{
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, on_a_thread_of_its_own, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(raw_files_are_unshared());
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_kept_among_the_program_s_descriptors),
        cmocka_unit_test(a_kept_file_is_read_as_it_is_now),
    };
    close(mkstemp(path));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
