/* A program that closes each descriptor twice, as bash does: harmless where nobody else opens files
 * under low numbers. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static void *sleeps(void *unused)
{
    sleep(600);
    return unused;
}

int main(void)
{
    struct timespec t;
    pthread_t other;
    for (int i = 0; i < 40; i++) /* each of them is looked at */
        pthread_create(&other, NULL, sleeps, NULL);
    long wrong = 0;
    do {
        for (int i = 0; i < 1000; i++) {
            int p[2];
            char c = 0;
            if (pipe(p) || write(p[1], "x", 1) != 1)
                wrong++;
            close(p[1]);
            close(p[1]);
            if (read(p[0], &c, 1) != 1 || c != 'x')
                wrong++;
            close(p[0]);
            close(p[0]);
        }
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec < 1);
    printf("%ld\n", wrong);
    return 0;
}
