"""Calls that sleep, of programs with timers that come again and again: none ends early or moves less because samples are taken between the ticks."""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from recorded import command, compiled, main, need_library, run

SOURCE = """#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static volatile double sink;
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}
static void burn(double seconds)
{
    double end = now() + seconds;
    while (now() < end)
        for (int i = 0; i < 1000; i++) sink = sink + 1.0 / (i + 1);
}
static int in[2], out[2], pair[2], full[2], queue, sems, listener;
static volatile int stop;
static char large[1 << 18], drained[1 << 18];
static struct sockaddr_in address;
static void *feed(void *unused)
{ /* what the sleepers wait for; the timer's signals come to this thread */
    struct { long type; char text[1]; } m = {1, "m"};
    struct sembuf up = {0, 1, 0};
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    for (int round = 0; !stop; round++) {
        struct timespec t = {0, 4000000};
        nanosleep(&t, NULL);
        if (write(in[1], "x", 1) < 0 && errno != EAGAIN) return NULL;
        if (read(out[0], drained, 20000) < 0 && errno != EAGAIN) return NULL;
        if (read(full[0], drained, 20000) < 0 && errno != EAGAIN) return NULL;
        if (send(pair[1], "abcd", 4, MSG_DONTWAIT) < 0 && errno != EAGAIN) return NULL;
        msgsnd(queue, &m, 1, IPC_NOWAIT);
        if (semctl(sems, 0, GETVAL) < 1) semop(sems, &up, 1);
        int c = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(c, (struct sockaddr *)&address, sizeof address);
        close(c);
    }
    return unused;
}
static void tick(int n) { (void)n; }
int main(void)
{
    struct sigaction act = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 20000}, {0, 20000}};
    sigset_t alarm;
    pthread_t feeder;
    sem_t never;
    int futex = 0;
    socklen_t length = sizeof address;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    sigaction(SIGALRM, &act, NULL);
    sem_init(&never, 0, 0);
    queue = msgget(IPC_PRIVATE, 0600);
    sems = semget(IPC_PRIVATE, 2, 0600);
    listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (pipe2(in, 0) || pipe2(out, 0) || pipe2(full, 0) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || queue < 0 || sems < 0 ||
        bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 512) || getsockname(listener, (struct sockaddr *)&address, &length))
        return 1;
    int set = epoll_create1(0);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(full[0], F_SETFL, O_NONBLOCK);
    pthread_create(&feeder, NULL, feed, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    static const char *names[] = {"nanosleep", "clock_nanosleep", "poll", "epoll_wait", "select", "sem_timedwait", "read", "write", "recv all", "msgrcv", "semop",
                                  "semtimedop", "accept", "nanosleep by syscall", "poll by syscall", "futex by syscall", "write by syscall", "pselect", "ppoll"};
    int wrong[19] = {0}, error[19] = {0};
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 19; i++) {
            struct timespec t = {0, 8000000}, at;
            struct timeval v = {0, 8000};
            struct epoll_event event;
            struct { long type; char text[8]; } m;
            struct sembuf down = {0, -1, 0}, unlikely = {1, -1, 0};
            char b[64];
            long r = 0, want = 0;
            burn(0.0015 * (1 + round % 4));
            clock_gettime(CLOCK_REALTIME, &at);
            at.tv_nsec += 8000000;
            if (at.tv_nsec >= 1000000000) at.tv_nsec -= 1000000000, at.tv_sec++;
            errno = 0;
            switch (i) {
            case 0: r = nanosleep(&t, NULL); break;
            case 1: r = clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL); break;
            case 2: r = poll(NULL, 0, 8); break;
            case 3: r = epoll_wait(set, &event, 1, 8); break;
            case 4: r = select(0, NULL, NULL, NULL, &v); break;
            case 5: r = sem_timedwait(&never, &at); want = errno == ETIMEDOUT ? -1 : 0; break;
            case 6: r = read(in[0], b, 1); want = 1; break;
            case 7: r = write(out[1], large, 100000); want = 100000; break;
            case 8: r = recv(pair[0], b, 8, MSG_WAITALL); want = 8; break;
            case 9: r = msgrcv(queue, &m, 8, 0, 0); want = 1; break;
            case 10: r = semop(sems, &down, 1); break;
            case 11: r = semtimedop(sems, &unlikely, 1, &t); want = errno == EAGAIN ? -1 : 0; break;
            case 12: r = accept(listener, NULL, NULL); want = r; if (r >= 0) close((int)r); else want = 0; break;
            case 13: r = syscall(SYS_nanosleep, &t, NULL); break;
            case 14: r = syscall(SYS_poll, NULL, 0L, 8L); break;
            case 15: r = syscall(SYS_futex, &futex, FUTEX_WAIT, 0, &t, NULL, 0); want = errno == ETIMEDOUT ? -1 : 0; break;
            case 16: r = syscall(SYS_write, full[1], large, 100000L); want = 100000; break;
            case 17: r = pselect(0, NULL, NULL, NULL, &t, NULL); break;
            case 18: r = ppoll(NULL, 0, &t, NULL); break;
            }
            if (r != want) wrong[i]++, error[i] = errno;
        }
    stop = 1;
    printf("{");
    for (int i = 0; i < 19; i++) printf("%s\\"%s\\": [%d, \\"%s\\"]", i ? ", " : "", names[i], wrong[i], wrong[i] ? strerror(error[i]) : "");
    printf("}\\n");
    msgctl(queue, IPC_RMID, NULL);
    semctl(sems, 0, IPC_RMID);
    return 0;
}
"""


def sleeps(check, folder):
    program = compiled(folder, "sleeps", SOURCE, "-O1", "-pthread", "-DROUNDS=12")
    for words in ([program], command(folder / "runs", "--rate", "400", "--", program)):
        done = run(words)
        how = "recorded" if len(words) > 1 else "bare"
        check.must(done.returncode == 0, f"{how}: exit {done.returncode}: {done.stderr.decode()}")
        ended = {name: [count, error] for name, (count, error) in json.loads(done.stdout).items() if count}
        check.that(not ended, f"{how}: calls that ended early, and their last error: {ended}")


need_library()
main(sleeps)
