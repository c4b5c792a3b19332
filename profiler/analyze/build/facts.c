/* Takes what a process says of itself (META) and of its recording (NOTE): the rows of the model's
 * meta, environment and quality, and what the program's own code is. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/build/build.h"
#include "profiler/analyze/state/sent_code.h"

/* "a\nb" or "a,b" to words. */
static enum err fact_split(struct run *r, const char *text, char separator, int paths,
                           const char ***words, int *count)
{
    int n = 1;
    for (const char *s = text; *s; s++)
        n += *s == separator;
    const char **list = arena_take(r->m->arena, (size_t)n * sizeof *list);
    FAIL_IF(!list, ERR_MEMORY, "no memory for the profile");
    for (int i = 0; i < n; i++) {
        const char *end = strchr(text, separator);
        size_t bytes = end ? (size_t)(end - text) : strlen(text);
        list[i] = arena_text_n(r->m->arena, text, bytes);
        if (paths && list[i])
            list[i] = path_shown_in(r, list[i]);
        text += bytes + 1;
    }
    *words = list;
    *count = n;
    return ERR_OK;
}

/* Facts of the first process about the sampling, of any about its interpreter; the rest goes to the
 * environment. Paths are relativised. */
static enum err fact_of_first(struct run *r, const char *key, const char *value, int *taken)
{
    struct model_meta *meta = &r->m->meta;
    static const struct {
        const char *key;
        size_t at;
    } numbers[] = {{"cpu.hz", offsetof(struct model_meta, cpu_hz)},
                   {"wait.hz", offsetof(struct model_meta, wait_hz)},
                   {"alloc.mean", offsetof(struct model_meta, alloc_mean_bytes)},
                   {"copy.mean", offsetof(struct model_meta, copy_mean_bytes)}};
    *taken = 1;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!strcmp(key, numbers[i].key)) {
            double v = strtod(value, NULL);
            *(double *)((char *)meta + numbers[i].at) = isfinite(v) && v > 0 ? v : (double)NAN;
            return ERR_OK;
        }
    if (!strcmp(key, "modes"))
        return fact_split(r, value, ',', 0, &meta->modes, &meta->modes_count);
    if (!strcmp(key, "cmdline"))
        return r->options->command
                   ? ERR_OK
                   : fact_split(r, value, '\n', 1, &meta->command, &meta->command_count);
    if (!strcmp(key, "cwd")) {
        r->cwd = run_text(r, value);
        return ERR_OK;
    }
    *taken = 0;
    return ERR_OK;
}

/* The folder of a program or script, whose sources are the program's own. */
static enum err fact_folder(struct run *r, const char *file, size_t bytes, int built)
{
    char text[4200];
    size_t n = bytes;
    while (n && file[n - 1] != '/')
        n--;
    if (n >= sizeof text || r->own_folders.count >= 100)
        return ERR_OK;
    snprintf(text, sizeof text, "%.*s", n > 1 ? (int)n - 1 : 1, n ? file : ".");
    const char *folder = run_text(r, text);
    for (size_t i = 0; i < r->own_folders.count; i++)
        if (r->own_folders.items[i].path == folder && r->own_folders.items[i].built == built)
            return ERR_OK;
    return vector_add(&r->own_folders, ((struct own_folder){folder, built}));
}

/* Adds the words, one in each line, that name a script. */
static enum err fact_scripts(struct run *r, const char *folder, const char *words)
{
    char path[4200];
    for (const char *at = words; *at; at += *at == '\n') {
        size_t n = strcspn(at, "\n");
        if (n > 3 && !memcmp(at + n - 3, ".py", 3)) {
            int inside = *at != '/' && folder;
            TRY(fact_folder(r, at, n, 0));
            snprintf(path, sizeof path, "%s%s%.*s", inside ? folder : "", inside ? "/" : "",
                     (int)(n < PATH_MAX ? n : PATH_MAX), at);
            TRY(sent_code_may_be_in(r, path));
        }
        at += n;
    }
    return ERR_OK;
}

/* A process that ended within its first milliseconds told the path by which it was started, which
 * may be a link (/bin/true): its file, where that is still here. */
static enum err fact_program(struct image *im, const char *value)
{
    struct run *r = im->run;
    char *file = *value == '/' ? realpath(value, NULL) : NULL;
    const char *exe = run_text(r, file ? file : value);
    free(file);
    FAIL_IF(!exe, ERR_MEMORY, "no memory for the texts of a trace");
    im->program.exe = exe;
    r->processes.items[im->index].program = path_shown(r, exe);
    return fact_folder(r, exe, strlen(exe), 1);
}

