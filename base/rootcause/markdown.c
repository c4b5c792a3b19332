/* Writes the model as a page of Markdown. Names of files and functions come from anywhere. */
#include <math.h>
#include <string.h>

#include "base/page/markup.h"
#include "base/rootcause/markdown.h"

static void markdown_number(FILE *out, double v, const char *unit)
{
    if (isfinite(v))
        fprintf(out, "%.4g%s%s", v, unit && *unit ? " " : "", unit ? unit : "");
    else
        fputs("not measured", out);
}

static void markdown_range(FILE *out, double low, double high)
{
    if (!isfinite(high))
        fputs("not known", out);
    else if (isfinite(low))
        fprintf(out, "%.3g to %.3g s", low, high);
    else
        fprintf(out, "at most %.3g s", high);
}

static void markdown_head(const struct rootcause *r, FILE *out)
{
    fputs("# Root causes: ", out);
    markdown_text(out, r->subject);
    fputs("\n\n", out);
    if (r->date)
        fprintf(out, "Measured %s (UTC).\n\n", r->date);
    if (r->number_name) {
        fputs("> **", out);
        markdown_text(out, r->number_name);
        fputs(": ", out);
        markdown_number(out, r->number, r->number_unit);
        fputs("**\n>\n", out);
    }
    fputs("> ", out);
    markdown_text(out, r->summary);
    fputs("\n", out);
}

static void markdown_evidence(const struct rootcause *r, FILE *out)
{
    fputs("\n## Evidence\n", out);
    markdown_table(out, "what | value | note");
    for (int i = 0; i < r->evidence_count; i++) {
        const struct rootcause_number *n = &r->evidence[i];
        fputs("| ", out);
        markdown_text(out, n->name);
        fputs(" | ", out);
        markdown_number(out, n->value, n->unit);
        fputs(" | ", out);
        if (n->note)
            markdown_text(out, n->note);
        fputs(" |\n", out);
    }
}

static void markdown_causes(const struct rootcause *r, FILE *out)
{
    fputs("\n## Causes, the largest gain first\n", out);
    if (!r->causes_count)
        fputs("\nNone of the rules found a cause.\n", out);
    for (int i = 0; i < r->causes_count; i++) {
        const struct rootcause_cause *c = &r->causes[i];
        fprintf(out, "\n%d. **", i + 1);
        markdown_text(out, c->rule);
        fputs(": ", out);
        markdown_text(out, c->statement);
        fputs("**", out);
        if (c->confidence) {
            fputs(" Confidence: ", out);
            markdown_text(out, c->confidence);
            fputs(".", out);
        }
        fputs("\n   - Evidence: ", out);
        markdown_text(out, c->evidence);
        fputs("\n   - Gain: ", out);
        markdown_range(out, c->gain_low_s, c->gain_high_s);
        fputs("\n   - Refuted by: ", out);
        markdown_text(out, c->refuted_by);
        if (c->test) {
            fputs("\n   - Test: ", out);
            markdown_text(out, c->test);
        }
        fputs("\n", out);
    }
}

static const char *effort_name(double days)
{
    return !(days > 0) ? "not known" : days < 0.5 ? "a setting" : days < 3 ? "code" : "format";
}

static void markdown_actions(const struct rootcause *r, FILE *out)
{
    if (!r->actions_count)
        return;
    fputs("\n## Actions, by gain over effort\n", out);
    markdown_table(out, "action | cause | effort | expected | measured");
    for (int i = 0; i < r->actions_count; i++) {
        const struct rootcause_action *a = &r->actions[i];
        fputs("| ", out);
        markdown_text(out, a->text);
        fputs(" | ", out);
        markdown_text(out, a->rule);
        fprintf(out, " | %s | ", effort_name(a->effort_days));
        markdown_range(out, a->expected_low_s, a->expected_high_s);
        fputs(" | ", out);
        if (isfinite(a->measured_s))
            fprintf(out, "%.3g s", a->measured_s);
        else
            fputs("not yet", out);
        fputs(" |\n", out);
    }
    fputs(r->later ? "\nMeasured: how much less the cause may cost in the later run.\n"
                   : "\nRecord again after a change; `tomoprof compare THIS LATER` fills the last "
                     "column.\n",
          out);
}

/* Ratio and percentage come from the same two numbers. */
static void before_after(const struct rootcause *r, FILE *out)
{
    const struct rootcause_later *l = r->later;
    if (!l)
        return;
    fputs("\n## Before and after\n\nCompared with ", out);
    markdown_text(out, l->run);
    fputs(".\n", out);
    markdown_table(out, "time | before | after | speed-up | saved");
    const struct {
        const char *name;
        double a, b;
    } rows[] = {{"wall", l->before_s, l->after_s}, {"CPU", l->before_cpu_s, l->after_cpu_s}};
    for (int i = 0; i < 2; i++)
        if (rows[i].a > 0 && rows[i].b > 0)
            fprintf(out, "| %s | %.4g s | %.4g s | %.3g | %.3g %% |\n", rows[i].name, rows[i].a,
                    rows[i].b, rows[i].a / rows[i].b, 100 * (1 - rows[i].b / rows[i].a));
}

static void markdown_checks(const struct rootcause *r, FILE *out)
{
    fputs("\n## What a change must keep\n\n", out);
    for (int i = 0; i < r->checks_count; i++) {
        const struct rootcause_check *c = &r->checks[i];
        int known = strcmp(c->state, "unknown") != 0;
        fprintf(out, "- [%c] ", !strcmp(c->state, "holds") ? 'x' : ' ');
        markdown_text(out, c->what);
        fprintf(out, "%s: ", known && strcmp(c->state, "holds") ? " (does not hold)" : "");
        markdown_text(out, c->text);
        fputs("\n", out);
    }
}

void rootcause_markdown(const struct rootcause *r, FILE *out)
{
    markdown_head(r, out);
    markdown_evidence(r, out);
    markdown_causes(r, out);
    markdown_actions(r, out);
    before_after(r, out);
    if (r->checks_count)
        markdown_checks(r, out);
    if (r->questions_count)
        fputs("\n## Open questions\n\n", out);
    for (int i = 0; i < r->questions_count; i++) {
        fprintf(out, "%d. ", i + 1);
        markdown_text(out, r->questions[i]);
        fputs("\n", out);
    }
    if (r->details)
        fprintf(out, "\n## Tables\n\n```\n%s```\n", r->details);
}
