#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "host/base/file.h"
#include "host/base/jsonw.h"
#include "host/cli/runs/record_json.h"

#define FACTS_LIMIT ((size_t)64 << 20) /* a command line has at most some MB */
#define UNKNOWN     ((double)NAN)

static void write_end(struct jsonw *w, const char *key, const struct record_end *e)
{
    jsonw_key(w, key);
    if (!(e->wall_s > 0)) {
        jsonw_null(w);
        return;
    }
    jsonw_object(w);
    jsonw_knumber(w, "exit_code", e->signal ? UNKNOWN : e->exit_code);
    jsonw_knumber(w, "signal", e->signal ? e->signal : UNKNOWN);
    jsonw_knumber(w, "wall_s", e->wall_s);
    jsonw_knumber(w, "user_s", e->user_s);
    jsonw_knumber(w, "system_s", e->system_s);
    jsonw_kint(w, "peak_rss_bytes", e->peak_rss_bytes);
    jsonw_kint(w, "left_running", e->left_running);
    jsonw_end(w);
}

static void write_texts(struct jsonw *w, const char *key, const char *const *texts)
{
    jsonw_key(w, key);
    jsonw_array(w);
    for (; texts && *texts; texts++)
        jsonw_string(w, *texts);
    jsonw_end(w);
}

enum err record_facts_write(const char *folder, const struct record_facts *facts)
{
    char path[RUN_PATH + 16];
    struct outfile f;
    struct jsonw w;
    snprintf(path, sizeof path, "%s/record.json", folder);
    TRY(outfile_open(&f, path));
    jsonw_init(&w, f.stream, 1);
    jsonw_object(&w);
    jsonw_kstring(&w, "schema", "tomoprof-record/1");
    jsonw_kstring(&w, "tomoprof_version", TP_VERSION);
    write_texts(&w, "command", facts->command);
    jsonw_kint(&w, "pid", facts->end.pid);
    jsonw_kstring(&w, "modes", facts->modes);
    jsonw_knumber(&w, "cpus", facts->cpus > 0 ? facts->cpus : UNKNOWN);
    jsonw_knumber(&w, "rate_hz", facts->rate_hz > 0 ? facts->rate_hz : UNKNOWN);
    write_end(&w, "end", &facts->end);
    write_end(&w, "baseline", &facts->bare);
    write_texts(&w, "notes", (const char *const *)facts->notes);
    jsonw_end(&w);
    return outfile_commit(&f);
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void read_end(const cJSON *root, const char *key, struct record_end *e)
{
    const cJSON *o = cJSON_GetObjectItemCaseSensitive(root, key);
    e->exit_code = (int)number(o, "exit_code");
    e->signal = (int)number(o, "signal");
    e->wall_s = number(o, "wall_s");
    e->user_s = number(o, "user_s");
    e->system_s = number(o, "system_s");
    e->peak_rss_bytes = (int64_t)number(o, "peak_rss_bytes");
    e->left_running = (int)number(o, "left_running");
}

/* The strings of an array, ended by NULL; they live as long as the JSON. NULL: out of memory. */
static const char **texts(const cJSON *array)
{
    const cJSON *item;
    const char **out = calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof *out);
    int n = 0;
    cJSON_ArrayForEach (item, array)
        if (out && cJSON_IsString(item))
            out[n++] = item->valuestring;
    return out;
}

enum err record_facts_read(const char *folder, struct record_facts *out)
{
    char path[RUN_PATH + 16], *text;
    size_t bytes;
    *out = (struct record_facts){0};
    snprintf(path, sizeof path, "%s/record.json", folder);
    if (access(path, F_OK))
        return ERR_OK;
    TRY(file_read_all(path, FACTS_LIMIT, &text, &bytes));
    cJSON *root = cJSON_Parse(text);
    free(text);
    out->text = root;
    const char *schema = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "schema"));
    FAIL_IF(!schema || strcmp(schema, "tomoprof-record/1"), ERR_INPUT,
            "%s: not written by this version of tomoprof", path);
    out->command = texts(cJSON_GetObjectItemCaseSensitive(root, "command"));
    out->notes = (char **)texts(cJSON_GetObjectItemCaseSensitive(root, "notes"));
    FAIL_IF(!out->command || !out->notes, ERR_MEMORY, "%s: no memory", path);
    out->cpus = (int)number(root, "cpus");
    read_end(root, "end", &out->end);
    read_end(root, "baseline", &out->bare);
    return ERR_OK;
}

