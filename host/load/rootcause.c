/* The causes of a load as the model that rootcause.md is written from. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "host/load/load.h"
#include "base/rootcause/rootcause.h"

#define SEAMS_SHOW 1.5 /* times: noise alone gives 1.0 +- 0.1 in 100 tiles */

static enum err cause_evidence(struct rootcause *r, const struct load_cause *from,
                               struct rootcause_cause *c)
{
    char text[600] = "";
    for (int i = 0; i < from->evidence_count; i++) {
        const struct load_evidence *e = &from->evidence[i];
        text_append(text, sizeof text, "%s%s %.4g%s%s", i ? ", " : "", e->name, e->value,
                    *e->unit ? " " : "", e->unit);
    }
    c->evidence = arena_text(r->arena, text);
    FAIL_IF(!c->evidence, ERR_MEMORY, "no memory for the causes");
    return ERR_OK;
}

static enum err rootcause_add_causes(struct rootcause *r, const struct loading *l)
{
    for (int i = 0; i < l->causes_count; i++) {
        const struct load_cause *from = &l->causes[i];
        struct rootcause_cause *c = rootcause_cause(r);
        if (!c)
            break;
        c->rule = from->rule;
        c->statement = from->statement;
        c->refuted_by = from->refuted_by;
        c->test = from->test;
        c->gain_low_s = from->gain_low_s;
        c->gain_high_s = from->gain_high_s;
        TRY(cause_evidence(r, from, c));
        for (int k = 0; k < from->actions_count; k++)
            rootcause_action(r, c, from->actions[k], load_effort_days(from->actions[k]));
    }
    return ERR_OK;
}

static void rootcause_add_evidence(struct rootcause *r, const struct loading *l)
{
    const struct load_spread *s = &l->spread;
    for (int i = 0; i < l->phases_count; i++)
        if (l->phases[i].worker_s > 0)
            rootcause_number(r, l->phases[i].name, l->phases[i].worker_s, "s", "workers added");
    for (int i = 0; i < l->ratings_count; i++)
        rootcause_number(r, l->ratings[i].name, l->ratings[i].value, l->ratings[i].unit,
                         l->ratings[i].rating);
    rootcause_number(r, "reading", l->read_s, "s", "elapsed");
    rootcause_number(r, "CPU time of reading", l->read_cpu_s, "s", NULL);
    rootcause_number(r, "one chunk, p5", s->p5_s, "s", NULL);
    rootcause_number(r, "one chunk, median", s->p50_s, "s", NULL);
    rootcause_number(r, "one chunk, p95", s->p95_s, "s", NULL);
    rootcause_number(r, "bytes decoded over wanted", l->amplification, "", NULL);
    rootcause_number(r, "file in the page cache", 100 * l->file.cached_share, "%",
                     isfinite(l->file.cached_share) ? "before the first measurement"
                                                    : "the system does not tell");
    rootcause_number(r, "disk: requests while reading",
                     l->disk.requests == JSON_UNKNOWN ? (double)NAN : (double)l->disk.requests, "",
                     l->disk.reason ? l->disk.reason : l->disk.name);
}

/* Borders of tiles that show, and memory beyond twice the array, are what document 003 asks to look at. */
static enum err rootcause_add_limits(struct rootcause *r, const struct loading *l)
{
    char text[160], most[16], machine[16];
    int64_t peak = 0;
    for (int i = 0; i < l->sweep_count; i++)
        peak = l->sweep[i].peak_bytes > peak ? l->sweep[i].peak_bytes : peak;
    snprintf(text, sizeof text, "steps at borders of tiles are %.3g times those inside of them",
             l->file.seams);
    const char *seams = arena_text(r->arena, text);
    snprintf(text, sizeof text, "%s at most in the ways of the sweep; the machine has %s",
             mem_human((double)peak, most), mem_human((double)l->memory_bytes, machine));
    const char *memory = arena_text(r->arena, text);
    FAIL_IF(!seams || !memory, ERR_MEMORY, "no memory for the causes");
    if (isfinite(l->file.seams))
        rootcause_check(r, "seams", l->file.seams < SEAMS_SHOW ? "holds" : "fails", seams);
    rootcause_check(r, "memory",
                    !peak                       ? "unknown"
                    : peak <= 2 * l->file.bytes ? "holds"
                                                : "fails",
                    peak ? memory : "tomoprof load FILE --sweep quick measures it");
    return ERR_OK;
}

