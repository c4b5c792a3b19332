#include <string.h>

#include "profiler/capture/core/core.h"

/* Those whose files are not in a build are missing from the table. */
#pragma weak part_stack
#pragma weak part_heap
#pragma weak part_nvtx
#pragma weak part_cuda

/* In the order of starting: stacks before what takes them. */
static const struct capture_part *const parts[] = {&part_stack, &part_heap, &part_nvtx,
                                                   &part_cuda,  &part_wait, &part_sampler};
#define PARTS (sizeof parts / sizeof *parts)

static unsigned started; /* bits by place in the table */

#define EACH(i, function)                                                                          \
    for (size_t i = 0; i < PARTS; i++)                                                             \
        if (started & 1u << i && parts[i]->function)

void parts_start(struct capture_thread *t)
{
    for (size_t i = 0; i < PARTS; i++) {
        const struct capture_part *p = parts[i];
        if (!p || (p->modes && !(p->modes & capture.config.modes)))
            continue;
        int why = p->start ? p->start() : 0;
        if (why)
            capture_note(t, 1, p->name, "%s is off: %s", p->name, strerrordesc_np(why));
        else
            started |= 1u << i;
    }
}

int part_is_on(const struct capture_part *p)
{
    for (size_t i = 0; i < PARTS; i++)
        if (parts[i] == p)
            return p && started >> i & 1;
    return 0;
}

void parts_thread_start(struct capture_thread *t)
{
    EACH(i, thread_start)
    parts[i]->thread_start(t);
}

void parts_thread_end(struct capture_thread *t)
{
    for (size_t i = PARTS; i-- > 0;)
        if (started & 1u << i && parts[i]->thread_end)
            parts[i]->thread_end(t);
}

void parts_tick(struct capture_thread *t)
{
    EACH(i, tick)
    parts[i]->tick(t);
}

void parts_fork(int where)
{
    for (size_t k = 0; k < PARTS; k++) {
        size_t i = where == 0 ? PARTS - 1 - k : k;
        if (!(started & 1u << i))
            continue;
        void (*f)(void) = where == 0   ? parts[i]->fork_prepare
                          : where == 1 ? parts[i]->fork_parent
                                       : parts[i]->fork_child;
        if (f)
            f();
    }
}

void parts_stop(void)
{
    for (size_t i = PARTS; i-- > 0;)
        if (started & 1u << i && parts[i]->stop)
            parts[i]->stop();
}
