/* Maps a large file again and again, privately, and writes to each page: each write is a page fault that copies the page. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "spin.h"
#include "truth.h"

enum { BYTES = 64 << 20, PAGE = 4096 };

static long mark(char *map)
{
    long sum = 0;
    truth_begin("mark");
    for (long at = 0; at < BYTES; at += PAGE) {
        map[at] += 1;   // truth: mark
        sum += map[at]; // truth: mark
    }
    truth_end("mark");
    return sum;
}

int main(void)
{
    int fd = open("scan.raw", O_CREAT | O_RDWR, 0600);
    double x = 1;
    long sum = 0;
    if (fd < 0 || ftruncate(fd, BYTES))
        return 1;
    for (int k = 0; k < 60; k++) {
        char *map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            return 1;
        sum += mark(map);
        munmap(map, BYTES);
        truth_begin("sum");
        SPIN(x, 40000L); // truth: sum
        truth_end("sum");
    }
    printf("%g %ld\n", x, sum);
    return close(fd);
}
