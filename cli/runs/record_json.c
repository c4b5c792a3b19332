/* Reads and writes record.json by its table of fields. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/file.h"
#include "cli/runs/record_fields.h"
#include "cli/runs/record_json.h"
#include "base/json/tables.h"
#include "profiler/trace/secrets.h"

#define RECORD_SCHEMA "tomoprof-record/1"
#define FACTS_LIMIT   ((size_t)64 << 20) /* a command line has at most some MB */
#define UNKNOWN       ((double)NAN)

/* clang-format off */
JSON_DEFINE(launch_end, LAUNCH_END_FIELDS)
JSON_DEFINE(launch_disk, LAUNCH_DISK_FIELDS)
JSON_DEFINE(launch_group, LAUNCH_GROUP_FIELDS)
JSON_DEFINE(launch_clock, LAUNCH_CLOCK_FIELDS)
JSON_DEFINE(launch_prices, LAUNCH_PRICES_FIELDS)
JSON_DEFINE(launch_file, LAUNCH_FILE_FIELDS)
JSON_DECLARE(launch_end, LAUNCH_END_FIELDS)
JSON_DECLARE(launch_disk, LAUNCH_DISK_FIELDS)
JSON_DECLARE(launch_group, LAUNCH_GROUP_FIELDS)
JSON_DECLARE(launch_clock, LAUNCH_CLOCK_FIELDS)
JSON_DECLARE(launch_prices, LAUNCH_PRICES_FIELDS)
JSON_DECLARE(launch_file, LAUNCH_FILE_FIELDS)
JSON_RECORD(launch_end, LAUNCH_END_FIELDS)
JSON_RECORD(launch_disk, LAUNCH_DISK_FIELDS)
JSON_RECORD(launch_group, LAUNCH_GROUP_FIELDS)
JSON_RECORD(launch_clock, LAUNCH_CLOCK_FIELDS)
JSON_RECORD(launch_prices, LAUNCH_PRICES_FIELDS)
JSON_RECORD(launch_file, LAUNCH_FILE_FIELDS)
/* clang-format on */

static struct launch_end end_to_file(const struct record_end *e)
{
    return (struct launch_end){.exit_code =
                                   e->signal || e->exit_unknown ? JSON_UNKNOWN : e->exit_code,
                               .signal = e->signal ? e->signal : JSON_UNKNOWN,
                               .wall_s = e->wall_s,
                               .user_s = e->user_s,
                               .system_s = e->system_s,
                               .own_user_s = e->own_user_s,
                               .own_system_s = e->own_system_s,
                               .peak_rss_bytes = e->peak_rss_bytes,
                               .left_running = e->left_running};
}

static int words_in(const char *const *words)
{
    int n = 0;
    while (words && words[n])
        n++;
    return n;
}

void record_words_free(char **words)
{
    for (char **word = words; word && *word; word++)
        free(*word);
    free(words);
}

char **record_words_masked(const char *const *words)
{
    int next = 0;
    char **copy = calloc((size_t)words_in(words) + 1, sizeof *copy);
    for (int i = 0; copy && words && words[i]; i++) {
        size_t room = strlen(SECRET_MASK) * strlen(words[i]) + 8;
        copy[i] = malloc(room);
        if (!copy[i]) {
            record_words_free(copy);
            return NULL;
        }
        secrets_mask(words[i], &next, copy[i], room);
    }
    return copy;
}

/* `rows` [RECORD_DISKS] and `group` are what `file` points to. */
static void disks_to_file(const struct record_disks *d, struct launch_disk *rows,
                          struct launch_group *group, struct launch_file *file)
{
    file->disks_s = UNKNOWN;
    file->disks_reason = file->group_reason = "not looked at";
    if (!d)
        return;
    for (int i = 0; i < d->count; i++) {
        const struct record_disk *x = &d->row[i];
        rows[i] = (struct launch_disk){x->name,
                                       (int64_t)x->reads,
                                       (int64_t)x->read_sectors,
                                       (int64_t)x->read_ms,
                                       (int64_t)x->writes,
                                       (int64_t)x->write_sectors,
                                       (int64_t)x->write_ms,
                                       (int64_t)x->busy_ms,
                                       (int64_t)x->queue_ms,
                                       x->busy_most < 0 ? UNKNOWN : x->busy_most};
    }
    *group = (struct launch_group){(int64_t)d->group_reads, (int64_t)d->group_read,
                                   (int64_t)d->group_writes, (int64_t)d->group_write};
    file->disks = rows;
    file->disks_count = d->count;
    file->disks_s = d->seconds > 0 ? d->seconds : UNKNOWN;
    file->disks_reason = *d->reason ? d->reason : NULL;
    file->group_reason = *d->group_reason ? d->group_reason : NULL;
    file->group = *d->group_reason ? NULL : group;
}

