/* Ranks that find each other through files of the run's folder alone: they may be on several
 * machines, and any of them may be killed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/common/context.h"
#include "cli/runs/job.h"
#include "host/cluster/cluster.h"
#include "profiler/trace/writer.h"

enum {
    PATIENCE_S = 60,
    ELSEWHERE_S = 10,
    ABSENT_S = 15,
    KILLED_S = 3,
    STEP_MS = 20,
    RECENT_S = 600
};

static void job_copy_name(const char *text, char *out, size_t size)
{
    size_t n = 0;
    for (; text && *text && n + 1 < size; text++)
        out[n++] = strchr("/ .:", *text) ? '_' : *text;
    out[n] = 0;
}

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
        j->here.rank = atoi(rank);
        j->here.size = atoi(size);
        return 1;
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

static void name_note(const char *key, char note[RECORD_NOTE])
{
    char kept[RECORD_NOTE - 8];
    job_copy_name(key, kept, sizeof kept);
    snprintf(note, RECORD_NOTE, ".job-%s", kept);
}

void job_of_environment(struct record_job *j)
{
    char key[160], machine[40];
    const char *name = getenv("PMIX_NAMESPACE"), *job = getenv("SLURM_JOB_ID"),
               *step = getenv("SLURM_STEP_ID");
    struct record_ranks all;
    *j = (struct record_job){0};
    if (!cluster_of_environment(&all.rank, &all.size) || all.size < 2 || !ranks_here(j))
        return;
    machine_name(machine);
    if (name)
        snprintf(key, sizeof key, "%.80s", name);
    else if (job && step)
        snprintf(key, sizeof key, "slurm-%.30s-%.30s", job, step);
    else
        *key = 0; /* MPICH's proxy is one of each machine */
    if (*key && j->here.size < all.size)
        j->world = all;
    name_note(key, j->world_note);
    if (*key)
        snprintf(key + strlen(key), sizeof key - strlen(key), "-%.36s", machine);
    else
        snprintf(key, sizeof key, "%d-%.36s", (int)getppid(), machine);
    name_note(key, j->here_note);
    if (j->here.size < 2 && !j->world.size)
        return;
    j->among = j->world.size ? j->world : j->here;
}

