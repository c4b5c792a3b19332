/* A program of one thread. "flag" prints glibc's word for that at each step: it must be what it is
 * in a bare run. "heap" has an allocator of its own, which no thread but the program's may call.
 * "place" tells where its first blocks lie. "images" loads two files in turn, each often at the place
 * of the other, and closes them as programs do and by the C library's own function, which has no
 * hook. As a library, it is the allocator of a program of another's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <iconv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char __libc_single_threaded; /* a copy of the program's own, where the linker makes one */
static char *of_libc;
static __thread int known;
static __thread void *volatile keep; /* or the compiler leaves both calls out */

#ifdef OWN_HEAP
static _Alignas(64) char room[96 << 20];
static size_t used;

static int is_strange(void)
{
    return !known && syscall(SYS_gettid) != getpid();
}

static void *take(size_t bytes, size_t align)
{
    if (is_strange()) {
        static const char text[] = "a thread that the program did not make asks for memory\n";
        (void)!write(2, text, sizeof text - 1);
        abort();
    }
    align = align < 16 ? 16 : align;
    size_t at = __atomic_load_n(&used, __ATOMIC_RELAXED), from;
    do
        from = (at + sizeof(size_t) + align - 1) / align * align;
    while (!__atomic_compare_exchange_n(&used, &at, from + bytes, 0, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    if (from + bytes > sizeof room)
        abort();
    memcpy(room + from - sizeof bytes, &bytes, sizeof bytes);
    return room + from;
}

void *malloc(size_t bytes)
{
    return take(bytes, 16);
}

void *calloc(size_t n, size_t bytes)
{
    return take(n * bytes, 16);
}

void *realloc(void *p, size_t bytes)
{
    void *to = take(bytes, 16);
    size_t old = 0;
    if (p)
        memcpy(&old, (char *)p - sizeof old, sizeof old);
    return memcpy(to, p ? p : to, old < bytes ? old : bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return take(bytes, align);
}

void *memalign(size_t align, size_t bytes)
{
    return take(bytes, align);
}

int posix_memalign(void **p, size_t align, size_t bytes)
{
    *p = take(bytes, align);
    return 0;
}

void free(void *p)
{
    if (p && is_strange())
        abort();
}
#endif

static void say(const char *step)
{
    printf("%s: %d %d\n", step, __libc_single_threaded, of_libc ? *of_libc : -1);
    fflush(stdout);
}

/* On stderr: the kernel's number of them, the library's own among them. */
static void count(void)
{
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "Threads:", 8))
            fputs(line, stderr);
    if (f)
        fclose(f);
}

static void storm(double seconds)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do {
        for (int i = 0; i < 100; i++) {
            keep = malloc(16 + (size_t)i);
            free(keep);
        }
        clock_gettime(CLOCK_MONOTONIC, &b);
#ifdef OWN_HEAP
        usleep(200);
#endif
    } while ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec) < seconds);
}

static void child(const char *step)
{
    pid_t pid = fork();
    int status = 1;
    if (!pid) {
        storm(0.15); /* the library's thread comes back with an allocation */
        say(step);
        _exit(3);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        exit(1);
}

static void *thread(void *given)
{
    known = 1;
    storm(0.02);
    return given;
}

static void two(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&t[i], NULL, thread, NULL))
            exit(1);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
}

/* Returns the place of the first block, from the heap's end: as in a bare run. */
static int place(void)
{
    char *first = malloc(24), *second = malloc(24);
    printf("%td %td\n", (char *)sbrk(0) - first, (char *)sbrk(0) - second);
    return 0;
}

static int plugin_images(void *libc, char **path)
{
    int (*const close_it[2])(void *) = {dlclose, (int (*)(void *))dlsym(libc, "dlclose")};
    for (int round = 0; round < 40; round++) {
        void *image = dlopen(path[round & 1], RTLD_NOW);
        double (*work)(double) = image ? (double (*)(double))dlsym(image, "work") : NULL;
        if (!work)
            return 1;
        if (work(0.03) < 0)
            return 1;
        say(path[round & 1]);
        if (close_it[round >> 1 & 1](image))
            return 1;
        if (dlopen(path[2], RTLD_NOW)) /* it needs one that is missing: loaded, and dropped again */
            return 1;
    }
    return 0;
}

/* Opens and closes two in turn without a pause, so that they often change while they are read. */
static int plugin_changes(char **path)
{
    for (int round = 0; round < 20000; round++) {
        void *image = dlopen(path[round & 1], RTLD_NOW);
        if (!image || dlclose(image))
            return 1;
    }
    say("after changes");
    return 0;
}

#ifndef LIBRARY
int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "place"))
        return place();
    static const char *const libraries[] = {"libresolv.so.2", "libutil.so.1", "libanl.so.1"};
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    of_libc = libc ? dlsym(libc, "__libc_single_threaded") : NULL;
    say("first");
    if (argc > 4 && !strcmp(argv[1], "images"))
        return plugin_images(libc, argv + 2);
    if (argc > 3 && !strcmp(argv[1], "changes"))
        return plugin_changes(argv + 2);
    storm(0.3);
    say("after a storm");
    count();
    child("in a child");
    say("after a fork");
    if (argc > 1 && !strcmp(argv[1], "heap")) {
        if (seteuid(geteuid()) || setegid(getegid()))
            return 1;
        for (int i = 0; i < 60; i++) {
            void *l = dlopen(libraries[i % 3], RTLD_LAZY);
            storm(0.002);
            if (l)
                dlclose(l);
            iconv_t c = iconv_open("UTF-16", "LATIN1");
            if (c != (iconv_t)-1)
                iconv_close(c);
        }
        return 0;
    }
    two();
    say("after threads");
    child("in a child of many");
    return 0;
}
#endif
