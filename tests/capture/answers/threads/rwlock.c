/* Three readers behind a writer that keeps a read-write lock long; helpers take it. */
#include <pthread.h>

#include "spin.h"
#include "truth.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static double state;
static long taken;
static int stop;

__attribute__((noinline)) static void write_begin(void)
{
    pthread_rwlock_wrlock(&lock);
    taken++;
}

__attribute__((noinline)) static void read_begin(void)
{
    pthread_rwlock_rdlock(&lock);
    __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
}

static void *writer(void *arg)
{
    for (int i = 0; i < 60; i++) {
        truth_begin("update");
        write_begin();         // truth: update
        SPIN(state, 6000000L); // truth: update
        pthread_rwlock_unlock(&lock);
        truth_end("update");
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    return arg;
}

static void *reader(void *arg)
{
    double x = 0;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        read_begin();
        SPIN(x, 30000L);
        pthread_rwlock_unlock(&lock);
        SPIN(x, 300000L);
    }
    return x > 0 ? arg : NULL;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i ? reader : writer, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
