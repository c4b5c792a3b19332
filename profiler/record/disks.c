/* Reads the work of block devices while the program ran: /proc/diskstats, and io.stat of the
 * control group. Both count all programs: the whole machine's, and all of the group. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "profiler/record/record.h"

#define SECOND_MS 1000

struct disks_now {
    struct record_disk row[RECORD_DISKS];
    int count;
    int64_t ns;
};
struct group_now {
    uint64_t reads, read, writes, write;
};
static struct {
    struct disks_now first, last; /* last: of the thread alone until it has ended */
    double most[RECORD_DISKS];    /* by the place in `first` */
    struct group_now group;
    char reason[120], group_reason[120];
    pthread_t thread;
    int running, wake[2];
} disks;

/* Partitions have no folder of their own there. */
static int disk_is_whole(const char *name)
{
    char path[96];
    if (!strncmp(name, "loop", 4) || !strncmp(name, "ram", 3) || !strncmp(name, "zram", 4))
        return 0;
    snprintf(path, sizeof path, "/sys/block/%.40s", name);
    for (char *c = path + 11; *c; c++)
        if (*c == '/')
            *c = '!'; /* as sysfs writes them */
    return access("/sys/block", F_OK) || !access(path, F_OK);
}

static int disks_read(struct disks_now *now, char reason[120])
{
    char line[320];
    FILE *f = fopen("/proc/diskstats", "re");
    now->count = 0;
    now->ns = clock_ns();
    if (!f) {
        snprintf(reason, 120, "/proc/diskstats cannot be read: %s", strerror(errno));
        return 0;
    }
    while (now->count < RECORD_DISKS && fgets(line, sizeof line, f)) {
        struct record_disk d = {.busy_most = -1};
        unsigned long long v[8];
        if (sscanf(line, "%*u %*u %39s %llu %*u %llu %llu %llu %*u %llu %llu %*u %llu %llu", d.name,
                   &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]) != 9 ||
            !disk_is_whole(d.name))
            continue;
        d.reads = v[0];
        d.read_sectors = v[1];
        d.read_ms = v[2];
        d.writes = v[3];
        d.write_sectors = v[4];
        d.write_ms = v[5];
        d.busy_ms = v[6];
        d.queue_ms = v[7];
        now->row[now->count++] = d;
    }
    fclose(f);
    if (!now->count)
        snprintf(reason, 120, "/proc/diskstats lists no disk");
    return now->count > 0;
}

static const struct record_disk *disks_find(const struct disks_now *in, const char *name)
{
    for (int i = 0; i < in->count; i++)
        if (!strcmp(in->row[i].name, name))
            return &in->row[i];
    return NULL;
}

static void one_second(const struct disks_now *before, const struct disks_now *now)
{
    double ms = 1e-6 * (double)(now->ns - before->ns);
    for (int i = 0; i < disks.first.count && ms > 0.5 * SECOND_MS; i++) {
        const struct record_disk *a = disks_find(before, disks.first.row[i].name),
                                 *b = disks_find(now, disks.first.row[i].name);
        double busy =
            a && b && b->busy_ms > a->busy_ms ? (double)(b->busy_ms - a->busy_ms) / ms : 0;
        if (busy > disks.most[i])
            disks.most[i] = busy < 1 ? busy : 1;
        else if (disks.most[i] < 0)
            disks.most[i] = 0;
    }
}

static void *each_second(void *unused)
{
    (void)unused;
    struct disks_now before = disks.first, now;
    struct pollfd end = {disks.wake[0], POLLIN, 0};
    char reason[120];
    while (poll(&end, 1, SECOND_MS) == 0)
        if (disks_read(&now, reason)) {
            one_second(&before, &now);
            before = now;
        }
    return NULL;
}

