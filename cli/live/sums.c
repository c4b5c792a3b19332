/* Sums of the intervals, by line, function and thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "cli/live/live.h"
#include "profiler/findings/functions.h"

static double live_known(double s)
{
    return isfinite(s) && s > 0 ? s : 0;
}

/* Finds the row of a name, or makes it; NULL: no memory. */
static struct live_row *live_row_of(struct live_sums *l, enum live_kind kind, const char *name,
                                    const char *text)
{
    struct live_rows *rows = &l->rows[kind];
    const uint64_t key = table_hash(name, strlen(name));
    const uint32_t at = table_get(&rows->index, key);
    if (at != TABLE_NONE)
        return &rows->list.items[at];
    const struct live_row row = {.name = arena_text(l->texts, name),
                                 .text = arena_text(l->texts, text ? text : "")};
    if (!row.name || !row.text || table_put(&rows->index, key, (uint32_t)rows->list.count) ||
        vector_add(&rows->list, row))
        return NULL;
    return &rows->list.items[rows->list.count - 1];
}

static enum err live_add_row(struct live_sums *l, enum live_kind kind, const char *name,
                             const char *text, double self_s, double incl_s)
{
    struct live_row *row = live_row_of(l, kind, name, text);
    FAIL_IF(!row, ERR_MEMORY, "no memory for the rows of process %d", (int)l->pid);
    row->now_s += live_known(self_s);
    row->self_s += live_known(self_s);
    row->incl_s += live_known(incl_s);
    return ERR_OK;
}

static enum err live_add_lines(struct live_sums *l, const struct model *m)
{
    for (int f = 0; f < m->files_count; f++)
        for (int i = 0; i < m->files[f].lines_count; i++) {
            const struct model_line *line = &m->files[f].lines[i];
            const double self = live_known(line->cpu.user) + live_known(line->cpu.sys),
                         incl = live_known(line->cpu_incl.user) + live_known(line->cpu_incl.sys);
            const char *name =
                arena_print(l->texts, "%s:%lld", m->files[f].path, (long long)line->line);
            FAIL_IF(!name, ERR_MEMORY, "no memory for the lines of process %d", (int)l->pid);
            if (self + incl > 0)
                TRY(live_add_row(l, LIVE_LINES, name, line->text, self, incl));
        }
    for (int i = 0; i < m->unattributed_count; i++) {
        const struct model_module *row = &m->unattributed[i];
        const double self = live_known(row->cpu.user) + live_known(row->cpu.sys);
        if (self > 0)
            TRY(live_add_row(l, LIVE_LINES, row->module, "(no source line)", self, self));
    }
    return ERR_OK;
}

static enum err live_add_functions(struct live_sums *l, const struct model *m)
{
    struct function_row *rows;
    size_t count;
    TRY(functions_find(m, &rows, &count));
    enum err e = ERR_OK;
    for (size_t i = 0; i < count && !e; i++) {
        const char *name = *rows[i].place
                               ? arena_print(l->texts, "%s (%s)", rows[i].name, rows[i].place)
                               : rows[i].name;
        e = name ? live_add_row(l, LIVE_FUNCTIONS, name, "", rows[i].self_s, rows[i].incl_s)
                 : FAIL(ERR_MEMORY, "no memory for the functions of process %d", (int)l->pid);
    }
    free(rows);
    return e;
}

static const struct model_frame *node_frame(const struct model *m, int node)
{
    const int frame = m->stacks[node].frame;
    return frame >= 0 && frame < m->frames_count ? &m->frames[frame] : NULL;
}

/* Finds the thread of a node by its root; -1 unknown. */
static int node_thread(const struct model *m, int node)
{
    while (m->stacks[node].parent >= 0)
        node = m->stacks[node].parent;
    const struct model_frame *f = node_frame(m, node);
    return f && f->kind && !strcmp(f->kind, "thread") ? f->thread : -1;
}

static int frame_is_own(const struct model *m, const struct model_frame *f)
{
    for (int i = 0; f && f->file && i < m->files_count; i++)
        if (m->files[i].path && !strcmp(m->files[i].path, f->file))
            return m->files[i].user;
    return 0;
}

