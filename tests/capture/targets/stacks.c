/* Stacks must survive: a library that comes and goes, a child of fork, callbacks through libc, an
 * alternate signal stack, deep recursion, threads that work or wait. argv[1]: a library with
 * `double plug(double)`. No two threads touch the same data but `sink`, whose value nobody reads.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, noclone))

static volatile double sink;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* a busy machine makes it longer, not less */
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

KEEP static void spin(double seconds)
{
    for (double end = now() + seconds; now() < end;)
        for (int i = 0; i < 1000; i++)
            sink = sink * 0.5 + i;
}

static int compare(const void *a, const void *b)
{
    for (int i = 0; i < 50; i++)
        sink += i;
    return *(const int *)a - *(const int *)b;
}

KEEP static void sort_much(double seconds)
{
    int v[256];
    for (double end = now() + seconds; now() < end;) {
        for (int i = 0; i < 256; i++)
            v[i] = (int)((unsigned)i * 2654435761u >> 8);
        qsort(v, 256, sizeof *v, compare);
    }
}

KEEP static int recurse(int depth, double seconds)
{
    volatile int keep = depth;
    if (depth)
        keep += recurse(depth - 1, seconds);
    else
        spin(seconds);
    return keep;
}

static void on_alternate(int number)
{
    (void)number;
    spin(0.5); /* 50 ticks of a kernel with 100 a second */
    sink += 1; /* here and below: no tail call, which would leave no frame */
}

KEEP static void use_alternate(void)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
    struct sigaction action = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

KEEP static void plug_in(const char *path)
{
    for (int round = 0; round < 2; round++) {
        void *library = dlopen(path, RTLD_NOW);
        double (*plug)(double) = library ? (double (*)(double))dlsym(library, "plug") : NULL;
        if (!plug)
            exit(3);
        for (double end = now() + 0.4; now() < end;)
            sink += plug(1.5);
        dlclose(library);
        usleep(150000);
    }
}

static void *worker(void *unused)
{
    sort_much(0.4);
    return unused;
}

KEEP static void wait_here(void)
{
    usleep(1500000);
    sink += 1;
}

static void *waiter(void *unused)
{
    wait_here();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread[2];
    if (argc < 2)
        return 2;
    pthread_create(&thread[0], NULL, worker, NULL);
    pthread_create(&thread[1], NULL, waiter, NULL);
    recurse(40, 0.3);
    recurse(3000, 0.2);
    use_alternate();
    plug_in(argv[1]);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    pid_t child = fork();
    if (!child) {
        sort_much(0.4);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    puts("done");
    return 0;
}
