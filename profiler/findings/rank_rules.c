/* Ranks that wait: for one that is late, for the root of a collective call, for each other by
 * turns, or for the transfer itself. The gain is what equal work would save: the largest time
 * outside of MPI less the mean. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/rank_rules.h"

#define SMALL       0.05 /* of the time of all ranks: below it no finding */
#define MUCH        0.2  /* likewise, for transfers */
#define HALF        0.5
#define LINES_SHOWN 50

struct waits {
    double wall, late, transfer; /* s; the last two are added over ranks */
    double delayed;              /* by the rank that was waited for most */
    double root;                 /* part of late: in calls of which one rank has the data */
    int64_t rank;
    const struct model_mpi_line *line; /* with the longest wait for a late rank */
};

static int of_root(const char *call)
{
    static const char *const names[] = {"Bcast",  "Scatter", "Scatterv",
                                        "Reduce", "Gather",  "Gatherv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i]); /* also of large counts: Gather_c */
        if (call && !strncmp(call, names[i], n) && (!call[n] || !strcmp(call + n, "_c")))
            return 1;
    }
    return 0;
}

static struct waits waits_of(const struct model_mpi *m)
{
    struct waits w = {.wall = m->wall_s, .rank = -1};
    for (int i = 0; i < m->ranks_count; i++) {
        const struct model_rank *r = &m->ranks[i];
        w.late += r->late_s;
        w.transfer += r->transfer_s;
        if (r->delayed_s > w.delayed) {
            w.delayed = r->delayed_s;
            w.rank = r->rank;
        }
    }
    for (int i = 0; i < m->lines_count; i++) {
        const struct model_mpi_line *l = &m->lines[i];
        const int outside =
            l->call && (!strcmp(l->call, "Init") || !strcmp(l->call, "Init_thread") ||
                        !strcmp(l->call, "Finalize"));
        if (outside)
            continue;
        w.root += of_root(l->call) ? l->late_s : 0;
        if (l->late_s > (w.line ? w.line->late_s : 0))
            w.line = l;
    }
    return w;
}

double rank_rules_late(const struct model *m)
{
    return m->mpi.size > 0 ? waits_of(&m->mpi).late / (double)m->mpi.size : 0;
}

static enum err lines(struct model *m, int late, struct model_finding *row)
{
    int n = 0;
    TRY(model_list(m, model_place, row, lines, LINES_SHOWN));
    for (int i = 0; i < m->mpi.lines_count && n < LINES_SHOWN; i++) {
        const struct model_mpi_line *l = &m->mpi.lines[i];
        const double s = late ? l->late_s : l->spent_s - l->late_s;
        if (l->file && s > 0)
            row->lines[n++] = (struct model_place){l->file, l->line, l->calls, s};
    }
    row->lines_count = n;
    return ERR_OK;
}

static void blank(struct model_finding *row, const char *id, const char *title)
{
    json_blank(&record_model_finding, row);
    row->id = id;
    row->severity = "warning";
    row->title = title;
    row->confidence = "high";
}

/* The call and its line, or the call alone. */
static void name_line(const struct model_mpi_line *l, char out[200])
{
    int n = snprintf(out, 200, "%.40s", l->call ? l->call : "a call of MPI");
    if (l->file)
        snprintf(out + n, 200 - (size_t)n, " at %.80s:%lld", base_name(l->file),
                 (long long)l->line);
}

