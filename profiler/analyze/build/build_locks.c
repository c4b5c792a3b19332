/* Waits for locks as rows of the model, the longest first. */
#include "base/array.h"
#include "profiler/analyze/build/build.h"

ARRAY_ORDER(longest_first, struct model_lock, COMPARE(y->wait_s, x->wait_s));

ARRAY_ORDER(most_first, struct model_contention, COMPARE(y->any_s, x->any_s));

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
