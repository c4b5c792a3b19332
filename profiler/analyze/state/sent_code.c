/* Finds where a function stands whose file name was taken away. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "profiler/analyze/state/cells.h"
#include "profiler/analyze/state/sent_code.h"

enum { FILES_MOST = 200, DECORATOR_LINES = 60 };
#define SOURCE_MOST ((size_t)16 << 20)

int sent_code_is(const char *file)
{
    return !strcmp(file, "<dynamic-code>");
}

enum err sent_code_may_be_in(struct run *r, const char *file)
{
    if (r->sent.files.count >= FILES_MOST || !text_has_suffix(file, ".py"))
        return ERR_OK;
    for (size_t i = 0; i < r->sent.files.count; i++)
        if (!strcmp(r->sent.files.items[i], file))
            return ERR_OK;
    return vector_add(&r->sent.files, run_text(r, file));
}

static const char *line_after(const char *at)
{
    at = at ? strchr(at, '\n') : NULL;
    return at ? at + 1 : NULL;
}

static int line_has(const char *line, const char *words)
{
    return memmem(line, strcspn(line, "\n"), words, strlen(words)) != NULL;
}

/* 1: the line defines `name`: "def name(", "class name:". */
static int line_defines(const char *line, const char *name)
{
    static const char *const before[] = {"async def ", "def ", "class "};
    line += strspn(line, " \t");
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (text_begins(line, before[i])) {
            line += strlen(before[i]);
            line += strspn(line, " \t");
            size_t n = strlen(name);
            return !strncmp(line, name, n) && strchr(" \t([:", line[n]) && line[n];
        }
    return 0;
}

/* 1: the code of this name may begin at that line of the text. A decorated function begins with its
 * first decorator; a comprehension where its bracket opens. */
static int text_has_code(const char *text, const char *name, int first_line)
{
    const char *dot = strrchr(name, '.'), *line = text;
    name = dot ? dot + 1 : name;
    for (int i = 1; i < first_line && line; i++)
        line = line_after(line);
    if (!line || first_line < 1)
        return 0;
    if (!strcmp(name, "<lambda>"))
        return line_has(line, "lambda");
    if (*name == '<')
        return line_has(line, "[") || line_has(line, "(") || line_has(line, "{");
    int decorated = line[strspn(line, " \t")] == '@';
    for (int i = 0; decorated && line && i < DECORATOR_LINES && !line_defines(line, name); i++)
        line = line_after(line);
    return line && line_defines(line, name);
}

static const char *sent_code_seek(struct run *r, const char *name, int first_line)
{
    const char *found = NULL;
    int places = 0;
    for (size_t i = 0; i < r->sent.files.count; i++) {
        char *text;
        size_t bytes;
        if (file_read_all(r->sent.files.items[i], SOURCE_MOST, &text, &bytes) != ERR_OK)
            continue; /* it was moved, or is on another machine */
        if (text_has_code(text, name, first_line)) {
            found = r->sent.files.items[i];
            places++;
        }
        free(text);
    }
    const char *cell;
    for (int i = 0; (cell = cells_at(r, i)); i++)
        if (text_has_code(cells_text(r, cell), name, first_line)) {
            found = cell;
            places++;
        }
    return places == 1 ? found : NULL;
}

const char *sent_code_file(struct run *r, const char *name, int first_line)
{
    uint64_t key = table_mix(table_hash(name, strlen(name)), (uint64_t)first_line);
    uint32_t at = table_get(&r->sent.by_code, key);
    if (at != TABLE_NONE)
        return r->sent.found.items[at];
    const char *file = sent_code_seek(r, name, first_line);
    if (vector_add(&r->sent.found, file) == ERR_OK)
        (void)table_put(&r->sent.by_code, key, (uint32_t)r->sent.found.count - 1); /* a cache */
    return file;
}

void sent_code_free(struct run *r)
{
    vector_free(&r->sent.files);
    vector_free(&r->sent.found);
    table_free(&r->sent.by_code);
}
