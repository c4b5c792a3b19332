/* Writes a record, waits until it is on the disk, and computes the next. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spin.h"
#include "truth.h"

static double checksum(double x)
{
    truth_begin("sum");
    SPIN(x, 40000L); // truth: sum
    truth_end("sum");
    return x;
}

static void store(int fd, const char *record, size_t n)
{
    truth_begin("store");
    if (write(fd, record, n) != (ssize_t)n) // truth: store
        perror("write");
    fsync(fd); // truth: store
    truth_end("store");
}

int main(void)
{
    static char record[65536];
    int fd = open("log", O_CREAT | O_WRONLY | O_APPEND, 0600);
    double x = 1;
    for (int k = 0; k < 900; k++) {
        x = checksum(x);
        memset(record, k, sizeof record);
        store(fd, record, sizeof record);
    }
    printf("%g\n", x);
    return close(fd);
}
