/* How an own line or function is named in a sentence. */
#include <stdio.h>
#include <string.h>

#include "profiler/findings/hotspots.h"
#include "profiler/findings/own_place.h"

const struct model_line *own_line_of(const struct model *m, const char *path, int64_t line)
{
    const struct model_file *f = hotspots_file(m, path);
    for (int i = 0; f && i < f->lines_count; i++)
        if (f->lines[i].line == line)
            return &f->lines[i];
    return NULL;
}

int own_made_at_run_time(const struct model_own *at)
{
    return at->module && *at->module == '[';
}

void own_place(const struct model_own *at, char out[300])
{
    const char *slash = at->module ? strrchr(at->module, '/') : NULL;
    if (at->file)
        snprintf(out, 300, "%.200s:%lld", at->file, (long long)at->line);
    else if (at->function && (!at->module || own_made_at_run_time(at)))
        snprintf(out, 300, "%.200s", at->function);
    else
        snprintf(out, 300, "%.200s (%.60s)", at->function ? at->function : "unknown code",
                 slash        ? slash + 1
                 : at->module ? at->module
                              : "no module");
}

void own_place_and_text(const struct model *m, const struct model_own *at, char out[400])
{
    const struct model_line *line = own_line_of(m, at->file, at->line);
    const char *text = line && line->text ? line->text : "";
    char where[300];
    own_place(at, where);
    text += strspn(text, " \t");
    size_t n = strlen(text), room = 50;
    while (n > room && (text[room] & 0xC0) == 0x80)
        room--;
    if (*text)
        snprintf(out, 400, "%s `%.*s%s`", where, (int)(n > room ? room : n), text,
                 n > room ? "..." : "");
    else
        snprintf(out, 400, "%s", where);
}