/* Returns the word behind `option` in words divided by line ends; NULL: it is not there. */
static const char *word_after(struct image *im, const char *words, const char *option)
{
    const char *at = strstr(words, option);
    at = at ? at + strlen(option) : NULL;
    return at ? arena_text_n(im->arena, at, strcspn(at, "\n")) : NULL;
}

/* Names what a process runs, where many run one program: "cone_mbir_recon 64" of the suite's, the
 * script of Python's. */
static void fact_task(struct image *im, const char *cmdline)
{
    struct model_process *p = &im->run->processes.items[im->index];
    const char *script = im->program.script;
    char text[200];
    if (cmdline && strstr(cmdline, "\nchild-run\n")) {
        const char *op = word_after(im, cmdline, "\n--op\n"),
                   *size = word_after(im, cmdline, "\n--size\n"),
                   *shape = word_after(im, cmdline, "\n--shape\n");
        snprintf(text, sizeof text, "%.80s %.40s", op ? op : "", shape ? shape : size ? size : "");
        p->task = op ? run_text(im->run, text) : p->task;
    } else if (im->program.python && script && *script && *script != '-') {
        p->task = run_text(im->run, base_name(script));
    }
}

static enum err fact_of_program(struct image *im, const char *key, const char *value)
{
    struct run *r = im->run;
    struct model_process *process = &r->processes.items[im->index];
    int major, minor;
    if (!strcmp(key, "exe"))
        TRY(fact_program(im, value));
    if (!strcmp(key, "cwd"))
        im->program.cwd = run_text(r, value);
    if (!strcmp(key, "cmdline")) {
        TRY(fact_scripts(r, im->program.cwd, value));
        TRY(owner_command(&im->program, im->arena, value));
        fact_task(im, value);
    }
    if (!strncmp(key, "python", 6) && sscanf(value, "%d.%d", &major, &minor) == 2 && major == 3) {
        im->program.python = 1;
        im->python_minor = minor;
        process->python = run_text(r, value);
        fact_task(im, NULL);
    }
    return ERR_OK;
}

/* 1: the fact has its place elsewhere, or tells only this recording. */
static int fact_has_place(const char *key)
{
    static const char *const keys[] = {"cmdline", "cwd",     "exe",   "mpi.rank",
                                       "perfmap", "jitdump", "ending"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!strcmp(key, keys[i]))
            return 1;
    return 0;
}

static enum err facts_meta(struct image *im, void *state, const struct trace_item *item)
{
    struct run *r = im->run;
    const char *key = arena_text_n(im->arena, item->tail, item->tail_bytes), *value;
    int taken = 0;
    (void)state;
    FAIL_IF(!key, ERR_MEMORY, "no memory for the texts of a trace");
    TRY(collector_fact(im, item, key, &value));
    if (im->index == 0)
        TRY(fact_of_first(r, key, value, &taken));
    TRY(fact_of_program(im, key, value));
    if (taken || fact_has_place(key))
        return ERR_OK;
    const char *shown = path_shown_in(r, value);
    const char *name = run_text(r, key);
    for (size_t i = 0; i < r->facts.count; i++)
        if (r->facts.items[i].key == name)
            return ERR_OK;
    if (r->facts.count >= 500)
        return ERR_OK;
    return vector_add(&r->facts, (struct model_fact){name, shown});
}

static enum err facts_note(struct image *im, void *state, const struct trace_item *item)
{
    (void)state;
    static const char *const severities[] = {"info", "warning", "error"};
    const struct trace_note *n = (const void *)item->record;
    struct quality_count *q = &im->run->q;
    struct arena *kept = im->run->m->arena;
    const char *key = arena_text_n(kept, item->tail, item->tail_bytes);
    size_t at = key ? strlen(key) + 1 : item->tail_bytes;
    const char *text =
        at < item->tail_bytes ? arena_text_n(kept, item->tail + at, item->tail_bytes - at) : "";
    text = text ? path_shown_in(im->run, text) : NULL;
    for (size_t i = 0; i < q->notes.count; i++)
        if (q->notes.items[i].id == key && q->notes.items[i].text == text) {
            q->notes.items[i].count++;
            return ERR_OK;
        }
    if (q->notes.count >= 200)
        return ERR_OK;
    struct model_item row;
    json_blank(&record_model_item, &row);
    row.id = key;
    row.text = text;
    row.severity = severities[n->severity < 3 ? n->severity : 2];
    row.count = 1;
    return vector_add(&q->notes, row);
}

static const struct collected kinds[] = {{TRACE_META, facts_meta, 0, 0},
                                         {TRACE_NOTE, facts_note, 0, 0}};
const struct collector collector_facts = {COLLECTED(kinds)};
