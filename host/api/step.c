/* Steps on volumes and on views by their name, on the caller's arrays. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "host/api/call.h"
#include "host/suite/catalogue/steps.h"

#define SETTINGS      8
#define SETTINGS_ROOM 4096

enum { STEP_IN, STEP_FRAMES, STEP_OUT }; /* operands */

struct step_call {
    const char *name, *settings;
    int64_t *shape; /* of tomoprof_step_shape, else NULL */
    tomoprof_type *type;
    char room[SETTINGS_ROOM];
    const char *items[SETTINGS];
    struct run_state s;
    tomoprof_array plain; /* in, where it had to be converted */
    void *copy;
};

static const tomoprof_type step_types[] = {[VOLUME_F32] = TOMOPROF_FLOAT32,
                                           [VOLUME_F16] = TOMOPROF_FLOAT16,
                                           [VOLUME_BF16] = TOMOPROF_BFLOAT16,
                                           [VOLUME_I16] = TOMOPROF_INT16,
                                           [VOLUME_U8] = TOMOPROF_UINT8};

#define VOLUME_ROW(word, pattern, fill, takes, text)                                               \
    {.name = "volume_" word, .run = run_volume_step, .step = fill, .settings = takes},
#define VIEW_ROW(name_, pattern, text, make, fill, takes, check, set_up, turn_)                    \
    {.name = name_, .run = run_view_step, .step = fill, .settings = takes, .turn = turn_},
static const struct operation step_rows[] = {
    VOLUME_STEPS(VOLUME_ROW) VIEW_STEPS(VIEW_ROW) /* and one that `apply` runs without settings */
    {.name = "remove_stripes_sorting",
     .run = run_sorting,
     .step = step_sorting,
     .settings = "size"}};

static const struct operation *step_row(const char *name)
{
    for (size_t i = 0; name && i < sizeof step_rows / sizeof *step_rows; i++)
        if (!strcmp(step_rows[i].name, name))
            return &step_rows[i];
    return NULL;
}

/* A step may look at the values before its shape is known: as float32 in C order. */
static enum err step_take_input(struct api_call *k, struct step_call *p)
{
    struct operand *in = &k->operands[STEP_IN];
    TRY(operand_check(k, in));
    if (in->a.place == TOMOPROF_HOST && !operand_is_plain(in)) {
        TRY(mem_alloc("in", (size_t)in->elements * sizeof(float), &p->copy));
        operand_read(in, p->copy);
        p->plain = (tomoprof_array)TOMOPROF_ARRAY(p->copy, TOMOPROF_FLOAT32, in->a.shape[0],
                                                  in->a.shape[1], in->a.shape[2]);
        in->array = &p->plain;
        TRY(operand_check(k, in));
    }
    p->s.in.host = in->a.place == TOMOPROF_HOST ? in->a.data : NULL;
    return ERR_OK;
}

static enum err check_frames(const struct api_call *k, struct step_call *p)
{
    struct operand *frames = (struct operand *)&k->operands[STEP_FRAMES];
    const int wanted = !strcmp(p->name, "correct_flat_field");
    const int64_t *n = k->operands[STEP_IN].a.shape;
    FAIL_IF(frames->array && !wanted, ERR_USAGE, "frames is not read by %s; pass NULL", p->name);
    if (!wanted || p->shape)
        return ERR_OK;
    FAIL_IF(!frames->array, ERR_USAGE,
            "frames is NULL; %s needs (3, rows, channels): dark, flat before and flat after",
            p->name);
    TRY(operand_check(k, frames));
    FAIL_IF(
        frames->a.shape[0] != 3 || frames->a.shape[1] != n[1] || frames->a.shape[2] != n[2],
        ERR_USAGE,
        "frames has the shape (%lld, %lld, %lld); expected (3, %lld, %lld), frames of the views",
        (long long)frames->a.shape[0], (long long)frames->a.shape[1], (long long)frames->a.shape[2],
        (long long)n[1], (long long)n[2]);
    return ERR_OK;
}

