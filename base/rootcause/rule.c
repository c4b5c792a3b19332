/* Tables of rules: one by its id, all of them for the docs. */
#include <string.h>

#include "base/page/markup.h"
#include "base/rootcause/rule.h"

static const struct cause_rule *rule_at(const void *rows, size_t size, size_t i)
{
    return (const struct cause_rule *)(const void *)((const char *)rows + i * size);
}

const struct cause_rule *rule_find(const void *rows, size_t size, size_t count, const char *id)
{
    for (size_t i = 0; i < count && id; i++)
        if (!strcmp(rule_at(rows, size, i)->id, id))
            return rule_at(rows, size, i);
    return NULL;
}

void rule_table(const void *rows, size_t size, size_t count, FILE *out)
{
    int codes = 0;
    for (size_t i = 0; i < count; i++)
        codes |= rule_at(rows, size, i)->code != NULL;
    markdown_table(out, codes ? "finding | rule | fires" : "rule | fires");
    for (size_t i = 0; i < count; i++) {
        const struct cause_rule *r = rule_at(rows, size, i);
        if (codes)
            fprintf(out, "| `%s` | %s | %s |\n", r->id, r->code ? r->code : "", r->fires);
        else
            fprintf(out, "| %s | %s |\n", r->id, r->fires);
    }
}
