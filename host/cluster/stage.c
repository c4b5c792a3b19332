/* Copies of what lies on a device: MPI is given host memory alone. */
#include "host/cluster/stage.h"
#include "host/base/memory.h"

enum err stage_take(struct backend *be, const struct buffer *b, float **out)
{
    void *copy;
    *out = b->ptr;
    if (b->place == PLACE_HOST)
        return ERR_OK;
    TRY(mem_alloc("a host copy for other ranks", b->bytes, &copy));
    const enum err e = be->ops->download(be, b, copy, b->bytes);
    *out = e ? NULL : copy;
    if (e)
        mem_free(copy);
    return e;
}

void stage_drop(const struct buffer *b, float *host)
{
    if (b->place != PLACE_HOST)
        mem_free(host);
}

enum err stage_give(struct backend *be, float *host, struct buffer *b)
{
    struct buffer there;
    if (b->place == PLACE_HOST)
        return ERR_OK;
    enum err e = be->ops->upload(be, host, b->bytes, &there);
    mem_free(host);
    TRY(e);
    e = be->ops->copy(be, &there, b);
    be->ops->release(be, &there);
    return e;
}
