/* Callgrind's profile format, version 1 (valgrind.org/docs/manual/cl-format.html): what functions
 * cost by line, and what their calls cost. It holds no stacks: they are put together from the
 * calls, the cost of a function shared among its callers as they paid for it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profiler/import/source/names.h"
#include "profiler/import/source/source.h"

#define EVENTS  64      /* columns of cost that are looked at */
#define STEPS   4000000 /* lines of all stacks */
#define DEEPEST 400     /* frames of a stack */
#define LEAST   1e-4    /* share of all below which a call is not followed */

enum { NAME_FILE, NAME_OBJECT, NAME_FUNCTION, NAMES };

struct call_place {
    const char *name[NAMES];
};
struct call_part { /* a line's own cost, or a call out of it */
    const char *file;
    int64_t line;
    int32_t callee, next; /* -1: own cost; next of the function, -1 the last */
    int64_t cost[IMPORT_COSTS], given[IMPORT_COSTS];
    int32_t last; /* node that got of it last, -1 none */
};
struct function {
    struct call_place at;
    int32_t first, last_part;
    double own[IMPORT_COSTS], out[IMPORT_COSTS], in[IMPORT_COSTS];
    int open; /* on the stack that is being followed */
};
struct callgrind {
    struct builder *b;
    VECTOR(struct function) functions;
    VECTOR(struct call_part) parts;
    struct table index, same, names[NAMES]; /* same: parts by function, line and callee */
    VECTOR(const char *) texts;
    struct call_place now, called;
    int said;                /* names of `called` that the lines of a call gave, by bit */
    int32_t current, callee; /* functions; callee -1: the next costs are its own */
    int64_t line;
    int positions, events, of_line, steps;
    int kind[EVENTS]; /* of a column; -1 not of use */
    double unit, total[IMPORT_COSTS];
    int64_t damaged, hidden;
    double summary[EVENTS], totals[EVENTS]; /* totals: of lines; the summary may have more */
    int has_totals, own_format;
};

/* "(12) name" gives 12 a name, "(12)" says it again; else the text itself. */
static enum err callgrind_name(struct callgrind *c, int what, const char *s, size_t n,
                               const char **out)
{
    char *end;
    *out = NULL;
    if (!n)
        return ERR_OK;
    unsigned long long id = *s == '(' && s[1] >= '0' && s[1] <= '9' ? strtoull(s + 1, &end, 10) : 0;
    if (*s != '(' || s[1] < '0' || s[1] > '9' || end >= s + n || *end != ')') {
        *out = what == NAME_FUNCTION ? import_text(c->b, s, n) : import_path(c->b, s, n);
        return ERR_OK;
    }
    const char *rest = end + 1;
    while (rest < s + n && *rest == ' ')
        rest++;
    if (rest < s + n) {
        size_t m = (size_t)(s + n - rest);
        const char *name =
            what == NAME_FUNCTION ? import_text(c->b, rest, m) : import_path(c->b, rest, m);
        TRY(table_put(&c->names[what], id, (uint32_t)c->texts.count));
        TRY(vector_add(&c->texts, name));
    }
    uint32_t at = table_get(&c->names[what], id);
    if (at == TABLE_NONE)
        c->damaged++;
    else
        *out = c->texts.items[at];
    return ERR_OK;
}

static enum err callgrind_function(struct callgrind *c, const struct call_place *p, int32_t *out)
{
    uint64_t key[] = {(uintptr_t)p->name[0], (uintptr_t)p->name[1], (uintptr_t)p->name[2]};
    uint64_t hash = table_hash((const char *)key, sizeof key);
    uint32_t at = table_get(&c->index, hash);
    if (at == TABLE_NONE) {
        at = (uint32_t)c->functions.count;
        TRY(vector_add(&c->functions, (struct function){.at = *p, .first = -1, .last_part = -1}));
        TRY(table_put(&c->index, hash, at));
    }
    *out = (int32_t)at;
    return ERR_OK;
}

static int file_is_unknown(const char *file)
{
    return !file || !strcmp(file, "???");
}

