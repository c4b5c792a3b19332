/* The witness: a process that waits for questions on one pipe and answers on another. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/record/witness.h"

#ifndef SYS_close_range
#define SYS_close_range 436 /* Linux 5.9 */
#endif

#define ANSWER_MS 1000 /* on a machine that has no time for it */

static struct {
    volatile pid_t pid;
    int ask, answer;
} witness = {.ask = -1, .answer = -1};

/* pkill and killall send one by one to processes of a name: this one must not have tomoprof's, or
 * what they send would look like a group's. */
static void rename_it(void)
{
    char text[4096];
    unsigned long begin = 0, end = 0;
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    text[n > 0 ? n : 0] = 0;
    char *at = strrchr(text, ')'); /* after it the fields from 3 on; 48 and 49 hold the arguments */
    for (int field = 2; at && field < 48; field++)
        at = strchr(at + 1, ' ');
    if (at && sscanf(at, "%lu %lu", &begin, &end) == 2 && begin && end > begin)
        memset((char *)begin, 0, end - begin); /* the environment lies behind it */
    prctl(PR_SET_NAME, "group-witness");
    if (fd >= 0)
        close(fd);
}

/* Kernels before 5.9 close one by one. */
static void close_from(unsigned first)
{
    struct rlimit most;
    if (!syscall(SYS_close_range, first, ~0u, 0u) || getrlimit(RLIMIT_NOFILE, &most))
        return;
    for (rlim_t number = first; number < most.rlim_cur && number < 1 << 20; number++)
        close((int)number);
}

static void stand_by(int questions, int answers, pid_t parent)
{
    sigset_t all, one;
    unsigned char number;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    rename_it();
    /* The program's pipes and files are not held open. */
    if (dup2(questions, 0) < 0 || dup2(answers, 1) < 0)
        _exit(1);
    close_from(2);
    while (read(0, &number, 1) == 1) {
        const struct timespec now = {0, 0};
        sigemptyset(&one);
        sigaddset(&one, number);
        char saw = sigtimedwait(&one, NULL, &now) == number;
        if (write(1, &saw, 1) != 1)
            break;
    }
    _exit(0);
}

void witness_begin(void)
{
    int questions[2], answers[2];
    if (pipe2(questions, O_CLOEXEC))
        return;
    if (pipe2(answers, O_CLOEXEC)) {
        close(questions[0]);
        close(questions[1]);
        return;
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        stand_by(questions[0], answers[1], parent);
    close(questions[0]);
    close(answers[1]);
    witness.ask = questions[1];
    witness.answer = answers[0];
    fcntl(witness.ask, F_SETFL, O_NONBLOCK);
    witness.pid = pid > 0 ? pid : 0;
}

int witness_saw(int number)
{
    struct pollfd ready = {witness.answer, POLLIN, 0};
    unsigned char question = (unsigned char)number;
    char saw = 0;
    if (!witness.pid)
        return 0;
    kill(witness.pid, SIGCONT); /* a group that was stopped: the witness with it */
    if (write(witness.ask, &question, 1) != 1)
        return 0;
    if (poll(&ready, 1, ANSWER_MS) == 1 && read(witness.answer, &saw, 1) == 1)
        return saw;
    witness.pid = 0; /* a late answer would be taken for that to the next question */
    return 0;
}

int witness_is_there(void)
{
    return witness.pid != 0;
}

void witness_end(void)
{
    if (witness.pid) {
        kill(witness.pid, SIGKILL);
        while (waitpid(witness.pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    close(witness.ask);
    close(witness.answer);
    witness.pid = 0;
    witness.ask = witness.answer = -1;
}
