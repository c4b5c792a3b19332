/* Models with a call tree of own code, and the answers to them. */
#ifndef TP_TESTS_UNIT_FINDINGS_OWN_CASE_H
#define TP_TESTS_UNIT_FINDINGS_OWN_CASE_H

#include <string.h>

#include "profiler/findings/answers.h"
#include "tests/unit/check.h"

#define MS 1000000

/* A node of the tree of own code: milliseconds of CPU time, of wall time computing and waiting. */
struct node {
    int parent;
    const char *kind, *file;
    int line;
    const char *function;
    int cpu, path, wait;
    const char *waits_for;
};

/* A run of `wall` s whose own code is `nodes`; its CPU time is theirs, 100 samples a second. */
static struct model *run_of(double wall, const struct node *nodes, int n)
{
    struct model *m;
    double cpu = 0;
    assert_ok(model_create(&m));
    assert_ok(model_list(m, model_own, m, own, (size_t)n));
    assert_ok(model_list(m, model_file, m, files, 1));
    m->files[0].path = "app.py";
    m->files[0].language = "python";
    for (int i = 0; i < n; i++) {
        const struct node *from = &nodes[i];
        struct model_own *o = &m->own[i];
        *o = (struct model_own){.parent = from->parent,
                                .kind = from->kind,
                                .file = from->file,
                                .line = from->line,
                                .function = from->function,
                                .module = from->file ? NULL : "/home/me/prog",
                                .cpu_ns = (int64_t)from->cpu * MS,
                                .path_cpu_ns = (int64_t)from->path * MS,
                                .path_wait_ns = (int64_t)from->wait * MS,
                                .wait_ns = (int64_t)from->wait * MS,
                                .waits_for = from->waits_for};
        cpu += 1e-3 * from->cpu;
    }
    m->meta.wall_s = wall;
    m->totals.path_ready_s = 0;
    m->meta.wait_hz = 20;
    m->totals.cpu.user = cpu;
    m->totals.cpu.sys = 0;
    m->totals.cpu.samples = (int64_t)(100 * cpu);
    return m;
}
#define RUN(wall, nodes) run_of(wall, nodes, (int)(sizeof nodes / sizeof *nodes))

#define ROOT                                                                                       \
    {                                                                                              \
        -1, "run", NULL, 0, NULL, 0, 0, 0, NULL                                                    \
    }
#define LINE(parent, line, function, cpu, path)                                                    \
    {                                                                                              \
        parent, "code", "app.py", line, function, cpu, path, 0, NULL                               \
    }
#define WAIT(parent, line, function, ms, how)                                                      \
    {                                                                                              \
        parent, "code", "app.py", line, function, 0, 0, ms, how                                    \
    }

/* Answers of a model with the findings that a test gave it. */
static inline enum err answer(struct model *m)
{
    struct run_facts facts;
    run_facts_of(m, &facts);
    return answers_add(m, &facts);
}

static void begins_with(const struct model *m, const char *text)
{
    if (strncmp(m->headline, text, strlen(text)))
        fail_msg("\"%s\" does not begin with \"%s\"", m->headline, text);
}

#endif
