/* Each function passes a part of a store both ways; what is taken is checked at once. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "host/store/guard/across.h"

#define NAMES_MOST  131072 /* notes and other names */
#define ARRAYS_MOST 65536
#define MEMORY_MOST ((int64_t)1 << 30) /* bytes of an object in memory: a view of a scan */
#define CHUNK_MOST  ((int64_t)1 << 46)

/* Refuses what a child sent and its reader would not. */
#define DAMAGED(s)                                                                                 \
    FAIL(ERR_INPUT, "%s: its headers contradict each other: the file is damaged", (s)->name)
#define REFUSE_IF(s, condition)                                                                    \
    do {                                                                                           \
        if (condition)                                                                             \
            return DAMAGED(s);                                                                     \
    } while (0)

/* Codecs that HDF5's filters and DICOM have, and the bounds of their numbers. */
static const struct {
    enum codec codec;
    int item_least, item_most, row_most, samples_most, has_level;
} across_codecs[] = {
    {CODEC_ZLIB, 0, 16, 0, 0, 0},       {CODEC_SHUFFLE, 1, 4096, 0, 0, 0},
    {CODEC_FLETCHER32, 0, 16, 0, 0, 0}, {CODEC_SZIP, 0, 64, 65536, 32, 1},
    {CODEC_LZF, 0, 16, 0, 0, 0},        {CODEC_BITSHUFFLE, 1, 64, 1 << 24, 0, 0},
    {CODEC_BLOSC, 0, 16, 0, 0, 0},      {CODEC_BITSHUFFLE_LZ4, 1, 64, 1 << 24, 0, 0},
    {CODEC_LZ4_HDF5, 0, 16, 0, 0, 0},   {CODEC_BITSHUFFLE_ZSTD, 1, 64, 1 << 24, 0, 0},
    {CODEC_ZSTD, 0, 16, 0, 0, 0},       {CODEC_SCALE_OFFSET, 1, 8, 0, 7, 1},
    {CODEC_BZIP2, 0, 16, 0, 0, 0},      {CODEC_BLOSC2, 0, 16, 0, 0, 0},
    {CODEC_DICOM, 0, 0, 0, 0, 1},
};

static int step_is_known(const struct codec_step *p)
{
    for (size_t i = 0; i < sizeof across_codecs / sizeof *across_codecs; i++) {
        if (across_codecs[i].codec != p->codec)
            continue;
        return p->item >= across_codecs[i].item_least && p->item <= across_codecs[i].item_most &&
               p->row >= 0 && p->row <= across_codecs[i].row_most && p->samples >= 0 &&
               p->samples <= across_codecs[i].samples_most &&
               (!p->level || across_codecs[i].has_level);
    }
    return 0;
}

static enum err pipelines_pass(struct store_wire *w, const struct store *s, struct store_array *a)
{
    wire_int(w, &a->pipelines_count);
    REFUSE_IF(s, a->pipelines_count < 0 || a->pipelines_count > STORE_PIPELINES);
    for (int i = 0; i < a->pipelines_count; i++) {
        struct codec_pipeline *p = &a->pipelines[i];
        wire_int(w, &p->count);
        REFUSE_IF(s, p->count < 0 || p->count > CODEC_STEPS);
        for (int k = 0; k < p->count; k++) {
            struct codec_step *step = &p->step[k];
            int codec = (int)step->codec;
            wire_int(w, &codec);
            step->codec = (enum codec)codec;
            int *const numbers[] = {&step->item, &step->row, &step->samples, &step->level};
            for (int n = 0; n < 4; n++)
                wire_int(w, numbers[n]);
            REFUSE_IF(s, !w->writes && !step_is_known(step));
        }
    }
    return ERR_OK;
}

/* The decoded chunk that a tile is cut from has a size that can be. */
static int tile_fits(const struct store_array *a, const struct store_tile *t)
{
    int64_t bytes = a->dtype.bytes;
    for (int d = 0; d < a->dims && t->whole[0]; d++)
        if (t->whole[d] < 1 || __builtin_mul_overflow(bytes, t->whole[d], &bytes) ||
            bytes > CHUNK_MOST)
            return 0;
    return 1;
}

static enum err tiles_pass(struct store_wire *w, struct store *s, struct store_array *a)
{
    int has = a->tiles != NULL;
    wire_int(w, &has);
    if (!has)
        return ERR_OK;
    wire_number(w, &a->chunks_count);
    if (!w->writes) {
        REFUSE_IF(s, a->chunks_count < 0 || a->chunks_count > NAMES_MOST * 4);
        a->tiles = arena_take(s->arena, (size_t)a->chunks_count * sizeof *a->tiles + 1);
        FAIL_IF(!a->tiles, ERR_MEMORY, "%s: no memory left for its tiles", s->name);
    }
    for (int64_t i = 0; i < a->chunks_count && !w->broken; i++) {
        wire_bytes(w, &a->tiles[i], sizeof *a->tiles);
        REFUSE_IF(s, !w->writes && !tile_fits(a, &a->tiles[i]));
    }
    return ERR_OK;
}

