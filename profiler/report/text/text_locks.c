/* Locks as text: lines that wait for a lock, and the line that held it most of that time. Waits for
 * work stand below, for they are not contention. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "profiler/report/text/text_parts.h"

static int lock_is_contention(const struct model_lock *l)
{
    return l->role && !strcmp(l->role, "contention");
}

/* Without control characters. */
static void locks_put(FILE *out, const char *text, int columns)
{
    for (int n = 0; *text && n < columns; text++, n++)
        putc((unsigned char)*text < 0x20 || *text == 0x7F ? ' ' : *text, out);
}

static void locks_place(FILE *out, const char *file, int64_t line, const char *function)
{
    locks_put(out, file ? base_name(file) : function ? function : "unknown", 40);
    if (file && line > 0)
        fprintf(out, ":%lld", (long long)line);
}

static void locks_real(FILE *out, int width, int digits, double value)
{
    if (isfinite(value))
        fprintf(out, "%*.*f ", width, digits, value);
    else
        fprintf(out, "%*s ", width, "?");
}

static void locks_number(FILE *out, int64_t value)
{
    if (value >= 0)
        fprintf(out, "%8lld ", (long long)value);
    else
        fprintf(out, "%8s ", "?");
}

static void locks_row(const struct model_lock *l, FILE *out)
{
    locks_real(out, 9, 3, l->wait_s);
    locks_number(out, l->waits);
    locks_real(out, 10, 2, 1e3 * l->longest_s);
    locks_number(out, l->threads);
    fprintf(out, " %-11s ", l->kind);
    locks_place(out, l->file, l->line, l->function);
    if (!l->holders_count) {
        fprintf(out, "  held by: unknown (%s)\n", l->reason ? l->reason : "no reason is known");
        return;
    }
    const struct model_holder *h = &l->holders[0];
    fputs("  held by ", out);
    locks_place(out, h->file, h->line, h->function);
    if (h->native && (!h->function || strcmp(h->native, h->function))) {
        fputs(" in ", out);
        locks_put(out, h->native, 40);
    }
    if (isfinite(h->share))
        fprintf(out, " (%.0f %%%s)", 100 * h->share, h->asleep ? ", asleep" : "");
    putc('\n', out);
}

void text_locks(const struct model *m, FILE *out, int colour, int top)
{
    double work = 0;
    int shown = 0, n = 0;
    const struct model_lock *most = NULL;
    for (int i = 0; i < m->locks_count; i++) {
        n += lock_is_contention(&m->locks[i]);
        work += lock_is_contention(&m->locks[i]) || !isfinite(m->locks[i].wait_s)
                    ? 0
                    : m->locks[i].wait_s;
        most = !lock_is_contention(&m->locks[i]) && !most ? &m->locks[i] : most;
    }
    if (n)
        fprintf(out, "\n%s   wait s    waits longest ms  threads  lock        waits at%s\n",
                colour ? PLAIN_BOLD : "", colour ? PLAIN_END : "");
    for (int i = 0; i < m->locks_count && shown < top; i++)
        if (lock_is_contention(&m->locks[i])) {
            locks_row(&m->locks[i], out);
            shown++;
        }
    if (n > shown)
        fprintf(out, "   %d more locks\n", n - shown);
    if (!most)
        return;
    fprintf(out, "%s   Waiting for work or a signal (not contention): %.3g s, most at ",
            n ? "" : "\n", work);
    locks_place(out, most->file, most->line, most->function);
    fputs(".\n", out);
}
