/* Group storage: ingest, full reads, slices along three axes, regions and batches of them, on
 * stores of the operation's own making. The array is (sagittal, coronal, axial) as in NIfTI,
 * float32. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "host/store/engine/engine.h"
#include "host/store/format/nifti.h"
#include "host/store/writer/writer.h"
#include "host/suite/catalogue/inputs.h"
#include "host/suite/catalogue/catalogue.h"
#include "host/suite/catalogue/volume.h"

#define BLOCK         64
#define BATCH         4 /* regions of 64^3, as in document 000's experiment */
#define BATCHES_MOST  1000
#define BATCH_MOST    1000
#define SUBJECTS_MOST 1000

enum layout { SLICED, BLOCKS };
enum what { FULL, AXIAL, CORONAL, SAGITTAL, REGION, BATCHES, INGEST };

struct subject { /* a store of the same phantom */
    struct store *store;
    struct store_array *array;
};

struct storage {
    char folder[3900];
    struct subject *subjects;
    int64_t subjects_count;
    enum layout layout;
    enum what what;
    int boxes_count, written;
    struct engine_box *boxes;
    int *subject;     /* of each box */
    int64_t elements; /* of all boxes */
};

static void close_stores(struct storage *g)
{
    for (int64_t i = 0; i < g->subjects_count; i++) {
        store_close(g->subjects[i].store);
        g->subjects[i].store = NULL;
    }
}

static void storage_finish(struct run_state *s)
{
    struct storage *g = s->storage;
    if (!g)
        return;
    close_stores(g);
    if (g->folder[0])
        dir_remove(g->folder);
    free(g->subjects);
    free(g->boxes);
    free(g->subject);
    free(g);
    s->storage = NULL;
}

/* storage_read_roi_64_off_blocks: what, edge, layout. */
static void parse_name(struct storage *g, const char *name, int64_t *edge, int *off)
{
    static const char *const whats[] = {"_full",     "_axial", "_coronal",
                                        "_sagittal", "_roi_",  "_batch"};
    g->what = INGEST;
    g->layout = strstr(name, "_blocks") ? BLOCKS : SLICED;
    for (int i = 0; i < 6; i++)
        if (strstr(name, whats[i]))
            g->what = (enum what)i;
    *off = strstr(name, "_off_") != NULL;
    *edge = g->what == REGION ? strtoll(strstr(name, "_roi_") + 5, NULL, 10) : BLOCK;
}

static int64_t least_edge(const struct volume *v)
{
    const int64_t n = v->cols < v->rows ? v->cols : v->rows;
    return n < v->slices ? n : v->slices;
}

/* A whole number of `run --set`, within bounds; as it was where it is not given. */
static enum err storage_setting(const struct run_state *s, const char *key, int64_t most,
                                int64_t *out)
{
    double value = (double)*out;
    TRY(setting_number(s, key, &value));
    FAIL_IF(value < 1 || value > (double)most || value != floor(value), ERR_USAGE,
            "`set=%s=%g`: must be a whole number from 1 to %" PRId64, key, value, most);
    *out = (int64_t)value;
    return ERR_OK;
}

/* Counts boxes and stores; `edge` of the regions of a batch. */
static enum err storage_size(struct run_state *s, struct storage *g, int64_t *edge)
{
    int64_t batches = 1, each = BATCH, subjects = 1;
    if (s->op->settings) {
        TRY(settings_check(s));
        TRY(storage_setting(s, "subjects", SUBJECTS_MOST, &subjects));
    }
    if (g->what == BATCHES) {
        TRY(storage_setting(s, "batches", BATCHES_MOST, &batches));
        TRY(storage_setting(s, "batch_size", BATCH_MOST, &each));
        TRY(storage_setting(s, "patch", INT32_MAX, edge));
    }
    g->boxes_count = g->what == BATCHES ? (int)(batches * each) : 1;
    g->boxes = calloc((size_t)g->boxes_count, sizeof *g->boxes);
    g->subject = calloc((size_t)g->boxes_count, sizeof *g->subject);
    g->subjects = calloc((size_t)subjects, sizeof *g->subjects);
    FAIL_IF(!g->boxes || !g->subject || !g->subjects, ERR_MEMORY,
            "no memory left for the operation");
    g->subjects_count = subjects;
    return ERR_OK;
}

