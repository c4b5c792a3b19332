/* Waits for locks as rows of the model, the longest first. */
#include "profiler/analyze/build/build.h"

static int longest_first(const void *a, const void *b)
{
    const struct model_lock *x = a, *y = b;
    return (x->wait_s < y->wait_s) - (x->wait_s > y->wait_s);
}

static int most_first(const void *a, const void *b)
{
    const struct model_contention *x = a, *y = b;
    return (x->any_s < y->any_s) - (x->any_s > y->any_s);
}

enum err build_locks(struct run *r)
{
    struct model *m = r->m;
    vector_sort(&r->locks, longest_first);
    vector_sort(&r->contention, most_first);
    TRY(model_list(m, model_lock, m, locks, r->locks.count));
    array_copy(m->locks, r->locks.items, r->locks.count, sizeof *r->locks.items);
    TRY(model_list(m, model_contention, m, contention, r->contention.count));
    array_copy(m->contention, r->contention.items, r->contention.count,
               sizeof *r->contention.items);
    return ERR_OK;
}