/* The next number of the line; 0: none is left. */
static int callgrind_number(const char **s, const char *end, double *v)
{
    char *stop;
    while (*s < end && **s == ' ')
        (*s)++;
    if (*s >= end)
        return 0;
    *v = strtod(*s, &stop);
    int found = stop > *s;
    *s = stop;
    return found;
}

/* Costs of the current function at the current line: its own, or of the call. */
static enum err callgrind_costs(struct callgrind *c, const char *s, const char *end)
{
    struct call_part p = {.file = c->now.name[NAME_FILE],
                          .line = c->line,
                          .callee = c->callee,
                          .next = -1,
                          .last = -1};
    int any = 0;
    for (int i = 0; i < c->events; i++) {
        double v;
        if (!callgrind_number(&s, end, &v))
            break;
        if (c->kind[i] < 0)
            continue;
        v *= c->kind[i] == IMPORT_ALLOC ? 1 : c->unit;
        if (!(v >= 0 && v < 9e15)) {
            c->damaged++;
            continue;
        }
        p.cost[c->kind[i]] += llround(v);
        any |= v > 0;
    }
    c->callee = -1;
    if (!any)
        return ERR_OK;
    struct function *f = &c->functions.items[c->current];
    for (int k = 0; k < IMPORT_COSTS; k++) {
        (p.callee < 0 ? f->own : f->out)[k] += (double)p.cost[k];
        c->total[k] += p.callee < 0 ? (double)p.cost[k] : 0;
        if (p.callee >= 0)
            c->functions.items[p.callee].in[k] += (double)p.cost[k];
    }
    uint64_t key[] = {(uintptr_t)p.file, (uint64_t)p.line,
                      (uint64_t)c->current << 32 | (uint32_t)(p.callee + 1)};
    uint64_t hash = table_hash(key, sizeof key);
    uint32_t twin = table_get(&c->same, hash);
    if (twin != TABLE_NONE) {
        for (int k = 0; k < IMPORT_COSTS; k++)
            c->parts.items[twin].cost[k] += p.cost[k];
        return ERR_OK;
    }
    int32_t at = (int32_t)c->parts.count;
    TRY(table_put(&c->same, hash, (uint32_t)at));
    *(f->last_part < 0 ? &f->first : &c->parts.items[f->last_part].next) = at;
    f->last_part = at;
    FAIL_IF(at >= 1 << 26, ERR_INPUT, "%s: more than 67 million lines of cost", c->b->base);
    return vector_add(&c->parts, p);
}

/* "12", "0x1f", "+3", "-2", "*": as many positions as the file says, the line one of them. */
static enum err callgrind_position(struct callgrind *c, const char *s, const char *end)
{
    for (int i = 0; i < c->positions; i++) {
        char *stop;
        if (s >= end) {
            c->damaged++;
            return ERR_OK;
        }
        if (*s == '*')
            s++;
        else {
            const char *digits = s + (*s == '+' || *s == '-');
            long long v = strtoll(s, &stop, digits[0] == '0' && digits[1] == 'x' ? 16 : 10);
            if (i == c->of_line)
                c->line = *s == '+' || *s == '-' ? c->line + v % INT32_MAX : v;
            if (stop == s) {
                c->damaged++;
                return ERR_OK;
            }
            s = stop;
        }
        while (s < end && *s == ' ')
            s++;
    }
    if (c->line < 0 || c->line >= INT32_MAX)
        c->line = 0;
    return c->current >= 0 ? callgrind_costs(c, s, end) : (c->damaged++, ERR_OK);
}

static void callgrind_columns(struct callgrind *c, const char *s, const char *end)
{
    static const struct {
        const char *name;
        int kind;
    } known[] = {
        {"cpu", IMPORT_CPU}, {"gpu", IMPORT_GPU}, {"wait", IMPORT_WAIT}, {"alloc", IMPORT_ALLOC}};
    c->events = 0;
    while (s < end && c->events < EVENTS) {
        while (s < end && *s == ' ')
            s++;
        const char *stop = s;
        while (stop < end && *stop != ' ')
            stop++;
        if (stop == s)
            return;
        int kind = -1;
        for (size_t i = 0; i < sizeof known / sizeof *known && c->own_format; i++)
            if (strlen(known[i].name) == (size_t)(stop - s) &&
                !memcmp(s, known[i].name, (size_t)(stop - s)))
                kind = known[i].kind;
        if (!c->own_format && stop - s == 2 && !memcmp(s, "Ir", 2))
            kind = IMPORT_CPU;
        c->kind[c->events++] = kind;
        s = stop;
    }
}