static uint64_t random_next(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

/* The boxes that a run reads. Regions begin at the corner of a block near the middle, where the
 * phantom is, or half a block from it, and end with the volume. */
static void set_boxes(struct run_state *s, struct storage *g, int64_t edge, int off)
{
    const struct volume *v = &s->model.volume;
    const int64_t n[] = {v->cols, v->rows, v->slices};
    uint64_t random = s->seed + 1;
    g->elements = 0;
    for (int k = 0; k < g->boxes_count; k++) {
        struct engine_box *b = &g->boxes[k];
        int64_t all = 1;
        for (int d = 0; d < 3; d++) {
            b->count[d] = n[d];
            if (g->what >= AXIAL && g->what <= SAGITTAL && d == SAGITTAL - (int)g->what) {
                b->start[d] = n[d] / 2;
                b->count[d] = 1;
            } else if (g->what == REGION || g->what == BATCHES) {
                b->count[d] = edge < n[d] ? edge : n[d];
                const uint64_t drawn = random_next(&random);
                const int64_t room = n[d] - b->count[d] + 1,
                              near = (room / 2 + BLOCK / 2) / BLOCK * BLOCK,
                              corner = near < room ? near : near - BLOCK,
                              ahead = corner + BLOCK / 2;
                b->start[d] = g->what == BATCHES    ? (int64_t)(drawn % (uint64_t)room)
                              : !off                ? corner
                              : ahead < room        ? ahead
                              : corner >= BLOCK / 2 ? corner - BLOCK / 2
                                                    : room - 1;
            }
            all *= b->count[d];
        }
        g->elements += all;
        if (g->subjects_count > 1)
            g->subject[k] = (int)(random_next(&random) % (uint64_t)g->subjects_count);
    }
}

/* A region outside of the phantom would be checked against zeros alone: the middle is not. */
static void move_empty(const struct run_state *s, struct storage *g)
{
    const struct volume *v = &s->model.volume;
    const int64_t n[] = {v->cols, v->rows, v->slices};
    for (int k = 0; k < g->boxes_count; k++) {
        struct engine_box *b = &g->boxes[k];
        int filled = 0;
        for (int64_t i = 0; i < b->count[0]; i++)
            for (int64_t j = 0; j < b->count[1]; j++) {
                const float *x = s->in.host +
                                 ((b->start[1] + j) * v->cols + b->start[0] + i) * v->slices +
                                 b->start[2];
                for (int64_t c = 0; c < b->count[2] && !filled; c++)
                    filled = x[c] != 0;
            }
        for (int d = 0; d < 3 && !filled; d++)
            b->start[d] = (n[d] - b->count[d]) / 2;
    }
}

static enum err write_store(struct run_state *s, struct storage *g, const char *path)
{
    const struct volume *v = &s->model.volume;
    char source[4096];
    struct writer_result result;
    struct writer_options o = {.chunk_dims = 3, .zarr = 3};
    static const double spacing[3] = {1, 1, 1};
    const int64_t n[] = {v->cols, v->rows, v->slices};
    for (int d = 0; d < 3; d++)
        o.chunk[d] = g->layout == BLOCKS ? BLOCK : d < 2 ? n[d] : 1;
    snprintf(source, sizeof source, "%s/volume.nii.gz", g->folder);
    if (access(source, F_OK))
        TRY(nifti_write(source, v->rows, v->cols, v->slices, spacing, s->in.host));
    return store_convert(source, path, &o, &result);
}

/* Folder number `made` of stores: 0 is read, later ones are written by runs. */
static void subject_path(const struct storage *g, int made, int64_t subject, char path[4096])
{
    snprintf(path, 4096, "%s/made%d/subject%" PRId64 ".zarr", g->folder, made, subject);
}

static enum err write_stores(struct run_state *s, struct storage *g, int made)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/made%d", g->folder, made);
    FAIL_IF(mkdir(path, 0700), ERR_IO, "%s: cannot be made: %s; set TMPDIR", path, strerror(errno));
    for (int64_t i = 0; i < g->subjects_count; i++) {
        subject_path(g, made, i, path);
        TRY(write_store(s, g, path));
    }
    return ERR_OK;
}

