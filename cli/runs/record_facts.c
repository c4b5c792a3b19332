/* Adds what the launcher knows of a run to its profile: facts, disks, clocks, timed runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/backend/cpu_name.h"
#include "cli/runs/record_json.h"

#define UNKNOWN ((double)NAN)

static enum err add_items(struct model *m, const struct model_item *items, int n)
{
    struct model_quality *q = &m->quality;
    const struct model_item *old = q->items;
    int had = q->items_count;
    if (!n)
        return ERR_OK;
    TRY(model_list(m, model_item, q, items, (size_t)(had + n)));
    memcpy(q->items, old, (size_t)had * sizeof *old);
    for (int i = 0; i < n; i++) {
        q->items[had + i] = items[i];
        q->items[had + i].text = arena_text(m->arena, items[i].text);
        FAIL_IF(!q->items[had + i].text, ERR_MEMORY, "no memory for the profile");
        q->complete &= !strcmp(items[i].severity, "info");
    }
    return ERR_OK;
}

struct record_fact {
    const char *key;
    char value[CPU_NAME];
};

static enum err add_facts(struct model *m, const char *who, const struct record_fact *facts, int n)
{
    const struct model_fact *old = m->environment;
    int had = m->environment_count;
    TRY(model_list(m, model_fact, m, environment, (size_t)(had + n)));
    memcpy(m->environment, old, (size_t)had * sizeof *old);
    for (int i = 0; i < n; i++) {
        char key[64];
        snprintf(key, sizeof key, "%s.%s", who, facts[i].key);
        m->environment[had + i].key = arena_text(m->arena, key);
        m->environment[had + i].value = arena_text(m->arena, facts[i].value);
        FAIL_IF(!m->environment[had + i].key || !m->environment[had + i].value, ERR_MEMORY,
                "no memory for the profile");
    }
    return ERR_OK;
}

/* How a run ended; on which processors, where that is known. */
static enum err add_end(struct model *m, const char *who, const struct record_end *e,
                        const struct record_facts *on)
{
    const struct {
        const char *key;
        double value;
    } rows[] = {{"wall_s", e->wall_s},
                {"user_s", e->user_s},
                {"system_s", e->system_s},
                {"peak_rss_bytes", (double)e->peak_rss_bytes},
                {"cpus", on ? on->cpus : 0}};
    enum { ROWS = sizeof rows / sizeof *rows };
    struct record_fact facts[ROWS + 1];
    int n = 0;
    for (int i = 0; i < ROWS; i++) {
        if (i == ROWS - 1 && !(rows[i].value > 0))
            continue;
        facts[n].key = rows[i].key;
        snprintf(facts[n++].value, CPU_NAME, "%.9g", rows[i].value);
    }
    if (on && on->cpu && *on->cpu) {
        facts[n].key = "cpu";
        snprintf(facts[n++].value, CPU_NAME, "%s", on->cpu);
    }
    return add_facts(m, who, facts, n);
}

static int most_busy_first(const void *a, const void *b)
{
    const struct model_disk *x = a, *y = b;
    return x->busy < y->busy || x->busy > y->busy ? (x->busy < y->busy ? 1 : -1)
                                                  : strcmp(x->name, y->name);
}

static double for_each(uint64_t sum, uint64_t n)
{
    return n ? (double)sum / (double)n : UNKNOWN;
}

