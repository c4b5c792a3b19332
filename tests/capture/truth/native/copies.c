/* Copies of 16 to 128 bytes, of 4 KB and of 1 MB through libc. */
#include "truth.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char from[2 << 20], to[2 << 20];

static void copies(char *out, const char *in, size_t bytes, size_t step, long n)
{
    for (long i = 0; i < n; i++)
        memcpy(out + (i & 63) * (long)step, in, bytes + (i & 7) * step);
}

int main(int argc, char **argv)
{
    (void)argv;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (char)i;
    truth_begin("small");
    copies(to, from, (size_t)argc * 16, 16, 300000000); /* inclusive: small */
    truth_end("small");
    truth_begin("page");
    copies(to, from, (size_t)argc * 4000, 64, 15000000); /* inclusive: page */
    truth_end("page");
    truth_begin("large");
    copies(to, from, (size_t)argc << 20, 64, 20000); /* inclusive: large */
    truth_end("large");
    printf("%d\n", to[4711]);
    return 0;
}
