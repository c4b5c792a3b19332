/* Zarr stores: arrays and groups below a folder, and OME-Zarr's axes. */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/text.h"
#include "host/store/fetch/http.h"
#include "host/store/manifest/manifest.h"
#include "host/store/reader/reader.h"
#include "host/store/reader/zarr.h"

#define TEXT_MOST    ((size_t)16 << 20)
#define ARRAYS_MOST  4096
#define DEPTH_MOST   6
#define FOLDERS_MOST 65536

static enum err parse_key(struct store *s, const struct zarr_keys *keys, const char *prefix,
                          const char *name, cJSON **out)
{
    char key[4096], *text;
    *out = NULL;
    snprintf(key, sizeof key, "%s%s", prefix, name);
    TRY(keys->text(s, keys->state, key, &text));
    if (!text)
        return ERR_OK;
    *out = cJSON_Parse(text);
    free(text);
    FAIL_IF(!*out, ERR_INPUT, "%s: %s is not JSON", s->name, key);
    return ERR_OK;
}

/* xarray's names of dimensions. */
static enum err zarr_set_dimensions(struct store *s, const struct zarr_keys *keys,
                                    const char *prefix, struct store_array *a)
{
    cJSON *attributes;
    const cJSON *v;
    int i = 0;
    TRY(parse_key(s, keys, prefix, ".zattrs", &attributes));
    cJSON_ArrayForEach (v, cJSON_GetObjectItemCaseSensitive(attributes, "_ARRAY_DIMENSIONS")) {
        if (i < a->dims && cJSON_IsString(v))
            a->axis[i] = store_text(s, v->valuestring);
        i++;
    }
    cJSON_Delete(attributes);
    return ERR_OK;
}

enum err zarr_add(struct store *s, const struct zarr_keys *keys, const char *prefix, int *found)
{
    cJSON *two = NULL, *three = NULL;
    struct store_array *a;
    char name[4096];
    TRY(parse_key(s, keys, prefix, ".zarray", &two));
    if (!two)
        TRY(parse_key(s, keys, prefix, "zarr.json", &three));
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(three, "node_type");
    *found = two || (cJSON_IsString(kind) && !strcmp(kind->valuestring, "array"));
    enum err e = ERR_OK;
    if (*found) {
        snprintf(name, sizeof name, "%s", *prefix ? prefix : "data");
        if (*prefix && *name)
            name[strlen(name) - 1] = 0;
        struct zarr_array *z = arena_take(s->arena, sizeof *z);
        e = z ? store_array_add(s, name, &a) : FAIL(ERR_MEMORY, "%s: no memory left", s->name);
        if (!e) {
            z->keys = keys;
            z->prefix = store_text(s, prefix);
            a->reader = z;
            a->index_box = zarr_index;
            e = two ? zarr_parse2(s, a, two) : zarr_parse3(s, a, three);
        }
        if (!e && two)
            e = zarr_set_dimensions(s, keys, prefix, a);
        if (e == ERR_UNSUPPORTED) { /* others of the group may be readable */
            s->arrays_count--;
            if (s->arrays_count || *prefix)
                e = store_unreadable_add(s, "", store_elements(a), "%s", err_text());
        }
    }
    cJSON_Delete(two);
    cJSON_Delete(three);
    return e;
}

static void zarr_set_axes(struct store *s, struct store_array *a, const cJSON *axes,
                          const cJSON *scale)
{
    for (int i = 0; i < a->dims; i++) {
        const cJSON *axis = cJSON_GetArrayItem(axes, i), *v = cJSON_GetArrayItem(scale, i);
        const cJSON *name = cJSON_IsString(axis) ? axis
                                                 : cJSON_GetObjectItemCaseSensitive(axis, "name"),
                    *unit = cJSON_GetObjectItemCaseSensitive(axis, "unit");
        if (cJSON_IsString(name))
            a->axis[i] = store_text(s, name->valuestring);
        if (cJSON_IsString(unit))
            a->unit[i] = store_text(s, unit->valuestring);
        if (cJSON_IsNumber(v))
            a->spacing[i] = v->valuedouble;
    }
}

