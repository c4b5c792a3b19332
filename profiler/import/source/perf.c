/* The text of `perf script`: a line of a sample, its frames with the leaf first, an empty line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/import/read/json_pull.h"
#include "profiler/import/source/source.h"

#define FRAMES 1024

struct sample {
    const char *name; /* of the thread */
    int64_t pid, tid, at, period;
    const char *event;
};
struct frame_text {
    const char *symbol, *module, *file;
    size_t symbol_bytes, module_bytes, file_bytes;
    int64_t line; /* of the file, which is there only where it is known */
};
struct perf_reader {
    struct builder *b;
    struct sample now;
    struct frame_text frames[FRAMES];
    int count, open;
    int64_t samples, damaged, truncated, unresolved, no_period;
    const char *event; /* whose periods are times; NULL: not seen yet */
    double each;       /* ns of a sample of an event that counts other things; 0 unknown */
    int pass;
};

/* "comm  pid/tid [cpu]  sec.nsec:  period event:" read from its end, for comm may hold spaces. */
static int perf_head(const char *line, size_t n, struct sample *s, char comm[64], char event[64])
{
    char text[512], *at;
    if (n < 4 || n >= sizeof text)
        return 0;
    memcpy(text, line, n);
    text[n] = 0;
    char *dot = NULL;
    for (at = text; (at = strchr(at, ':')); at++) { /* the time: digits, a dot, digits, a colon */
        char *digit = at;
        while (digit > text && ((digit[-1] >= '0' && digit[-1] <= '9') || digit[-1] == '.'))
            digit--;
        if (digit < at && memchr(digit, '.', (size_t)(at - digit)) && digit > text &&
            digit[-1] == ' ' && (at[1] == ' ' || !at[1])) {
            dot = digit;
            break;
        }
    }
    if (!dot)
        return 0;
    *at = 0;
    if (!decimal(dot, 9, &s->at))
        return 0;
    char *rest = at + 1, *end;
    s->period = strtoll(rest, &end, 10);
    if (end == rest)
        s->period = -1;
    while (*end == ' ')
        end++;
    snprintf(event, 64, "%.*s", (int)strcspn(end, " \n"), end);
    size_t k = strlen(event);
    if (k && event[k - 1] == ':')
        event[k - 1] = 0;
    /* before the time: comm, pid/tid or tid, perhaps [cpu] */
    for (end = dot; end > text && end[-1] == ' ';)
        *--end = 0;
    if (end > text && end[-1] == ']') {
        char *open = strrchr(text, '[');
        if (!open)
            return 0;
        for (end = open; end > text && end[-1] == ' ';)
            end--;
        *end = 0;
    }
    char *ids = end;
    while (ids > text && ids[-1] != ' ')
        ids--;
    char *slash = strchr(ids, '/');
    s->pid = strtoll(ids, &at, 10);
    if (at == ids)
        return 0;
    s->tid = slash ? strtoll(slash + 1, NULL, 10) : s->pid;
    for (end = ids; end > text && end[-1] == ' ';)
        end--;
    *end = 0;
    for (at = text; *at == ' ';)
        at++;
    snprintf(comm, 64, "%.63s", at);
    return 1;
}

/* "  addr symbol+0xoff (dso)" */
static int perf_frame(const char *line, size_t n, struct frame_text *f)
{
    size_t at = 0, end = n;
    while (at < n && (line[at] == ' ' || line[at] == '\t'))
        at++;
    size_t address = at;
    while (at < n && strchr("0123456789abcdef", line[at]) && line[at])
        at++;
    if (at == address || at == n || line[at] != ' ')
        return 0;
    at++;
    *f = (struct frame_text){.symbol = line + at};
    if (n && line[n - 1] == ')') {
        size_t open = n - 1;
        while (open > at && !(line[open] == '(' && line[open - 1] == ' '))
            open--;
        if (open > at) {
            f->module = line + open + 1;
            f->module_bytes = n - open - 2;
            end = open - 1;
        }
    }
    const char *plus = memrchr(line + at, '+', end - at);
    if (plus && plus + 2 < line + n && plus[1] == '0' && plus[2] == 'x')
        end = (size_t)(plus - line);
    f->symbol_bytes = end - at;
    return 1;
}

/* "  file.c:12", the line after a frame where perf script was asked for srcline; one that is
 * unknown is "??:0" or "libc.so.6[2724a]". */
static int source_line(const char *line, size_t n, struct frame_text *f)
{
    char digits[16] = "";
    if (n < 4 || line[0] != ' ' || line[1] != ' ' || line[2] == ' ')
        return 0;
    const char *text = line + 2, *colon = memrchr(text, ':', n - 2);
    if (!colon || colon == text)
        return line[n - 1] == ']';
    snprintf(digits, sizeof digits, "%.*s", (int)(line + n - colon - 1), colon + 1);
    size_t numbers = strspn(digits, "0123456789");
    if (!numbers || (digits[numbers] && digits[numbers] != ' ')) /* 12 (discriminator 3) */
        return 0;
    f->line = strtoll(digits, NULL, 10);
    if (f->line > 0 && *text != '?') {
        f->file = text;
        f->file_bytes = (size_t)(colon - text);
    }
    return 1;
}

static int is_time(const char *event)
{
    return strstr(event, "cpu-clock") || strstr(event, "task-clock");
}

