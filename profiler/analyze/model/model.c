#include <math.h>
#include <string.h>

#include "profiler/analyze/model/model.h"

#define TYPE_TEXT(type)    NULL
#define TYPE_REAL(type)    NULL
#define TYPE_INT(type)     NULL
#define TYPE_INDEX(type)   NULL
#define TYPE_FLAG(type)    NULL
#define TYPE_ONE(type)     &record_##type
#define TYPE_LIST(type)    &record_##type
#define TYPE_TABLE(type)   &record_##type
#define TYPE_MAP(type)     &record_##type
#define TYPE_WORDS(type)   NULL
#define TYPE_NUMBERS(type) NULL
#define TYPE_COUNTS(type)  NULL

#define ROW(kind_, type_, name_, meaning_)                                                         \
    {.key = #name_,                                                                                \
     .meaning = meaning_,                                                                          \
     .kind = MODEL_##kind_,                                                                        \
     .type = TYPE_##kind_(type_),                                                                  \
     .offset = offsetof(owner, name_)},
#define ONE_MORE(kind, type, name, meaning) +1
#define RECORD(name_, fields_)                                                                     \
    static const struct model_field *rows_##name_(void)                                            \
    {                                                                                              \
        typedef struct name_ owner;                                                                \
        static const struct model_field rows[] = {fields_(ROW)};                                   \
        return rows;                                                                               \
    }                                                                                              \
    const struct model_record record_##name_ = {#name_, sizeof(struct name_), rows_##name_,        \
                                                0 fields_(ONE_MORE)};
MODEL_STRUCTS(RECORD)
RECORD(model, MODEL_FIELDS)

void *model_at(const struct model_field *f, const void *item)
{
    return (char *)item + f->offset;
}

int *model_count_at(const struct model_field *f, const void *item)
{
    return (int *)((char *)item + f->offset + sizeof(void *));
}

void model_blank(const struct model_record *type, void *item)
{
    memset(item, 0, type->size);
    for (int i = 0; i < type->count; i++) {
        const struct model_field *f = &type->fields()[i];
        void *at = model_at(f, item);
        if (f->kind == MODEL_REAL)
            *(double *)at = (double)NAN;
        else if (f->kind == MODEL_INT)
            *(int64_t *)at = MODEL_UNKNOWN;
        else if (f->kind == MODEL_INDEX)
            *(int32_t *)at = -1;
        else if (f->kind == MODEL_ONE)
            model_blank(f->type, at);
    }
}

enum err model_items(struct model *m, const struct model_record *type, size_t count, void *items,
                     int *items_count)
{
    FAIL_IF(count > INT32_MAX, ERR_UNSUPPORTED, "%zu entries of %s are more than a profile holds",
            count, type->name);
    char *p = arena_take(m->arena, count * type->size);
    FAIL_IF(!p, ERR_MEMORY, "no memory for %zu entries of %s", count, type->name);
    for (size_t i = 0; i < count; i++)
        model_blank(type, p + i * type->size);
    memcpy(items, &p, sizeof p);
    *items_count = (int)count;
    return ERR_OK;
}

enum err model_create(struct model **out)
{
    struct arena *arena;
    TRY(arena_create(&arena));
    struct model *m = arena_take(arena, sizeof *m);
    if (!m) {
        arena_free(arena);
        return FAIL(ERR_MEMORY, "no memory for a profile");
    }
    model_blank(&record_model, m);
    m->arena = arena;
    *out = m;
    return ERR_OK;
}

void model_destroy(struct model *m)
{
    if (m)
        arena_free(m->arena);
}
