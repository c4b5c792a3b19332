/* Folded stacks, root first: "a;b;c 12" per line, as py-spy, flamegraph.pl and tomoprof write them.
 * The format does not say what it counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/import/source/names.h"
#include "profiler/import/source/source.h"

/* Splits a line into its stack [n], and its number; 0: not one. */
static int folded_split(const char *line, size_t n, size_t *stack, int64_t *weight)
{
    size_t digits = n;
    while (digits && line[digits - 1] >= '0' && line[digits - 1] <= '9')
        digits--;
    if (digits == n || n - digits > 17 || !digits || line[digits - 1] != ' ')
        return 0;
    *weight = strtoll(line + digits, NULL, 10);
    *stack = digits - 1; /* 0: py-spy's thread without a frame */
    return 1;
}

#define NS_LEAST                                                                                   \
    1000000 /* a count above it is not one of samples: at 100 a second, of 3 hours in one stack */

/* The largest count of all lines. */
static int64_t folded_most(const struct import_input *in)
{
    const char *at = in->data, *end = at + in->bytes;
    int64_t most = 0;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at), length;
        int64_t weight;
        n -= n && at[n - 1] == '\r';
        if (folded_split(at, n, &length, &weight) && weight > most)
            most = weight;
        at = stop ? stop + 1 : end;
    }
    return most;
}

static int folded_is_it(const struct import_input *in)
{
    const char *at = in->data, *end = at + in->bytes;
    int lines = 0, looked = 0;
    while (at < end && looked < 20) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at), stack = 0;
        int64_t weight;
        if (memchr(at, 0, n) || (n && !folded_split(at, n, &stack, &weight)))
            return 0;
        looked += n > 0;
        lines += stack > 0;
        at += n + 1;
    }
    return lines > 0;
}

/* py-spy's frames of the process and thread, when it was asked for them: process PID:"..", thread
 * (TID): NAME. */
static int is_thread(const char *name)
{
    return !strncmp(name, "thread (", 8) || !strncmp(name, "process ", 8);
}

static enum err folded_stack(struct builder *b, const char *line, size_t n, int32_t root,
                             int32_t *node)
{
    *node = root;
    for (size_t at = 0, end; at < n; at = end + 1) {
        const char *stop = memchr(line + at, ';', n - at);
        struct model_frame f;
        end = stop ? (size_t)(stop - line) : n;
        if (end == at)
            continue;
        const char *name = import_text(b, line + at, end - at);
        if (name && is_thread(name))
            continue;
        name_frame(b, name, &f);
        TRY(builder_call(b, *node, &f, node));
    }
    return ERR_OK;
}

static enum err folded_lines(struct builder *b, const struct import_input *in, double ns_each,
                             int samples, int64_t *bad)
{
    const char *at = in->data, *end = at + in->bytes;
    int32_t process, thread, root, node;
    TRY(builder_process(b, 0, NULL, &process));
    TRY(builder_thread(b, process, 0, "all threads", &thread));
    TRY(builder_call(b, IMPORT_ROOT(thread), NULL, &root));
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at), length;
        int64_t weight;
        if (n && at[n - 1] == '\r')
            n--;
        if (folded_split(at, n, &length, &weight)) {
            TRY(folded_stack(b, at, length, root, &node));
            if ((double)weight * ns_each > 9e15)
                return FAIL(ERR_INPUT, "%s: weight %lld is more than 104 days", b->base,
                            (long long)weight);
            TRY(builder_cost(b, node, IMPORT_CPU, llround((double)weight * ns_each),
                             samples ? weight : 0));
        } else
            *bad += n > 0;
        at = stop ? stop + 1 : end;
    }
    return ERR_OK;
}

static enum err folded_read(struct builder *b, const struct import_input *in,
                            const struct import_options *o)
{
    int64_t bad = 0;
    const int known = o->rate_hz > 0, samples = !known && folded_most(in) < NS_LEAST;
    TRY(folded_lines(b, in, known ? 1e9 / o->rate_hz : 1, known || samples, &bad));
    TRY(source_is(b, "folded stacks", NULL));
    if (samples)
        TRY(import_fact(b, "import.unit", "samples"));
    TRY(import_note(
        b, 1, "import_unit", known ? "info" : "warning",
        known     ? "Folded stacks hold counts; the rate that was given makes them times."
        : samples ? "Folded stacks do not say their unit: the counts were taken for samples."
                  : "Folded stacks do not say their unit: the counts were taken for nanoseconds of "
                    "CPU time.",
        known     ? NULL
        : samples ? "Times are unknown. Give the samples per second: `tomoprof import --rate HZ`."
                  : "Where they count samples, give their rate: `tomoprof import --rate HZ`."));
    b->run->m->meta.cpu_hz = known ? o->rate_hz : (double)NAN;
    return import_note(b, bad, "import_damaged", "warning", "Lines did not end in a count.",
                       "They were left out.");
}

const struct import_source import_folded = {
    "folded", "folded stacks of py-spy, flamegraph.pl and tomoprof", folded_is_it, folded_read};
