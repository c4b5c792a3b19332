/* Lines of quoted fields, as spreadsheets write them: "a","b ""c""",d */
#include <string.h>

#include "profiler/import/read/csv.h"

/* The field that begins at `s`, unquoted into `out`; what follows it. NULL: no room. */
static const char *csv_field(const char *s, const char *end, char **out, const char *room)
{
    int quoted = s < end && *s == '"';
    for (s += quoted; s < end; s++) {
        if (quoted && *s == '"' && (s + 1 == end || s[1] != '"')) {
            quoted = 0;
            continue;
        }
        if (!quoted && *s == ',')
            break;
        s += quoted && *s == '"'; /* of two quotes one */
        if (*out + 1 >= room)
            return NULL;
        *(*out)++ = *s;
    }
    if (*out >= room)
        return NULL;
    *(*out)++ = '\0';
    return s;
}

int csv_line(struct csv *c, const char *line, size_t n)
{
    const char *end = line + n;
    char *at = c->text;
    c->count = 0;
    if (n && end[-1] == '\r')
        end--;
    while (line <= end) {
        if (c->count == CSV_FIELDS)
            return 0;
        c->field[c->count++] = at;
        line = csv_field(line, end, &at, c->text + sizeof c->text);
        if (!line)
            return 0;
        if (line++ == end)
            return 1;
    }
    return 1;
}
