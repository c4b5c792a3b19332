/* Closes every descriptor, forks twice, changes its folder and its environment, as a daemon does;
 * works; says so in a file. */
#define _GNU_SOURCE
#include "spin.h"
#include "truth.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    double x = 1;
    int gate[2], status = 0;
    char path[4096], end;
    if (!getcwd(path, sizeof path - 8) || pipe(gate))
        return 1;
    truth_begin("before");
    SPIN(x, 300000000); /* truth: before */
    truth_end("before");
    if (fork()) {
        close(gate[1]);
        while (read(gate[0], &end, 1) > 0) /* until the daemon has ended */
            ;
        wait(&status);
        return WEXITSTATUS(status);
    }
    setsid();
    if (fork())
        _exit(5);
    dup2(gate[1], 100);
    closefrom(101);
    for (int i = 0; i < 100; i++)
        close(i);
    if (chdir("/"))
        _exit(1);
    umask(0);
    truth_begin("daemon");
    SPIN(x, 400000000); /* truth: daemon */
    truth_end("daemon");
    FILE *f = fopen(strcat(path, "/result"), "w");
    if (f) {
        fprintf(f, "%.6f\n", x);
        fclose(f);
    }
    return 0;
}