static enum err open_stores(struct storage *g, int made)
{
    char path[4096];
    for (int64_t i = 0; i < g->subjects_count; i++) {
        struct subject *x = &g->subjects[i];
        subject_path(g, made, i, path);
        TRY(store_open(path, &x->store));
        TRY(store_find(x->store, NULL, &x->array));
        TRY(store_index(x->store, x->array));
    }
    return ERR_OK;
}

static enum err prepare_storage(struct run_state *s)
{
    const char *where = getenv("TMPDIR");
    int64_t edge;
    int off;
    void *out;
    struct storage *g = calloc(1, sizeof *g);
    s->storage = g;
    FAIL_IF(!g, ERR_MEMORY, "no memory left for the operation");
    s->large = 1; /* all in the host's memory, whatever computes */
    TRY(prepare_volume(s));
    parse_name(g, s->op->name, &edge, &off);
    FAIL_IF(off && least_edge(&s->model.volume) <= edge, ERR_UNSUPPORTED,
            "a volume of edge %" PRId64 " has no region of %" PRId64
            "^3 across blocks: choose a larger size",
            least_edge(&s->model.volume), edge);
    TRY(storage_size(s, g, &edge));
    set_boxes(s, g, edge, off);
    move_empty(s, g);
    snprintf(g->folder, sizeof g->folder, "%s/tomoprof-XXXXXX", where && *where ? where : "/tmp");
    if (!mkdtemp(g->folder)) {
        char wanted[3900];
        memcpy(wanted, g->folder, sizeof wanted);
        g->folder[0] = 0;
        return FAIL(ERR_IO, "%s: cannot be made: %s; set TMPDIR", wanted, strerror(errno));
    }
    TRY(write_stores(s, g, 0));
    TRY(mem_alloc("what is read", (size_t)g->elements * sizeof(float), &out));
    s->out.host = out;
    s->out.buffer = (struct buffer){PLACE_HOST, 0, (size_t)g->elements * sizeof(float), out};
    return open_stores(g, 0);
}

static enum err run_read(struct run_state *s)
{
    struct storage *g = s->storage;
    float *out = s->out.buffer.ptr;
    for (int k = 0; k < g->boxes_count; k++) {
        const struct engine_box *b = &g->boxes[k];
        const struct subject *x = &g->subjects[g->subject[k]];
        TRY(engine_read(x->store, x->array, b, (struct store_dtype){'f', 4, 0}, out, NULL));
        out += b->count[0] * b->count[1] * b->count[2];
    }
    return ERR_OK;
}

/* From .nii.gz into a store that is read back and compared, as `convert` does. */
static enum err run_ingest(struct run_state *s)
{
    return write_stores(s, s->storage, ++s->storage->written);
}

/* Compares every element with the phantom. */
static enum err check_read(struct run_state *s)
{
    const struct storage *g = s->storage;
    const struct volume *v = &s->model.volume;
    const float *out = s->out.buffer.ptr;
    for (int b = 0; b < g->boxes_count; b++) {
        const struct engine_box *box = &g->boxes[b];
        for (int64_t i = 0; i < box->count[0]; i++)
            for (int64_t j = 0; j < box->count[1]; j++)
                for (int64_t k = 0; k < box->count[2]; k++, out++) {
                    const int64_t pixel = (box->start[1] + j) * v->cols + box->start[0] + i,
                                  at = pixel * v->slices + box->start[2] + k;
                    FAIL_IF(memcmp(out, &s->in.host[at], sizeof *out) != 0, ERR_FAILED,
                            "wrong result: %.9g at element %" PRId64 ", %.9g was written",
                            (double)*out, at, (double)s->in.host[at]);
                }
    }
    return ERR_OK;
}

