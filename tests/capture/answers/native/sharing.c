/* Two threads count in one cache line; a third loop works on its own. */
#include <pthread.h>
#include <stdio.h>

#include "spin.h"
#include "truth.h"

static struct {
    volatile long a, b;
} counts;

static void *count(void *arg)
{
    volatile long *n = arg;
    truth_begin("count");
    for (long i = 0; i < 1500000000L; i++) // truth: count
        *n += i & 1;                       // truth: count
    truth_end("count");
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, count, (void *)&counts.a);
    pthread_create(&threads[1], NULL, count, (void *)&counts.b);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    double x = 1;
    truth_begin("alone");
    SPIN(x, 50000000L); // truth: alone
    truth_end("alone");
    printf("%ld %g\n", counts.a + counts.b, x);
    return 0;
}
