/* Loading into pinned memory and on to the device, through the back end's interface. */
#include <stdlib.h>
#include <string.h>

#include "host/backend/registry.h"
#include "host/backend/streams.h"
#include "cli/storage/device.h"

#define PIECE ((size_t)16 << 20)

struct device {
    struct backend *be;
    struct buffer buffer;
};

static enum err device_pin(void *self, void *host, size_t bytes)
{
    struct backend *be = ((struct device *)self)->be;
    return be->ops->streams->pin(be, host, bytes);
}

static void device_unpin(void *self, void *host)
{
    struct backend *be = ((struct device *)self)->be;
    be->ops->streams->unpin(be, host);
}

static enum err device_reserve(void *self, size_t bytes)
{
    struct device *d = self;
    return d->be->ops->alloc(d->be, "array on the device", bytes, &d->buffer);
}

/* Pieces follow each other in one stream; they go on their way while the caller reads. */
static enum err device_send(void *self, const void *pinned, size_t at, size_t bytes)
{
    struct device *d = self;
    const struct backend_streams *s = d->be->ops->streams;
    for (const size_t end = at + bytes; at < end; at += PIECE)
        TRY(s->send(d->be, (const char *)pinned + at, end - at < PIECE ? end - at : PIECE,
                    &d->buffer, at));
    return ERR_OK;
}

static enum err device_sent(void *self)
{
    struct device *d = self;
    return d->be->ops->streams->finish(d->be);
}

/* Compares the bytes that came with those that were sent. */
static enum err device_check(void *self, const void *pinned, size_t bytes)
{
    struct device *d = self;
    enum err e = ERR_OK;
    unsigned char *back = malloc(PIECE);
    FAIL_IF(!back, ERR_MEMORY, "no memory left to compare what the device holds");
    for (size_t at = 0; at < bytes && !e; at += PIECE) {
        const size_t n = bytes - at < PIECE ? bytes - at : PIECE;
        const struct buffer part = {
            .place = d->buffer.place, .bytes = n, .ptr = (char *)d->buffer.ptr + at};
        e = d->be->ops->download(d->be, &part, back, n);
        if (!e && memcmp(back, (const char *)pinned + at, n) != 0)
            e = FAIL(ERR_INTERNAL, "the device holds other bytes than were sent, from %zu on", at);
    }
    free(back);
    return e;
}

enum err device_open(struct load_device *out)
{
    struct device *d = calloc(1, sizeof *d);
    FAIL_IF(!d, ERR_MEMORY, "no memory left to open the GPU");
    enum err e = backend_open("cuda", &(struct backend_options){0}, &d->be);
    if (e) {
        free(d);
        return err_prefix(e, "--to pinned and --to device need a GPU");
    }
    *out = (struct load_device){d,           device_pin,  device_unpin, device_reserve,
                                device_send, device_sent, device_check};
    return ERR_OK;
}

void device_close(struct load_device *out)
{
    struct device *d = out->self;
    if (!d)
        return;
    if (d->buffer.ptr)
        d->be->ops->release(d->be, &d->buffer);
    backend_close(d->be);
    free(d);
    *out = (struct load_device){0};
}
