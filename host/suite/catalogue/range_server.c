/* A small server of byte ranges: GET and HEAD of files, kept connections, a latency before each
 * answer. It answers this process alone: it listens on the loopback interface. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/suite/catalogue/storage.h"

#define HEAD_ROOM 8192

struct connection {
    const struct range_server *server;
    int fd;
};

static int send_all(int fd, const char *text, size_t n)
{
    while (n) {
        const ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return 0;
        text += sent;
        n -= (size_t)sent;
    }
    return 1;
}

/* The request's header, ended by a zero; 0: the client is gone. */
static int take_head(int fd, char head[HEAD_ROOM])
{
    size_t n = 0;
    head[0] = 0;
    while (!strstr(head, "\r\n\r\n")) {
        const ssize_t got = n + 1 < HEAD_ROOM ? recv(fd, head + n, HEAD_ROOM - 1 - n, 0) : 0;
        if (got <= 0)
            return 0;
        n += (size_t)got;
        head[n] = 0;
    }
    return 1;
}

static int answer_missing(int fd)
{
    static const char text[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    return send_all(fd, text, sizeof text - 1);
}

static int answer_file(int fd, int file, const char *head, int body)
{
    struct stat st;
    char text[256];
    long long first = 0, last;
    const char *range = strcasestr(head, "\r\nrange: bytes=");
    if (fstat(file, &st) || !S_ISREG(st.st_mode))
        return answer_missing(fd);
    last = (long long)st.st_size - 1;
    if (range && sscanf(range + 15, "%lld-%lld", &first, &last) >= 1 && last >= st.st_size)
        last = (long long)st.st_size - 1;
    const long long n = last - first + 1;
    int length = snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Length: %lld\r\n",
                          range ? "206 Partial Content" : "200 OK", n > 0 ? n : 0);
    if (range)
        length +=
            snprintf(text + length, sizeof text - (size_t)length,
                     "Content-Range: bytes %lld-%lld/%lld\r\n", first, last, (long long)st.st_size);
    length += snprintf(text + length, sizeof text - (size_t)length, "\r\n");
    int good = send_all(fd, text, (size_t)length);
    off_t at = (off_t)first;
    while (good && body && at <= last)
        good = sendfile(fd, file, &at, (size_t)(last + 1 - at)) > 0;
    return good;
}

static int answer(const struct connection *c, const char *head)
{
    char path[8192], name[2048];
    const int body = !strncmp(head, "GET ", 4);
    const struct timespec wait = {c->server->latency_ms / 1000,
                                  c->server->latency_ms % 1000 * 1000000L};
    nanosleep(&wait, NULL);
    if (sscanf(head, "%*s %2047s", name) != 1 || strstr(name, ".."))
        return 0;
    snprintf(path, sizeof path, "%s%s", c->server->folder, name);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return answer_missing(c->fd);
    const int good = answer_file(c->fd, file, head, body);
    close(file);
    return good;
}

static void *on_connection(void *data)
{
    struct connection c = *(struct connection *)data;
    char head[HEAD_ROOM];
    free(data);
    while (take_head(c.fd, head) && answer(&c, head))
        ;
    close(c.fd);
    return NULL;
}

static void *on_listen(void *data)
{
    struct range_server *s = data;
    for (int fd; (fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR;) {
        pthread_t thread;
        struct connection *c = fd >= 0 ? malloc(sizeof *c) : NULL;
        if (!c)
            continue;
        *c = (struct connection){s, fd};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        if (pthread_create(&thread, NULL, on_connection, c)) {
            close(fd);
            free(c);
        } else {
            pthread_detach(thread);
        }
    }
    return NULL;
}

enum err range_server_start(struct range_server *s, const char *folder, int latency_ms)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    pthread_t thread;
    snprintf(s->folder, sizeof s->folder, "%s", folder);
    s->latency_ms = latency_ms;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FAIL_IF(s->fd < 0 || bind(s->fd, (struct sockaddr *)&address, sizeof address) ||
                listen(s->fd, 64) || getsockname(s->fd, (struct sockaddr *)&address, &length) ||
                pthread_create(&thread, NULL, on_listen, s),
            ERR_FAILED, "a server for this operation cannot be started: %s", strerror(errno));
    s->thread = (unsigned long)thread;
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    return ERR_OK;
}

void range_server_stop(struct range_server *s)
{
    if (s->thread) {
        shutdown(s->fd, SHUT_RDWR); /* ends accept */
        pthread_join((pthread_t)s->thread, NULL);
        close(s->fd);
    }
    s->thread = 0;
}
