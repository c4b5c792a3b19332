/* Six threads go through a gate, which an object with a scope opens and closes: a semaphore. */
#include <pthread.h>
#include <semaphore.h>

#include "spin.h"
#include "truth.h"

struct pass {
    sem_t *of;
};
static sem_t gate;
static double cache[64];

static void pass_end(struct pass *p)
{
    sem_post(p->of);
}

__attribute__((noinline)) static struct pass pass_begin(sem_t *s)
{
    while (sem_wait(s))
        ;
    return (struct pass){s};
}

__attribute__((noinline)) static double lookup(int k)
{
    __attribute__((cleanup(pass_end))) struct pass held = pass_begin(&gate); // truth: lookup
    SPIN(cache[k % 64], 1500000L);                                           // truth: lookup
    return cache[k % 64] + (held.of == NULL);
}

static void *worker(void *arg)
{
    double x = 0;
    for (int i = 0; i < 40; i++) {
        truth_begin("lookup");
        x += lookup(i); // truth: lookup
        truth_end("lookup");
        truth_begin("alone");
        SPIN(x, 100000L); // truth: alone
        truth_end("alone");
    }
    return x > 0 ? arg : NULL;
}

int main(void)
{
    pthread_t threads[6];
    sem_init(&gate, 0, 1);
    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
