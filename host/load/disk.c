/* The disk that a file lies on: its requests, waits and use while the file is read, from
 * /proc/diskstats. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/text.h"
#include "host/load/against.h"
#include "host/store/fetch/http.h"

#define SECTOR 512

/* File systems without a disk number of their own (btrfs) name the device that they were made on.
 * Returns the last part of that name. */
static int disk_of_mount(dev_t file, char *name, size_t room)
{
    char line[4096], source[512];
    unsigned major, minor;
    int found = 0;
    FILE *f = fopen("/proc/self/mountinfo", "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        const char *dash = strstr(line, " - ");
        found = sscanf(line, "%*d %*d %u:%u", &major, &minor) == 2 && dash &&
                makedev(major, minor) == file && sscanf(dash, " - %*s %511s", source) == 1 &&
                !strncmp(source, "/dev/", 5);
    }
    if (f)
        fclose(f);
    if (found)
        text_print(name, room, "%s", strrchr(source, '/') + 1);
    return found;
}

void disk_counted(const char *path, struct disk_count *out)
{
    char line[512], name[40], wanted[512] = "";
    struct stat st;
    *out = (struct disk_count){.requests = 0};
    if (http_is_url(path) || stat(path, &st)) {
        text_print(out->reason, sizeof out->reason, "the file is on a server");
        return;
    }
    const int numbered = major(st.st_dev) != 0;
    if (!numbered && !disk_of_mount(st.st_dev, wanted, sizeof wanted)) {
        text_print(out->reason, sizeof out->reason, "the file system (%s) does not name its disk",
                   load_filesystem(path) ? load_filesystem(path) : "unknown");
        return;
    }
    FILE *f = fopen("/proc/diskstats", "re");
    while (f && !out->name[0] && fgets(line, sizeof line, f)) {
        unsigned a, b;
        unsigned long long reads, sectors, wait, busy;
        if (sscanf(line, "%u %u %39s %llu %*u %llu %llu %*u %*u %*u %*u %*u %llu", &a, &b, name,
                   &reads, &sectors, &wait, &busy) != 7 ||
            (numbered ? makedev(a, b) != st.st_dev : strcmp(name, wanted) != 0))
            continue;
        *out = (struct disk_count){
            .requests = reads, .bytes = SECTOR * sectors, .wait_ms = wait, .busy_ms = busy};
        text_print(out->name, sizeof out->name, "%s", name);
    }
    if (f)
        fclose(f);
    if (!out->name[0])
        text_print(out->reason, sizeof out->reason, "/proc/diskstats does not list its disk");
}

enum err load_disk_fill(struct loading *l, const struct disk_count *before,
                        const struct disk_count *after, double seconds)
{
    struct load_disk *d = &l->disk;
    const char *reason = before->reason[0] ? before->reason : after->reason;
    if (reason[0] || seconds <= 0) {
        d->reason = arena_text(l->arena, reason[0] ? reason : "nothing was read");
        FAIL_IF(!d->reason, ERR_MEMORY, "no memory left for the times");
        return ERR_OK;
    }
    d->name = arena_text(l->arena, after->name);
    FAIL_IF(!d->name, ERR_MEMORY, "no memory left for the times");
    d->requests = (int64_t)(after->requests - before->requests);
    d->bytes = (int64_t)(after->bytes - before->bytes);
    d->busy_share = fmin(1, 1e-3 * (double)(after->busy_ms - before->busy_ms) / seconds);
    d->requests_per_s = (double)d->requests / seconds;
    if (d->requests > 0)
        d->wait_s = 1e-3 * (double)(after->wait_ms - before->wait_ms) / (double)d->requests;
    return ERR_OK;
}
