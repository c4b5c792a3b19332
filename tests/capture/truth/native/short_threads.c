/* 4,000 threads that live for half a millisecond each, and main's own work between them. */
#include "spin.h"
#include "truth.h"
#include <pthread.h>
#include <stdio.h>

static void *brief(void *out)
{
    double x = 1;
    truth_begin("brief");
    SPIN(x, 200000); /* truth: brief */
    truth_end("brief");
    *(double *)out = x;
    return NULL;
}

int main(void)
{
    double x = 1, y[4];
    for (int i = 0; i < 1000; i++) {
        pthread_t t[4];
        for (int k = 0; k < 4; k++)
            pthread_create(&t[k], NULL, brief, &y[k]);
        truth_begin("own");
        SPIN(x, 300000); /* truth: own */
        truth_end("own");
        for (int k = 0; k < 4; k++)
            pthread_join(t[k], NULL);
    }
    printf("%.6f %.6f\n", x, y[3]);
    return 0;
}