/* The written store is read as a whole; run_ingest itself compared it with its source. */
static enum err check_ingest(struct run_state *s)
{
    close_stores(s->storage);
    TRY(open_stores(s->storage, s->storage->written));
    TRY(run_read(s));
    return check_read(s);
}

static enum err prepare_ingest(struct run_state *s)
{
    TRY(prepare_storage(s));
    return run_read(s); /* what the fingerprint is of */
}

/* Outside of the time: what the last run wrote goes. */
static struct work work_storage(struct run_state *s)
{
    struct storage *g = s->storage;
    char path[4096];
    const double times = g->what == INGEST ? (double)g->subjects_count : 1,
                 bytes = times * (double)g->elements * sizeof(float);
    snprintf(path, sizeof path, "%s/made%d", g->folder, g->written - 1);
    if (g->written > 1)
        dir_remove(path);
    return (struct work){0, 2 * bytes, 2 * bytes};
}

/* Chunks that the boxes touch, one of several boxes each time, and what must be decoded for them. */
static enum err touch_storage(struct run_state *s, double *chunks, double *amplification)
{
    const struct storage *g = s->storage;
    double moved = 0, wanted = 0;
    *chunks = 0;
    for (int k = 0; k < g->boxes_count; k++) {
        const struct subject *x = &g->subjects[g->subject[k]];
        struct engine_plan *p;
        TRY(engine_plan(x->store, x->array, &g->boxes[k], &(struct engine_options){0}, &p));
        const struct engine_facts *f = engine_facts(p);
        *chunks += (double)f->chunks;
        moved += (double)(f->bytes_decoded ? f->bytes_decoded : f->bytes_fetched);
        wanted += (double)f->bytes_wanted;
        engine_plan_free(p);
    }
    *amplification = moved / wanted;
    return ERR_OK;
}

/* clang-format off */
#define ROW(operation, text, ready, go, test, ...) \
    {.name = "storage_" operation, .geometry = "any", .group = "storage", .access_pattern = "stream", .help = text, \
     .input = ARRAY_VOLUME, .output = ARRAY_NONE, .prepare = ready, .run = go, .check = test, .work = work_storage, \
     .finish = storage_finish, .apart = 1, ##__VA_ARGS__}
#define READ(operation, text, ...) ROW(operation, text, prepare_storage, run_read, check_read, .touch = touch_storage, ##__VA_ARGS__)
#define READS(layout, text) \
    READ("read_full_" layout, "all of " text), \
    READ("read_slice_axial_" layout, "a slice of " text), \
    READ("read_slice_coronal_" layout, "a slice of " text), \
    READ("read_slice_sagittal_" layout, "a slice of " text), \
    READ("read_roi_32_" layout, "32^3 at a corner of " text), \
    READ("read_roi_64_" layout, "64^3 at a corner of " text), \
    READ("read_roi_128_" layout, "128^3 at a corner of " text), \
    READ("read_roi_64_off_" layout, "64^3 across blocks of " text), \
    READ("read_batch_" layout, "4 regions of 64^3 of " text, .settings = "batches batch_size patch subjects")

static const struct operation rows[] = {
    ROW("ingest_sliced", ".nii.gz -> Zarr, chunks of a slice", prepare_ingest, run_ingest, check_ingest, .settings = "subjects"),
    ROW("ingest_blocks", ".nii.gz -> Zarr, chunks of 64^3", prepare_ingest, run_ingest, check_ingest, .settings = "subjects"),
    READS("sliced", "a store of slices"),
    READS("blocks", "a store of blocks"),
};
/* clang-format on */
const struct operation_rows storage_operations = {rows, sizeof rows / sizeof *rows};
