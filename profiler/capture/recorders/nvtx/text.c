/* NVTX's texts and what its handles stand for. */
#include <string.h>

#include "profiler/capture/recorders/nvtx/nvtx.h"

/* Handles of the earlier tool, and synchronisation objects: which texts they stand for. */
enum { HANDLES = 16384, PROBES = 64 };
static struct nvtx_handle handles[HANDLES];

static struct nvtx_handle *handle_find(const void *handle, int add)
{
    size_t at = (uintptr_t)handle * 0x9e3779b97f4a7c15u >> 50;
    for (int i = 0; i < PROBES; i++) {
        struct nvtx_handle *h = &handles[(at + (size_t)i) % HANDLES];
        const void *none = NULL, *seen = __atomic_load_n(&h->handle, __ATOMIC_ACQUIRE);
        if (seen == handle)
            return h;
        if (seen)
            continue;
        if (!add)
            return NULL;
        if (__atomic_compare_exchange_n(&h->handle, &none, handle, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE) ||
            none == handle)
            return h;
    }
    if (add)
        trace_lost(&capture.writer, TRACE_LOST_STRINGS, 1);
    return NULL;
}

const void *nvtx_keep(const void *handle, uint64_t text, uint64_t domain)
{
    struct nvtx_handle *h = handle ? handle_find(handle, 1) : NULL;
    if (h) {
        h->text = text;
        h->domain = domain;
    }
    return handle;
}

struct nvtx_handle *nvtx_handle(const void *handle)
{
    return handle ? handle_find(handle, 0) : NULL;
}

uint64_t nvtx_text_of(const void *handle)
{
    struct nvtx_handle *h = nvtx_handle(handle);
    return h ? h->text : (uint64_t)(uintptr_t)handle;
}

uint64_t nvtx_ascii(struct capture_thread *t, const char *s)
{
    return s ? capture_text(t, s, strlen(s)) : 0;
}

/* UTF-32 to UTF-8, at most 4 KiB; no locale is asked. */
uint64_t nvtx_wide(struct capture_thread *t, const wchar_t *s)
{
    enum { ROOM = 4096 };
    char *text = t->scratch;
    size_t n = 0;
    if (!s)
        return 0;
    for (; *s && n + 4 <= ROOM; s++) {
        uint32_t c = (uint32_t)*s;
        if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
            c = 0xfffd;
        if (c < 0x80) {
            text[n++] = (char)c;
            continue;
        }
        int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        text[n++] = (char)((0xff00 >> (more + 1) & 0xff) | c >> 6 * more);
        while (more--)
            text[n++] = (char)(0x80 | (c >> 6 * more & 0x3f));
    }
    if (*s)
        trace_lost(&capture.writer, TRACE_LOST_STRINGS, 1);
    return capture_text(t, text, n);
}

uint64_t nvtx_message_text(struct capture_thread *t, int type, union nvtx_message m)
{
    switch (type) {
    case NVTX_ASCII:
        return nvtx_ascii(t, m.ascii);
    case NVTX_UNICODE:
        return nvtx_wide(t, m.wide);
    case NVTX_REGISTERED:
        return nvtx_text_of(m.handle);
    default:
        return 0;
    }
}
