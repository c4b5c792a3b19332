/* speedscope's JSON: sampled and evented profiles; tomoprof's own export is one of them. */
#include <math.h>
#include <string.h>

#include "profiler/import/read/json_pull.h"
#include "profiler/import/source/names.h"
#include "profiler/import/source/source.h"

struct profile {
    const char *name, *type, *unit;
    long double start, end;        /* in units */
    VECTOR(int32_t) sample_frames; /* frames of all samples, -1 ends each */
    VECTOR(long double) weights;   /* -1: damaged */
    VECTOR(int32_t) events;        /* frame + 1, negative: closes */
    VECTOR(long double) event_at;
};
struct speedscope {
    struct builder *b;
    struct pull *p;
    VECTOR(struct model_frame) frames;
    const char *exporter, *version;
    int64_t damaged, unbalanced, skipped, profiles;
    double rate;
};

static const char *speedscope_text(struct speedscope *s, enum pull_kind kind)
{
    if (kind != PULL_TEXT)
        return pull_skip(s->p, kind), NULL;
    return import_text(s->b, s->p->text, s->p->length);
}

static int64_t speedscope_number(struct speedscope *s, enum pull_kind kind, int shift,
                                 int64_t otherwise)
{
    int64_t v;
    if (kind != PULL_NUMBER)
        return pull_skip(s->p, kind), otherwise;
    return decimal(s->p->text, shift, &v) ? v : otherwise;
}

/* To 10^-9 of a unit; what is too large for that has few digits behind the point. */
static long double speedscope_amount(struct speedscope *s, enum pull_kind kind,
                                     long double otherwise)
{
    int64_t v;
    if (kind != PULL_NUMBER)
        return pull_skip(s->p, kind), otherwise;
    if (decimal(s->p->text, 9, &v))
        return (long double)v / 1e9L;
    return decimal(s->p->text, 0, &v) ? (long double)v : otherwise;
}

static enum err speedscope_frame(struct speedscope *s)
{
    const char *name = NULL, *file = NULL;
    int64_t line = 0;
    struct model_frame f;
    while (pull_key(s->p)) {
        char key[8];
        pull_copy(s->p, key, sizeof key);
        enum pull_kind kind = pull_next(s->p);
        if (!strcmp(key, "name"))
            name = speedscope_text(s, kind);
        else if (!strcmp(key, "file") && kind == PULL_TEXT)
            file = import_path(s->b, s->p->text, s->p->length);
        else if (!strcmp(key, "line"))
            line = speedscope_number(s, kind, 0, 0);
        else
            pull_skip(s->p, kind);
    }
    name_frame(s->b, name, &f);
    if (file && line > 0) {
        f = (struct model_frame){name, file, line, NULL, name_kind(file), -1};
    } else if (file) {
        f.module = file;
    }
    return vector_add(&s->frames, f);
}

static enum err speedscope_shared(struct speedscope *s)
{
    while (pull_key(s->p)) {
        int frames = !strcmp(s->p->text, "frames");
        enum pull_kind kind = pull_next(s->p);
        if (!frames || kind != PULL_ARRAY) {
            pull_skip(s->p, kind);
            continue;
        }
        while (pull_more(s->p)) {
            kind = pull_next(s->p);
            if (kind == PULL_OBJECT)
                TRY(speedscope_frame(s));
            else if (!pull_skip(s->p, kind))
                break;
        }
    }
    return ERR_OK;
}

static enum err speedscope_samples(struct speedscope *s, struct profile *p)
{
    while (pull_more(s->p)) {
        if (pull_next(s->p) != PULL_ARRAY)
            return ERR_OK;
        while (pull_more(s->p)) {
            int64_t f = speedscope_number(s, pull_next(s->p), 0, -1);
            if (f >= 0 && f < INT32_MAX)
                TRY(vector_add(&p->sample_frames, (int32_t)f));
            else
                s->damaged++;
        }
        TRY(vector_add(&p->sample_frames, -1));
    }
    return ERR_OK;
}

static enum err speedscope_events(struct speedscope *s, struct profile *p)
{
    while (pull_more(s->p)) {
        int64_t frame_ = -1;
        long double at = NAN;
        char type = 0;
        if (pull_next(s->p) != PULL_OBJECT)
            return ERR_OK;
        while (pull_key(s->p)) {
            char key[8];
            pull_copy(s->p, key, sizeof key);
            enum pull_kind kind = pull_next(s->p);
            if (!strcmp(key, "frame"))
                frame_ = speedscope_number(s, kind, 0, -1);
            else if (!strcmp(key, "at"))
                at = speedscope_amount(s, kind, NAN);
            else if (!strcmp(key, "type") && kind == PULL_TEXT)
                type = *s->p->text;
            else
                pull_skip(s->p, kind);
        }
        if (frame_ < 0 || frame_ >= INT32_MAX - 1 || isnan(at) || (type != 'O' && type != 'C')) {
            s->damaged++;
            continue;
        }
        TRY(vector_add(&p->events, (int32_t)(type == 'O' ? frame_ + 1 : -frame_ - 1)));
        TRY(vector_add(&p->event_at, at));
    }
    return ERR_OK;
}

