/* Four threads behind one mutex that a helper locks: the critical section is the cause. */
#include <pthread.h>

#include "spin.h"
#include "truth.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double shared_sum;

__attribute__((noinline)) static void lock_it(void)
{
    pthread_mutex_lock(&mutex);
}

__attribute__((noinline)) static void work(double *x, long n)
{
    SPIN(*x, n);
}

static void *worker(void *arg)
{
    double own = arg != NULL;
    for (int i = 0; i < 40; i++) {
        truth_begin("critical");
        lock_it();                   // truth: critical
        work(&shared_sum, 2500000L); // truth: critical
        pthread_mutex_unlock(&mutex);
        truth_end("critical");
        truth_begin("alone");
        work(&own, 250000L); // truth: alone
        truth_end("alone");
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
