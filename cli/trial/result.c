/* The result of a trial: one sentence, try.json and the tables on the terminal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json/tables.h"
#include "base/text.h"
#include "cli/runs/record_json.h"
#include "cli/trial/trial.h"
#include "profiler/analyze/model/model.h"
#include "profiler/report/compare/compare.h"

#define TRY_SCHEMA "tomoprof-try/1"
#define SAME_TIME  COMPARE_LEAST /* two runs of one program differ by so much for no reason */
#define BUSY       0.1           /* of a run, waiting for a CPU */
#define UNKNOWN    ((double)NAN)
enum { PATCHED_FILES = 64 };

JSON_RECORD(trial_run, TRIAL_RUN_FIELDS)
JSON_RECORD(trial_line, TRIAL_LINE_FIELDS)
JSON_RECORD(trial_file, TRIAL_FILE_FIELDS)

/* 1: the results of a call are not those that the table promises. */
static int call_differs(const struct trial_call *c)
{
    return c->mismatch || c->relative_l2 > c->tolerance;
}

/* Copies what the check measured to the calls of the run with all functions replaced. */
static enum err result_calls(struct try_job *t, const struct trial_stage *check,
                             const struct trial_stage *after, struct trial_file *out)
{
    const struct trial_stage *from = after ? after : check;
    const int count = from ? from->calls_count : 0;
    TRY(json_items(t->arena, &record_trial_call, (size_t)count, &out->calls, &out->calls_count));
    array_copy(out->calls, from ? from->calls : NULL, (size_t)count, sizeof *out->calls);
    for (int i = 0; i < count && check && after; i++)
        for (int k = 0; k < check->calls_count; k++) {
            struct trial_call *c = &out->calls[i];
            const struct trial_call *d = &check->calls[k];
            if (c->line != d->line || strcmp(c->name, d->name) || strcmp(c->module, d->module) ||
                strcmp(c->file ? c->file : "", d->file ? d->file : ""))
                continue;
            c->checked = d->checked;
            c->relative_l2 = d->relative_l2;
            c->largest = d->largest;
            c->scale = d->scale;
            c->mismatch = d->mismatch;
        }
    return ERR_OK;
}

static enum err profile_of(const struct trial_stage *s, struct model **out)
{
    char path[RUN_PATH + 16];
    snprintf(path, sizeof path, "%s/profile.json", s->folder);
    return profile_read(path, out);
}

/* The lines that call what was replaced, once each, with their times in both profiles. */
static enum err result_lines(struct try_job *t, const struct trial_stage *after,
                             struct trial_file *out)
{
    struct model *a = NULL, *b = NULL;
    TRY(json_items(t->arena, &record_trial_line, (size_t)out->calls_count, &out->lines,
                   &out->lines_count));
    out->lines_count = 0;
    enum err e = profile_of(&t->stage[0], &a);
    if (!e && after)
        e = profile_of(after, &b);
    for (int i = 0; i < out->calls_count && !e; i++) {
        const struct trial_call *c = &out->calls[i];
        int there = !c->file || c->refused;
        for (int k = 0; k < out->lines_count; k++)
            there |= out->lines[k].line == c->line && !strcmp(out->lines[k].file, c->file);
        if (!there)
            out->lines[out->lines_count++] =
                (struct trial_line){c->file, c->line, trial_line_s(a, c->file, c->line),
                                    trial_line_s(b, c->file, c->line)};
    }
    if (a)
        out->runs[0].ready_s = a->totals.path_ready_s;
    if (b)
        out->runs[1].ready_s = b->totals.path_ready_s;
    model_destroy(a);
    model_destroy(b);
    return e;
}

/* Time of a run without waiting for a CPU, which depends on the neighbours. */
static double run_own_s(const struct trial_run *r)
{
    return r->wall_s - (r->ready_s > 0 ? r->ready_s : 0);
}

/* Returns what a stage replaced, in words: "tomoprof.mbirjax and tomoprof.median_filter3d". */
static const char *labels_text(struct try_job *t, const struct trial_stage *s)
{
    char text[400] = "";
    const char *seen[4];
    int n = 0;
    for (int i = 0; i < s->calls_count; i++) {
        int old = s->calls[i].refused && !(s->calls[i].ours_s > 0);
        for (int k = 0; k < n; k++)
            old |= !strcmp(seen[k], s->calls[i].label);
        if (old || n == 4)
            continue;
        seen[n++] = s->calls[i].label;
        text_append(text, sizeof text, "%s%s", *text ? " and " : "", s->calls[i].label);
    }
    return arena_text(t->arena, text);
}

