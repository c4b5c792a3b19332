/* Metadata of Zarr arrays: .zarray of version 2, zarr.json of version 3. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host/store/manifest/manifest.h"
#include "host/store/reader/zarr.h"

static const char *json_text(const cJSON *j, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(j, key);
    return cJSON_IsString(v) ? v->valuestring : "";
}

/* Returns a whole number of at most 2^53; -1 for another value. */
static int64_t json_integer(const cJSON *v)
{
    return cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble <= 0x1p53 &&
                   v->valuedouble == floor(v->valuedouble)
               ? (int64_t)v->valuedouble
               : -1;
}

static enum err json_sizes(struct store *s, const struct store_array *a, const cJSON *list,
                           const char *what, int *dims, int64_t out[STORE_DIMS])
{
    const int n = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : -1;
    FAIL_IF(n < 0 || n > STORE_DIMS || (*dims >= 0 && n != *dims), ERR_INPUT,
            "%s: %s: \"%s\" has %d sizes", s->name, a->name, what, n);
    *dims = n;
    const cJSON *v;
    int i = 0;
    cJSON_ArrayForEach (v, list) {
        out[i] = json_integer(v);
        FAIL_IF(out[i] < 1, ERR_INPUT, "%s: %s: \"%s\" holds no sizes of at least 1", s->name,
                a->name, what);
        i++;
    }
    return ERR_OK;
}

static void fill_put(struct store_array *a, double number, int64_t integer)
{
    unsigned char *p = a->fill;
    const int bytes = a->dtype.kind == 'c' ? a->dtype.bytes / 2 : a->dtype.bytes;
    const float narrow = (float)number;
    if (a->dtype.kind == 'f' || a->dtype.kind == 'c') {
        if (bytes == 4)
            memcpy(p, &narrow, 4);
        else if (bytes == 8)
            memcpy(p, &number, 8);
    } else {
        memcpy(p, &integer, 8); /* little-endian */
        memset(p + bytes, 0, sizeof a->fill - (size_t)bytes);
    }
    for (int i = 0; a->dtype.swap && i < bytes / 2; i++) {
        const unsigned char t = p[i];
        p[i] = p[bytes - 1 - i];
        p[bytes - 1 - i] = t;
    }
}

static void set_fill(struct store_array *a, const cJSON *v)
{
    if (cJSON_IsArray(v)) /* of complex numbers: the real part */
        v = cJSON_GetArrayItem(v, 0);
    if (cJSON_IsNumber(v)) {
        const double n = v->valuedouble;
        fill_put(a, n,
                 n >= 0x1p63    ? (int64_t)(uint64_t)fmin(n, 0x1.fffffffffffffp63)
                 : n >= -0x1p63 ? (int64_t)n
                                : INT64_MIN);
    } else if (cJSON_IsBool(v)) {
        fill_put(a, cJSON_IsTrue(v), cJSON_IsTrue(v));
    } else if (cJSON_IsString(v)) {
        const char *t = v->valuestring;
        fill_put(a,
                 !strcmp(t, "NaN")         ? NAN
                 : !strcmp(t, "Infinity")  ? INFINITY
                 : !strcmp(t, "-Infinity") ? -INFINITY
                                           : 0,
                 0);
    }
}

static enum err add_step(struct store *s, const struct store_array *a, struct codec_pipeline *p,
                         struct codec_step step)
{
    FAIL_IF(p->count == CODEC_STEPS, ERR_UNSUPPORTED, "%s: %s has more than %d codecs", s->name,
            a->name, CODEC_STEPS);
    p->step[p->count++] = step;
    return ERR_OK;
}

/* A compressor's name in either version. */
static int zarr_codec(const char *name, enum codec *out)
{
    static const struct {
        const char *name;
        enum codec codec;
    } rows[] = {{"zlib", CODEC_ZLIB},
                {"gzip", CODEC_GZIP},
                {"zstd", CODEC_ZSTD},
                {"blosc", CODEC_BLOSC},
                {"lz4", CODEC_LZ4},
                {"crc32c", CODEC_CRC32C},
                {"shuffle", CODEC_SHUFFLE},
                {"numcodecs.zlib", CODEC_ZLIB},
                {"numcodecs.shuffle", CODEC_SHUFFLE},
                {"numcodecs.lz4", CODEC_LZ4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name)) {
            *out = rows[i].codec;
            return 1;
        }
    return 0;
}

/* Codecs without settings may be plain names. */
static const char *codec_name_of(const cJSON *c)
{
    return cJSON_IsString(c) ? c->valuestring : json_text(c, "name");
}

static enum err codec_refuse(struct store *s, const struct store_array *a, const char *codec)
{
    return FAIL(ERR_UNSUPPORTED,
                "%s: %s has the codec \"%.60s\", which is not read; zlib, gzip, zstd, blosc, lz4, "
                "shuffle and crc32c are",
                s->name, a->name, codec);
}