static void clocks_to_file(const struct record_clocks *c, struct launch_clock *rows,
                           struct launch_file *file)
{
    file->clocks_reason = "not looked at";
    if (!c)
        return;
    for (int i = 0; i < c->count; i++) {
        const struct record_clock *x = &c->row[i];
        rows[i] = (struct launch_clock){x->uuid,
                                        x->most_mhz,
                                        x->samples ? x->mean_mhz : UNKNOWN,
                                        x->samples ? x->least_mhz : UNKNOWN,
                                        x->samples,
                                        x->limited,
                                        (int64_t)x->why};
    }
    file->clocks = rows;
    file->clocks_count = c->count;
    file->clocks_reason = *c->reason ? c->reason : NULL;
}

static double real_or_unknown(double v)
{
    return v > 0 ? v : UNKNOWN;
}

static struct launch_prices prices_to_file(const struct record_prices *p)
{
    return (struct launch_prices){real_or_unknown(p->fork_s), real_or_unknown(p->load_s),
                                  real_or_unknown(p->start_s), real_or_unknown(p->signal_s)};
}

/* Points file->timed to a list, which is to be freed. */
static enum err timed_to_file(const struct record_facts *facts, struct launch_file *file)
{
    file->warmup = facts->timed_count ? facts->warmup : JSON_UNKNOWN;
    file->timed = calloc((size_t)facts->timed_count + 1, sizeof *file->timed);
    FAIL_IF(!file->timed, ERR_MEMORY, "no memory for the times of the runs");
    for (int i = 0; i < facts->timed_count; i++)
        file->timed[file->timed_count++] = end_to_file(&facts->timed[i]);
    return ERR_OK;
}

enum err record_facts_write(const char *folder, const struct record_facts *facts)
{
    char path[RUN_PATH + 16];
    struct outfile f;
    struct jsonw w;
    struct launch_end end = end_to_file(&facts->end), bare = end_to_file(&facts->bare);
    char **command = record_words_masked(facts->command);
    FAIL_IF(!command, ERR_MEMORY, "no memory for the command line");
    struct launch_disk disks[RECORD_DISKS];
    struct launch_group group;
    struct launch_clock clocks[RECORD_GPUS];
    struct launch_file file = {
        .schema = RECORD_SCHEMA,
        .tomoprof_version = TP_VERSION,
        .command = (const char **)command,
        .command_count = words_in(facts->command),
        .pid = facts->end.pid,
        .modes = facts->modes,
        .cpu = facts->cpu,
        .paused = facts->paused,
        .cpus = facts->cpus > 0 ? facts->cpus : JSON_UNKNOWN,
        .rate_hz = facts->rate_hz > 0 ? facts->rate_hz : UNKNOWN,
        .end = end.wall_s > 0 ? &end : NULL,
        .baseline = bare.wall_s > 0 ? &bare : NULL,
        .notes = (const char **)facts->notes,
        .notes_count = words_in((const char *const *)facts->notes),
    };
    struct launch_prices prices = prices_to_file(&facts->prices);
    file.prices = facts->prices.signal_s > 0 ? &prices : NULL;
    disks_to_file(facts->disks, disks, &group, &file);
    clocks_to_file(facts->clocks, clocks, &file);
    snprintf(path, sizeof path, "%s/record.json", folder);
    enum err e = timed_to_file(facts, &file);
    if (!e)
        e = outfile_open(&f, path);
    if (!e) {
        jsonw_init(&w, f.stream, 1);
        json_write(&w, &record_launch_file, &file);
        e = outfile_commit(&f);
    }
    free(file.timed);
    record_words_free(command);
    return e;
}

/* 0 where it is unknown. */
static int int_or_zero(int64_t v)
{
    return v == JSON_UNKNOWN ? 0 : (int)v;
}

static double real_or_zero(double v)
{
    return isnan(v) ? 0 : v;
}

static void end_from_file(const struct launch_end *from, struct record_end *e)
{
    if (!from)
        return;
    *e = (struct record_end){
        .exit_code = int_or_zero(from->exit_code),
        .signal = int_or_zero(from->signal),
        .wall_s = real_or_zero(from->wall_s),
        .user_s = real_or_zero(from->user_s),
        .system_s = real_or_zero(from->system_s),
        .own_user_s = real_or_zero(from->own_user_s),
        .own_system_s = real_or_zero(from->own_system_s),
        .peak_rss_bytes = from->peak_rss_bytes == JSON_UNKNOWN ? 0 : from->peak_rss_bytes,
        .left_running = int_or_zero(from->left_running),
        .exit_unknown = from->exit_code == JSON_UNKNOWN && from->signal == JSON_UNKNOWN};
}

/* The words that are known, ended by NULL. NULL: out of memory. */
static const char **words_from_file(struct arena *a, const char **words, int count)
{
    const char **out = arena_take(a, ((size_t)count + 1) * sizeof *out);
    int n = 0;
    for (int i = 0; out && i < count; i++)
        if (words[i])
            out[n++] = words[i];
    return out;
}

