/* small_stacks WHERE KIB WHAT: does WHAT on a stack of KIB KiB with a guard page below: that of a
 * coroutine, a thread, a process that shares this one's memory, or a handler of a signal. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static char folder[] = "/tmp/small-stacks-XXXXXX", path[4][sizeof folder + 8];
static const char *const what_of[] = {"files", "stdio", "memory", "maps", "locks",
                                      "turn",  "fork",  "exec",   NULL};
static int what, failed;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *volatile keep;

static void must(int good)
{
    failed |= !good;
}

static void files(void)
{
    static char text[64];
    for (int i = 0; i < 40; i++) {
        int f = open(path[i % 4], O_RDWR);
        must(f >= 0 && read(f, text, 8) == 8 && pwrite(f, text, 8, 8) == 8);
        must(lseek(f, 0, SEEK_SET) == 0 && close(f) == 0);
    }
    int two[2];
    must(pipe(two) == 0 && write(two[1], text, 4) == 4 && read(two[0], text, 4) == 4);
    must(close(two[0]) == 0 && close(two[1]) == 0);
}

static void stdio(void)
{
    static char text[64];
    for (int i = 0; i < 12; i++) {
        FILE *f = fopen(path[i % 4], "r");
        must(f && fread(text, 1, 8, f) == 8 && fclose(f) == 0);
    }
}

static void memory(void)
{
    for (int i = 0; i < 200; i++) {
        keep = malloc(3 << 20);
        keep = realloc(keep, 5 << 20);
        must(keep != NULL);
        memset(keep, 1, 64);
        free(keep);
    }
}

static void maps(void)
{
    for (int i = 0; i < 8; i++) {
        int f = open(path[i % 4], O_RDONLY);
        char *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, f, 0);
        must(p != MAP_FAILED && *p == 'x' && munmap(p, 4096) == 0 && close(f) == 0);
    }
}

static void locks(void)
{
    for (int i = 0; i < 1000; i++)
        must(pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0);
}

/* For 0.3 s of CPU time: the sampler's signals come here. */
static void turn(void)
{
    struct timespec t;
    volatile double sum = 0;
    do {
        for (int i = 1; i < 10000; i++)
            sum = sum + 1.0 / i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (!t.tv_sec && t.tv_nsec < 300000000);
}

static void end_of(pid_t child, int code)
{
    int status = 0;
    must(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == code);
}

static void make_fork(void)
{
    pid_t child = fork();
    if (!child) {
        files();
        _exit(failed ? 1 : 7);
    }
    end_of(child, 7);
}

static void exec(void)
{
    char *const words[] = {(char *)"true", NULL};
    pid_t child = vfork();
    if (!child) {
        execvp("true", words);
        _exit(9);
    }
    end_of(child, 0);
}

static void work(void)
{
    static void (*const all[])(void) = {files, stdio, memory, maps, locks, turn, make_fork, exec};
    all[what]();
}

static char *stack_of(size_t bytes)
{
    char *p = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p, 4096, PROT_NONE))
        exit(3);
    return p + 4096;
}

static void on_fiber(size_t bytes)
{
    static ucontext_t here, fiber;
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = stack_of(bytes);
    fiber.uc_stack.ss_size = bytes;
    fiber.uc_link = &here;
    makecontext(&fiber, work, 0);
    must(swapcontext(&here, &fiber) == 0);
}

static void *thread(void *unused)
{
    work();
    return unused;
}

static void on_thread(size_t bytes)
{
    pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, bytes) || pthread_create(&t, &attr, thread, NULL))
        exit(3);
    pthread_join(t, NULL);
}

static int process(void *unused)
{
    (void)unused;
    work();
    return failed;
}

static void on_clone(size_t bytes)
{
    end_of(clone(process, stack_of(bytes) + bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL), 0);
}

static void handler(int number)
{
    (void)number;
    work();
}

/* KIB behind what the kernel itself needs. */
static void on_handler(size_t bytes)
{
    bytes += ((size_t)sysconf(_SC_MINSIGSTKSZ) + 4095) & ~(size_t)4095;
    stack_t s = {.ss_sp = stack_of(bytes), .ss_size = bytes}, now;
    struct sigaction act = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    must(sigaltstack(NULL, &now) == 0 && now.ss_flags == SS_DISABLE);
    must(sigaltstack(&s, NULL) == 0 && sigaction(SIGUSR1, &act, NULL) == 0 && raise(SIGUSR1) == 0);
    must(sigaltstack(NULL, &now) == 0 && now.ss_sp == s.ss_sp && now.ss_size == bytes);
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*run)(size_t);
    } where[] = {
        {"fiber", on_fiber}, {"thread", on_thread}, {"clone", on_clone}, {"handler", on_handler}};
    size_t bytes = count == 4 ? strtoul(words[2], NULL, 10) * 1024 : 0;
    while (count == 4 && what_of[what] && strcmp(what_of[what], words[3]))
        what++;
    if (!bytes || !what_of[what] || !mkdtemp(folder))
        return 3;
    for (int i = 0; i < 4; i++) {
        snprintf(path[i], sizeof *path, "%s/%d", folder, i);
        int f = open(path[i], O_WRONLY | O_CREAT, 0600);
        if (f < 0 || write(f, "xxxxxxxx", 8) != 8 || close(f))
            return 3;
    }
    for (size_t i = 0; i < sizeof where / sizeof *where; i++)
        if (!strcmp(where[i].name, words[1]))
            where[i].run(bytes);
    for (int i = 0; i < 4; i++)
        unlink(path[i]);
    rmdir(folder);
    puts(failed ? "failed" : "done");
    return failed;
}