static void set_levels(struct store *s, const char *prefix, const cJSON *image)
{
    const cJSON *axes = cJSON_GetObjectItemCaseSensitive(image, "axes"), *level, *change;
    char name[4096];
    cJSON_ArrayForEach (level, cJSON_GetObjectItemCaseSensitive(image, "datasets")) {
        const cJSON *path = cJSON_GetObjectItemCaseSensitive(level, "path"), *scale = NULL;
        cJSON_ArrayForEach (change,
                            cJSON_GetObjectItemCaseSensitive(level, "coordinateTransformations"))
            if (!scale)
                scale = cJSON_GetObjectItemCaseSensitive(change, "scale");
        if (!cJSON_IsString(path))
            continue;
        snprintf(name, sizeof name, "%s%s", prefix, path->valuestring);
        for (int i = 0; i < s->arrays_count; i++)
            if (!strcmp(s->arrays[i]->name, name))
                zarr_set_axes(s, s->arrays[i], axes, scale);
    }
}

/* Version 0.4 has them in .zattrs, 0.5 below attributes.ome of zarr.json. */
enum err zarr_multiscales(struct store *s, const struct zarr_keys *keys, const char *prefix)
{
    cJSON *j;
    TRY(parse_key(s, keys, prefix, ".zattrs", &j));
    const cJSON *from = j, *image;
    if (!j) {
        TRY(parse_key(s, keys, prefix, "zarr.json", &j));
        from = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(j, "attributes"),
                                                "ome");
    }
    cJSON_ArrayForEach (image, cJSON_GetObjectItemCaseSensitive(from, "multiscales")) {
        set_levels(s, prefix, image);
        s->format = "OME-Zarr";
    }
    cJSON_Delete(j);
    return ERR_OK;
}

static enum err folder_text(struct store *s, void *state, const char *key, char **out)
{
    char path[8192];
    struct stat st;
    size_t bytes;
    *out = NULL;
    snprintf(path, sizeof path, "%s/%s", (const char *)state, key);
    if (s->remote)
        return remote_text(path, TEXT_MOST, out);
    return stat(path, &st) ? ERR_OK : file_read_all(path, TEXT_MOST, out, &bytes);
}

static enum err folder_place(struct store *s, void *state, const char *key, struct store_chunk *out)
{
    if (s->remote) { /* asking for each chunk would take longer than reading some */
        out->whole = 1;
        return store_object_add(s, state, key, &out->object);
    }
    TRY(store_object_find(s, state, key, &out->object));
    if (out->object >= 0)
        out->stored = s->objects[out->object].bytes;
    return ERR_OK;
}

static int folder_has(const char *folder, const char *name)
{
    char path[8192];
    struct stat st;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (http_is_url(folder)) {
        int64_t bytes;
        return !http_size(path, &bytes) && bytes >= 0;
    }
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int zarr_knows(const struct reader_file *f)
{
    return f->is_folder && (folder_has(f->path, ".zarray") || folder_has(f->path, ".zgroup") ||
                            folder_has(f->path, "zarr.json"));
}

static int is_name(const struct dirent *d)
{
    return d->d_name[0] != '.' && d->d_type != DT_REG;
}

/* "a/b" of a key "a/b/.zarray" or of a node of version 3. */
static enum err add_named(struct store *s, const struct zarr_keys *keys, const char *key)
{
    char prefix[4096];
    int found;
    const size_t n = strlen(key);
    const char *end = text_has_suffix(key, "/.zarray") ? key + n - 8 : key + n;
    if (end == key || s->arrays_count == ARRAYS_MOST)
        return ERR_OK;
    FAIL_IF(snprintf(prefix, sizeof prefix, "%.*s/", (int)(end - key), key) >=
                (int)sizeof prefix - 512,
            ERR_INPUT, "%s: names an array too long to be true", s->name);
    return zarr_add(s, keys, prefix, &found);
}

/* A server does not list names: consolidated metadata and OME-Zarr's levels do. */
static enum err remote_arrays(struct store *s, const struct zarr_keys *keys)
{
    cJSON *two, *three;
    const cJSON *node, *image, *level;
    enum err e = ERR_OK;
    TRY(parse_key(s, keys, "", ".zmetadata", &two));
    cJSON_ArrayForEach (node, cJSON_GetObjectItemCaseSensitive(two, "metadata"))
        if (!e && node->string && strstr(node->string, "/.zarray"))
            e = add_named(s, keys, node->string);
    cJSON_Delete(two);
    TRY(e);
    TRY(parse_key(s, keys, "", "zarr.json", &three));
    const cJSON *all = cJSON_GetObjectItemCaseSensitive(three, "consolidated_metadata");
    cJSON_ArrayForEach (node, cJSON_GetObjectItemCaseSensitive(all, "metadata"))
        if (!e && node->string && cJSON_GetObjectItemCaseSensitive(node, "shape"))
            e = add_named(s, keys, node->string);
    const cJSON *ome = cJSON_GetObjectItemCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(three, "attributes"), "ome");
    two = NULL;
    if (!e && !three)
        e = parse_key(s, keys, "", ".zattrs", &two);
    cJSON_ArrayForEach (image, cJSON_GetObjectItemCaseSensitive(two ? two : ome, "multiscales"))
        cJSON_ArrayForEach (level, cJSON_GetObjectItemCaseSensitive(image, "datasets")) {
            const cJSON *path = cJSON_GetObjectItemCaseSensitive(level, "path");
            if (!e && s->arrays_count < ARRAYS_MOST && cJSON_IsString(path) && !all)
                e = add_named(s, keys, path->valuestring);
        }
    cJSON_Delete(two);
    cJSON_Delete(three);
    FAIL_IF(!e && !s->arrays_count, ERR_INPUT,
            "%s: a Zarr group whose arrays a server cannot list: name one of them, or consolidate "
            "its metadata",
            s->name);
    return e ? e : zarr_multiscales(s, keys, "");
}

