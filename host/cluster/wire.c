/* Exchanges one message out and one in, straight from where the back end computes or through host
 * memory. */
#include "host/cluster/ranks_backend.h"
#include "base/memory.h"

static int wire_is_staged(const struct wire *w)
{
    return w->out.place != PLACE_HOST && !cluster_reads_devices(w->c);
}

enum err wire_open(struct backend *be, struct cluster *c, const char *what, int64_t numbers,
                   struct wire *w)
{
    const size_t bytes = (size_t)(numbers + !numbers) * sizeof(float);
    void *p;
    *w = (struct wire){.be = be, .c = c};
    TRY(be->ops->alloc(be, what, bytes, &w->out));
    TRY(be->ops->alloc(be, what, bytes, &w->in));
    if (!wire_is_staged(w))
        return ERR_OK;
    TRY(mem_alloc(what, bytes, &p));
    w->host_out = p;
    TRY(mem_alloc(what, bytes, &p));
    w->host_in = p;
    return ERR_OK;
}

void wire_close(struct wire *w)
{
    if (!w->be)
        return;
    w->be->ops->release(w->be, &w->out);
    w->be->ops->release(w->be, &w->in);
    mem_free(w->host_out);
    mem_free(w->host_in);
}

static enum err exchange_staged(struct wire *w, int to, size_t out, int from, size_t in)
{
    const struct backend_ops *ops = w->be->ops;
    struct buffer there, part = w->in;
    if (out)
        TRY(ops->download(w->be, &w->out, w->host_out, out));
    TRY(cluster_exchange(w->c, to, w->host_out, out, from, w->host_in, in));
    w->c->staged_bytes += out + in;
    if (!in)
        return ERR_OK;
    part.bytes = in;
    TRY(ops->upload(w->be, w->host_in, in, &there));
    const enum err e = ops->copy(w->be, &there, &part);
    ops->release(w->be, &there);
    return e;
}

enum err wire_exchange(struct wire *w, int to, int64_t sent, int from, int64_t received)
{
    const size_t out = (size_t)sent * sizeof(float), in = (size_t)received * sizeof(float);
    const int whom = sent ? to : -1, of_whom = received ? from : -1;
    if (wire_is_staged(w))
        return exchange_staged(w, whom, out, of_whom, in);
    if (w->out.place != PLACE_HOST)
        w->c->device_bytes += out + in;
    TRY(w->be->ops->sync(w->be)); /* MPI does not wait for what the device still does */
    return cluster_exchange(w->c, whom, w->out.ptr, out, of_whom, w->in.ptr, in);
}
