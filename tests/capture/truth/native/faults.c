/* The kernel's work: page faults of a mapping, writes to a file and reads of it, a pipe to itself.
 */
#define _GNU_SOURCE
#include "truth.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    static char block[1 << 20];
    long sum = 0;
    int ends[2], f = open("data", O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (f < 0 || pipe(ends))
        return 1;
    for (int round = 0; round < 120; round++) {
        char *p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(p, 64 << 20, MADV_NOHUGEPAGE);
        truth_begin("touch");
        for (size_t i = 0; i < 64 << 20; i += 4096) /* truth: touch */
            p[i] = 1;                               /* truth: touch */
        truth_end("touch");
        truth_begin("unmap");
        munmap(p, 64 << 20); /* truth: unmap */
        truth_end("unmap");
        truth_begin("write");
        for (int i = 0; i < 24; i++)
            sum += pwrite(f, block, sizeof block, (off_t)i << 20); /* truth: write */
        truth_end("write");
        truth_begin("read");
        for (int i = 0; i < 48; i++)
            sum += pread(f, block, sizeof block, (off_t)(i % 24) << 20); /* truth: read */
        truth_end("read");
        truth_begin("pipe");
        for (int i = 0; i < 10000; i++)
            sum += write(ends[1], block, 64) + read(ends[0], block, 64); /* truth: pipe */
        truth_end("pipe");
    }
    printf("%ld\n", sum);
    return unlink("data");
}
