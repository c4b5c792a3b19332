/* links: tp_base */
/* Child processes: programs and functions, what they answer, how they end. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "tests/unit/check.h"

#define LARGE (1 << 20) /* more than a pipe takes at once */

static volatile int stop;
static char folder[] = "/tmp/tomoprof-child-XXXXXX";

static void on_line(void *context, char *line)
{
    (void)context;
    stop = !strcmp(line, "written");
}

/* A shell in the folder, whose process is the child. */
static enum child_end shell(const char *script, double timeout_s, int *number)
{
    char text[400];
    snprintf(text, sizeof text, "cd %s || exit 1; %s", folder, script);
    const char *argv[] = {"/bin/sh", "-c", text, NULL};
    struct child_program p = {.argv = argv,
                              .log_fd = STDERR_FILENO,
                              .own_group = 1,
                              .timeout_s = timeout_s,
                              .folder = folder,
                              .stop = &stop,
                              .on_line = on_line};
    enum child_end end;
    stop = 0;
    assert_int_equal(child_run(&p, &end, number), ERR_OK);
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
    assert_int_equal(shell("touch done.png a.png.$$.0.tmp a.png.1.0.tmp; mkdir t.$$.tmp; "
                           "touch t.$$.tmp/x; echo written >&3; sleep 60",
                           60, &number),
                     CHILD_STOPPED);
    assert_int_equal(files(), 2); /* what was done, and what another process has begun */
    assert_int_equal(shell("touch b.$$.tmp; kill -9 $$", 60, &number), CHILD_SIGNALLED);
    assert_int_equal(number, 9);
    assert_int_equal(files(), 2);
    assert_int_equal(shell("touch c.$$.tmp; exit 3", 60, &number), CHILD_EXITED);
    assert_int_equal(number, 3);
    assert_int_equal(files(), 3); /* who ends by itself sees to its own */
    assert_int_equal(shell("test -e done.png && test -e a.png.1.0.tmp && rm -- *", 60, &number),
                     CHILD_EXITED);
    assert_int_equal(number, 0);
}

static void a_group_ends_at_the_time_limit(void **state)
{
    int number = 0;
    FILE *f;
    char path[64], line[32] = "";
    (void)state;
    assert_int_equal(shell("sleep 600 & echo $! >pid; wait", 0.3, &number), CHILD_TIMED_OUT);
    snprintf(path, sizeof path, "%s/pid", folder);
    assert_non_null(f = fopen(path, "r"));
    assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    const pid_t sleeper = (pid_t)atol(line);
    const int64_t start = clock_ns();
    assert_true(sleeper > 1);
    while (!kill(sleeper, 0) && clock_seconds_since(start) < 30) { /* until init has waited */
        snprintf(path, sizeof path, "/proc/%d/stat", (int)sleeper);
        if ((f = fopen(path, "r"))) {
            char name[32], process_state = 0;
            const int read = fscanf(f, "%*d %31s %c", name, &process_state);
            fclose(f);
            if (read == 2 && process_state == 'Z')
                break;
        }
        usleep(1000);
    }
    assert_true(clock_seconds_since(start) < 30);
}

static void a_program_prints_to_a_file(void **state)
{
    const char *const words[] = {"sh", "-c", "echo $WORD; read x || echo no input", NULL};
    char *environment[] = {"WORD=said", "PATH=/usr/bin:/bin", NULL};
    char text[32] = "";
    FILE *f = tmpfile();
    const struct child_program p = {
        .argv = words, .environment = environment, .output_fd = fileno(f)};
    enum child_end end;
    int number = -1;
    (void)state;
    assert_int_equal(child_run(&p, &end, &number), ERR_OK);
    assert_int_equal(end, CHILD_EXITED);
    assert_int_equal(number, 0);
    rewind(f);
    assert_int_equal(fread(text, 1, sizeof text - 1, f), strlen("said\nno input\n"));
    assert_string_equal(text, "said\nno input\n");
    fclose(f);
}

static void a_program_that_is_not_there(void **state)
{
    const char *const words[] = {"tomoprof-no-such-program", NULL};
    const char *const no_program[] = {"/etc/passwd", NULL};
    enum child_end end = CHILD_SIGNALLED;
    int number = 0;
    (void)state;
    assert_int_equal(child_run(&(struct child_program){.argv = words}, &end, &number), ERR_OK);
    assert_int_equal(end, CHILD_EXITED);
    assert_int_equal(number, 127);
    assert_int_equal(child_run(&(struct child_program){.argv = no_program}, &end, &number),
                     ERR_FAILED);
}