/* Names where a stack is: its innermost own line, else its innermost function. */
static const char *node_place(struct live_sums *l, const struct model *m, int node)
{
    const struct model_frame *leaf = node_frame(m, node);
    for (int n = node; n >= 0; n = m->stacks[n].parent) {
        const struct model_frame *f = node_frame(m, n);
        if (frame_is_own(m, f))
            return arena_print(l->texts, "%s:%lld %s", base_name(f->file), (long long)f->line,
                               f->function ? f->function : "");
    }
    return leaf && leaf->function ? arena_text(l->texts, leaf->function) : "";
}

static int64_t node_ns(const struct model *m, int node)
{
    const struct model_stack *s = &m->stacks[node];
    return (s->cpu_ns > 0 ? s->cpu_ns : 0) + (s->wait_ns > 0 ? s->wait_ns : 0);
}

/* Finds the node where a thread was longest; -1 none. */
static int thread_node(const struct model *m, int thread)
{
    int best = -1;
    for (int i = 0; i < m->stacks_count; i++)
        if (node_ns(m, i) && m->stacks[i].parent >= 0 && node_thread(m, i) == thread &&
            (best < 0 || node_ns(m, i) > node_ns(m, best)))
            best = i;
    return best;
}

static enum err live_add_threads(struct live_sums *l, const struct model *m)
{
    struct live_rows *rows = &l->rows[LIVE_THREADS];
    for (size_t i = 0; i < rows->list.count; i++)
        rows->list.items[i].gone = 1;
    for (int t = 0; t < m->threads_count; t++) {
        const struct model_thread *thread = &m->threads[t];
        const double s = live_known(thread->user_s) + live_known(thread->sys_s);
        const int node = thread_node(m, t);
        char state[OUTSIDE_STATE];
        const char *called = thread->main   ? "(main)"
                             : thread->name ? thread->name
                                            : "",
                   *name = arena_print(l->texts, "%lld %s", (long long)thread->tid, called);
        FAIL_IF(!name, ERR_MEMORY, "no memory for the threads of process %d", (int)l->pid);
        TRY(live_add_row(l, LIVE_THREADS, name, "", s, s));
        struct live_row *row = live_row_of(l, LIVE_THREADS, name, "");
        row->gone = !outside_state(l->pid, (pid_t)thread->tid, state);
        row->text = row->gone ? "has ended" : arena_text(l->texts, state);
        row->place = node < 0 ? "" : node_place(l, m, node);
        FAIL_IF(!row->text || !row->place, ERR_MEMORY, "no memory for the threads of process %d",
                (int)l->pid);
    }
    return ERR_OK;
}

enum err live_create(struct live_sums *l, const struct watch *w)
{
    char words[1024] = "";
    *l = (struct live_sums){.pid = w->pid};
    TRY(arena_create(&l->texts));
    for (char **word = w->command; *word; word++)
        text_append(words, sizeof words, "%s%s", *words ? " " : "", *word);
    l->command = arena_text(l->texts, words);
    FAIL_IF(!l->command, ERR_MEMORY, "no memory for the command line of process %d", (int)w->pid);
    return ERR_OK;
}

enum err live_add(struct live_sums *l, const struct model *m, double seconds)
{
    for (int k = 0; k < LIVE_KINDS; k++)
        for (size_t i = 0; i < l->rows[k].list.count; i++)
            l->rows[k].list.items[i].now_s = 0;
    l->now_s = live_known(m->totals.cpu.user) + live_known(m->totals.cpu.sys);
    l->cpu_s += l->now_s;
    l->interval_s = seconds;
    l->wall_s += seconds;
    TRY(live_add_lines(l, m));
    TRY(live_add_functions(l, m));
    return live_add_threads(l, m);
}

void live_free(struct live_sums *l)
{
    for (int k = 0; k < LIVE_KINDS; k++) {
        vector_free(&l->rows[k].list);
        table_free(&l->rows[k].index);
    }
    arena_free(l->texts);
}

enum err live_reset(struct live_sums *l, const struct watch *w)
{
    live_free(l);
    return live_create(l, w);
}
