/* The tables of timing.json's structs, and the file as a whole. */
#include <cjson/cJSON.h>

#include "base/file.h"
#include "base/json/tables.h"
#include "base/timing/timing.h"

#define TIMING_LIMIT ((size_t)256 << 20)

TIMING_STRUCTS(JSON_RECORD)
JSON_RECORD(timing_file, TIMING_FILE_FIELDS)

enum err timing_file_create(struct timing_file **out)
{
    struct arena *arena;
    *out = NULL;
    TRY(arena_create(&arena));
    struct timing_file *t = arena_take(arena, sizeof *t);
    if (!t) {
        arena_free(arena);
        return FAIL(ERR_MEMORY, "no memory left for the times");
    }
    json_blank(&record_timing_file, t);
    t->arena = arena;
    *out = t;
    return ERR_OK;
}

void timing_file_free(struct timing_file *t)
{
    if (t)
        arena_free(t->arena);
}

enum err timing_file_write(const struct timing_file *t, const char *path)
{
    struct outfile f;
    struct jsonw w;
    TRY(outfile_open(&f, path));
    jsonw_init(&w, f.stream, 1);
    json_write(&w, &record_timing_file, t);
    return outfile_commit(&f);
}

enum err timing_file_read(const char *path, struct timing_file **out)
{
    cJSON *root;
    enum err e = ERR_OK;
    *out = NULL;
    TRY(json_parse_file(path, TIMING_LIMIT, &root));
    if (cJSON_IsObject(root)) {
        e = timing_file_create(out);
        if (!e)
            e = json_read((*out)->arena, &record_timing_file, root, *out, JSON_LENIENT);
    }
    cJSON_Delete(root);
    if (e) {
        timing_file_free(*out);
        *out = NULL;
    }
    return e;
}
