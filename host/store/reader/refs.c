/* References (kerchunk, VirtualiZarr): a JSON file that makes byte ranges of other files a Zarr
 * store. Ranges lie in files beside it or below, on its server where it has a URL; other places
 * are refused. */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/table.h"
#include "base/text.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"
#include "host/store/reader/zarr.h"

#define FILE_MOST   ((size_t)1 << 30)
#define REMOTE_MOST ((size_t)256 << 20)

struct refs {
    struct zarr_keys keys;
    cJSON *root;
    struct table by_key; /* hash of a key -> index in items */
    const cJSON **items;
    size_t count;
    const char *folder;
    struct table objects; /* hash of a name -> object */
};

static int refs_knows(const struct reader_file *f)
{
    const char *head = (const char *)f->head;
    size_t at = strspn(head, " \t\r\n");
    return !f->is_folder && head[at] == '{' &&
           (strstr(head, ".zarray\"") || strstr(head, ".zgroup\"") || strstr(head, "zarr.json\""));
}

/* Keys of the same hash lie at the next ones. */
static const cJSON *refs_find(const struct refs *r, const char *key)
{
    uint64_t hash = table_hash(key, strlen(key));
    for (uint32_t i; (i = table_get(&r->by_key, hash)) != TABLE_NONE; hash++)
        if (!strcmp(r->items[i]->string, key))
            return r->items[i];
    return NULL;
}

/* "base64:..." is binary, all else is text. */
static enum err inline_bytes(struct store *s, const char *text, unsigned char **out, size_t *n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const int packed = !strncmp(text, "base64:", 7);
    const char *from = packed ? text + 7 : text;
    const size_t length = strlen(from);
    unsigned bits = 0;
    int have = 0;
    *n = 0;
    *out = malloc(length + 1);
    FAIL_IF(!*out, ERR_MEMORY, "%s: no memory left", s->name);
    for (size_t i = 0; i < length && from[i] != '='; i++) {
        const char *digit = packed ? strchr(digits, from[i]) : NULL;
        if (!packed) {
            (*out)[(*n)++] = (unsigned char)from[i];
            continue;
        }
        if (!digit || !from[i]) {
            free(*out);
            return FAIL(ERR_INPUT, "%s: a reference is not base64", s->name);
        }
        bits = bits << 6 | (unsigned)(digit - digits);
        have += 6;
        if (have >= 8) {
            have -= 8;
            (*out)[(*n)++] = (unsigned char)(bits >> have);
        }
    }
    (*out)[*n] = 0;
    return ERR_OK;
}

static enum err refs_text(struct store *s, void *state, const char *key, char **out)
{
    const cJSON *item = refs_find(state, key);
    size_t n;
    *out = NULL;
    if (!item)
        return ERR_OK;
    if (cJSON_IsObject(item)) {
        *out = cJSON_PrintUnformatted(item);
        FAIL_IF(!*out, ERR_MEMORY, "%s: no memory left", s->name);
        return ERR_OK;
    }
    FAIL_IF(!cJSON_IsString(item), ERR_UNSUPPORTED, "%s: %s is not in the file itself", s->name,
            key);
    return inline_bytes(s, item->valuestring, (unsigned char **)out, &n);
}

static enum err refs_object(struct store *s, struct refs *r, const char *name, int32_t *object)
{
    uint64_t hash = table_hash(name, strlen(name));
    for (uint32_t i; (i = table_get(&r->objects, hash)) != TABLE_NONE; hash++) {
        const char *known = s->objects[i].name + strlen(r->folder) + 1;
        if (!strcmp(known, name)) {
            *object = (int32_t)i;
            return ERR_OK;
        }
    }
    FAIL_IF(strstr(name, "://"), ERR_UNSUPPORTED,
            "%s: refers to \"%.200s\"; references to files beside it are read", s->name, name);
    TRY(store_object_add(s, r->folder, name, object));
    return table_put(&r->objects, hash, (uint32_t)*object);
}

static int64_t refs_integer(const cJSON *v)
{
    return cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble <= 0x1p53
               ? (int64_t)v->valuedouble
               : -1;
}