static enum err result_runs(struct try_job *t, struct trial_file *out)
{
    TRY(json_items(t->arena, &record_trial_run, (size_t)t->stages, &out->runs, &out->runs_count));
    out->runs_count = 0;
    for (int i = 0; i < t->stages; i++) {
        const struct trial_stage *s = &t->stage[i];
        char text[400];
        if (!strcmp(s->name, "check"))
            continue;
        TRY(trial_output(&t->stage[0], s, text));
        out->runs[out->runs_count++] = (struct trial_run){
            .name = s->name,
            .replaced = !s->only   ? NULL
                        : *s->only ? arena_print(t->arena, "%s replaced alone", s->only)
                                   : labels_text(t, s),
            .wall_s = s->wall_s,
            .ready_s = UNKNOWN,
            .peak_rss_mb = s->peak_rss_bytes > 0 ? (double)s->peak_rss_bytes / 1048576 : UNKNOWN,
            .exit_code = s->signal ? JSON_UNKNOWN : s->exit_code,
            .signal = s->signal ? s->signal : JSON_UNKNOWN,
            .output = *text ? arena_text(t->arena, text) : NULL};
    }
    return ERR_OK;
}

/* "scan.py:12" of the line, or of its call. */
static void place_text(const char *file, int64_t line, char out[300])
{
    snprintf(out, 300, "%.250s:%lld", file ? base_name(file) : "?", (long long)line);
}

static void call_text(const struct trial_call *c, char out[500])
{
    char place[300];
    place_text(c->file, c->line, place);
    snprintf(out, 500, "%.100s.%.80s at %s", c->module, c->name, place);
}

/* How equal the results are, in words; "" where none was checked. */
static void equality_text(const struct trial_file *r, char *out, size_t room)
{
    double l2 = -1, largest = 0;
    for (int i = 0; i < r->calls_count; i++) {
        l2 = fmax(l2, r->calls[i].relative_l2);
        largest = fmax(largest, r->calls[i].largest);
    }
    if (l2 > 0)
        snprintf(out, room, " The results differ by %.1e (relative l2), single values by %.1e.", l2,
                 largest);
    else
        snprintf(out, room, "%s", l2 < 0 ? "" : " The results are equal to the bit.");
}

/* Adds the first call that failed in tomoprof. */
static void failure_text(const struct trial_file *r, char *out, size_t room)
{
    char call[500];
    for (int i = 0; i < r->calls_count; i++) {
        if (!r->calls[i].failed)
            continue;
        call_text(&r->calls[i], call);
        text_append(out, room, " %s failed in tomoprof; from then on the original computed there.",
                    call);
        return;
    }
}

/* The first call whose results are not as promised; NULL: none. */
static const struct trial_call *result_different(const struct trial_file *r)
{
    for (int i = 0; i < r->calls_count; i++)
        if (call_differs(&r->calls[i]))
            return &r->calls[i];
    return NULL;
}

static const char *sentence_of_none(struct try_job *t, const struct trial_file *r)
{
    char call[500];
    for (int i = 0; i < r->calls_count; i++) {
        const struct trial_call *c = &r->calls[i];
        call_text(c, call);
        if (c->refused)
            return arena_print(t->arena, "Nothing was replaced: %s: %s.", call, c->refused);
        if (c->failed)
            return arena_print(t->arena, "Nothing was replaced: %s failed in tomoprof: %s", call,
                               c->failed);
    }
    if (r->notes_count)
        return arena_print(t->arena, "Nothing was replaced: %s.", r->notes[0]);
    return arena_print(t->arena,
                       "Nothing was replaced: the program calls no function that tomoprof "
                       "computes faster (docs/howto/try.md lists them).");
}