/* The rest of a line that begins with `word`; NULL: another line. */
static const char *rest_after_word(const char *s, size_t n, const char *word)
{
    size_t m = strlen(word);
    if (n < m || memcmp(s, word, m))
        return NULL;
    while (m < n && s[m] == ' ')
        m++;
    return s + m;
}

/* Adds one for each part of the file. */
static void callgrind_sums(const struct callgrind *c, const char *at, const char *end,
                           double to[EVENTS])
{
    double v;
    for (int i = 0; i < c->events && callgrind_number(&at, end, &v); i++)
        to[i] += v;
}

static enum err callgrind_header(struct callgrind *c, const char *s, size_t n)
{
    const char *at, *end = s + n;
    if ((at = rest_after_word(s, n, "creator:")))
        c->own_format = end - at >= 8 && !memcmp(at, "tomoprof", 8);
    else if ((at = rest_after_word(s, n, "positions:"))) {
        c->positions = memmem(at, (size_t)(end - at), "instr", 5) ? 2 : 1;
        c->of_line = c->positions - 1;
    } else if ((at = rest_after_word(s, n, "events:")))
        callgrind_columns(c, at, end);
    else if ((at = rest_after_word(s, n, "summary:")))
        callgrind_sums(c, at, end, c->summary);
    else if ((at = rest_after_word(s, n, "totals:"))) {
        callgrind_sums(c, at, end, c->totals);
        c->has_totals = 1;
    }
    return ERR_OK;
}

static enum err callgrind_read_line(struct callgrind *c, const char *s, size_t n)
{
    static const struct {
        const char *word;
        int what, call;
    } names[] = {{"fl=", NAME_FILE, 0},   {"fi=", NAME_FILE, 0},  {"fe=", NAME_FILE, 0},
                 {"ob=", NAME_OBJECT, 0}, {"cfi=", NAME_FILE, 1}, {"cfl=", NAME_FILE, 1},
                 {"cob=", NAME_OBJECT, 1}};
    const char *at;
    if (!n || *s == '#')
        return ERR_OK;
    if ((*s >= '0' && *s <= '9') || *s == '+' || *s == '-' || *s == '*')
        return callgrind_position(c, s, s + n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!(at = rest_after_word(s, n, names[i].word)))
            continue;
        c->said |= names[i].call << names[i].what;
        return callgrind_name(c, names[i].what, at, (size_t)(s + n - at),
                              &(names[i].call ? &c->called : &c->now)->name[names[i].what]);
    }
    if ((at = rest_after_word(s, n, "fn="))) {
        TRY(callgrind_name(c, NAME_FUNCTION, at, (size_t)(s + n - at),
                           &c->now.name[NAME_FUNCTION]));
        return callgrind_function(c, &c->now, &c->current);
    }
    if ((at = rest_after_word(s, n, "cfn="))) {
        c->said |= 1 << NAME_FUNCTION;
        TRY(callgrind_name(c, NAME_FUNCTION, at, (size_t)(s + n - at),
                           &c->called.name[NAME_FUNCTION]));
        for (int i = 0; i < NAMES; i++)
            c->called.name[i] = c->said & 1 << i ? c->called.name[i] : c->now.name[i];
        c->said = 0;
        TRY(callgrind_function(c, &c->called, &c->callee));
        c->called = (struct call_place){0};
        return ERR_OK;
    }
    if (rest_after_word(s, n, "calls=") || rest_after_word(s, n, "jump=") ||
        rest_after_word(s, n, "jcnd="))
        return ERR_OK;
    return callgrind_header(c, s, n);
}

static enum err callgrind_lines(struct callgrind *c, const struct import_input *in)
{
    const char *at = in->data, *end = at + in->bytes;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        TRY(callgrind_read_line(c, at, n && at[n - 1] == '\r' ? n - 1 : n));
        at = stop ? stop + 1 : end;
    }
    return ERR_OK;
}

