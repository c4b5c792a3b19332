/* Ranks as text: what each did with its time, then the lines that wait in MPI. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "profiler/report/text/text_parts.h"

#define LEAST_S 1e-5 /* shorter calls are recorded without their line */

static void ranks_real(FILE *out, int width, int digits, double value)
{
    if (isfinite(value))
        fprintf(out, "%*.*f ", width, digits, value);
    else
        fprintf(out, "%*s ", width, "?");
}

static void ranks_line(const struct model_mpi_line *l, FILE *out)
{
    const char *name = l->file       ? base_name(l->file)
                       : l->function ? l->function
                       : l->spent_s < LEAST_S * (double)l->calls /* false of NAN */
                           ? "too short for a line"
                           : "no line of the program";
    ranks_real(out, 9, 3, l->spent_s);
    ranks_real(out, 8, 3, l->late_s);
    fprintf(out, "%8lld ", (long long)l->calls);
    ranks_real(out, 9, 2, l->given_mb);
    fprintf(out, " %-20.20s ", l->call ? l->call : "?");
    for (int n = 0; *name && n < 40; name++, n++)
        putc((unsigned char)*name < 0x20 || *name == 0x7F ? ' ' : *name, out);
    if (l->file)
        fprintf(out, ":%lld", (long long)l->line);
    if (l->late_rank != MODEL_UNKNOWN && l->late_s > 0)
        fprintf(out, "  late: rank %lld (%.0f %%)", (long long)l->late_rank,
                100 * l->late_rank_s / l->late_s);
    putc('\n', out);
}

void text_ranks(const struct model *m, FILE *out, int colour, int top)
{
    const struct model_mpi *mpi = &m->mpi;
    const char *bold = colour ? PLAIN_BOLD : "", *end = colour ? PLAIN_END : "";
    if (!mpi->ranks_count)
        return;
    fprintf(out, "\n%s    rank    wall s compute s   late s transfer s delayed s     calls%s\n",
            bold, end);
    for (int i = 0; i < mpi->ranks_count && i < top; i++) {
        const struct model_rank *r = &mpi->ranks[i];
        fprintf(out, "%8lld ", (long long)r->rank);
        ranks_real(out, 9, 3, r->wall_s);
        ranks_real(out, 9, 3, r->compute_s);
        ranks_real(out, 8, 3, r->late_s);
        ranks_real(out, 10, 3, r->transfer_s);
        ranks_real(out, 9, 3, r->delayed_s);
        fprintf(out, "%9lld%s\n", (long long)r->calls, r->whole ? "" : "  did not end");
    }
    if (mpi->ranks_count > top)
        fprintf(out, "   %d more ranks\n", mpi->ranks_count - top);
    if (isfinite(mpi->parallel_efficiency))
        fprintf(out,
                "   Parallel efficiency %.2f: load balance %.2f times communication efficiency "
                "%.2f.\n",
                mpi->parallel_efficiency, mpi->load_balance, mpi->communication_efficiency);
    fprintf(out, "\n%s   MPI s   late s    calls  given MB  call                 at%s\n", bold,
            end);
    for (int i = 0; i < mpi->lines_count && i < top; i++)
        ranks_line(&mpi->lines[i], out);
}
