/* Four threads meet at a barrier; one of them has most of the work. A condition ends the last. */
#include <pthread.h>
#include <stdio.h>

#include "spin.h"
#include "truth.h"

static pthread_barrier_t barrier;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t over = PTHREAD_COND_INITIALIZER;
static int ended;
static double sums[4];

static void *run(void *arg)
{
    double *x = arg;
    for (int round = 0; round < 10; round++) {
        truth_begin("work");
        SPIN(*x, x == sums ? 60000000L : 4000000L); // truth: work
        truth_end("work");
        truth_begin("barrier");
        pthread_barrier_wait(&barrier); // truth: barrier
        truth_end("barrier");
    }
    pthread_mutex_lock(&lock);
    ended++;
    pthread_cond_signal(&over);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run, &sums[i]);
    pthread_mutex_lock(&lock);
    while (ended < 4)
        pthread_cond_wait(&over, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%g\n", sums[0]);
    return 0;
}