struct zarr_folder { /* that is being read, and those that hold it */
    uint64_t device, node;
    const struct zarr_folder *above;
    int depth, *count; /* of all folders that were read */
};

/* A symbolic link may lead to a folder above it. */
static int is_inside_itself(const struct zarr_folder *f)
{
    for (const struct zarr_folder *above = f->above; above; above = above->above)
        if (above->device == f->device && above->node == f->node)
            return 1;
    return 0;
}

static enum err zarr_walk_group(struct store *s, const struct zarr_keys *keys, const char *prefix,
                                const struct zarr_folder *f);

static enum err walk_below(struct store *s, const struct zarr_keys *keys, const char *prefix,
                           const char *name, const struct zarr_folder *above)
{
    char below[4096], path[8192];
    struct stat st;
    if (snprintf(below, sizeof below, "%s%s/", prefix, name) >= (int)sizeof below - 512)
        return ERR_OK;
    snprintf(path, sizeof path, "%s/%s", (const char *)keys->state, below);
    if (s->arrays_count == ARRAYS_MOST)
        return ERR_OK;
    if (stat(path, &st))
        return errno == ENOENT || errno == ELOOP
                   ? ERR_OK
                   : store_unreadable_add(s, below, -1, "cannot be read: %s", strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return ERR_OK;
    const struct zarr_folder f = {st.st_dev, st.st_ino, above, above->depth + 1, above->count};
    if (is_inside_itself(&f) || *f.count > FOLDERS_MOST)
        return ERR_OK;
    if (++*f.count > FOLDERS_MOST)
        return store_unreadable_add(s, "", -1, "only the first %d folders are read", FOLDERS_MOST);
    return zarr_walk_group(s, keys, below, &f);
}

/* Arrays below a group, in the order of their names. */
static enum err zarr_walk_group(struct store *s, const struct zarr_keys *keys, const char *prefix,
                                const struct zarr_folder *f)
{
    char path[8192];
    struct dirent **names;
    int found;
    TRY(zarr_add(s, keys, prefix, &found));
    if (found || f->depth == DEPTH_MOST)
        return ERR_OK;
    if (s->remote)
        return remote_arrays(s, keys);
    snprintf(path, sizeof path, "%s/%s", (const char *)keys->state, prefix);
    const int n = scandir(path, &names, is_name, versionsort);
    enum err e = ERR_OK;
    if (n < 0) /* nobody knows what it holds */
        e = store_unreadable_add(s, prefix, -1, "cannot be listed: %s", strerror(errno));
    for (int i = 0; i < n; i++) {
        if (!e)
            e = walk_below(s, keys, prefix, names[i]->d_name, f);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
    return e ? e : zarr_multiscales(s, keys, prefix);
}

static enum err zarr_open(const struct reader_file *f, struct store **out)
{
    TRY(store_make(f->path, folder_has(f->path, "zarr.json") ? "Zarr 3" : "Zarr 2", out));
    struct store *s = *out;
    struct zarr_keys *keys = arena_take(s->arena, sizeof *keys);
    enum err e = keys ? store_confine(s, s->name) : FAIL(ERR_MEMORY, "%s: no memory left", f->path);
    if (!e) {
        *keys = (struct zarr_keys){(void *)(uintptr_t)s->name, folder_text, folder_place};
        struct stat st = {0};
        int count = 0;
        if (!s->remote)
            stat(s->name, &st);
        const struct zarr_folder root = {st.st_dev, st.st_ino, NULL, 0, &count};
        e = zarr_walk_group(s, keys, "", &root);
    }
    if (e) {
        store_close(s);
        *out = NULL;
    }
    return e;
}

const struct reader reader_zarr = {"Zarr", "Zarr", zarr_knows, zarr_open};