static enum err disks_from_file(const struct launch_file *file, struct record_facts *out)
{
    struct record_disks *d = arena_take(out->arena, sizeof *d);
    FAIL_IF(!d, ERR_MEMORY, "no memory for record.json");
    memset(d, 0, sizeof *d);
    out->disks = d;
    d->seconds = real_or_zero(file->disks_s);
    const char *why = file->disks_reason, *why_group = file->group_reason;
    snprintf(d->reason, sizeof d->reason, "%s", why ? why : d->seconds > 0 ? "" : "not looked at");
    snprintf(d->group_reason, sizeof d->group_reason, "%s",
             why_group     ? why_group
             : file->group ? ""
                           : "not looked at");
    for (int i = 0; i < file->disks_count && d->count < RECORD_DISKS; i++) {
        const struct launch_disk *x = &file->disks[i];
        struct record_disk *to = &d->row[d->count++];
        snprintf(to->name, sizeof to->name, "%s", x->name ? x->name : "?");
        const int64_t from[] = {x->reads,         x->read_sectors, x->read_ms, x->writes,
                                x->write_sectors, x->write_ms,     x->busy_ms, x->queue_ms};
        uint64_t *const into[] = {&to->reads,   &to->read_sectors,  &to->read_ms,
                                  &to->writes,  &to->write_sectors, &to->write_ms,
                                  &to->busy_ms, &to->queue_ms};
        for (int k = 0; k < 8; k++)
            *into[k] = from[k] > 0 ? (uint64_t)from[k] : 0;
        to->busy_most = isfinite(x->busy_most) ? x->busy_most : -1;
    }
    if (file->group) {
        d->group_reads = file->group->reads > 0 ? (uint64_t)file->group->reads : 0;
        d->group_read = file->group->read_bytes > 0 ? (uint64_t)file->group->read_bytes : 0;
        d->group_writes = file->group->writes > 0 ? (uint64_t)file->group->writes : 0;
        d->group_write = file->group->write_bytes > 0 ? (uint64_t)file->group->write_bytes : 0;
    }
    return ERR_OK;
}

static enum err clocks_from_file(const struct launch_file *file, struct record_facts *out)
{
    struct record_clocks *c = arena_take(out->arena, sizeof *c);
    FAIL_IF(!c, ERR_MEMORY, "no memory for record.json");
    *c = (struct record_clocks){0};
    out->clocks = c;
    for (int i = 0; i < file->clocks_count && c->count < RECORD_GPUS; i++) {
        const struct launch_clock *x = &file->clocks[i];
        struct record_clock *to = &c->row[c->count++];
        snprintf(to->uuid, sizeof to->uuid, "%s", x->uuid ? x->uuid : "");
        to->most_mhz = real_or_zero(x->most_mhz);
        to->mean_mhz = real_or_zero(x->mean_mhz);
        to->least_mhz = real_or_zero(x->least_mhz);
        to->samples = int_or_zero(x->samples);
        to->limited = int_or_zero(x->limited);
        to->why = (unsigned)int_or_zero(x->why);
    }
    return ERR_OK;
}

static enum err timed_from_file(const struct launch_file *file, struct record_facts *out)
{
    if (!file->timed_count)
        return ERR_OK;
    out->timed = arena_take(out->arena, (size_t)file->timed_count * sizeof *out->timed);
    FAIL_IF(!out->timed, ERR_MEMORY, "no memory for record.json");
    for (int i = 0; i < file->timed_count; i++)
        end_from_file(&file->timed[i], &out->timed[i]);
    out->timed_count = file->timed_count;
    out->warmup = int_or_zero(file->warmup);
    return ERR_OK;
}

static enum err record_from_file(const char *path, const cJSON *root, struct record_facts *out)
{
    struct launch_file file;
    json_blank(&record_launch_file, &file);
    TRY(json_read(out->arena, &record_launch_file, root, &file, JSON_LENIENT));
    FAIL_IF(!file.schema || strcmp(file.schema, RECORD_SCHEMA), ERR_INPUT,
            "%s: not written by this version of tomoprof", path);
    out->command = words_from_file(out->arena, file.command, file.command_count);
    out->notes = (char **)words_from_file(out->arena, file.notes, file.notes_count);
    FAIL_IF(!out->command || !out->notes, ERR_MEMORY, "%s: no memory", path);
    out->cpu = file.cpu;
    out->paused = file.paused;
    out->cpus = int_or_zero(file.cpus);
    end_from_file(file.end, &out->end);
    out->end.pid = int_or_zero(file.pid);
    end_from_file(file.baseline, &out->bare);
    if (file.prices)
        out->prices = (struct record_prices){
            real_or_zero(file.prices->fork_s), real_or_zero(file.prices->load_s),
            real_or_zero(file.prices->start_s), real_or_zero(file.prices->signal_s)};
    TRY(timed_from_file(&file, out));
    TRY(clocks_from_file(&file, out));
    return disks_from_file(&file, out);
}

enum err record_facts_read(const char *folder, struct record_facts *out)
{
    char path[RUN_PATH + 16];
    cJSON *root;
    *out = (struct record_facts){0};
    snprintf(path, sizeof path, "%s/record.json", folder);
    if (access(path, F_OK))
        return ERR_OK;
    TRY(json_parse_file(path, FACTS_LIMIT, &root));
    enum err e = arena_create(&out->arena);
    if (!e)
        e = record_from_file(path, root, out);
    cJSON_Delete(root);
    return e;
}

void record_facts_free(struct record_facts *f)
{
    arena_free(f->arena);
}