static enum err late(struct model *m, const struct waits *w, struct model_finding *row)
{
    const struct model_mpi *mpi = &m->mpi;
    const double others = mpi->size > 1 ? (double)(mpi->size - 1) : 1;
    const int one = w->delayed > HALF * w->late, root = w->root > HALF * w->late;
    char text[600], where[200] = "";
    double most = 0, sum = 0;
    for (int i = 0; i < mpi->ranks_count; i++) {
        most = fmax(most, mpi->ranks[i].compute_s);
        sum += mpi->ranks[i].compute_s;
    }
    name_line(w->line, where);
    if (one && mpi->size == 2)
        snprintf(text, sizeof text,
                 "Rank %lld is late: rank %lld waited %.3g s for it, of %.3g s, most in %s.",
                 (long long)w->rank, (long long)(1 - w->rank), w->delayed, w->wall, where);
    else if (one)
        snprintf(
            text, sizeof text,
            "Rank %lld is late: the other %lld waited %.3g s each for it, of %.3g s, most in %s.",
            (long long)w->rank, (long long)mpi->size - 1, w->delayed / others, w->wall, where);
    else
        snprintf(text, sizeof text,
                 "The %lld ranks wait for each other by turns: %.3g s each, of %.3g s, most in %s.",
                 (long long)mpi->size, w->late / (double)mpi->size, w->wall, where);
    blank(row,
          root  ? "mpi.root"
          : one ? "mpi.late"
                : "mpi.turns",
          root  ? "Ranks wait for the rank that has the data"
          : one ? "One rank is late"
                : "Ranks wait for each other by turns");
    row->evidence = arena_text(m->arena, text);
    row->advice =
        root  ? "Let every rank read or make its own part, or give the root less to do before "
                "the call."
        : one ? "Give this rank less work, or share the work out again: its lines are those "
                "of its process."
              : "Share the work out in larger or equal pieces, or let calls that do not "
                "block (Iallreduce, Irecv) run beside the work.";
    row->gain_s = root ? w->late / (double)mpi->size
                       : most - sum / (double)(mpi->ranks_count ? mpi->ranks_count : 1);
    row->gain_low_s = row->gain_s / 2;
    row->refuted_by =
        "The work is not the cause if the same rank is not late with the same work on "
        "another machine, or another CPU.";
    row->test =
        "Bind each rank to CPUs of its own (mpirun --bind-to core), record again and compare "
        "(tomoprof compare RUN1 RUN2).";
    return lines(m, 1, row);
}

static enum err transfers(struct model *m, const struct waits *w, struct model_finding *row)
{
    char text[400], where[200] = "";
    const struct model_mpi_line *most = NULL;
    for (int i = 0; i < m->mpi.lines_count; i++) {
        const struct model_mpi_line *l = &m->mpi.lines[i];
        const int outside =
            l->call && (!strncmp(l->call, "Init", 4) || !strcmp(l->call, "Finalize"));
        if (!outside && (!most || l->spent_s - l->late_s > most->spent_s - most->late_s))
            most = l;
    }
    if (!most)
        return ERR_OK;
    name_line(most, where);
    snprintf(text, sizeof text,
             "Each rank spent %.3g of %.3g s in MPI while no other was late, most in %s.",
             w->transfer / (double)m->mpi.size, w->wall, where);
    blank(row, "mpi.transfer", "Calls of MPI take long although no rank is late");
    row->evidence = arena_text(m->arena, text);
    row->advice =
        "Send less or more at once, overlap it with work (Isend, Iallreduce), or use fewer "
        "ranks with more threads. More ranks than CPUs make every call wait for a CPU.";
    row->gain_s = w->transfer / (double)m->mpi.size;
    row->refuted_by =
        "Transfers are not the cause if the same time stays with messages of half the "
        "size.";
    row->test = "Start as many ranks as there are CPUs, record again and compare (tomoprof compare "
                "RUN1 RUN2).";
    row->confidence = "medium";
    return lines(m, 0, row);
}

enum err rank_rules(struct model *m, struct model_finding *rows, int *count)
{
    const struct waits w = waits_of(&m->mpi);
    const double all = w.wall * (double)m->mpi.size;
    *count = 0;
    if (m->mpi.size == MODEL_UNKNOWN || m->mpi.size < 2 || !(w.wall > 0))
        return ERR_OK;
    if (w.line && w.late > SMALL * all)
        TRY(late(m, &w, &rows[(*count)++]));
    if (w.transfer > MUCH * all)
        TRY(transfers(m, &w, &rows[(*count)++]));
    return ERR_OK;
}
