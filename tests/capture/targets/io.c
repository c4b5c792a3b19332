/* Reads and writes of known size, number and place. Each way has its own file and its own line,
 * marked by a comment "@name", for test_io.py. argv[1]: a folder to work in. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, SIZE = 8 * MIB };
static char *room;
static volatile long sum;

static int with(const char *name, int flags)
{
    int fd = open(name, flags, 0600);
    if (fd < 0) {
        perror(name);
        exit(3);
    }
    return fd;
}

static void make(const char *name, size_t bytes)
{
    int fd = with(name, O_WRONLY | O_CREAT | O_TRUNC);
    for (size_t at = 0; at < bytes; at += MIB)
        if (write(fd, room, MIB) != MIB) /* @make */
            exit(4);
    close(fd);
}

static void *serve(void *given)
{
    int peer = accept(*(int *)given, NULL, NULL);
    char asked[100];
    for (int i = 0; i < 50 && recv(peer, asked, sizeof asked, MSG_WAITALL) == sizeof asked;
         i++) /* @served */
        for (size_t at = 0; at < 65536;) {
            ssize_t n = send(peer, room + at, 65536 - at, 0); /* @sent */
            if (n <= 0)
                exit(5);
            at += (size_t)n;
        }
    close(peer);
    return NULL;
}

static void sockets(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    pthread_t server;
    char ask[100] = "secret";
    int ear = socket(AF_INET, SOCK_STREAM, 0), s = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(ear, (void *)&a, n) || listen(ear, 1) || getsockname(ear, (void *)&a, &n))
        exit(6);
    printf("port %d\n", ntohs(a.sin_port));
    pthread_create(&server, NULL, serve, &ear);
    if (connect(s, (void *)&a, n)) /* @connect */
        exit(7);
    for (int i = 0; i < 50; i++) {
        if (send(s, ask, sizeof ask, 0) != sizeof ask || /* @ask */
            recv(s, room, 65536, MSG_WAITALL) != 65536)  /* @answer */
            exit(8);
    }
    close(s);
    pthread_join(server, NULL);
    close(ear);
}

static void streams(void)
{
    FILE *f = fopen("stdio", "r");
    for (int i = 0; i < 1000; i++)
        sum += (long)fread(room, 1, 1000, f); /* @fread */
    fclose(f);
    f = fopen("stdio_large", "r");
    for (int i = 0; i < 8; i++)
        sum += (long)fread(room, 1, MIB, f); /* @fread_large */
    fclose(f);
    f = fopen("getc", "r");
    for (int i = 0; i < MIB; i++)
        sum += getc_unlocked(f);
    fclose(f); /* @getc */
    f = fopen("lines", "r");
    while (fgets(room, 4096, f)) /* @fgets */
        sum++;
    fclose(f);
    f = fopen("fseek", "r");
    for (int i = 0; i < 100; i++) {
        fseek(f, (long)(i * 7919 % 2000) * 4096, SEEK_SET);
        sum += (long)fread(room, 1, 4096, f); /* @fseek */
    }
    fclose(f);
    f = fopen("tiles", "r");
    for (int i = 0; i < 20; i++) {
        fseek(f, (long)i * 400000 + 100, SEEK_SET);
        sum += (long)fread(room, 1, 300000, f); /* @tiles */
    }
    fclose(f);
    f = fopen("written", "w");
    for (int i = 0; i < 1000; i++)
        fwrite(room, 1, 3000, f); /* @fwrite */
    fprintf(f, "%0100d", 1);
    fclose(f);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {
        "sequential", "strided", "random", "again",  "vector", "mapped", "stdio",  "stdio_large",
        "getc",       "fseek",   "sent",   "copied", "shared", "child",  "direct", "tiles"};
    if (argc < 2 || chdir(argv[1]) || posix_memalign((void **)&room, 4096, SIZE))
        return 2;
    for (size_t i = 0; i < MIB; i++)
        room[i] = i % 80 == 79 ? '\n' : 'x';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        make(names[i], SIZE);
    make("lines", MIB);
    int fd = with("sequential", O_RDONLY), out;
    while (read(fd, room, 65536) > 0) /* @sequential */
        ;
    close(fd);
    fd = with("strided", O_RDONLY);
    for (int i = 0; i < 20; i++)
        sum += pread(fd, room, 1000, (off_t)i * 400000 + 5); /* @strided */
    close(fd);
    fd = with("random", O_RDONLY);
    for (unsigned i = 0, x = 1; i < 500; i++, x = x * 1664525 + 1013904223) {
        lseek(fd, (off_t)(x >> 21) * 4096, SEEK_SET); /* @seek */
        sum += read(fd, room, 4096);                  /* @random */
    }
    close(fd);
    for (int i = 0; i < 5; i++) {
        fd = with("again", O_RDONLY);
        sum += read(fd, room, 2 * MIB); /* @again */
        close(fd);
    }
    fd = with("vector", O_RDONLY);
    struct iovec v[2] = {{room, 1000}, {room + 4096, 3000}};
    for (int i = 0; i < 100; i++)
        sum += preadv(fd, v, 2, (off_t)i * 4000); /* @vector */
    close(fd);
    fd = with("mapped", O_RDONLY);
    char *at = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0); /* @mapped */
    close(fd);
    madvise(at, SIZE, MADV_RANDOM);
    for (size_t i = 0; i < SIZE / 2; i += 4096)
        sum += at[i];
    munmap(at, SIZE);
    fd = with("direct", O_RDONLY | O_DIRECT);
    for (int i = 0; i < 8; i++)
        sum += read(fd, room, MIB); /* @direct */
    close(fd);
    fd = with("sent", O_RDONLY);
    out = with("sent_to", O_WRONLY | O_CREAT);
    for (ssize_t n = SIZE; n > 0;)
        n -= sendfile(out, fd, NULL, (size_t)n); /* @sendfile */
    close(out);
    close(fd);
    fd = with("copied", O_RDONLY);
    out = with("copied_to", O_WRONLY | O_CREAT);
    for (ssize_t n = SIZE; n > 0;)
        n -= copy_file_range(fd, NULL, out, NULL, (size_t)n, 0); /* @copy */
    close(out);
    close(fd);
    fd = with("shared", O_RDONLY);
    out = dup(fd);
    for (int i = 0; i < 16; i++)
        sum += read(i % 2 ? fd : out, room, 65536); /* @shared */
    close(out);
    close(fd);
    streams();
    sockets();
    fd = with("missing_size", O_WRONLY | O_CREAT);
    sum += read(fd, room, 100); /* @refused */
    close(fd);
    fflush(stdout);
    fd = with("child", O_RDONLY);
    pid_t child = fork();
    if (!child) {
        for (int i = 0; i < 4; i++)
            sum += read(fd, room, MIB); /* @child */
        _exit(0);
    }
    waitpid(child, NULL, 0);
    sum += read(fd, room, MIB); /* @parent */
    close(fd);
    return sum == 1;
}
