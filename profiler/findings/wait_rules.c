/* Rules about threads and ranks that wait for each other. Locks: how many threads ran at a time, who
 * holds the lock, what it could cost by Amdahl's law; waiting for work is not contention. Ranks: one
 * that is late, the root of a collective call, each other by turns, or the transfer itself; the gain
 * is what equal work would save, the largest time outside of MPI less the mean. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/findings/rules.h"

#define MOSTLY 0.75 /* of what the line held the lock for: the compiled function is named */

/* Writes "decode() at load.py:12", with the compiled function where the line is Python's and most of
 * its time, `line_s`, is there, and the place where a helper took the lock. */
static void holder_name(const struct model_holder *h, double line_s, char out[300])
{
    char name[NAME_TEXT] = "", below[NAME_TEXT];
    const char *f = h->function && *h->function != '<' ? name_text(h->function, name) : NULL;
    const int below_it = h->native && (!f || strcmp(h->native, h->function));
    const char *native = below_it && (!f || h->held_s >= MOSTLY * line_s) ? h->native : NULL;
    char *inner = strstr(name, ".<"); /* a generator of it */
    if (inner)
        *inner = 0;
    snprintf(out, 300, "%s%s", name, f && !strchr(name, '(') ? "()" : "");
    if (h->file)
        text_append(out, 300, "%s%.80s:%lld", f ? " at " : "", h->file, (long long)h->line);
    if (native)
        text_append(out, 300, "%sin %s", *out ? " " : "", name_text(native, below));
    if (h->locked_file)
        text_append(out, 300, " (locked in %.80s:%lld)", h->locked_file, (long long)h->locked_line);
}

/* Returns what threads of the process could compute beside its busiest one: no lock costs more, unless it is
 * held across a wait. A thread that asks in turns whether others are done saves nothing without it. */
static double lock_beside(const struct run_facts *f)
{
    double all = 0, most = 0;
    for (int i = 0; i < f->m->threads_count; i++) {
        const struct model_thread *t = &f->m->threads[i];
        const double cpu = positive_or_0(t->user_s) + positive_or_0(t->sys_s);
        all += t->process == f->lock.c->process ? cpu : 0;
        most = t->process == f->lock.c->process ? fmax(most, cpu) : most;
    }
    return all > 0 && strcmp(f->lock.rule, "lock.asleep") ? all - most : HUGE_VAL;
}

/* By Amdahl's law: at most all that is done one after the other is done by as many threads as want
 * to run, or as there are CPUs; the lower end takes half of it. Part of the others waits for the
 * lock; threads that it has just woken wait for a CPU like those that are free of it, so the CPUs
 * that the program leaves idle are the limit. */
static double lock_gain(const struct run_facts *f)
{
    const struct model_contention *c = f->lock.c;
    const int asleep = !strcmp(f->lock.rule, "lock.asleep"); /* sleeping takes no CPU */
    double could = f->cpus > 0 && f->cpus < c->wanted && !asleep ? f->cpus : c->wanted;
    if (!f->lock.waits || !isfinite(c->ran) || !(could > 1) || !(c->wanted > c->ran))
        return 0;
    const double held_up = (1 - 1 / could) * fmin(1, (c->wanted - c->ran) / (c->wanted - 1));
    const double idle = 1 - positive_or_0(c->on_cpu) / could;
    return fmin(lock_beside(f), f->lock.quiet * c->both_s * fmax(0, fmin(held_up, idle)));
}

static void lock_evidence(const struct lock_facts *k, struct finding *out)
{
    char holder[300] = "", where[120] = "";
    const int64_t threads =
        k->c->at_once > 0 && k->c->at_once < k->threads ? k->c->at_once : k->threads;
    if (k->holder)
        holder_name(k->holder, k->holder_s, holder);
    if (k->waits->file)
        snprintf(where, sizeof where, " at %.80s:%lld", k->waits->file, (long long)k->waits->line);
    if (!*holder) {
        finding_evidence(out,
                         "%lld thread%s waited %s s for %s%s, the longest %s s. Who held it is not "
                         "known%s%s.",
                         (long long)threads, threads == 1 ? "" : "s", NUMBER(3, k->wait), k->name,
                         where, NUMBER(3, k->waits->longest_s), k->waits->reason ? ": " : "",
                         k->waits->reason ? k->waits->reason : "");
        return;
    }
    finding_evidence(out, "%s holds %s", holder, k->name);
    if (k->wait > 0)
        finding_evidence(out, " for %.0f %% of the %s s that %lld thread%s waited%s",
                         fmin(100, 100 * k->holder_s / k->wait), NUMBER(3, k->wait),
                         (long long)threads, threads == 1 ? "" : "s", where);
    if (isfinite(k->c->ran))
        finding_evidence(out, "; %s ran at a time", NUMBER(2, k->c->ran));
    if (k->c->ran - k->c->on_cpu > LOCK_CROWDED)
        finding_evidence(out, " (%s of them waited for a CPU)",
                         NUMBER(2, k->c->ran - k->c->on_cpu));
    finding_evidence(out, ".");
}

static void lock_lines(const struct run_facts *f, struct finding *out)
{
    const struct lock_facts *k = &f->lock;
    if (k->holder && k->holder->file)
        finding_line(out, k->holder->file, k->holder->line, MODEL_UNKNOWN, k->holder_s);
    for (int i = 0; i < f->m->locks_count && out->lines.count < FINDING_LINES; i++) {
        const struct model_lock *l = &f->m->locks[i];
        if (lock_is_of(k, l) && l->file)
            finding_line(out, l->file, l->line, l->waits, l->wait_s);
    }
}

int rule_lock_held(const struct run_facts *f, struct finding *out)
{
    const struct lock_facts *k = &f->lock;
    if (!k->c || strcmp(out->rule->rule.id, k->rule))
        return 0;
    const double most = lock_gain(f);
    if (!(k->wait > SHARE(LEAST) * f->wall) || !(most > SHARE(LOCK_GAIN) * f->wall))
        return 0;
    finding_gain(out, most / 2, most,
                 k->holder_s > SHARE(LOCK_KNOWN) * k->wait ? "high"
                 : k->holder                               ? "medium"
                                                           : "low");
    if (f->decode_s > SHARE(LOCK_CODEC) * f->cpu)
        out->title = "Decoding is serialised by a lock";
    lock_evidence(k, out);
    lock_lines(f, out);
    return 1;
}

/* Ranks. */

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
