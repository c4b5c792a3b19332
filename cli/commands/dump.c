/* The command `dump`: the stacks of a running process, and what its threads wait for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/json/jsonw.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/runs/run_files.h"
#include "profiler/analyze/analyze.h"
#include "profiler/outside/outside.h"

static struct dump_request {
    double seconds;
    int json;
} request = {.seconds = 0.1};

static struct opt options[] = {
    OPTION_NUMBER("seconds", 's', request.seconds, "N",
                  "look for so long; of each thread, the stack that it had longest is shown\n"
                  "(default 0.1)",
                  0.02, 60),
    CLI_OPT_JSON(request.json),
    {0},
};

/* Holds what was seen of a process. */
struct dump {
    pid_t pid;
    struct model *m;
    int *stack; /* of each thread of the model: node that it was at longest; -1 none */
    char (*state)[OUTSIDE_STATE];
};

static const struct model_frame *dump_frame(const struct model *m, int node)
{
    const int frame = m->stacks[node].frame;
    return frame >= 0 && frame < m->frames_count ? &m->frames[frame] : NULL;
}

static int is_thread_node(const struct model *m, int node)
{
    const struct model_frame *f = dump_frame(m, node);
    return f && f->kind && !strcmp(f->kind, "thread");
}

/* Finds the thread of a node by its root; -1 unknown. */
static int dump_thread(const struct model *m, int node)
{
    while (m->stacks[node].parent >= 0)
        node = m->stacks[node].parent;
    return is_thread_node(m, node) ? dump_frame(m, node)->thread : -1;
}

static int64_t known_ns(int64_t ns)
{
    return ns > 0 ? ns : 0;
}

/* Nodes without a frame below the thread are time without a stack. */
static void dump_stacks(struct dump *d)
{
    const struct model *m = d->m;
    for (int t = 0; t < m->threads_count; t++)
        d->stack[t] = -1;
    for (int i = 0; i < m->stacks_count; i++) {
        const int64_t ns = known_ns(m->stacks[i].cpu_ns) + known_ns(m->stacks[i].wait_ns);
        const int t = ns && !is_thread_node(m, i) ? dump_thread(m, i) : -1;
        if (t < 0 || t >= m->threads_count)
            continue;
        const int best = d->stack[t];
        if (best < 0 || ns > known_ns(m->stacks[best].cpu_ns) + known_ns(m->stacks[best].wait_ns))
            d->stack[t] = i;
    }
}

static int is_native(const struct model_frame *f)
{
    return !f->kind || strcmp(f->kind, "python");
}

static void dump_text(const struct dump *d)
{
    const struct model *m = d->m;
    printf("Process %d:", (int)d->pid);
    for (int i = 0; i < m->meta.command_count; i++)
        plain_print(stdout, " %s", m->meta.command[i] ? m->meta.command[i] : "?");
    plain_print(stdout, "\n%d thread%s; the most recent call is first.\n", m->threads_count,
                m->threads_count == 1 ? "" : "s");
    for (int t = 0; t < m->threads_count; t++) {
        const struct model_thread *thread = &m->threads[t];
        plain_print(stdout, "\nThread %lld%s%s%s: %s\n", (long long)thread->tid,
                    thread->name ? " " : "", thread->name ? thread->name : "",
                    thread->main ? " (main)" : "", d->state[t]);
        if (d->stack[t] < 0)
            puts("    its stack could not be read");
        for (int n = d->stack[t]; n >= 0 && !is_thread_node(m, n); n = m->stacks[n].parent) {
            const struct model_frame *f = dump_frame(m, n);
            if (!f)
                continue;
            plain_print(stdout, "    %s %s", is_native(f) ? "native" : "python",
                        f->function ? f->function : "[unknown]");
            if (f->file)
                plain_print(stdout, " (%s:%lld)", f->file, (long long)f->line);
            else if (f->module)
                plain_print(stdout, " (%s)", f->module);
            putchar('\n');
        }
    }
}

