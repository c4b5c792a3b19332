/* Two threads ask a device through one connection: the lock is around the wait for its answer. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "truth.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double answers;
static int left = 60; /* of both threads: one that starves does not end alone */

static void answer_wait(void)
{
    struct timespec t = {0, 40000000};
    nanosleep(&t, NULL); /* truth: ask */
    answers++;
}

static void *client(void *x)
{
    for (int more = 1; more;) {
        truth_begin("ask");
        pthread_mutex_lock(&lock); /* truth: ask */
        answer_wait();             /* truth: ask */
        more = --left > 1;
        pthread_mutex_unlock(&lock);
        truth_end("ask");
        truth_begin("sum");
        for (volatile int k = 0; k < 1000000; k++) /* truth: sum */
            answers += 1e-9;                       /* truth: sum */
        truth_end("sum");
    }
    return x;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, client, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%g\n", answers);
    return 0;
}
