/* Reads boxes of the source in the order of the target: two slabs in turn, and a thread that fills one of
 * them. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/table.h"
#include "host/store/engine/engine.h"
#include "host/store/writer/slabs.h"

#define SUM_LANES 8
#define SUM_PRIME 0x9fb21c651e98df25ULL

/* Multiplies once for 8 bytes, in lanes that do not wait for each other: some 20 GB/s. The rotation
 * brings the highest bits back to where a product spreads them. */
uint64_t slabs_sum(const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t lane[SUM_LANES] = {1, 2, 3, 4, 5, 6, 7, 8}, word, sum = bytes;
    size_t at = 0;
    for (; at + sizeof lane <= bytes; at += sizeof lane)
        for (size_t i = 0; i < SUM_LANES; i++) {
            memcpy(&word, p + at + 8 * i, 8);
            word = (lane[i] ^ word) * SUM_PRIME;
            lane[i] = word << 29 | word >> 35;
        }
    for (size_t n; at < bytes; at += n) {
        n = bytes - at < 8 ? bytes - at : 8;
        word = 0;
        memcpy(&word, p + at, n);
        sum = table_mix(sum, word);
    }
    for (size_t i = 0; i < SUM_LANES; i++)
        sum = table_mix(sum, lane[i]);
    return sum;
}

/* float64 becomes float32 or stays: each goes to the front of what was read already. */
static void apply_scale(const struct store_array *a, struct store_dtype type, void *out, int64_t n)
{
    unsigned char *at = out;
    for (int64_t i = 0; i < n; i++) {
        double d;
        memcpy(&d, at + 8 * i, sizeof d);
        d = a->slope * d + a->intercept;
        const float f = (float)d;
        memcpy(at + type.bytes * i, type.bytes == 4 ? (const void *)&f : (const void *)&d,
               type.bytes);
    }
}

enum err writer_read_box(struct store *s, struct store_array *a, const struct writer *w,
                         const int *from, const struct engine_box *box,
                         const struct engine_options *o, void *out)
{
    struct engine_box b = engine_all(a);
    struct engine_plan *p;
    const int scale = w->scale && a == w->source;
    const struct store_dtype type = scale ? (struct store_dtype){'f', 8, 0} : w->type;
    int64_t stride[STORE_DIMS] = {0}, n = type.bytes;
    for (int k = w->dims - 1; k >= 0; k--) { /* from the fastest dimension of the target on */
        const int t = writer_slow(w, k), d = from[t];
        if (d < 0)
            continue;
        b.start[d] = box->start[t];
        b.count[d] = box->count[t];
        stride[d] = n;
        n *= b.count[d];
    }
    TRY(engine_plan(s, a, &b, o, &p));
    const enum err e = engine_run(p, type, out, stride, NULL, NULL);
    engine_plan_free(p);
    if (!e && scale)
        apply_scale(a, w->type, out, n / type.bytes);
    return e;
}

enum err writer_read(struct store *s, struct store_array *a, const struct writer *w,
                     const int *from, int64_t first, int64_t count, void *out)
{
    struct engine_box b = {{0}, {0}};
    memcpy(b.count, w->shape, sizeof b.count);
    if (w->dims) {
        b.start[writer_slow(w, 0)] = first;
        b.count[writer_slow(w, 0)] = count;
    }
    return writer_read_box(s, a, w, from, &b, NULL, out);
}

int64_t writer_slab_bytes(const struct writer *w)
{
    int64_t n = w->type.bytes;
    for (int i = 0; i < w->dims; i++)
        if (i != writer_slow(w, 0))
            n *= w->shape[i];
    return n;
}

static void slabs_read(struct writer_slabs *s)
{
    void *to = s->room[s->which];
    s->e = s->flat ? engine_read(s->store, s->array, NULL, s->target->type, to, NULL)
                   : writer_read(s->store, s->array, s->target, s->from, s->first, s->count, to);
    snprintf(s->text, sizeof s->text, "%s", s->e ? err_text() : "");
}

static void *slabs_thread(void *context)
{
    slabs_read(context);
    return NULL;
}

/* Begins with the slab at `first`; where no thread can be had it is read at once. */
static void slabs_start(struct writer_slabs *s, int64_t first)
{
    s->first = first;
    s->count = s->total - first < s->step ? s->total - first : s->step;
    s->e = ERR_OK;
    if (s->count <= 0)
        return;
    s->reads = !pthread_create(&s->thread, NULL, slabs_thread, s);
    if (!s->reads)
        slabs_read(s);
}

enum err slabs_begin(struct writer_slabs *s)
{
    const struct writer *w = s->target;
    const int64_t bytes = writer_slab_bytes(w);
    const size_t room = (size_t)(bytes / w->type.bytes * (w->scale ? 8 : w->type.bytes) * s->step);
    for (int i = 0; i < 2; i++)
        TRY(mem_alloc("a slab", room, &s->room[i]));
    slabs_start(s, 0);
    return ERR_OK;
}

enum err slabs_next(struct writer_slabs *s, int64_t *first, int64_t *count, void **data)
{
    if (s->reads)
        pthread_join(s->thread, NULL);
    s->reads = 0;
    if (s->e)
        return FAIL(s->e, "%s", s->text);
    *first = s->first;
    *count = s->count > 0 ? s->count : 0;
    *data = s->room[s->which];
    if (s->count > 0) {
        s->which = !s->which;
        slabs_start(s, s->first + s->count);
    }
    return ERR_OK;
}

void slabs_end(struct writer_slabs *s)
{
    if (s->reads)
        pthread_join(s->thread, NULL);
    mem_free(s->room[0]);
    mem_free(s->room[1]);
}
