/* A buffer on a socket. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/jail/wire.h"

/* Without SIGPIPE in the process that reads: the child may have ended. */
static ssize_t wire_send(const struct store_wire *w, const void *bytes, size_t n)
{
    return w->jailed ? write(w->fd, bytes, n) : send(w->fd, bytes, n, MSG_NOSIGNAL);
}

int wire_flush(struct store_wire *w)
{
    for (size_t done = 0; done < w->used && !w->broken;) {
        const ssize_t n = wire_send(w, w->data + done, w->used - done);
        w->broken |= n == 0 || (n < 0 && errno != EINTR);
        done += n > 0 ? (size_t)n : 0;
    }
    w->used = 0;
    return !w->broken;
}

static void wire_fill(struct store_wire *w)
{
    ssize_t n;
    do
        n = read(w->fd, w->data, sizeof w->data);
    while (n < 0 && errno == EINTR);
    w->at = 0;
    w->used = n > 0 ? (size_t)n : 0;
    w->broken |= n <= 0;
}

void wire_bytes(struct store_wire *w, void *bytes, size_t n)
{
    for (size_t done = 0, part; done < n && !w->broken; done += part) {
        if (w->writes && w->used == sizeof w->data)
            wire_flush(w);
        if (!w->writes && w->at == w->used)
            wire_fill(w);
        const size_t room = w->writes ? sizeof w->data - w->used : w->used - w->at;
        part = room < n - done ? room : n - done;
        if (w->writes)
            memcpy(w->data + w->used, (const char *)bytes + done, part);
        else
            memcpy((char *)bytes + done, w->data + w->at, part);
        *(w->writes ? &w->used : &w->at) += part;
    }
    if (w->broken && !w->writes)
        memset(bytes, 0, n);
}

void wire_number(struct store_wire *w, int64_t *v)
{
    wire_bytes(w, v, sizeof *v);
}

void wire_real(struct store_wire *w, double *v)
{
    wire_bytes(w, v, sizeof *v);
}

void wire_int(struct store_wire *w, int *v)
{
    wire_bytes(w, v, sizeof *v);
}

void wire_text(struct store_wire *w, const char **text)
{
    char copy[WIRE_TEXT];
    int n = w->writes && *text ? (int)strnlen(*text, sizeof copy - 1) : -1;
    wire_int(w, &n);
    if (w->writes) {
        if (n > 0)
            wire_bytes(w, (void *)(uintptr_t)*text, (size_t)n);
        return;
    }
    *text = NULL;
    w->broken |= n < -1 || n >= WIRE_TEXT;
    if (w->broken || n < 0)
        return;
    wire_bytes(w, copy, (size_t)n);
    *text = arena_text_n(w->arena, copy, (size_t)n);
    w->broken |= !*text;
}