void across_send_chunks(struct store_wire *w, struct store *s, struct store_array *a)
{
    pipelines_pass(w, s, a);
    for (int64_t i = 0; i < a->chunks_count; i++)
        wire_bytes(w, &a->chunks[i], sizeof *a->chunks);
}

enum err across_take_chunks(struct store_wire *w, struct store *s, struct store_array *a)
{
    TRY(pipelines_pass(w, s, a));
    TRY(store_chunks_room(s, a));
    for (int64_t i = 0; i < a->chunks_count && !w->broken; i++) {
        struct store_chunk c;
        wire_bytes(w, &c, sizeof c);
        REFUSE_IF(s, c.object < -1 || c.object >= s->objects_count || c.whole);
        if (c.object >= 0)
            TRY(store_chunk_set(s, a, i, c));
    }
    REFUSE_IF(s, w->broken);
    return ERR_OK;
}

static int dtype_is_known(const struct store_array *a)
{
    const struct store_dtype t = a->dtype;
    const int bytes = t.bytes;
    return strchr("biuf", t.kind) && t.kind && bytes >= 1 && bytes <= 8 && !(bytes & (bytes - 1)) &&
           t.swap <= 1 && (t.kind != 'b' || bytes == 1);
}

static int order_is_known(const struct store_array *a)
{
    unsigned seen = 0;
    for (int i = 0; i < STORE_DIMS; i++)
        seen |= a->order[i] >= 0 && a->order[i] < STORE_DIMS ? 1u << a->order[i] : 0;
    return seen == (1u << STORE_DIMS) - 1;
}

static enum err members_pass(struct store_wire *w, struct store *s, struct store_array *a)
{
    wire_int(w, &a->members_count);
    REFUSE_IF(s, a->members_count < 0 || a->members_count > NAMES_MOST);
    if (!w->writes && a->members_count) {
        a->members = arena_take(s->arena, (size_t)a->members_count * sizeof *a->members);
        FAIL_IF(!a->members, ERR_MEMORY, "%s: no memory left for the names of its values", s->name);
    }
    for (int i = 0; i < a->members_count; i++) {
        wire_text(w, &a->members[i].name);
        wire_number(w, &a->members[i].value);
        REFUSE_IF(s, !a->members[i].name);
    }
    return ERR_OK;
}

