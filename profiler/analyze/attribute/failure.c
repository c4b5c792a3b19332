/* Why a process ended before its time, and at which line: an exception that nothing caught, or a
 * fatal signal. */
#include <stdlib.h>

#include "profiler/analyze/attribute/failure.h"
#include "profiler/analyze/attribute/frames.h"
#include "profiler/analyze/attribute/paths.h"

struct failure_seen {
    const char *exception;
    uint32_t stack;
    int signal, known;
};

static enum err failure_take(struct image *im, void *state, const struct trace_item *item)
{
    const struct trace_failure *f = (const void *)item->record;
    struct failure_seen *seen = state;
    *seen = (struct failure_seen){.signal = (int)f->signal, .known = 1};
    if (!f->signal) {
        seen->exception = arena_text_n(im->run->m->arena, item->tail, item->tail_bytes);
        FAIL_IF(!seen->exception, ERR_MEMORY, "no memory for the texts of a trace");
    }
    return image_stack(im, f->stack, &seen->stack);
}

static void failure_place(struct run *r, const struct resolved *frames, int count,
                          struct model_failure *out)
{
    const struct resolved *at = frames_line(frames, count, OWNER_OWN);
    if (count)
        out->outermost = run_text(r, frames[count - 1].function);
    for (int i = 0; i < count && !at && !out->function; i++)
        if (frames[i].function && frames[i].owner < OWNER_RUNTIME)
            out->function = run_text(r, frames[i].function);
    if (!at)
        return;
    out->file = path_shown(r, at->file);
    out->line = at->line;
    out->function = run_text(r, at->function);
}

static enum err failure_attribute(struct image *im, void *state)
{
    const struct failure_seen *seen = state;
    struct run *r = im->run;
    struct model_process *p = &r->processes.items[im->index];
    int one, interpreter;
    if (!seen->known)
        return ERR_OK;
    struct resolved *frames = malloc(RESOLVED_MAX * sizeof *frames);
    FAIL_IF(!frames, ERR_MEMORY, "no memory for a stack");
    enum err e = model_items(r->m, &record_model_failure, 1, &p->failure, &one);
    if (!e) {
        p->failure->exception = seen->exception;
        p->failure->signal = seen->signal ? seen->signal : MODEL_UNKNOWN;
        failure_place(r, frames, frames_of(im, seen->stack, frames, RESOLVED_MAX, &interpreter),
                      p->failure);
    }
    free(frames);
    return e;
}

static const struct collected kinds[] = {{TRACE_FAILURE, failure_take, 0, 0}};
const struct collector collector_failure = {
    .state_bytes = sizeof(struct failure_seen), COLLECTED(kinds), .attribute = failure_attribute};
