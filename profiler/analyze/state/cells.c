/* cells.json of a run: names and texts of a notebook's cells. python writes it. */
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/json/tables.h"
#include "profiler/analyze/state/cells.h"

#define CELLS_SCHEMA "tomoprof-cells/1"
#define BYTES_MOST   ((size_t)64 << 20)

/* clang-format off */
#define CELL_FIELDS(X)                                                                             \
    X(TEXT, _, file, "of its code objects")                                                        \
    X(TEXT, _, name, "as the notebook counts: In [3]")                                             \
    X(TEXT, _, text, "as it was compiled")
#define CELLS_FIELDS(X)                                                                            \
    X(TEXT, _, schema, "")                                                                         \
    X(LIST, cell, cells, "")

JSON_DEFINE(cell, CELL_FIELDS)
JSON_DEFINE(cells, CELLS_FIELDS)
JSON_DECLARE(cell, CELL_FIELDS)
JSON_RECORD(cell, CELL_FIELDS)
JSON_RECORD(cells, CELLS_FIELDS)
/* clang-format on */

static uint64_t cell_key(const char *text)
{
    return table_hash(text, strlen(text));
}

static enum err cells_add(struct run *r, const cJSON *root)
{
    struct cells all;
    TRY(json_read(r->m->arena, &record_cells, root, &all, JSON_STRICT));
    FAIL_IF(!all.schema || strcmp(all.schema, CELLS_SCHEMA), ERR_INPUT,
            "schema %.40s, this version reads " CELLS_SCHEMA, all.schema ? all.schema : "unknown");
    for (int i = 0; i < all.cells_count; i++) {
        const struct cell *c = &all.cells[i];
        FAIL_IF(!c->file || !c->name || !c->text || !*c->name, ERR_INPUT,
                "cell %d has no file, no name or no text", i);
    }
    r->cells = all.cells;
    r->cells_count = all.cells_count;
    for (int i = 0; i < all.cells_count; i++) {
        TRY(table_put(&r->cell_by_file, cell_key(all.cells[i].file), (uint32_t)i));
        TRY(table_put(&r->cell_by_name, cell_key(all.cells[i].name), (uint32_t)i));
    }
    return ERR_OK;
}

static enum err cells_refused(struct run *r)
{
    struct model_item row;
    json_blank(&record_model_item, &row);
    row.id = "cells.refused";
    row.text = arena_text(r->m->arena, err_text());
    row.severity = "warning";
    row.count = 1;
    row.effect = "Lines of notebook cells have no text.";
    row.fix = "Run the cell again with %%tomoprof.";
    return row.text ? vector_add(&r->q.notes, row)
                    : FAIL(ERR_MEMORY, "no memory for the cells of a notebook");
}

enum err cells_read(struct run *r)
{
    char path[4200];
    cJSON *root;
    snprintf(path, sizeof path, "%.4096s/cells.json", r->folder);
    if (access(path, F_OK))
        return ERR_OK;
    enum err e = json_parse_file(path, BYTES_MOST, &root);
    if (!e) {
        e = cJSON_IsObject(root) ? cells_add(r, root) : FAIL(ERR_INPUT, "not a JSON object");
        e = e ? err_prefix(e, "cells.json") : ERR_OK;
        cJSON_Delete(root);
    }
    return e == ERR_OK || e == ERR_MEMORY ? e : cells_refused(r);
}

static const struct cell *cell_find(const struct run *r, const struct table *t, const char *key)
{
    uint32_t i = t->count ? table_get(t, cell_key(key)) : TABLE_NONE;
    return i == TABLE_NONE ? NULL : &r->cells[i];
}

const char *cells_name(const struct run *r, const char *file)
{
    const struct cell *c = cell_find(r, &r->cell_by_file, file);
    return c && !strcmp(c->file, file) ? c->name : NULL;
}

const char *cells_at(const struct run *r, int number)
{
    return number < r->cells_count ? r->cells[number].name : NULL;
}

const char *cells_text(const struct run *r, const char *name)
{
    const struct cell *c = cell_find(r, &r->cell_by_name, name);
    return c && !strcmp(c->name, name) ? c->text : NULL;
}
