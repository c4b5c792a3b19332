/* Lines that wait: what for, in words. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/advice/waits.h"
#include "profiler/findings/run_facts.h"

#define MOST    0.5 /* of the wait */
#define BRIEF_S 0.01

int waits_for_work(const struct model *m, const struct model_own *at, double cost)
{
    const int waits = at->waits_for && !strcmp(at->waits_for, "lock");
    if (!waits || !m->contention_count || !(m->contention[0].any_s >= MOST * cost))
        return 0;
    for (int i = 0; i < m->locks_count && at->file; i++)
        if (m->locks[i].line == at->line && m->locks[i].file && m->locks[i].role &&
            !strcmp(m->locks[i].file, at->file))
            return !strcmp(m->locks[i].role, "work");
    return 1; /* a join */
}

/* The program that ran while the line waited, on whichever path that was. */
static const char *child_of_line(const struct model *m, const struct model_own *at)
{
    const char *program = NULL;
    int64_t longest = 0;
    for (int i = 0; i < m->own_count; i++) {
        const struct model_own *o = &m->own[i];
        const int same =
            o == at || (at->file && o->file && o->line == at->line && !strcmp(o->file, at->file));
        if (same && o->child && o->path_wait_ns > longest) {
            longest = o->path_wait_ns;
            program = o->child;
        }
    }
    return program;
}

/* 1: the line waits at a pipe, and a program that it started runs meanwhile. */
static int reads_child(const struct model *m, const struct model_own *at)
{
    double all = 0, pipes = 0;
    for (int i = 0; i < m->io.files_count && at->file; i++)
        for (int k = 0; k < m->io.files[i].lines_count; k++) {
            const struct model_io_place *p = &m->io.files[i].lines[k];
            if (!p->file || p->line != at->line || strcmp(p->file, at->file))
                continue;
            all += positive_or_0(p->waited_s);
            pipes += !strcmp(m->io.files[i].kind, "pipe") ? positive_or_0(p->waited_s) : 0;
        }
    return pipes > 0 && pipes >= MOST * all && child_of_line(m, at) != NULL;
}

static void child_words(const struct model *m, const struct model_own *at, char *out, size_t size)
{
    const char *names = m->quality.unrecorded_names, *program = child_of_line(m, at);
    char many[40] = "";
    double cpu_s = 0;
    int count = 0;
    for (int i = 1; i < m->processes_count && program; i++) {
        const struct model_process *p = &m->processes[i];
        if (p->program && !strcmp(p->program, program)) {
            cpu_s += p->cpu_s > 0 ? p->cpu_s : 0;
            count++;
        }
    }
    if (count > 1)
        snprintf(many, sizeof many, "%d processes, ", count);
    if (count && cpu_s < BRIEF_S)
        snprintf(out, size, "waits for `%.60s` (%shardly any CPU time)", base_name(program), many);
    else if (count)
        snprintf(out, size, "waits for `%.60s` (%s%s s of CPU time)", base_name(program), many,
                 NUMBER(2, cpu_s));
    else if (names)
        snprintf(out, size, "waits for a child process that was not recorded (%.60s)", names);
    else
        snprintf(out, size, "waits for a child process");
}

const char *waits_words(const struct model *m, const struct model_own *at, char *out, size_t size)
{
    static const struct {
        const char *kind, *words;
    } ways[] = {
        {"sleep", "sleeps"},
        {"io", "waits for input or output"},
        {"events", "waits for events (a socket, a pipe, a timer)"},
        {"child", NULL},
        {"lock", "waits for a lock or another thread"},
    };
    const char *kind = reads_child(m, at) ? "child" : at->waits_for;
    size_t way = 0;
    while (way + 1 < sizeof ways / sizeof *ways && (!kind || strcmp(ways[way].kind, kind)))
        way++;
    if (ways[way].words)
        snprintf(out, size, "%s", ways[way].words);
    else
        child_words(m, at, out, size);
    return ways[way].kind;
}