static enum err announce_folder(const char *path, const char *folder)
{
    struct outfile f = {0};
    enum err e;
    TRY_OUT(outfile_open(&f, path));
    fprintf(f.stream, "%s\n", base_name(folder));
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

static enum err read_note(const char *path, const char *out, char folder[RUN_PATH])
{
    char *text;
    size_t bytes;
    TRY(file_read_all(path, 255, &text, &bytes));
    const int n = snprintf(folder, RUN_PATH, "%s/%.*s", out, (int)strcspn(text, "\n"), text);
    free(text);
    FAIL_IF(n >= RUN_PATH - 64 || access(folder, W_OK), ERR_FAILED,
            "%s: cannot be written by this rank: --out must be on a file system that all ranks "
            "share",
            folder);
    return ERR_OK;
}

/* The note that comes first within `patience`: 0 or 1; -1 none. */
static int wait_for(const char *const path[2], double patience)
{
    const int64_t begin = clock_ns();
    for (;;) {
        for (int i = 0; i < 2; i++)
            if (path[i] && is_recent(path[i]))
                return i;
        if (clock_seconds_since(begin) > patience)
            return -1;
        poll(NULL, 0, STEP_MS);
    }
}

/* Makes the run, and the folder in which ranks meet: `ranks`, which goes at the end, so that who
 * comes after that leaves nothing. */
static enum err make_job_run(const char *note, const char *out, char folder[RUN_PATH])
{
    char path[RUN_PATH + 32];
    TRY(run_make(out, folder));
    snprintf(path, sizeof path, "%s/ranks", folder);
    TRY(dir_make(path));
    return announce_folder(note, folder);
}

static void ranks_name(const char *folder, int rank, const char *end, char path[RUN_PATH + 64])
{
    snprintf(path, RUN_PATH + 64, "%s/ranks/%d%s", folder, rank, end);
}

/* For the others, who compare clocks when MPI starts. */
static enum err job_write_clock(const char *folder, int rank)
{
    char path[RUN_PATH + 64];
    struct outfile f = {0};
    enum err e;
    ranks_name(folder, rank, "", path);
    TRY_OUT(outfile_open(&f, path));
    fprintf(f.stream, "%llx\n", (unsigned long long)trace_clock_id());
    return outfile_commit(&f);
out:
    outfile_abort(&f);
    return e;
}

/* The first rank of all makes the run. Where its note cannot be seen from another machine, the
 * first rank there makes one for those beside it. */
enum err job_folder(struct record_job *j, const char *out, char folder[RUN_PATH])
{
    char world[RUN_PATH], here[RUN_PATH];
    const int several = j->world.size > 0;
    const int n = snprintf(here, sizeof here, "%s/%s", out, j->here_note);
    const int m = snprintf(world, sizeof world, "%s/%s", out, j->world_note);
    FAIL_IF(n >= (int)sizeof here || m >= (int)sizeof world, ERR_USAGE,
            "--out: the name is too long");
    if (!j->among.rank) {
        TRY(make_job_run(several ? world : here, out, folder));
        return job_write_clock(folder, 0);
    }
    const char *const notes[2] = {several ? world : here, several && j->here.rank ? here : NULL};
    const int alone = several && !j->here.rank;
    const int found = wait_for(notes, alone ? ELSEWHERE_S : PATIENCE_S);
    FAIL_IF(found < 0 && !alone, ERR_FAILED,
            "%s: the first rank of this job did not say within %d s which run it writes: does it "
            "run under tomoprof too, with the same --out?",
            notes[0], PATIENCE_S);
    if (several && found) {
        j->among = j->here;
        if (found < 0) {
            log_warn("the first rank of this job does not write below %s as seen from here: the "
                     "ranks of this machine have a run of their own",
                     out);
            TRY(make_job_run(here, out, folder));
            return job_write_clock(folder, 0);
        }
    }
    TRY(read_note(notes[found], out, folder));
    return job_write_clock(folder, j->among.rank);
}

/* An empty file fits on a full disk: the first rank waits for it. */
static void job_write_end(const char *folder, int rank, const struct record_end *e)
{
    char path[RUN_PATH + 64];
    struct outfile f = {0};
    ranks_name(folder, rank, ".end", path);
    enum err told = outfile_open(&f, path);
    if (!told) {
        fprintf(f.stream, "%.6f %.6f\n", e->user_s, e->system_s);
        told = outfile_commit(&f);
    }
    outfile_abort(&f);
    const int fd = told ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (fd >= 0)
        close(fd);
}

static int read_end(const char *folder, int rank, struct record_end *sum)
{
    char path[RUN_PATH + 64];
    double user, system;
    ranks_name(folder, rank, ".end", path);
    FILE *f = fopen(path, "re");
    if (!f)
        return 0;
    if (fscanf(f, "%lf %lf", &user, &system) == 2) {
        sum->user_s += user;
        sum->system_s += system;
    }
    fclose(f);
    return 1;
}

static int is_there(const char *folder, int rank)
{
    char path[RUN_PATH + 64];
    ranks_name(folder, rank, "", path);
    return !access(path, F_OK);
}

/* Somebody may write into it at this moment: again until it is gone. */
static void remove_ranks(const char *folder)
{
    char path[RUN_PATH + 16], name[RUN_PATH + 300];
    snprintf(path, sizeof path, "%s/ranks", folder);
    for (int turn = 0; turn < 100 && rmdir(path) && errno == ENOTEMPTY; turn++) {
        DIR *d = opendir(path);
        for (struct dirent *f; d && (f = readdir(d));) {
            snprintf(name, sizeof name, "%s/%s", path, f->d_name);
            unlink(name);
        }
        if (d)
            closedir(d);
    }
}

int job_end(const struct record_job *j, const char *out, const char *folder, struct record_end *end)
{
    const int64_t begin = clock_ns();
    const double patience = end->signal ? KILLED_S : PATIENCE_S;
    char note[RUN_PATH];
    int missing = j->among.size - 1;
    if (j->among.rank) {
        job_write_end(folder, j->among.rank, end);
        return 0;
    }
    snprintf(note, sizeof note, "%s/%s", out,
             j->among.size == j->world.size ? j->world_note : j->here_note);
    const int several = j->among.size == j->world.size;
    int absent = -1;
    char *came = calloc((size_t)j->among.size, 1);
    while (came && missing && !cli_stop && /* those elsewhere may have a run of their own */
           clock_seconds_since(begin) < (absent == missing ? ABSENT_S : patience)) {
        absent = 0;
        for (int r = 1; r < j->among.size; r++)
            if (!came[r] && read_end(folder, r, end)) {
                came[r] = 1;
                missing--;
            } else if (!came[r] && several) {
                absent += !is_there(folder, r);
            }
        if (missing)
            poll(NULL, 0, STEP_MS);
    }
    free(came);
    unlink(note); /* not before: others may begin later */
    remove_ranks(folder);
    return missing;
}