static enum err callgrind_node(struct callgrind *c, const struct function *f,
                               const struct call_part *p, int32_t parent, int32_t *node)
{
    const char *object = f->at.name[NAME_OBJECT];
    int has_line = p->line > 0 && !file_is_unknown(p->file);
    struct model_frame frame = {.function = f->at.name[NAME_FUNCTION],
                                .file = has_line ? p->file : NULL,
                                .line = has_line ? p->line : MODEL_UNKNOWN,
                                .module = object                     ? object
                                          : file_is_unknown(p->file) ? NULL
                                                                     : p->file,
                                .kind = name_kind(has_line ? p->file : NULL),
                                .thread = -1};
    if (has_line && !object)
        frame.module = NULL;
    return builder_call(c->b, parent, &frame, node);
}

/* Visits a function once: `share` of all that it cost. */
static enum err callgrind_visit(struct callgrind *c, int32_t index, int32_t parent,
                                const double share[IMPORT_COSTS], int depth)
{
    struct function *f = &c->functions.items[index];
    f->open = 1;
    for (int32_t i = f->first; i >= 0 && c->steps < STEPS; i = c->parts.items[i].next) {
        struct call_part *p = &c->parts.items[i];
        int32_t node;
        c->steps++;
        if (p->callee < 0) {
            TRY(callgrind_node(c, f, p, parent, &node));
            for (int k = 0; k < IMPORT_COSTS; k++) {
                int64_t left = p->cost[k] - p->given[k],
                        part = llround((double)p->cost[k] * share[k]);
                part = part < left ? part : left;
                if (part > 0)
                    TRY(builder_cost(c->b, node, (enum import_cost)k, part, 0));
                p->given[k] += part;
            }
            p->last = node;
            continue;
        }
        const struct function *g = &c->functions.items[p->callee];
        double next[IMPORT_COSTS];
        int worth = 0;
        for (int k = 0; k < IMPORT_COSTS; k++) {
            double all = fmax(g->own[k] + g->out[k], g->in[k]);
            next[k] = all > 0 ? share[k] * (double)p->cost[k] / all : 0;
            worth |= next[k] * all > LEAST * c->total[k];
        }
        if (g->open || depth >= DEEPEST || !worth)
            continue;
        TRY(callgrind_node(c, f, p, parent, &node));
        TRY(callgrind_visit(c, p->callee, node, next, depth + 1));
    }
    c->functions.items[index].open = 0;
    return ERR_OK;
}

/* The rest that no visit gave away goes to the last line that got of it where only rounding is
 * left, else to the function itself, without callers. */
static enum err callgrind_rests(struct callgrind *c, int32_t root)
{
    for (size_t i = 0; i < c->functions.count; i++) {
        const struct function *f = &c->functions.items[i];
        for (int32_t at = f->first; at >= 0; at = c->parts.items[at].next) {
            const struct call_part *p = &c->parts.items[at];
            for (int k = 0; k < IMPORT_COSTS && p->callee < 0; k++) {
                int64_t left = p->cost[k] - p->given[k];
                int32_t node = p->last;
                int rounding = node >= 0 && (double)left <= 64 + 1e-6 * (double)p->cost[k];
                if (!left)
                    continue;
                if (!rounding)
                    TRY(callgrind_node(c, f, p, root, &node));
                c->hidden += !rounding;
                TRY(builder_cost(c->b, node, (enum import_cost)k, left, 0));
            }
        }
    }
    return ERR_OK;
}

static enum err callgrind_stacks(struct callgrind *c)
{
    int32_t process, thread, root;
    TRY(builder_process(c->b, 0, NULL, &process));
    TRY(builder_thread(c->b, process, 0, "all threads", &thread));
    TRY(builder_call(c->b, IMPORT_ROOT(thread), NULL, &root));
    for (size_t i = 0; i < c->functions.count; i++) {
        const struct function *f = &c->functions.items[i];
        double share[IMPORT_COSTS];
        int worth = 0;
        for (int k = 0; k < IMPORT_COSTS; k++) {
            double all = f->own[k] + f->out[k];
            share[k] = all > f->in[k] ? (all - f->in[k]) / all : 0;
            worth |= share[k] * all > LEAST * c->total[k];
        }
        if (worth)
            TRY(callgrind_visit(c, (int32_t)i, root, share, 0));
    }
    return callgrind_rests(c, root);
}