static enum err speedscope_field(struct speedscope *s, struct profile *p)
{
    char key[16];
    pull_copy(s->p, key, sizeof key);
    enum pull_kind kind = pull_next(s->p);
    if (!strcmp(key, "name"))
        p->name = speedscope_text(s, kind);
    else if (!strcmp(key, "type"))
        p->type = speedscope_text(s, kind);
    else if (!strcmp(key, "unit"))
        p->unit = speedscope_text(s, kind);
    else if (!strcmp(key, "startValue"))
        p->start = speedscope_amount(s, kind, 0);
    else if (!strcmp(key, "endValue"))
        p->end = speedscope_amount(s, kind, 0);
    else if (!strcmp(key, "samples") && kind == PULL_ARRAY)
        return speedscope_samples(s, p);
    else if (!strcmp(key, "events") && kind == PULL_ARRAY)
        return speedscope_events(s, p);
    else if (!strcmp(key, "weights") && kind == PULL_ARRAY)
        while (pull_more(s->p))
            TRY(vector_add(&p->weights, speedscope_amount(s, pull_next(s->p), -1)));
    else
        pull_skip(s->p, kind);
    return ERR_OK;
}

/* Returns one unit in ns or bytes; 0: samples without a unit. */
static double speedscope_unit(const struct profile *p, double rate, enum import_cost *cost)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {
        {"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}};
    *cost = IMPORT_CPU;
    if (p->name && !strcmp(p->name, "waiting"))
        *cost = IMPORT_WAIT;
    if (p->name && !strncmp(p->name, "GPU time", 8))
        *cost = IMPORT_GPU;
    for (size_t i = 0; p->unit && i < sizeof units / sizeof *units; i++)
        if (!strcmp(p->unit, units[i].name))
            return units[i].ns;
    if (p->unit && !strcmp(p->unit, "bytes")) {
        *cost = IMPORT_ALLOC;
        return 1;
    }
    return rate > 0 ? 1e9 / rate : 0;
}

static enum err speedscope_add(struct speedscope *s, int32_t node, enum import_cost cost,
                               double amount, int64_t n)
{
    if (!(amount >= 0 && amount < 9e15)) {
        s->damaged++;
        return ERR_OK;
    }
    return builder_cost(s->b, node, cost, llround(amount), cost == IMPORT_CPU ? n : 0);
}

static enum err add_samples(struct speedscope *s, const struct profile *p, int32_t root,
                            double unit, enum import_cost cost, double *sum)
{
    size_t at = 0;
    for (size_t i = 0; i < p->weights.count && at < p->sample_frames.count; i++, at++) {
        int32_t node = root;
        for (; p->sample_frames.items[at] >= 0; at++) {
            if ((size_t)p->sample_frames.items[at] < s->frames.count)
                TRY(builder_call(s->b, node, &s->frames.items[p->sample_frames.items[at]], &node));
            else
                s->damaged++;
        }
        double amount = (double)(p->weights.items[i] * unit);
        *sum += amount > 0 ? amount : 0;
        TRY(speedscope_add(s, node, cost, amount,
                           s->exporter && !strcmp(s->exporter, "tomoprof")
                               ? 0
                               : 1)); /* stacks of our own are sums */
    }
    return ERR_OK;
}

static enum err add_events(struct speedscope *s, const struct profile *p, int32_t root, double unit,
                           enum import_cost cost, double *sum)
{
    VECTOR(int32_t) open = {0};
    enum err e = ERR_OK;
    for (size_t i = 0; i < p->events.count && !e; i++) {
        int32_t what = p->events.items[i], node = open.count ? open.items[open.count - 1] : root;
        double amount = i && open.count
                            ? (double)((p->event_at.items[i] - p->event_at.items[i - 1]) * unit)
                            : 0;
        *sum += amount > 0 ? amount : 0;
        e = amount > 0 ? speedscope_add(s, node, cost, amount, 0) : ERR_OK;
        s->damaged += amount < 0;
        int32_t frame_ = (what > 0 ? what : -what) - 1;
        if (e || (size_t)frame_ >= s->frames.count)
            continue;
        if (what > 0) {
            e = builder_call(s->b, node, &s->frames.items[frame_], &node);
            e = e ? e : vector_add(&open, node);
        } else if (open.count) {
            open.count--;
        } else {
            s->unbalanced++;
        }
    }
    s->unbalanced += (int64_t)open.count;
    vector_free(&open);
    return e;
}

static enum err add_profile(struct speedscope *s, const struct profile *p)
{
    enum import_cost cost;
    int32_t process, thread, root;
    double sum = 0, unit = speedscope_unit(p, s->rate, &cost);
    int own = s->exporter && !strcmp(s->exporter, "tomoprof"),
        total = p->name && strncmp(p->name, "CPU time of thread", 18);
    if (own && !total)
        return ERR_OK; /* the profile over all threads holds it */
    FAIL_IF(
        unit == 0, ERR_INPUT,
        "%s: profile \"%.60s\" counts \"%.20s\", not time. Give `rate=HZ`, the samples per second.",
        s->b->base, p->name ? p->name : "", p->unit ? p->unit : "none");
    TRY(builder_process(s->b, 0, NULL, &process));
    TRY(builder_thread(s->b, process, own ? 0 : s->profiles, own ? "all threads" : p->name,
                       &thread));
    TRY(builder_call(s->b, IMPORT_ROOT(thread), NULL, &root));
    s->profiles++;
    if (p->type && !strcmp(p->type, "evented"))
        TRY(add_events(s, p, root, unit, cost, &sum));
    else
        TRY(add_samples(s, p, root, unit, cost, &sum));
    double span = (double)((p->end - p->start) * unit);
    return span > 0 && p->type && !strcmp(p->type, "sampled")
               ? import_check(s->b, "span_kept", span, sum, 0.001,
                              "weights of samples fill the span that the profile says, ns or bytes")
               : ERR_OK;
}

static enum err speedscope_profiles(struct speedscope *s)
{
    while (pull_more(s->p)) {
        struct profile p = {0};
        enum err e = ERR_OK;
        if (pull_next(s->p) != PULL_OBJECT)
            return ERR_OK;
        while (!e && pull_key(s->p))
            e = speedscope_field(s, &p);
        if (!e)
            e = add_profile(s, &p);
        vector_free(&p.sample_frames);
        vector_free(&p.weights);
        vector_free(&p.events);
        vector_free(&p.event_at);
        TRY(e);
    }
    return ERR_OK;
}

/* Frames come before profiles in the first pass, wherever they stand. */
static enum err speedscope_pass(struct speedscope *s, const struct import_input *in, int second)
{
    pull_start(s->p, in->data, in->bytes);
    if (pull_next(s->p) != PULL_OBJECT)
        return ERR_OK;
    while (pull_key(s->p)) {
        char key[16];
        pull_copy(s->p, key, sizeof key);
        enum pull_kind kind = pull_next(s->p);
        if (!second && !strcmp(key, "shared") && kind == PULL_OBJECT)
            TRY(speedscope_shared(s));
        else if (!second && !strcmp(key, "exporter"))
            s->exporter = speedscope_text(s, kind);
        else if (second && !strcmp(key, "profiles") && kind == PULL_ARRAY)
            TRY(speedscope_profiles(s));
        else if (!pull_skip(s->p, kind))
            return ERR_OK;
    }
    return ERR_OK;
}

static enum err speedscope_read(struct builder *b, const struct import_input *in,
                                const struct import_options *o)
{
    struct speedscope s = {.b = b, .p = malloc(sizeof *s.p), .rate = o->rate_hz};
    enum err e = s.p ? ERR_OK : FAIL(ERR_MEMORY, "no memory for the import");
    for (int second = 0; second < 2 && !e; second++)
        e = speedscope_pass(&s, in, second);
    if (!e && !s.profiles)
        e = FAIL(ERR_INPUT, "%s: holds no profile of speedscope's format", in->path);
    if (!e)
        e = source_is(b, s.exporter ? s.exporter : "speedscope", NULL);
    if (!e)
        e = import_note(b, s.damaged, "import_damaged", "warning",
                        "Numbers were missing, out of range or went backwards; they were left out.",
                        NULL);
    if (!e)
        e = import_note(b, s.unbalanced, "import_unpaired", "warning",
                        "Frames were opened and not closed, or the other way round.", NULL);
    free(s.p);
    vector_free(&s.frames);
    return e;
}

static int speedscope_is_it(const struct import_input *in)
{
    size_t n = in->bytes < 65536 ? in->bytes : 65536;
    return n && memchr(in->data, '{', n < 64 ? n : 64) &&
           memmem(in->data, n, "speedscope.app/file-format-schema", 33);
}

const struct import_source import_speedscope = {
    "speedscope", "speedscope's JSON, as py-spy and tomoprof write it", speedscope_is_it,
    speedscope_read};