static struct codec_step codec_step_of(const struct store_array *a, enum codec codec,
                                       const cJSON *settings)
{
    const int64_t size = json_integer(cJSON_GetObjectItemCaseSensitive(settings, "elementsize"));
    return (struct codec_step){.codec = codec,
                               .item = size >= 1 && size <= 64 ? (int)size : a->dtype.bytes,
                               .plain = codec == CODEC_BLOSC &&
                                        !strcmp(json_text(settings, "cname"), "lz4")};
}

/* In the order of decoding: the compressor, then the filters from the last one on. */
enum err zarr_parse2(struct store *s, struct store_array *a, const cJSON *j)
{
    struct zarr_array *z = a->reader;
    struct codec_pipeline *p = &a->pipelines[0];
    const cJSON *compressor = cJSON_GetObjectItemCaseSensitive(j, "compressor"),
                *filters = cJSON_GetObjectItemCaseSensitive(j, "filters");
    enum codec codec;
    a->dims = -1;
    TRY(json_sizes(s, a, cJSON_GetObjectItemCaseSensitive(j, "shape"), "shape", &a->dims,
                   a->shape));
    TRY(json_sizes(s, a, cJSON_GetObjectItemCaseSensitive(j, "chunks"), "chunks", &a->dims,
                   a->chunk));
    FAIL_IF(!store_dtype_parse(json_text(j, "dtype"), &a->dtype), ERR_UNSUPPORTED,
            "%s: %s has the type \"%.40s\"; numbers are read", s->name, a->name,
            json_text(j, "dtype"));
    a->pipelines_count = 1;
    if (cJSON_IsObject(compressor)) {
        if (!zarr_codec(json_text(compressor, "id"), &codec))
            return codec_refuse(s, a, json_text(compressor, "id"));
        TRY(add_step(s, a, p, codec_step_of(a, codec, compressor)));
    }
    for (int i = cJSON_IsArray(filters) ? cJSON_GetArraySize(filters) - 1 : -1; i >= 0; i--) {
        const cJSON *f = cJSON_GetArrayItem(filters, i);
        if (!zarr_codec(json_text(f, "id"), &codec))
            return codec_refuse(s, a, json_text(f, "id"));
        TRY(add_step(s, a, p, codec_step_of(a, codec, f)));
    }
    for (int i = 0; i < a->dims && json_text(j, "order")[0] == 'F'; i++)
        a->order[i] = a->dims - 1 - i;
    z->separator = json_text(j, "dimension_separator")[0] == '/' ? '/' : '.';
    set_fill(a, cJSON_GetObjectItemCaseSensitive(j, "fill_value"));
    return store_array_check(s, a);
}

static int zarr3_type(const char *name, struct store_dtype *out)
{
    static const struct {
        const char *name;
        struct store_dtype dtype;
    } rows[] = {{"bool", {'b', 1, 0}},      {"int8", {'i', 1, 0}},       {"int16", {'i', 2, 0}},
                {"int32", {'i', 4, 0}},     {"int64", {'i', 8, 0}},      {"uint8", {'u', 1, 0}},
                {"uint16", {'u', 2, 0}},    {"uint32", {'u', 4, 0}},     {"uint64", {'u', 8, 0}},
                {"float16", {'f', 2, 0}},   {"float32", {'f', 4, 0}},    {"float64", {'f', 8, 0}},
                {"complex64", {'c', 8, 0}}, {"complex128", {'c', 16, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].name, name)) {
            *out = rows[i].dtype;
            return 1;
        }
    return 0;
}

static enum err set_transpose(struct store *s, struct store_array *a, const cJSON *order)
{
    int seen = 0;
    for (int i = 0; i < a->dims; i++) {
        const int64_t d = json_integer(cJSON_GetArrayItem(order, i));
        FAIL_IF(d < 0 || d >= a->dims || seen >> d & 1, ERR_INPUT,
                "%s: %s: the order of its codec transpose is not a permutation", s->name, a->name);
        seen |= 1 << d;
        a->order[i] = (int)d;
    }
    return ERR_OK;
}

static enum err set_codecs(struct store *s, struct store_array *a, const cJSON *list, int depth);

