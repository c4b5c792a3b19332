/* From shapes and settings (KEY=VALUE) to the step of an operation on volumes. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/suite/catalogue/volume.h"

#define LARGEST 65536 /* a longer axis is a typing error */

/* The value of a setting, NULL where it was not given. */
const char *setting(const struct run_state *s, const char *key)
{
    const size_t n = strlen(key);
    for (int i = 0; i < s->settings_count; i++)
        if (!strncmp(s->settings[i], key, n) && s->settings[i][n] == '=')
            return s->settings[i] + n + 1;
    return NULL;
}

/* Whole numbers between commas; *count of at most 3. */
static enum err setting_integers(const char *key, const char *text, int64_t least, int64_t most,
                                 int64_t out[3], int *count)
{
    const char *at = text;
    for (*count = 0; *count < 3;) {
        char *end;
        errno = 0;
        const long long v = strtoll(at, &end, 10);
        FAIL_IF(end == at || errno || v < least || v > most, ERR_USAGE,
                "`set=%s=%s`: whole numbers of %" PRId64 " to %" PRId64
                " are accepted, with commas between them",
                key, text, least, most);
        out[(*count)++] = v;
        if (!*end)
            return ERR_OK;
        FAIL_IF(*end != ',', ERR_USAGE, "`set=%s=%s`: \"%s\" is left over", key, text, end);
        at = end + 1;
    }
    return FAIL(ERR_USAGE, "`set=%s=%s`: more than three numbers", key, text);
}

static enum err setting_three(const struct run_state *s, const char *key, int64_t least,
                              int64_t out[3])
{
    int count;
    const char *text = setting(s, key);
    if (!text)
        return ERR_OK;
    TRY(setting_integers(key, text, least, LARGEST, out, &count));
    FAIL_IF(count != 3, ERR_USAGE, "`set=%s=%s`: three numbers are needed: rows,columns,slices",
            key, text);
    return ERR_OK;
}

enum err setting_number(const struct run_state *s, const char *key, double *out)
{
    const char *text = setting(s, key);
    char *end;
    if (!text)
        return ERR_OK;
    *out = strtod(text, &end);
    FAIL_IF(end == text || *end || !isfinite(*out), ERR_USAGE,
            "`set=%s=%s`: a finite number is needed", key, text);
    return ERR_OK;
}

/* A key and '=': where a setting begins. Blanks anywhere else belong to a value, as in the name of
 * a file. */
static int begins_setting(const char *at)
{
    const size_t key = strspn(at, "abcdefghijklmnopqrstuvwxyz_0123456789");
    return key && at[key] == '=';
}

enum err settings_split(char *text, const char **items, int most, int *count)
{
    *count = 0;
    for (char *at = text + strspn(text, " "); *at;) {
        FAIL_IF(*count == most, ERR_USAGE, "`set`: more than %d settings", most);
        items[(*count)++] = at;
        char *end = at + strcspn(at, " "), *next = end + strspn(end, " ");
        while (*next && !begins_setting(next)) {
            end = next + strcspn(next, " ");
            next = end + strspn(end, " ");
        }
        *end = 0;
        at = next;
    }
    return ERR_OK;
}

int setting_taken(const struct operation *op, const char *given)
{
    const size_t n = strcspn(given, "=");
    for (const char *at = op->settings ? op->settings : ""; *at; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        if (length == n && !strncmp(at, given, n))
            return 1;
        at += length;
    }
    return 0;
}

/* Only what the operation takes, each once. */
enum err settings_check(const struct run_state *s)
{
    for (int i = 0; i < s->settings_count; i++) {
        const char *given = s->settings[i];
        const size_t n = strcspn(given, "=");
        FAIL_IF(!n || given[n] != '=', ERR_USAGE, "`set=%s`: KEY=VALUE is needed", given);
        FAIL_IF(!setting_taken(s->op, given), ERR_USAGE, "%s takes no `set=%.*s`%s%s", s->op->name,
                (int)n, given, *s->op->settings ? "; it takes " : "", s->op->settings);
        for (int k = 0; k < i; k++)
            FAIL_IF(!strncmp(s->settings[k], given, n + 1), ERR_USAGE, "`set=%.*s` is given twice",
                    (int)n, given);
    }
    return ERR_OK;
}

