/* The memory that is read into: its pages are there before the first run, so that all ways find the
 * same. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/load/load.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#define PIECE_LEAST ((size_t)16 << 20) /* of a thread, which costs 30 us */
#define MEMORY_PAGE ((size_t)2 << 20)

struct memory_piece {
    char *at;
    size_t bytes;
    int shared;     /* with processes: small pages */
    int64_t waited; /* without a CPU */
};

static int64_t memory_cpu_ns(void)
{
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Asks for all pages in one call, which takes 40 % less CPU time than a fault for each. Returns how long
 * it computed. */
static int64_t memory_populate(char *at, size_t bytes)
{
    const int64_t begin = memory_cpu_ns();
    if (madvise(at, bytes, MADV_POPULATE_WRITE))
        memset(at, 0, bytes);
    return memory_cpu_ns() - begin;
}

/* Asks for huge pages as long as one takes less CPU time than small ones did. Most take a third of it; one
 * for which the kernel moves other pages, or that a virtual machine gave back to its host, takes 4 times
 * as much. Returns how many bytes are there. */
static size_t memory_touch_huge(const struct memory_piece *p)
{
    const size_t head = -(uintptr_t)p->at % MEMORY_PAGE;
    size_t done = head + MEMORY_PAGE;
    if (p->shared || p->bytes < 4 * MEMORY_PAGE)
        return 0;
    if (head)
        memory_populate(p->at, head);
    madvise(p->at + head, MEMORY_PAGE, MADV_NOHUGEPAGE);
    const int64_t small = memory_populate(p->at + head, MEMORY_PAGE);
    for (int slow = 0; !slow && p->bytes - done >= MEMORY_PAGE; done += MEMORY_PAGE) {
        if (madvise(p->at + done, MEMORY_PAGE, MADV_HUGEPAGE))
            return done; /* this kernel has none */
        slow = memory_populate(p->at + done, MEMORY_PAGE) > small;
    }
    if (p->bytes > done)
        madvise(p->at + done, p->bytes - done, MADV_NOHUGEPAGE);
    return done;
}

static void *memory_touch(void *context)
{
    struct memory_piece *p = context;
    const int fd = clock_waits_open();
    const int64_t before = clock_waits_ns(fd);
    const size_t done = memory_touch_huge(p);
    if (p->bytes > done)
        memory_populate(p->at + done, p->bytes - done);
    p->waited = clock_waits_ns(fd) - before;
    if (fd >= 0)
        close(fd);
    return NULL;
}

static int64_t memory_faults(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (int64_t)u.ru_minflt;
}

/* Touches it by as many threads as load. Returns how many there were. */
static int memory_touch_all(struct load_session *s, int shared, int64_t *waited)
{
    const int wanted = s->request->options.threads, processors = engine_processors();
    const size_t most = s->out_bytes / PIECE_LEAST + 1;
    size_t n = (size_t)(wanted > 0 && wanted < processors ? wanted : processors);
    struct memory_piece pieces[ENGINE_PROCESSORS];
    pthread_t threads[ENGINE_PROCESSORS];
    int started = 1;
    n = n > most ? most : n;
    const size_t share = (s->out_bytes / n + MEMORY_PAGE - 1) / MEMORY_PAGE * MEMORY_PAGE;
    for (size_t i = 0, at = 0; i < n; i++, at += share)
        pieces[i] = (struct memory_piece){(char *)s->out + (at < s->out_bytes ? at : s->out_bytes),
                                          at + share < s->out_bytes && i + 1 < n ? share
                                          : at < s->out_bytes                    ? s->out_bytes - at
                                                                                 : 0,
                                          shared, 0};
    for (; started < (int)n; started++)
        if (pthread_create(&threads[started], NULL, memory_touch, &pieces[started]))
            break;
    memory_touch(&pieces[0]);
    for (int i = started; i < (int)n; i++) /* no thread began for these */
        memory_touch(&pieces[i]);
    for (int i = 1; i < started; i++)
        pthread_join(threads[i], NULL);
    for (size_t i = 0; i < n; i++)
        *waited += pieces[i].waited;
    return started;
}

enum err load_memory(struct load_session *s)
{
    const struct load_request *r = s->request;
    const int64_t begin = clock_ns(), faults = memory_faults();
    int64_t waited = 0;
    const int shared = r->options.processes || r->sweep > SWEEP_QUICK;
    TRY((shared ? engine_shared : engine_private)(s->out_bytes, &s->out));
    const int n = memory_touch_all(s, shared, &waited);
    const int64_t elapsed = clock_ns() - begin, each = waited / n;
    s->allocate_ns = elapsed > each ? elapsed - each : 0;
    s->allocate_work_ns = s->allocate_ns * n;
    s->cpu_wait_ns += elapsed - s->allocate_ns;
    s->page_faults = memory_faults() - faults;
    return ERR_OK;
}