/* The command line calls a setting `set=KEY=VALUE`; callers of the library know `KEY=VALUE`. */
static enum err step_error(enum err e)
{
    static const char set[] = "`set=";
    char sentence[API_SENTENCE];
    char *at = sentence;
    snprintf(sentence, sizeof sentence, "%s", err_text());
    while ((at = strstr(at, set))) {
        at++;
        memmove(at, at + strlen(set) - 1, strlen(at + strlen(set) - 1) + 1);
    }
    return FAIL(e, "%s", sentence);
}

static enum err prepare_step(struct api_call *k)
{
    static float none; /* the suite asks only whether frames are there */
    struct step_call *p = k->result;
    struct run_state *s = &p->s;
    const char *settings = p->settings ? p->settings : "";
    s->op = step_row(p->name);
    FAIL_IF(!s->op, ERR_USAGE,
            "name=%.60s: no such step; docs/volume.md and docs/operations.md list them",
            p->name ? p->name : "NULL");
    FAIL_IF(strlen(settings) >= sizeof p->room, ERR_USAGE,
            "settings has %zu bytes; at most %d are accepted", strlen(settings), SETTINGS_ROOM - 1);
    strcpy(p->room, settings);
    TRY(settings_split(p->room, p->items, SETTINGS, &s->settings_count));
    s->settings = p->items;
    s->be = k->be;
    TRY(step_take_input(k, p));
    TRY(check_frames(k, p));
    const int64_t *n = k->operands[STEP_IN].a.shape;
    s->model.volume = (struct volume){.rows = n[0], .cols = n[1], .slices = n[2]};
    s->model.scan = (struct scan){.views = n[0], .rows = n[1], .channels = n[2]};
    s->frames.host = &none;
    const enum err e = s->op->step(s);
    if (e)
        return step_error(e);
    s->frames.host = NULL;
    memcpy(k->shape, s->step.out, sizeof k->shape);
    k->type = step_types[s->step.dtype];
    k->operands[STEP_OUT].raw = k->type != TOMOPROF_FLOAT32;
    return ERR_OK;
}

static enum err compute_step(struct api_call *k)
{
    struct step_call *p = k->result;
    if (p->shape) {
        memcpy(p->shape, k->shape, sizeof k->shape);
        *p->type = k->type;
        return ERR_OK;
    }
    p->s.in.buffer = k->operands[STEP_IN].buffer;
    p->s.frames.buffer = k->operands[STEP_FRAMES].buffer;
    p->s.out.buffer = k->operands[STEP_OUT].buffer;
    return p->s.op->run(&p->s);
}

static tomoprof_status run_step(struct api_call *k, struct step_call *p)
{
    k->prepare = prepare_step;
    k->compute = compute_step;
    k->result = p;
    const tomoprof_status status = call_run(k);
    free((void *)p->s.model.scan.angles);
    mem_free(p->copy);
    return status;
}

tomoprof_status tomoprof_step(tomoprof_context *c, const char *name, const char *settings,
                              const tomoprof_array *in, const tomoprof_array *frames,
                              tomoprof_array *out)
{
    struct step_call p = {.name = name, .settings = settings};
    struct api_call k = {
        .context = c,
        .operands = {[STEP_IN] = {"in", FORM_ANY, WAY_IN, in},
                     [STEP_FRAMES] = {"frames", FORM_ANY, WAY_IN, frames, .optional = 1},
                     [STEP_OUT] = {"out", FORM_GIVEN, WAY_OUT, out}}};
    return run_step(&k, &p);
}

static enum err check_step_shape(struct api_call *k)
{
    const struct step_call *p = k->result;
    FAIL_IF(!p->type, ERR_USAGE, "type is NULL; pass the address of a tomoprof_type");
    return ERR_OK;
}

tomoprof_status tomoprof_step_shape(tomoprof_context *c, const char *name, const char *settings,
                                    const tomoprof_array *in, int64_t shape[3], tomoprof_type *type)
{
    int64_t nowhere[3];
    struct step_call p = {
        .name = name, .settings = settings, .shape = shape ? shape : nowhere, .type = type};
    struct api_call k = {.context = c,
                         .operands = {[STEP_IN] = {"in", FORM_ANY, WAY_IN, in}},
                         .check = check_step_shape};
    return run_step(&k, &p);
}