/* Adds the whole machine's disks to the model's part about input and output. */
static enum err record_disks(struct model *m, const struct record_disks *d)
{
    struct model_io *io = &m->io;
    if (!d || !isfinite(io->read.s))
        return ERR_OK;
    TRY(model_list(m, model_disk, io, disks, (size_t)d->count));
    for (int i = 0; i < d->count; i++) {
        const struct record_disk *x = &d->row[i];
        double s = d->seconds > 0 ? d->seconds : UNKNOWN;
        io->disks[i] = (struct model_disk){.name = arena_text(m->arena, x->name),
                                           .reads = (int64_t)x->reads,
                                           .read_mb = (double)x->read_sectors / 2048,
                                           .read_wait_ms = for_each(x->read_ms, x->reads),
                                           .reads_per_s = (double)x->reads / s,
                                           .writes = (int64_t)x->writes,
                                           .write_mb = (double)x->write_sectors / 2048,
                                           .write_wait_ms = for_each(x->write_ms, x->writes),
                                           .busy = fmin(1, 1e-3 * (double)x->busy_ms / s),
                                           .busy_most = x->busy_most < 0 ? UNKNOWN : x->busy_most,
                                           .queue = 1e-3 * (double)x->queue_ms / s};
        FAIL_IF(!io->disks[i].name, ERR_MEMORY, "no memory for the profile");
    }
    if (d->count)
        qsort(io->disks, (size_t)d->count, sizeof *io->disks, most_busy_first);
    io->disks_reason = *d->reason ? arena_text(m->arena, d->reason) : NULL;
    io->group_reason = *d->group_reason ? arena_text(m->arena, d->group_reason) : NULL;
    if (*d->group_reason)
        return ERR_OK;
    int one;
    TRY(model_items(m, &record_model_group_io, 1, &io->group, &one));
    *io->group =
        (struct model_group_io){(int64_t)d->group_reads, (double)d->group_read / 1048576,
                                (int64_t)d->group_writes, (double)d->group_write / 1048576};
    return ERR_OK;
}

/* To the devices of the recording that it is known of. */
static void add_clocks(struct model *m, const struct record_clocks *c)
{
    for (int i = 0; c && i < c->count; i++)
        for (int k = 0; k < m->devices_count; k++) {
            const struct record_clock *x = &c->row[i];
            struct model_device *d = &m->devices[k];
            if (!x->samples || !d->uuid || strcmp(d->uuid, x->uuid))
                continue;
            d->busy_mhz = x->mean_mhz;
            d->least_mhz = x->least_mhz;
            d->limited_share = (double)x->limited / (double)x->samples;
            d->limited_by = !x->limited                   ? NULL
                            : x->why & RECORD_LIMIT_HEAT  ? "heat"
                            : x->why & RECORD_LIMIT_POWER ? "the power cap"
                                                          : "a setting";
        }
}

static enum err record_timed(struct model *m, const struct record_facts *f)
{
    if (!f->timed_count)
        return ERR_OK;
    TRY(model_list(m, model_timed, m, timed_runs, (size_t)f->timed_count));
    for (int i = 0; i < f->timed_count; i++)
        m->timed_runs[i] =
            (struct model_timed){f->timed[i].wall_s, f->timed[i].user_s, f->timed[i].system_s,
                                 (double)f->timed[i].peak_rss_bytes / 1048576};
    return ERR_OK;
}

enum err record_facts_add(const struct record_facts *f, struct model *m)
{
    struct model_item items[8];
    char slow[160], left[120];
    int n = 0;
    if (!f->command)
        return ERR_OK;
    if (f->end.signal)
        m->meta.signal = f->end.signal;
    else if (f->end.wall_s > 0 && !f->end.exit_unknown)
        m->meta.exit_code = f->end.exit_code;
    TRY(add_end(m, "launcher", &f->end, f));
    TRY(record_timed(m, f));
    TRY(record_disks(m, f->disks));
    add_clocks(m, f->clocks);
    for (char **note = f->notes; *note && n < 6; note++)
        items[n++] = (struct model_item){.id = "launcher_note",
                                         .severity = "warning",
                                         .count = 1,
                                         .share = UNKNOWN,
                                         .text = *note};
    if (f->end.left_running) {
        snprintf(left, sizeof left, "%d processes still ran when the profile was made",
                 f->end.left_running);
        items[n++] = (struct model_item){.id = "left_running",
                                         .severity = "warning",
                                         .count = f->end.left_running,
                                         .share = UNKNOWN,
                                         .text = left,
                                         .effect = "what they did later is missing",
                                         .fix = "tomoprof report, once they ended"};
    }
    if (f->bare.wall_s > 0) {
        TRY(add_end(m, "baseline", &f->bare, NULL));
        snprintf(slow, sizeof slow,
                 "The recorded run took %.4g s, the run without the recorder %.4g s.",
                 f->end.wall_s, f->bare.wall_s);
        items[n++] = (struct model_item){.id = "slow_down",
                                         .severity = "info",
                                         .count = 1,
                                         .share = f->end.wall_s / f->bare.wall_s - 1,
                                         .text = slow};
    }
    return add_items(m, items, n);
}