void record_facts_free(struct record_facts *f)
{
    free(f->command);
    free(f->notes);
    cJSON_Delete(f->text);
}

static enum err add_items(struct model *m, const struct model_item *items, int n)
{
    struct model_quality *q = &m->quality;
    const struct model_item *old = q->items;
    int had = q->items_count;
    if (!n)
        return ERR_OK;
    TRY(model_list(m, model_item, q, items, (size_t)(had + n)));
    memcpy(q->items, old, (size_t)had * sizeof *old);
    for (int i = 0; i < n; i++) {
        q->items[had + i] = items[i];
        q->items[had + i].text = arena_text(m->arena, items[i].text);
        FAIL_IF(!q->items[had + i].text, ERR_MEMORY, "no memory for the profile");
        q->complete &= !strcmp(items[i].severity, "info");
    }
    return ERR_OK;
}

static enum err add_facts(struct model *m, const struct record_end *e, const char *who, int cpus)
{
    const struct {
        const char *key;
        double value;
    } rows[] = {{"wall_s", e->wall_s},
                {"user_s", e->user_s},
                {"system_s", e->system_s},
                {"peak_rss_bytes", (double)e->peak_rss_bytes},
                {"cpus", cpus}};
    const int n = sizeof rows / sizeof *rows - (cpus <= 0), had = m->environment_count;
    const struct model_fact *old = m->environment;
    TRY(model_list(m, model_fact, m, environment, (size_t)(had + n)));
    memcpy(m->environment, old, (size_t)had * sizeof *old);
    for (int i = 0; i < n; i++) {
        char key[64], value[40];
        snprintf(key, sizeof key, "%s.%s", who, rows[i].key);
        snprintf(value, sizeof value, "%.9g", rows[i].value);
        m->environment[had + i].key = arena_text(m->arena, key);
        m->environment[had + i].value = arena_text(m->arena, value);
        FAIL_IF(!m->environment[had + i].key || !m->environment[had + i].value, ERR_MEMORY,
                "no memory for the profile");
    }
    return ERR_OK;
}

enum err record_facts_add(const struct record_facts *f, struct model *m)
{
    struct model_item items[8];
    char slow[160], left[120];
    int n = 0;
    if (!f->command)
        return ERR_OK;
    TRY(add_facts(m, &f->end, "launcher", f->cpus));
    for (char **note = f->notes; *note && n < 6; note++)
        items[n++] = (struct model_item){.id = "launcher_note",
                                         .severity = "warning",
                                         .count = 1,
                                         .share = UNKNOWN,
                                         .text = *note};
    if (f->end.left_running) {
        snprintf(left, sizeof left, "%d processes still ran when the profile was made",
                 f->end.left_running);
        items[n++] = (struct model_item){.id = "left_running",
                                         .severity = "warning",
                                         .count = f->end.left_running,
                                         .share = UNKNOWN,
                                         .text = left,
                                         .effect = "what they did later is missing",
                                         .fix = "tomoprof report, once they ended"};
    }
    if (f->bare.wall_s > 0) {
        TRY(add_facts(m, &f->bare, "baseline", 0));
        snprintf(slow, sizeof slow, "recording took %.4g s, a bare run before it %.4g s",
                 f->end.wall_s, f->bare.wall_s);
        items[n++] = (struct model_item){.id = "slow_down",
                                         .severity = "info",
                                         .count = 1,
                                         .share = f->end.wall_s / f->bare.wall_s - 1,
                                         .text = slow};
    }
    return add_items(m, items, n);
}