/* A copy of the whole volume. */
static enum err begin_volume(struct run_state *s, enum volume_kind kind)
{
    const struct volume *v = &s->model.volume;
    struct volume_step *p = &s->step;
    *p = (struct volume_step){.kind = kind,
                              .in = {v->rows, v->cols, v->slices},
                              .out = {v->rows, v->cols, v->slices},
                              .from = {0, 1, 2},
                              .turn = {1, 1, 1},
                              .dtype = VOLUME_F32};
    return settings_check(s);
}

static enum err setting_dtype(struct run_state *s)
{
    static const char *const names[] = {"f32", "f16", "bf16", "i16", "u8"};
    const char *text = setting(s, "dtype");
    s->step.dtype = VOLUME_F16;
    for (int t = VOLUME_F16; text && t <= VOLUME_U8; t++)
        if (!strcmp(text, names[t])) {
            s->step.dtype = (enum volume_dtype)t;
            return ERR_OK;
        }
    FAIL_IF(text, ERR_USAGE, "`set=dtype=%s`: known are f16, bf16, i16, u8", text);
    return ERR_OK;
}

/* A box inside of the volume: three quarters of each axis where nothing else is said. */
static enum err setting_box(struct run_state *s)
{
    struct volume_step *p = &s->step;
    const int has_start = setting(s, "start") != NULL;
    for (int a = 0; a < 3; a++)
        p->out[a] = p->in[a] < 2 ? p->in[a] : p->in[a] * 3 / 4;
    TRY(setting_three(s, "shape", 1, p->out));
    for (int a = 0; a < 3; a++)
        p->start[a] = (p->in[a] - p->out[a]) / 2;
    TRY(setting_three(s, "start", 0, p->start));
    for (int a = 0; a < 3; a++)
        FAIL_IF(p->out[a] > p->in[a] || p->start[a] + p->out[a] > p->in[a], ERR_USAGE,
                "`set=%s`: voxels %" PRId64 " to %" PRId64 " of axis %d, which has %" PRId64
                ": volume_crop_or_pad pads",
                has_start ? "start" : "shape", p->start[a], p->start[a] + p->out[a] - 1, a,
                p->in[a]);
    return ERR_OK;
}

enum err step_same(struct run_state *s)
{
    return begin_volume(s, VOLUME_PLACE);
}

enum err run_volume_step(struct run_state *s)
{
    return s->be->ops->volume_step(s->be, &s->step, &s->in.buffer, &s->out.buffer);
}

enum err step_z_norm(struct run_state *s)
{
    TRY(begin_volume(s, VOLUME_MAP));
    s->step.norm = VOLUME_Z_NORM;
    return ERR_OK;
}

enum err step_rescale(struct run_state *s)
{
    TRY(begin_volume(s, VOLUME_MAP));
    s->step.norm = VOLUME_RESCALE;
    s->step.high = 1;
    TRY(setting_number(s, "min", &s->step.low));
    return setting_number(s, "max", &s->step.high);
}

enum err step_crop(struct run_state *s)
{
    TRY(begin_volume(s, VOLUME_PLACE));
    return setting_box(s);
}

/* Centred: where an odd number of voxels is cut or added, the larger half is at the end. */
enum err step_crop_or_pad(struct run_state *s)
{
    struct volume_step *p = &s->step;
    TRY(begin_volume(s, VOLUME_PLACE));
    p->out[0] += p->in[0] / 4;
    p->out[1] -= p->in[1] / 4;
    TRY(setting_three(s, "shape", 1, p->out));
    for (int a = 0; a < 3; a++)
        p->start[a] =
            p->in[a] >= p->out[a] ? (p->in[a] - p->out[a]) / 2 : -((p->out[a] - p->in[a]) / 2);
    return ERR_OK;
}

