/* Ranks that find each other through files of the run's folder alone: they may be on several
 * machines, and any of them may be killed. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "host/base/clock.h"
#include "host/base/file.h"
#include "host/cli/common/context.h"
#include "host/cli/runs/job.h"
#include "host/cluster/cluster.h"

enum { PATIENCE_S = 60, KILLED_S = 3, STEP_MS = 20, RECENT_S = 600 };

static void keep_name(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; text && *text && n + 1 < size; text++)
        out[n++] = strchr("/ .:", *text) ? '_' : *text;
    out[n] = 0;
}

/* Those of this machine: ranks of others have another clock, and a run of their own. */
static int ranks_here(struct record_job *j)
{
    static const struct {
        const char *rank, *size;
    } launchers[] = {{"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
                     {"SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
                     {"MPI_LOCALRANKID", "MPI_LOCALNRANKS"}};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *rank = getenv(launchers[i].rank), *size = getenv(launchers[i].size);
        if (!rank || !size)
            continue;
        j->rank = atoi(rank);
        j->size = atoi(size);
        return j->size > 1;
    }
    return 0;
}

static void machine_name(char out[40])
{
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!f || !fgets(out, 40, f))
        strcpy(out, "here");
    if (f)
        fclose(f);
    out[strcspn(out, "\n")] = 0;
}

void job_of_environment(struct record_job *j)
{
    char key[128], machine[40];
    int rank, size;
    const char *name = getenv("PMIX_NAMESPACE");
    *j = (struct record_job){0};
    if (!cluster_of_environment(&rank, &size) || size < 2 || !ranks_here(j)) {
        *j = (struct record_job){0};
        return;
    }
    machine_name(machine);
    if (name)
        snprintf(key, sizeof key, "%.40s-%.36s", name, machine);
    else
        snprintf(key, sizeof key, "%d-%.36s", (int)getppid(), machine); /* MPICH's proxy */
    keep_name(key, j->key, sizeof j->key);
    snprintf(j->note, sizeof j->note, ".job-%.80s", j->key);
}

static enum err announce(const char *path, const char *folder)
{
    struct outfile f = {0};
    const char *slash = strrchr(folder, '/');
    enum err e;
    TRY_OUT(outfile_open(&f, path));
    fprintf(f.stream, "%s\n", slash ? slash + 1 : folder);
    return outfile_commit(&f);
out:
    outfile_abort(&f);
    return e;
}

/* A note of this job, not of one long ago whose launcher had the same number. */
static int is_recent(const char *path)
{
    struct stat st;
    return !stat(path, &st) && st.st_mtime > time(NULL) - RECENT_S;
}

static enum err follow(const char *path, const char *out, char folder[RUN_PATH])
{
    const int64_t begin = clock_ns();
    char *text;
    size_t bytes;
    while (!is_recent(path)) {
        FAIL_IF(clock_seconds_since(begin) > PATIENCE_S, ERR_FAILED,
                "%s: the first rank of this job did not say within %d s which run it writes: does "
                "it run under tomoprof too, with the same --out?",
                path, PATIENCE_S);
        poll(NULL, 0, STEP_MS);
    }
    TRY(file_read_all(path, 255, &text, &bytes));
    const int n = snprintf(folder, RUN_PATH, "%s/%.*s", out, (int)strcspn(text, "\n"), text);
    free(text);
    FAIL_IF(n >= RUN_PATH - 64 || access(folder, W_OK), ERR_FAILED,
            "%s: cannot be written by this rank: --out must be on a file system that all ranks "
            "share",
            folder);
    return ERR_OK;
}

enum err job_folder(const struct record_job *j, const char *out, char folder[RUN_PATH])
{
    char path[RUN_PATH];
    const int n = snprintf(path, sizeof path, "%s/%s", out, j->note);
    FAIL_IF(n >= (int)sizeof path, ERR_USAGE, "--out: the name is too long");
    if (j->rank)
        return follow(path, out, folder);
    TRY(run_make(out, folder));
    return announce(path, folder);
}

static void end_name(const char *folder, int rank, char path[RUN_PATH + 32])
{
    snprintf(path, RUN_PATH + 32, "%s/rank-%d.end", folder, rank);
}

static void tell_end(const char *folder, int rank, const struct record_end *e)
{
    char path[RUN_PATH + 32];
    struct outfile f = {0};
    end_name(folder, rank, path);
    if (outfile_open(&f, path) == ERR_OK) {
        fprintf(f.stream, "%.6f %.6f\n", e->user_s, e->system_s);
        outfile_commit(&f);
    }
    outfile_abort(&f);
}

/* Takes the file with it. */
static int read_end(const char *folder, int rank, struct record_end *sum)
{
    char path[RUN_PATH + 32];
    double user, system;
    end_name(folder, rank, path);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    if (fscanf(f, "%lf %lf", &user, &system) == 2) {
        sum->user_s += user;
        sum->system_s += system;
    }
    fclose(f);
    unlink(path);
    return 1;
}

int job_end(const struct record_job *j, const char *out, const char *folder, struct record_end *end)
{
    const int64_t begin = clock_ns();
    const double patience = end->signal ? KILLED_S : PATIENCE_S;
    char note[RUN_PATH];
    int missing = j->size - 1;
    if (j->rank) {
        tell_end(folder, j->rank, end);
        return 0;
    }
    snprintf(note, sizeof note, "%s/%s", out, j->note);
    unlink(note);
    char *came = calloc((size_t)j->size, 1);
    while (came && missing && clock_seconds_since(begin) < patience && !cli_stop) {
        for (int r = 1; r < j->size; r++)
            if (!came[r] && read_end(folder, r, end)) {
                came[r] = 1;
                missing--;
            }
        if (missing)
            poll(NULL, 0, STEP_MS);
    }
    free(came);
    return missing;
}