static enum err callgrind_checks(struct callgrind *c)
{
    const double *said = c->has_totals ? c->totals : c->summary;
    for (int i = 0; i < c->events; i++)
        if (c->kind[i] == IMPORT_CPU && said[i] > 0)
            TRY(import_check(c->b, "totals_are_sums", said[i] * c->unit, c->total[IMPORT_CPU], 1e-6,
                             "costs of all lines add up to the total of the file, ns"));
    TRY(import_check(c->b, "callgrind_kept", c->total[IMPORT_CPU], (double)c->b->added[IMPORT_CPU],
                     1e-9, "costs of all lines are in the stacks, ns"));
    TRY(import_note(c->b, 1, "import_no_stacks", "info",
                    "Callgrind holds calls between functions, not stacks. They were put together "
                    "from the calls.",
                    "Times of functions and of their calls hold; who called the caller is an "
                    "estimate where a function has several."));
    TRY(import_note(c->b, c->hidden, "import_callers", "info",
                    "Costs of functions that call themselves, or of very small calls, have no "
                    "caller in the stacks.",
                    "Self times are whole; inclusive times of their callers are lower limits."));
    return import_note(c->b, c->damaged, "import_damaged", "warning",
                       "Lines had no position, no function, or numbers out of range.",
                       "They were left out.");
}

static enum err callgrind_read_all(struct callgrind *c, const struct import_input *in, double rate)
{
    c->unit = 1;
    const char *creator = memmem(in->data, in->bytes < 4096 ? in->bytes : 4096, "creator:", 8);
    c->own_format = creator && rest_after_word(creator, (size_t)(in->data + in->bytes - creator),
                                               "creator: tomoprof");
    FAIL_IF(!c->own_format && rate <= 0, ERR_INPUT,
            "%s: callgrind counts instructions, not time. Give `rate=HZ`, the instructions per "
            "second (1e9: each counts as 1 ns).",
            in->path);
    c->unit = c->own_format ? 1 : 1e9 / rate;
    TRY(callgrind_lines(c, in));
    int any = 0;
    for (int k = 0; k < IMPORT_COSTS; k++)
        any |= c->total[k] > 0;
    FAIL_IF(!any, ERR_INPUT,
            "%s: callgrind's format without a cost that is known (Ir; of tomoprof: cpu, gpu, wait, "
            "alloc)",
            in->path);
    TRY(callgrind_stacks(c));
    TRY(callgrind_checks(c));
    if (!c->own_format)
        TRY(import_note(c->b, 1, "import_unit", "info",
                        "Callgrind counts instructions; the rate that was given makes them times.",
                        "Waiting and slow memory do not show."));
    return source_is(c->b, c->own_format ? "tomoprof (callgrind)" : "callgrind", NULL);
}

static enum err callgrind_read(struct builder *b, const struct import_input *in,
                               const struct import_options *o)
{
    struct callgrind c = {.b = b, .positions = 1, .current = -1, .callee = -1};
    enum err e = callgrind_read_all(&c, in, o->rate_hz);
    vector_free(&c.functions);
    vector_free(&c.parts);
    vector_free(&c.texts);
    table_free(&c.index);
    table_free(&c.same);
    for (int i = 0; i < NAMES; i++)
        table_free(&c.names[i]);
    return e;
}

/* "events:" at the start of a line, after callgrind's first lines. */
static int callgrind_is_it(const struct import_input *in)
{
    size_t n = in->bytes < 65536 ? in->bytes : 65536;
    if (n < 8 || (memcmp(in->data, "# callgr", 8) && memcmp(in->data, "version:", 8) &&
                  memcmp(in->data, "creator:", 8)))
        return 0;
    return memmem(in->data, n, "\nevents:", 8) != NULL;
}

const struct import_source import_callgrind = {
    "callgrind", "callgrind's profiles, as valgrind and tomoprof write them", callgrind_is_it,
    callgrind_read};
