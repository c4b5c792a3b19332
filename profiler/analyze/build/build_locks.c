/* Waits for locks as rows of the model, the longest first. */
#include "base/array.h"
#include "profiler/analyze/build/build.h"

ARRAY_ORDER(longest_first, struct model_lock, COMPARE(y->wait_s, x->wait_s));

ARRAY_ORDER(most_first, struct model_contention, COMPARE(y->any_s, x->any_s));

enum err build_locks(struct run *r)
{
    struct model *m = r->m;
    vector_sort(&r->locks.rows, longest_first);
    vector_sort(&r->locks.contention, most_first);
    TRY(model_list(m, model_lock, m, locks, r->locks.rows.count));
    array_copy(m->locks, r->locks.rows.items, r->locks.rows.count, sizeof *r->locks.rows.items);
    TRY(model_list(m, model_contention, m, contention, r->locks.contention.count));
    array_copy(m->contention, r->locks.contention.items, r->locks.contention.count,
               sizeof *r->locks.contention.items);
    return ERR_OK;
}
