/* Names of events, read by the shapes that the tools give them. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "profiler/import/source/names.h"
#include "profiler/import/source/source.h"

/* Digits at s that end at `until`; 0: not a line number. */
static int64_t name_line_at(const char *s, char until)
{
    char *end;
    if (*s < '0' || *s > '9')
        return 0;
    long long v = strtoll(s, &end, 10);
    return *end == until && v > 0 && v < INT32_MAX ? v : 0;
}

const char *name_kind(const char *file)
{
    return file && (text_has_suffix(file, ".py") || *file == '<') ? "python" : "native";
}

static void frame_set_place(struct builder *b, struct model_frame *f, const char *file, size_t n,
                            int64_t line, const char *function, size_t m)
{
    f->file = import_path(b, file, n);
    f->line = line;
    f->function = import_text(b, function, m);
    f->kind = name_kind(f->file);
}

void name_frame(struct builder *b, const char *name, struct model_frame *f)
{
    const char *s;
    int64_t line;
    json_blank(&record_model_frame, f);
    f->kind = "native";
    f->function = name;
    if (!name)
        return;
    if ((s = strstr(name, "): ")) && s > name) { /* file.py(12): func */
        const char *open = s;
        while (open > name && *open != '(')
            open--;
        if (open > name && (line = name_line_at(open + 1, ')')) > 0) {
            frame_set_place(b, f, name, (size_t)(open - name), line, s + 3, strlen(s + 3));
            return;
        }
    }
    if (*name == '$' && (s = strchr(name, ' '))) { /* $file.py:12 func */
        const char *colon = s;
        while (colon > name && *colon != ':')
            colon--;
        if (colon > name && (line = name_line_at(colon + 1, ' ')) > 0) {
            frame_set_place(b, f, name + 1, (size_t)(colon - name - 1), line, s + 1, strlen(s + 1));
            return;
        }
    }
    size_t n = strlen(name);
    int bracket = n > 1 && name[n - 1] == ')'; /* func (file.py:12); func file.py:12 */
    const char *colon = strrchr(name, ':');
    if (!colon || !(line = name_line_at(colon + 1, bracket ? ')' : 0)))
        return;
    s = colon;
    if (s > name && s[-1] == '>') /* <frozen importlib._bootstrap> */
        while (s > name && *s != '<')
            s--;
    while (s > name && *s != (bracket ? '(' : ' '))
        s--;
    if (s > name + (bracket ? 1 : 0) && (!bracket || s[-1] == ' '))
        frame_set_place(b, f, s + 1, (size_t)(colon - s - 1), line, name,
                        (size_t)(s - name) - (size_t)bracket);
}

void name_copy(const char *name, struct import_operation *o)
{
    static const char *const directions[][3] = {{"HtoD", "H2D", "h2d"},
                                                {"DtoH", "D2H", "d2h"},
                                                {"DtoD", "D2D", "d2d"},
                                                {"PtoP", "P2P", "p2p"},
                                                {"HtoH", "H2H", "h2h"}};
    static const char *const kinds[][2] = {{"Pageable", "pageable"},
                                           {"Pinned", "pinned"},
                                           {"Device", "device"},
                                           {"Array", "array"},
                                           {"Managed", "managed"}};
    const char *arrow = name ? strstr(name, "->") : NULL;
    o->name = "other";
    for (size_t i = 0; name && i < sizeof directions / sizeof *directions; i++)
        for (int k = 0; k < 3; k++)
            if (strstr(name, directions[i][k]))
                o->name = directions[i][2];
    for (size_t i = 0; arrow && i < sizeof kinds / sizeof *kinds; i++) {
        const char *at = strstr(name, kinds[i][0]);
        if (at && at < arrow)
            o->from = kinds[i][1];
        if (strstr(arrow, kinds[i][0]))
            o->to = kinds[i][1];
    }
}