/* Writes what the time of the line that took most became. */
static void time_text(const struct trial_file *r, const char *label, char *out, size_t room)
{
    const double before = r->runs[0].wall_s, after = r->runs[1].wall_s;
    const struct trial_line *line = NULL;
    char place[300], seconds[40] = "too little to be sampled";
    for (int i = 0; i < r->lines_count; i++)
        line = line && !(r->lines[i].before_s > line->before_s) ? line : &r->lines[i];
    if (!(run_own_s(&r->runs[1]) < run_own_s(&r->runs[0]) * (1 - SAME_TIME))) {
        snprintf(out, room, "With %s, the program takes %s s, %s s before: nothing is gained.",
                 label, NUMBER(3, after), NUMBER(3, before));
        return;
    }
    if (!line || !(line->before_s > 0)) {
        snprintf(out, room, "With %s, the program takes %s s, %s s before.", label,
                 NUMBER(3, after), NUMBER(3, before));
        return;
    }
    place_text(line->file, line->line, place);
    if (line->after_s > 0)
        snprintf(seconds, sizeof seconds, "%s s", NUMBER(2, line->after_s));
    snprintf(out, room, "With %s, %s takes %s, %s s before; the program takes %s s, %s s before.",
             label, place, seconds, NUMBER(3, line->before_s), NUMBER(3, after), NUMBER(3, before));
}

static const char *sentence_make(struct try_job *t, const struct trial_stage *after,
                                 const struct trial_file *r)
{
    char times[1300], equal[200], call[500];
    if (!after)
        return sentence_of_none(t, r);
    const struct trial_stage *first = &t->stage[0];
    const char *label = labels_text(t, after);
    if (after->signal || after->exit_code != first->exit_code)
        return arena_print(t->arena,
                           "With %s the program ended with %s %d, before with exit code %d: "
                           "%s/stderr has what it printed.",
                           label, after->signal ? "signal" : "exit code",
                           after->signal ? after->signal : after->exit_code, first->exit_code,
                           after->folder);
    time_text(r, label, times, sizeof times);
    failure_text(r, times, sizeof times);
    const struct trial_call *c = result_different(r);
    if (c) {
        call_text(c, call);
        if (c->mismatch)
            return arena_print(t->arena, "%s returns %s: the results are not the same. %s", call,
                               c->mismatch, times);
        return arena_print(t->arena,
                           "%s differs by %.2g (relative l2), more than the %g of this function; "
                           "single values differ by %.2g, the largest value is %.2g. %s",
                           call, c->relative_l2, c->tolerance, c->largest, c->scale, times);
    }
    equality_text(r, equal, sizeof equal);
    return arena_print(t->arena, "%s%s", times, equal);
}

static enum err page_write(struct try_job *t, const struct trial_stage *after,
                           struct trial_file *out)
{
    char path[RUN_PATH + 16];
    struct comparison *c;
    snprintf(path, sizeof path, "%.*s/compare.html", RUN_PATH, t->folder);
    TRY(compare_runs(t->stage[0].folder, after->folder, &c));
    const enum err e = compare_html(c, path);
    compare_free(c);
    out->page = arena_text(t->arena, path);
    return e;
}

ARRAY_ORDER(by_time_before, struct trial_line, COMPARE(y->before_s, x->before_s));

/* The patch of the sources whose lines call what was replaced; that whose line took most is first. */
static enum err patch_write(struct try_job *t, struct trial_file *out)
{
    const char *files[PATCHED_FILES];
    char root[RUN_PATH], path[RUN_PATH + 16];
    int changes, count = 0;
    array_sort(out->lines, (size_t)out->lines_count, sizeof *out->lines, by_time_before);
    for (int i = 0; i < out->lines_count && count < PATCHED_FILES; i++) {
        int there = 0;
        for (int k = 0; k < count; k++)
            there |= !strcmp(files[k], out->lines[i].file);
        if (!there)
            files[count++] = out->lines[i].file;
    }
    if (!count)
        return ERR_OK;
    TRY(trial_patch(t, files, count, root, &changes));
    snprintf(path, sizeof path, "%.*s/try.diff", RUN_PATH, t->folder);
    out->patch = changes ? arena_text(t->arena, path) : NULL;
    out->root = changes ? arena_text(t->arena, root) : NULL;
    return ERR_OK;
}

static enum err result_command(const struct try_job *t, struct trial_file *out)
{
    int words = 0;
    while (t->command[words])
        words++;
    char **masked = record_words_masked((const char *const *)t->command);
    const char **kept = arena_take(t->arena, ((size_t)words + 1) * sizeof *kept);
    for (int i = 0; masked && kept && i < words; i++)
        kept[i] = arena_text(t->arena, masked[i]);
    const int done = masked && kept;
    record_words_free(masked);
    FAIL_IF(!done, ERR_MEMORY, "no memory for %d words", words);
    out->command = kept;
    out->command_count = words;
    return ERR_OK;
}

