/* Remembers the bytes that each persistent or partitioned request moves, by its handle. A
 * partitioned message begins when its last part is ready. */
#include "profiler/capture_mpi/hooks.h"
#include "profiler/capture_mpi/groups.h"

enum { ROOM = 4096 }; /* requests at once; those beyond are timed without bytes */
enum state { FREE, USED, LEFT };

static struct message {
    word request;
    enum state state;
    uint16_t op, flags;
    int32_t peer, tag;
    uint32_t size;
    uint64_t group, bytes;
    int64_t parts, ready; /* parts 0: a whole message */
} messages[ROOM];
static volatile int busy;

static void requests_lock(void)
{
    while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        ;
}

static void requests_unlock(void)
{
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}

/* Returns request i of an array of them. */
static word request_at(word array, int64_t i)
{
    return groups_is_mpich() ? ((const uint32_t *)array)[i] : ((const word *)array)[i];
}

/* NULL: it is not known; with `make` the place for it, NULL where there is none. */
static struct message *requests_find(word request, int make)
{
    const uint32_t hash = (uint32_t)((uint64_t)request * 0x9e3779b97f4a7c15ull >> 40);
    struct message *room = NULL;
    for (uint32_t i = 0; i < ROOM; i++) {
        struct message *m = &messages[(hash + i) % ROOM];
        if (m->state == USED && m->request == request)
            return m;
        if (m->state != USED && !room)
            room = m;
        if (m->state == FREE)
            break;
    }
    return make ? room : NULL;
}

void requests_made(enum call_number number, const word *w, struct mpi_call *c)
{
    const struct mpi_row *r = &mpi_rows[number];
    const int parted = r->more & PARTS, known = c->flags & TRACE_MPI_BYTES;
    const word request = request_at(w[r->arguments - 1], 0);
    requests_lock();
    struct message *m = known ? requests_find(request, 1) : NULL;
    if (m)
        *m = (struct message){.request = request,
                              .state = USED,
                              .op = r->more & SENDS      ? TRACE_MPI_SEND_POST
                                    : r->more & RECEIVES ? TRACE_MPI_RECEIVE_POST
                                                         : TRACE_MPI_POST,
                              .flags = c->flags,
                              .peer = c->peer,
                              .tag = c->tag,
                              .size = c->size,
                              .group = c->group,
                              .bytes = c->bytes,
                              .parts = parted ? (int)w[1] : 0};
    requests_unlock();
    c->bytes = 0;
}

void requests_freed(const word *w)
{
    requests_lock();
    struct message *m = requests_find(request_at(w[0], 0), 0);
    if (m)
        m->state = LEFT;
    requests_unlock();
}

int64_t requests_started(enum call_number number, const word *w)
{
    switch (number) {
    case CALL_Start:
    case CALL_Pready:
    case CALL_Pready_range:
    case CALL_Pready_list:
        return 1;
    case CALL_Startall:
        return (int)w[0] < 0 ? 0 : (int)w[0];
    default:
        return 0;
    }
}

/* Returns 1 where the message begins with this call. */
static int message_begins(struct message *m, enum call_number number, const word *w)
{
    int64_t now = 1;
    if (number == CALL_Start || number == CALL_Startall) {
        m->ready = 0;
        return !m->parts || m->op == TRACE_MPI_RECEIVE_POST;
    }
    if (number == CALL_Pready_range)
        now = (int64_t)(int)w[1] - (int)w[0] + 1;
    else if (number == CALL_Pready_list)
        now = (int)w[0];
    m->ready += now;
    return m->ready == m->parts;
}

void requests_message(enum call_number number, const word *w, int64_t i, struct mpi_call *c)
{
    const word request = number == CALL_Start      ? request_at(w[0], 0)
                         : number == CALL_Startall ? request_at(w[1], i)
                         : number == CALL_Pready   ? mpi_handle(w[1])
                                                   : mpi_handle(w[2]);
    requests_lock();
    struct message *m = requests_find(request, 0);
    if (m) {
        c->flags |= TRACE_MPI_BYTES;
        if (message_begins(m, number, w)) {
            c->op = m->op;
            c->flags = m->flags;
            c->peer = m->peer;
            c->tag = m->tag;
            c->size = m->size;
            c->group = m->group;
            c->bytes = m->bytes;
        }
    }
    requests_unlock();
}