static int write_much(void *context, int fd)
{
    char *data = calloc(1, LARGE);
    memset(data, *(const char *)context, LARGE);
    return child_write(fd, data, LARGE) ? 5 : 6;
}

static void a_function_answers_with_more_than_a_pipe_takes(void **state)
{
    struct child c;
    char *data = calloc(1, LARGE + 1), letter = 'x';
    (void)state;
    assert_int_equal(child_fork(&c, write_much, &letter), ERR_OK);
    assert_int_equal(child_read(&c, data, LARGE + 1, NULL), LARGE);
    const int status = child_wait(&c);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    assert_true(data[0] == 'x' && data[LARGE - 1] == 'x' && !data[LARGE]);
    free(data);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
}

static void a_child_that_nobody_reads_ends(void **state)
{
    struct child c;
    char letter = 'x', data[10];
    (void)state;
    assert_int_equal(child_fork(&c, write_much, &letter), ERR_OK);
    assert_int_equal(child_read(&c, data, sizeof data, NULL), sizeof data);
    const int status = child_wait(&c);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

static int wait_for_ever(void *context, int fd)
{
    (void)context;
    child_write(fd, "begun", 5);
    while (pause())
        continue;
    return 0;
}

static void stop_ends_a_function(void **state)
{
    struct child c;
    char data[10];
    volatile int stopped = 0;
    (void)state;
    assert_int_equal(child_fork(&c, wait_for_ever, NULL), ERR_OK);
    assert_int_equal(child_read(&c, data, 5, &stopped), 5);
    stopped = 1;
    assert_int_equal(child_read(&c, data, sizeof data, &stopped), 0);
    const int status = child_wait(&c);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

static int in_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
    char path[64];
    (void)state;
    snprintf(path, sizeof path, "%s/pid", folder);
    unlink(path);
    return rmdir(folder);
}

/* Tells how many descriptors it has, then works for ever, or ends with its socket. */
static int help_for_ever(void *context, int fd)
{
    int open = -1; /* the folder's own */
    alarm(300);    /* where the test fails, nobody ends it */
    char answer;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));)
        open += e->d_name[0] != '.' && atoi(e->d_name) > 2;
    closedir(d);
    child_write(fd, &open, sizeof open);
    while (context)
        ;
    return read(fd, &answer, 1) == 1 && answer == 'x';
}

static void a_helper_keeps_no_descriptor_and_ends_with_its_life(void **state)
{
    static int for_ever = 1;
    struct child c;
    int pipes[2], open = 0;
    char byte;
    (void)state;
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(child_fork_both(&c, help_for_ever, &for_ever), ERR_OK);
    assert_int_equal(child_read(&c, &open, sizeof open, NULL), sizeof open);
    assert_int_equal(open, 2); /* its socket, and its life */
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &byte, 1), 0); /* nobody else has the other end */
    close(c.life);
    const int status = child_wait(&c);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGIO);
    close(pipes[0]);
}

static void a_helper_is_talked_to(void **state)
{
    struct child c;
    int open = 0;
    (void)state;
    assert_int_equal(child_fork_both(&c, help_for_ever, NULL), ERR_OK);
    assert_int_equal(child_read(&c, &open, sizeof open, NULL), sizeof open);
    assert_true(child_write(c.fd, "x", 1));
    assert_int_equal(WEXITSTATUS(child_wait(&c)), 1);
    close(c.life);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_killed_child_had_begun_is_removed),
        cmocka_unit_test(a_group_ends_at_the_time_limit),
        cmocka_unit_test(a_program_prints_to_a_file),
        cmocka_unit_test(a_program_that_is_not_there),
        cmocka_unit_test(a_function_answers_with_more_than_a_pipe_takes),
        cmocka_unit_test(a_child_that_nobody_reads_ends),
        cmocka_unit_test(stop_ends_a_function),
        cmocka_unit_test(a_helper_keeps_no_descriptor_and_ends_with_its_life),
        cmocka_unit_test(a_helper_is_talked_to),
    };
    return cmocka_run_group_tests(tests, in_folder, remove_folder);
}
