/* Rules about ranks that wait: for one that is late, for the root of a collective call, for each
 * other by turns, or for the transfer itself. The gain is what equal work would save: the largest
 * time outside of MPI less the mean. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/rules.h"

static void rank_lines(const struct model_mpi *mpi, int late, struct finding *out)
{
    for (int i = 0; i < mpi->lines_count && out->lines.count < FINDING_LINES; i++) {
        const struct model_mpi_line *l = &mpi->lines[i];
        const double s = late ? l->late_s : l->spent_s - l->late_s;
        if (l->file && s > 0)
            finding_line(out, l->file, l->line, l->calls, s);
    }
}

/* Adds ", most in CALL at LINE.", or the call alone. */
static void rank_where(const struct model_mpi_line *l, struct finding *out)
{
    finding_evidence(out, ", most in %.40s", l->call ? l->call : "a call of MPI");
    if (l->file)
        finding_evidence(out, " at %.80s:%lld", base_name(l->file), (long long)l->line);
    finding_evidence(out, ".");
}

int rule_mpi_late(const struct run_facts *f, struct finding *out)
{
    const struct model_mpi *mpi = &f->m->mpi;
    const struct rank_facts *r = &f->ranks;
    const double size = (double)mpi->size;
    double most = 0, sum = 0;
    if (!(r->all > 0) || !r->line || !(r->late > SHARE(LATE_LEAST) * r->all) ||
        strcmp(out->rule->rule.id, r->rule))
        return 0;
    for (int i = 0; i < mpi->ranks_count; i++) {
        most = fmax(most, mpi->ranks[i].compute_s);
        sum += mpi->ranks[i].compute_s;
    }
    const double gain = !strcmp(r->rule, "mpi.root")
                            ? r->late / size
                            : most - sum / (double)(mpi->ranks_count ? mpi->ranks_count : 1);
    finding_gain(out, gain / 2, gain, "high");
    if (!(r->delayed > SHARE(LATE_MOST) * r->late))
        finding_evidence(out, "The %lld ranks wait for each other by turns: %s s each, of %s s",
                         (long long)mpi->size, NUMBER(3, r->late / size), NUMBER(3, r->wall));
    else if (mpi->size == 2)
        finding_evidence(out, "Rank %lld is late: rank %lld waited %s s for it, of %s s",
                         (long long)r->rank, (long long)(1 - r->rank), NUMBER(3, r->delayed),
                         NUMBER(3, r->wall));
    else
        finding_evidence(out, "Rank %lld is late: the other %lld waited %s s each for it, of %s s",
                         (long long)r->rank, (long long)mpi->size - 1,
                         NUMBER(3, r->delayed / (size - 1)), NUMBER(3, r->wall));
    rank_where(r->line, out);
    rank_lines(mpi, 1, out);
    return 1;
}

int rule_mpi_transfer(const struct run_facts *f, struct finding *out)
{
    const struct model_mpi *mpi = &f->m->mpi;
    const struct model_mpi_line *most = NULL;
    const double each = f->ranks.transfer / (double)mpi->size;
    if (!(f->ranks.all > 0) || !(f->ranks.transfer > SHARE(TRANSFER) * f->ranks.all))
        return 0;
    for (int i = 0; i < mpi->lines_count; i++) {
        const struct model_mpi_line *l = &mpi->lines[i];
        const int outside =
            l->call && (!strncmp(l->call, "Init", 4) || !strcmp(l->call, "Finalize"));
        if (!outside && (!most || l->spent_s - l->late_s > most->spent_s - most->late_s))
            most = l;
    }
    if (!most)
        return 0;
    finding_gain(out, (double)NAN, each, "medium");
    finding_evidence(out, "Each rank spent %s of %s s in MPI while no other was late",
                     NUMBER(3, each), NUMBER(3, f->ranks.wall));
    rank_where(most, out);
    rank_lines(mpi, 0, out);
    return 1;
}