static enum err perf_finish_sample(struct perf_reader *r)
{
    struct builder *b = r->b;
    int32_t process, thread, node;
    int in_kernel = 0;
    if (!r->open)
        return ERR_OK;
    r->open = 0;
    TRY(builder_process(b, r->now.pid, r->now.pid == r->now.tid ? r->now.name : NULL, &process));
    TRY(builder_thread(b, process, r->now.tid, r->now.name, &thread));
    TRY(builder_call(b, IMPORT_ROOT(thread), NULL, &node));
    for (int i = r->count - 1; i >= 0; i--) {
        const struct frame_text *t = &r->frames[i];
        struct model_frame f = {.line = MODEL_UNKNOWN, .kind = "native", .thread = -1};
        int unknown = t->symbol_bytes == 9 && !memcmp(t->symbol, "[unknown]", 9);
        f.function = unknown ? NULL : import_text(b, t->symbol, t->symbol_bytes);
        f.module = import_path(b, t->module ? t->module : "", t->module_bytes);
        if (t->file) {
            f.file = import_path(b, t->file, t->file_bytes);
            f.line = t->line;
        }
        r->unresolved += unknown;
        if (i == 0)
            in_kernel = f.module && !strncmp(f.module, "[kernel", 7);
        TRY(builder_call(b, node, &f, &node));
    }
    int64_t ns = r->each > 0 ? llround(r->each) : r->now.period;
    if (ns < 0)
        r->no_period++;
    TRY(builder_cost(b, node, in_kernel ? IMPORT_SYS : IMPORT_CPU, ns > 0 ? ns : 0, 1));
    b->known[IMPORT_CPU] = b->known[IMPORT_SYS] = 1;
    r->samples++;
    return builder_event(b, node, IMPORT_CPU, r->now.at, r->now.at + (ns > 0 ? ns : 0));
}

static enum err perf_line(struct perf_reader *r, const char *at, size_t n)
{
    char comm[64], event[64];
    struct sample s = {0};
    struct frame_text f;
    if (!n || (*at == '#' && !r->open))
        return r->pass ? perf_finish_sample(r) : ERR_OK;
    if (r->open && (*at == '\t' || *at == ' ') && perf_frame(at, n, &f) && f.module) {
        if (r->count < FRAMES)
            r->frames[r->count++] = f;
        else
            r->truncated += r->pass;
        return ERR_OK;
    }
    if (r->open && r->count && source_line(at, n, &r->frames[r->count - 1]))
        return ERR_OK;
    if (!perf_head(at, n, &s, comm, event)) {
        r->damaged += r->pass;
        return ERR_OK;
    }
    if (r->pass)
        TRY(perf_finish_sample(r));
    r->count = 0;
    if (!r->pass) {
        r->b->origin = r->samples++ && r->b->origin < s.at ? r->b->origin : s.at;
        if (!r->event)
            r->event = import_text(r->b, event, strlen(event));
        r->open = 1;
        return ERR_OK;
    }
    s.name = import_text(r->b, comm, strlen(comm));
    r->now = s;
    r->open = 1;
    return ERR_OK;
}

static enum err all_lines(struct perf_reader *r, const struct import_input *in)
{
    const char *at = in->data, *end = at + in->bytes;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        TRY(perf_line(r, at, n));
        at += n + 1;
    }
    return r->pass ? perf_finish_sample(r) : ERR_OK;
}

static enum err both_passes(struct perf_reader *r, const struct import_input *in,
                            const struct import_options *o)
{
    TRY(all_lines(r, in));
    FAIL_IF(!r->samples, ERR_INPUT,
            "%s: no samples; expected the output of `perf script --ns -F +pid`", in->path);
    int counts = !r->event || !is_time(r->event);
    FAIL_IF(counts && !(o->rate_hz > 0), ERR_INPUT,
            "%s: samples of the event \"%.40s\", whose periods are not times. Give `rate=HZ`, the "
            "rate of perf record -F.",
            in->path, r->event ? r->event : "unknown");
    r->each = counts ? 1e9 / o->rate_hz : 0;
    int64_t seen = r->samples;
    r->samples = r->open = 0;
    r->pass = 1;
    TRY(all_lines(r, in));
    TRY(source_is(r->b, "perf", NULL));
    TRY(import_fact(r->b, "import.event", r->event));
    int64_t kept = 0;
    for (size_t i = 0; i < r->b->nodes.count; i++)
        kept += r->b->nodes.items[i].samples;
    TRY(import_check(r->b, "samples_kept", (double)seen, (double)kept, 0,
                     "every sample of the text is in a stack"));
    TRY(import_note(r->b, r->damaged, "import_damaged", "warning",
                    "Lines were neither a sample nor a frame.", NULL));
    TRY(import_note(r->b, r->truncated, "import_truncated", "warning",
                    "Frames beyond 1,024 of a stack were left out.", NULL));
    TRY(import_note(r->b, r->no_period, "import_no_period", "warning",
                    "Samples had no period and count as no time.",
                    "Keep `period` among the fields of perf script."));
    return import_note(r->b, r->unresolved, "import_unresolved", "info", "Frames had no symbol.",
                       NULL);
}

static enum err perf_read(struct builder *b, const struct import_input *in,
                          const struct import_options *o)
{
    struct perf_reader *r = calloc(1, sizeof *r);
    FAIL_IF(!r, ERR_MEMORY, "no memory for the import");
    r->b = b;
    enum err e = both_passes(r, in, o);
    free(r);
    return e;
}

static int perf_is_it(const struct import_input *in)
{
    const char *at = in->data, *end = at + (in->bytes < 65536 ? in->bytes : 65536);
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        char comm[64], event[64];
        struct sample s;
        if (n && *at != '#')
            return perf_head(at, n, &s, comm, event);
        at += n + 1;
    }
    return 0;
}

const struct import_source import_perf = {"perf", "the output of perf script", perf_is_it,
                                          perf_read};