static enum err set_shards(struct store *s, struct store_array *a, const cJSON *settings)
{
    struct zarr_array *z = a->reader;
    const cJSON *c;
    z->sharded = 1;
    memcpy(z->shard, a->chunk, sizeof z->shard);
    TRY(json_sizes(s, a, cJSON_GetObjectItemCaseSensitive(settings, "chunk_shape"), "chunk_shape",
                   &a->dims, a->chunk));
    for (int i = 0; i < a->dims; i++)
        FAIL_IF(z->shard[i] % a->chunk[i], ERR_INPUT,
                "%s: %s: the size of its shards is not a multiple of its chunks", s->name, a->name);
    z->index_first = !strcmp(json_text(settings, "index_location"), "start");
    cJSON_ArrayForEach (c, cJSON_GetObjectItemCaseSensitive(settings, "index_codecs")) {
        const char *name = codec_name_of(c);
        if (!strcmp(name, "crc32c"))
            z->index_sum = 1;
        else if (strcmp(name, "bytes") ||
                 !strcmp(json_text(cJSON_GetObjectItemCaseSensitive(c, "configuration"), "endian"),
                         "big"))
            return FAIL(
                ERR_UNSUPPORTED,
                "%s: %s has the codec \"%.60s\"%s in the index of its shards; little-endian "
                "\"bytes\" and \"crc32c\" are read",
                s->name, a->name, name, strcmp(name, "bytes") ? "" : " (big-endian)");
    }
    return set_codecs(s, a, cJSON_GetObjectItemCaseSensitive(settings, "codecs"), 1);
}

static enum err set_codecs(struct store *s, struct store_array *a, const cJSON *list, int depth)
{
    const cJSON *c;
    struct codec_pipeline encode = {0};
    int shards = 0;
    cJSON_ArrayForEach (c, list) {
        const char *name = codec_name_of(c);
        const cJSON *settings = cJSON_GetObjectItemCaseSensitive(c, "configuration");
        enum codec codec;
        if (!strcmp(name, "transpose")) {
            TRY(set_transpose(s, a, cJSON_GetObjectItemCaseSensitive(settings, "order")));
        } else if (!strcmp(name, "bytes")) {
            a->dtype.swap = !strcmp(json_text(settings, "endian"), "big") && a->dtype.bytes > 1;
        } else if (!strcmp(name, "sharding_indexed") && !depth && c == list->child) {
            shards = 1;
            TRY(set_shards(s, a, settings));
        } else if (shards || !zarr_codec(name, &codec)) {
            return codec_refuse(s, a, name);
        } else {
            TRY(add_step(s, a, &encode, codec_step_of(a, codec, settings)));
        }
    }
    if (shards)
        return ERR_OK;
    a->pipelines_count = 1;
    a->pipelines[0].count = encode.count;
    for (int i = 0; i < encode.count; i++)
        a->pipelines[0].step[i] = encode.step[encode.count - 1 - i];
    return ERR_OK;
}

enum err zarr_parse3(struct store *s, struct store_array *a, const cJSON *j)
{
    struct zarr_array *z = a->reader;
    const cJSON *grid = cJSON_GetObjectItemCaseSensitive(j, "chunk_grid"),
                *keys = cJSON_GetObjectItemCaseSensitive(j, "chunk_key_encoding"), *v;
    const char *separator =
        json_text(cJSON_GetObjectItemCaseSensitive(keys, "configuration"), "separator");
    int i = 0;
    a->dims = -1;
    TRY(json_sizes(s, a, cJSON_GetObjectItemCaseSensitive(j, "shape"), "shape", &a->dims,
                   a->shape));
    FAIL_IF(strcmp(json_text(grid, "name"), "regular"), ERR_UNSUPPORTED,
            "%s: %s has the chunk grid \"%.40s\"; regular ones are read", s->name, a->name,
            json_text(grid, "name"));
    grid = cJSON_GetObjectItemCaseSensitive(grid, "configuration");
    TRY(json_sizes(s, a, cJSON_GetObjectItemCaseSensitive(grid, "chunk_shape"), "chunk_shape",
                   &a->dims, a->chunk));
    FAIL_IF(!zarr3_type(json_text(j, "data_type"), &a->dtype), ERR_UNSUPPORTED,
            "%s: %s has the type \"%.40s\"; numbers are read", s->name, a->name,
            json_text(j, "data_type"));
    z->v3_keys = strcmp(json_text(keys, "name"), "v2") != 0;
    z->separator = *separator ? *separator : z->v3_keys ? '/' : '.';
    FAIL_IF(z->separator != '/' && z->separator != '.', ERR_INPUT,
            "%s: %s: its chunks have the separator '%c'", s->name, a->name, z->separator);
    TRY(set_codecs(s, a, cJSON_GetObjectItemCaseSensitive(j, "codecs"), 0));
    cJSON_ArrayForEach (v, cJSON_GetObjectItemCaseSensitive(j, "dimension_names")) {
        if (i < a->dims && cJSON_IsString(v))
            a->axis[i] = store_text(s, v->valuestring);
        i++;
    }
    set_fill(a, cJSON_GetObjectItemCaseSensitive(j, "fill_value"));
    return store_array_check(s, a);
}
