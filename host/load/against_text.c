/* Prints the card of a data set, smaller versions, the disk and a copy for people. */
#include <math.h>

#include "base/memory.h"
#include "base/page/markup.h"
#include "base/text.h"
#include "host/load/against.h"

static void print_shape(FILE *f, const int64_t *shape, int n)
{
    for (int i = 0; i < n; i++)
        plain_print(f, "%s%lld", i ? " x " : "", (long long)shape[i]);
}

void load_text_set(const struct loading *l, FILE *f)
{
    const struct load_set *c = &l->set;
    char bytes[16], stored[16];
    if (!l->members_count)
        return;
    plain_print(f, "Data set: %lld files, %s decoded, %s stored, read in %.4f s (%.1f Mpx/s)\n",
                (long long)c->files, mem_human((double)c->bytes, bytes),
                mem_human((double)c->bytes_stored, stored), c->seconds, c->mpx_per_s);
    for (int i = 0; i < c->kinds_count; i++) {
        fprintf(f, "%6lld of ", (long long)c->kinds[i].files);
        print_shape(f, c->kinds[i].shape, c->kinds[i].shape_count);
        plain_print(f, " %s\n", c->kinds[i].dtype);
    }
    int outliers = 0, failed = 0;
    for (int i = 0; i < l->members_count; i++) {
        if (!l->members[i].outlier)
            continue;
        fputs(outliers++ ? "" : "Outliers:\n", f);
        plain_print(f, "  %s: %s\n", l->members[i].path, l->members[i].outlier);
    }
    if (!outliers)
        fprintf(f, "Outliers: none\n");
    for (int i = 0; i < l->members_count; i++) {
        if (!l->members[i].failure)
            continue;
        fputs(failed++ ? "" : "Cannot be read:\n", f);
        plain_print(f, "  %s\n", l->members[i].failure);
    }
    plain_print(f, "\nThe file with the median time, %s:\n", l->set.median);
}

static void print_scalings(const struct loading *l, FILE *f)
{
    if (l->scalings_count)
        plain_print(f, "\n%-7s %-24s %10s %8s %12s %9s\n", "scaling", "from", "seconds", "speed-up",
                    "RMSE", "PSNR, dB");
    for (int i = 0; i < l->scalings_count; i++) {
        const struct load_scaling *s = &l->scalings[i];
        char from[64];
        snprintf(from, sizeof from, "%s%s", s->level ? "level " : "means of the whole array",
                 s->level ? s->level : "");
        plain_print(f, "%7lld %-24s %10.6f %8.2f %12.6g ", (long long)s->factor, from, s->seconds,
                    s->speedup, s->rmse);
        if (isfinite(s->psnr_db))
            fprintf(f, "%9.1f\n", s->psnr_db);
        else
            plain_print(f, "%9s\n", "-");
    }
}

static void print_copy(const struct loading *l, FILE *f)
{
    const struct load_copy *c = &l->copy;
    if (!c->path)
        return;
    plain_print(f, "\nCopy %s: made in %.6f s, read in %.6f s; the file in %.6f s.\n", c->path,
                c->made_s, c->read_s, c->original_s);
    if (c->reads == JSON_UNKNOWN)
        fprintf(f, "It never pays: reading the copy takes as long.\n");
    else
        plain_print(f, "It pays after %lld read%s.\n", (long long)c->reads,
                    c->reads == 1 ? "" : "s");
}

static void print_disk(const struct loading *l, FILE *f)
{
    const struct load_disk *d = &l->disk;
    if (d->reason || !d->requests)
        plain_print(f, "\nDisk: %s%s\n", d->reason ? d->reason : d->name,
                    d->reason ? "" : " was not read");
}

void load_text_against(const struct loading *l, FILE *f)
{
    print_disk(l, f);
    print_scalings(l, f);
    print_copy(l, f);
}

static void put_set_text(FILE *f, const char *text)
{
    markup_text(f, text, MARKUP_ALL);
}

void load_page_set(const struct loading *l, FILE *f)
{
    const struct load_set *c = &l->set;
    char bytes[16], stored[16];
    if (!l->members_count)
        return;
    fprintf(f,
            "<h2>Data set</h2><p>%lld files, %s decoded, %s stored, read in %.4f s (%.1f Mpx/s).",
            (long long)c->files, mem_human((double)c->bytes, bytes),
            mem_human((double)c->bytes_stored, stored), c->seconds, c->mpx_per_s);
    fputs("<table><tr><th>file<th>shape<th>type<th class=n>seconds<th class=n>Mpx/s<th>differs", f);
    for (int i = 0; i < l->members_count; i++) {
        const struct load_member *m = &l->members[i];
        fputs("<tr><td>", f);
        put_set_text(f, m->path);
        fputs("<td>", f);
        print_shape(f, m->shape, m->shape_count);
        fputs("<td>", f);
        put_set_text(f, m->dtype);
        if (m->failure)
            fputs("<td class=n>-<td class=n>-<td>", f);
        else
            fprintf(f, "<td class=n>%.6f<td class=n>%.1f<td>", m->seconds, m->mpx_per_s);
        put_set_text(f, m->failure ? m->failure : m->outlier);
    }
    fputs("</table><p>The rest of this page is of the file with the median time, ", f);
    put_set_text(f, c->median);
    fputs(".", f);
}

void load_page_against(const struct loading *l, FILE *f)
{
    const struct load_copy *c = &l->copy;
    if (l->scalings_count)
        fputs("<h2>Smaller versions</h2><table><tr><th class=n>scaling<th>from<th class=n>seconds"
              "<th class=n>speed-up<th class=n>RMSE<th class=n>PSNR, dB",
              f);
    for (int i = 0; i < l->scalings_count; i++) {
        const struct load_scaling *s = &l->scalings[i];
        fprintf(f, "<tr><td class=n>%lld<td>", (long long)s->factor);
        fputs(s->level ? "level " : "means of the whole array", f);
        put_set_text(f, s->level);
        fprintf(f, "<td class=n>%.6f<td class=n>%.2f<td class=n>%.6g<td class=n>", s->seconds,
                s->speedup, s->rmse);
        if (isfinite(s->psnr_db))
            fprintf(f, "%.1f", s->psnr_db);
        else
            fputs("-", f);
    }
    if (l->scalings_count)
        fputs("</table>", f);
    if (!c->path)
        return;
    fputs("<h2>Copy</h2><p>", f);
    put_set_text(f, c->path);
    fprintf(f, " was made in %.6f s. It is read in %.6f s, the file in %.6f s. ", c->made_s,
            c->read_s, c->original_s);
    if (c->reads == JSON_UNKNOWN)
        fputs("It never pays.", f);
    else
        plain_print(f, "It pays after %lld read%s.", (long long)c->reads, c->reads == 1 ? "" : "s");
}
