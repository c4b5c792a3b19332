/* Names and values as aligned lines or as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"
#include "cli/doctor/facts.h"

#define NAME_MOST 4096 /* longer ones are cut on a terminal */

void facts_begin(struct facts *f, int json)
{
    *f = (struct facts){.json = json};
    jsonw_init(&f->w, stdout, 2);
    if (json)
        jsonw_object(&f->w);
}

void facts_end(struct facts *f)
{
    if (f->json)
        jsonw_end(&f->w);
}

/* The indented name; returns its width. Keys of our own have underscores for blanks. */
static int put_fact_name(const struct facts *f, const char *key)
{
    char name[NAME_MOST];
    const int bytes = (int)plain_text(key, PLAIN_LINE, name, sizeof name);
    for (char *s = name; *s && !f->verbatim; s++)
        *s = *s == '_' ? ' ' : *s;
    return printf("%*s%s", 2 * f->level, "", name) < 0 ? 0 : 2 * f->level + bytes;
}

static void put_fact_label(const struct facts *f, const char *key)
{
    int width = put_fact_name(f, key);
    printf("%*s", width < 24 ? 24 - width : 1, "");
}

void facts_group(struct facts *f, const char *key)
{
    if (f->json) {
        jsonw_kobject(&f->w, key);
    } else {
        put_fact_name(f, key);
        putchar('\n');
    }
    f->level++;
}

void facts_group_end(struct facts *f)
{
    f->level--;
    if (f->json)
        jsonw_end(&f->w);
}

void facts_string(struct facts *f, const char *key, const char *value)
{
    if (f->json) {
        jsonw_kstring(&f->w, key, value);
        return;
    }
    put_fact_label(f, key);
    plain_print(stdout, "%s\n", value ? value : "unknown");
}

void facts_int(struct facts *f, const char *key, int64_t value)
{
    if (f->json) {
        jsonw_kint(&f->w, key, value);
        return;
    }
    put_fact_label(f, key);
    printf("%" PRId64 "\n", value);
}

void facts_number(struct facts *f, const char *key, double value, const char *unit)
{
    if (f->json) {
        jsonw_knumber(&f->w, key, value);
        return;
    }
    put_fact_label(f, key);
    if (isfinite(value))
        plain_print(stdout, "%.7g%s%s\n", value, *unit ? " " : "", unit);
    else
        puts("unknown");
}

void facts_bytes(struct facts *f, const char *key, double bytes)
{
    if (f->json) {
        jsonw_knumber(&f->w, key, bytes);
        return;
    }
    char human[16];
    put_fact_label(f, key);
    puts(mem_human(bytes, human));
}

void facts_shape(struct facts *f, const char *key, int dims, const int64_t *shape)
{
    if (f->json) {
        jsonw_karray(&f->w, key);
        for (int i = 0; i < dims; i++)
            jsonw_int(&f->w, shape[i]);
        jsonw_end(&f->w);
        return;
    }
    put_fact_label(f, key);
    for (int i = 0; i < dims; i++)
        plain_print(stdout, "%s%" PRId64, i ? " x " : "", shape[i]);
    puts(dims ? "" : "one number");
}

void facts_bool(struct facts *f, const char *key, int value)
{
    if (f->json)
        jsonw_kbool(&f->w, key, value);
    else
        facts_string(f, key, value ? "yes" : "no");
}