static void dump_json(const struct dump *d)
{
    const struct model *m = d->m;
    struct jsonw w;
    jsonw_init(&w, stdout, 1);
    jsonw_object(&w);
    jsonw_kint(&w, "pid", d->pid);
    jsonw_karray(&w, "threads");
    for (int t = 0; t < m->threads_count; t++) {
        jsonw_object(&w);
        jsonw_kint(&w, "tid", m->threads[t].tid);
        jsonw_kstring(&w, "name", m->threads[t].name);
        jsonw_kbool(&w, "main", m->threads[t].main);
        jsonw_kstring(&w, "state", d->state[t]);
        jsonw_karray(&w, "frames");
        for (int n = d->stack[t]; n >= 0 && !is_thread_node(m, n); n = m->stacks[n].parent) {
            const struct model_frame *f = dump_frame(m, n);
            if (!f)
                continue;
            jsonw_object(&w);
            jsonw_kstring(&w, "kind", is_native(f) ? "native" : "python");
            jsonw_kstring(&w, "function", f->function);
            jsonw_kstring(&w, "file", f->file);
            jsonw_key(&w, "line");
            if (f->file && f->line > 0)
                jsonw_int(&w, f->line);
            else
                jsonw_null(&w);
            jsonw_kstring(&w, "module", f->module);
            jsonw_end(&w);
        }
        jsonw_end(&w);
        jsonw_end(&w);
    }
    jsonw_end(&w);
    jsonw_end(&w);
    putchar('\n');
}

static enum err dump_print(struct dump *d)
{
    const size_t n = (size_t)d->m->threads_count + 1;
    d->stack = calloc(n, sizeof *d->stack);
    d->state = calloc(n, sizeof *d->state);
    FAIL_IF(!d->stack || !d->state, ERR_MEMORY, "no memory for the threads of process %d",
            (int)d->pid);
    dump_stacks(d);
    for (int t = 0; t < d->m->threads_count; t++)
        if (!outside_state(d->pid, (pid_t)d->m->threads[t].tid, d->state[t]))
            snprintf(d->state[t], OUTSIDE_STATE, "has ended");
    if (request.json)
        dump_json(d);
    else
        dump_text(d);
    return ERR_OK;
}

/* Records the process for a moment into a folder, which is removed again. */
static enum err dump_process(pid_t pid, const char *folder, char **command)
{
    char trace[TRACING_PATH];
    struct outside_end end;
    struct dump d = {.pid = pid};
    TRY(tracing_folder(folder, trace));
    const struct outside_settings settings = {
        .pid = pid, .seconds = request.seconds, .rate_hz = 200, .folder = trace, .stop = &cli_stop};
    const struct analyze_options how = {
        .tool_version = TP_VERSION, .command = (const char *const *)command, .no_source = 1};
    TRY(outside_record(&settings, &end));
    TRY(analyze_run(folder, &how, &d.m));
    const enum err e = dump_print(&d);
    free(d.stack);
    free(d.state);
    model_destroy(d.m);
    return e;
}

static enum err run_dump(int words, char **word)
{
    char folder[] = "/tmp/tomoprof-dump-XXXXXX", *end;
    const long pid = strtol(word[0], &end, 10);
    (void)words;
    FAIL_IF(end == word[0] || *end || pid < 1 || pid > INT32_MAX, ERR_USAGE,
            "dump %s: not a process id. `pgrep -a NAME` lists those of a program.", word[0]);
    TRY(outside_check((pid_t)pid));
    char **command = outside_command((pid_t)pid);
    FAIL_IF(!command, ERR_MEMORY, "no memory for the command line of process %ld", pid);
    enum err e = mkdtemp(folder) ? dump_process((pid_t)pid, folder, command)
                                 : FAIL(ERR_IO, "%s: cannot be made", folder);
    dir_remove(folder);
    free(command);
    return e;
}

const struct command cmd_dump = {
    .name = "dump",
    .summary = "Prints the stacks of a running process, and what its threads wait for.",
    .words = "PID",
    .text =
        "Frames of Python and native code, of all threads, the most recent call first. A thread "
        "that runs is\n"
        "stopped for a moment; one that waits is not touched, and the process goes on. Needs the\n"
        "rights of `record --pid`.\n\n"
        "Examples:\n"
        "  tomoprof dump 4711\n"
        "  tomoprof dump $(pgrep -n python3)\n",
    .options = options,
    .min_words = 1,
    .max_words = 1,
    .flags = CMD_STOPS,
    .run = run_dump,
};