static enum err rootcause_add_checks(struct rootcause *r, const struct loading *l)
{
    char text[160];
    int whole = l->chunks_read == l->file.chunks;
    snprintf(text, sizeof text, "%lld of %lld chunks were read", (long long)l->chunks_read,
             (long long)l->file.chunks);
    const char *coverage = arena_text(r->arena, text);
    *text = 0;
    for (int i = 0; i < l->file.shape_count; i++)
        text_append(text, sizeof text, "%s%lld", i ? " x " : "", (long long)l->file.shape[i]);
    text_append(text, sizeof text, " of %s", l->file.dtype ? l->file.dtype : "?");
    const char *shape = arena_text(r->arena, text);
    FAIL_IF(!coverage || !shape, ERR_MEMORY, "no memory for the causes");
    rootcause_check(r, "dimensions", "holds", shape);
    rootcause_check(r, "coverage", whole ? "holds" : "unknown", coverage);
    rootcause_check(r, "values", l->copy.path ? "holds" : "unknown",
                    l->copy.path ? "every value of the copy was compared with the file's"
                                 : "tomoprof convert compares every value of the copy that it "
                                   "writes");
    return rootcause_add_limits(r, l);
}

static enum err rootcause_fill(struct rootcause *r, const struct loading *l, const char *details)
{
    const struct load_phase *most = NULL;
    double all = 0;
    char text[300];
    TRY(rootcause_add_causes(r, l));
    rootcause_add_evidence(r, l);
    TRY(rootcause_add_checks(r, l));
    rootcause_rank(r);
    for (int i = 0; i < l->phases_count; i++) {
        if (!isfinite(l->phases[i].wall_s))
            continue;
        all += l->phases[i].wall_s;
        if (!most || l->phases[i].wall_s > most->wall_s)
            most = &l->phases[i];
    }
    r->subject = l->file.array;
    r->date = l->timestamp;
    r->number_name = "the whole array";
    r->number = l->estimate_full_s.mid;
    r->number_unit = "s";
    snprintf(text, sizeof text,
             "%s The phase `%s` takes %.0f %% of the time; one chunk takes %.3g s; the whole array "
             "%.4g s (%.4g to %.4g).",
             r->causes_count ? r->causes[0].statement : "No rule fired.",
             most ? most->name : "unknown", most && all > 0 ? 100 * most->wall_s / all : 0,
             l->spread.mean_s, l->estimate_full_s.mid, l->estimate_full_s.low,
             l->estimate_full_s.high);
    r->summary = arena_text(r->arena, text);
    r->details = details;
    FAIL_IF(!r->summary, ERR_MEMORY, "no memory for the causes");
    if (l->file.filesystem)
        rootcause_question(r, "Which disk or server lies behind the file system, and how often "
                              "will the file be read? A copy in another format pays off by reads.");
    return ERR_OK;
}

enum err load_rootcause(const struct loading *l, const char *folder)
{
    struct rootcause *r;
    char *details = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&details, &bytes);
    FAIL_IF(!memory, ERR_MEMORY, "no memory for rootcause.md");
    load_text(l, memory, 0);
    enum err e =
        fclose(memory) ? FAIL(ERR_MEMORY, "no memory for rootcause.md") : rootcause_create(&r);
    if (!e) {
        e = rootcause_fill(r, l, details);
        if (!e)
            e = rootcause_write(r, folder);
        rootcause_free(r);
    }
    free(details);
    return e;
}