static void turn_over(struct volume_step *p, int a)
{
    p->turn[a] = -1;
    p->start[a] = p->in[a] - 1;
}

static enum err axes_of(const struct run_state *s, int64_t axes[3], int *count)
{
    const char *text = setting(s, "axes");
    if (!text)
        return ERR_OK;
    TRY(setting_integers("axes", text, 0, 2, axes, count));
    for (int i = 0; i < *count; i++)
        for (int k = 0; k < i; k++)
            FAIL_IF(axes[i] == axes[k], ERR_USAGE, "`set=axes=%s`: an axis is there twice", text);
    return ERR_OK;
}

enum err step_flip(struct run_state *s)
{
    int64_t axes[3] = {0, 0, 0};
    int count = 1;
    TRY(begin_volume(s, VOLUME_PLACE));
    TRY(axes_of(s, axes, &count));
    for (int i = 0; i < count; i++)
        turn_over(&s->step, (int)axes[i]);
    return ERR_OK;
}

enum err step_flip_all(struct run_state *s)
{
    TRY(begin_volume(s, VOLUME_PLACE));
    for (int a = 0; a < 3; a++)
        turn_over(&s->step, a);
    return ERR_OK;
}

/* Rotates as numpy.rot90: from the first axis towards the second. */
enum err step_rot90(struct run_state *s)
{
    struct volume_step *p = &s->step;
    int64_t axes[3] = {0, 1, 0}, turns[3] = {1, 0, 0};
    int count = 2, one = 1;
    TRY(begin_volume(s, VOLUME_PLACE));
    TRY(axes_of(s, axes, &count));
    FAIL_IF(count != 2, ERR_USAGE, "`set=axes=%s`: a turn needs two axes", setting(s, "axes"));
    if (setting(s, "k"))
        TRY(setting_integers("k", setting(s, "k"), -1000, 1000, turns, &one));
    FAIL_IF(one != 1, ERR_USAGE, "`set=k=%s`: one number is needed", setting(s, "k"));
    const int k = (int)((turns[0] % 4 + 4) % 4), a = (int)axes[0], b = (int)axes[1];
    if (k == 2) {
        turn_over(p, a);
        turn_over(p, b);
    } else if (k) {
        p->from[a] = b;
        p->from[b] = a;
        p->out[a] = p->in[b];
        p->out[b] = p->in[a];
        const int back = k == 1 ? a : b;
        p->turn[back] = -1;
        p->start[back] = p->in[p->from[back]] - 1;
    }
    return ERR_OK;
}

static enum err step_resample(struct run_state *s, enum volume_kind kind)
{
    TRY(begin_volume(s, kind));
    for (int a = 0; a < 3; a++)
        s->step.out[a] += s->step.in[a] / 4;
    return setting_three(s, "shape", 1, s->step.out);
}

enum err step_nearest(struct run_state *s)
{
    return step_resample(s, VOLUME_NEAREST);
}

enum err step_linear(struct run_state *s)
{
    return step_resample(s, VOLUME_LINEAR);
}

enum err step_halve(struct run_state *s)
{
    TRY(begin_volume(s, VOLUME_HALVE));
    for (int a = 0; a < 3; a++)
        s->step.out[a] = (s->step.in[a] + 1) / 2;
    return ERR_OK;
}

enum err step_cast(struct run_state *s)
{
    TRY(begin_volume(s, VOLUME_MAP));
    return setting_dtype(s);
}

enum err step_fused(struct run_state *s)
{
    TRY(begin_volume(s, VOLUME_MAP));
    s->step.norm = VOLUME_Z_NORM;
    TRY(setting_dtype(s));
    return setting_box(s);
}
