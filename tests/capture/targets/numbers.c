/* Watches the numbers of its descriptors while threads start, wait and end, memory is recorded, files are mapped and processes
 * made: each file that it opens must get the lowest number, and the folder of its descriptors may have no other below 200.
 * Prints how often it looked, and how often that was not so. With a second argument it closes all others first. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static volatile int over;
static int mapped; /* descriptor of a file */

static void *thread_waits(void *milliseconds)
{
    struct timespec t = {0, (long)milliseconds * 1000000};
    nanosleep(&t, NULL);
    return NULL;
}

static void *threads_come_and_go(void *unused)
{
    for (int i = 0; i < 60 && !over; i++) {
        pthread_t t[4];
        for (long k = 0; k < 4; k++)
            pthread_create(&t[k], NULL, thread_waits, (void *)(k * (i % 8 ? 1 : 60)));
        for (int k = 0; k < 4; k++)
            pthread_join(t[k], NULL);
    }
    return unused;
}

static void *memory_comes_and_goes(void *unused)
{
    for (int i = 0; i < 4000 && !over; i++) {
        char *p = malloc(2 << 20), *q = mmap(NULL, 1 << 16, PROT_READ, MAP_SHARED, mapped, 0);
        if (p)
            p[i] = q != MAP_FAILED ? q[i] : 0;
        if (q != MAP_FAILED)
            munmap(q, 1 << 16);
        free(p);
    }
    return unused;
}

static void *processes_come_and_go(void *unused)
{
    char *words[] = {"true", NULL};
    for (int i = 0; i < 40 && !over; i++) {
        pid_t p = fork();
        if (!p)
            _exit(0);
        waitpid(p, NULL, 0);
        if (!posix_spawn(&p, "/bin/true", NULL, NULL, words, environ))
            waitpid(p, NULL, 0);
    }
    return unused;
}

/* Counts the numbers below 200 in the folder of the descriptors. */
static int numbers_listed(void)
{
    _Alignas(8) char room[4096];
    int n = 0, fd = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
    for (long got; (got = syscall(SYS_getdents64, fd, room, sizeof room)) > 0;)
        for (long at = 0; at < got;) {
            unsigned short bytes;
            memcpy(&bytes, room + at + 16, sizeof bytes);
            const char *name = room + at + 19;
            n += name[0] != '.' && atoi(name) < 200;
            at += bytes;
        }
    close(fd);
    return n;
}

int main(int argc, char **argv)
{
    void *(*const work[])(void *) = {threads_come_and_go, memory_comes_and_goes,
                                     processes_come_and_go};
    pthread_t t[3];
    long looks = 0, other = 0, listed = 0;
    for (int fd = 3; argc > 2 && fd < 4096; fd++)
        close(fd);
    mapped = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    const int lowest = open("/dev/null", O_RDONLY);
    close(lowest);
    const int there = numbers_listed();
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work[i], NULL);
    for (int ended = 0; ended < 3;) {
        for (int k = 0; k < 200; k++, looks++) {
            const int a = open("/dev/null", O_RDONLY), b = dup(a);
            other += a != lowest || b != lowest + 1;
            close(b);
            close(a);
        }
        listed += numbers_listed() != there;
        while (ended < 3 && !pthread_tryjoin_np(t[ended], NULL))
            ended++;
    }
    printf("{\"looks\": %ld, \"other\": %ld, \"listed\": %ld}\n", looks, other, listed);
    return 0;
}
