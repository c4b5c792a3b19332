/* Ping-pong between the first rank and the first rank of each other clock; of many exchanges the
 * fastest says most: the shift is known to half of its round trip. Messages go from pair to pair,
 * for ranks that are not recorded take no part in anything collective. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/capture_mpi/hooks.h"
#include "profiler/capture_mpi/groups.h"

#define TAG        32749 /* every MPI has tags up to 32767 */
#define MPICH_BYTE 0x4c00010du
#define LATE_NS    20000000000u /* a rank that is not here by then is not waited for */
#define END_NS     60000000000u /* the same at the end: others may compute longer */
#define ANSWER_NS  2000000000u
enum { EXCHANGES = 200, LEADERS_MAX = 1024, DONE = -1 };

/* Messages of the comparison. */
struct ping {
    int64_t number; /* DONE: the last, with the result */
    int64_t time_ns, error_ns;
};

typedef int call_send(word, word, word, word, word, word);
typedef int call_receive(word, word, word, word, word, word, word);
typedef int call_probe(word, word, word, word, word);
static struct {
    call_send *send;
    call_receive *receive;
    call_probe *probe;
    word byte;
} mpi;

static const struct mpi_recorder *recorder;

static int find_calls(void)
{
    mpi.send = (call_send *)mpi_find("PMPI_Send");
    mpi.receive = (call_receive *)mpi_find("PMPI_Recv");
    mpi.probe = (call_probe *)mpi_find("PMPI_Iprobe");
    mpi.byte = groups_is_mpich() ? MPICH_BYTE : (word)mpi_find("ompi_mpi_byte");
    return mpi.send && mpi.receive && mpi.probe && mpi.byte;
}

/* Lists for each clock the first rank that has it; leaders[0]: of all. Ranks that are recorded left
 * files RANK with their clock, before their programs began. */
struct leaders {
    int rank[LEADERS_MAX];
    uint64_t clock[LEADERS_MAX];
    int count;
};

static void leaders_add(struct leaders *l, int rank, uint64_t clock)
{
    for (int i = 0; i < l->count; i++)
        if (l->clock[i] == clock) {
            l->rank[i] = rank < l->rank[i] ? rank : l->rank[i];
            return;
        }
    if (l->count == LEADERS_MAX)
        return;
    l->rank[l->count] = rank;
    l->clock[l->count++] = clock;
}

static void read_leaders(const char *name, struct leaders *l)
{
    DIR *folder = opendir(name);
    for (struct dirent *d; folder && (d = readdir(folder));) {
        unsigned long long clock;
        char *end;
        const long rank = strtol(d->d_name, &end, 10);
        if (end == d->d_name || *end || rank < 0)
            continue;
        const int fd = openat(dirfd(folder), d->d_name, O_RDONLY | O_CLOEXEC);
        FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
        if (f && fscanf(f, "%llx", &clock) == 1)
            leaders_add(l, (int)rank, clock);
        if (f)
            fclose(f);
        else if (fd >= 0)
            close(fd);
    }
    if (folder)
        closedir(folder);
    for (int i = 1; i < l->count; i++)
        if (l->rank[i] < l->rank[0]) {
            const int rank = l->rank[0];
            const uint64_t clock = l->clock[0];
            l->rank[0] = l->rank[i];
            l->clock[0] = l->clock[i];
            l->rank[i] = rank;
            l->clock[i] = clock;
        }
}

static int ping_send(int to, const struct ping *p)
{
    return !mpi.send((word)p, sizeof *p, mpi.byte, (word)to, TAG, groups_world());
}

/* 0: it does not come in time. */
static int ping_receive(int from, struct ping *p, uint64_t patience)
{
    const uint64_t begin = recorder->now();
    word status[32];
    int there = 0;
    while (!there) {
        if (mpi.probe((word)from, TAG, groups_world(), (word)&there, (word)status) ||
            (!there && recorder->now() - begin > patience))
            return 0;
        if (!there && recorder->now() - begin > 1000000)
            usleep(50); /* it is not here yet */
    }
    return !mpi.receive((word)p, sizeof *p, mpi.byte, (word)from, TAG, groups_world(),
                        (word)status);
}

/* The first rank, with one other. */
static void ping_measure(int other, uint64_t patience)
{
    uint64_t least = UINT64_MAX;
    int64_t shift = 0;
    struct ping p = {0}, ping_answer;
    for (int i = 0; i < EXCHANGES; i++) {
        p.number = i;
        const uint64_t begin = recorder->now();
        if (!ping_send(other, &p) || !ping_receive(other, &ping_answer, i ? ANSWER_NS : patience))
            return;
        const uint64_t end = recorder->now();
        if (end - begin < least) {
            least = end - begin;
            shift = ping_answer.time_ns - (int64_t)(begin + least / 2);
        }
    }
    p = (struct ping){DONE, shift, (int64_t)(least / 2 + 1)};
    ping_send(other, &p);
}

static void ping_answer(int first, int which, uint64_t patience)
{
    struct ping p;
    for (int i = 0; ping_receive(first, &p, i ? ANSWER_NS : patience); i++) {
        if (p.number == DONE) {
            recorder->aligned(which, p.time_ns, (uint64_t)p.error_ns);
            return;
        }
        p.time_ns = (int64_t)recorder->now();
        if (!ping_send(first, &p))
            return;
    }
}

void clocks_compare(const struct mpi_recorder *r, int rank, int which)
{
    static struct leaders leaders;
    const char *folder = r->ranks_folder();
    const uint64_t patience = which ? END_NS : LATE_NS;
    recorder = r;
    if (!folder)
        return;
    if (!which)
        read_leaders(folder, &leaders);
    if (leaders.count < 2 || !find_calls())
        return;
    for (int i = 1; i < leaders.count; i++)
        if (rank == leaders.rank[0])
            ping_measure(leaders.rank[i], patience);
        else if (rank == leaders.rank[i])
            ping_answer(leaders.rank[0], which, patience);
}