enum err trial_result(struct try_job *t, const struct trial_stage *check,
                      const struct trial_stage *after, struct trial_file *out)
{
    json_blank(&record_trial_file, out);
    out->schema = TRY_SCHEMA;
    TRY(result_command(t, out));
    const struct trial_stage *noted = after ? after : check;
    out->notes = noted ? noted->notes : NULL;
    out->notes_count = noted ? noted->notes_count : 0;
    TRY(result_runs(t, out));
    TRY(result_calls(t, check, after, out));
    TRY(result_lines(t, after, out));
    out->sentence = sentence_make(t, after, out);
    FAIL_IF(!out->sentence, ERR_MEMORY, "no memory for the result");
    if (!after)
        return ERR_OK;
    TRY(page_write(t, after, out));
    return patch_write(t, out);
}

enum err trial_result_write(const struct try_job *t, const struct trial_file *r)
{
    char path[RUN_PATH + 16];
    struct outfile f = {0};
    struct jsonw w;
    snprintf(path, sizeof path, "%.*s/try.json", RUN_PATH, t->folder);
    TRY(outfile_open(&f, path));
    jsonw_init(&w, f.stream, 1);
    json_write(&w, &record_trial_file, r);
    const enum err e = outfile_commit(&f);
    outfile_abort(&f);
    return e;
}

static void runs_print(const struct trial_file *r)
{
    double busy = 0;
    printf("\n   whole s  peak MiB\n");
    for (int i = 0; i < r->runs_count; i++) {
        const struct trial_run *x = &r->runs[i];
        plain_print(stdout, "%10.3g %9.0f  %s%s\n", x->wall_s, x->peak_rss_mb,
                    x->replaced ? "with " : "as it is", x->replaced ? x->replaced : "");
        busy = fmax(busy, x->ready_s / x->wall_s);
        if (x->output)
            plain_print(stdout, "%20s  what it printed differs: %s\n", "", x->output);
    }
    if (busy > BUSY)
        printf("The machine was busy: up to %.0f %% of a run was waiting for a CPU. Times of lines "
               "leave that out, those of the whole do not.\n",
               100 * busy);
}

static void calls_print(const struct trial_file *r)
{
    char call[500];
    if (r->calls_count)
        printf("\n     calls   relative l2      largest  allowed l2\n");
    for (int i = 0; i < r->calls_count; i++) {
        const struct trial_call *c = &r->calls[i];
        call_text(c, call);
        if (c->checked > 0 && !c->mismatch && !isnan(c->relative_l2))
            plain_print(stdout, "%10lld %13.1e %12.1e %11.0e  %s\n", (long long)c->calls,
                        c->relative_l2, c->largest, c->tolerance, call);
        else
            plain_print(stdout, "%10lld %13s %12s %11.0e  %s\n", (long long)c->calls,
                        c->mismatch ? "differs" : "unchecked", "", c->tolerance, call);
        if (c->refused)
            plain_print(stdout, "%10s not always replaced: %s\n", "", c->refused);
        if (c->failed)
            plain_print(stdout, "%10s failed, so that the original was called from then on: %s\n",
                        "", c->failed);
        if (c->mismatch)
            plain_print(stdout, "%10s returns %s\n", "", c->mismatch);
    }
}

void trial_result_print(const struct try_job *t, const struct trial_file *r)
{
    char here[RUN_PATH];
    plain_print(stdout, "%s\n", r->sentence);
    runs_print(r);
    calls_print(r);
    for (int i = 0; i < r->notes_count; i++)
        plain_print(stdout, "note: %s\n", r->notes[i]);
    if (r->page)
        plain_print(stdout, "\npage: %s\n", r->page);
    if (r->patch) {
        const int inside = realpath(".", here) && !strcmp(here, r->root);
        plain_print(stdout, "patch: git %s%s%sapply %s\n", inside ? "" : "-C ",
                    inside ? "" : r->root, inside ? "" : " ", r->patch);
    } else if (r->page)
        printf("patch: none, because the change is not one import of the file that calls it\n");
    plain_print(stdout, "all of it: %s\n", t->folder);
}
