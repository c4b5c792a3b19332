/* Texts, threads and their time on a CPU, as the files of this importer look them up. */
#include <string.h>

#include "base/array.h"
#include "profiler/import/source/nsys.h"

const char *nsys_string(const struct nsys *n, int64_t id)
{
    uint32_t at = table_get(&n->strings, (uint64_t)id);
    return at == TABLE_NONE ? NULL : n->texts.items[at];
}

#define PID(global)  ((int64_t)((global) >> 24 & 0xFFFFFF))
#define TID(global)  ((int64_t)((global)&0xFFFFFF))
#define PROCESS(tid) ((tid) & ~(uint64_t)0xFFFFFF)

static const char *nsys_name(const struct nsys *n, const struct table *t, uint64_t key)
{
    uint32_t at = table_get(t, key);
    return at == TABLE_NONE ? NULL : n->texts.items[at];
}

enum err nsys_place(struct nsys *n, uint64_t global, int32_t *thread)
{
    int32_t process;
    const char *program = nsys_name(n, &n->process_names, PROCESS(global));
    if (program)
        program = import_path(n->b, program, strlen(program));
    TRY(builder_process(n->b, PID(global), program, &process));
    return builder_thread(n->b, process, TID(global), nsys_name(n, &n->thread_names, global),
                          thread);
}

enum err nsys_thread_at(struct nsys *n, uint64_t global, struct nsys_thread **out)
{
    uint32_t at = table_get(&n->threads, global);
    if (at == TABLE_NONE) {
        at = (uint32_t)n->thread_list.count;
        TRY(vector_add(&n->thread_list, (struct nsys_thread){.id = global}));
        TRY(table_put(&n->threads, global, at));
    }
    *out = &n->thread_list.items[at];
    return ERR_OK;
}

int64_t nsys_on_cpu_within(struct nsys *n, uint64_t thread, int64_t from, int64_t to)
{
    uint32_t row = table_get(&n->threads, thread);
    int64_t sum = 0;
    if (row == TABLE_NONE || !n->thread_list.items[row].count)
        return 0;
    const struct nsys_thread *t = &n->thread_list.items[row];
    const struct nsys_on_cpu *s = n->on_cpu.items + t->first;
    for (size_t k = ARRAY_BOUND(0, t->count, i, s[i].end <= from); k < t->count && s[k].start < to;
         k++) {
        int64_t a = s[k].start > from ? s[k].start : from, b = s[k].end < to ? s[k].end : to;
        sum += b > a ? b - a : 0;
    }
    return sum;
}