static enum err refs_place(struct store *s, void *state, const char *key, struct store_chunk *out)
{
    const cJSON *item = refs_find(state, key);
    unsigned char *bytes;
    size_t n;
    if (!item)
        return ERR_OK;
    if (cJSON_IsString(item)) {
        TRY(inline_bytes(s, item->valuestring, &bytes, &n));
        enum err e = store_memory_add(s, key, bytes, n, &out->object);
        free(bytes);
        out->stored = (int64_t)n;
        return e;
    }
    const int parts = cJSON_IsArray(item) ? cJSON_GetArraySize(item) : 0;
    const cJSON *name = cJSON_GetArrayItem(item, 0);
    FAIL_IF((parts != 1 && parts != 3) || !cJSON_IsString(name), ERR_INPUT,
            "%s: %s is not a reference [file, offset, length]", s->name, key);
    TRY(refs_object(s, state, name->valuestring, &out->object));
    if (parts == 1)
        return store_object_bytes(s, out->object, &out->stored);
    out->offset = refs_integer(cJSON_GetArrayItem(item, 1));
    out->stored = refs_integer(cJSON_GetArrayItem(item, 2));
    return ERR_OK;
}

static void close_refs(struct store *s)
{
    struct refs *r = s->reader;
    cJSON_Delete(r->root);
    table_free(&r->by_key);
    table_free(&r->objects);
    free(r->items);
}

static enum err index_keys(struct store *s, struct refs *r, const cJSON *refs)
{
    const cJSON *item;
    size_t n = 0;
    cJSON_ArrayForEach (item, refs)
        n++;
    r->items = malloc((n + 1) * sizeof *r->items);
    FAIL_IF(!r->items, ERR_MEMORY, "%s: no memory left", s->name);
    cJSON_ArrayForEach (item, refs) {
        uint64_t hash = item->string ? table_hash(item->string, strlen(item->string)) : 0;
        if (!item->string || refs_find(r, item->string))
            continue;
        while (table_get(&r->by_key, hash) != TABLE_NONE)
            hash++;
        r->items[r->count] = item;
        TRY(table_put(&r->by_key, hash, (uint32_t)r->count++));
    }
    return ERR_OK;
}

/* Every key that ends in the name of array metadata. */
static enum err refs_add_arrays(struct store *s, struct refs *r)
{
    static const char *const names[] = {".zarray", "zarr.json"};
    const size_t count = r->count;
    for (size_t i = 0; i < count && s->arrays_count < 4096; i++)
        for (int k = 0; k < 2; k++) {
            const char *key = r->items[i]->string;
            const size_t n = strlen(key), end = strlen(names[k]);
            char prefix[1024];
            int found;
            if (!text_ends(key, names[k]) || (n > end && key[n - end - 1] != '/') ||
                n - end >= sizeof prefix)
                continue;
            memcpy(prefix, key, n - end);
            prefix[n - end] = 0;
            TRY(zarr_add(s, &r->keys, prefix, &found));
        }
    return zarr_multiscales(s, &r->keys, "");
}

static enum err refs_fill(struct store *s, const struct reader_file *f)
{
    struct refs *r = arena_take(s->arena, sizeof *r);
    char folder[4096], *text;
    size_t bytes;
    const char *slash = strrchr(f->path, '/');
    FAIL_IF(!r, ERR_MEMORY, "%s: no memory left", f->path);
    s->reader = r;
    s->close = close_refs;
    r->keys = (struct zarr_keys){r, refs_text, refs_place};
    FAIL_IF(slash && slash - f->path >= (long)sizeof folder, ERR_INPUT, "%s: the path is too long",
            f->path);
    const size_t n = slash ? (size_t)(slash - f->path) : 1;
    memcpy(folder, slash ? f->path : ".", n);
    folder[n] = 0;
    r->folder = store_text(s, *folder ? folder : "/");
    TRY(store_confine(s, r->folder));
    TRY(s->remote ? remote_text(f->path, REMOTE_MOST, &text)
                  : file_read_all(f->path, FILE_MOST, &text, &bytes));
    FAIL_IF(!text, ERR_INPUT, "%s: is not there any more", f->path);
    r->root = cJSON_Parse(text);
    free(text);
    FAIL_IF(!r->root, ERR_INPUT, "%s: is not JSON", f->path);
    const cJSON *refs = cJSON_GetObjectItemCaseSensitive(r->root, "refs");
    FAIL_IF(cJSON_GetObjectItemCaseSensitive(r->root, "templates") ||
                cJSON_GetObjectItemCaseSensitive(r->root, "gen"),
            ERR_UNSUPPORTED, "%s: has templates: write it without, as kerchunk's translate does",
            f->path);
    TRY(index_keys(s, r, refs ? refs : r->root)); /* version 0 has the keys themselves */
    return refs_add_arrays(s, r);
}

static enum err refs_open(const struct reader_file *f, struct store **out)
{
    TRY(store_make(f->path, "references", out));
    enum err e = refs_fill(*out, f);
    if (e) {
        store_close(*out);
        *out = NULL;
    }
    return e;
}

const struct reader reader_refs = {"references", "kerchunk references", refs_knows, refs_open};
