/* Source files and sites by what they are called. */
#include <string.h>

#include "base/text.h"
#include "profiler/analyze/attribute/paths.h"
#include "profiler/analyze/attribute/site_index.h"

static enum err site_source(struct run *r, const char *recorded, uint32_t *index)
{
    const char *kept = run_text(r, recorded), *path = path_shown(r, recorded);
    FAIL_IF(!kept || !path, ERR_MEMORY, "no memory for the profile");
    *index = table_get(&r->source_by_path, (uintptr_t)path);
    if (*index != TABLE_NONE)
        return ERR_OK;
    *index = (uint32_t)r->sources.count;
    TRY(vector_add(&r->sources, (struct source){kept, path, 0, text_has_suffix(path, ".py")}));
    return table_put(&r->source_by_path, (uintptr_t)path, *index);
}

/* Finds the site of a line, or (line 0) of a function. */
enum err site_of(struct run *r, const char *recorded, int line, const char *function, int begins,
                 int *out)
{
    uint32_t file = 0, index;
    const char *name = run_text(r, function);
    TRY(site_source(r, recorded, &file));
    uint64_t key = table_mix(((uint64_t)file << 32) | (uint32_t)line, line ? 0 : (uintptr_t)name);
    index = table_get(&r->site_by_key, key);
    if (index == TABLE_NONE) {
        index = (uint32_t)r->sites.count;
        TRY(vector_add(&r->sites, (struct site){.file = file,
                                                .line = line,
                                                .begins = begins,
                                                .function = -1,
                                                .name = line ? NULL : name}));
        TRY(table_put(&r->site_by_key, key, index));
    }
    *out = (int)index;
    return ERR_OK;
}