/* Passes all of an array but its name and chunks. */
static enum err array_pass(struct store_wire *w, struct store *s, struct store_array *a)
{
    const char **const texts[] = {&a->units, &a->group, &a->from};
    wire_bytes(w, &a->dtype, sizeof a->dtype);
    wire_int(w, &a->dims);
    wire_bytes(w, a->shape, sizeof a->shape);
    wire_bytes(w, a->chunk, sizeof a->chunk);
    wire_bytes(w, a->order, sizeof a->order);
    wire_int(w, &a->cut_edges);
    wire_int(w, &a->apart);
    for (int i = 0; i < STORE_DIMS; i++) {
        wire_text(w, &a->axis[i]);
        wire_text(w, &a->unit[i]);
        wire_real(w, &a->spacing[i]);
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        wire_text(w, texts[i]);
    wire_real(w, &a->slope);
    wire_real(w, &a->intercept);
    wire_bytes(w, a->fill, sizeof a->fill);
    REFUSE_IF(s, w->broken || a->dims < 0 || a->dims > STORE_DIMS || !dtype_is_known(a) ||
                     !order_is_known(a) || (a->cut_edges | a->apart | 1) != 1);
    TRY(members_pass(w, s, a));
    return tiles_pass(w, s, a);
}

static enum err array_take(struct store_wire *w, struct store *s, int number,
                           enum err (*index)(struct store *s, struct store_array *a))
{
    struct store_array *a;
    const char *name = NULL;
    int has_chunks = 0;
    wire_text(w, &name);
    REFUSE_IF(s, !name);
    TRY(store_array_add(s, name, &a));
    TRY(array_pass(w, s, a));
    TRY(pipelines_pass(w, s, a));
    TRY(store_array_check(s, a));
    if (a->tiles)
        TRY(store_tiles_check(s, a));
    wire_int(w, &has_chunks);
    if (has_chunks)
        return across_take_chunks(w, s, a);
    int *own = arena_take(s->arena, sizeof *own);
    FAIL_IF(!own, ERR_MEMORY, "%s: no memory left for its arrays", s->name);
    *own = number;
    a->reader = own;
    a->index = index;
    return ERR_OK;
}

static size_t folder_bytes(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? (size_t)(slash - name) : 0;
}

int across_names(const struct store *s, const char *name)
{
    const size_t n = folder_bytes(s->name);
    if (!strcmp(name, s->name))
        return 1;
    /* Readers write ./NAME of the current folder, and NAME/FILE of a folder in it. */
    const int here = !n && *s->name != '/';
    if (here && !strncmp(name, "./", 2))
        return store_name_is_inside(name + 2);
    if (here) {
        const size_t own = strlen(s->name);
        return !strncmp(name, s->name, own) && name[own] == '/' && store_name_is_inside(name);
    }
    const char *rest =
        name + n + 1 + (!n && name[1] == '/'); /* of the folder /, readers write //NAME */
    return !strncmp(name, s->name, n) && name[n] == '/' && store_name_is_inside(rest);
}

static enum err object_take(struct store_wire *w, struct store *s)
{
    const char *name = NULL;
    int64_t bytes = -1;
    int32_t index;
    wire_text(w, &name);
    wire_number(w, &bytes);
    REFUSE_IF(s, !name || bytes < -1 || bytes > MEMORY_MOST);
    if (bytes >= 0) {
        TRY(mem_require(s->name, (size_t)bytes, NULL));
        void *data = malloc((size_t)bytes + 1);
        FAIL_IF(!data, ERR_MEMORY, "%s: no memory left", s->name);
        wire_bytes(w, data, (size_t)bytes);
        const enum err e = store_memory_add(s, name, data, (size_t)bytes, &index);
        free(data);
        return e;
    }
    FAIL_IF((s->remote || !store_follow_links) && !across_names(s, name), ERR_INPUT,
            "%s: leads to %.200s, outside of its folder: refused", s->name, name);
    const char *root = s->root;
    if (!strcmp(name, s->name)) /* the user named it, whatever links it has */
        s->root = NULL;
    const enum err e = store_object_add(s, NULL, name, &index);
    s->root = root;
    return e;
}

static void object_send(struct store_wire *w, struct store_object *o)
{
    int64_t bytes = o->memory ? o->bytes : -1;
    wire_text(w, &o->name);
    wire_number(w, &bytes);
    if (o->memory)
        wire_bytes(w, (void *)(uintptr_t)o->memory, (size_t)bytes);
}

void across_send(struct store_wire *w, struct store *s)
{
    int32_t *const counts[] = {&s->objects_count, &s->arrays_count, &s->notes_count,
                               &s->aliases_count};
    for (int i = 0; i < 4; i++)
        wire_int(w, counts[i]);
    for (int i = 0; i < s->objects_count; i++)
        object_send(w, &s->objects[i]);
    for (int i = 0; i < s->arrays_count; i++) {
        struct store_array *a = s->arrays[i];
        int has_chunks = a->chunks != NULL;
        wire_text(w, &a->name);
        array_pass(w, s, a);
        pipelines_pass(w, s, a);
        wire_int(w, &has_chunks);
        if (has_chunks)
            across_send_chunks(w, s, a);
    }
    for (int i = 0; i < s->notes_count; i++) {
        wire_text(w, &s->notes[i].name);
        wire_text(w, &s->notes[i].value);
        wire_int(w, &s->notes[i].hides);
        wire_number(w, &s->notes[i].elements);
    }
    for (int i = 0; i < s->aliases_count; i++) {
        struct store_alias *alias = &s->aliases[i];
        int array = 0;
        while (s->arrays[array] != alias->array)
            array++;
        wire_text(w, &alias->name);
        wire_text(w, &alias->group);
        wire_text(w, &alias->how);
        wire_int(w, &array);
    }
}

static enum err names_take(struct store_wire *w, struct store *s, int notes, int aliases)
{
    for (int i = 0; i < notes && !w->broken; i++) {
        const char *name = NULL, *value = NULL;
        int hides = 0;
        int64_t elements = 0;
        wire_text(w, &name);
        wire_text(w, &value);
        wire_int(w, &hides);
        wire_number(w, &elements);
        REFUSE_IF(s, !name || !value);
        TRY(store_note_add(s, name, "%s", value));
        s->notes[s->notes_count - 1].hides = hides;
        s->notes[s->notes_count - 1].elements = elements;
    }
    for (int i = 0; i < aliases && !w->broken; i++) {
        struct store_alias alias = {.name = NULL};
        int array = -1;
        wire_text(w, &alias.name);
        wire_text(w, &alias.group);
        wire_text(w, &alias.how);
        wire_int(w, &array);
        REFUSE_IF(s, !alias.name || array < 0 || array >= s->arrays_count);
        alias.array = s->arrays[array];
        TRY(store_alias_add(s, alias));
    }
    REFUSE_IF(s, w->broken);
    return ERR_OK;
}

enum err across_take(struct store_wire *w, struct store *s,
                     enum err (*index)(struct store *s, struct store_array *a))
{
    int counts[4] = {0}; /* objects, arrays, notes, aliases */
    w->arena = s->arena;
    for (int i = 0; i < 4; i++) {
        wire_int(w, &counts[i]);
        REFUSE_IF(s, w->broken || counts[i] < 0 || counts[i] > (i < 2 ? ARRAYS_MOST : NAMES_MOST));
    }
    char *folder = arena_take(s->arena, strlen(s->name) + 2);
    FAIL_IF(!folder, ERR_MEMORY, "%s: no memory left", s->name);
    const size_t n = folder_bytes(s->name);
    memcpy(folder, n ? s->name : *s->name == '/' ? "/" : ".", n ? n : 1);
    TRY(store_confine(s, folder));
    for (int i = 0; i < counts[0] && !w->broken; i++)
        TRY(object_take(w, s));
    for (int i = 0; i < counts[1] && !w->broken; i++)
        TRY(array_take(w, s, i, index));
    return names_take(w, s, counts[2], counts[3]);
}
