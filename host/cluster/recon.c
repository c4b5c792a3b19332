/* Slabs of slices over ranks. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/table.h"
#include "host/cluster/recon.h"
#include "host/scan/input.h"
#include "host/scan/slabs.h"

#define TOGETHER    16 /* slices that Fourier reconstruction computes side by side (scan/slabs.c) */
#define MOST_SLICES 256 /* of a slab: what a crash can cost */

/* As many slabs for every rank as memory and the size of what is kept ask for, of nearly equal
 * thickness. The memory of a machine is shared by its ranks. */
static enum err plan_slabs(const struct cluster *c, struct scan_context *s)
{
    const struct ct_model *m = &s->model;
    const int64_t size = c->place.size, length = m->volume.slices;
    const size_t here = (size_t)c->place.local_size;
    char share[32];
    size_t y, x;
    TRY(scan_recon_sizes(m, &y, &x));
    const size_t whole = scan_views_whole(s->request) ? 2 * y : 0; /* before and after a step */
    TRY(mem_require("whole views in each process of this machine", whole * here,
                    "start fewer, or on more machines"));
    snprintf(share, sizeof share, "%zu", mem_available() / here - whole);
    setenv("TOMOPROF_MEMORY", share, 1);
    TRY(scan_slabs_plan(s));
    const int64_t each = (length + size - 1) / size;
    const int64_t most = s->slabs.thickness < MOST_SLICES ? s->slabs.thickness : MOST_SLICES;
    const int64_t rounds = (each + most - 1) / most;
    const int64_t even = (length + size * rounds - 1) / (size * rounds);
    const int fourier = s->method == SCAN_FOURIER; /* bits depend on which are together */
    const int64_t thickness = fourier ? (even + TOGETHER - 1) / TOGETHER * TOGETHER : even;
    s->slabs = (struct slabs){length, thickness, (length + thickness - 1) / thickness};
    s->bytes = whole + (y + x) / (size_t)length * (size_t)thickness;
    return ERR_OK;
}

enum err cluster_recon_plan(struct cluster *c, struct scan_context *s)
{
    struct parts p;
    FAIL_IF(s->request->resume && s->method == SCAN_MBIR, ERR_USAGE,
            "`resume` is for fbp, fdk and fourier: the slices of mbir depend on each other");
    TRY(parts_of(s, &p));
    return s->method == SCAN_MBIR ? cluster_mbir_check(c, s) : plan_slabs(c, s);
}

static enum err add_slab(const struct scan_context *s, const struct parts *p, int64_t i)
{
    const struct slab slab = slab_at(&s->slabs, i, 0);
    float *x;
    TRY(scan_slab_volume(s, slab, &x));
    enum err e = parts_add(p, slab, x);
    mem_free(x);
    return e ? e : parts_mark(p, i);
}

/* The slabs that are not there yet, in turn: also after a restart with other ranks. */
static enum err own_slabs(struct cluster *c, const struct scan_context *s, const struct parts *p,
                          const char *there)
{
    const volatile int *stop = s->request->stop;
    int64_t turn = 0;
    for (int64_t i = 0; i < s->slabs.count; i++) {
        if (there[i] || turn++ % c->place.size != c->place.rank)
            continue;
        progress("slabs", (double)i, (double)s->slabs.count);
        TRY(add_slab(s, p, i));
        FAIL_IF(stop && *stop, ERR_INTERRUPTED,
                "interrupted: the same call with `resume` goes on with the slabs that are left");
    }
    return ERR_OK;
}

/* Read before anybody adds to them. */
static enum err slabs_there(struct cluster *c, const struct scan_context *s, const struct parts *p,
                            char **there)
{
    int64_t count = 0;
    *there = calloc((size_t)s->slabs.count + 1, 1);
    FAIL_IF(!*there, ERR_MEMORY, "no memory for a list of %" PRId64 " slabs", s->slabs.count);
    for (int64_t i = 0; i < s->slabs.count; i++)
        count += (*there)[i] = (char)parts_has(p, i);
    if (count)
        log_info("%" PRId64 " of %" PRId64 " slabs are there already", count, s->slabs.count);
    return cluster_barrier(c);
}

static enum err recon_direct(struct cluster *c, const struct scan_context *s, const struct parts *p,
                             int *silent)
{
    char *there = NULL;
    enum err e;
    TRY_OUT(cluster_agree(c, slabs_there(c, s, p, &there), silent));
    e = own_slabs(c, s, p, there);
    progress_end();
    e = cluster_agree(c, e, silent);
out:
    free(there);
    return e;
}

/* A rank that sees another scan would wait for messages of other sizes, or mix two volumes. */
static enum err recon_same_call(struct cluster *c, const struct scan_context *s, int *silent)
{
    const struct scan_request *r = s->request;
    const struct scan *scan = &s->model.scan;
    const struct volume *v = &s->model.volume;
    static const char *const weights[] = {"equal", "transmission", "metal"};
    char text[PARTS_TEXT + 1024];
    const size_t bytes = (size_t)scan->views * sizeof *scan->angles;
    const int n =
        snprintf(text, 1024,
                 "views %" PRId64 " x %" PRId64 " x %" PRId64 "\nvolume %" PRId64 " x %" PRId64
                 " x %" PRId64 " of %.9g\nmethod %s\nresume %d\n"
                 "weights %s\niterations %" PRId64 " to %.9g %%\nseed %" PRId64
                 "\nrotation centre %.9g\nangles %016" PRIx64 "\n",
                 scan->views, scan->rows, scan->channels, v->rows, v->cols, v->slices, v->delta,
                 scan_method_name(s->method), r->resume, weights[r->weights], r->iterations,
                 r->threshold_percent, r->seed, s->result->center, table_hash(scan->angles, bytes));
    parts_describe(s, text + n);
    return cluster_same(c, text, silent);
}

enum err cluster_recon_run(struct cluster *c, struct scan_context *s, int *silent)
{
    const int first = c->place.rank == 0;
    struct parts p;
    s->start = clock_ns();
    TRY(cluster_agree(c, scan_recon_prepare(s), silent));
    TRY(recon_same_call(c, s, silent));
    TRY(parts_of(s, &p));
    if (s->method == SCAN_MBIR) {
        TRY(cluster_mbir_run(c, s, &p, silent));
    } else {
        TRY(cluster_agree(c, first ? parts_begin(&p) : ERR_OK, silent));
        TRY(cluster_broadcast(c, &s->slabs, sizeof s->slabs, 0));
        TRY(recon_direct(c, s, &p, silent));
    }
    s->result->seconds = clock_seconds_since(s->start);
    return cluster_agree(c, first ? parts_finish(&p) : ERR_OK, silent);
}
