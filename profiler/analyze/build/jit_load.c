/* Finds the files in which a process described the code that it made. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/symbols/jit.h"

struct jit_state {
    const char *dump;                    /* path of the jitdump, NULL none */
    VECTOR(struct jit_mark) marks;       /* of the perf map */
    VECTOR(struct trace_jit_code) codes; /* as they came */
};

#define CODE_BYTES_MAX (64u << 20) /* the recorder keeps less */

static enum err jit_doubted(struct run *r, const char *what, const char *path, const char *why)
{
    char text[512];
    struct model_item row;
    json_blank(&record_model_item, &row);
    snprintf(text, sizeof text, "The %s %.300s is not used: %s.", what, path, why);
    row.id = "jit.refused";
    row.text = path_shown_in(r, run_text(r, text));
    row.severity = "warning";
    row.count = 1;
    row.effect = "Functions that were made at run time have no names.";
    row.fix = "Remove it, and record again.";
    return vector_add(&r->q.notes, row);
}

/* A perf map's mark is "BYTES TIME", ns: from then on it had so many bytes. */
static enum err jit_fact(struct image *im, void *state, const struct trace_item *item)
{
    struct jit_state *jit = state;
    struct jit_mark mark;
    const char *text;
    TRY(collector_fact(im, item, "jitdump", &text));
    jit->dump = text ? text : jit->dump;
    TRY(collector_fact(im, item, "perfmap", &text));
    if (!text || sscanf(text, "%" SCNu64 " %" SCNu64, &mark.bytes, &mark.time_ns) != 2)
        return ERR_OK;
    return vector_add(&jit->marks, mark);
}

static enum err jit_code(struct image *im, void *state, const struct trace_item *item)
{
    struct jit_state *jit = state;
    (void)im;
    return vector_add(&jit->codes, *(const struct trace_jit_code *)(const void *)item->record);
}

ARRAY_ORDER(by_time, struct jit_mark, COMPARE(x->time_ns, y->time_ns));

/* A map that became smaller was begun anew: the marks before that are another one's. */
static size_t first_mark(struct jit_state *jit)
{
    size_t first = 0;
    vector_sort(&jit->marks, by_time);
    for (size_t i = 1; i < jit->marks.count; i++)
        if (jit->marks.items[i].bytes < jit->marks.items[i - 1].bytes)
            first = i;
    return first;
}

/* The launcher has put a copy beside the trace; a recording without launcher left it in /tmp. */
static enum err load_map(struct image *im, struct jit_state *jit)
{
    char path[4200];
    size_t bytes;
    const char *why;
    struct run *r = im->run;
    snprintf(path, sizeof path, "%.4096s/perf-%d.map", r->folder, (int)im->header.pid);
    char *text = jit_file_read(path, 0, &bytes, &why);
    if (!text) {
        jit_map_path(im->header.pid, path);
        text = jit_file_read(path, im->header.start_realtime_ns, &bytes, &why);
    }
    size_t first = first_mark(jit);
    enum err e = text  ? symbols_jit_map(r->symbols, im->index, text, bytes,
                                        jit->marks.count ? jit->marks.items + first : NULL,
                                         jit->marks.count - first)
                 : why ? jit_doubted(r, "perf map", path, why)
                       : ERR_OK;
    free(text);
    return e;
}

/* withdrawn, and another one in its place */
ARRAY_ORDER(by_entry_and_time, struct trace_jit_code,
            COMPARE(x->entry, y->entry) ?: COMPARE(x->r.time_ns, y->r.time_ns)
                ?: COMPARE(y->gone, x->gone));

/* Each is there until the next record of its entry. */
static enum err load_codes(struct image *im, struct jit_state *jit)
{
    char path[4200];
    const struct trace_jit_code *codes = jit->codes.items;
    vector_sort(&jit->codes, by_entry_and_time);
    for (size_t i = 0; i < jit->codes.count; i++) {
        const struct trace_jit_code *c = &codes[i], *next = c + 1;
        int ends = i + 1 < jit->codes.count && next->entry == c->entry;
        if (c->gone || c->bytes > CODE_BYTES_MAX)
            continue;
        snprintf(path, sizeof path, "%.4096s/%d-%" PRIx64 ".jit", im->run->folder, (int)c->file_pid,
                 c->file_start);
        TRY(symbols_jit_code(im->run->symbols, im->index, c->r.time_ns,
                             ends ? next->r.time_ns : UINT64_MAX, path, c->offset, c->bytes));
    }
    return ERR_OK;
}

static enum err jit_finish(struct image *im, void *state)
{
    struct jit_state *jit = state;
    size_t bytes;
    const char *why;
    TRY(load_map(im, jit));
    TRY(load_codes(im, jit));
    if (!jit->dump)
        return ERR_OK;
    char *text = jit_file_read(jit->dump, im->header.start_realtime_ns, &bytes, &why);
    enum err e =
        text ? symbols_jit_dump(im->run->symbols, im->index, text, bytes, (uint32_t)im->header.pid)
             : jit_doubted(im->run, "jitdump", jit->dump, why ? why : "it is not there");
    free(text);
    return e;
}

static void jit_state_free(struct image *im, void *state)
{
    struct jit_state *jit = state;
    (void)im;
    vector_free(&jit->marks);
    vector_free(&jit->codes);
}

static const struct collected kinds[] = {{TRACE_META, jit_fact, 0, 0},
                                         {TRACE_JIT_CODE, jit_code, 0, 0}};
const struct collector collector_jit = {.state_bytes = sizeof(struct jit_state),
                                        COLLECTED(kinds),
                                        .finish = jit_finish,
                                        .free = jit_state_free};
