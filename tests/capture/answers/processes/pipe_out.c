/* Reads what a command writes through popen. */
#include <stdio.h>
#include <stdlib.h>

#include "truth.h"

int main(void)
{
    char line[200];
    double sum = 0;
    truth_begin("make");
    FILE *f = fopen("numbers", "w");
    for (int i = 0; i < 250000; i++)
        fprintf(f, "%d %d\n", (int)((i * 7919LL) % 100003), i); /* truth: make */
    fclose(f);
    truth_end("make");
    truth_begin("compress");
    FILE *p = popen("gzip -9 -c numbers", "r");
    size_t n;
    while ((n = fread(line, 1, sizeof line, p)) > 0) /* truth: compress */
        sum += (double)n;
    pclose(p); /* truth: compress */
    truth_end("compress");
    printf("%g\n", sum);
    return 0;
}