/* io.stat of version 2's hierarchy: "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0". */
static int disks_read_group(struct group_now *g, char reason[120])
{
    char line[512], path[600] = "";
    FILE *f = fopen("/proc/self/cgroup", "re");
    *g = (struct group_now){0};
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "0::", 3)) {
            line[strcspn(line, "\n")] = 0;
            snprintf(path, sizeof path, "/sys/fs/cgroup%s/io.stat", line + 3);
        }
    if (f)
        fclose(f);
    if (!*path) {
        snprintf(reason, 120, "this process has no control group of version 2");
        return 0;
    }
    f = fopen(path, "re");
    if (!f) {
        snprintf(reason, 120, "io.stat of the control group cannot be read: %s", strerror(errno));
        return 0;
    }
    while (fgets(line, sizeof line, f)) {
        unsigned long long v[4];
        const char *at = strstr(line, "rbytes=");
        if (!at || sscanf(at, "rbytes=%llu wbytes=%llu rios=%llu wios=%llu", &v[0], &v[1], &v[2],
                          &v[3]) != 4)
            continue;
        g->read += v[0];
        g->write += v[1];
        g->reads += v[2];
        g->writes += v[3];
    }
    fclose(f);
    return 1;
}

void record_disks_begin(void)
{
    sigset_t all, old;
    memset(&disks, 0, sizeof disks);
    (void)disks_read_group(&disks.group, disks.group_reason);
    if (!disks_read(&disks.first, disks.reason))
        return;
    for (int i = 0; i < RECORD_DISKS; i++)
        disks.most[i] = -1;
    if (pipe2(disks.wake, O_CLOEXEC))
        return;       /* the sums are known without the seconds */
    sigfillset(&all); /* signals are the launcher's */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    disks.running = !pthread_create(&disks.thread, NULL, each_second, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!disks.running) {
        close(disks.wake[0]);
        close(disks.wake[1]);
    }
}

static uint64_t disks_growth(uint64_t a, uint64_t b)
{
    return b > a ? b - a : 0;
}

static void since_begin(struct record_disks *out)
{
    for (int i = 0; i < disks.first.count; i++) {
        const struct record_disk *a = &disks.first.row[i], *b = disks_find(&disks.last, a->name);
        struct record_disk *d = &out->row[out->count];
        if (!b || (b->reads == a->reads && b->writes == a->writes))
            continue;
        *d = *b;
        d->reads = disks_growth(a->reads, b->reads);
        d->read_sectors = disks_growth(a->read_sectors, b->read_sectors);
        d->read_ms = disks_growth(a->read_ms, b->read_ms);
        d->writes = disks_growth(a->writes, b->writes);
        d->write_sectors = disks_growth(a->write_sectors, b->write_sectors);
        d->write_ms = disks_growth(a->write_ms, b->write_ms);
        d->busy_ms = disks_growth(a->busy_ms, b->busy_ms);
        d->queue_ms = disks_growth(a->queue_ms, b->queue_ms);
        d->busy_most = disks.most[i];
        out->count++;
    }
}

void record_disks_end(struct record_disks *out)
{
    struct group_now now;
    memset(out, 0, sizeof *out);
    if (disks.running) {
        close(disks.wake[1]); /* ends the wait */
        pthread_join(disks.thread, NULL);
        close(disks.wake[0]);
    }
    if (!*disks.reason && disks_read(&disks.last, disks.reason)) {
        out->seconds = 1e-9 * (double)(disks.last.ns - disks.first.ns);
        since_begin(out);
    }
    if (!*disks.group_reason && disks_read_group(&now, disks.group_reason)) {
        out->group_read = disks_growth(disks.group.read, now.read);
        out->group_write = disks_growth(disks.group.write, now.write);
        out->group_reads = disks_growth(disks.group.reads, now.reads);
        out->group_writes = disks_growth(disks.group.writes, now.writes);
    }
    memcpy(out->reason, disks.reason, sizeof out->reason);
    memcpy(out->group_reason, disks.group_reason, sizeof out->group_reason);
}
